#include "core/support/random_demand.h"

#include "base/compiler.h"
#include "core/fit/strategy.h"
#include "model/mig.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool chance(struct rng *r, unsigned percent)
{
    return rng_below(r, 100) < percent;
}

static int32_t pick(struct rng *r, const int32_t *from, size_t n)
{
    return from[rng_below(r, n)];
}

struct gpu_request random_gpu_request(struct rng *r, uint16_t count_max)
{
    static const int32_t millis[] = {1, 100, 250, 300, 334, 500, 600, 700, 1000};
    static const int32_t mems[] = {1, 1000, 2000, 4000, 5000, 8000, 16000, 17000};
    struct gpu_request w = {.container = STR("c"), .count = 1, .phases = 1};

    if (chance(r, 30)) {
        w.count = (uint16_t)(1 + rng_below(r, count_max));
    }
    w.kind = (enum gpu_request_kind)rng_below(r, GPU_REQUEST_KIND__MAX);
    if (w.kind == GPU_REQUEST_WHOLE && chance(r, 50)) {
        w.kind = GPU_REQUEST_BOTH;
    }
    if (gpu_request_kind_has_milli(w.kind)) {
        w.milli = pick(r, millis, ARRAY_LEN(millis));
    }
    if (gpu_request_kind_has_mem(w.kind)) {
        w.mem_mib = pick(r, mems, ARRAY_LEN(mems));
    }
    if (w.kind == GPU_REQUEST_BOTH && chance(r, 20)) {
        w.milli = 0; /* memory only, compute shared by all */
    }
    return w;
}

static void spoil(struct rng *r, struct device_state *d)
{
    switch (rng_below(r, 10)) {
    case 0:
        d->flags &= (uint16_t)~DEVICE_HEALTHY;
        break;
    case 8:
        d->flags |= DEVICE_ELSEWHERE;
        break;
    case 9:
        d->flags |= DEVICE_GROUP_TAKEN;
        break;
    case 1:
        d->flags |= DEVICE_LOST | DEVICE_IN_USE;
        break;
    case 2:
        d->flags |= DEVICE_DENIED;
        break;
    case 3:
        d->flags |= DEVICE_ISOLATED | DEVICE_IN_USE;
        break;
    case 4:
        d->flags |= DEVICE_EXCLUSIVE | DEVICE_IN_USE;
        d->milli_free = 0;
        d->mem_free_mib = 0;
        break;
    case 5:
        d->flags |= DEVICE_IN_USE;
        d->milli_free = -100;
        break;
    case 6:
        d->flags |= DEVICE_IN_USE;
        d->mem_free_mib = -1;
        break;
    default:
        d->flags |= DEVICE_IN_USE;
        d->slot_free = (int16_t)(0 - rng_below(r, 2));
        break;
    }
}

struct device_state random_device(struct rng *r, const struct device_state *like)
{
    static const int32_t mems[] = {16000, 16000, 16000, 8000, 81559, 0};
    static const int16_t slots[] = {16, 16, 2, 3};
    struct device_state d = {.flags = DEVICE_HEALTHY};

