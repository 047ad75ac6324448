/* The search against the brute-force oracle; named cases, node rules, charges. */
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
#define SEED 20240607

static enum verdict place(const struct random_case *c, const struct strategy *s, struct placement *ret)
{
    return feasibility_place(&c->node, c->devices, c->allowed_models, &c->demand, s, ret);
}

/* ---- equality with the oracle ---- */

static void check_against_oracle(int k, const struct random_case *c, const struct strategy *s)
{
    const struct placement untouched = {{UINT64_C(0x5eed)}};
    struct placement p = untouched;
    enum verdict v = place(c, s, &p);
    bool possible = (c->node.plugin_managed_used == 0 || !demand_takes_shares(&c->demand)) &&
                    oracle_places(c->devices, c->node.device_n, c->allowed_models, &c->demand, NULL);
    const char *why;

    if (v == VERDICT_SEARCH_LIMIT || (v == VERDICT_FITS) != possible) {
        FAIL_CASE(k, c, "%s says %s, the oracle %s", s->name, verdict_name(v), possible ? "fits" : "does not fit");
    }
    if (v != VERDICT_FITS) {
        assert_memory_equal(&p, &untouched, sizeof(p));
        return;
    }
    why = oracle_objection(c->devices, c->node.device_n, c->allowed_models, &c->demand, c->demand.gpu_request_n, &p);
    if (why != NULL) {
        FAIL_CASE(k, c, "placement of %s: %s", s->name, why);
    }
}

static void check_many_against_oracle(uint64_t seed, int cases, void (*draw)(struct rng *r, struct random_case *c))
{
    static struct random_case c;
    struct rng r;
    size_t n = strategy_count();

    rng_init(&r, seed);
    for (int k = 0; k < cases; k++) {
        draw(&r, &c);
        check_against_oracle(k, &c, strategies[(size_t)k % n]);
    }
}

static void draw_any(struct rng *r, struct random_case *c)
{
    random_case_draw(r, 4, 8, c);
}

static void place__random_cases__equals_oracle(void **state)
{
    check_many_against_oracle(SEED, CASES, draw_any);
}

static void draw_cut(struct rng *r, struct random_case *c)
{
    random_case_draw(r, 4, 6, c);
    random_case_cut(r, c);
}

static void place__gpus_cut_into_instances__equals_oracle(void **state)
{
    check_many_against_oracle(SEED + 5, CASES / 2, draw_cut);
}

/* More containers than a search without pruning could bear: twins, sidecars, many phases. */
static void draw_many_containers(struct rng *r, struct random_case *c)
{
    random_case_draw(r, RANDOM_GPU_REQUESTS_MAX, 4, c);
}

static void place__many_containers__equals_oracle(void **state)
{
    check_many_against_oracle(SEED + 1, CASES / 4, draw_many_containers);
}

/* Devices filled to the last milli by containers cut to measure, one of them at times a little too
 * large: here the search must turn back often, and every wrong "just like the other" shows. */
static void draw_tight(struct rng *r, struct random_case *c)
{
    size_t device_n = 2 + rng_below(r, 2), n = 0;

    memset(c, 0, sizeof(*c));
    for (size_t i = 0; i < device_n; i++) {
        bool equal = i > 0 && rng_below(r, 2) == 0;
        int32_t left = equal ? c->devices[i - 1].milli_free : 600 + 50 * (int32_t)rng_below(r, 8);
        size_t parts = 1 + rng_below(r, 3);

        c->devices[i] = (struct device_state){.milli_free = left,
                                              .milli_cap = 1000,
                                              .slot_free = 8,
                                              .slot_cap = 16,
                                              .flags = DEVICE_HEALTHY | DEVICE_IN_USE};
        for (size_t k = 0; k < parts && n < RANDOM_GPU_REQUESTS_MAX; k++) {
            int32_t part = k + 1 == parts ? left : 50 + 50 * (int32_t)rng_below(r, 6);

            part = part < left ? part : left;
            left -= part;
            if (part > 0) {
                c->gpu_requests[n++] =
                    (struct gpu_request){.kind = GPU_REQUEST_MILLI, .milli = part, .count = 1, .phases = 1};
            }
        }
    }
    if (rng_below(r, 3) == 0) {
        c->gpu_requests[rng_below(r, n)].milli += 50;
    }
    c->node = (struct node_state){.device_n = (uint16_t)device_n, .flags = NODE_DESCRIBED};
    c->demand = (struct demand){.gpu_request_n = n, .gpu_requests = c->gpu_requests};
}

