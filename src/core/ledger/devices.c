/* The devices of a node: who they are, what they keep of names and models, and which states are theirs. */
#include "base/bug.h"
#include "core/ledger/change.h"
#include "core/ledger/device_table.h"
#include "core/ledger/overcommit.h"
#include "core/ledger/state.h"

#include <stdlib.h>
#include <string.h>

/* ---- extents of states ---- */

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
        l->free_extents[n] = xreallocarray(l->free_extents[n], l->free_extent_cap[n], sizeof(uint32_t));
    }
    l->free_extents[n][l->free_extent_n[n]++] = first;
}

/* States for as many devices as there are. */
static void fit_extent(struct ledger *l, uint32_t node)
{
    struct node_entry *n = &l->nodes[node];

    if (n->extent_n != n->device_n) {
        extent_give(l, l->rows[node].first_device, n->extent_n);
        l->rows[node].first_device = n->device_n > 0 ? extent_take(l, n->device_n) : 0;
        n->extent_n = n->device_n;
        l->rows[node].device_n = (uint16_t)n->device_n;
    }
}

/* ---- identity ---- */

/* Of an inventory: what stands for a device of the one before. */
static uint32_t in_its_place(const struct node_entry *n, struct device_ref ref)
{
    uint32_t found = LEDGER_NONE;

    for (uint32_t i = 0; i < n->device_n; i++) {
        if (device_ref_equal(n->devices[i].ref, ref) &&
            (found == LEDGER_NONE || n->devices[i].ref.uuid_hash == ref.uuid_hash)) {
            found = i;
        }
    }
    return found;
}

/* Is the device, of the node as it `was`, held by a pod attached to the node, and no device of the new inventory
 * answers to what the pod knows of it? Then it stays, even if the inventory forgot it. */
static bool device_is_held(const struct ledger *l, const struct node_entry *n, const struct node_entry *was,
                           uint32_t ordinal)
{
    for (uint32_t i = 0; i < n->pod_n; i++) {
        const struct pod_entry *p = &l->pods[n->pods[i]];

        for (size_t j = 0; j < p->ref_n; j++) {
            if (ledger_device_find(was, p, p->refs[j]) == ordinal &&
                ledger_device_find(n, p, p->refs[j]) == LEDGER_NONE) {
                return true;
            }
        }
    }
    return false;
}

/* A device of the node holds its UUID and its model. `before` is what stood in its place, or NULL: mostly the same,
 * which is quicker. False: no more models. */
static bool device_take_in(struct ledger *l, const struct device *d, const struct ledger_device *before,
                           struct ledger_device *ret)
{
    uint32_t model;

    if (before != NULL && str_eq(intern_text(l->models, before->model_id), d->model)) {
        model = before->model_id;
        intern_take_again(l->models, model);
    } else {
        model = intern_take(l->models, d->model);
    }
    if (model == INTERN_NONE) {
        return false;
    }
    *ret = (struct ledger_device){
        .ref = ledger_device_ref(l, d->uuid, d->index),
        .uuid =
            before != NULL && str_eq(before->uuid, d->uuid) ? shared_text_take(before->uuid) : shared_text_new(d->uuid),
        .model_id = (uint16_t)model,
        .profile = d->profile,
        .start = d->start,
        .counted = d->counted,
        .slice = d->slice,
        .part_milli = (int16_t)d->part_milli,
        .gpu_index = d->gpu_index,
        .slot_n = d->slot_n,
        .mem_mib = d->mem_mib,
        .healthy = d->healthy,
    };
    return true;
}

static void device_let_go(struct ledger *l, const struct ledger_device *d)
{
    intern_drop(l->models, d->model_id);
    shared_text_drop(d->uuid);
}

