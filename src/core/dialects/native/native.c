/* fgpu's own vocabulary: the pod as a whole. */
#include "core/dialects/dialect.h"
#include "core/dialects/native/native_internal.h"
#include "model/mig.h"

#include <string.h>

/* A demand in the making. GPU requests stay on the stack until it is known how many there are. */
struct reading {
    const struct policy *policy;
    const struct pod *pod;
    size_t gpu_request_n;
    struct gpu_request gpu_requests[DEMAND_GPU_REQUESTS_MAX];
};

static bool has_amount_annotation(struct kv_list annotations)
{
    return kv_find(annotations, STR(NATIVE_KEY_FRACTION)) != NULL ||
           kv_find(annotations, STR(NATIVE_KEY_MEMORY)) != NULL ||
           kv_find(annotations, STR(NATIVE_KEY_COUNT)) != NULL || kv_find(annotations, STR(NATIVE_KEY_SIZE)) != NULL ||
           kv_find(annotations, STR(NATIVE_KEY_PROFILE)) != NULL;
}

static bool is_claimed(const struct policy *p, struct str resource)
{
    return native_owns_resource(p, resource) || str_starts(resource, STR(MIG_RESOURCE_PREFIX));
}

static bool native_claims_pod(const struct policy *p, const struct pod *pod)
{
    return dialect_pod_asks_for(pod, p, is_claimed) || has_amount_annotation(pod->annotations);
}

static enum demand_defect add_gpu_request(struct reading *r, const struct native_ask *ask, bool init, size_t position)
{
    const struct container *list = init ? r->pod->init_containers : r->pod->containers;
    struct gpu_request w = {.container = list[position].name, .init = init};

    if (r->gpu_request_n == DEMAND_GPU_REQUESTS_MAX || position > UINT16_MAX) {
        return DEMAND_TOO_MANY;
    }
    w.position = (uint16_t)position;
    enum demand_defect defect = native_gpu_request_of(ask, &w);
    if (defect == DEMAND_OK) {
        r->gpu_requests[r->gpu_request_n++] = w;
    }
    return defect;
}

/* 2500 milli: two whole GPUs, and half of a third. The container has two GPU requests then, which never meet on a
 * device because one of them wants its devices alone. */
static enum demand_defect add_gpu_requests(struct reading *r, const struct native_ask *ask, bool init, size_t position)
{
    struct native_ask part = *ask;
    enum demand_defect defect;

    if (ask->milli <= DEVICE_MILLI || ask->milli % DEVICE_MILLI == 0) {
        return add_gpu_request(r, ask, init, position);
    }
    if (ask->count_given || ask->mem_mib > 0) {
        return DEMAND_CONTRADICTION;
    }
    if (ask->milli > DEVICE_MILLI * DEVICES_PER_NODE_MAX) {
        return DEMAND_COUNT;
    }
    part.milli = ask->milli - ask->milli % DEVICE_MILLI;
    defect = add_gpu_request(r, &part, init, position);
    part.milli = ask->milli % DEVICE_MILLI;
    return defect != DEMAND_OK ? defect : add_gpu_request(r, &part, init, position);
}

static enum demand_defect read_containers(struct reading *r, bool init)
{
    const struct container *list = init ? r->pod->init_containers : r->pod->containers;
    size_t n = init ? r->pod->init_container_n : r->pod->container_n;

    for (size_t i = 0; i < n; i++) {
        struct native_ask ask;
        enum demand_defect defect = native_ask_of_container(r->policy, r->pod->namespace_, &list[i], &ask);
        if (defect == DEMAND_OK && !native_ask_is_empty(&ask)) {
            defect = add_gpu_requests(r, &ask, init, i);
        }
        if (defect != DEMAND_OK) {
            return defect;
        }
    }
    return DEMAND_OK;
}

static enum demand_defect read_annotations(struct reading *r)
{
    const struct str *name = kv_find(r->pod->annotations, STR(NATIVE_KEY_CONTAINER));
    size_t position = 0;

    while (name != NULL && position < r->pod->container_n && !str_eq(r->pod->containers[position].name, *name)) {
        position++;
    }
    if (position == r->pod->container_n) {
        return DEMAND_UNKNOWN_CONTAINER;
    }
    struct native_ask ask;
    enum demand_defect defect = native_ask_of_annotations(r->policy, r->pod->namespace_, r->pod->annotations, &ask);
    return defect != DEMAND_OK ? defect : add_gpu_request(r, &ask, false, position);
}

