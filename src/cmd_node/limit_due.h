/* cmd_node/limit_due.h - the containers that run, and which of them the driver has yet to be told about. A container is
 * one by its id and its first process: whoever was told stays so when the runtime lists everything anew.
 *
 * No lock: its owner has one.
 */
#ifndef CMD_NODE_LIMIT_DUE_H
#define CMD_NODE_LIMIT_DUE_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum limit_due_state {
    LIMIT_DUE,     /* nobody has told the driver */
    LIMIT_TAKEN,   /* somebody is about to */
    LIMIT_TOLD,    /* done */
    LIMIT_REFUSED, /* it said no; tried again when the runtime lists the container again */
};

struct limit_due_item;

/* All zero: empty. */
struct limit_due {
    struct limit_due_item *first;
};

void limit_due_fini(struct limit_due *l);

/* The runtime lists everything; afterwards only what it listed is here. */
void limit_due_list_begin(struct limit_due *l);
void limit_due_listed(struct limit_due *l, struct str id, uint32_t pid);
void limit_due_list_end(struct limit_due *l);

/* Adds it if it is not here. */
void limit_due_set(struct limit_due *l, struct str id, uint32_t pid, enum limit_due_state state);
void limit_due_forget(struct limit_due *l, struct str id);
/* One that is due, which is taken then and comes last next time. False: none. The text is valid until it is forgotten.
 */
bool limit_due_take(struct limit_due *l, struct str *ret_id, uint32_t *ret_pid);
/* What became of one that was taken; nothing if it is not here any more. */
void limit_due_settle(struct limit_due *l, struct str id, uint32_t pid, enum limit_due_state state);

#endif