bool ledger_devices_take_in(struct ledger *l, const struct inventory *inv, const struct node_entry *n,
                            struct ledger_device *ret)
{
    for (uint32_t i = 0; i < inv->device_n; i++) {
        const struct ledger_device *before = n != NULL && i < n->device_n ? &n->devices[i] : NULL;

        if (!device_take_in(l, &inv->devices[i], before, &ret[i])) {
            while (i > 0) {
                device_let_go(l, &ret[--i]);
            }
            return false;
        }
    }
    return true;
}

/* ---- change ---- */

static bool same_memory(const struct ledger_device *a, uint32_t a_n, const struct ledger_device *b, uint32_t b_n)
{
    bool same = a_n == b_n;

    for (uint32_t i = 0; same && i < a_n; i++) {
        same = a[i].mem_mib == b[i].mem_mib;
    }
    return same;
}

void ledger_devices_set(struct ledger *l, uint32_t node, const struct ledger_device *fresh, uint32_t fresh_n)
{
    struct node_entry *n = &l->nodes[node];
    const struct node_entry was = *n;
    struct ledger_device *old = n->devices;
    uint32_t old_n = n->device_n;
    struct ledger_device *all = xcalloc((size_t)fresh_n + old_n + 1, sizeof(*all));
    uint32_t all_n = fresh_n;

    ledger_change_begin(l, node);
    if (fresh_n > 0) {
        memcpy(all, fresh, fresh_n * sizeof(*all));
    }
    n->devices = all;
    n->device_n = fresh_n;
    for (uint32_t i = 0; i < old_n; i++) {
        uint32_t now = in_its_place(n, old[i].ref);

        if (now != LEDGER_NONE) {
            all[now].outgrown = old[i].outgrown;
            all[now].shrunk = old[i].shrunk;
            all[now].overbooked = old[i].overbooked;
            ledger_overcommit_carry(l, node, &old[i], &all[now]);
        } else if (device_is_held(l, n, &was, i) && all_n < DEVICES_PER_NODE_MAX) {
            all[all_n] = old[i];
            all[all_n].lost = true;
            all[all_n].healthy = false;
            all_n++;
            continue;
        } else {
            ledger_overcommit_gone(l, node, &old[i]);
        }
        device_let_go(l, &old[i]);
    }
    n->device_n = all_n;
    l->gpus_version += !same_memory(old, old_n, all, all_n);
    free(old);
    fit_extent(l, node);
}

void ledger_node_add_device(struct ledger *l, uint32_t node, const struct ledger_device *d)
{
    struct node_entry *n = &l->nodes[node];

    BUG_ON(n->device_n == DEVICES_PER_NODE_MAX);
    ledger_change_begin(l, node);
    n->devices = xreallocarray(n->devices, n->device_n + 1, sizeof(*n->devices));
    n->devices[n->device_n++] = *d;
    l->gpus_version++;
    fit_extent(l, node);
}

void ledger_node_forget_lost(struct ledger *l, uint32_t node)
{
    struct node_entry *n = &l->nodes[node];
    struct ledger_device fresh[DEVICES_PER_NODE_MAX];
    uint32_t fresh_n = 0, lost_n = 0;

    for (uint32_t i = 0; i < n->device_n; i++) {
        lost_n += n->devices[i].lost;
    }
    for (uint32_t i = 0; lost_n > 0 && i < n->device_n; i++) {
        if (!n->devices[i].lost) {
            fresh[fresh_n] = n->devices[i];
            intern_take_again(l->models, fresh[fresh_n].model_id);
            (void)shared_text_take(fresh[fresh_n++].uuid);
        }
    }
    if (lost_n > 0) {
        ledger_devices_set(l, node, fresh, fresh_n);
    }
}

void ledger_devices_free(struct ledger *l, uint32_t node)
{
    struct node_entry *n = &l->nodes[node];

    for (uint32_t i = 0; i < n->device_n; i++) {
        device_let_go(l, &n->devices[i]);
    }
    free(n->devices);
    extent_give(l, l->rows[node].first_device, n->extent_n);
}
