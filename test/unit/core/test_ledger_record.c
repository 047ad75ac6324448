/* Records of pods on several devices: in whatever order they are named, what is charged is charged there and nowhere
 * else; and a device that is named twice proves nothing. */
#include "core/support/tested_ledger.h"
#include "support/cmocka.h"

/* The pod asks for two whole GPUs of "n1" and is seen bound with a record of these two. */
static void bind_on(int first, int second)
{
    static const struct str uuids[] = {STR("GPU-n1-0"), STR("GPU-n1-1")};
    const struct demand d = WHOLE_GPUS(2);
    const struct assigned_device devices[] = {{uuids[first], first, 1000, 80 * GIB, .exclusive = true},
                                              {uuids[second], second, 1000, 80 * GIB, .exclusive = true}};
    const struct assigned_container c = {.name = STR("main"), .devices = devices, .device_n = 2};
    const struct assignment record = {.id = STR("d"), .containers = &c, .container_n = 1};
    const struct ledger_op op = fixture_observation("p", &d, "n1", &record);

    fixture_apply(&fx, &op);
}

static const struct snapshot_pod *shown(void)
{
    (void)fixture_state(&fx, "n1");
    return fixture_pod_in(&fx.snapshot, STR("p"));
}

static void two_gpus__in_any_order__both_are_taken_and_the_pod_is_bound(void **state)
{
    for (int first = 0; first < 2; first++) {
        bind_on(first, 1 - first);
        assert_int_equal(shown()->state, LEDGER_BOUND);
        assert_false(shown()->conflict);
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(fixture_milli_free(&fx, "n1", i), 0);
            assert_int_equal(fx.snapshot.nodes[0].devices[i].allocation_n, 1);
            assert_true(str_eq_cstr(fx.snapshot.nodes[0].devices[i].allocations[0].container, "main"));
        }
        fixture_name_op(&fx, LEDGER_POD_GONE, "p");
        assert_int_equal(fixture_milli_free(&fx, "n1", 0), 1000);
    }
}

static void two_gpus__the_same_one_twice__charged_on_every_gpu(void **state)
{
    for (int gpu = 0; gpu < 2; gpu++) {
        bind_on(gpu, gpu);
        assert_int_equal(fixture_milli_free(&fx, "n1", 0), 0);
        assert_int_equal(fixture_milli_free(&fx, "n1", 1), 0);
        fixture_name_op(&fx, LEDGER_POD_GONE, "p");
    }
}

/* What a pod was granted is what it asked for, where its request says nothing any more. */
static void granted__request_says_nothing__shown_as_the_record_has_it(void **state)
{
    static const struct demand nothing = {.dialect = ""};
    static const struct assigned_device whole[] = {{STR("GPU-n1-0"), 0, 1000, 80 * GIB, .exclusive = true},
                                                   {STR("GPU-n1-1"), 1, 1000, 80 * GIB, .exclusive = true}},
                                        parts[] = {{STR("GPU-n1-0"), 0, 300, 4 * GIB},
                                                   {STR("GPU-n1-1"), 1, 200, 5 * GIB}};

    for (int shares = 0; shares < 2; shares++) {
        const struct assigned_container c = {.name = STR("main"), .devices = shares ? parts : whole, .device_n = 2};
        const struct assignment record = {.id = STR("d"), .containers = &c, .container_n = 1};
        struct ledger_op op = fixture_observation("p", &nothing, "n1", &record);
        const struct gpu_request *w;
        struct ledger_pod pod;

        op.pod.record_trust = RECORD_VERIFIED;
        fixture_apply(&fx, &op);
        assert_true(ledger_find_pod(fx.l, STR("p"), &pod));
        assert_int_equal(pod.demand->gpu_request_n, 1);
        w = &pod.demand->gpu_requests[0];
        assert_true(str_eq_cstr(w->container, "main"));
        assert_int_equal(w->count, 2);
        assert_int_equal(w->kind, shares ? GPU_REQUEST_BOTH : GPU_REQUEST_WHOLE);
        assert_int_equal(w->milli, shares ? 300 : 1000);
        assert_int_equal(w->mem_mib, shares ? 5 * GIB : 0);
        assert_int_equal(w->profile, 0);
        fixture_name_op(&fx, LEDGER_POD_GONE, "p");
    }
}

/* As long as the request means what was granted, it is shown in its words. */
static void granted__request_means_the_same__shown_in_its_kind(void **state)
{
    const struct {
        struct demand demand;
        int32_t milli;
        int64_t mem_mib;
        enum gpu_request_kind kind;
    } rows[] = {{SHARE_OF(300), 300, 24 * GIB, GPU_REQUEST_MILLI},
                {MEMORY_OF(8 * GIB), 100, 8 * GIB, GPU_REQUEST_MEMORY},
                {SHARE_AND_MEMORY_OF(300, 8 * GIB), 300, 8 * GIB, GPU_REQUEST_BOTH},
                {SHARE_OF(400), 300, 24 * GIB, GPU_REQUEST_BOTH}}; /* it means more today */

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct assignment record = RECORD_OF("d", "GPU-n1-1", 1, rows[i].milli, rows[i].mem_mib);
        struct ledger_op op = fixture_observation("p", &rows[i].demand, "n1", &record);
        const struct snapshot_device *d;

        op.pod.record_trust = RECORD_VERIFIED;
        fixture_apply(&fx, &op);
        d = &fixture_state(&fx, "n1")->devices[1];
        assert_int_equal(d->allocation_n, 1);
        assert_int_equal(d->allocations[0].kind, rows[i].kind);
        assert_int_equal(d->allocations[0].milli, rows[i].milli);
        assert_int_equal(d->allocations[0].mem_mib, rows[i].mem_mib);
        fixture_name_op(&fx, LEDGER_POD_GONE, "p");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TWO_GPUS_TEST(two_gpus__in_any_order__both_are_taken_and_the_pod_is_bound),
        TWO_GPUS_TEST(granted__request_means_the_same__shown_in_its_kind),
        TWO_GPUS_TEST(granted__request_says_nothing__shown_as_the_record_has_it),
        TWO_GPUS_TEST(two_gpus__the_same_one_twice__charged_on_every_gpu),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
