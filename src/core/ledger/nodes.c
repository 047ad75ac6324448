/* Nodes of the ledger: names, and what is described of them. Their devices: ledger/devices.c. */
#include "core/ledger/change.h"
#include "core/ledger/device_table.h"
#include "core/ledger/host_group.h"
#include "core/ledger/cpu_only_pods.h"
#include "core/ledger/node_table.h"
#include "core/ledger/numbers.h"
#include "core/ledger/records.h"
#include "core/ledger/state.h"
#include "core/ledger/turned_away.h"

#include <stdlib.h>

static void node_set_uid(struct node_entry *n, struct str uid)
{
    if (n->uid != NULL && str_eq(str_of(n->uid), uid)) {
        return;
    }
    free(n->uid);
    n->uid = str_dup(uid);
}

static void node_set_settings(struct ledger *l, struct node_entry *n, const struct inventory *inv)
{
    int32_t milli = inv->overcommit_milli, mem_milli = inv->overcommit_mem_milli;

    milli = milli > 0 ? milli : l->limits.overcommit_milli;
    mem_milli = mem_milli > 0 ? mem_milli : l->limits.overcommit_mem_milli;
    n->overcommit_milli = milli;
    n->overcommit_mem_milli = mem_milli;
    l->gpus_version += n->memory_only != inv->memory_only;
    n->memory_only = inv->memory_only;
    n->qos = inv->qos;
    n->lending = inv->lending;
    n->hand_off = inv->hand_off;
    n->vendor = inv->vendor;
    n->needs_agent = inv->needs_agent;
    l->charges_more = l->charges_more || inv->qos == QOS_EQUAL_SHARE;
}

/* What an inventory says of the device plugin, as flags. */
#define NODE_PLUGIN_FLAGS (NODE_MIG_CHANGING | NODE_MIG_COUNTED | NODE_MIG_SINGLE | NODE_ONE_UNIT)

static uint8_t plugin_flags(const struct inventory *inv)
{
    unsigned flags = 0;

    flags |= inv->mig_changing ? NODE_MIG_CHANGING : 0;
    flags |= inv->mig_single ? NODE_MIG_SINGLE : 0;
    flags |= inv->plugin_managed_one ? NODE_ONE_UNIT : 0;
    for (size_t i = 0; i < inv->device_n; i++) {
        flags |= inv->devices[i].counted && !inv->mig_single ? NODE_MIG_COUNTED : 0;
    }
    return (uint8_t)flags;
}

static int32_t units_per_gpu(const struct inventory *inv)
{
    return inv->plugin_managed_per_gpu > 1 ? inv->plugin_managed_per_gpu : 1;
}

bool ledger_same_plugin(const struct node_state *row, const struct inventory *inv)
{
    return row->plugin_managed_cap == inv->plugin_managed_n && row->plugin_managed_per_gpu == units_per_gpu(inv) &&
           row->plugin_managed_names == inv->plugin_managed_names &&
           (row->flags & NODE_PLUGIN_FLAGS) == plugin_flags(inv);
}

/* What a node is where its inventory finds no room: without devices, but for those that its pods hold, so that nothing
 * is given away that nobody has counted. */
static const struct inventory no_inventory = {.source = INVENTORY_NONE};
static const char NO_ROOM_NOTE[] =
    "too many different GPU models in the cluster: the GPUs of this node are ignored until there are fewer models";

static void node_set_unroomed(struct ledger *l, struct node_entry *n, bool unroomed)
{
    l->unroomed_n += unroomed;
    l->unroomed_n -= n->unroomed;
    n->unroomed = unroomed;
}

const char *ledger_lost_inventory(const struct ledger *l)
{
    return l->unroomed_n == 0 ? NULL
                              : "the GPUs of a node are left out: there are more than 65535 different GPU models; look "
                                "in /state for nodes that publish made-up models, and correct or remove them";
}

