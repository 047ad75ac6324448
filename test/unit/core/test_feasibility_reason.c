/* The truth of every verdict: what it claims is recomputed, and taking the blamed thing out of the
 * cluster must change the answer. */
#include "base/compiler.h"
#include "base/rng.h"
#include "core/fit/feasibility.h"
#include "core/support/oracle.h"
#include "core/support/random_demand.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CASES 24000
#define SEED 20240610

static enum verdict place(const struct random_case *c)
{
    struct placement p;

    return feasibility_place(&c->node, c->devices, c->allowed_models, &c->demand, strategies[0], &p);
}

/* The needs in the order in which they are asked, under the verdict that names them. */
static const enum verdict needs[] = {
    VERDICT_TOO_FEW_GPUS, VERDICT_ELSEWHERE,  VERDICT_NOT_ALLOWED,   VERDICT_MEMORY_UNKNOWN, VERDICT_GPU_TOO_SMALL,
    VERDICT_UNHEALTHY,    VERDICT_HOST_GROUP, VERDICT_OVERCOMMITTED, VERDICT_HELD_ALONE,     VERDICT_NOT_EMPTY,
    VERDICT_NO_COMPUTE,   VERDICT_NO_MEMORY,  VERDICT_NO_SLOT,       VERDICT_ISOLATED,
};

static bool meets(const struct random_case *c, size_t i, size_t w, enum verdict need)
{
    const struct device_state *d = &c->devices[i];
    struct charge a = device_charge(d, NULL, &c->gpu_requests[w]);
    bool is[VERDICT__MAX] = {
        [VERDICT_TOO_FEW_GPUS] = (d->flags & DEVICE_LOST) == 0,
        [VERDICT_ELSEWHERE] = (d->flags & DEVICE_ELSEWHERE) == 0,
        [VERDICT_NOT_ALLOWED] =
            (d->flags & DEVICE_DENIED) == 0 && (c->allowed_models == NULL || c->allowed_models[d->model_id] != 0),
        [VERDICT_MEMORY_UNKNOWN] = a.mem_mib == 0 || d->mem_cap_mib != 0,
        [VERDICT_GPU_TOO_SMALL] = a.mem_mib <= d->mem_cap_mib,
        [VERDICT_UNHEALTHY] = (d->flags & DEVICE_HEALTHY) != 0,
        [VERDICT_HOST_GROUP] = (d->flags & DEVICE_GROUP_TAKEN) == 0,
        [VERDICT_OVERCOMMITTED] = d->milli_free >= 0 && d->mem_free_mib >= 0 && d->slot_free >= 0,
        [VERDICT_HELD_ALONE] = (d->flags & DEVICE_EXCLUSIVE) == 0,
        [VERDICT_NOT_EMPTY] = !a.exclusive || (d->flags & DEVICE_IN_USE) == 0,
        [VERDICT_NO_COMPUTE] = a.milli <= d->milli_free,
        [VERDICT_NO_MEMORY] = a.mem_mib <= d->mem_free_mib,
        [VERDICT_NO_SLOT] = d->slot_free >= 1,
        [VERDICT_ISOLATED] = (d->flags & DEVICE_ISOLATED) == 0,
    };

    return is[need];
}

/* Devices that meet every need before `until` except `skip`. */
static unsigned count_before(const struct random_case *c, size_t w, enum verdict until, enum verdict skip)
{
    unsigned n = 0;

    for (size_t i = 0; i < c->node.device_n; i++) {
        bool ok = true;

        for (size_t k = 0; k < ARRAY_LEN(needs) && needs[k] != until; k++) {
            ok = ok && (needs[k] == skip || meets(c, i, w, needs[k]));
        }
        n += ok;
    }
    return n;
}

/* Devices that meet `need` and what comes before it (compute and memory are apart of each other).
 */
static unsigned count_met(const struct random_case *c, size_t w, enum verdict need)
{
    unsigned n = 0;

    for (size_t i = 0; i < c->node.device_n; i++) {
        bool ok = true;

        for (size_t k = 0; k < ARRAY_LEN(needs); k++) {
            ok = ok && (meets(c, i, w, needs[k]) || (need == VERDICT_NO_MEMORY && needs[k] == VERDICT_NO_COMPUTE));
            if (needs[k] == need) {
                break;
            }
        }
        n += ok;
    }
    return n;
}

static bool is_true_of_gpu_request(const struct random_case *c, size_t w, enum verdict v)
{
    unsigned n = c->gpu_requests[w].count;

    if (v == VERDICT_UNMEASURED) {
        return c->node.device_n == 0 && c->node.plugin_managed_cap > 0;
    }
    if (v == VERDICT_NO_GPU) {
        return count_met(c, w, VERDICT_TOO_FEW_GPUS) == 0;
    }
    if (v == VERDICT_FRAGMENTED) {
        return count_met(c, w, VERDICT_NO_COMPUTE) >= n && count_met(c, w, VERDICT_NO_MEMORY) >= n &&
               count_before(c, w, VERDICT_NO_SLOT, VERDICT_FITS) < n;
    }
    if (v == VERDICT_GPU_TOO_SMALL) {
        return count_met(c, w, v) == 0 && count_before(c, w, v, VERDICT_FITS) >= n;
    }
    if (v == VERDICT_NO_MEMORY && count_met(c, w, VERDICT_GPU_TOO_SMALL) < n) {
        return count_met(c, w, VERDICT_GPU_TOO_SMALL) > 0; /* one large enough, too few of them */
    }
    return count_met(c, w, v) < n &&
           count_before(c, w, v, v == VERDICT_NO_MEMORY ? VERDICT_NO_COMPUTE : VERDICT_FITS) >= n;
}

