/* extender/store.h - the ledger, and what is derived from it, behind one lock (src/extender/store_internal.h).
 *
 * Sections under the lock are short: apply an op, judge at most STORE_PACK_SECTION nodes, or copy at most
 * STORE_ITERATOR_SECTION. Inside there is no API call, no other I/O, no logging and no waiting for another thread.
 * Memory is allocated there: in the caller's arena, and by malloc for the tables of the ledger, remembered scores, the
 * forecast, tentative placements and readers' copies. Other modules have locks of their own for their own data;
 * src/base/lock_order.c has the order. Everything here may be called from any thread.
 */
#ifndef EXTENDER_STORE_H
#define EXTENDER_STORE_H

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "core/forecast/forecast.h"
#include "core/ledger/audit.h"
#include "core/ledger/excess.h"
#include "core/ledger/incidents.h"
#include "core/ledger/ledger.h"
#include "core/ledger/nearest.h"
#include "core/ledger/pool_use.h"
#include "core/ledger/node_copy.h"
#include "core/ledger/preempt.h"
#include "core/ledger/snapshot.h"
#include "core/ledger/status.h"
#include "core/ledger/view.h"
#include "core/ledger/snapshot_iterator.h"
#include "core/report/demand_histogram.h"
#include "extender/decisions.h"
#include "extender/intents.h"
#include "extender/waiting.h"

#include <stdbool.h>
#include <stdint.h>

struct store;

struct store *store_new(const struct ledger_limits *limits, const struct clock *clock);
void store_free(struct store *s); /* NULL is fine */

/* Stamps op->at_ms and op->deciding, and applies it. */
WARN_UNUSED int store_apply(struct store *s, struct ledger_op *op, struct err *reterr);
/* The same, and how the object stood before and after; both are written in any case, NULL: not wanted. */
WARN_UNUSED int store_apply_noting(struct store *s, struct ledger_op *op, struct ledger_status *ret_before,
                                   struct ledger_status *ret_after, struct err *reterr);

bool store_is_synced(struct store *s);
/* Bindings of a predecessor may still be on their way to etcd: nothing is promised before `until_ns`
 * (monotonic, design.md 8). */
void store_hold_off(struct store *s, int64_t until_ns);
/* Whoever knows whether changes are still heard of; before anybody asks. */
struct contact;
void store_follow_contact(struct store *s, struct contact *c);
/* Synced, in contact with the API server, and the hold-off is over: GPUs may be promised. */
bool store_is_ready(struct store *s);
/* Fail closed: never ready again in this process. `why` is static text. */
void store_close(struct store *s, const char *why);
const char *store_closed(struct store *s); /* NULL: open */
/* ledger_lost_inventory(). */
const char *store_lost_inventory(struct store *s);
/* ledger_turned_away(), with the last one in words: "namespace/name on node". */
#define STORE_TURNED_AWAY_MAX 640
struct store_turned_away {
    uint64_t pod_n, total_n, node_n;
    char last[STORE_TURNED_AWAY_MAX];
};
void store_turned_away(struct store *s, struct store_turned_away *ret);
/* Not ready until that is over, too: `why` is static text, NULL that it is over. */
void store_await(struct store *s, const char *why);
/* Not ready, either, while fgpu may not write what a bind needs: `why` is static text, NULL that it may. */
void store_lacks_rights(struct store *s, const char *why);
/* Asked whether this replica leads at this very moment; before anybody asks. While it does not, it is neither ready nor
 * open, and what others decide is no incident. It takes no lock. */
void store_follow_election(struct store *s, bool (*leads)(void *ctx), void *ctx);
/* Another replica decides: neither ready nor open, for pods without GPUs neither. `why` is static text, NULL that it is
 * over. */
void store_stand_by(struct store *s, const char *why);
bool store_stands_by(struct store *s);
/* Why the store is not ready, text that outlives the store's users; NULL when it is. */
const char *store_not_ready(struct store *s);
/* ... but for an election: NULL says that it could take over. */
const char *store_not_warm(struct store *s);
/* The same for pods that ask for no GPU: neither hold-off nor lost contact stops them (design.md 4). */
const char *store_not_open(struct store *s);
bool store_has_node(struct store *s, struct str node_name);

