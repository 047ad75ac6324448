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

/* One line of a node affinity, as in matchExpressions and matchFields. */
enum requirement_operator {
    REQUIREMENT_IN,
    REQUIREMENT_NOT_IN,
    REQUIREMENT_EXISTS,
    REQUIREMENT_DOES_NOT_EXIST,
    REQUIREMENT_GREATER, /* Gt */
    REQUIREMENT_LESS,    /* Lt */
    REQUIREMENT_UNKNOWN, /* a word we do not know, or none */
};

struct node_requirement {
    struct str key;
    enum requirement_operator operator_;
    const struct str *values;
    size_t value_n;
};

/* All requirements must hold; without any it selects no node. */
struct node_term {
    const struct node_requirement *expressions; /* of labels */
    size_t expression_n;
    const struct node_requirement *fields; /* of metadata.name */
    size_t field_n;
};

/* What else kube-scheduler judges a pod by, which fgpu does not: bits of struct pod.scheduler_only. */
enum scheduler_only {
    POD_GATED = 1 << 0,            /* spec.schedulingGates */
    POD_POD_AFFINITY = 1 << 1,     /* affinity or anti-affinity to other pods, required or preferred */
    POD_SPREADS = 1 << 2,          /* spec.topologySpreadConstraints */
    POD_HOST_PORTS = 1 << 3,       /* a port of the host; with hostNetwork any port is */
    POD_CLAIMS = 1 << 4,           /* spec.resourceClaims */
    POD_VOLUMES = 1 << 5,          /* some volume that is not made on whatever node the pod runs on */
    POD_GROUPED = 1 << 6,          /* scheduled together with others (a workload, a pod group) */
    POD_CONSTRAINTS_ODD = 1 << 7,  /* something of this, or of what selects nodes, could not be read, or is too large */
    POD_KEEPS_OTHERS_OFF = 1 << 8, /* required anti-affinity: against pods of its own namespace, */
    POD_KEEPS_ALL_OFF = 1 << 9,    /* or of others, too */
};

/* The name under which the planner of fgpu writes status.nominatedNodeName (metadata.managedFields). */
#define PLANNER_FIELD_MANAGER "fgpu-planner"

struct container {
    struct str name;
    bool sidecar;          /* an init container with restartPolicy: Always */
    bool has_ports;        /* any, */
    bool has_host_ports;   /* one with a hostPort */
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
    bool nominated_by_planner;      /* ... which managedFields say of PLANNER_FIELD_MANAGER, perhaps beside
                                       others that own the same value; who may patch the pod can change that */
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
    struct kv_list node_selector;
    bool requires_nodes; /* a required node affinity: one of these terms must hold; without terms none does */
    const struct node_term *node_terms;
    size_t node_term_n;
    bool host_network;
    unsigned scheduler_only; /* enum scheduler_only; ports stand in the containers */
};

/* A resourceVersion as the number it is (a revision of etcd, contract.md 5.1); 0: not one, as a decimal would be
 * written. */
static inline uint64_t resource_version_number(struct str text)
{
    uint64_t version;

    return text.n > 0 && text.p[0] != '0' && str_to_u64(text, UINT64_MAX, &version) ? version : 0;
}

static inline uint64_t pod_version(const struct pod *p)
{
    return resource_version_number(p->resource_version);
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

/* All of enum scheduler_only that holds of it. */
static inline unsigned pod_scheduler_only(const struct pod *p)
{
    unsigned bits = p->scheduler_only;

    for (size_t i = 0; i < p->init_container_n + p->container_n; i++) {
        const struct container *c = pod_container(p, i);

        if (c->has_host_ports || (p->host_network && c->has_ports)) {
            bits |= POD_HOST_PORTS;
        }
    }
    return bits;
}

static inline bool pod_is_terminal(const struct pod *p)
{
    return p->phase == POD_SUCCEEDED || p->phase == POD_FAILED;
}

#endif
