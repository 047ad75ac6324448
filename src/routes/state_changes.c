/* What of /state may have changed since a generation: the nodes that an iterator with a filter by change brings. */
#include "routes/state_internal.h"

#include <stdlib.h>

struct state_document *state_changes_new(struct state_context *c, uint64_t since, bool with_pods)
{
    const struct snapshot_iterator_filter filter = {.changed = true, .since = since, .nodes_only = !with_pods};
    struct state_document *d = xcalloc(1, sizeof(*d));

    arena_init(&d->arena, STATE_KEPT_BYTES_MAX);
    arena_init(&d->list_arena, STATE_LISTS_BYTES_MAX);
    json_writer_init(&d->w, NULL);
    state_read_context(d, c);
    if (with_pods) {
        d->refusal_n = waiting_refusals(store_waiting(c->store), &d->list_arena, &d->refusals);
    }
    d->iterator = store_iterator_open(c->store, &filter, STATE_KEPT_BYTES_MAX, &d->list_arena, &d->head);
    return d;
}

bool state_changes_each(struct state_document *d, state_changed_fn *fn, void *ctx)
{
    enum snapshot_iterator_step step;

    do {
        arena_reset(&d->arena);
        step = store_iterator_next(d->iterator, &d->arena, &d->section);
        if (step == SNAPSHOT_ITERATOR_TORN) {
            return false;
        }
        if (d->section.node_n == 0) {
            state_keep_pods(d);
        }
        for (size_t i = 0; i < d->section.node_n; i++) {
            struct node_item item;

            state_node_item(d, &d->section.nodes[i], &item);
            if (d->arena.overflowed) {
                return false;
            }
            fn(ctx, d, &item);
        }
    } while (step == SNAPSHOT_ITERATOR_MORE && !d->list_arena.overflowed);
    state_sort_pending(d);
    return !d->list_arena.overflowed;
}
