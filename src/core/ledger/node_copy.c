#include "core/ledger/node_copy.h"

#include "core/ledger/state.h"

#include <string.h>

void ledger_copy_node(const struct ledger_view *v, uint32_t node, struct node_copy *ret)
{
    struct device_state buffer[DEVICES_PER_NODE_MAX];
    const struct node_state *n = &v->nodes[node];

    ret->node = *n;
    if (n->device_n > 0) {
        memcpy(ret->devices, ledger_view_devices(v, n, buffer), n->device_n * sizeof(ret->devices[0]));
    }
    ret->host_group = v->ledger->nodes[node].host_group;
    ret->nominated = ledger_view_is_nominated(v, node);
}

struct device_name ledger_device_name(const struct ledger_view *v, uint32_t node, unsigned ordinal)
{
    const struct ledger_device *d = &v->ledger->nodes[node].devices[ordinal];

    return (struct device_name){
        .uuid = d->uuid,
        .model = intern_text(v->ledger->models, v->devices[v->nodes[node].first_device + ordinal].model_id),
        .index = d->ref.index,
    };
}
