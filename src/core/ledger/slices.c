/* Nodes whose GPUs ResourceSlices publish: a fact apart from the node's own object, so that the order of the two does
 * not matter and a node described anew stays closed. */
#include "core/ledger/node_table.h"
#include "core/ledger/numbers.h"
#include "core/ledger/state.h"
#include "core/ledger/snapshot_iterators.h"

static void elsewhere_changed(struct ledger *l, uint32_t node, bool before)
{
    const struct node_entry *n = &l->nodes[node];

    if (ledger_is_elsewhere(n) != before) {
        ledger_recompute(l, node);
        if (before && n->device_n > 0) {
            ledger_capacity_grew(l);
        }
    }
}

static void slices_anywhere(struct ledger *l, const char *note)
{
    l->slices_anywhere = note;
    for (uint32_t i = 0; i < l->node_n; i++) {
        struct node_entry *n = &l->nodes[i];
        bool before = ledger_is_elsewhere(n);

        if (n->used) {
            ledger_iterators_node_changes(l, i);
            n->slices_anywhere = note != NULL;
            elsewhere_changed(l, i, before);
        }
    }
}

int ledger_node_slices(struct ledger *l, struct str name, const char *note, struct err *reterr)
{
    uint32_t node;
    bool before;

    if (name.n == 0) {
        slices_anywhere(l, note);
        return 0;
    }
    node = note != NULL ? ledger_node_add(l, name) : ledger_node_find(l, name);
    if (node == LEDGER_NONE) {
        return note == NULL ? 0 : err_set(reterr, ERR_LIMIT, "more than %u nodes", l->limits.nodes_max);
    }
    before = ledger_is_elsewhere(&l->nodes[node]);
    l->nodes[node].slices_note = note;
    elsewhere_changed(l, node, before);
    ledger_node_drop_if_empty(l, node);
    return 0;
}
