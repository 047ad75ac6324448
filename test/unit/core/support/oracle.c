#include "core/support/oracle.h"

#include "base/bug.h"

/* Is the device of the kind that the GPU request is about? */
static const char *objection_of_kind(const struct device_state *s, const struct gpu_request *w)
{
    bool memory_alone = w->profile == 0 && w->mem_mib > 0 && w->milli == 0 && w->kind != GPU_REQUEST_PORTION;

    if (s->profile == 0) {
        return w->profile == 0 ? NULL : "a whole GPU for who wants an instance";
    }
    if (s->profile == DEVICE_IN_MIG_MODE) {
        return "a GPU that is cut into instances";
    }
    if (w->profile != s->profile && (!memory_alone || (s->flags & DEVICE_COUNTED) != 0)) {
        return "an instance of another profile, or for who did not ask for one";
    }
    return w->mem_mib > s->mem_cap_mib ? "an instance that is too small" : NULL;
}

/* What is wrong on one device in one phase? */
static const char *objection_in_phase(const struct device_state *s, unsigned device, unsigned phase,
                                      const struct demand *d, size_t gpu_request_n, const struct placement *p)
{
    int64_t milli = 0, mem_mib = 0, slots = 0, alone = 0;

    for (size_t w = 0; w < gpu_request_n; w++) {
        const struct gpu_request *gpu_request = &d->gpu_requests[w];
        struct charge c;

        if ((p->gpu_request_devices[w] >> device & 1) == 0 || (gpu_request->phases >> phase & 1) == 0) {
            continue;
        }
        if (s->profile != 0) { /* an instance has no parts */
            c = (struct charge){s->milli_cap, 1, s->mem_cap_mib, true, s->profile};
        } else {
            c = s->milli_cap < 1000 ? gpu_request_charge(gpu_request, 1000, s->mem_base_mib, s->mem_base_mib)
                                    : gpu_request_charge(gpu_request, s->milli_cap, s->mem_cap_mib, s->mem_base_mib);
            if ((gpu_request->kind == GPU_REQUEST_MEMORY || gpu_request->kind == GPU_REQUEST_PORTION ||
                 (gpu_request->kind == GPU_REQUEST_FRACTION && c.mem_mib > 0)) &&
                s->memory_only == MEMORY_ONLY_FREE) {
                c.milli = 0;
            }
        }
        milli += c.milli;
        mem_mib += c.mem_mib;
        slots += 1;
        alone += gpu_request->kind == GPU_REQUEST_WHOLE || s->profile != 0;
    }
    if (milli > s->milli_free) {
        return "more compute than is free";
    }
    if (mem_mib > s->mem_free_mib) {
        return "more memory than is free";
    }
    if (slots > s->slot_free) {
        return "more sharers than there are slots";
    }
    if (alone > 0 && slots > 1) {
        return "two containers of the pod on a device that one wants alone";
    }
    return NULL;
}

static const char *objection_on_device(const struct device_state *s, unsigned device, const uint8_t *allowed_models,
                                       const struct demand *d, size_t gpu_request_n, const struct placement *p)
{
    bool used = false, alone = false;

    for (size_t w = 0; w < gpu_request_n; w++) {
        bool here = (p->gpu_request_devices[w] >> device & 1) != 0;

        used = used || here;
        alone = alone || (here && (d->gpu_requests[w].kind == GPU_REQUEST_WHOLE || s->profile != 0));
        if (here && objection_of_kind(s, &d->gpu_requests[w]) != NULL) {
            return objection_of_kind(s, &d->gpu_requests[w]);
        }
    }
    if (!used) {
        return NULL;
    }
    if ((s->flags & DEVICE_HEALTHY) == 0) {
        return "not healthy";
    }
    if ((s->flags & DEVICE_LOST) != 0) {
        return "gone";
    }
    if ((s->flags & DEVICE_EXCLUSIVE) != 0) {
        return "held alone by another pod";
    }
    if ((s->flags & DEVICE_ELSEWHERE) != 0) {
        return "of another system";
    }
    if ((s->flags & DEVICE_GROUP_TAKEN) != 0) {
        return "held by other nodes";
    }
    if ((s->flags & DEVICE_BLOCKED) != 0) {
        return "held in its other form";
    }
    if ((s->flags & DEVICE_DENIED) != 0) {
        return "not among the UUIDs";
    }
    if ((s->flags & DEVICE_ISOLATED) != 0) {
        return "holds a pod to keep away from";
    }
    if (alone && (s->flags & DEVICE_IN_USE) != 0) {
        return "wanted alone and in use";
    }
    if (allowed_models != NULL && allowed_models[s->model_id] == 0) {
        return "not of an allowed model";
    }
    if (s->milli_free < 0 || s->mem_free_mib < 0 || s->slot_free < 0) {
        return "over-committed";
    }
    for (unsigned phase = 0; phase < DEMAND_PHASES_MAX; phase++) {
        const char *why = objection_in_phase(s, device, phase, d, gpu_request_n, p);

        if (why != NULL) {
            return why;
        }
    }
    return NULL;
}

const char *oracle_objection(const struct device_state *devices, size_t device_n, const uint8_t *allowed_models,
                             const struct demand *d, size_t gpu_request_n, const struct placement *p)
{
    for (size_t w = 0; w < gpu_request_n; w++) {
        if (__builtin_popcountll(p->gpu_request_devices[w]) != d->gpu_requests[w].count) {
            return "not as many devices as asked for";
        }
        if (device_n < 64 && p->gpu_request_devices[w] >> device_n != 0) {
            return "a device that the node does not have";
        }
    }
    for (unsigned i = 0; i < device_n; i++) {
        const char *why = objection_on_device(&devices[i], i, allowed_models, d, gpu_request_n, p);

        if (why != NULL) {
            return why;
        }
    }
    return NULL;
}

/* Every set of devices for GPU request `w`, and for each that is right so far every set for the next: a
 * GPU request more never makes wrong right. */
static bool try_from(const struct device_state *devices, size_t device_n, const uint8_t *allowed_models,
                     const struct demand *d, size_t w, struct placement *p)
{
    if (w == d->gpu_request_n) {
        return true;
    }
    for (uint64_t set = 0; set < UINT64_C(1) << device_n; set++) {
        p->gpu_request_devices[w] = set;
        if (oracle_objection(devices, device_n, allowed_models, d, w + 1, p) == NULL &&
            try_from(devices, device_n, allowed_models, d, w + 1, p)) {
            return true;
        }
    }
    return false;
}

bool oracle_places(const struct device_state *devices, size_t device_n, const uint8_t *allowed_models,
                   const struct demand *d, struct placement *ret)
{
    struct placement p;

    BUG_ON(device_n > ORACLE_DEVICES_MAX);
    if (!try_from(devices, device_n, allowed_models, d, 0, &p)) {
        return false;
    }
    if (ret != NULL) {
        *ret = p;
    }
    return true;
}
