/* Pods that use GPUs and find no room in the ledger: what is not known of them closes nodes, and a list of all pods
 * opens them again. What holds, and why: core/ledger/ledger.h.
 *
 * A node that is shut remembers the list (pod_epoch) during which that was last said. A list that began later and is
 * complete has had every pod: those of this node were entered, or it was shut anew. So nothing has to be remembered of
 * the pods themselves, however many there are. */
#include "base/bug.h"
#include "core/ledger/change.h"
#include "core/ledger/node_table.h"
#include "core/ledger/state.h"
#include "core/ledger/turned_away.h"
#include "core/ledger/snapshot_iterators.h"

#include <stdlib.h>

bool ledger_has_room_for(const struct ledger *l, const struct ledger_pod_fact *f)
{
    return l->pod_used_n < l->limits.pods_max && (f->node_name.n == 0 || ledger_node_has_room(l, f->node_name));
}

static void remember(struct turned_away *t, const struct ledger_pod_fact *f)
{
    char *at;

    free(t->text);
    t->text = at = xmalloc(f->namespace_.n + f->name.n + f->node_name.n + 1);
    t->namespace_ = str_put(&at, f->namespace_);
    t->name = str_put(&at, f->name);
    t->node_name = str_put(&at, f->node_name);
    t->total_n++;
}

/* Whoever describes the node anew does not open it. */
static void set_shut(struct ledger *l, uint32_t node, bool shut)
{
    struct node_entry *n = &l->nodes[node];
    struct node_state *row = &l->rows[node];

    if (n->shut == shut) {
        return;
    }
    ledger_iterators_node_changes(l, node);
    ledger_change_begin(l, node);
    n->shut = shut;
    l->shut_n += shut;
    l->shut_n -= !shut;
    row->flags = (uint8_t)(shut ? row->flags | NODE_SHUT : row->flags & ~NODE_SHUT);
    row->version = ledger_next_version(l, node);
}

void ledger_turn_away(struct ledger *l, const struct ledger_pod_fact *f)
{
    uint32_t node;

    remember(&l->turned_away, f);
    if (f->node_name.n == 0) {
        return; /* it holds nothing */
    }
    l->turned_away.now_n++;
    node = ledger_node_find(l, f->node_name);
    if (node != LEDGER_NONE) {
        l->nodes[node].shut_epoch = l->pod_epoch;
        set_shut(l, node, true);
    }
}

void ledger_turned_away_node_described(struct ledger *l, uint32_t node)
{
    if (l->turned_away.now_n + l->turned_away.before_n > 0) {
        l->nodes[node].shut_epoch = l->pod_epoch;
        set_shut(l, node, true);
    }
}

void ledger_turned_away_list_begins(struct ledger *l)
{
    l->turned_away.before_n += l->turned_away.now_n;
    l->turned_away.now_n = 0;
}

void ledger_turned_away_list_ends(struct ledger *l)
{
    bool all_are_entered = l->turned_away.now_n == 0;

    l->turned_away.before_n = 0; /* gone, entered, or turned away again */
    for (uint32_t i = 0; i < l->node_n && l->shut_n > 0; i++) {
        const struct node_entry *n = &l->nodes[i];

        if (n->used && n->shut && (all_are_entered || n->shut_epoch != l->pod_epoch)) {
            set_shut(l, i, false);
            ledger_change_follow(l, LEDGER_PODS_END);
        }
    }
}

/* On a node that is known it will; on one that is not, if the list of all nodes is still to come. */
bool ledger_turned_away_come_again(const struct ledger *l)
{
    return l->shut_n > 0 || (l->turned_away.now_n > 0 && !l->nodes_synced);
}

const char *ledger_check_turned_away(const struct ledger *l)
{
    uint32_t shut = 0;

    for (uint32_t i = 0; i < l->node_n; i++) {
        const struct node_entry *n = &l->nodes[i];

        if (n->used && n->shut != ((l->rows[i].flags & NODE_SHUT) != 0)) {
            return "a node that must take nothing is open, or the other way round";
        }
        shut += n->used && n->shut;
    }
    if (shut > 0 && l->turned_away.now_n + l->turned_away.before_n == 0) {
        return "a node takes nothing for the sake of pods that were turned away, and there are none";
    }
    return shut == l->shut_n ? NULL : "the number of nodes that take nothing is wrong";
}
