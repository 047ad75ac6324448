/* `consistency: strict` without a bind: what is done after each audit (binder_tidy()). A node is looked at as a bind
 * would, by the exchanges of binder_intents_exchange.c, and only once: what cannot be proven now is left to the next
 * bind or audit. Nodes come one after the other. */
#include "extender/bind_node.h"

#include "base/bug.h"
#include "base/clock.h"

#include <stdlib.h>

static void forget_names(struct binder_tidy *t)
{
    while (t->n > 0) {
        free(t->names[--t->n]);
    }
}

void binder_free_tidy(struct binder *b)
{
    forget_names(&b->tidy);
    free(b->tidy.names);
}

static void add_name(struct binder_tidy *t, struct str name)
{
    if (t->n == t->cap) {
        t->cap = t->cap == 0 ? 8 : 2 * t->cap;
        t->names = xreallocarray(t->names, t->cap, sizeof(*t->names));
    }
    t->names[t->n++] = str_dup(name);
}

void binder_tidy(struct binder *b)
{
    mutex_lock(&b->lock);
    forget_names(&b->tidy);
    b->tidy.busy = false;
    for (size_t i = 0; b->nodes != NULL && i < BIND_NODE_BUCKETS; i++) {
        for (struct bind_node *n = b->nodes[i]; n != NULL; n = n->next) {
            n->looking = false;
            if (bind_node_is_in_doubt(n)) {
                add_name(&b->tidy, str_of(n->name));
            }
        }
    }
    bind_wake_at(b, clock_mono_ns(b->clock));
    mutex_unlock(&b->lock);
}

void bind_node_end_look(struct bind_node *n)
{
    if (n->looking) {
        n->looking = false;
        n->binder->tidy.busy = false;
        bind_wake_at(n->binder, clock_mono_ns(n->binder->clock));
    }
}

static void look_at(struct binder *b, struct str name)
{
    struct bind_node *n = bind_node_of(b, name);

    b->tidy.busy = true;
    n->looking = true;
    n->again_ns = INT64_MIN;
    bind_node_advance(n);
}

void binder_tidy_turn(struct binder *b)
{
    struct binder_tidy *t = &b->tidy;
    char *name;

    if (t->busy || t->n == 0 || b->closed || b->stopping) {
        return;
    }
    name = t->names[--t->n];
    look_at(b, str_of(name));
    free(name);
}
