/* extender/bind_node.h - the object of one node, between binder_intents.c, which says what is due, and
 * binder_intents_exchange.c, which sends it. With the binder's lock, all of it. */
#ifndef EXTENDER_BIND_NODE_H
#define EXTENDER_BIND_NODE_H

#include "extender/binder_internal.h"

/* What this process knows of an intent; `ctx` is the node. */
enum intent_sight bind_node_sight(void *ctx, const struct intent *i);
bool bind_node_has(const struct bind_node *n, enum bind_intent intent);
/* All binds that wait so go on from there. */
void bind_node_give_turn(struct bind_node *n, enum bind_intent from, enum bind_intent to);
/* The next exchange comes after a pause; `why` is static. */
void bind_node_pause(struct bind_node *n, const char *why);
/* Nothing is wrong any more. */
void bind_node_go_on(struct bind_node *n);

/* Each begins one exchange, unless it cannot be submitted. */
void bind_node_read(struct bind_node *n);
void bind_node_read_pod(struct bind_node *n, const struct intent *i);
void bind_node_write(struct bind_node *n);

#endif
