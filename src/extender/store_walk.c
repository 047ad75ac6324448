/* Walks over the ledger, section by section under the lock. */
#include "extender/store_internal.h"

#include "core/ledger/walk.h"

#include <stdlib.h>

struct store_walk {
    struct store *store;
    struct ledger_walk *walk;
};

struct store_walk *store_walk_open(struct store *s, const struct ledger_walk_filter *filter, size_t max_bytes,
                                   struct arena *a, struct store_head *ret_head)
{
    struct store_walk *w = xcalloc(1, sizeof(*w));

    w->store = s;
    store_lock(s);
    w->walk = ledger_walk_open(s->ledger, filter, max_bytes, &ret_head->totals);
    store_head_locked(s, a, ret_head);
    ret_head->incidents = ledger_incidents(s->ledger, STORE_INCIDENTS_MAX);
    store_unlock(s);
    return w;
}

enum ledger_walk_step store_walk_next(struct store_walk *w, struct arena *a, struct snapshot *ret)
{
    enum ledger_walk_step step;

    store_lock(w->store);
    step = ledger_walk_next(w->store->ledger, w->walk, STORE_WALK_SECTION, a, ret);
    store_unlock(w->store);
    return step;
}

void store_walk_close(struct store_walk *w)
{
    if (w == NULL) {
        return;
    }
    store_lock(w->store);
    ledger_walk_close(w->store->ledger, w->walk);
    store_unlock(w->store);
    ledger_walk_free(w->walk);
    free(w);
}
