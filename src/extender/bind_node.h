/* extender/bind_node.h - the object of one node, between binder_intents.c, which says what is due,
 * binder_intents_exchange.c, which sends it, and binder_intents_tidy.c, which looks where no bind does. With the
 * binder's lock, all of it. */
#ifndef EXTENDER_BIND_NODE_H
#define EXTENDER_BIND_NODE_H

#include "extender/binder_internal.h"

/* That of the name; made if there is none. */
struct bind_node *bind_node_of(struct binder *b, struct str name);
/* Of a bucket. What is known of nodes that are gone is read again if they come back: clusters that grow and shrink have
 * ever new names. */
void bind_node_drop_gone(struct bind_node **at);
/* Nothing is decided there until somebody acts, or something is proven (binder_nodes_in_doubt()). */
bool bind_node_is_in_doubt(struct bind_node *n);
/* What this process knows of an intent; `ctx` is the node. */
enum intent_sight bind_node_sight(void *ctx, const struct intent *i);
bool bind_node_has(const struct bind_node *n, enum bind_intent intent);
bool bind_node_is_waited_for(const struct bind_node *n); /* by a bind, for whatever of it */
/* All binds that wait so go on from there. */
void bind_node_give_turn(struct bind_node *n, enum bind_intent from, enum bind_intent to);
/* The next exchange comes after a pause, if a bind waits for it; `why` is static. It ends a look without a bind. */
void bind_node_pause(struct bind_node *n, const char *why);
/* Nothing is wrong any more. */
void bind_node_go_on(struct bind_node *n);
/* The look without a bind, if there is one, found nothing unproven: it is over, or the object is removed. */
void bind_node_looked_at(struct bind_node *n);
void bind_node_end_look(struct bind_node *n); /* if there is one */

/* Each begins one exchange, unless it cannot be submitted. */
void bind_node_read(struct bind_node *n);
void bind_node_read_pod(struct bind_node *n, const struct intent *i);
void bind_node_write(struct bind_node *n);
/* Writes that nothing may land there or has landed. False: something may or has, so nothing is written. While no bind
 * of the node waits. */
bool bind_node_write_none(struct bind_node *n);

/* Begins an exchange of the node; false: it cannot be submitted, and a pause has begun. */
bool bind_node_submit(struct bind_node *n, const struct kube_request *request, kube_done_fn *done);
/* The reply to it, with the lock; false: it says nothing, we are stopping. */
bool bind_node_is_answered(struct bind_node *n, const struct kube_response *response);

static inline bool bind_node_has_status(const struct kube_response *r, int status)
{
    return r->outcome.kind == KUBE_ANSWERED && r->outcome.http_status == status;
}

static inline bool bind_node_is_forbidden(const struct kube_response *r)
{
    return bind_node_has_status(r, 401) || bind_node_has_status(r, 403);
}

#endif
