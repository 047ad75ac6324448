/* extender/store_internal.h - the store's layout, shared by store*.c only. */
#ifndef EXTENDER_STORE_INTERNAL_H
#define EXTENDER_STORE_INTERNAL_H

#include "base/bug.h"
#include "base/strbuf.h"
#include "base/sync.h"
#include "core/forecast/forecast.h"
#include "core/placement/plan.h"
#include "core/placement/score_cache.h"
#include "core/placement/twins.h"
#include "extender/recorder.h"
#include "extender/store.h"

struct tentative {
    char *text; /* uid and node name in one block; NULL: free */
    struct str uid, node_name;
    struct demand *demand;
    int64_t until_ns;
};

/* Names of nodes. */
struct store_doubts {
    char **names;
    size_t n, cap;
};

struct store {
    struct mutex lock;
    const struct clock *clock;
    struct ledger *ledger;
    struct score_cache *scores;  /* under the lock, as the ledger */
    struct twins *twins;         /* likewise */
    struct forecast *forecast;   /* likewise */
    struct recorder *recorder;   /* likewise; NULL: nothing is recorded */
    struct decisions *decisions; /* has a lock of its own */
    struct waiting *waiting;     /* likewise */
    struct tentative tentatives[STORE_TENTATIVES_MAX];
    uint32_t tentative_next; /* the oldest, overwritten next */
    struct store_doubts doubts;
    int64_t not_before_ns;
    uint64_t pods_told; /* resourceVersion up to which lists and the watch have told everything of pods; 0: not known */
    const char *closed; /* NULL: open */
    struct contact *contact;  /* NULL: taken for granted */
    const char *awaited;      /* store_await() */
    const char *lacks_rights; /* store_lacks_rights() */
    const char *stands_by;    /* store_stand_by() */
    uint64_t transition;      /* store_transition() */
    bool (*leads)(void *ctx); /* store_follow_election(); NULL: always */
    void *leads_ctx;
    struct mutex capacity_lock; /* held during a call of capacity_fn; taken after `lock` was given back */
    store_capacity_fn *capacity_fn;
    void *capacity_ctx;
    struct mutex overcommit_lock; /* as capacity_lock */
    store_overcommit_fn *overcommit_fn;
    void *overcommit_ctx;
    struct mutex incident_lock; /* as capacity_lock */
    store_incident_fn *incident_fn;
    void *incident_ctx;
    struct mutex reserved_lock; /* as capacity_lock */
    store_reserved_fn *reserved_fn;
    void *reserved_ctx;
};

/* Under the lock: what the store knows about the moment of an op. */
void store_stamp(struct store *s, struct ledger_op *op);
/* Does the election let this process decide? */
bool store_leads(const struct store *s);

/* The end of a section that applied something: gives the lock back, then tells who wants to hear. `capacity_before` is
 * ledger_capacity_generation() from before. More news than fit into one telling wait for the next op. */
void store_unlock_and_tell(struct store *s, uint64_t capacity_before);

/* Under the lock: is it an observation of a pod whose Binding is under way? */
bool store_is_about_reserved(struct store *s, const struct ledger_op *op);
/* Without the lock, after such an op. */
void store_tell_reserved(struct store *s, struct str uid);

/* All of store_head() but the totals, under the lock. */
void store_head_locked(struct store *s, struct arena *a, struct store_head *ret);

void store_tentative_clear(struct tentative *h);
void store_tentative_end_locked(struct store *s, struct str uid); /* the caller has the lock */

void store_doubts_fini(struct store_doubts *d);
/* Under the lock: a bit for each node of the view that is in doubt; NULL: none is. False: the arena is full. */
bool store_doubt_bits(const struct store *s, struct arena *a, const struct ledger_view *v, const uint64_t **ret);

/* ---- lines of the flight recorder (extender/store_trace.h) ---- */

/* One line: begun without the lock, written by one of the functions below, ended under the lock where what it tells of
 * happens. */
struct store_line {
    struct strbuf text;
    enum recorder_form form;
    bool wanted; /* false: nothing is recorded, and nothing is written */
};
struct store_line store_line_begin(const struct store *s);
void store_line_end(struct store *s, struct store_line *l, int64_t at_ms);
void store_line_end_at(struct store *s, struct store_line *l, int64_t at_ms, uint64_t generation);
void store_line_fini(struct store_line *l);

void store_line_op(struct store_line *l, const struct ledger_op *op);
void store_line_tentative(struct store_line *l, struct str uid, struct str node_name, const struct demand *d,
                          int64_t until_ns);
void store_line_tentative_end(struct store_line *l, struct str uid);
void store_line_doubt(struct store_line *l, struct str node_name, bool in_doubt);
/* A bind that was judged. */
struct store_line_bind {
    struct str decision_id, uid, node_name;
    const struct ledger_pod *pod;
    uint64_t config;
    enum verdict verdict;
    const struct placement *placement;   /* of VERDICT_FITS */
    const struct assignment *assignment; /* NULL: kubelet picks, or: */
    bool undone;                         /* the record does not fit its memory; the next line takes the devices back */
};
void store_line_bind(struct store_line *l, const struct store_line_bind *b);

#endif