int ledger_node_described(struct ledger *l, const struct ledger_node_fact *f, struct err *reterr)
{
    struct ledger_device fresh[DEVICES_PER_NODE_MAX];
    const struct inventory *inv = f->inventory;
    struct node_entry *n;
    uint32_t node;

    if (inv->device_n > DEVICES_PER_NODE_MAX) {
        return err_set(reterr, ERR_LIMIT, "node has more than %d GPUs", DEVICES_PER_NODE_MAX);
    }
    node = ledger_node_add(l, f->name);
    if (node == LEDGER_NONE) {
        return err_set(reterr, ERR_LIMIT, "more than %u nodes", l->limits.nodes_max);
    }
    ledger_change_begin(l, node);
    n = &l->nodes[node];
    if (!n->described) {
        ledger_turned_away_node_described(l, node);
        l->described_n++;
    }
    if (!ledger_devices_take_in(l, inv, n, fresh)) {
        inv = &no_inventory;
    }
    node_set_unroomed(l, n, inv != f->inventory);
    for (size_t i = 0; i < inv->device_n; i++) {
        l->charges_more = l->charges_more || fresh[i].slice;
        l->sliced = l->sliced || ledger_is_slice(&fresh[i]);
    }
    node_set_uid(n, f->uid);
    n->described = true;
    n->schedulable = f->schedulable;
    n->closed = f->closed;
    n->source = inv->source;
    n->note = n->unroomed ? NO_ROOM_NOTE : f->note;
    n->elsewhere = inv->elsewhere;
    n->unmeasured = inv->unmeasured;
    n->rules = f->rules;
    n->unreadable = f->unreadable;
    if (!f->unreadable) {
        n->pools = f->pools;
        n->pools_layout = f->pools_layout;
    }
    taints_replace(&n->taints, &n->taint_n, f->taints, f->taint_n);
    n->host = f->host;
    n->host_taken = f->host_taken;
    n->epoch = l->node_epoch;
    n->touched = l->generation + 1;
    l->rows[node].flags =
        (uint8_t)(NODE_DESCRIBED | (f->closed ? NODE_CLOSED : 0) | (n->shut ? NODE_SHUT : 0) | plugin_flags(inv));
    l->rows[node].hand_off = ledger_hand_off_of(inv);
    l->rows[node].plugin_managed_cap = inv->plugin_managed_n;
    l->rows[node].plugin_managed_per_gpu = units_per_gpu(inv);
    l->rows[node].plugin_managed_names = inv->plugin_managed_names;
    node_set_settings(l, n, inv);
    if (!f->unreadable) {
        ledger_host_group_set(l, node, f->host_group, f->host_gpu_mem_mib);
    }
    ledger_devices_set(l, node, fresh, (uint32_t)inv->device_n);
    ledger_keep_granted(l, node);
    ledger_recompute(l, node);
    ledger_cpu_only_node_described(l, node);
    return 0;
}

void ledger_node_gone(struct ledger *l, uint32_t node)
{
    struct node_entry *n = &l->nodes[node];

    ledger_change_begin(l, node);
    node_set_unroomed(l, n, false);
    l->described_n -= n->described;
    n->described = false;
    n->schedulable = false;
    n->touched = l->generation + 1;
    n->closed = false;
    n->source = INVENTORY_NONE;
    n->note = NULL;
    n->elsewhere = n->unmeasured = false;
    n->host = (struct host_capacity){0};
    n->host_taken = (struct host_request){0};
    l->rows[node].flags = n->shut ? NODE_SHUT : 0;
    l->rows[node].hand_off = HAND_OFF_DOWNWARD_API;
    l->rows[node].plugin_managed_cap = 0;
    l->rows[node].plugin_managed_per_gpu = 1;
    l->rows[node].plugin_managed_names = 0;
    ledger_devices_set(l, node, NULL, 0);
    ledger_recompute(l, node);
    ledger_node_drop_if_empty(l, node);
}