static void place__tight_sums__equals_oracle(void **state)
{
    check_many_against_oracle(SEED + 4, CASES / 4, draw_tight);
}

static void charge__random_placements__equals_sums(void **state)
{
    static struct random_case c;
    struct rng r;

    rng_init(&r, SEED + 2);
    for (int k = 0; k < 5000; k++) {
        struct placement p;

        random_case_draw(&r, RANDOM_GPU_REQUESTS_MAX, 4, &c);
        if (place(&c, strategies[0], &p) != VERDICT_FITS) {
            continue;
        }
        for (size_t i = 0; i < c.node.device_n; i++) {
            struct charge got = placement_charge(&c.demand, &p, c.devices, i);
            struct charge want = {0};

            for (unsigned phase = 0; phase < DEMAND_PHASES_MAX; phase++) {
                struct charge sum = {0};

                for (size_t w = 0; w < c.demand.gpu_request_n; w++) {
                    struct charge one = device_charge(&c.devices[i], NULL, &c.gpu_requests[w]);

                    if ((p.gpu_request_devices[w] >> i & 1) != 0 && (c.gpu_requests[w].phases >> phase & 1) != 0) {
                        sum.milli += one.milli;
                        sum.mem_mib += one.mem_mib;
                        sum.slots++;
                        want.exclusive = want.exclusive || one.exclusive;
                    }
                }
                want.milli = sum.milli > want.milli ? sum.milli : want.milli;
                want.mem_mib = sum.mem_mib > want.mem_mib ? sum.mem_mib : want.mem_mib;
                want.slots = sum.slots > want.slots ? sum.slots : want.slots;
            }
            if (got.milli != want.milli || got.mem_mib != want.mem_mib || got.slots != want.slots ||
                got.exclusive != want.exclusive) {
                FAIL_CASE(k, &c, "charge of device %zu", i);
            }
        }
    }
}

/* ---- named cases ---- */

/* 16000 MiB, 1000 milli and 16 slots, of which so much is free. */
#define DEVICE(milli, mem, more_flags)                                                                                 \
    {                                                                                                                  \
        .mem_free_mib = (mem), .mem_cap_mib = 16000, .mem_base_mib = 16000, .milli_free = (milli), .milli_cap = 1000,  \
        .slot_free = 16, .slot_cap = 16, .flags = DEVICE_HEALTHY | (more_flags)                                        \
    }
#define EMPTY_DEVICE DEVICE(1000, 16000, 0)
#define MEMORY_UNKNOWN_DEVICE                                                                                          \
    {                                                                                                                  \
        .milli_free = 1000, .milli_cap = 1000, .slot_free = 16, .slot_cap = 16, .flags = DEVICE_HEALTHY                \
    }
#define SHARE(m) .kind = GPU_REQUEST_MILLI, .milli = (m), .count = 1
#define WHOLE(n) .kind = GPU_REQUEST_WHOLE, .count = (n)
#define BOTH(m, b) .kind = GPU_REQUEST_BOTH, .milli = (m), .mem_mib = (b), .count = 1

struct named_case {
    const char *name;
    size_t device_n;
    struct device_state devices[4];
    size_t gpu_request_n;
    struct gpu_request gpu_requests[4];
    enum verdict want;
    uint64_t placed[4]; /* under tight-fit, when it fits */
};

