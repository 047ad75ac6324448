/* Nodes of the ledger: names, inventories, extents of device states. */
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
    uint32_t name_id;

    if (i != LEDGER_NONE) {
        return i;
    }
    if (l->node_used_n == LEDGER_NODES_MAX) {
        return LEDGER_NONE;
    }
    name_id = intern_add(l->names_known, name);
    if (name_id == INTERN_NONE) {
        return LEDGER_NONE;
    }
    i = node_slot(l);
    l->nodes[i] = (struct node_entry){.used = true,
                                      .overcommit_milli = l->limits.overcommit_milli,
                                      .overcommit_mem_milli = l->limits.overcommit_mem_milli};
    l->rows[i] = (struct node_state){.version = ++l->version};
    l->names[i] = intern_text(l->names_known, name_id);
    ledger_order_add(l, i);
    l->node_used_n++;
    l->names_version++;
    hashmap_insert(&l->node_index, hash_name(l->limits.hash_key, name), i);
    return i;
}

void ledger_states_grow(struct ledger *l)
{
    l->state_cap = l->state_cap == 0 ? 512 : l->state_cap * 2;
    l->states = xreallocarray(l->states, l->state_cap, sizeof(*l->states));
}

static uint32_t extent_take(struct ledger *l, uint32_t n)
{
    uint32_t first;

    BUG_ON(n == 0 || n > DEVICES_PER_NODE_MAX);
    if (l->free_extent_n[n] > 0) {
        return l->free_extents[n][--l->free_extent_n[n]];
    }
    if (l->state_n + n > l->state_cap) {
        ledger_states_grow(l);
    }
    first = l->state_n;
    l->state_n += n;
    return first;
}

static void extent_give(struct ledger *l, uint32_t first, uint32_t n)
{
    if (n == 0) {
        return;
    }
    if (l->free_extent_n[n] == l->free_extent_cap[n]) {
        l->free_extent_cap[n] = l->free_extent_cap[n] == 0 ? 16 : l->free_extent_cap[n] * 2;
        l->free_extents[n] =
            xreallocarray(l->free_extents[n], l->free_extent_cap[n], sizeof(uint32_t));
    }
    l->free_extents[n][l->free_extent_n[n]++] = first;
}

void ledger_node_drop_if_empty(struct ledger *l, uint32_t node)
{
    struct node_entry *n = &l->nodes[node];

    if (n->described || n->pod_n > 0 || n->light_n > 0) {
        return;
    }
    hashmap_remove(&l->node_index, hash_name(l->limits.hash_key, l->names[node]), node);
    ledger_order_remove(l, node);
    extent_give(l, l->rows[node].first_device, n->extent_n);
    free(n->uid);
    free(n->taints);
    free(n->devices);
    free(n->pods);
    *n = (struct node_entry){.used = false};
    l->rows[node] = (struct node_state){0};
    l->names[node] = STR_NULL;
    l->free_nodes[l->free_node_n++] = node;
    l->node_used_n--;
    l->names_version++;
}

bool device_ref_equal(struct device_ref a, struct device_ref b)
{
    if (a.uuid_hash != 0 && b.uuid_hash != 0) {
        return a.uuid_hash == b.uuid_hash;
    }
    return a.index == b.index;
}

uint32_t ledger_device_find(const struct node_entry *n, struct device_ref ref)
{
    uint32_t found = LEDGER_NONE;

    for (uint32_t i = 0; i < n->device_n; i++) {
        if (!device_ref_equal(n->devices[i].ref, ref)) {
            continue;
        }
        if (n->devices[i].ref.uuid_hash == ref.uuid_hash) {
            return i; /* by UUID, whatever the index is by now; or neither side knows one */
        }
        found = found == LEDGER_NONE ? i : found;
    }
    return found;
}

struct device_ref ledger_device_ref(const struct ledger *l, struct str uuid, int32_t index)
{
    /* 0 means "no UUID", so the one text in 2^64 that hashes to it becomes 1. */
    uint64_t hash = uuid.n > 0 ? hash_str(l->limits.hash_key, uuid) : 0;

    return (struct device_ref){uuid.n > 0 && hash == 0 ? 1 : hash, index};
}

/* Is the device held by a pod attached to the node, and no device of the new inventory answers to what the pod
 * knows of it? Then it stays, even if the inventory forgot it. */
static bool device_is_held(const struct ledger *l, const struct node_entry *n, struct device_ref ref)
{
    for (uint32_t i = 0; i < n->pod_n; i++) {
        const struct pod_entry *p = &l->pods[n->pods[i]];

        for (size_t j = 0; j < p->ref_n; j++) {
            if (device_ref_equal(p->refs[j], ref) && ledger_device_find(n, p->refs[j]) == LEDGER_NONE) {
                return true;
            }
        }
    }
    return false;
}

