/* doctor/facts.h - what `fgpu doctor` knows of an installation: plain facts, from several sources, each of which may
 * be missing.
 *
 * Whoever gathers them (src/cmd/doctor_gather.h) gives the texts and objects as they came; the readers here take from
 * them what the checks (doctor/checks.h) look at. Nothing here does I/O or looks at a clock.
 *
 * All text and all lists live in the arena of the facts; what is handed to a reader is copied or may be let go of,
 * unless it says otherwise.
 */
#ifndef DOCTOR_FACTS_H
#define DOCTOR_FACTS_H

#include "base/arena.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"
#include "config/load.h"
#include "doctor/scheduler_file.h"
#include "model/node.h"
#include "model/pod.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum doctor_source {
    DOCTOR_STATE,     /* /state of the extender */
    DOCTOR_METRICS,   /* /metrics of it */
    DOCTOR_SCHEDULER, /* the KubeSchedulerConfiguration */
    DOCTOR_VERBS,     /* the listener that kube-scheduler asks, reached as it does */
    DOCTOR_NODES,     /* of the API server, as what follows */
    DOCTOR_PODS,
    DOCTOR_POLICIES, /* admission policies, their bindings and their parameters */
    DOCTOR_RUNTIME_CLASSES,
    DOCTOR_QUOTAS,
    DOCTOR_RIGHTS, /* what the user that fgpu runs as may do */
    DOCTOR_CLOCKS, /* the time there, here and of fgpu */
    DOCTOR_LEASE,  /* that of an election; read without one, too */
    DOCTOR_SOURCE__MAX
};

/* "the state of fgpu", "the nodes", ... */
const char *doctor_source_name(enum doctor_source s);

/* A node as the extender has it. */
struct doctor_node {
    const struct doctor_node *next;
    struct str name, source, note, hand_off, vendor;
    bool described, elsewhere, unmeasured, needs_agent, in_host_group;
    bool sells_whole; /* a device plugin hands out GPUs there */
    size_t gpu_n;
};

/* A GPU with a UUID, as the extender has it. */
struct doctor_gpu {
    const struct doctor_gpu *next;
    struct str uuid;
    const struct doctor_node *node;
};

/* A pod that waits. */
struct doctor_pending {
    const struct doctor_pending *next;
    struct str namespace_, name;
    int64_t since_ms;
    bool is_valid; /* its request can be read */
};

/* A pod on a GPU that somebody else put there. Once, however many GPUs it counts on. */
struct doctor_foreign {
    struct doctor_foreign *next;
    struct str namespace_, name, node;
};

/* A node as the API server has it. */
struct doctor_object {
    const struct doctor_object *next;
    struct str name;
    bool has_gpus;   /* labels or allocatable say so, or an annotation of fgpu */
    struct str sign; /* which of them, for people */
    bool by_agent;   /* fgpu-node has written the annotation */
    bool told_doors;
    unsigned doors;      /* those that fgpu-node found open, a bit for each enum door */
    uint64_t advertises; /* which of the names of doctor_names_of are in allocatable, a bit each */
};

/* A pod that asks for GPUs, has a record of fgpu, or is an agent. */
struct doctor_pod {
    const struct doctor_pod *next;
    struct str namespace_, name, node, scheduler;
    bool asks, by_annotation, is_over, is_agent, is_running;
    bool is_queued; /* by Kueue */
    bool has_record;
    struct str record_key; /* id of the key that signed it; empty: nobody did, or it cannot be read */
    int64_t created_ms;
};

/* A right that fgpu needs. */
struct doctor_right {
    const char *verb, *group, *resource, *subresource; /* "" where there is none */
    struct str namespace_, name;                       /* empty: all */
    const char *purpose;                               /* what does not work without it */
    bool is_denied;                                    /* as the API server says */
    const char *source;                                /* what to apply; NULL: rbac.yaml of the form */
};
#define DOCTOR_RIGHTS_MAX 32

/* An admission policy. */
struct doctor_policy {
    const struct doctor_policy *next;
    struct str name;
};

/* The binding of one. */
struct doctor_policy_binding {
    struct doctor_policy_binding *next;
    struct str policy;
    bool denies;
    struct str param_namespace, param_name; /* empty: it has none */
    bool param_is_there;                    /* set by who gathers */
};

/* A quota on a name of GPUs. */
struct doctor_quota {
    const struct doctor_quota *next;
    struct str namespace_, name, resource;
};

/* Who decides. */
struct doctor_lease {
    bool is_there;
    struct str holder;  /* empty: nobody */
    int64_t renewed_ms; /* by the clock of the holder; 0: it does not say when */
    int64_t duration_s;
};