/* ---- pods and nodes are listed again by other rules (extender/policy_set.h) ----
 *
 * From before the first fact that is read by those until both lists are complete, the ledger has read some pods by them
 * and has not counted others by them. Meanwhile devices are reserved only for a pod of which somebody has looked, in
 * this very transition, that it asks for the same by the rules in effect as by those to come; and only if that is what
 * the ledger says it asks for. It is compared in the section that reserves, so nothing can come between (decision
 * 0110). */
void store_transition_begins(struct store *s, uint64_t number); /* above 0, never used before; ends the one before */
void store_transition_ends(struct store *s, uint64_t number);   /* nothing if another one has begun since */
uint64_t store_transition(struct store *s);                     /* 0: there is none */
struct store_looked {
    uint64_t transition;         /* in which somebody looked; 0: outside of any */
    const struct demand *demand; /* by both; NULL: nobody has looked */
};

struct pack_tentative;
struct pack_plans;
struct pack_result;

/* Verdict and score for each name, in order, a name that comes again left out. Memory is from `a`, names are
 * borrowed. Verdicts and scores are remembered per shape (core/placement/score_cache.h). What holds for this pod, and
 * on which nodes, is looked up in the plans.
 *
 * Each node is judged by its state of one moment; different nodes may be judged at different moments, because
 * writers get their turn in between. `generation` is that of the first: nothing older was seen. */
#define STORE_PACK_SECTION 256
/* When tentative placements were looked up: the number of the flight recorder's next line, and the monotonic time. */
struct store_promises {
    uint64_t seq;
    int64_t now_ns;
};
struct store_pack_answer {
    struct pack_result *results;
    size_t n;
    uint64_t generation;
    struct forecast_prices prices; /* that scores were made at */
    struct node_set asked;         /* those of the names that the ledger knows */
    /* Of a decision by rules or several criteria: what the criteria say of each node, in any order; else NULL. */
    const struct plan_scores *scores;
    const struct str *scored; /* whose */
    size_t scored_n;
    /* For the flight recorder (extender/store_trace.h): */
    struct store_promises promises; /* the caller's */
    uint64_t judged_at;             /* number of its next line when the first node was judged; 0: nothing is recorded */
    bool moved;                     /* others changed the ledger before the last node was judged */
};
WARN_UNUSED int store_pack(struct store *s, struct arena *a, const struct view_pod *pod, const struct pack_plans *plans,
                           const struct pack_tentative *tentatives, size_t tentative_n, const struct str *names,
                           size_t name_n, struct store_pack_answer *ret, struct err *reterr);

/* What is known of pods that wait, for explanations. */
struct waiting *store_waiting(struct store *s);
/* Now, as wall time. */
int64_t store_wall_ms(const struct store *s);
/* The last decisions. */
struct decisions *store_decisions(struct store *s);
/* Why the first of the ranked results comes before the second, for decisions_consider(); the caller's. `fit_n` of them
 * fit, at least one. `answer` is of this pod and these plans; `a` as there. */
struct decision_note *store_explain(struct store *s, struct arena *a, const struct view_pod *pod, struct str pod_name,
                                    const struct pack_plans *plans, const struct store_pack_answer *answer,
                                    size_t fit_n);

/* ---- to explain why a pod waits (extender/explain.h) ---- */

/* ledger_pod_names() and the described nodes, section by section; `fn` runs under the lock. */
void store_pod_names(struct store *s, ledger_pod_name_fn *fn, void *ctx);
/* Names of the described nodes, in `a`; NULL: it is full. A node that comes or goes meanwhile may be there or not. */
const struct str *store_node_names(struct store *s, struct arena *a, size_t *ret_n);
/* A pod by its UID, everything in `a`: as decisions see it, and how it stands. False: unknown, or the arena is full
 * (a->overflowed). */
struct store_pod {
    struct view_pod pod;
    enum ledger_pod_state state;
    struct str name, node_name, decision_id;
    bool deleting;
};
bool store_find_pod(struct store *s, struct arena *a, struct str uid, struct store_pod *ret);
/* For each of these nodes: may kube-scheduler put the pod there, as far as is known? The pod tolerates its taints, and
 * it is one of `asked`, if those are known and the nodes are still the same. */
