/* Nodes in doubt: bind refuses them now, so they come last (decision 0112). */
#include "extender/store_internal.h"

#include "base/clock.h"

#include <stdlib.h>

/* Few, and mostly none. */
static size_t place_of(const struct store_doubts *d, struct str name)
{
    size_t i = 0;

    while (i < d->n && !str_eq(str_of(d->names[i]), name)) {
        i++;
    }
    return i;
}

static void put(struct store_doubts *d, struct str name)
{
    if (d->n == d->cap) {
        d->cap = d->cap == 0 ? 8 : 2 * d->cap;
        d->names = xreallocarray(d->names, d->cap, sizeof(*d->names));
    }
    d->names[d->n++] = str_dup(name);
}

static void drop(struct store_doubts *d, size_t at)
{
    free(d->names[at]);
    d->names[at] = d->names[--d->n];
}

void store_doubts_fini(struct store_doubts *d)
{
    while (d->n > 0) {
        drop(d, d->n - 1);
    }
    free(d->names);
}

void store_doubt(struct store *s, struct str node_name, bool in_doubt)
{
    struct store_line line = store_line_begin(s);
    size_t at;

    store_line_doubt(&line, node_name, in_doubt);
    mutex_lock(&s->lock);
    at = place_of(&s->doubts, node_name);
    if (in_doubt != (at < s->doubts.n)) {
        if (in_doubt) {
            put(&s->doubts, node_name);
        } else {
            drop(&s->doubts, at);
        }
        store_line_end(s, &line, clock_wall_ms(s->clock));
    }
    mutex_unlock(&s->lock);
    store_line_fini(&line);
}

bool store_is_in_doubt(struct store *s, struct str node_name)
{
    bool is;

    mutex_lock(&s->lock);
    is = place_of(&s->doubts, node_name) < s->doubts.n;
    mutex_unlock(&s->lock);
    return is;
}

bool store_doubt_bits(const struct store *s, struct arena *a, const struct ledger_view *v, const uint64_t **ret)
{
    uint64_t *bits;

    *ret = NULL;
    if (s->doubts.n == 0) {
        return true;
    }
    bits = arena_calloc(a, v->node_n / 64 + 1, sizeof(*bits));
    for (size_t i = 0; bits != NULL && i < s->doubts.n; i++) {
        const struct str name = str_of(s->doubts.names[i]);
        const uint32_t node = ledger_view_index(v, &name);

        if (node != LEDGER_VIEW_NONE) {
            bits[node / 64] |= UINT64_C(1) << node % 64;
        }
    }
    *ret = bits;
    return bits != NULL;
}
