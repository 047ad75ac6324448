/* core/request/demand.h - what a pod asks of GPUs, normalised: the common form of every vocabulary.
 *
 * A demand is a list of GPU requests, one per container that uses GPUs. A GPU request says how many distinct
 * devices the container wants and what it takes of each; amounts may depend on the device ("a third
 * of it"), so they are resolved by gpu_request_charge() against one device. A container that wants two and a
 * half devices (decision 0028) has two GPU requests, side by side: the whole ones first, then the rest. A GPU request
 * for whole devices shares them with nobody, so all devices of a container are distinct there, too.
 *
 * Phases. Containers of a pod do not all run at once: each ordinary init container runs alone with
 * the sidecars started before it; then all app containers run with all sidecars. Bit 0 of
 * gpu_request.phases is the app phase, bit k the k-th ordinary init container that uses GPUs. What a pod
 * takes of a device is the peak over the phases, per dimension, and the peak stays charged to the
 * end of the pod (design.md 3.2).
 *
 * A pod whose GPU request contradicts itself or is absurd has a defect: it is refused on every node with
 * one constant text, and nobody else is affected.
 */
#ifndef CORE_REQUEST_DEMAND_H
#define CORE_REQUEST_DEMAND_H

#include "base/arena.h"
#include "base/str.h"
#include "model/device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEMAND_GPU_REQUESTS_MAX 64 /* containers of one pod that use GPUs */
#define DEMAND_PHASES_MAX 64
#define DEMAND_MEM_MIB_MAX (INT64_C(1) << 24) /* per device: 16 TiB, above what any GPU has */
#define DEMAND_PLUGIN_MANAGED_MAX 65536       /* whole GPUs of a plugin, of one pod or one node */
#define DEMAND_PATTERNS_MAX 64                /* entries of fgpu.io/gpu-model or fgpu.io/gpu-uuid */
#define DEMAND_ISOLATE_MAX 16                 /* pairs of fgpu.io/isolate-from */

enum demand_defect {
    DEMAND_OK,
    DEMAND_QUANTITY,          /* not a quantity, negative, or with a fraction where none can be */
    DEMAND_TOO_LARGE,         /* above what any machine has */
    DEMAND_FRACTION,          /* above 1000 milli and no multiple of it; 0; finer than a milli */
    DEMAND_COUNT,             /* zero or too many devices */
    DEMAND_TWICE,             /* resource and annotation both, or a size beside single GPU requests */
    DEMAND_CONTRADICTION,     /* milli above one device together with a count or memory */
    DEMAND_UNKNOWN_SIZE,      /* fgpu.io/size names no size of the configuration */
    DEMAND_SIZE_ELSEWHERE,    /* ... or one that is for pods of other namespaces */
    DEMAND_SIZE_AMOUNT,       /* of a size as a resource there is one, or none */
    DEMAND_UNKNOWN_CONTAINER, /* fgpu.io/container names no app container of the pod */
    DEMAND_MIXED_KINDS,       /* whole GPUs of a plugin beside shares of fgpu in one pod */
    DEMAND_CONSTRAINT,        /* malformed gpu-model, gpu-uuid, isolate-from or qos */
    DEMAND_MIG,               /* a MIG profile that is none, or several in one container */
    DEMAND_TOO_MANY,          /* more containers than DEMAND_GPU_REQUESTS_MAX use GPUs */
    DEMAND_VOCABULARIES,      /* two vocabularies in one pod */
    DEMAND_KAI_FRACTION,      /* gpu-fraction is no decimal number in (0, 1), or finer than a thousandth */
    DEMAND_KAI_MEMORY,        /* gpu-memory is no whole number of MiB above 0 */
    DEMAND_KAI_TWICE,         /* gpu-fraction and gpu-memory, or gpu-fraction-num-devices without either */
    DEMAND_KAI_CONTAINER,     /* gpu-fraction-container-name names no container of the pod */
    /* Of pods that are not bound yet alone (core/dialects/spelling_internal.h): */
    DEMAND_MEMORY_UNIT,    /* fgpu.io/gpu-memory without a unit, or below 1Mi */
    DEMAND_KEY_ANNOTATION, /* an annotation under fgpu.io/ that nobody knows, and nothing that it resembles; else: */
    DEMAND_KEY_RESOURCE,   /* the same, of a container */
    DEMAND_MEANT_FRACTION,
    DEMAND_MEANT_MEMORY,
    DEMAND_MEANT_COUNT,
    DEMAND_MEANT_SIZE,
    DEMAND_MEANT_PROFILE,
    DEMAND_MEANT_CONTAINER,
    DEMAND_MEANT_MODEL,
    DEMAND_MEANT_UUID,
    DEMAND_MEANT_ISOLATE,
    DEMAND_MEANT_QOS,
    DEMAND_MEANT_MILLI_RESOURCE,
    DEMAND_MEANT_MEMORY_RESOURCE,
    DEMAND_MEANT_COUNT_RESOURCE,
    DEMAND_DEFECT__MAX
};

