/* extender/store_internal.h - the store's layout, shared by store*.c only. */
#ifndef EXTENDER_STORE_INTERNAL_H
#define EXTENDER_STORE_INTERNAL_H

#include "base/bug.h"
#include "base/sync.h"
#include "core/outlook.h"
#include "core/plan.h"
#include "core/score_cache.h"
#include "extender/store.h"

struct hold {
    char *text; /* uid and node name in one block; NULL: free */
    struct str uid, node_name;
    struct demand *demand;
    int64_t until_ns;
};

struct store {
    struct mutex lock;
    const struct clock *clock;
    struct ledger *ledger;
    struct score_cache *scores; /* under the lock, as the ledger */
    struct outlook *outlook;    /* likewise */
    struct hold holds[STORE_HOLDS_MAX];
    uint32_t hold_next; /* the oldest, overwritten next */
    int64_t not_before_ns;
    const char *closed; /* NULL: open */
    struct contact *contact; /* NULL: taken for granted */
    const char *awaited; /* store_await() */
    struct mutex room_lock; /* held during a call of room_fn; taken after `lock` was given back */
    store_room_fn *room_fn;
    void *room_ctx;
    struct mutex overcommit_lock; /* as room_lock */
    store_overcommit_fn *overcommit_fn;
    void *overcommit_ctx;
    struct mutex incident_lock; /* as room_lock */
    store_incident_fn *incident_fn;
    void *incident_ctx;
    struct mutex reserved_lock; /* as room_lock */
    store_reserved_fn *reserved_fn;
    void *reserved_ctx;
};

static inline void store_lock(struct store *s)
{
    mutex_lock(&s->lock);
}

static inline void store_unlock(struct store *s)
{
    mutex_unlock(&s->lock);
}

/* Under the lock: what the store knows about the moment of an op. */
void store_stamp(struct store *s, struct ledger_op *op);

/* The end of a section that applied something: gives the lock back, then tells who wants to hear. `room` is
 * ledger_room_generation() from before. More news than fit into one telling wait for the next op. */
void store_unlock_and_tell(struct store *s, uint64_t room);

/* Under the lock: is it an observation of a pod whose Binding is under way? */
bool store_is_about_reserved(struct store *s, const struct ledger_op *op);
/* Without the lock, after such an op. */
void store_tell_reserved(struct store *s, struct str uid);

/* All of store_head() but the totals, under the lock. */
void store_head_locked(struct store *s, struct arena *a, struct store_head *ret);

/* Under the lock: brings the outlook up to date for these strategies; false: a section's worth of work is done and
 * there is more. */
bool store_look_ahead(struct store *s, const struct pack_params *params);

/* What is expected, as it was when a decision began: all nodes are judged alike, in whatever sections. Prices are kept
 * by value; what they are prices of, and the typical pods, are made anew after a few percent more pods, and then the
 * decision begins again. */
struct store_sight {
    struct outlook_prices prices;
    uint64_t typical_version;
};

static inline void store_sight_take(struct store_sight *sight, const struct store *s)
{
    sight->prices = *outlook_prices(s->outlook);
    sight->typical_version = outlook_typical_version(s->outlook);
}

static inline bool store_sight_holds(const struct store_sight *sight, const struct store *s)
{
    return outlook_prices(s->outlook)->basis == sight->prices.basis &&
           outlook_typical_version(s->outlook) == sight->typical_version;
}

void store_hold_clear(struct hold *h);

/* What one call of store_pack() is about. */
struct store_question {
    const struct view_pod *pod;
    const struct pack_hold *holds;
    size_t hold_n;
    const struct str *names;
    size_t name_n;
};

/* A call that had to begin again so often, because nodes come and go without end, takes one long section. */
enum { STORE_BEGIN_AGAIN_MAX = 8 };

/* store_pack() where the agenda has several groups or criteria; ret->results has room for all names. */
WARN_UNUSED int store_pack_planned(struct store *s, struct arena *a, const struct store_question *q,
                                   const struct agenda *agenda, struct store_pack_answer *ret,
                                   struct err *reterr);
/* Names of unknown nodes that come again; returns how many results stay. */
size_t store_drop_unknown_repeats(struct pack_result *results, size_t n);

#endif