    if (like != NULL && chance(r, 50)) {
        return *like;
    }
    d.mem_base_mib = pick(r, mems, ARRAY_LEN(mems));
    d.mem_cap_mib = chance(r, 10) ? d.mem_base_mib * 2 : d.mem_base_mib;
    d.milli_cap = chance(r, 10) ? 2000 : 1000;
    d.slot_cap = slots[rng_below(r, ARRAY_LEN(slots))];
    d.model_id = (uint16_t)rng_below(r, RANDOM_MODELS);
    d.memory_only = chance(r, 30) ? MEMORY_ONLY_FREE : MEMORY_ONLY_SHARE;
    if (like != NULL && chance(r, 80)) { /* a node has devices of one kind */
        d.mem_base_mib = like->mem_base_mib;
        d.mem_cap_mib = like->mem_cap_mib;
        d.milli_cap = like->milli_cap;
        d.slot_cap = like->slot_cap;
        d.model_id = like->model_id;
        d.memory_only = like->memory_only;
    }
    d.mem_free_mib = d.mem_cap_mib;
    d.milli_free = d.milli_cap;
    d.slot_free = d.slot_cap;
    while (d.slot_free > 0 && chance(r, 50)) {
        static const int32_t millis[] = {0, 100, 250, 300, 500};

        d.flags |= DEVICE_IN_USE;
        d.slot_free--;
        d.milli_free -= pick(r, millis, ARRAY_LEN(millis));
        d.mem_free_mib -= d.mem_cap_mib / 4 * (int32_t)rng_below(r, 3);
        d.milli_free = d.milli_free < 0 ? 0 : d.milli_free;
        d.mem_free_mib = d.mem_free_mib < 0 ? 0 : d.mem_free_mib;
    }
    if (chance(r, 12)) {
        spoil(r, &d);
    }
    return d;
}

/* Containers in the order of the pod: init containers, some of them sidecars, then apps
 * (core/request/demand.h). */
static void draw_phases(struct rng *r, struct random_case *c, size_t n)
{
    size_t init_n = chance(r, 40) ? rng_below(r, n + 1) : 0;
    unsigned phase_n = 1;

    for (size_t w = 0; w < n; w++) {
        c->gpu_requests[w].position = (uint16_t)(w < init_n ? w : w - init_n);
        c->gpu_requests[w].init = w < init_n;
        c->gpu_requests[w].phases = 1;
        if (w < init_n && chance(r, 60)) {
            uint64_t phase = UINT64_C(1) << phase_n++;

            for (size_t v = 0; v < w; v++) {
                c->gpu_requests[v].phases |= (c->gpu_requests[v].phases & 1) != 0 ? phase : 0;
            }
            c->gpu_requests[w].phases = phase;
        }
    }
}

void random_case_draw(struct rng *r, size_t gpu_request_max, size_t device_max, struct random_case *c)
{
    size_t gpu_request_n = 1 + rng_below(r, gpu_request_max);
    size_t device_n = rng_below(r, 40) == 0 ? 0 : 1 + rng_below(r, device_max);

    memset(c, 0, sizeof(*c));
    for (size_t i = 0; i < device_n; i++) {
        c->devices[i] = random_device(r, i > 0 ? &c->devices[rng_below(r, i)] : NULL);
    }
    for (size_t w = 0; w < gpu_request_n; w++) {
        c->gpu_requests[w] = random_gpu_request(r, (uint16_t)(device_n > 0 ? device_n : 1));
        if (w > 0 && chance(r, 40)) {
            c->gpu_requests[w] = c->gpu_requests[w - 1];
        }
    }
    draw_phases(r, c, gpu_request_n);
    c->node = (struct node_state){.device_n = (uint16_t)device_n, .flags = NODE_DESCRIBED};
    if (chance(r, 3)) {
        c->node.plugin_managed_cap = 4;
        c->node.plugin_managed_used = 1;
    }
    for (size_t i = 0; i < RANDOM_MODELS; i++) {
        c->models[i] = chance(r, 60);
    }
    c->allowed_models = chance(r, 20) ? c->models : NULL;
    c->demand = (struct demand){
        .defect = DEMAND_OK, .dialect = "native", .gpu_request_n = gpu_request_n, .gpu_requests = c->gpu_requests};
}