static const struct named_case named_cases[] = {
    {"one share", 1, {EMPTY_DEVICE}, 1, {{SHARE(300), .phases = 1}}, VERDICT_FITS, {1}},
    {"nothing asked", 1, {EMPTY_DEVICE}, 0, {{.count = 0}}, VERDICT_FITS, {0}},
    {"no devices", 0, {EMPTY_DEVICE}, 1, {{SHARE(1), .phases = 1}}, VERDICT_NO_GPU, {0}},
    {"a device of another system", /* issue item 15 */
     1,
     {DEVICE(1000, 16000, DEVICE_HEALTHY | DEVICE_ELSEWHERE)},
     1,
     {{SHARE(1), .phases = 1}},
     VERDICT_ELSEWHERE,
     {0}},
    {"only a lost device", 1, {DEVICE(1000, 16000, DEVICE_LOST)}, 1, {{SHARE(1), .phases = 1}}, VERDICT_NO_GPU, {0}},
    {"two containers share",
     1,
     {EMPTY_DEVICE},
     2,
     {{SHARE(500), .phases = 1}, {SHARE(500), .phases = 1}},
     VERDICT_FITS,
     {1, 1}},
    {"two containers, one milli too much",
     1,
     {EMPTY_DEVICE},
     2,
     {{SHARE(500), .phases = 1}, {SHARE(501), .phases = 1}},
     VERDICT_NO_COMBINATION,
     {0}},
    {"init and app reuse a whole device",
     1,
     {EMPTY_DEVICE},
     2,
     {{WHOLE(1), .phases = 2}, {WHOLE(1), .phases = 1}},
     VERDICT_FITS,
     {1, 1}},
    {"a sidecar keeps the app off its whole device",
     1,
     {EMPTY_DEVICE},
     2,
     {{WHOLE(1), .phases = 3}, {SHARE(1), .phases = 1}},
     VERDICT_TOO_FEW_GPUS,
     {0}},
    {"a sidecar leaves the init container before it alone",
     2,
     {EMPTY_DEVICE, EMPTY_DEVICE},
     3,
     {{WHOLE(2), .phases = 2}, {WHOLE(1), .phases = 5}, {WHOLE(1), .phases = 4}},
     VERDICT_FITS,
     {3, 2, 1}},
    {"whole and share need a device each",
     1,
     {EMPTY_DEVICE},
     2,
     {{WHOLE(1), .phases = 1}, {SHARE(1), .phases = 1}},
     VERDICT_TOO_FEW_GPUS,
     {0}},
    {"whole has no company, not even of one that takes nothing",
     1,
     {EMPTY_DEVICE},
     2,
     {{WHOLE(1), .phases = 1}, {BOTH(0, 0), .phases = 1}},
     VERDICT_TOO_FEW_GPUS,
     {0}},
    {"whole wants nobody on it",
     1,
     {DEVICE(1000, 16000, DEVICE_IN_USE)},
     1,
     {{WHOLE(1), .phases = 1}},
     VERDICT_NOT_EMPTY,
     {0}},
    {"memory unknown does not stop a share",
     1,
     {MEMORY_UNKNOWN_DEVICE},
     1,
     {{SHARE(500), .phases = 1}},
     VERDICT_FITS,
     {1}},
    {"memory unknown stops a request for memory",
     1,
     {MEMORY_UNKNOWN_DEVICE},
     1,
     {{BOTH(500, 1), .phases = 1}},
     VERDICT_MEMORY_UNKNOWN,
     {0}},
    {"larger than any device", 1, {EMPTY_DEVICE}, 1, {{BOTH(1, 16001), .phases = 1}}, VERDICT_GPU_TOO_SMALL, {0}},
    {"compute here, memory there",
     2,
     {DEVICE(100, 16000, DEVICE_IN_USE), DEVICE(1000, 100, DEVICE_IN_USE)},
     1,
     {{BOTH(500, 8000), .phases = 1}},
     VERDICT_FRAGMENTED,
     {0}},
    {"facts before what may change: too small for one, full for the other",
     1,
     {DEVICE(0, 16000, DEVICE_IN_USE)},
     2,
     {{SHARE(900), .phases = 1}, {BOTH(1, 20000), .phases = 1}},
     VERDICT_GPU_TOO_SMALL,
     {0}},
    {"isolation speaks only of devices with room",
     2,
     {DEVICE(0, 16000, DEVICE_IN_USE | DEVICE_ISOLATED), DEVICE(0, 16000, DEVICE_IN_USE)},
     1,
     {{SHARE(100), .phases = 1}},
     VERDICT_NO_COMPUTE,
     {0}},
    {"below zero is closed",
     1,
     {DEVICE(1000, -1, DEVICE_IN_USE)},
     1,
     {{BOTH(1, 0), .phases = 1}},
     VERDICT_OVERCOMMITTED,
     {0}},
    {"the search turns back: the obvious device for the first is the only one for the second",
     2,
     {DEVICE(400, 8000, DEVICE_IN_USE), DEVICE(900, 2000, DEVICE_IN_USE)},
     2,
     {{BOTH(300, 1000), .phases = 1}, {BOTH(200, 5000), .phases = 1}},
     VERDICT_FITS,
     {2, 1}},
};

