/* What people read of pods whose annotations contradict what is known of them, and of nodes that are shut. */
#include "core/ledger/node_table.h"
#include "core/ledger/observe.h"
#include "core/ledger/state.h"
#include "core/ledger/turned_away.h"

const char ledger_conflict_record[] = "the assignment annotation was changed after binding; ignored";
const char ledger_conflict_request[] = "the request annotations were changed after binding; the larger charge stays";
const char ledger_conflict_reading[] =
    "the configuration has changed the meaning of its request since it was bound; the larger charge stays";
const char ledger_conflict_no_record[] = "bound without an assignment by fgpu; counted on every device of its node";
const char ledger_conflict_signature[] = "the signature of its record is not valid";

static const char note_shut[] =
    "takes no new pods with GPUs: pods that may be here found no room in fgpu and are not counted. The node opens by "
    "itself "
    "after a list of all pods without such pods; delete pods that name nodes which do not exist";

const char *ledger_note_of(const struct ledger *l, const struct node_entry *n)
{
    if (n->shut) {
        return note_shut;
    }
    if (n->described && n->slices_note != NULL) {
        return n->slices_note;
    }
    return n->described && n->slices_anywhere ? l->slices_anywhere : n->note;
}

const char *ledger_node_note(const struct ledger *l, struct str node_name)
{
    uint32_t i = ledger_node_find(l, node_name);

    return i == LEDGER_NONE ? NULL : ledger_note_of(l, &l->nodes[i]);
}
