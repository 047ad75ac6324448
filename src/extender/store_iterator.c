/* Iterators over the ledger, section by section under the lock. */
#include "extender/store_internal.h"

#include "core/ledger/snapshot_iterator.h"

#include <stdlib.h>

struct store_iterator {
    struct store *store;
    struct snapshot_iterator *walk;
};

struct store_iterator *store_iterator_open(struct store *s, const struct snapshot_iterator_filter *filter,
                                           size_t max_bytes, struct arena *a, struct store_head *ret_head)
{
    struct store_iterator *w = xcalloc(1, sizeof(*w));

    w->store = s;
    store_lock(s);
    w->walk = snapshot_iterator_open(s->ledger, filter, max_bytes, &ret_head->totals);
    store_head_locked(s, a, ret_head);
    ret_head->incidents = ledger_incidents(s->ledger, STORE_INCIDENTS_MAX);
    store_unlock(s);
    return w;
}

enum snapshot_iterator_step store_iterator_next(struct store_iterator *w, struct arena *a, struct snapshot *ret)
{
    enum snapshot_iterator_step step;

    store_lock(w->store);
    step = snapshot_iterator_next(w->store->ledger, w->walk, STORE_ITERATOR_SECTION, a, ret);
    store_unlock(w->store);
    return step;
}

void store_iterator_close(struct store_iterator *w)
{
    if (w == NULL) {
        return;
    }
    store_lock(w->store);
    snapshot_iterator_close(w->store->ledger, w->walk);
    store_unlock(w->store);
    snapshot_iterator_free(w->walk);
    free(w);
}
