/* Iterators over the ledger, section by section under the lock. */
#include "extender/store_internal.h"

#include "core/ledger/snapshot_iterator.h"

#include <stdlib.h>

struct store_iterator {
    struct store *store;
    struct snapshot_iterator *snapshot;
};

struct store_iterator *store_iterator_open(struct store *s, const struct snapshot_iterator_filter *filter,
                                           size_t max_bytes, struct arena *a, struct store_head *ret_head)
{
    struct store_iterator *it = xcalloc(1, sizeof(*it));

    it->store = s;
    mutex_lock(&s->lock);
    it->snapshot = snapshot_iterator_open(s->ledger, filter, max_bytes, &ret_head->totals);
    store_head_locked(s, a, ret_head);
    ret_head->incidents = ledger_incidents(s->ledger, STORE_INCIDENTS_MAX);
    mutex_unlock(&s->lock);
    return it;
}

enum snapshot_iterator_step store_iterator_next(struct store_iterator *it, struct arena *a, struct snapshot *ret)
{
    enum snapshot_iterator_step step;

    mutex_lock(&it->store->lock);
    step = snapshot_iterator_next(it->store->ledger, it->snapshot, STORE_ITERATOR_SECTION, a, ret);
    mutex_unlock(&it->store->lock);
    return step;
}

bool store_iterator_left(const struct store_iterator *it, const struct str **ret, size_t *ret_n)
{
    return snapshot_iterator_left(it->snapshot, ret, ret_n);
}

void store_iterator_close(struct store_iterator *it)
{
    if (it == NULL) {
        return;
    }
    mutex_lock(&it->store->lock);
    snapshot_iterator_close(it->store->ledger, it->snapshot);
    mutex_unlock(&it->store->lock);
    snapshot_iterator_free(it->snapshot);
    free(it);
}
