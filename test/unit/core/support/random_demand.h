/* core/support/random_demand.h - seeded demands and nodes for property tests.
 *
 * Numbers are drawn from coarse grids on purpose: devices and containers are then often equal, and
 * sums often hit a bound exactly, which is where a search goes wrong.
 */
#ifndef CORE_SUPPORT_RANDOM_DEMAND_H
#define CORE_SUPPORT_RANDOM_DEMAND_H

#include "base/rng.h"
#include "core/fit/device_state.h"
#include "core/request/demand.h"

#include <stddef.h>
#include <stdio.h>

#define RANDOM_GPU_REQUESTS_MAX 8
#define RANDOM_DEVICES_MAX 8
#define RANDOM_MODELS 3

struct random_case {
    struct gpu_request gpu_requests[RANDOM_GPU_REQUESTS_MAX];
    struct demand demand;
    struct node_state node;
    struct device_state devices[RANDOM_DEVICES_MAX];
    uint8_t models[RANDOM_MODELS];
    const uint8_t *allowed_models; /* `models` or NULL */
};

/* Draws into *c, which must not move afterwards (the demand points into it). 1..gpu_request_max GPU requests, at
 * most 1..device_max devices. */
void random_case_draw(struct rng *r, size_t gpu_request_max, size_t device_max, struct random_case *c);

/* Cuts some of its GPUs into MIG instances, and makes its GPU requests ask for them, or at times does nothing. */
void random_case_cut(struct rng *r, struct random_case *c);

/* One GPU request of any kind, in the app phase. */
struct gpu_request random_gpu_request(struct rng *r, uint16_t count_max);
/* A device with a history: pods, faults, over-commit. Equal to `like` (may be NULL) more often than
 * not. */
struct device_state random_device(struct rng *r, const struct device_state *like);

/* The case in words, for a failing test. Static storage. */
const char *random_case_text(const struct random_case *c);
/* Fails the test with the seed, the number of the case, what is wrong (as printf would write it) and the case in words.
 * The program says what its SEED is. */
#define FAIL_CASE(k, c, ...)                                                                                           \
    do {                                                                                                               \
        char why_[200];                                                                                                \
        snprintf(why_, sizeof(why_), __VA_ARGS__);                                                                     \
        fail_msg("seed %d case %d: %s\n%s", SEED, k, why_, random_case_text(c));                                       \
    } while (0)

/* How many there are in `strategies`, to draw one. */
size_t strategy_count(void);

#endif