void store_open_to(struct store *s, struct str uid, const struct node_set *asked, const struct str *names, size_t n,
                   bool *ret);
/* What /state says about each of these nodes in words; static, NULL: nothing. */
void store_node_notes(struct store *s, const struct str *names, size_t n, const char **ret);
/* The GPU models of the cluster, in `a`, without order; NULL: it is full. Unknown models are left out. */
struct str *store_models(struct store *s, struct arena *a, size_t *ret_n);
/* The nearest of these nodes (core/ledger/nearest.h), all text in `a`; at most `max`, the nearest first. Each is looked
 * at in its state of one moment, STORE_NEAREST_SECTION under one lock. Returns how many; fewer when the arena is full.
 */
#define STORE_NEAREST_SECTION 16
size_t store_nearest(struct store *s, struct arena *a, const struct view_pod *pod, const struct pack_plans *plans,
                     const struct str *names, size_t name_n, struct nearest *ret, size_t max);

/* How many pods like `pod`, at most `max`, fit on these nodes, one after another in their order on copies of them
 * (core/placement/repeat.h), made STORE_REPEAT_SECTION under one lock. Nothing is changed. Text and lists are in `a`.
 * ERR_LIMIT: it is full. */
#define STORE_REPEAT_SECTION 16
struct store_repeat_question {
    const struct view_pod *pod; /* its demand has no defect and is not empty */
    const struct pack_plans *plans;
    const struct str *names; /* nodes that take the first pod, the best first */
    size_t name_n;
    uint64_t max, work;                   /* work: of struct repeat */
    const struct forecast_prices *prices; /* at which the first was found the best */
};
struct store_repeat_answer {
    uint64_t fitting;
    bool at_least;                     /* less than `max`, and more may fit (extender/whatif.h) */
    enum verdict *next;                /* what each node says to one pod more; VERDICT_FITS: it was not asked */
    const struct device_name *devices; /* that the first pod gets on the first node */
    size_t device_n;
};
WARN_UNUSED int store_repeat(struct store *s, struct arena *a, const struct store_repeat_question *q,
                             struct store_repeat_answer *ret, struct err *reterr);

/* ---- where else a pod would fit (extender/elsewhere.h) ---- */

/* Nodes, by their place in the ledger, of which nothing more is to be found out for one pod while they gain nothing
 * after `version`. All zeroes at first. */
struct store_tried {
    uint64_t *bits; /* the caller's to free */
    size_t word_n;
    uint64_t names_version, version;
};
/* Takes out the nodes that have gained something since the last call (ledger_node_gained_since(); one that only lost
 * room takes no pod that it did not take before); all of them if nodes have come or gone. O(nodes), in
 * sections of STORE_TRIED_SECTION. */
#define STORE_TRIED_SECTION 1024
void store_tried_follow(struct store *s, struct store_tried *t);
/* After store_tried_follow(): is there a node that takes the pod now, whose taints it tolerates, and that is not in
 * `t`? *ret_n is not 0 then. Nodes are judged as filter does it (store_pack), a section at a time; it ends with the
 * first section that has such a node, or with the last node where `all`. Nodes that take no such pod are put into `t`
 * on the way, and with `all` those that do, too. If nodes come or go meanwhile, nobody knows: *ret_n is 1. */
WARN_UNUSED int store_fits_elsewhere(struct store *s, const struct view_pod *pod, const struct pack_plans *plans,
                                     struct store_tried *t, bool all, size_t *ret_n, struct err *reterr);

