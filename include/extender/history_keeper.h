/* extender/history_keeper.h - reads the numbers of core/report/history.h off the ledger, since the process has read the
 * cluster, and keeps them. Nothing survives the process.
 *
 * A reading takes the store's lock for the totals, as /metrics does, and what is fragmented comes from the capacity
 * reporter, which makes it at most once in CAPACITY_INTERVAL_MS and on a copy. The keeper's own lock is held for the
 * time of adding or copying numbers; no other lock is taken under it.
 */
#ifndef EXTENDER_HISTORY_KEEPER_H
#define EXTENDER_HISTORY_KEEPER_H

#include "base/clock.h"
#include "core/report/history.h"
#include "extender/capacity_reporter.h"
#include "extender/store.h"

struct history_keeper;

/* Borrows all for its life. */
struct history_keeper *history_keeper_new(struct store *store, struct capacity_reporter *capacity,
                                          const struct clock *clock);
void history_keeper_free(struct history_keeper *k); /* NULL is fine */

/* Once a second, by one thread: a reading, if one is due and the cluster has been read. */
void history_keeper_tick(struct history_keeper *k);

/* A copy of what is kept. From any thread. */
void history_keeper_read(struct history_keeper *k, struct history *ret);

#endif
