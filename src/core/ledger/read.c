/* What others read of the ledger without a decision. */
#include "base/bug.h"
#include "core/ledger/ledger.h"
#include "core/ledger/node_table.h"
#include "core/ledger/pod_table.h"
#include "core/ledger/state.h"

const struct demand_histogram *ledger_demand_histogram(const struct ledger *l)
{
    return l->demand_histogram;
}

struct cluster_view ledger_cluster_view(const struct ledger *l)
{
    return (struct cluster_view){
        .nodes = l->rows,
        .node_n = l->node_n,
        .devices = l->states,
        .models = l->models,
        .demand_histogram = l->demand_histogram,
        .version = l->version,
        .names_version = l->names_version,
        .gpus_version = l->gpus_version,
        .changed = l->changed,
    };
}

uint64_t ledger_generation(const struct ledger *l)
{
    return l->generation;
}

uint64_t ledger_capacity_generation(const struct ledger *l)
{
    return l->capacity_generation;
}

bool ledger_node_gained_since(const struct ledger *l, uint32_t node, uint64_t version)
{
    return l->nodes[node].gained > version;
}

bool ledger_is_synced(const struct ledger *l)
{
    return l->pods_synced && l->nodes_synced;
}

const char *ledger_pod_state_name(enum ledger_pod_state s)
{
    static const char *const names[LEDGER_POD_STATE__MAX] = {
        [LEDGER_PENDING] = "pending", [LEDGER_RESERVED] = "reserved", [LEDGER_CONFIRMED] = "confirmed",
        [LEDGER_BOUND] = "bound",     [LEDGER_FOREIGN] = "foreign",
    };

    BUG_ON(s >= LEDGER_POD_STATE__MAX);
    return names[s];
}

bool ledger_find_pod(const struct ledger *l, struct str uid, struct ledger_pod *ret)
{
    uint32_t i = ledger_pod_lookup(l, uid);
    const struct pod_entry *p;

    if (i == LEDGER_NONE) {
        return false;
    }
    p = &l->pods[i];
    *ret = (struct ledger_pod){
        .state = p->state,
        .namespace_ = p->namespace_,
        .name = p->name,
        .node_name = p->node == LEDGER_NONE ? STR_NULL : l->names[p->node],
        .decision_id = str_of(p->decision_id),
        .demand = p->demand,
        .annotation_bytes = p->annotation_bytes,
        .leftovers = str_of(p->leftovers),
        .label_hashes = p->labels,
        .label_n = p->label_n,
        .deleting = p->deleting,
        .priority = p->priority,
        .version = p->version,
        .as_reserved = p->state == LEDGER_RESERVED && !p->rewritten,
        .held = p->held,
    };
    return true;
}

bool ledger_pod_names(const struct ledger *l, uint32_t *at, uint32_t max, ledger_pod_name_fn *fn, void *ctx)
{
    for (uint32_t n = 0; n < max && *at < l->pod_n; n++, ++*at) {
        const struct pod_entry *p = &l->pods[*at];

        if (p->used) {
            fn(ctx, p->uid, p->namespace_, p->name);
        }
    }
    return *at < l->pod_n;
}

bool ledger_has_node(const struct ledger *l, struct str node_name)
{
    uint32_t i = ledger_node_find(l, node_name);

    return i != LEDGER_NONE && l->nodes[i].described;
}

bool ledger_is_in_host_group(const struct ledger *l, struct str node_name)
{
    uint32_t i = ledger_node_find(l, node_name);

    return i != LEDGER_NONE && l->nodes[i].host_group.n > 0;
}

uint64_t ledger_node_rules(const struct ledger *l, struct str node_name)
{
    uint32_t i = ledger_node_find(l, node_name);

    return i == LEDGER_NONE ? 0 : l->nodes[i].rules;
}

void ledger_turned_away(const struct ledger *l, struct ledger_turned_away *ret)
{
    const struct turned_away *t = &l->turned_away;

    *ret = (struct ledger_turned_away){.pod_n = t->now_n + t->before_n,
                                       .total_n = t->total_n,
                                       .node_n = l->shut_n,
                                       .namespace_ = t->namespace_,
                                       .name = t->name,
                                       .node_name = t->node_name};
}