enum store_reserve_result {
    STORE_RESERVED,      /* devices chosen and charged; *ret_assignment is what to write */
    STORE_UNKNOWN_POD,   /* not seen on the watch: GET it, observe it, try again */
    STORE_TRANSITION,    /* as above, and look: nobody has, or the ledger has read the pod otherwise since */
    STORE_NOT_READY,     /* *ret_not_ready says why: no GPU is promised now */
    STORE_ALREADY_BOUND, /* to this very node: nothing to do */
    STORE_BOUND_ELSEWHERE,
    STORE_IN_FLIGHT,  /* a reservation of this pod waits for its outcome */
    STORE_DELETING,   /* it has a deletion timestamp: no Binding would be accepted */
    STORE_UNVERIFIED, /* a record of this node waits to be verified: verify_records(), and try again */
    STORE_NO_FIT,     /* *ret_verdict says why */
    STORE_DEFECT,     /* *ret_defect says why */
    STORE_FAILED,     /* reterr */
};

struct store_reservation {
    size_t annotation_bytes; /* of the pod as last seen, with the next */
    struct str leftovers;    /* of the pod: to be overwritten (core/dialects/dialect.h) */
    uint64_t version;        /* resourceVersion of the object that was decided for; 0: not known */
    enum verdict verdict;
    enum demand_defect defect;
    const char *not_ready;
    struct assignment assignment; /* container_n 0: devices are a plugin's affair */
};

/* ledger_preempt(). */
enum verdict store_preempt(struct store *s, struct arena *a, const struct preempt_request *r,
                           const struct str **ret_victims, size_t *ret_n);

/* Searches devices for a pending pod on one node, by the plan that holds for both, and reserves them, in one section
 * (after as many as it takes to bring the forecast up to date). `namespace_` and `name` must be those of the UID, else
 * STORE_UNKNOWN_POD. Text of the result is in `a`. What was considered for the pod becomes a decision that is kept.
 * `looked` counts only in a transition; NULL: nobody has looked. */
enum store_reserve_result store_reserve(struct store *s, struct arena *a, struct str uid, struct str namespace_,
                                        struct str name, struct str node_name, struct str decision_id,
                                        const struct pack_plans *plans, const struct store_looked *looked,
                                        struct store_reservation *ret, struct err *reterr);

/* What observations say of a Binding of this pod to this node by this decision. */
enum store_seen {
    STORE_SEEN_NOTHING, /* the pod is not known */
    STORE_SEEN_UNBOUND, /* reserved, and not bound in the last observation: *ret_version */
    STORE_SEEN_BOUND,   /* by this decision */
    STORE_SEEN_OTHER,   /* by another one, or elsewhere */
};
enum store_seen store_binding_seen(struct store *s, struct str uid, struct str node_name, struct str decision_id,
                                   uint64_t *ret_version);
/* Where the pod is, as far as the ledger says: of `node_name`, if anywhere. *ret_version of POD_PLACE_UNBOUND. */
enum pod_place store_pod_place(struct store *s, struct str uid, struct str node_name, uint64_t *ret_version);
/* Does the node share physical GPUs with others (core/inventory/host_group.h)? */
bool store_is_in_host_group(struct store *s, struct str node_name);
/* Is what was reserved still right for the pod as it was observed at `version`: the same request and labels, not
 * being deleted? A later observation makes it false. */
bool store_reservation_holds(struct store *s, struct str uid, uint64_t version, size_t *ret_annotation_bytes);
bool store_knows_pod(struct store *s, struct str uid);
/* Have lists and the watch told everything of pods up to this resourceVersion, so that one which the store does not
 * know has gone, or asks for nothing? */
bool store_was_told(struct store *s, uint64_t version);
/* Would `op` change nothing, because it is a read of a pod at a version that is not newer than what was told? */
bool store_is_old(struct store *s, const struct ledger_op *op);
/* `fn` is called after every observation of a pod whose Binding is under way, with its UID, on the thread that
 * applied it and without the lock. One at a time; NULL ends it, and when that returns no call is under way. */
typedef void store_reserved_fn(void *ctx, struct str uid);
void store_watch_reserved(struct store *s, store_reserved_fn *fn, void *ctx);

/* A pod whose record nobody has verified yet (ledger_unverified). */
struct store_unverified {
    struct str uid;
    struct str namespace_;
    struct str name;
    struct str proof;
};
/* Up to `max` of them with their text in `a`, of one node, or of any with an empty name; returns how many. */
size_t store_unverified(struct store *s, struct str node_name, struct arena *a, struct store_unverified *ret,
                        size_t max);