/* One constant sentence for the pod's event (as verdict_text), and a short label for metrics. */
const char *demand_defect_text(enum demand_defect d);
const char *demand_defect_name(enum demand_defect d);

enum gpu_request_kind {
    GPU_REQUEST_BOTH,   /* milli and mem_mib as given */
    GPU_REQUEST_MILLI,  /* milli given; memory is the same share of the device */
    GPU_REQUEST_MEMORY, /* mem_mib given; compute is the same share of the device, at least 1 milli, or none
                         * (device_state.memory_only) */
    GPU_REQUEST_WHOLE,  /* the whole device, nobody else on it */
    /* As KAI-Scheduler rounds, which sees the memory of a device in whole steps of GPU_REQUEST_KAI_STEP_MIB; compute as
     * with GPU_REQUEST_MEMORY: */
    GPU_REQUEST_FRACTION, /* milli given, a fraction of the memory seen, rounded down */
    GPU_REQUEST_PORTION,  /* mem_mib given; its portion of the memory seen counts in hundredths, rounded up */
    GPU_REQUEST_KIND__MAX
};

#define GPU_REQUEST_KAI_STEP_MIB 100

/* "both", "milli", "memory", "whole", "fraction", "portion" */
const char *gpu_request_kind_name(enum gpu_request_kind k);
/* Are milli, is mem_mib given in a GPU request of this kind? (The milli of GPU_REQUEST_WHOLE say themselves.) */
bool gpu_request_kind_has_milli(enum gpu_request_kind k);
bool gpu_request_kind_has_mem(enum gpu_request_kind k);
/* Of memory alone, so that the node says whether it takes compute, too? */
bool gpu_request_kind_is_of_memory(enum gpu_request_kind k);

struct gpu_request {
    struct str container;
    bool init;         /* stands in spec.initContainers */
    uint16_t position; /* in spec.containers or spec.initContainers */
    uint16_t count;    /* distinct devices, >= 1 */
    enum gpu_request_kind kind;
    int32_t milli;   /* per device, 0..1000 */
    int64_t mem_mib; /* per device */
    uint64_t phases;
    uint16_t profile; /* GPU_REQUEST_WHOLE: instances of this MIG profile (model/mig.h); 0: GPUs */
};

/* Memory and nothing else, of whatever there is. */
static inline bool gpu_request_is_memory_alone(const struct gpu_request *w)
{
    return w->profile == 0 && (w->kind == GPU_REQUEST_MEMORY || (w->kind == GPU_REQUEST_BOTH && w->milli == 0));
}

/* What is taken of one device. Sums of charges are charges; free capacity is signed and may be
 * negative. */
struct charge {
    int32_t milli;
    int32_t slots;
    int64_t mem_mib;
    bool exclusive;
    uint16_t profile; /* of the devices that it is meant for; 0: whole GPUs */
};

static inline bool charge_equal(const struct charge *a, const struct charge *b)
{
    return a->milli == b->milli && a->slots == b->slots && a->mem_mib == b->mem_mib && a->exclusive == b->exclusive &&
           a->profile == b->profile;
}

/* Where the amounts come from. Constraints (gpu-model, gpu-uuid, isolate-from, qos) are always
 * annotations and change no amount, so they do not change the source. (What equal-share adds to the charge
 * is fixed when devices are reserved: model/qos.h.) */
enum demand_source {
    DEMAND_FROM_RESOURCES,   /* immutable: the charge follows it */
    DEMAND_FROM_ANNOTATIONS, /* its author can edit it: the charge never falls (design.md 3.1) */
};

/* "a,!b*" of fgpu.io/gpu-model or fgpu.io/gpu-uuid. */
struct device_pattern {
    struct str text;
    bool exclude;
};

/* What a pod takes of the machine beside GPUs, as kube-scheduler counts it: peak over its phases, overhead
 * included. It shapes scores, because GPUs without cores and memory beside them are worth little; whether it
 * fits is kube-scheduler's affair (design.md 3.2). Saturated. */
struct host_request {
    int32_t cpu_milli;
    int32_t mem_mib;
};

/* With a defect, only `defect`, `as_written`, `source`, `dialect` and `host` mean anything: no GPU requests, no
 * constraints. */
struct demand {
    enum demand_defect defect;
    enum demand_source source;
    bool says_qos;           /* else its node does */
    uint8_t name_bytes_most; /* longest name of a container with a GPU request (demand_longest_name) */
    enum qos qos;
    const char *dialect;           /* name of the vocabulary it was written in; "" when nothing is asked */
    int32_t plugin_managed_n;      /* GPUs, replicas or units of a plugin that kubelet picks; then gpu_request_n == 0 */
    int32_t plugin_managed_most;   /* of these, in one container */
    uint64_t plugin_managed_names; /* under which names: model/policy.h; 0: not known */
    struct host_request host;      /* also of a pod that asks for no GPU; core/request/host.h */
    size_t gpu_request_n;
    const struct gpu_request *gpu_requests;
    size_t model_n;
    const struct device_pattern *models;
    size_t uuid_n;
    const struct device_pattern *uuids;
    /* Hashes (label_pair_hash) of the pairs in fgpu.io/isolate-from; all must match. */
    size_t isolate_n;
    const uint64_t *isolate;
    struct str
        as_written; /* with a defect: the words of the request, for people alone (dialect_as_written); else empty */
};

