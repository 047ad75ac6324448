/* core/plan/head_internal.h - one round of planning, and the shapes of pods in it.
 *
 * A shape is what decides about a pod, the limit of its tenant apart: its demand, the rules that hold for it, what it
 * wants of nodes. All nodes are judged once for it; afterwards only those where somebody has landed since.
 */
#ifndef CORE_PLAN_HEAD_INTERNAL_H
#define CORE_PLAN_HEAD_INTERNAL_H

#include "base/hashmap.h"
#include "core/placement/pack.h"
#include "core/plan/head.h"
#include "core/plan/key_heap.h"

struct plan_shape {
    const struct waiting_pod *like; /* one of them */
    struct resolved_plan plan;
    uint8_t *models;             /* allowed_models of core/ledger/view.h; NULL: all are */
    struct pack_result *results; /* by node */
    struct key_heap best;        /* nodes that may have them, where each has one score; else: */
    struct plan_scores *scores;  /* by node, where a step has several criteria; NULL otherwise */
    struct plan_scores *rows;    /* these two: room for one step of such a plan */
    struct pack_result *spare;
    bool *takes;     /* by node: kube-scheduler lets them in there, room apart */
    size_t judged_n; /* landings that the results know of */
};

struct plan_head {
    struct score_cache *scores;
    struct hashmap index; /* names of the mirror */
    uint64_t names_version;
    bool index_made;
    const struct node_facts **known; /* by node; NULL: it takes no part whatever it does */
    const struct node_facts_table *known_of;
    uint64_t known_version;
    /* Of the round: */
    const struct plan_question *q;
    const struct node_facts **facts; /* by node; NULL: it takes no part now */
    bool *closed;                    /* by node: a nominated pod does not fit there */
    struct hashmap held;             /* UIDs of pods that are nominated already */
    struct holding *residuals;       /* by tenant */
    struct forecast_prices prices;
    uint32_t *landed; /* nodes, in the order in which pods landed there */
    size_t landed_n, landed_cap;
    struct plan_shape shapes[PLAN_SHAPES_MAX];
    uint32_t shape_n;
    uint64_t work; /* nodes judged or looked at */
};

/* What holds for pods like `s->like`: nothing is judged. plan_shape_end() gives back what it, or plan_shape_of(), took.
 */
void plan_shape_begin(struct plan_head *h, struct plan_shape *s);
void plan_shape_end(struct plan_shape *s);

/* The shape of the pod, with every node judged as it is now. NULL: there are PLAN_SHAPES_MAX others. */
struct plan_shape *plan_shape_of(struct plan_head *h, const struct waiting_pod *p);

/* The node that filter would call the best of those that kube-scheduler takes, without some of them, each named once
 * and at most PLAN_WITHOUT_MAX. False: none. */
#define PLAN_WITHOUT_MAX 8
bool plan_shape_best(struct plan_head *h, struct plan_shape *s, const uint32_t *without, size_t without_n,
                     uint32_t *ret);

/* The GPUs that it would get there; false: it does not fit. */
bool plan_shape_place(struct plan_head *h, const struct plan_shape *s, uint32_t node, struct placement *ret);

/* The node takes none of this shape any more in this round. */
void plan_shape_leave_out(struct plan_shape *s, uint32_t node);

#endif