/* ledger_must_verify(). */
bool store_must_verify(struct store *s, const struct ledger_pod_fact *f);

/* How many there are; STORE_UNVERIFIED_COUNT_MAX stands for that many and more. */
#define STORE_UNVERIFIED_COUNT_MAX 1024
size_t store_unverified_n(struct store *s);
bool store_has_unverified(struct store *s);

WARN_UNUSED int store_snapshot(struct store *s, struct arena *a, struct str node_name, struct str namespace_,
                               struct snapshot *ret, struct err *reterr);
void store_totals(struct store *s, struct snapshot *ret);
/* snapshot_unmeasured() with the text in `a`. Fewer when the arena is full. */
size_t store_unmeasured(struct store *s, struct arena *a, struct str *ret, size_t max);
/* ledger_tenants() with the text in `a`; ret has room for TENANTS_MAX. Fewer when the arena is full. */
size_t store_tenants(struct store *s, struct arena *a, struct ledger_tenant *ret);
/* ledger_tenant_of() with the text in `a`. */
bool store_tenant_of(struct store *s, struct arena *a, struct str namespace_, struct ledger_tenant *ret);

/* What is said of the whole cluster, all at the generation of the totals. */
struct store_head {
    struct snapshot totals; /* numbers only */
    struct ledger_tenant tenants[TENANTS_MAX];
    size_t tenant_n;
    struct demand_histogram_report demand_histogram; /* at that generation, too */
    struct forecast_report forecast;                 /* of the last decision that looked ahead */
    struct incident *incidents; /* of an iterator: the first STORE_INCIDENTS_MAX, the caller's to free; else NULL */
};
#define STORE_INCIDENTS_MAX 1000
/* Text is in `a`; where that is full there are no tenants. */
void store_head(struct store *s, struct arena *a, struct store_head *ret);

/* An iterator (core/ledger/snapshot_iterator.h), a section of at most STORE_ITERATOR_SECTION nodes at a time under the
 * lock. Used by one thread at a time; close it before the store is freed. `ret_head` as store_head() would say at its
 * generation. */
#define STORE_ITERATOR_SECTION 4
struct store_iterator;
struct store_iterator *store_iterator_open(struct store *s, const struct snapshot_iterator_filter *filter,
                                           size_t max_bytes, struct arena *a, struct store_head *ret_head);
enum snapshot_iterator_step store_iterator_next(struct store_iterator *it, struct arena *a, struct snapshot *ret);
/* snapshot_iterator_left(). */
bool store_iterator_left(const struct store_iterator *it, const struct str **ret, size_t *ret_n);
void store_iterator_close(struct store_iterator *it); /* NULL is fine */
uint64_t store_generation(struct store *s);
/* mirror_follow(), growing as needed without the lock; and forecast_follow() to its end, in short sections. */
struct mirror;
struct forecast;
void store_mirror(struct store *s, struct mirror *m);
/* Everything that planning ahead (core/plan/head.h) needs of the ledger, of one moment: as store_mirror() and
 * store_forecast() for these strategies, and the sight with what is held. */
struct plan_sight;
struct plan_held;
struct store_sight {
    struct mirror *mirror;
    struct forecast *forecast;
    const struct strategy *const *strategies;
    size_t strategy_n;
    struct plan_sight *sight;
    struct plan_held *held;
    size_t held_n;
};
void store_see(struct store *s, const struct store_sight *q);
/* store_mirror() without the charges of the pod, and what else a shadow decision (core/placement/shadow_decision.h)
 * needs of the ledger. */
struct store_shadow {
    const uint8_t *allowed_models; /* in `a` */
    bool plain; /* false: other pods' labels or single GPUs' UUIDs decide, too, which the mirror does not have */
    struct holding tenant_residual; /* of the pod's tenant, without the pod */
    bool limits_tenant;             /* some placement may be too much for it */
};
WARN_UNUSED int store_shadow(struct store *s, struct arena *a, const struct view_pod *pod, struct mirror *m,
                             struct store_shadow *ret, struct err *reterr);
void store_forecast(struct store *s, struct forecast *o, const struct strategy *for_strategy);

