/* Which fixed slice of which node: the smallest that is large enough, whatever the strategy. */
#include "core/fit/slack.h"

#include "base/compiler.h"
#include "core/ledger/view.h"
#include "core/placement/pack.h"
#include "core/support/tested_ledger.h"
#include "model/mig.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

enum what { SLICE, INSTANCE, COUNTED, GPU };

/* `n` devices of mem_mib, all alike. */
static void node(const char *name, enum what what, int n, int64_t mem_mib)
{
    struct device devices[DEVICES_PER_NODE_MAX];
    char uuids[DEVICES_PER_NODE_MAX][32];
    const struct inventory inventory = {.source = INVENTORY_ANNOTATION, .devices = devices, .device_n = (size_t)n};
    const struct ledger_op op = fixture_description(name, &inventory);

    for (int i = 0; i < n; i++) {
        snprintf(uuids[i], sizeof(uuids[i]), "%s-%d", name, i);
        devices[i] = (struct device){
            .uuid = str_of(uuids[i]),
            .index = what == INSTANCE  ? DEVICE_INSTANCE_INDEX(i, 0)
                     : what == COUNTED ? DEVICE_ANONYMOUS_INDEX(i)
                                       : i,
            .minor = -1,
            .mem_mib = mem_mib,
            .slot_n = what == GPU ? 16 : 1,
            .numa = -1,
            .healthy = true,
            .slice = what == SLICE,
            .profile = what == INSTANCE || what == COUNTED ? MIG_PROFILE(1, 5) : 0,
            .gpu_index = what == INSTANCE ? i : -1,
            .start = what == INSTANCE ? 0 : -1,
            .counted = what == COUNTED,
        };
    }
    fixture_apply(&fx, &op);
}

#define NODES_MAX 8

/* Names of those that fit, best first, "a b c". */
static const char *ranked(const struct demand *d, const char *strategy)
{
    static char text[256];
    struct ledger_view v;
    struct pack_result results[NODES_MAX];
    struct pack_key keys[NODES_MAX];
    size_t fit, n = 0;

    assert_int_equal(ledger_view(fx.l, &fx.arena, VIEW_POD("asks", d), &v, NULL), 0);
    assert_in_range(v.node_n, 1, NODES_MAX);
    fixture_pack(&v, fixture_params(strategy), NULL, 0, v.names, v.node_n, results);
    fit = pack_rank(results, v.node_n, 0, keys);
    text[0] = '\0';
    for (size_t i = 0; i < fit; i++) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.*s", i > 0 ? " " : "", STR_ARG(results[i].name));
    }
    return text;
}

static void expect_under_all(const struct demand *d, const char *want)
{
    for (size_t i = 0; strategies[i] != NULL; i++) {
        const char *got = ranked(d, strategies[i]->name);

        if (strcmp(got, want) != 0) {
            fail_msg("%s: %s, expected %s", strategies[i]->name, got, want);
        }
    }
}

static void take(const char *uid, const struct demand *d, const char *at)
{
    assert_int_equal(fixture_pod(&fx, uid, d, NULL, NULL), 0);
    assert_int_equal(fixture_reserve(&fx, uid, at), 0);
}

static void memory_alone__slices_of_three_sizes__the_smallest_that_fits_under_every_strategy(void **state)
{
    struct gpu_request w;
    struct demand d = fixture_memory(&w, 6144);

    node("s16", SLICE, 1, 16384);
    node("s4", SLICE, 2, 4096);
    node("s8", SLICE, 1, 8192);
    expect_under_all(&d, "s8 s16");
    take("a", &d, "s8");
    expect_under_all(&d, "s16");
    d = fixture_memory(&w, 4096);
    expect_under_all(&d, "s4 s16");
    d = fixture_memory(&w, 16385);
    expect_under_all(&d, "");
}

static void memory_alone__instances_and_gpus__smallest_instance_then_shares(void **state)
{
    struct gpu_request w;
    struct demand d = fixture_memory(&w, 4096);

    node("gpu", GPU, 2, 81920);
    node("large", INSTANCE, 3, 19968);
    node("small", INSTANCE, 1, 4864);
    node("counted", COUNTED, 2, 4864); /* by memory nobody gets one of these */
    expect_under_all(&d, "small large gpu");
    take("a", &d, "small");
    expect_under_all(&d, "large gpu");
    w.kind = GPU_REQUEST_BOTH; /* memoryOnly: free */
    expect_under_all(&d, "large gpu");
}

static void compute_too__shares_first_then_the_smallest_slice(void **state)
{
    struct gpu_request w;
    struct demand d = fixture_both(&w, 300, 6144);

    node("s16", SLICE, 1, 16384);
    node("s8", SLICE, 1, 8192);
    node("gpu", GPU, 2, 81920);
    expect_under_all(&d, "gpu s8 s16");
    d = fixture_share(&w, 300);
    expect_under_all(&d, "gpu s8 s16");
}

static void several_slices__the_node_with_the_least_slack_in_all(void **state)
{
    struct gpu_request w;
    struct demand d = fixture_memory(&w, 3000);

    w.count = 2;
    node("s8", SLICE, 2, 8192);
    node("s4", SLICE, 2, 4096);
    expect_under_all(&d, "s4 s8");
    w.count = 1;
    take("a", &d, "s4");
    w.count = 2;
    expect_under_all(&d, "s8");
}