static void place__named_cases__as_expected(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(named_cases); i++) {
        const struct named_case *row = &named_cases[i];
        struct node_state node = {.device_n = (uint16_t)row->device_n, .flags = NODE_DESCRIBED};
        struct demand d = {.gpu_request_n = row->gpu_request_n, .gpu_requests = row->gpu_requests};
        struct placement p;
        enum verdict v = feasibility_place(&node, row->devices, NULL, &d, strategy_find(STR("tight-fit")), &p);

        if (v != row->want) {
            fail_msg("%s: %s, not %s", row->name, verdict_name(v), verdict_name(row->want));
        }
        for (size_t w = 0; v == VERDICT_FITS && w < row->gpu_request_n; w++) {
            if (p.gpu_request_devices[w] != row->placed[w]) {
                fail_msg("%s: gpu_request %zu on %#lx", row->name, w, (unsigned long)p.gpu_request_devices[w]);
            }
        }
    }
}

struct node_case {
    const char *name;
    struct node_state node;
    struct demand demand;
    enum verdict want;
};

static const struct gpu_request one_share = {SHARE(100), .phases = 1};

#define DESCRIBED .flags = NODE_DESCRIBED, .device_n = 1
#define PLUGIN(cap, used) DESCRIBED, .plugin_managed_cap = (cap), .plugin_managed_used = (used)
#define ONE_SHARE .gpu_request_n = 1, .gpu_requests = &one_share

static const struct device_pattern only_a100 = {.text = {"A100", 4}};
static const struct device_pattern no_t4 = {.text = {"T4", 2}, .exclude = true};

