/* demo/scheduler/player.h - plays kube-scheduler and everybody else a cluster needs.
 *
 * Scheduler: takes the pending pods of a simulated API server in the order of their arrival and
 * drives the extender's real verbs over HTTP, one cycle at a time: filter with all node names,
 * prioritize (skipped when one node is left), the node with the highest score (ties at
 * random), bind on a few threads beside the next cycle. A refused pod waits for its backoff and for
 * a change in the cluster; a failed call waits for its backoff (1 s doubling to 10 s). The replies
 * are held to what kube-scheduler accepts; whatever it would call an error counts as one here. Of
 * the in-tree plugins there are cordons and nodeSelector; no scores, preemption or nominations.
 *
 * Workload (optional): pods of named shapes that ask for a little more than there is arrive, run for a while and end or
 * are deleted; seeded, so the same seed asks for the same pods. A kubelet of sorts makes bound pods Running and lets
 * terminating ones go. Times are divided by the speed.
 */
#ifndef DEMO_SCHEDULER_PLAYER_H
#define DEMO_SCHEDULER_PLAYER_H

#include "base/compiler.h"
#include "base/err.h"
#include "demo/scheduler/latency.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct apiserver;

#define PLAYER_SCHEDULER "fgpu-demo" /* the schedulerName of the pods that it cares for */

struct player_options {
    struct apiserver *apiserver;
    const char *verbs_url; /* "http://127.0.0.1:9443/v1", no trailing slash */
    uint64_t seed;
    int32_t speed_milli; /* 1000: real time; 0: 1000; at most 1,000,000 */
    bool workload;       /* false: schedule only what others create */
};

enum decision_kind { DECISION_BOUND, DECISION_REFUSED, DECISION_FAILED, DECISION_KIND__MAX };

struct decision {
    uint64_t seq; /* counts up from 1 */
    enum decision_kind kind;
    char pod[64];
    char gpu_request[48]; /* "300 milli", "2 x 500 milli", "8192 MiB" */
    char node[64];        /* BOUND */
    char devices[48];     /* BOUND: "gpu 2" */
    char reason[320];     /* REFUSED: as kube-scheduler words it; FAILED: the error */
    int64_t us;           /* the calls of this pod's cycle together */
};

#define PLAYER_DECISIONS 32

struct player_stats {
    uint64_t created, bound, finished, gave_up;
    uint64_t refusals;        /* attempts after which no node was left */
    uint64_t failures;        /* calls that failed, or that kube-scheduler would have called failed */
    uint64_t protocol_errors; /* of these: replies that break the contract */
    uint32_t refused_now;     /* pending pods whose last attempt was refused */
    /* `refusal`: filter calls after which no node was left. */
    struct latency filter, refusal, prioritize, bind;
    struct decision decisions[PLAYER_DECISIONS]; /* newest first */
    size_t decision_n;
    char last_failure[256]; /* "" when there was none */
};

struct player;

WARN_UNUSED int player_start(const struct player_options *o, struct player **ret, struct err *reterr);
void player_stats(struct player *p, struct player_stats *ret);
/* No new arrivals and no new cycles; calls under way are cut short; returns when every thread has
 * ended. The statistics stay readable. Harmless when repeated. */
void player_stop(struct player *p);
void player_free(struct player *p); /* stops first; NULL is fine */

#endif
