/* The order of the nodes' names as numbers, so that ranking need not look at texts (core/placement/pack.h). A name
 * that comes gets a number between those of its neighbours; where there is none left, all get new ones, evenly. */
#include "core/ledger/node_table.h"
#include "core/ledger/state.h"

#include <string.h>

/* Lists give names in their order: from the middle on there are LEDGER_NODES_MAX steps, and as many before it. */
#define MIDDLE (UINT32_C(1) << 31)
#define STEP (UINT32_C(1) << 14)
_Static_assert((uint64_t)LEDGER_NODES_MAX *STEP < MIDDLE, "room for all nodes on either side");

/* The first of `n` nodes whose name is not smaller. */
static uint32_t place_of(const struct ledger *l, uint32_t n, struct str name)
{
    uint32_t from = 0, to = n;

    while (from < to) {
        uint32_t middle = from + (to - from) / 2;

        if (str_cmp(l->names[l->by_name[middle]], name) < 0) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

static void set_order(struct ledger *l, uint32_t node, uint32_t order)
{
    l->rows[node].name_order = l->briefs.briefs[node].name_order = order;
}

static void number_all(struct ledger *l, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        set_order(l, l->by_name[i], MIDDLE - n / 2 * STEP + i * STEP);
    }
}

void ledger_order_add(struct ledger *l, uint32_t node)
{
    uint32_t n = l->node_used_n, at = place_of(l, n, l->names[node]);
    uint32_t before = at > 0 ? l->rows[l->by_name[at - 1]].name_order : 0;
    uint32_t after = at < n ? l->rows[l->by_name[at]].name_order : UINT32_MAX;
    uint32_t gap = (after - before) / 2;

    memmove(l->by_name + at + 1, l->by_name + at, (n - at) * sizeof(*l->by_name));
    l->by_name[at] = node;
    if (gap == 0 || n == 0) {
        number_all(l, n + 1);
    } else if (at == 0) {
        set_order(l, node, after - (gap < STEP ? gap : STEP));
    } else {
        set_order(l, node, before + (gap < STEP ? gap : STEP));
    }
}

void ledger_order_remove(struct ledger *l, uint32_t node)
{
    uint32_t at = place_of(l, l->node_used_n, l->names[node]);

    memmove(l->by_name + at, l->by_name + at + 1, (l->node_used_n - at - 1) * sizeof(*l->by_name));
}

const char *ledger_order_check(const struct ledger *l, uint32_t at)
{
    uint32_t node = l->by_name[at], before = at > 0 ? l->by_name[at - 1] : LEDGER_NONE;

    if (node >= l->node_n || !l->nodes[node].used) {
        return "a node that is gone is among the names";
    }
    if (before != LEDGER_NONE &&
        (str_cmp(l->names[before], l->names[node]) >= 0 || l->rows[before].name_order >= l->rows[node].name_order)) {
        return "the numbers of two nodes are not in the order of their names";
    }
    return NULL;
}
