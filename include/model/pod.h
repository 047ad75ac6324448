/* model/pod.h - what fgpu knows of a Pod object: plain facts, as they stand in the API.
 *
 * No interpretation here: what a pod asks of GPUs is computed by core/dialects/dialect.h. All text is borrowed from
 * the arena or buffer the pod was decoded from.
 */
#ifndef MODEL_POD_H
#define MODEL_POD_H

#include "base/str.h"
#include "model/kv.h"

#include <stdbool.h>
#include <stdint.h>

enum pod_phase {
    POD_PENDING,
    POD_RUNNING,
    POD_SUCCEEDED,
    POD_FAILED,
    POD_PHASE_UNKNOWN, /* "Unknown", or a word we do not know: treated as alive */
    POD_PHASE__MAX
};

/* As in spec.tolerations; what a missing word means is already said (core/v1, Toleration). */
enum toleration_operator {
    TOLERATION_EQUAL,
    TOLERATION_EXISTS,
    TOLERATION_LESS,    /* Lt: the taint's value is a smaller number (1.35, alpha) */
    TOLERATION_GREATER, /* Gt */
    TOLERATION_NEVER,   /* a word we do not know: matches nothing */
};

enum toleration_effect {
    TOLERATES_ALL, /* none given */
    TOLERATES_NO_SCHEDULE,
    TOLERATES_NO_EXECUTE,
    TOLERATES_OTHER, /* PreferNoSchedule, or a word we do not know */
};

struct toleration {
    struct str key; /* empty: every key */
    struct str value;
    enum toleration_operator operator_;
    enum toleration_effect effect;
};

struct container {
    struct str name;
    bool sidecar;          /* an init container with restartPolicy: Always */
    struct kv_list limits; /* resource name -> quantity text */
    struct kv_list requests;
};

struct pod {
    struct str namespace_;
    struct str name;
    struct str uid;
    struct str resource_version;
    struct str node_name;           /* empty: not bound */
    struct str nominated_node_name; /* status.nominatedNodeName */
    struct str scheduler_name;
    struct str unscheduled_message; /* of its condition PodScheduled while that is False */
    struct str preemption_policy;   /* "Never": it evicts nobody */
    enum pod_phase phase;
    bool deleting;      /* has a deletionTimestamp */
    int64_t created_ms; /* creationTimestamp, wall time; 0: none, or not a time */
    int32_t priority;
    struct kv_list labels;
    struct kv_list annotations;
    const struct container *init_containers; /* in order, sidecars included */
    size_t init_container_n;
    const struct container *containers;
    size_t container_n;
    struct kv_list limits; /* of the pod as a whole (spec.resources) */
    struct kv_list requests;
    struct kv_list overhead; /* what its runtime takes beside the containers */
    const struct toleration *tolerations;
    size_t toleration_n;
};

/* metadata.resourceVersion as the number it is (a revision of etcd, contract.md 5.1); 0: not one, as a decimal
 * would be written. */
static inline uint64_t pod_version(const struct pod *p)
{
    uint64_t version;

    return p->resource_version.n > 0 && p->resource_version.p[0] != '0' &&
                   str_to_u64(p->resource_version, UINT64_MAX, &version)
               ? version
               : 0;
}

/* Its containers in the order in which they start: init_container_n, then container_n. */
static inline const struct container *pod_container(const struct pod *p, size_t i)
{
    return i < p->init_container_n ? &p->init_containers[i] : &p->containers[i - p->init_container_n];
}

/* Does it run beside those that start after it? Ordinary init containers do not. */
static inline bool pod_container_stays(const struct pod *p, size_t i)
{
    return i >= p->init_container_n || p->init_containers[i].sidecar;
}

static inline bool pod_is_terminal(const struct pod *p)
{
    return p->phase == POD_SUCCEEDED || p->phase == POD_FAILED;
}

#endif
