/* Nodes of the ledger: names, and what is described of them. Their devices: ledger_devices.c. */
#include "base/bug.h"
#include "core/ledger_internal.h"

#include <stdlib.h>
#include <string.h>

static bool node_has_name(const void *owner, uint32_t value, const void *key)
{
    const struct ledger *l = owner;
    const struct str *name = key;

    return str_eq(l->names[value], *name);
}

uint32_t ledger_node_find(const struct ledger *l, struct str name)
{
    return hashmap_find(&l->node_index, hash_name(l->limits.hash_key, name), node_has_name, l, &name);
}

static uint32_t node_slot(struct ledger *l)
{
    uint32_t cap;

    if (l->free_node_n > 0) {
        return l->free_nodes[--l->free_node_n];
    }
    if (l->node_n == l->node_cap) {
        cap = l->node_cap == 0 ? 64 : l->node_cap * 2;
        l->nodes = xreallocarray(l->nodes, cap, sizeof(*l->nodes));
        l->rows = xreallocarray(l->rows, cap, sizeof(*l->rows));
        l->names = xreallocarray(l->names, cap, sizeof(*l->names));
        l->by_name = xreallocarray(l->by_name, cap, sizeof(*l->by_name));
        l->free_nodes = xreallocarray(l->free_nodes, cap, sizeof(*l->free_nodes));
        l->node_cap = cap;
    }
    return l->node_n++;
}

uint32_t ledger_node_add(struct ledger *l, struct str name)
{
    uint32_t i = ledger_node_find(l, name);

    if (i != LEDGER_NONE) {
        return i;
    }
    if (l->node_used_n == LEDGER_NODES_MAX) {
        return LEDGER_NONE;
    }
    i = node_slot(l);
    l->nodes[i] = (struct node_entry){.used = true,
                                      .slices_anywhere = l->slices_anywhere != NULL,
                                      .overcommit_milli = l->limits.overcommit_milli,
                                      .overcommit_mem_milli = l->limits.overcommit_mem_milli};
    l->rows[i] = (struct node_state){.version = ++l->version};
    l->names[i] = shared_text_new(name);
    ledger_order_add(l, i);
    l->node_used_n++;
    l->names_version++;
    hashmap_insert(&l->node_index, hash_name(l->limits.hash_key, name), i);
    return i;
}

void ledger_node_drop_if_empty(struct ledger *l, uint32_t node)
{
    struct node_entry *n = &l->nodes[node];

    if (n->described || n->slices_note != NULL || n->pod_n > 0 || n->light_n > 0) {
        return;
    }
    hashmap_remove(&l->node_index, hash_name(l->limits.hash_key, l->names[node]), node);
    ledger_order_remove(l, node);
    l->unroomed_n -= n->unroomed;
    ledger_node_free(l, node);
    *n = (struct node_entry){.used = false};
    l->rows[node] = (struct node_state){0};
    l->names[node] = STR_NULL;
    l->free_nodes[l->free_node_n++] = node;
    l->node_used_n--;
    l->names_version++;
}

void ledger_node_free(struct ledger *l, uint32_t node)
{
    struct node_entry *n = &l->nodes[node];

    ledger_devices_free(l, node);
    free(n->uid);
    free(n->taints);
    free(n->pods);
    shared_text_drop(l->names[node]);
}

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
    l->charges_more = l->charges_more || inv->qos == QOS_EQUAL_SHARE;
}

uint8_t ledger_plugin_flags(const struct inventory *inv)
{
    unsigned flags = 0;

    flags |= inv->mig_changing ? NODE_MIG_CHANGING : 0;
    flags |= inv->mig_single ? NODE_MIG_SINGLE : 0;
    flags |= inv->unsteered_one ? NODE_ONE_UNIT : 0;
    for (size_t i = 0; i < inv->device_n; i++) {
        flags |= inv->devices[i].counted && !inv->mig_single ? NODE_MIG_COUNTED : 0;
    }
    return (uint8_t)flags;
}

static int32_t units_per_gpu(const struct inventory *inv)
{
    return inv->unsteered_per_gpu > 1 ? inv->unsteered_per_gpu : 1;
}

bool ledger_same_plugin(const struct node_state *row, const struct inventory *inv)
{
    return row->unsteered_cap == inv->unsteered_n && row->unsteered_per_gpu == units_per_gpu(inv) &&
           row->unsteered_names == inv->unsteered_names &&
           (row->flags & NODE_PLUGIN_FLAGS) == ledger_plugin_flags(inv);
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

const char *ledger_lacks_room(const struct ledger *l)
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
        return err_set(reterr, ERR_LIMIT, "more than %d nodes", LEDGER_NODES_MAX);
    }
    ledger_change_begin(l, node);
    n = &l->nodes[node];
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
    taints_replace(&n->taints, &n->taint_n, f->taints, f->taint_n);
    n->host = f->host;
    n->host_taken = f->host_taken;
    n->epoch = l->node_epoch;
    n->touched = l->generation + 1;
    l->rows[node].flags = (uint8_t)(NODE_DESCRIBED | (f->closed ? NODE_CLOSED : 0) | ledger_plugin_flags(inv));
    l->rows[node].unsteered_cap = inv->unsteered_n;
    l->rows[node].unsteered_per_gpu = units_per_gpu(inv);
    l->rows[node].unsteered_names = inv->unsteered_names;
    node_set_settings(l, n, inv);
    ledger_devices_set(l, node, fresh, (uint32_t)inv->device_n);
    ledger_keep_granted(l, node);
    ledger_recompute(l, node);
    ledger_light_node_described(l, node);
    return 0;
}

void ledger_node_gone(struct ledger *l, uint32_t node)
{
    struct node_entry *n = &l->nodes[node];

    ledger_change_begin(l, node);
    node_set_unroomed(l, n, false);
    n->described = false;
    n->schedulable = false;
    n->touched = l->generation + 1;
    n->closed = false;
    n->source = INVENTORY_NONE;
    n->note = NULL;
    n->elsewhere = n->unmeasured = false;
    n->host = (struct host_capacity){0};
    n->host_taken = (struct host_request){0};
    l->rows[node].flags = 0;
    l->rows[node].unsteered_cap = 0;
    l->rows[node].unsteered_per_gpu = 1;
    l->rows[node].unsteered_names = 0;
    ledger_devices_set(l, node, NULL, 0);
    ledger_recompute(l, node);
    ledger_node_drop_if_empty(l, node);
}
