/* The table of nodes: places, and the names that they stand for. What is described of a node: nodes.c. */
#include "base/bug.h"
#include "core/ledger/device_table.h"
#include "core/ledger/host_group.h"
#include "core/ledger/node_table.h"
#include "core/ledger/state.h"

#include <stdlib.h>

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
        node_briefs_grow(&l->briefs, cap);
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
    if (l->node_used_n == l->limits.nodes_max) {
        return LEDGER_NONE;
    }
    i = node_slot(l);
    l->nodes[i] = (struct node_entry){.used = true,
                                      .shown_change = l->generation + 1,
                                      .slices_anywhere = l->slices_anywhere != NULL,
                                      .overcommit_milli = l->limits.overcommit_milli,
                                      .overcommit_mem_milli = l->limits.overcommit_mem_milli};
    l->rows[i] = (struct node_state){.version = ledger_next_version(l, i)};
    l->names[i] = shared_text_new(name);
    node_briefs_add(&l->briefs, i, name);
    ledger_order_add(l, i);
    l->node_used_n++;
    l->names_version++;
    hashmap_insert(&l->node_index, hash_name(l->limits.hash_key, name), i);
    return i;
}

static bool has_room_for_a_name(const struct ledger *l)
{
    return l->node_used_n - l->described_n < l->limits.nodes_max / 2 && l->node_used_n < l->limits.nodes_max;
}

bool ledger_node_has_room(const struct ledger *l, struct str name)
{
    return has_room_for_a_name(l) || ledger_node_find(l, name) != LEDGER_NONE;
}

uint32_t ledger_node_named(struct ledger *l, struct str name)
{
    return has_room_for_a_name(l) ? ledger_node_add(l, name) : ledger_node_find(l, name);
}

static void note_left(struct ledger *l, struct str name)
{
    struct node_left *left = &l->node_left[l->node_left_n++ % NODES_LEFT_MAX];

    shared_text_drop(left->name);
    *left = (struct node_left){.name = shared_text_take(name), .at = l->generation + 1};
}

void ledger_node_drop_if_empty(struct ledger *l, uint32_t node)
{
    struct node_entry *n = &l->nodes[node];

    if (n->described || n->slices_note != NULL || n->pod_n > 0 || n->cpu_only_n > 0) {
        return;
    }
    hashmap_remove(&l->node_index, hash_name(l->limits.hash_key, l->names[node]), node);
    ledger_order_remove(l, node);
    l->unroomed_n -= n->unroomed;
    l->shut_n -= n->shut;
    note_left(l, l->names[node]);
    ledger_node_free(l, node);
    *n = (struct node_entry){.used = false};
    l->rows[node] = (struct node_state){0};
    (void)ledger_next_version(l, node);
    node_briefs_remove(&l->briefs, node);
    l->names[node] = STR_NULL;
    l->free_nodes[l->free_node_n++] = node;
    l->node_used_n--;
    l->names_version++;
}

void ledger_node_free(struct ledger *l, uint32_t node)
{
    struct node_entry *n = &l->nodes[node];

    ledger_host_group_leave(l, node);
    ledger_devices_free(l, node);
    free(n->uid);
    free(n->taints);
    free(n->pods);
    shared_text_drop(l->names[node]);
}
