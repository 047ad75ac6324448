/* core/plan/head.h - planning ahead: which nodes the next pods of a backlog get.
 *
 * Pods are taken in the order in which kube-scheduler will, and each gets the node that filter and prioritize would
 * call the best, of all nodes, if those before it had landed: the same rules, strategies, limits of tenants and
 * remembered scores (core/placement/pack.h), judged on a mirror on which each pod lands in turn. Beyond what filter
 * asks, a node must be one that kube-scheduler is certain to take (core/plan/node_facts.h). A pod that has no such node
 * now is skipped; what comes after it is planned.
 *
 * Nodes that take no part: those without facts, not open, of a host group; and those where a pod that was nominated
 * before, by whomever, does not fit now (its victims have yet to leave). Nominations of others count whatever their
 * priority. Nobody is planned while pods isolate themselves from others (fgpu.io/isolate-from): then labels of pods
 * decide that a mirror does not have.
 *
 * The order of placing within the head is that of the queue, so that what is planned is what would happen anyway. A
 * plan that looks at the head as a whole (large pods first) would go into plan_head() alone.
 *
 * Cost: a shape of pods that is new costs a judgement of every node; one that was seen costs a comparison of every node
 * when the plan begins; a pod then costs a judgement of the nodes where somebody has landed since its shape was last
 * asked for. Where a rule has several criteria, each pod costs a pass over all nodes. `work_max` bounds judgements and
 * comparisons, never the clock.
 *
 * A head is asked about one mirror, one table of facts and one forecast all its life: it remembers by their versions.
 *
 * Pure; no lock. It reads and changes the mirror, and what it remembers of shapes and scores is its own: one head per
 * thread. The caller takes what only the ledger knows under its lock with plan_sight_take(), when it follows the
 * mirror.
 */
#ifndef CORE_PLAN_HEAD_H
#define CORE_PLAN_HEAD_H

#include "base/compiler.h"
#include "core/forecast/forecast.h"
#include "core/ledger/mirror.h"
#include "core/ledger/sight.h"
#include "core/placement/plan.h"
#include "core/plan/node_facts.h"
#include "core/plan/waiting_pod.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Shapes among the pods of one plan; it ends where another one comes. */
#define PLAN_SHAPES_MAX 64

/* A pod that is nominated already and not bound: it holds its room. Those without GPUs count, too, if they are known.
 */
struct plan_held {
    const struct waiting_pod *pod;
    struct str node_name;
    bool counted; /* out of plan_sight_take(): the ledger counts it there already, a bind is under way or done */
    bool fits;    /* out of plan_head(): it fits there now, beside those before it, and kube-scheduler would take it;
                     or it is `counted`. False: its nomination is worth nothing (any more) */
};

/* What a plan needs of the ledger beside the mirror, of the same moment; owns its memory. */
struct plan_sight {
    struct ledger_sight cluster;
};

void plan_sight_init(struct plan_sight *s);
void plan_sight_fini(struct plan_sight *s);
/* Under the ledger's lock, in the section of mirror_follow() and forecast_follow(). O(models + tenants + held). */
void plan_sight_take(struct plan_sight *s, const struct ledger *l, struct plan_held *held, size_t held_n);

struct plan_question {
    struct mirror *mirror; /* followed; plan_head() lands pods on it, so it must be followed again before another use */
    const struct plan_sight *sight;
    const struct node_facts_table *nodes;
    const struct pack_plans *plans;
    const struct forecast *forecast; /* always the same; followed in the section in which the mirror was, for all
                                        strategies of the plans. NULL: no strategy looks ahead */
    struct plan_held *held;          /* in the order in which they were nominated */
    size_t held_n;
    const struct waiting_pod *const *pods; /* by waiting_pod_compare(); those that are not eligible, or in `held`, are
                                              passed over */
    size_t pod_n;
    size_t front_n;    /* so many in front are left alone, and take the best node that they have: they are with
                          kube-scheduler before anything that is decided here */
    size_t max;        /* how many are wanted, of those behind them */
    uint64_t work_max; /* 0: no limit */
};

struct plan_choice {
    const struct waiting_pod *pod;
    struct str node_name; /* of the mirror: valid until it is followed again */
};

/* What became of the pods that were not chosen. */
struct plan_answer {
    struct plan_choice *chosen; /* the caller's: room for `max` of the question */
    size_t chosen_n;
    size_t looked_n; /* pods looked at, from the front; less than all: enough were chosen, or the work was done */
    size_t obstacle_n[PLAN_OBSTACLE__MAX]; /* of those, by plan_obstacle; PLAN_ELIGIBLE: those that were tried */
    size_t unfit_n;                        /* tried, and no node takes them now */
    size_t differ_n; /* tried, and skipped: what is remembered of a node is not what the node is, which is a fault of
                        ours (0 otherwise) */
};

struct plan_head;
struct plan_head *plan_head_new(void);
void plan_head_free(struct plan_head *h); /* NULL is fine */

void plan_head(struct plan_head *h, const struct plan_question *q, struct plan_answer *ret);

#endif