static bool fits_alone(const struct random_case *c, size_t w)
{
    struct demand one = c->demand;

    one.gpu_requests = &c->gpu_requests[w];
    one.gpu_request_n = 1;
    return oracle_places(c->devices, c->node.device_n, c->allowed_models, &one, NULL);
}

/* Containers of one phase that together need more devices than there are. */
static bool wants_too_many(const struct random_case *c)
{
    unsigned present = 0;

    for (size_t i = 0; i < c->node.device_n; i++) {
        present += (c->devices[i].flags & DEVICE_LOST) == 0;
    }
    for (unsigned phase = 0; phase < DEMAND_PHASES_MAX; phase++) {
        unsigned whole = 0, most = 0;

        for (size_t w = 0; w < c->demand.gpu_request_n; w++) {
            const struct gpu_request *x = &c->gpu_requests[w];
            unsigned n = (x->phases >> phase & 1) != 0 ? x->count : 0;

            whole += x->kind == GPU_REQUEST_WHOLE ? n : 0;
            most = x->kind != GPU_REQUEST_WHOLE && n > most ? n : most;
        }
        if (whole + most > present) {
            return true;
        }
    }
    return false;
}

static bool is_true(const struct random_case *c, enum verdict v)
{
    if (v == VERDICT_WHOLE_PODS_HERE) {
        return c->node.plugin_managed_used > 0;
    }
    if (v == VERDICT_TOO_FEW_GPUS && wants_too_many(c)) {
        return true;
    }
    for (size_t w = 0; w < c->demand.gpu_request_n; w++) {
        if (v == VERDICT_NO_COMBINATION && !fits_alone(c, w)) {
            return false;
        }
        if (v != VERDICT_NO_COMBINATION && is_true_of_gpu_request(c, w, v)) {
            return true;
        }
    }
    return v == VERDICT_NO_COMBINATION;
}

/* Takes what the verdict blames out of the cluster. False: no device can cure it. */
static bool cure(struct random_case *c, enum verdict v)
{
    bool memory = v == VERDICT_NO_MEMORY || v == VERDICT_GPU_TOO_SMALL;

    for (size_t i = 0; i < c->node.device_n; i++) {
        struct device_state *d = &c->devices[i];

        if (v == VERDICT_MEMORY_UNKNOWN && d->mem_cap_mib == 0) {
            d->mem_base_mib = d->mem_cap_mib = d->mem_free_mib = 16000;
        }
        if (memory && d->mem_cap_mib != 0) {
            d->mem_cap_mib = d->mem_free_mib = INT32_MAX;
        }
        if (memory && d->mem_cap_mib == 0) {
            d->mem_free_mib = 0;
        }
        if (v == VERDICT_OVERCOMMITTED) {
            d->milli_free = d->milli_free < 0 ? 0 : d->milli_free;
            d->mem_free_mib = d->mem_free_mib < 0 ? 0 : d->mem_free_mib;
            d->slot_free = d->slot_free < 0 ? 0 : d->slot_free;
        }
        if (v == VERDICT_NO_COMPUTE || v == VERDICT_FRAGMENTED) {
            d->milli_free = d->milli_cap = 1 << 20;
        }
        if (v == VERDICT_NO_SLOT) {
            d->slot_free = 100;
        }
        d->flags |= v == VERDICT_UNHEALTHY ? DEVICE_HEALTHY : 0;
        d->flags &= (uint16_t) ~(v == VERDICT_HELD_ALONE    ? DEVICE_EXCLUSIVE
                                 : v == VERDICT_NOT_EMPTY   ? DEVICE_IN_USE
                                 : v == VERDICT_ISOLATED    ? DEVICE_ISOLATED
                                 : v == VERDICT_NOT_ALLOWED ? DEVICE_DENIED
                                 : v == VERDICT_ELSEWHERE   ? DEVICE_ELSEWHERE
                                 : v == VERDICT_HOST_GROUP  ? DEVICE_GROUP_TAKEN
                                                            : 0);
    }
    c->allowed_models = v == VERDICT_NOT_ALLOWED ? NULL : c->allowed_models;
    c->node.plugin_managed_used = v == VERDICT_WHOLE_PODS_HERE ? 0 : c->node.plugin_managed_used;
    return v != VERDICT_NO_GPU && v != VERDICT_UNMEASURED && v != VERDICT_TOO_FEW_GPUS && v != VERDICT_NO_COMBINATION;
}

static void verdict__random_cases__is_true_and_its_cure_helps(void **state)
{
    static struct random_case c;
    unsigned seen[VERDICT__MAX] = {0};
    struct rng r;

    rng_init(&r, SEED);
    for (int k = 0; k < CASES; k++) {
        enum verdict v;

        random_case_draw(&r, 3, 8, &c);
        v = place(&c);
        seen[v]++;
        if (v == VERDICT_FITS) {
            continue;
        }
        if (!is_true(&c, v)) {
            FAIL_CASE(k, &c, "%s is not true", verdict_name(v));
        }
        if (cure(&c, v) && place(&c) == v) {
            FAIL_CASE(k, &c, "%s although that is cured", verdict_name(v));
        }
    }
    /* Each reason has been in the shadow. */
    for (size_t i = 0; i < ARRAY_LEN(needs); i++) {
        if (seen[needs[i]] < 10) {
            fail_msg("%s was seen %u times", verdict_name(needs[i]), seen[needs[i]]);
        }
    }
    assert_true(seen[VERDICT_FRAGMENTED] >= 10 && seen[VERDICT_NO_COMBINATION] >= 10);
    assert_true(seen[VERDICT_NO_GPU] >= 10 && seen[VERDICT_WHOLE_PODS_HERE] >= 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdict__random_cases__is_true_and_its_cure_helps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
