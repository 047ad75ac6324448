/* One container that wants whole GPUs and a part of one more (decision 0028). */
#include "core/dialects/dialect.h"
#include "core/fit/verdict.h"
#include "core/support/tested_ledger.h"
#include "base/compiler.h"
#include "support/cmocka.h"

static int setup(void **state)
{
    fixture_init(&fx);
    fixture_node(&fx, "n", 4, 80 * GIB);
    return 0;
}

/* Two and a half. */
static struct demand two_and_a_half(struct gpu_request gpu_requests[2])
{
    struct demand d = fixture_whole(&gpu_requests[0], 2);
    struct gpu_request rest;

    fixture_share(&rest, 500);
    gpu_requests[1] = rest;
    d.gpu_request_n = 2;
    return d;
}

static void expect_free(const char *node, const int32_t *millis, const int64_t *gibs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(fixture_milli_free(&fx, node, i), millis[i]);
        assert_int_equal(fixture_mem_free(&fx, node, i), gibs[i] * GIB);
    }
}

static void two_and_a_half__empty_node__whole_ones_are_held_alone_and_the_rest_is_shared(void **state)
{
    struct gpu_request gpu_requests[2], w;
    struct demand d = two_and_a_half(gpu_requests), half = fixture_share(&w, 500);
    const int32_t millis[] = {0, 0, 0, 1000};
    const int64_t gibs[] = {0, 0, 0, 80};

    fixture_pod(&fx, "a", &d, NULL, NULL);
    fixture_pod(&fx, "b", &half, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n"), 0);
    assert_int_equal(fixture_reserve(&fx, "b", "n"), 0); /* tight-fit: beside the rest */
    expect_free("n", millis, gibs, 4);
}

static void two_and_a_half__one_gpu_too_few__all_or_nothing(void **state)
{
    struct gpu_request gpu_requests[2], w;
    struct demand d = two_and_a_half(gpu_requests), most = fixture_share(&w, 600);

    fixture_node(&fx, "two", 2, 80 * GIB);
    fixture_node(&fx, "three", 3, 80 * GIB);
    fixture_pod(&fx, "a", &d, NULL, NULL);
    fixture_pod(&fx, "b", &most, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "two"), VERDICT_TOO_FEW_GPUS);
    assert_int_equal(fixture_reserve(&fx, "b", "three"), 0);
    assert_int_equal(fixture_reserve(&fx, "a", "three"), VERDICT_NO_COMBINATION);
    assert_int_equal(fixture_milli_free(&fx, "three", 1), 1000);
    fixture_name_op(&fx, LEDGER_RELEASE, "b");
    assert_int_equal(fixture_reserve(&fx, "a", "three"), 0);
}

static void two_and_a_half__record__is_one_container_and_reads_back_the_same(void **state)
{
    struct gpu_request gpu_requests[2], w;
    struct demand d = two_and_a_half(gpu_requests), little = fixture_share(&w, 300);
    int32_t millis[4];
    struct assignment as, again;
    struct kv_list keys;
    struct arena a;

    arena_init(&a, 1 << 20);
    fixture_pod(&fx, "b", &little, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "b", "n"), 0); /* so that the rest has the lowest index */
    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n"), 0);
    assert_int_equal(ledger_assignment(fx.l, STR("a"), &a, &as, NULL), 0);
    assert_int_equal(as.container_n, 1);
    assert_int_equal(as.containers[0].device_n, 3);
    assert_int_equal(as.containers[0].devices[0].milli, 500);
    assert_int_equal(as.containers[0].devices[0].mem_mib, 40 * GIB);
    assert_int_equal(as.containers[0].devices[1].milli, 1000);
    assert_int_equal(as.containers[0].devices[2].milli, 1000);
    assert_int_equal(dialect_answer(&as, &a, &keys, NULL), 0);
    assert_true(str_eq_cstr(*kv_find(keys, STR("fgpu.io/visible-devices.c0")), "GPU-n-0,GPU-n-1,GPU-n-2"));
    assert_true(str_eq_cstr(*kv_find(keys, STR("fgpu.io/mps-active-thread-percentage.c0")), "50"));
    assert_true(
        str_eq_cstr(*kv_find(keys, STR("fgpu.io/mps-pinned-device-mem-limit.c0")), "0=40960M,1=81920M,2=81920M"));
    for (size_t i = 0; i < 4; i++) {
        millis[i] = fixture_milli_free(&fx, "n", i);
    }
    assert_int_equal(assignment_parse(*kv_find(keys, STR(ASSIGNMENT_KEY)), &a, &again, NULL), 0);
    fixture_name_op(&fx, LEDGER_POD_GONE, "a");
    assert_int_equal(fixture_pod(&fx, "a", &d, "n", &again), 0);
    assert_int_equal(fixture_pod_state(&fx, "a"), LEDGER_BOUND);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(fixture_milli_free(&fx, "n", i), millis[i]);
    }
    arena_fini(&a);
}

/* Which device is the whole one? Nobody knows, so all of them are. */
static void two_and_a_half__record_of_other_amounts__counts_on_every_device(void **state)
{
    struct assigned_device devices[3] = {
        {STR("GPU-n-0"), 0, 1000, 0, 0}, {STR("GPU-n-1"), 1, 500, 0, 0}, {STR("GPU-n-2"), 2, 500, 0, 0}};
    const struct assigned_container c = {.name = STR("main"), .devices = devices, .device_n = 3};
    const struct assignment as = {STR("x"), &c, 1};
    const int32_t millis[] = {0, 0, 0, 0};
    const int64_t gibs[] = {0, 0, 0, 0};
    struct gpu_request gpu_requests[2];
    struct demand d = two_and_a_half(gpu_requests);

    assert_int_equal(fixture_pod(&fx, "a", &d, "n", &as), 0);
    assert_int_equal(fixture_pod_state(&fx, "a"), LEDGER_FOREIGN);
    expect_free("n", millis, gibs, 4);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, ledger_teardown)
    const struct CMUnitTest tests[] = {
        TEST(two_and_a_half__empty_node__whole_ones_are_held_alone_and_the_rest_is_shared),
        TEST(two_and_a_half__one_gpu_too_few__all_or_nothing),
        TEST(two_and_a_half__record__is_one_container_and_reads_back_the_same),
        TEST(two_and_a_half__record_of_other_amounts__counts_on_every_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