static const struct node_case node_cases[] = {
    {"not seen yet", {.device_n = 1}, {ONE_SHARE}, VERDICT_NODE_UNKNOWN},
    {"not seen yet, whole", {.plugin_managed_cap = 8}, {.plugin_managed_n = 1}, VERDICT_NODE_UNKNOWN},
    {"closed, and room", {.flags = NODE_DESCRIBED | NODE_CLOSED, .device_n = 1}, {ONE_SHARE}, VERDICT_CLOSED},
    {"closed, whole",
     {.flags = NODE_DESCRIBED | NODE_CLOSED, .plugin_managed_cap = 8},
     {.plugin_managed_n = 1},
     VERDICT_CLOSED},
    {"share, no devices but those of a plugin", /* issue item 15 */
     {.flags = NODE_DESCRIBED, .plugin_managed_cap = 10},
     {ONE_SHARE},
     VERDICT_UNMEASURED},
    {"share, plugin idle", {PLUGIN(8, 0)}, {ONE_SHARE}, VERDICT_FITS},
    {"share, plugin in use", {PLUGIN(8, 1)}, {ONE_SHARE}, VERDICT_WHOLE_PODS_HERE},
    {"whole, no plugin", {PLUGIN(0, 0)}, {.plugin_managed_n = 1}, VERDICT_NO_PLUGIN},
    {"whole, more than the node has", {PLUGIN(8, 0)}, {.plugin_managed_n = 9}, VERDICT_TOO_FEW_GPUS},
    {"whole, fits", {PLUGIN(8, 6)}, {.plugin_managed_n = 2}, VERDICT_FITS},
    {"whole, taken", {PLUGIN(8, 7)}, {.plugin_managed_n = 2}, VERDICT_PLUGIN_FULL},
    {"whole, more taken than there are", {PLUGIN(8, 9)}, {.plugin_managed_n = 1}, VERDICT_PLUGIN_FULL},
    {"replicas, another name",
     {PLUGIN(8, 0), .plugin_managed_names = 2},
     {.plugin_managed_n = 1, .plugin_managed_names = 1},
     VERDICT_NO_PLUGIN},
    {"replicas, one of two names",
     {PLUGIN(8, 0), .plugin_managed_names = 3},
     {.plugin_managed_n = 1, .plugin_managed_names = 2},
     VERDICT_FITS},
    {"replicas, two to a container",
     {PLUGIN(8, 0), .plugin_managed_per_gpu = 4},
     {.plugin_managed_n = 3, .plugin_managed_most = 2},
     VERDICT_FITS},
    {"replicas of MPS, two to a container",
     {.flags = NODE_DESCRIBED | NODE_ONE_UNIT, .device_n = 1, .plugin_managed_cap = 8, .plugin_managed_per_gpu = 4},
     {.plugin_managed_n = 3, .plugin_managed_most = 2},
     VERDICT_ONE_UNIT},
    {"replicas of MPS, one to each of two containers",
     {.flags = NODE_DESCRIBED | NODE_ONE_UNIT, .device_n = 1, .plugin_managed_cap = 8, .plugin_managed_per_gpu = 4},
     {.plugin_managed_n = 2, .plugin_managed_most = 1},
     VERDICT_FITS},
    {"whole, shares run", {PLUGIN(8, 0), .share_pod_n = 1}, {.plugin_managed_n = 1}, VERDICT_SHARES_HERE},
    {"whole, devices not listed",
     {.flags = NODE_DESCRIBED, .plugin_managed_cap = 8},
     {.plugin_managed_n = 1},
     VERDICT_FITS},
    {"whole of a model nobody names",
     {.flags = NODE_DESCRIBED, .plugin_managed_cap = 8},
     {.plugin_managed_n = 1, .model_n = 1, .models = &only_a100},
     VERDICT_NOT_ALLOWED},
    {"whole, but not of a model nobody names",
     {.flags = NODE_DESCRIBED, .plugin_managed_cap = 8},
     {.plugin_managed_n = 1, .model_n = 1, .models = &no_t4},
     VERDICT_FITS},
};

static void place__node_rules__as_expected(void **state)
{
    static const struct device_state device = EMPTY_DEVICE;

    for (size_t i = 0; i < ARRAY_LEN(node_cases); i++) {
        const struct node_case *row = &node_cases[i];
        struct placement p;
        enum verdict v = feasibility_place(&row->node, &device, NULL, &row->demand, strategies[0], &p);

        if (v != row->want) {
            fail_msg("%s: %s, not %s", row->name, verdict_name(v), verdict_name(row->want));
        }
    }
}

