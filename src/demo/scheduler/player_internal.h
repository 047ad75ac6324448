/* demo/scheduler/player_internal.h - the player's shared state.
 *
 * Threads: the scheduling cycle (scheduler.c), PLAYER_BINDERS binding threads (player.c), the workload
 * (workload.c). One lock covers the statistics, the queue entries and the bind jobs; no call is
 * made under it.
 */
#ifndef DEMO_SCHEDULER_PLAYER_INTERNAL_H
#define DEMO_SCHEDULER_PLAYER_INTERNAL_H

#include "base/hashmap.h"
#include "base/rng.h"
#include "base/sync.h"
#include "demo/apiserver/apiserver.h"
#include "demo/scheduler/player.h"
#include "demo/scheduler/verbs_internal.h"

#include <cjson/cJSON.h>
#include <stdatomic.h>

#define PLAYER_BINDERS 8

struct bind_job {
    struct bind_job *next;
    char uid[64];
    char namespace_[64];
    char name[254];
    char node[254];
    struct decision decision;
};

struct queue_entry { /* one pending pod, by uid */
    char uid[64];
    uint32_t attempts;
    int64_t not_before_ns;
    uint64_t wait_cluster; /* refused: the state of the cluster that refused it; 0: none */
    int64_t flush_ns;      /* refused: tried again then even if the cluster has not changed */
    bool binding;          /* a bind is under way */
    bool refused;          /* the last attempt was a refusal */
    bool seen;             /* in the pass under way */
    uint64_t condition;    /* hash of the reason last written to the pod */
};

struct workload;

struct player {
    struct apiserver *apiserver;
    const struct clock *clock;
    char verbs_url[192];
    int64_t speed_milli;
    struct rng rng;            /* the scheduling thread's */
    struct workload *workload; /* NULL: none */

    atomic_bool stop;
    struct mutex lock;
    struct condvar jobs_cond;
    struct bind_job *jobs; /* oldest first */
    struct queue_entry *entries;
    size_t entry_n;
    struct hashmap entry_ix; /* uid -> place in entries */
    struct player_stats stats;

    struct thread threads[2 + PLAYER_BINDERS];
    size_t thread_n;
    bool stopped;
};

void *player_schedule(void *ctx); /* thread bodies */
void *player_work(void *ctx);

/* ---- with the lock ---- */
struct queue_entry *player_entry(struct player *p, const char *uid);     /* NULL when absent */
struct queue_entry *player_entry_add(struct player *p, const char *uid); /* absent so far */
/* Forgets the entries of pods that are no longer pending: those not seen since the last call. */
void player_sweep(struct player *p);
/* Puts the attempt's end into the entry: backoff doubles per attempt. */
void player_back_off(struct player *p, struct queue_entry *e);
void player_record(struct player *p, const struct decision *d); /* numbers it */

/* ---- without ---- */
/* A failed call or reply: decision, statistics, backoff. `broken`: the reply breaks the contract.
 */
void player_failed(struct player *p, const char *uid, struct decision *d, const struct err *err);
void player_submit(struct player *p, const struct bind_job *job);
/* `ns` of the played time as real nanoseconds. */
int64_t player_scaled_ns(const struct player *p, int64_t ns);
void player_sleep_ms(int64_t ms);

/* ---- workload ---- */
struct workload *workload_new(uint64_t seed);
void workload_free(struct workload *w);

/* "300 milli", "2 x 500 milli", "8192 MiB", "1 GPU": what a pod asks for, for people. */
void gpu_request_text(const cJSON *pod, char *buf, size_t size);

#endif
