/* The numbers of a node from the charges of its pods; also as they would be if some of them had left: for nominated
 * pods (core/ledger/view.h) and for preemption (core/ledger/preempt.h). */
#include "core/ledger/host_group.h"
#include "core/ledger/host_sums.h"
#include "core/ledger/numbers.h"
#include "core/ledger/state.h"

void ledger_add_up(const struct ledger *l, uint32_t node, ledger_leaves_fn *leaves, const void *ctx,
                   struct node_state *row, struct device_state *states, struct host_sum *ret_asked)
{
    const struct node_entry *n = &l->nodes[node];
    int64_t plugin_managed = 0;

    row->share_pod_n = 0;
    row->pod_classes = 0;
    *ret_asked = (struct host_sum){0};
    for (uint32_t i = 0; i < n->pod_n; i++) {
        const struct pod_entry *p = &l->pods[n->pods[i]];

        if (leaves != NULL && leaves(p, ctx)) {
            continue;
        }
        plugin_managed += p->demand->plugin_managed_n;
        row->share_pod_n += demand_takes_shares(p->demand);
        row->pod_classes |= ledger_pod_class(n, p);
        host_sum_add(ret_asked, p->demand->host);
        for (size_t j = 0; j < p->charge_n; j++) {
            device_take(&states[p->charges[j].ordinal], &p->charges[j].charge);
        }
    }
    ledger_block_other_form(n, states);
    row->plugin_managed_used = plugin_managed > INT32_MAX ? INT32_MAX : (int32_t)plugin_managed;
    row->host = ledger_host_left(n, ret_asked);
    ledger_host_group_mark(l, node, row, states);
}

void ledger_without(const struct ledger *l, uint32_t node, ledger_leaves_fn *leaves, const void *ctx,
                    struct node_state *ret_row, struct device_state *ret_states)
{
    const struct node_entry *n = &l->nodes[node];
    struct host_sum asked;

    *ret_row = l->rows[node];
    for (uint32_t i = 0; i < n->device_n; i++) {
        ret_states[i] = ledger_empty_state(n, &n->devices[i]);
    }
    ledger_add_up(l, node, leaves, ctx, ret_row, ret_states, &asked);
}