/* kubelet picks any GPU of the node, so every one must be allowed. */
static void place__whole_with_constraint__every_device_must_be_allowed(void **state)
{
    struct device_state devices[2] = {EMPTY_DEVICE, EMPTY_DEVICE};
    struct node_state node = {.flags = NODE_DESCRIBED, .device_n = 2, .plugin_managed_cap = 2};
    struct demand d = {.plugin_managed_n = 1, .model_n = 1, .models = &only_a100};
    const uint8_t one[] = {1, 0}, both[] = {1, 1};
    struct placement p;

    devices[1].model_id = 1;
    assert_int_equal(feasibility_place(&node, devices, one, &d, strategies[0], &p), VERDICT_NOT_ALLOWED);
    assert_int_equal(feasibility_place(&node, devices, both, &d, strategies[0], &p), VERDICT_FITS);
    devices[0].flags |= DEVICE_DENIED;
    assert_int_equal(feasibility_place(&node, devices, both, &d, strategies[0], &p), VERDICT_NOT_ALLOWED);
    devices[0].flags |= DEVICE_LOST;
    assert_int_equal(feasibility_place(&node, devices, both, &d, strategies[0], &p), VERDICT_FITS);
}

/* ---- size ---- */

/* The largest demand on the largest node: one of each kind of GPU request per phase, devices all
 * different. */
static void place__largest_demand__ends(void **state)
{
    static struct device_state devices[DEVICES_PER_NODE_MAX];
    static struct gpu_request gpu_requests[DEMAND_GPU_REQUESTS_MAX];
    struct node_state node = {.flags = NODE_DESCRIBED, .device_n = DEVICES_PER_NODE_MAX};
    struct demand d = {.gpu_request_n = DEMAND_GPU_REQUESTS_MAX, .gpu_requests = gpu_requests};
    struct placement p;
    enum verdict v;

    for (int i = 0; i < DEVICES_PER_NODE_MAX; i++) {
        devices[i] = (struct device_state)EMPTY_DEVICE;
        devices[i].milli_free = 1000 - i;
        devices[i].mem_cap_mib = devices[i].mem_base_mib = devices[i].mem_free_mib = 16000 + i;
        gpu_requests[i] = (struct gpu_request){.kind = GPU_REQUEST_MILLI,
                                               .milli = 900 - i,
                                               .count = 1,
                                               .phases = i == 0 ? UINT64_MAX >> 1 : UINT64_C(1) << (i - 1)};
    }
    v = feasibility_place(&node, devices, NULL, &d, strategies[0], &p);
    assert_int_equal(v, VERDICT_FITS);
    assert_null(oracle_objection(devices, DEVICES_PER_NODE_MAX, NULL, &d, d.gpu_request_n, &p));

    for (int i = 0; i < DEMAND_GPU_REQUESTS_MAX; i++) { /* together on half of the devices each */
        gpu_requests[i].phases = 1;
        gpu_requests[i].count = 32;
        gpu_requests[i].milli = 90 + i;
    }
    v = feasibility_place(&node, devices, NULL, &d, strategies[0], &p);
    assert_true(v == VERDICT_NO_COMBINATION || v == VERDICT_SEARCH_LIMIT);
}

/* Weights that fill three bins exactly, or miss by one: the search may give up, and must not lie.
 */
static void place__hard_packing__gives_up_rather_than_lie(void **state)
{
    struct device_state devices[8];
    struct gpu_request gpu_requests[24];
    struct node_state node = {.flags = NODE_DESCRIBED, .device_n = 8};
    struct demand d = {.gpu_request_n = 24, .gpu_requests = gpu_requests};
    struct placement p;
    int32_t sum = 0;

    for (int i = 0; i < 8; i++) {
        devices[i] = (struct device_state)MEMORY_UNKNOWN_DEVICE;
    }
    for (int i = 0; i < 24; i++) {
        gpu_requests[i] = (struct gpu_request){SHARE(260 + (i * 37) % 147), .phases = 1};
        sum += gpu_requests[i].milli;
    }
    assert_in_range(sum, 7500, 8000); /* by sums alone it would fit */
    if (feasibility_place(&node, devices, NULL, &d, strategies[0], &p) == VERDICT_FITS) {
        assert_null(oracle_objection(devices, 8, NULL, &d, d.gpu_request_n, &p));
    } else {
        assert_int_equal(feasibility_place(&node, devices, NULL, &d, strategies[0], &p), VERDICT_SEARCH_LIMIT);
    }
}