struct doctor_facts {
    struct arena *arena;
    /* NULL: the source was read, completely. Else why not, for people: "nobody answers at ..." */
    const char *why_not[DOCTOR_SOURCE__MAX];
    int64_t now_ms; /* here, when the facts were gathered */

    /* DOCTOR_STATE */
    struct config *config; /* in effect; the caller frees it. NULL without the source */
    bool is_ready, is_leader, signs;
    struct str start_reason; /* why there was a hold-off, or none; empty: not said */
    int64_t as_of_ms, started_ms;
    int64_t double_booked_n, foreign_decision_n, refuted_n;
    const struct str *public_keys;
    size_t public_key_n;
    const struct doctor_node *nodes;
    const struct doctor_gpu *gpus;
    size_t gpu_n; /* of `gpus` */
    const struct doctor_pending *pending;
    struct doctor_foreign *foreign;

    /* DOCTOR_METRICS */
    int64_t filter_n;          /* calls that were answered */
    int64_t certificate_end_s; /* of fgpu, since 1970; 0: it has none */

    /* DOCTOR_SCHEDULER */
    struct scheduler_file scheduler;
    struct str scheduler_source; /* a file, or "ConfigMap fgpu-system/fgpu-config" */

    struct str verbs_trouble; /* DOCTOR_VERBS: what TLS says of its certificate; empty: nothing, or it has none */

    const struct doctor_object *objects;           /* DOCTOR_NODES */
    const struct doctor_pod *pods;                 /* DOCTOR_PODS */
    const struct doctor_policy *policies;          /* DOCTOR_POLICIES */
    struct doctor_policy_binding *policy_bindings; /* the same */
    bool has_policy_api;                           /* the same: before Kubernetes 1.30 there is none */
    const struct doctor_policy *runtime_handlers;  /* DOCTOR_RUNTIME_CLASSES: their handlers */
    const struct doctor_quota *quotas;             /* DOCTOR_QUOTAS */

    /* DOCTOR_RIGHTS */
    struct str user; /* as whom fgpu runs */
    struct doctor_right rights[DOCTOR_RIGHTS_MAX];
    size_t right_n;

    struct doctor_lease lease; /* DOCTOR_LEASE, with an election */

    /* DOCTOR_CLOCKS: what a clock is ahead of the one here, each with an error below a second and a half */
    int64_t api_ahead_ms, fgpu_ahead_ms;
    uint32_t kube_minor; /* of the API server, whatever became of its clock; 0: not known */
};

/* All sources missing. */
void doctor_facts_init(struct doctor_facts *f, struct arena *a);

/* Names of containers' resources that kube-scheduler has to leave to fgpu: those of `resources` that no device plugin
 * counts. At most 64; in `a`. Sizes as limits (fgpu.io/size.NAME) are not among them. */
size_t doctor_names_of(const struct config *c, struct arena *a, const struct str **ret);
/* Every name of `resources`: with which pods come to fgpu. */
size_t doctor_managed_names_of(const struct config *c, struct arena *a, const struct str **ret);

/* ---- readers ---- */

/* The whole document, which is borrowed. `names` as of config_load. ERR_PARSE, ERR_INVALID, ERR_LIMIT. */
WARN_UNUSED int doctor_read_state(struct doctor_facts *f, struct str document, const struct config_names *names,
                                  struct err *reterr);
/* Text of OpenMetrics or Prometheus. ERR_INVALID: it is not that of an extender. */
WARN_UNUSED int doctor_read_metrics(struct doctor_facts *f, struct str text, struct err *reterr);
/* After the state, if that is read. False: the arena is full. */
WARN_UNUSED bool doctor_add_node(struct doctor_facts *f, const struct node *node);
WARN_UNUSED bool doctor_add_pod(struct doctor_facts *f, const struct pod *pod);
/* Lists of the API server, as JSON, which is borrowed. */
WARN_UNUSED int doctor_read_policies(struct doctor_facts *f, struct str list, struct err *reterr);
WARN_UNUSED int doctor_read_policy_bindings(struct doctor_facts *f, struct str list, struct err *reterr);
WARN_UNUSED int doctor_read_runtime_classes(struct doctor_facts *f, struct str list, struct err *reterr);
WARN_UNUSED int doctor_read_quotas(struct doctor_facts *f, struct str list, struct err *reterr);
/* The value of one key of a ConfigMap; STR_NULL in *ret: it has no such key. */
WARN_UNUSED int doctor_read_config_map(struct str object, struct str key, struct arena *a, struct str *ret,
                                       struct err *reterr);

/* Fills rights with those that this installation needs, all granted. */
void doctor_needed_rights(struct doctor_facts *f);

#endif