/* Do two GPU requests, neighbours in a demand, belong to the same container? */
static inline bool gpu_request_goes_on(const struct gpu_request *before, const struct gpu_request *w)
{
    return before->init == w->init && before->position == w->position && str_eq(before->container, w->container);
}

/* Of a container with two GPU requests, which one a device answers to that was recorded with this much compute: whole
 * devices have all of it, with whatever factor, the rest has less. */
static inline bool gpu_request_is_of_milli(const struct gpu_request *w, int32_t milli)
{
    return (w->kind == GPU_REQUEST_WHOLE) == (milli >= DEVICE_MILLI);
}

/* Does the pod use GPUs at all (a defective one does)? */
static inline bool demand_is_empty(const struct demand *d)
{
    return d->defect == DEMAND_OK && d->gpu_request_n == 0 && d->plugin_managed_n == 0;
}

/* Devices that all its GPU requests ask for, one by one. */
static inline size_t demand_device_n(const struct demand *d)
{
    size_t n = 0;

    for (size_t w = 0; w < d->gpu_request_n; w++) {
        n += d->gpu_requests[w].count;
    }
    return n;
}

/* What demand.name_bytes_most is of these: hand-offs put names into keys (model/hand_off.h). At most 63 are counted, as
 * many as the name of a container has. */
static inline uint8_t demand_longest_name(const struct gpu_request *gpu_requests, size_t n)
{
    size_t most = 0;

    for (size_t i = 0; i < n; i++) {
        most = gpu_requests[i].container.n > most ? gpu_requests[i].container.n : most;
    }
    return (uint8_t)(most < 63 ? most : 63);
}

/* Does it want MIG instances by profile? Then all its GPU requests do. */
static inline bool demand_wants_instances(const struct demand *d)
{
    return d->gpu_request_n > 0 && d->gpu_requests[0].profile != 0;
}

/* ... and as resources, so that kubelet picks them where a device plugin offers them. */
static inline bool demand_may_be_counted(const struct demand *d)
{
    return demand_wants_instances(d) && d->source == DEMAND_FROM_RESOURCES;
}

/* Parts of GPUs, or whole ones from fgpu: these and whole GPUs of a plugin exclude each other on a node. */
static inline bool demand_takes_shares(const struct demand *d)
{
    return d->plugin_managed_n == 0 && !demand_wants_instances(d);
}

/* What `w` takes of a whole GPU with these capacities (after reserve and over-commit factors;
 * mem_base_mib is the memory before the factor, which shares are taken of). Design.md section 5,
 * table. A capacity of 0 or less counts as unknown: a share of it is no memory, and a GPU request for memory alone
 * then takes all compute of one device, because nobody can say which part of the device it is.
 * Decisions go by device_charge(), which also knows devices whose compute such GPU requests do not take. */
struct charge gpu_request_charge(const struct gpu_request *w, int32_t cap_milli, int64_t cap_mem_mib,
                                 int64_t mem_base_mib);

/* May the pod use a device of this model and UUID? Models match case-insensitively with '*'; a list
 * with inclusions admits only those; exclusions always win. UUIDs match whole and exactly; an
 * unknown (empty) one meets no inclusion. */
bool demand_allows_model(const struct demand *d, struct str model);
/* `gpu_uuid`: of the GPU that a MIG instance is of, which means the instance, too; else empty. */
bool demand_allows_uuid(const struct demand *d, struct str uuid, struct str gpu_uuid);

/* Two halves of label matching for isolation: the pair "key=value" as one number (64-bit FNV-1a
 * over both with a separator; a collision can only keep two pods apart that might have shared). */
uint64_t label_pair_hash(struct str key, struct str value);
/* Is every hash of `wanted` among `labels`? An empty `wanted` matches nothing. */
bool label_hashes_match(const uint64_t *wanted, size_t wanted_n, const uint64_t *labels, size_t label_n);

/* What counts where only room is looked at: a copy without names and constraints. NULL: the arena is full. */
const struct demand *demand_amounts(const struct demand *d, struct arena *a);
/* A deep copy in one malloc'ed block (free() it). */
struct demand *demand_copy(const struct demand *d);
/* The same in `a`; NULL: it is full. */
const struct demand *demand_copy_to(const struct demand *d, struct arena *a);
bool demand_equal(const struct demand *a, const struct demand *b);

#endif