/* Twins: nine containers of which each device holds one can never be on eight, and that is seen at
 * once. */
static void place__more_twins_than_room__is_no_combination(void **state)
{
    struct device_state devices[8];
    struct gpu_request gpu_requests[9];
    struct node_state node = {.flags = NODE_DESCRIBED, .device_n = 8};
    struct demand d = {.gpu_request_n = 9, .gpu_requests = gpu_requests};
    struct placement p;

    for (int i = 0; i < 8; i++) {
        devices[i] = (struct device_state)DEVICE(900 - i, 16000, 0);
    }
    for (int i = 0; i < 9; i++) {
        gpu_requests[i] = (struct gpu_request){SHARE(460), .phases = 1};
    }
    assert_int_equal(feasibility_place(&node, devices, NULL, &d, strategies[0], &p), VERDICT_NO_COMBINATION);
    d.gpu_request_n = 8;
    assert_int_equal(feasibility_place(&node, devices, NULL, &d, strategies[0], &p), VERDICT_FITS);
}

/* 64 GPUs that are alike: of the ways to give some of them to a pod one is tried. Were they told apart, these would be
 * more than there are steps. */
static void place__many_gpus_that_are_alike__one_set_is_tried(void **state)
{
    static struct device_state devices[DEVICES_PER_NODE_MAX];
    struct gpu_request gpu_requests[2] = {{SHARE(600), .phases = 1}, {SHARE(600), .phases = 1}};
    struct node_state node = {.flags = NODE_DESCRIBED, .device_n = DEVICES_PER_NODE_MAX};
    struct demand d = {.gpu_request_n = 2, .gpu_requests = gpu_requests};
    struct placement p;

    for (int i = 0; i < DEVICES_PER_NODE_MAX; i++) {
        devices[i] = (struct device_state)EMPTY_DEVICE;
    }
    gpu_requests[0].count = gpu_requests[1].count = DEVICES_PER_NODE_MAX / 2;
    assert_int_equal(feasibility_place(&node, devices, NULL, &d, strategies[0], &p), VERDICT_FITS);
    assert_null(oracle_objection(devices, DEVICES_PER_NODE_MAX, NULL, &d, 2, &p));
    gpu_requests[1].count++;
    assert_int_equal(feasibility_place(&node, devices, NULL, &d, strategies[0], &p), VERDICT_NO_COMBINATION);
    for (int i = 0; i < DEVICES_PER_NODE_MAX; i++) { /* alike in pairs, of which the second cannot have both */
        devices[i].mem_free_mib -= i / 2;
        gpu_requests[0].count = gpu_requests[1].count = DEVICES_PER_NODE_MAX - 1;
    }
    assert_int_equal(feasibility_place(&node, devices, NULL, &d, strategies[0], &p), VERDICT_NO_COMBINATION);
}

/* Of devices that cost the same the first ones, also when a cheaper one is found behind them. */
static void place__devices_of_equal_cost__the_first_ones(void **state)
{
    static const uint64_t want[] = {1 << 3, 1 << 3 | 1 << 0, 1 << 3 | 1 << 0 | 1 << 1};
    struct device_state devices[5];
    struct gpu_request w = {SHARE(300), .phases = 1};
    const struct node_state node = {.flags = NODE_DESCRIBED, .device_n = 5};
    const struct demand d = {.gpu_request_n = 1, .gpu_requests = &w};
    struct placement p;

    for (int i = 0; i < 5; i++) {
        devices[i] = (struct device_state)EMPTY_DEVICE;
    }
    devices[3].milli_free = 500;
    devices[3].flags |= DEVICE_IN_USE;
    for (uint16_t n = 1; n <= 3; n++) {
        w.count = n;
        assert_int_equal(feasibility_place(&node, devices, NULL, &d, strategy_find(STR("tight-fit")), &p),
                         VERDICT_FITS);
        assert_int_equal(p.gpu_request_devices[0], want[n - 1]);
    }
}

