/* One node, judged by itself and nothing remembered. */
#include "core/placement/pack.h"

enum verdict pack_node(const struct ledger_view *v, const struct node_state *n, const struct pack_params *p,
                       int64_t *ret_score, struct placement *placement)
{
    struct device_state buffer[DEVICES_PER_NODE_MAX];
    struct placement local;

    return choice_make(p, n, ledger_view_devices(v, n, buffer), v->allowed_models, v->pod.demand,
                       placement != NULL ? placement : &local, ret_score);
}