static int device_from_fact(struct ledger *l, const struct device *d, struct ledger_device *ret,
                            struct err *reterr)
{
    uint32_t model = intern_add(l->models, d->model);
    uint32_t uuid = d->uuid.n > 0 ? intern_add(l->uuids, d->uuid) : INTERN_NONE;

    if (model == INTERN_NONE || (d->uuid.n > 0 && uuid == INTERN_NONE)) {
        return err_set(reterr, ERR_LIMIT, "too many different GPU models or UUIDs");
    }
    *ret = (struct ledger_device){
        .ref = ledger_device_ref(l, d->uuid, d->index),
        .uuid_id = uuid,
        .model_id = (uint16_t)model,
        .profile = d->profile,
        .start = d->start,
        .counted = d->counted,
        .slice = d->slice,
        .gpu_index = d->gpu_index,
        .slot_n = d->slot_n,
        .mem_mib = d->mem_mib,
        .healthy = d->healthy,
    };
    return 0;
}

/* May the pods of a device be too much for it now? It lost something, or its memory became known, and shares
 * that took none take their part. */
static bool device_shrank(const struct ledger_device *before, const struct ledger_device *now)
{
    return now->mem_mib < before->mem_mib || now->slot_n < before->slot_n ||
           (before->mem_mib == 0 && now->mem_mib > 0) || (now->slice && !before->slice);
}

static bool same_memory(const struct ledger_device *a, uint32_t a_n, const struct ledger_device *b, uint32_t b_n)
{
    bool same = a_n == b_n;

    for (uint32_t i = 0; same && i < a_n; i++) {
        same = a[i].mem_mib == b[i].mem_mib;
    }
    return same;
}

/* Puts the new devices in place: what the inventory says, then what it no longer says but a pod holds. */
static void node_set_devices(struct ledger *l, uint32_t node, const struct ledger_device *fresh,
                             uint32_t fresh_n)
{
    struct node_entry *n = &l->nodes[node];
    struct ledger_device *old = n->devices;
    uint32_t old_n = n->device_n;
    struct ledger_device *all = xcalloc((size_t)fresh_n + old_n + 1, sizeof(*all));
    uint32_t all_n = fresh_n;

    if (fresh_n > 0) {
        memcpy(all, fresh, fresh_n * sizeof(*all));
    }
    n->devices = all;
    n->device_n = fresh_n;
    for (uint32_t i = 0; i < old_n; i++) {
        uint32_t now = ledger_device_find(n, old[i].ref);

        if (now != LEDGER_NONE) {
            n->shrunk = n->shrunk || device_shrank(&old[i], &all[now]);
            ledger_overcommit_carry(l, node, &old[i], &all[now]);
        } else if (device_is_held(l, n, old[i].ref) && all_n < DEVICES_PER_NODE_MAX) {
            all[all_n] = old[i];
            all[all_n].lost = true;
            all[all_n].healthy = false;
            all_n++;
            n->shrunk = true;
        } else {
            ledger_overcommit_gone(l, node, &old[i]);
        }
    }
    n->device_n = all_n;
    l->gpus_version += !same_memory(old, old_n, all, all_n);
    free(old);
    if (n->extent_n != all_n) {
        extent_give(l, l->rows[node].first_device, n->extent_n);
        l->rows[node].first_device = all_n > 0 ? extent_take(l, all_n) : 0;
        n->extent_n = all_n;
        l->rows[node].device_n = (uint16_t)all_n;
    }
}

void ledger_node_forget_lost(struct ledger *l, uint32_t node)
{
    struct node_entry *n = &l->nodes[node];
    struct ledger_device fresh[DEVICES_PER_NODE_MAX];
    uint32_t fresh_n = 0, lost_n = 0;

    for (uint32_t i = 0; i < n->device_n; i++) {
        if (n->devices[i].lost) {
            lost_n++;
        } else {
            fresh[fresh_n++] = n->devices[i];
        }
    }
    if (lost_n > 0) {
        node_set_devices(l, node, fresh, fresh_n);
    }
}

static void node_set_uid(struct node_entry *n, struct str uid)
{
    if (n->uid != NULL && str_eq(str_of(n->uid), uid)) {
        return;
    }
    free(n->uid);
    n->uid = str_dup(uid);
}

/* Device by device; another order of the same ones may count as room, which costs nothing. */
static bool has_more_room(const struct device_state *now, uint32_t now_n, const struct device_state *before,
                          uint32_t before_n)
{
    if (now_n > before_n) {
        return true;
    }
    for (uint32_t i = 0; i < now_n; i++) {
        if (now[i].milli_free > before[i].milli_free || now[i].mem_free_mib > before[i].mem_free_mib ||
            now[i].slot_free > before[i].slot_free || (now[i].flags & ~before[i].flags & DEVICE_HEALTHY) != 0) {
            return true;
        }
    }
    return false;
}