/* Phases as core/request/demand.h has them: a sidecar runs during the init containers that start after it. */
static enum demand_defect set_phases(struct reading *r)
{
    unsigned phase_n = 1; /* the app phase is bit 0 */

    for (size_t i = 0; i < r->gpu_request_n; i++) {
        struct gpu_request *w = &r->gpu_requests[i];
        if (!w->init || r->pod->init_containers[w->position].sidecar) {
            w->phases = 1;
            continue;
        }
        if (i > 0 && r->gpu_requests[i - 1].init && r->gpu_requests[i - 1].position == w->position) {
            w->phases = r->gpu_requests[i - 1].phases; /* the rest of what that container wants */
            continue;
        }
        if (phase_n == DEMAND_PHASES_MAX) {
            return DEMAND_TOO_MANY;
        }
        w->phases = UINT64_C(1) << phase_n++;
        for (size_t j = 0; j < i; j++) {
            struct gpu_request *earlier = &r->gpu_requests[j];
            if (r->pod->init_containers[earlier->position].sidecar) {
                earlier->phases |= w->phases;
            }
        }
    }
    return DEMAND_OK;
}

/* Instances and parts of GPUs are handed out in different ways, so a pod has one kind of them. */
static bool mixes_mig(const struct reading *r)
{
    for (size_t i = 1; i < r->gpu_request_n; i++) {
        if ((r->gpu_requests[i].profile != 0) != (r->gpu_requests[0].profile != 0)) {
            return true;
        }
    }
    return false;
}

static enum demand_defect read_pod(struct reading *r, bool annotated)
{
    bool names_container = kv_find(r->pod->annotations, STR(NATIVE_KEY_CONTAINER)) != NULL;
    enum demand_defect defect = read_containers(r, true); /* init containers come first in a demand */

    if (defect == DEMAND_OK) {
        defect = read_containers(r, false);
    }
    if (defect != DEMAND_OK) {
        return defect;
    }
    if (r->gpu_request_n > 0 && (annotated || names_container)) {
        return DEMAND_TWICE;
    }
    if (mixes_mig(r)) {
        return DEMAND_MIXED_KINDS;
    }
    if (annotated) {
        defect = read_annotations(r);
    }
    return defect != DEMAND_OK ? defect : set_phases(r);
}

static bool native_parse_request(const struct policy *p, const struct pod *pod, struct arena *a, struct demand *ret)
{
    bool annotated = has_amount_annotation(pod->annotations);
    enum demand_source source = annotated ? DEMAND_FROM_ANNOTATIONS : DEMAND_FROM_RESOURCES;
    struct reading r; /* the GPU requests need no clearing */
    struct demand d = {.source = source, .dialect = dialect_native.name};

    r.policy = p;
    r.pod = pod;
    r.gpu_request_n = 0;
    enum demand_defect defect = read_pod(&r, annotated);
    if (defect == DEMAND_OK && r.gpu_request_n == 0) {
        *ret = (struct demand){.dialect = ""};
        return true;
    }
    if (defect == DEMAND_OK && !native_constraints(pod->annotations, a, &d, &defect)) {
        return false;
    }
    if (defect != DEMAND_OK) {
        *ret = (struct demand){.defect = defect, .source = source, .dialect = dialect_native.name};
        return true;
    }
    struct gpu_request *gpu_requests = ARENA_ARRAY(a, r.gpu_request_n, struct gpu_request);
    if (gpu_requests == NULL) {
        return false;
    }
    memcpy(gpu_requests, r.gpu_requests, r.gpu_request_n * sizeof(*gpu_requests));
    d.gpu_requests = gpu_requests;
    d.gpu_request_n = r.gpu_request_n;
    *ret = d;
    return true;
}

const struct dialect dialect_native = {
    .name = "native",
    .domain = "fgpu.io/",
    .request_keys = native_request_keys,
    .resources = native_resources,
    .answers = native_answers,
    .owns_resource = native_owns_resource,
    .claims_pod = native_claims_pod,
    .parse_request = native_parse_request,
    .check_unbound = native_check_unbound,
    .claims_node = native_claims_node,
    .parse_node = native_parse_node,
    .format_assignment = native_format_assignment,
    .parse_assignment = native_parse_assignment,
    .hand_off = native_hand_off,
};