static void cut_device(struct rng *r, struct device_state *d)
{
    static const struct {
        uint16_t profile;
        int32_t milli, mem_mib;
    } cuts[] = {
        {MIG_PROFILE(1, 5), 142, 4864}, {MIG_PROFILE(1, 5) | MIG_ME, 142, 4864}, {MIG_PROFILE(3, 20), 428, 19968},
        {MIG_PROFILE(2, 10), 285, 0},   {DEVICE_IN_MIG_MODE, 1000, 40000},
    };
    size_t i = rng_below(r, ARRAY_LEN(cuts));
    unsigned kept = d->flags & (DEVICE_HEALTHY | DEVICE_LOST | DEVICE_DENIED);
    bool used = cuts[i].profile == DEVICE_IN_MIG_MODE || chance(r, 30);

    *d = (struct device_state){
        .mem_base_mib = cuts[i].mem_mib,
        .mem_cap_mib = cuts[i].mem_mib,
        .mem_free_mib = used ? 0 : cuts[i].mem_mib,
        .milli_cap = cuts[i].milli,
        .milli_free = used ? 0 : cuts[i].milli,
        .slot_cap = 1,
        .slot_free = used ? 0 : 1,
        .model_id = d->model_id,
        .profile = cuts[i].profile,
        .flags = (uint8_t)(kept | (used ? DEVICE_IN_USE | DEVICE_EXCLUSIVE : 0) | (chance(r, 10) ? DEVICE_COUNTED : 0) |
                           (chance(r, 5) ? DEVICE_BLOCKED : 0)),
    };
}

void random_case_cut(struct rng *r, struct random_case *c)
{
    static const uint16_t profiles[] = {MIG_PROFILE(1, 5), MIG_PROFILE(1, 5), MIG_PROFILE(1, 5) | MIG_ME,
                                        MIG_PROFILE(3, 20), MIG_PROFILE(2, 10)};
    bool by_profile = chance(r, 60);

    if (chance(r, 20)) {
        return;
    }
    for (size_t i = 0; i < c->node.device_n; i++) {
        if (i > 0 && chance(r, 30)) {
            c->devices[i] = c->devices[i - 1];
        } else if (chance(r, 70)) {
            cut_device(r, &c->devices[i]);
        }
    }
    for (size_t w = 0; w < c->demand.gpu_request_n && by_profile; w++) {
        struct gpu_request *x = &c->gpu_requests[w];

        x->kind = GPU_REQUEST_WHOLE;
        x->milli = DEVICE_MILLI;
        x->mem_mib = chance(r, 20) ? 4000 * (int64_t)(1 + rng_below(r, 6)) : 0;
        x->profile =
            w > 0 && chance(r, 50) ? c->gpu_requests[w - 1].profile : profiles[rng_below(r, ARRAY_LEN(profiles))];
    }
}

const char *random_case_text(const struct random_case *c)
{
    static char text[4096];
    size_t at = 0;

#define ADD(...) at += (size_t)snprintf(text + at, at < sizeof(text) ? sizeof(text) - at : 0, __VA_ARGS__)
    for (size_t w = 0; w < c->demand.gpu_request_n && at < sizeof(text); w++) {
        const struct gpu_request *x = &c->gpu_requests[w];

        ADD("gpu_request %zu: %u x kind %d (%d, %" PRId64 ") phases %#" PRIx64 " profile %#x\n", w, x->count,
            (int)x->kind, x->milli, x->mem_mib, x->phases, x->profile);
    }
    for (size_t i = 0; i < c->node.device_n && at < sizeof(text); i++) {
        const struct device_state *d = &c->devices[i];

        ADD("device %zu: milli %d/%d mem %d/%d (%d) slots %d/%d flags %#x profile %#x memory only %u model %u%s\n", i,
            d->milli_free, d->milli_cap, d->mem_free_mib, d->mem_cap_mib, d->mem_base_mib, d->slot_free, d->slot_cap,
            d->flags, d->profile, d->memory_only, d->model_id,
            c->allowed_models != NULL && !c->allowed_models[d->model_id] ? " not allowed" : "");
    }
    ADD("plugin_managed_used %d\n", c->node.plugin_managed_used);
#undef ADD
    return text;
}

size_t strategy_count(void)
{
    size_t n = 0;

    while (strategies[n] != NULL) {
        n++;
    }
    return n;
}
