#include "core/fit/slack.h"

#include "base/bug.h"

#define STEP_MIB 64

bool slack_matters(const struct demand *d)
{
    return d->gpu_request_n == 1 && d->gpu_requests[0].kind != GPU_REQUEST_WHOLE;
}

static bool is_slice(const struct device_state *d)
{
    return (d->flags & DEVICE_SLICE) != 0 || device_is_instance(d);
}

/* What the GPU request would leave of a slice. */
static int64_t left_of(const struct device_state *d, const struct gpu_request *w)
{
    struct charge asked = gpu_request_charge(w, d->milli_cap, d->mem_cap_mib, d->mem_base_mib);

    return asked.mem_mib < d->mem_cap_mib ? d->mem_cap_mib - asked.mem_mib : 0;
}

/* The smallest first, as many as the GPU request wants. Returns how many there are. */
static size_t least_left(const struct node_state *n, const struct device_state *devices, const uint8_t *allowed_models,
                         const struct demand *d, int64_t *ret_left_mib)
{
    const struct gpu_request *w = &d->gpu_requests[0];
    int64_t left[DEVICES_PER_NODE_MAX];
    size_t found = 0;

    BUG_ON(w->count == 0);
    for (size_t i = 0; i < n->device_n; i++) {
        const struct device_state *s = &devices[i];
        struct charge c;
        int64_t mib;
        size_t at;

        if (!is_slice(s) || (allowed_models != NULL && allowed_models[s->model_id] == 0)) {
            continue;
        }
        c = device_charge(s, d, w);
        if (!device_takes(s, &c)) {
            continue;
        }
        mib = left_of(s, w);
        if (found == w->count && mib >= left[found - 1]) {
            continue;
        }
        at = found < w->count ? found++ : found - 1;
        for (; at > 0 && left[at - 1] > mib; at--) {
            left[at] = left[at - 1];
        }
        left[at] = mib;
    }
    *ret_left_mib = 0;
    for (size_t i = 0; i < found; i++) {
        *ret_left_mib += left[i];
    }
    return found;
}

uint16_t slack_on(const struct node_state *n, const struct device_state *devices, const uint8_t *allowed_models,
                  const struct demand *d)
{
    const struct gpu_request *w = &d->gpu_requests[0];
    bool memory_alone = gpu_request_is_memory_alone(w);
    int64_t left_mib, steps;

    BUG_ON(!slack_matters(d));
    if ((n->flags & NODE_SLICED) == 0 || least_left(n, devices, allowed_models, d, &left_mib) < w->count) {
        return memory_alone ? SLACK_MAX : SLACK_NONE; /* a share of a GPU */
    }
    steps = (left_mib + STEP_MIB - 1) / STEP_MIB + (memory_alone ? 0 : 1);
    return (uint16_t)(steps < SLACK_MAX ? steps : SLACK_MAX - 1);
}
