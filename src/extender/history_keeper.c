#include "extender/history_keeper.h"

#include "base/bug.h"
#include "base/sync.h"

#include <stdlib.h>

struct history_keeper {
    struct store *store;
    struct capacity_reporter *capacity;
    const struct clock *clock;
    struct mutex lock; /* of `history` */
    struct history history;
};

struct history_keeper *history_keeper_new(struct store *store, struct capacity_reporter *capacity,
                                          const struct clock *clock)
{
    struct history_keeper *k = xcalloc(1, sizeof(*k));

    k->store = store;
    k->capacity = capacity;
    k->clock = clock;
    mutex_init(&k->lock, "history");
    history_init(&k->history);
    return k;
}

void history_keeper_free(struct history_keeper *k)
{
    if (k != NULL) {
        mutex_destroy(&k->lock);
        free(k);
    }
}

static int64_t permille(int64_t part, int64_t of)
{
    return part > 0 && of > 0 ? part * 1000 / of : 0;
}

static void take_reading(struct history_keeper *k, int64_t ret[HISTORY_VALUE__MAX])
{
    struct capacity_report capacity;
    struct snapshot s;

    store_totals(k->store, &s);
    capacity_reporter_read(k->capacity, &capacity);
    ret[HISTORY_COMPUTE_PERMILLE] = permille(s.milli_charged, s.milli_cap);
    ret[HISTORY_MEMORY_PERMILLE] = permille(s.mem_charged_mib, s.mem_cap_mib);
    ret[HISTORY_FRAGMENTATION_PERMILLE] = capacity_permille(&capacity);
    ret[HISTORY_PENDING] = (int64_t)s.pods_by_state[LEDGER_PENDING];
    ret[HISTORY_BOUND] =
        (int64_t)(s.pods_by_state[LEDGER_CONFIRMED] + s.pods_by_state[LEDGER_BOUND] + s.pods_by_state[LEDGER_FOREIGN]);
}

void history_keeper_tick(struct history_keeper *k)
{
    int64_t now_ms = clock_mono_ns(k->clock) / NS_PER_MS;
    int64_t values[HISTORY_VALUE__MAX];
    bool due;

    mutex_lock(&k->lock);
    due = history_is_due(&k->history, now_ms);
    mutex_unlock(&k->lock);
    if (!due || !store_is_synced(k->store)) {
        return;
    }
    take_reading(k, values); /* waits for locks of others, so not under ours */
    mutex_lock(&k->lock);
    history_add(&k->history, now_ms, clock_wall_ms(k->clock), values);
    mutex_unlock(&k->lock);
}

void history_keeper_read(struct history_keeper *k, struct history *ret)
{
    mutex_lock(&k->lock);
    *ret = k->history;
    mutex_unlock(&k->lock);
}
