/* extender/bind_node.h - the object of one node, between binder_intents.c, which says what is due,
 * binder_intents_exchange.c, which sends it, and binder_intents_tidy.c, which looks where no bind does. With the
 * binder's lock, all of it. */
#ifndef EXTENDER_BIND_NODE_H
#define EXTENDER_BIND_NODE_H

#include "extender/binder_internal.h"

/* That of the name; made if there is none. */
struct bind_node *bind_node_of(struct binder *b, struct str name);
/* Nothing is decided there until somebody acts, or something is proven (binder_nodes_in_doubt()). */
bool bind_node_is_in_doubt(struct bind_node *n);
/* What this process knows of an intent; `ctx` is the node. */
enum intent_sight bind_node_sight(void *ctx, const struct intent *i);
bool bind_node_has(const struct bind_node *n, enum bind_intent intent);
/* All binds that wait so go on from there. */
void bind_node_give_turn(struct bind_node *n, enum bind_intent from, enum bind_intent to);
/* The next exchange comes after a pause, if a bind waits for it; `why` is static. It ends a look without a bind. */
void bind_node_pause(struct bind_node *n, const char *why);
/* Nothing is wrong any more. */
void bind_node_go_on(struct bind_node *n);
/* The look without a bind is over, if there is one. */
void bind_node_end_look(struct bind_node *n);

/* Each begins one exchange, unless it cannot be submitted. */
void bind_node_read(struct bind_node *n);
void bind_node_read_pod(struct bind_node *n, const struct intent *i);
void bind_node_write(struct bind_node *n);

#endif
