/* extender/placement.h - the verbs filter and prioritize as use cases, without their wire form.
 *
 * Pure reads (design.md 3.1, rule 5), but for the tentative placement that prioritize leaves. A name that the caller
 * sent twice is answered once.
 */
#ifndef EXTENDER_PLACEMENT_H
#define EXTENDER_PLACEMENT_H

#include "base/arena.h"
#include "base/err.h"
#include "core/placement/pack.h"
#include "core/placement/plan.h"
#include "extender/store.h"
#include "model/pod.h"
#include "model/policy.h"

struct placement_context {
    struct store *store;
    const struct policy *policy;
    struct pack_plans plans;
    bool has_shadow;          /* in the shadow (extender/shadow.h): */
    struct pack_plans shadow; /* the same plans with its strategies in the place of the packing section's */
    uint64_t shadow_key;      /* of both: another number where they differ in anything */
};

/* Strategies by the names in the policy. ERR_INVALID names the unknown one. */
WARN_UNUSED int placement_context_init(struct placement_context *c, struct store *store, const struct policy *policy,
                                       struct err *reterr);

enum filter_outcome {
    FILTER_NOT_OURS,  /* the pod asks for no GPU: every node is as good as before */
    FILTER_DEFECT,    /* the request is malformed: no node, one constant reason */
    FILTER_SOME_FIT,  /* results[0..fit_n) in order of merit, at most `candidates` */
    FILTER_NONE_FITS, /* every result carries its verdict */
};

struct filter_result {
    enum filter_outcome outcome;
    struct view_pod pod; /* as it was read: text of the pod, all else in the arena of the call */
    enum demand_defect defect;
    const struct pack_result *results; /* SOME_FIT and NONE_FITS */
    size_t result_n;
    size_t fit_n;
    const struct str *names; /* NOT_OURS and DEFECT: as asked, without repeats */
    size_t name_n;
    uint64_t generation;   /* of the ledger that was looked at; 0 when it was not */
    struct node_set asked; /* of the names those that the ledger knows; SOME_FIT and NONE_FITS */
};

/* ERR_UNAVAILABLE until the ledger is synced; ERR_LIMIT when the request is too large for its arena. */
WARN_UNUSED int placement_filter(const struct placement_context *c, struct arena *a, const struct pod *pod,
                                 const struct str *names, size_t name_n, struct filter_result *ret, struct err *reterr);

struct prioritize_result {
    const struct pack_result *ranked; /* best first */
    const int32_t *points;            /* 0..10 each */
    size_t n;
};

/* All zeroes for a pod that asks for no GPU. Leaves a tentative placement on the best node when one fits. */
WARN_UNUSED int placement_prioritize(const struct placement_context *c, struct arena *a, const struct pod *pod,
                                     const struct str *names, size_t name_n, struct prioritize_result *ret,
                                     struct err *reterr);

/* One node of a preemption. `victims` as in core/ledger/preempt.h. */
struct preempt_node {
    struct str name;
    const struct str *victims;
    size_t victim_n;
    int64_t pdb_violations; /* the caller's number, given back */
};
/* Completes the victims of every node and drops the nodes that do not help; *ret_n of them stay, in order. If none
 * does, *ret_why is the most frequent reason, else VERDICT_FITS. A node in doubt (store_doubt()) stays only where all
 * that help are. A pod that is none of ours keeps all nodes as they
 * are. Errors as placement_filter(). */
WARN_UNUSED int placement_preempt(const struct placement_context *c, struct arena *a, const struct pod *pod,
                                  struct preempt_node *nodes, size_t n, size_t *ret_n, enum verdict *ret_why,
                                  struct err *reterr);

#endif
