/* extender/reopener.h - pods that found no room in the ledger (core/ledger/ledger.h, turned away): people are told, and
 * the nodes that take nothing for their sake are opened again, by lists of all pods.
 *
 * Such a list is asked for at once, and then after REOPENER_PAUSE_MIN_MS, doubling to REOPENER_PAUSE_MAX_MS for as long
 * as any node is closed: a table that stays full must not have the API server list all pods without end. The log says
 * at most once in REOPENER_TELL_MS how many there are, which was the last, and what to do.
 */
#ifndef EXTENDER_REOPENER_H
#define EXTENDER_REOPENER_H

#include "base/clock.h"
#include "base/log.h"
#include "extender/store.h"

#define REOPENER_PAUSE_MIN_MS (30 * 1000)
#define REOPENER_PAUSE_MAX_MS (10 * 60 * 1000)
#define REOPENER_TELL_MS (60 * 1000)

/* All zero but for what is borrowed. */
struct reopener {
    struct store *store;
    const struct clock *clock;
    const struct log *log;
    bool (*relist)(void *ctx); /* asks for a list of all pods; false: not now, because one is on its way */
    void *ctx;
    int64_t pause_ms; /* after the next list; 0: the shortest */
    int64_t relist_at_ns;
    uint64_t told_n; /* of ledger_turned_away.total_n */
    int64_t tell_at_ns;
};

/* To be called every second or so; one caller at a time. */
void reopener_tick(struct reopener *r);

#endif
