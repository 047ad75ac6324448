/* The verdict about a record that was believed before anybody had verified it. */
#include "core/ledger/incident_table.h"
#include "core/ledger/observe.h"
#include "core/ledger/overcommit.h"
#include "core/ledger/pod_table.h"
#include "core/ledger/state.h"
#include "core/ledger/trust.h"

#include <stdlib.h>

int ledger_judged_apply(struct ledger *l, const struct ledger_judged *j, int64_t at_ms)
{
    uint32_t pod = ledger_pod_lookup(l, j->uid);
    struct pod_entry *p = pod == LEDGER_NONE ? NULL : &l->pods[pod];

    if (p == NULL || p->trust != RECORD_PROVISIONAL || !str_eq(ledger_pod_proof(p), j->proof)) {
        return 0;
    }
    p->touched = l->generation + 1;
    if (j->valid) {
        ledger_trust_set(l, p, RECORD_VERIFIED, STR_NULL);
        if (!p->reserved_here) { /* from now on it is known to hold its devices (core/ledger/incidents.h) */
            p->attached = l->generation + 1;
            ledger_overcommit_note(l, p->node);
            ledger_decision_verified(l, pod, at_ms);
        }
    } else if (p->reserved_here) {
        ledger_trust_refuse(l, p, j->proof);
        p->conflict = ledger_conflict_signature;
    } else {
        struct demand *asked = demand_copy(p->latest != NULL ? p->latest : p->demand);
        char *uid = str_dup(p->uid);
        const struct ledger_pod_fact seen = {.uid = str_of(uid), .node_name = l->names[p->node], .demand = asked};

        asked->host = p->demand->host;
        p->usurping = false;
        if (!j->key_gone) {
            ledger_trust_refuse(l, p, j->proof);
        }
        ledger_pod_adopt(l, pod, &seen, asked, p->node, at_ms);
        free(uid);
        free(asked);
    }
    return 0;
}