static void node_set_settings(struct ledger *l, struct node_entry *n, const struct inventory *inv)
{
    int32_t milli = inv->overcommit_milli, mem_milli = inv->overcommit_mem_milli;

    milli = milli > 0 ? milli : l->limits.overcommit_milli;
    mem_milli = mem_milli > 0 ? mem_milli : l->limits.overcommit_mem_milli;
    n->shrunk = n->shrunk || milli < n->overcommit_milli || mem_milli < n->overcommit_mem_milli;
    n->overcommit_milli = milli;
    n->overcommit_mem_milli = mem_milli;
    n->shrunk = n->shrunk || (inv->memory_only == MEMORY_ONLY_SHARE && n->memory_only == MEMORY_ONLY_FREE);
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

int ledger_node_described(struct ledger *l, const struct ledger_node_fact *f, struct err *reterr)
{
    struct ledger_device fresh[DEVICES_PER_NODE_MAX];
    struct device_state before[DEVICES_PER_NODE_MAX];
    uint32_t before_n, node;
    struct node_entry *n;
    bool room;

    if (f->inventory->device_n > DEVICES_PER_NODE_MAX) {
        return err_set(reterr, ERR_LIMIT, "node has more than %d GPUs", DEVICES_PER_NODE_MAX);
    }
    for (size_t i = 0; i < f->inventory->device_n; i++) {
        int r = device_from_fact(l, &f->inventory->devices[i], &fresh[i], reterr);

        if (r != 0) {
            return r;
        }
        l->charges_more = l->charges_more || fresh[i].slice;
        l->sliced = l->sliced || ledger_is_slice(&fresh[i]);
    }
    node = ledger_node_add(l, f->name);
    if (node == LEDGER_NONE) {
        return err_set(reterr, ERR_LIMIT, "more than %d nodes", LEDGER_NODES_MAX);
    }
    n = &l->nodes[node];
    before_n = n->device_n;
    for (uint32_t i = 0; i < before_n; i++) {
        before[i] = l->states[l->rows[node].first_device + i];
    }
    room = !n->described || (f->schedulable && !n->schedulable) ||
           (!f->closed && n->closed) ||
           (f->inventory->memory_only == MEMORY_ONLY_FREE && n->memory_only == MEMORY_ONLY_SHARE) ||
           (f->inventory->qos != QOS_EQUAL_SHARE && n->qos == QOS_EQUAL_SHARE) ||
           f->inventory->unsteered_n > l->rows[node].unsteered_cap ||
           f->inventory->unsteered_names != l->rows[node].unsteered_names ||
           (l->rows[node].flags & NODE_PLUGIN_FLAGS & ~ledger_plugin_flags(f->inventory)) != 0;
    node_set_uid(n, f->uid);
    n->described = true;
    n->schedulable = f->schedulable;
    n->closed = f->closed;
    n->source = f->inventory->source;
    n->note = f->note;
    n->rules = f->rules;
    taints_replace(&n->taints, &n->taint_n, f->taints, f->taint_n);
    n->host = f->host;
    n->host_taken = f->host_taken;
    n->epoch = l->node_epoch;
    n->touched = l->generation + 1;
    l->rows[node].flags =
        (uint8_t)(NODE_DESCRIBED | (f->closed ? NODE_CLOSED : 0) | ledger_plugin_flags(f->inventory));
    n->shrunk = n->shrunk || f->inventory->unsteered_n < l->rows[node].unsteered_cap;
    l->rows[node].unsteered_cap = f->inventory->unsteered_n;
    l->rows[node].unsteered_per_gpu = units_per_gpu(f->inventory);
    l->rows[node].unsteered_names = f->inventory->unsteered_names;
    node_set_settings(l, n, f->inventory);
    node_set_devices(l, node, fresh, (uint32_t)f->inventory->device_n);
    ledger_recompute(l, node);
    ledger_light_node_described(l, node);
    if (room || (n->device_n > 0 && has_more_room(&l->states[l->rows[node].first_device], n->device_n,
                                                  before, before_n))) {
        ledger_made_room(l);
    }
    return 0;
}

void ledger_node_gone(struct ledger *l, uint32_t node)
{
    struct node_entry *n = &l->nodes[node];

    n->described = false;
    n->schedulable = false;
    n->touched = l->generation + 1;
    n->closed = false;
    n->source = INVENTORY_NONE;
    n->note = NULL;
    n->host = (struct host_capacity){0};
    n->host_taken = (struct host_request){0};
    l->rows[node].flags = 0;
    l->rows[node].unsteered_cap = 0;
    l->rows[node].unsteered_per_gpu = 1;
    l->rows[node].unsteered_names = 0;
    n->shrunk = true;
    node_set_devices(l, node, NULL, 0);
    ledger_recompute(l, node);
    ledger_node_drop_if_empty(l, node);
}