/* ---- charges ---- */

static void pessimistic__all_containers_of_the_worst_phase(void **state)
{
    const struct device_state device = EMPTY_DEVICE;
    const struct gpu_request gpu_requests[] = {
        {BOTH(300, 1000), .phases = 1}, {BOTH(200, 4000), .phases = 3}, {BOTH(600, 500), .phases = 2}};
    struct demand d = {.gpu_request_n = 3, .gpu_requests = gpu_requests};
    struct charge c = demand_pessimistic_charge(&d, &device);

    assert_int_equal(c.milli, 800);
    assert_int_equal(c.mem_mib, 5000);
    assert_int_equal(c.slots, 2);
    assert_false(c.exclusive);
}

static void pessimistic__defect_or_whole__takes_the_device(void **state)
{
    const struct device_state device = EMPTY_DEVICE;
    const struct gpu_request gpu_requests[] = {{BOTH(300, 1000), .phases = 1}, {WHOLE(1), .phases = 1}};
    const struct demand demands[] = {{.defect = DEMAND_COUNT}, {.gpu_request_n = 2, .gpu_requests = gpu_requests}};

    for (size_t i = 0; i < ARRAY_LEN(demands); i++) {
        struct charge c = demand_pessimistic_charge(&demands[i], &device);

        assert_int_equal(c.milli, 1000);
        assert_int_equal(c.mem_mib, 16000);
        assert_true(c.exclusive);
    }
}

static void charge__device_not_in_placement__is_nothing(void **state)
{
    const struct device_state devices[2] = {EMPTY_DEVICE, EMPTY_DEVICE};
    const struct demand d = {ONE_SHARE};
    const struct placement p = {{2}};
    struct charge c = placement_charge(&d, &p, devices, 0);

    assert_int_equal(c.milli, 0);
    assert_int_equal(c.slots, 0);
    assert_int_equal(placement_charge(&d, &p, devices, 1).milli, 100);
}

static void charge__absurd_amounts__stop_at_the_largest(void **state)
{
    const struct device_state device = EMPTY_DEVICE;
    const struct gpu_request gpu_requests[] = {{BOTH(INT32_MAX, INT64_MAX), .phases = 1},
                                               {BOTH(INT32_MAX, INT64_MAX), .phases = 1}};
    struct demand d = {.gpu_request_n = 2, .gpu_requests = gpu_requests};
    struct charge c = demand_pessimistic_charge(&d, &device);

    assert_int_equal(c.milli, INT32_MAX);
    assert_true(c.mem_mib == INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(place__random_cases__equals_oracle),
        cmocka_unit_test(place__gpus_cut_into_instances__equals_oracle),
        cmocka_unit_test(place__devices_of_equal_cost__the_first_ones),
        cmocka_unit_test(place__many_containers__equals_oracle),
        cmocka_unit_test(place__tight_sums__equals_oracle),
        cmocka_unit_test(charge__random_placements__equals_sums),
        cmocka_unit_test(place__named_cases__as_expected),
        cmocka_unit_test(place__node_rules__as_expected),
        cmocka_unit_test(place__whole_with_constraint__every_device_must_be_allowed),
        cmocka_unit_test(place__largest_demand__ends),
        cmocka_unit_test(place__hard_packing__gives_up_rather_than_lie),
        cmocka_unit_test(place__more_twins_than_room__is_no_combination),
        cmocka_unit_test(place__many_gpus_that_are_alike__one_set_is_tried),
        cmocka_unit_test(pessimistic__all_containers_of_the_worst_phase),
        cmocka_unit_test(pessimistic__defect_or_whole__takes_the_device),
        cmocka_unit_test(charge__device_not_in_placement__is_nothing),
        cmocka_unit_test(charge__absurd_amounts__stop_at_the_largest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