static void slices_of_one_size__the_strategy_decides(void **state)
{
    struct demand d = MEMORY_OF(6144), taken = MEMORY_OF(6144);

    node("a", SLICE, 2, 8192);
    node("b", SLICE, 2, 8192);
    take("x", &taken, "b");
    assert_string_equal(ranked(&d, "binpack"), "b a");
    assert_string_equal(ranked(&d, "spread"), "a b");
}

static void slice__taken_by_any_gpu_request__is_taken_whole_and_knows_no_factors(void **state)
{
    struct gpu_request w;
    const struct demand d = fixture_memory(&w, 1);
    const struct snapshot_node *n;

    node("s", SLICE, 2, 8192);
    take("a", &d, "s");
    w = (struct gpu_request){.container = STR("main"), .count = 1, .kind = GPU_REQUEST_MILLI, .milli = 10, .phases = 1};
    take("b", &d, "s");
    n = fixture_state(&fx, "s");
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(n->devices[i].milli_charged, 1000);
        assert_int_equal(n->devices[i].mem_charged_mib, 8192);
        assert_int_equal(n->devices[i].slot_charged, 1);
        assert_true(n->devices[i].slice);
    }
    assert_int_equal(n->devices[0].allocations[0].asked_mem_mib, 1);
    assert_int_equal(n->devices[1].allocations[0].asked_milli, 10);
}

static void slack__rounded_up_to_steps_and_bounded(void **state)
{
    struct gpu_request w = {.kind = GPU_REQUEST_MEMORY, .mem_mib = 1, .count = 1, .phases = 1};
    const struct demand d = {.gpu_requests = &w, .gpu_request_n = 1};
    const struct node_state n = {.device_n = 1, .flags = NODE_SLICED};
    static const struct {
        int32_t mem_mib;
        uint16_t want;
    } rows[] = {{1, 0}, {2, 1}, {65, 1}, {66, 2}, {INT32_MAX, SLACK_MAX - 1}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct device_state s = {.mem_cap_mib = rows[i].mem_mib,
                                       .mem_base_mib = rows[i].mem_mib,
                                       .mem_free_mib = rows[i].mem_mib,
                                       .milli_cap = 1000,
                                       .milli_free = 1000,
                                       .slot_cap = 1,
                                       .slot_free = 1,
                                       .flags = DEVICE_HEALTHY | DEVICE_SLICE};

        assert_int_equal(slack_on(&n, &s, NULL, &d), rows[i].want);
    }
}

/* Of those that may be taken the two smallest, in whatever order they stand. */
static void slack__of_several_slices__the_smallest_of_allowed_models(void **state)
{
    enum { N = 6 };
    static const struct {
        int32_t mem_mib;
        uint16_t model_id;
        uint16_t flags;
    } slices[N] = {{4096, 0, DEVICE_HEALTHY | DEVICE_SLICE},
                   {1024, 1, DEVICE_HEALTHY | DEVICE_SLICE},
                   {2048, 1, DEVICE_HEALTHY | DEVICE_SLICE},
                   {512, 0, DEVICE_HEALTHY | DEVICE_SLICE},
                   {300, 0, DEVICE_HEALTHY},
                   {300, 1, DEVICE_SLICE}}; /* no slice; and an ill one */
    static const struct {
        uint8_t allowed[2];
        uint16_t want; /* in steps of 64 MiB */
    } rows[] = {
        {{1, 1}, (256 + 768) / 64}, {{0, 1}, (768 + 1792) / 64}, {{1, 0}, (256 + 3840) / 64}, {{0, 0}, SLACK_MAX}};
    struct gpu_request w = {.kind = GPU_REQUEST_MEMORY, .mem_mib = 256, .count = 2, .phases = 1};
    const struct demand d = {.gpu_requests = &w, .gpu_request_n = 1};
    const struct node_state n = {.device_n = N, .flags = NODE_SLICED};

    for (size_t turn = 0; turn < N; turn++) {
        struct device_state devices[N];

        for (size_t i = 0; i < N; i++) {
            const size_t from = (i + turn) % N;

            devices[i] = (struct device_state){.mem_cap_mib = slices[from].mem_mib,
                                               .mem_base_mib = slices[from].mem_mib,
                                               .mem_free_mib = slices[from].mem_mib,
                                               .model_id = slices[from].model_id,
                                               .milli_cap = 1000,
                                               .milli_free = 1000,
                                               .slot_cap = 1,
                                               .slot_free = 1,
                                               .flags = slices[from].flags};
        }
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            assert_int_equal(slack_on(&n, devices, rows[i].allowed, &d), rows[i].want);
        }
        assert_int_equal(slack_on(&n, devices, NULL, &d), rows[0].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EMPTY_LEDGER_TEST(memory_alone__slices_of_three_sizes__the_smallest_that_fits_under_every_strategy),
        EMPTY_LEDGER_TEST(memory_alone__instances_and_gpus__smallest_instance_then_shares),
        EMPTY_LEDGER_TEST(compute_too__shares_first_then_the_smallest_slice),
        EMPTY_LEDGER_TEST(several_slices__the_node_with_the_least_slack_in_all),
        EMPTY_LEDGER_TEST(slices_of_one_size__the_strategy_decides),
        EMPTY_LEDGER_TEST(slice__taken_by_any_gpu_request__is_taken_whole_and_knows_no_factors),
        cmocka_unit_test(slack__of_several_slices__the_smallest_of_allowed_models),
        cmocka_unit_test(slack__rounded_up_to_steps_and_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
