#include "core/ledger/status.h"

#include "core/ledger/node_table.h"
#include "core/ledger/pod_table.h"
#include "core/ledger/state.h"

static void pod_status(const struct ledger *l, struct str uid, struct ledger_pod_status *ret)
{
    uint32_t i = ledger_pod_lookup(l, uid);
    const struct pod_entry *p;

    if (i == LEDGER_NONE) {
        return;
    }
    p = &l->pods[i];
    *ret = (struct ledger_pod_status){
        .known = true,
        .claims_record = p->claims_record,
        .decided_here = p->reserved_here,
        .devices_known = p->ref_n > 0,
        .state = p->state,
        .defect = p->demand->defect,
        .conflict = p->conflict,
    };
}

static void node_status(const struct ledger *l, struct str name, struct ledger_node_status *ret)
{
    uint32_t i = ledger_node_find(l, name);
    const struct node_entry *n;

    if (i == LEDGER_NONE || !l->nodes[i].described) {
        return;
    }
    n = &l->nodes[i];
    ret->known = true;
    ret->note = n->note;
    ret->closed = n->closed;
    ret->pod_n = n->pod_n;
    for (uint32_t d = 0; d < n->device_n; d++) {
        ret->lost_n += n->devices[d].lost;
        ret->unhealthy_n += !n->devices[d].lost && !n->devices[d].healthy;
    }
}

void ledger_status(const struct ledger *l, const struct ledger_op *op, struct ledger_status *ret)
{
    *ret = (struct ledger_status){0};
    if (op->kind == LEDGER_POD_OBSERVED) {
        pod_status(l, op->pod.uid, &ret->pod);
    } else if (op->kind == LEDGER_NODE_DESCRIBED) {
        node_status(l, op->node.name, &ret->node);
    }
}
