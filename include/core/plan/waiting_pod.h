/* core/plan/waiting_pod.h - what the planner keeps of a pod that waits, so that it can say without the Pod object where
 * kube-scheduler would let it run.
 *
 * Planning ahead writes status.nominatedNodeName. A nomination keeps room from others, so it goes only to pods and
 * nodes of which the filters of kube-scheduler that fgpu does not see are certain to agree. Whatever is not certain is
 * an obstacle: such a pod is never planned, and nothing else happens to it.
 *
 * A waiting_pod owns all it points at, in two blocks (itself and its demand): about 1 KiB, so thousands may be kept. It
 * never changes but for the two numbers that say when it came, which are the caller's. No lock.
 */
#ifndef CORE_PLAN_WAITING_POD_H
#define CORE_PLAN_WAITING_POD_H

#include "base/compiler.h"
#include "core/request/demand.h"
#include "model/pod.h"
#include "model/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why a pod is not planned; the first that holds. */
enum plan_obstacle {
    PLAN_ELIGIBLE,
    PLAN_NOT_WAITING,  /* bound, ended, or being deleted */
    PLAN_NO_GPU,       /* it asks for none */
    PLAN_DEFECT,       /* its request is malformed: no node takes it */
    PLAN_NOMINATED,    /* by somebody else */
    PLAN_GATED,        /* scheduling gates */
    PLAN_ODD,          /* something that decides could not be read */
    PLAN_POD_AFFINITY, /* these need what only kube-scheduler knows: */
    PLAN_SPREADS,      /* topology spread constraints */
    PLAN_HOST_PORTS,
    PLAN_CLAIMS, /* resource claims */
    PLAN_VOLUMES,
    PLAN_GROUPED,         /* pods scheduled together */
    PLAN_OTHER_RESOURCES, /* beside cores, memory and GPUs: ephemeral storage, huge pages, other devices */
    PLAN_OTHER_PODS,      /* fgpu.io/isolate-from, or a list of UUIDs: other pods, or single GPUs, decide */
    PLAN_OBSTACLE__MAX
};

/* One constant sentence without a full stop; a word for metrics. */
const char *plan_obstacle_text(enum plan_obstacle o);
const char *plan_obstacle_name(enum plan_obstacle o);

struct waiting_pod {
    struct str uid, namespace_, name, scheduler_name;
    uint64_t version;  /* resourceVersion of the object; 0: not known */
    int64_t queued_ms; /* since when it waits in kube-scheduler's queue, as far as is known: creationTimestamp, until
                          the caller knows better; wall time */
    uint64_t arrival;  /* the caller's: decides between equal times; a lower one came first */
    int32_t priority;
    enum plan_obstacle obstacle;
    struct str nominated;         /* status.nominatedNodeName; empty: none */
    bool nominated_by_us;         /* written by PLANNER_FIELD_MANAGER */
    unsigned scheduler_only;      /* enum scheduler_only */
    const struct demand *demand;  /* with what it asks of the machine (demand.host) */
    const uint64_t *label_hashes; /* for packing rules (core/placement/plan.h) */
    size_t label_n;
    const struct toleration *tolerations; /* those that may matter to the filters */
    size_t toleration_n;
    struct kv_list node_selector;
    bool requires_nodes; /* of struct pod */
    const struct node_term *node_terms;
    size_t node_term_n;
    uint64_t constraints; /* a hash of what decides in node_takes(): pods of one workload have the same */
};

/* `demand` and `label_hashes` as decisions read them of the pod (dialect_demand, dialect_label_hashes; the policy is
 * that of these); copied. Never NULL. An object that could not be read is no argument: nothing is known of it. */
struct waiting_pod *waiting_pod_new(const struct policy *policy, const struct pod *pod, const struct demand *demand,
                                    const uint64_t *label_hashes, size_t label_n);
void waiting_pod_free(struct waiting_pod *p); /* NULL is fine */

/* May it be planned at all? PLAN_ELIGIBLE, or why not. The caller adds what core cannot know: that the schedulerName is
 * ours, that no Binding of it is under way. */
enum plan_obstacle plan_eligible(const struct policy *policy, const struct pod *pod, const struct demand *demand);

/* Does kube-scheduler take `a` before `b`? Higher priority first, then who has waited longer (its plugin PrioritySort;
 * the time is that of the last return to the queue, of which queued_ms is what is known). A total order with `arrival`
 * and, at last, the UID. Under 0, 0, over 0 as for qsort. */
int waiting_pod_compare(const struct waiting_pod *a, const struct waiting_pod *b);

#endif