/* ledger_pool_use(). */
void store_pool_use(struct store *s, uint64_t layout, struct pool_use ret[GATED_POOLS_MAX]);
/* ledger_pool_pods() with the text in `a`. Fewer when the arena is full. */
size_t store_pool_pods(struct store *s, struct arena *a, uint64_t layout, uint64_t pools, struct pool_pod *ret,
                       size_t max);

/* ledger_capacity_generation(). */
uint64_t store_capacity_generation(struct store *s);
/* `fn` is called after every op that made room, on the thread that applied it and without the lock. One at
 * a time; NULL ends it, and when that returns no call is under way. */
typedef void store_capacity_fn(void *ctx);
void store_watch_capacity(struct store *s, store_capacity_fn *fn, void *ctx);

/* `fn` is called for every device that begins or ceases to be over-committed, like the one above. */
typedef void store_overcommit_fn(void *ctx, const struct ledger_overcommit *o);
void store_watch_overcommit(struct store *s, store_overcommit_fn *fn, void *ctx);

/* The same for incidents (ledger_take_incidents); `in` is one of them, valid during the call. */
typedef void store_incident_fn(void *ctx, const struct incident *in);
void store_watch_incidents(struct store *s, store_incident_fn *fn, void *ctx);

/* ledger_incidents(), the caller's to free, and how many there are in all. */
struct incident *store_incidents(struct store *s, size_t max, uint64_t *ret_n);

/* NULL, or the first broken invariant. ledger_check_some() under the lock, part by part: others get their turn in
 * between. */
const char *store_check(struct store *s);

/* ---- for audits: core/ledger/audit.h, one short section each ---- */

struct ledger *store_audit_scratch(struct store *s);
enum ledger_drift store_drift(struct store *s, struct ledger *scratch, const struct ledger_op *op,
                              uint64_t *ret_touched);
/* Looks once more and repairs in the same section, unless something touched the entry since `touched`: then
 * nobody knows which news are later, and *ret is DRIFT_NONE. Stamps the op like store_apply(). */
WARN_UNUSED int store_repair(struct store *s, struct ledger *scratch, struct ledger_op *op, uint64_t touched,
                             enum ledger_drift *ret, struct err *reterr);
/* The next entries of the ledger, by ledger_audit_pods() or ledger_audit_nodes(); false at the end. `fn` runs under the
 * lock. */
typedef void store_audit_fn(void *ctx, const struct ledger_audit_entry *e);
typedef bool store_audit_next_fn(const struct ledger *l, uint32_t *at, uint32_t max, store_audit_fn *fn, void *ctx);
bool store_audit_next(struct store *s, store_audit_next_fn *next, uint32_t *at, store_audit_fn *fn, void *ctx);
/* How many over-committed devices have each cause (core/ledger/excess.h; bit i counts in ret[i]). */
void store_excess_causes(struct store *s, uint64_t ret[EXCESS_CAUSE_N]);

/* Tentative placements (contract.md R19). One says: this pod was just promised this node. It ends when the pod is
 * reserved, because from then on the ledger counts it. Copied demands come from `a`; those of `except_uid` and expired
 * ones are left out. At most STORE_TENTATIVES_MAX are kept, the oldest goes first. */
#define STORE_TENTATIVES_MAX 512
void store_tentative(struct store *s, struct str uid, struct str node_name, const struct demand *d,
                     int64_t tentative_ms);
void store_tentative_end(struct store *s, struct str uid);
WARN_UNUSED int store_tentatives(struct store *s, struct arena *a, struct str except_uid,
                                 const struct pack_tentative **ret, size_t *ret_n, struct store_promises *ret_when,
                                 struct err *reterr);

/* Under `consistency: strict`: an earlier decision for this node may still take effect, or what was decided for it is
 * illegible, so that bind refuses it now; or that is over. A node in doubt comes after all others that fit
 * (PACK_IN_DOUBT; decision 0112). The binder says it; nothing for what is known already. */
void store_doubt(struct store *s, struct str node_name, bool in_doubt);
bool store_is_in_doubt(struct store *s, struct str node_name);

#endif
