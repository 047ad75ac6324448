/* What a pod is told with its Binding: the record, and what its containers see. What it carries of an earlier answer.
 */
#include "base/compiler.h"
#include "core/record/assignment.h"
#include "core/dialects/dialect.h"
#include "model/mig.h"
#include "support/cmocka.h"

#include <string.h>

#define ARENA_BYTES (1 << 22)

static const struct str *find(struct kv_list list, const char *key)
{
    return kv_find(list, str_of(key));
}

static void expect(struct kv_list list, const char *key, const char *want)
{
    const struct str *got = find(list, key);
    if (want == NULL ? got != NULL : got == NULL || !str_eq_cstr(*got, want)) {
        fail_msg("%s: got \"%.*s\", want \"%s\"", key, got ? (int)got->n : 6, got ? got->p : "(none)",
                 want ? want : "(none)");
    }
}

static void native_answer__two_containers__record_and_keys(void **state)
{
    static const struct assigned_device of_init[] = {{STR("GPU-b"), 1, 1000, 81920}};
    static const struct assigned_device of_main[] = {{STR("GPU-a"), 0, 300, 4096}, {STR("GPU-b"), 1, 250, 0}};
    static const struct assigned_container containers[] = {
        {.name = STR("setup"), .init = true, .position = 2, .devices = of_init, .device_n = 1},
        {.name = STR("main"), .init = false, .position = 1, .devices = of_main, .device_n = 2},
    };
    static const struct assignment as = {.id = STR("d-1"), .containers = containers, .container_n = 2};
    struct arena a;
    struct kv_list list;
    struct err err;

    arena_init(&a, ARENA_BYTES);
    assert_int_equal(dialect_answer(&as, &a, &list, &err), 0);
    assert_true(str_eq(list.items[0].key, STR(ASSIGNMENT_KEY)));
    expect(list, "fgpu.io/assignment",
           "{\"v\":1,\"id\":\"d-1\",\"containers\":["
           "{\"name\":\"setup\",\"init\":true,\"devices\":["
           "{\"uuid\":\"GPU-b\",\"index\":1,\"milli\":1000,\"memMib\":81920}]},"
           "{\"name\":\"main\",\"init\":false,\"devices\":["
           "{\"uuid\":\"GPU-a\",\"index\":0,\"milli\":300,\"memMib\":4096},"
           "{\"uuid\":\"GPU-b\",\"index\":1,\"milli\":250,\"memMib\":0}]}]}");
    expect(list, "fgpu.io/visible-devices.i2", "GPU-b");
    expect(list, "fgpu.io/visible-devices.c1", "GPU-a,GPU-b");
    expect(list, "fgpu.io/mps-active-thread-percentage.i2", "100");
    expect(list, "fgpu.io/mps-active-thread-percentage.c1", "25");
    expect(list, "fgpu.io/mps-pinned-device-mem-limit.i2", "0=81920M");
    expect(list, "fgpu.io/mps-pinned-device-mem-limit.c1", "0=4096M");
    assert_int_equal(list.n, 7);
    arena_fini(&a);
}

/* One container with up to three devices, and what the container should see. */
static void native_answer__downward_keys__table(void **state)
{
    static const struct {
        const char *name;
        enum qos qos;
        enum lending lending;
        struct assigned_device devices[3];
        size_t n;
        const char *visible, *percentage, *mem_limit;
    } rows[] = {
        {"share", QOS_FIXED_SHARE, LEND_ALLOW, {{STR("A"), 0, 300, 4096}}, 1, "A", "30", "0=4096M"},
        {"rounded down", QOS_FIXED_SHARE, LEND_ALLOW, {{STR("A"), 0, 309, 1}}, 1, "A", "30", "0=1M"},
        {"at least one", QOS_FIXED_SHARE, LEND_ALLOW, {{STR("A"), 0, 9, 1}}, 1, "A", "1", "0=1M"},
        {"one milli", QOS_FIXED_SHARE, LEND_ALLOW, {{STR("A"), 0, 1, 1}}, 1, "A", "1", "0=1M"},
        {"whole", QOS_FIXED_SHARE, LEND_ALLOW, {{STR("A"), 0, 1000, 81920}}, 1, "A", "100", "0=81920M"},
        {"whole with over-commit", QOS_FIXED_SHARE, LEND_ALLOW, {{STR("A"), 0, 1500, 9}}, 1, "A", "100", "0=9M"},
        {"compute not asked", QOS_FIXED_SHARE, LEND_ALLOW, {{STR("A"), 0, 0, 4096}}, 1, "A", "100", "0=4096M"},
        {"best effort", QOS_BEST_EFFORT, LEND_ALLOW, {{STR("A"), 0, 300, 4096}}, 1, "A", "100", "0=4096M"},
        {"equal share", QOS_EQUAL_SHARE, LEND_ALLOW, {{STR("A"), 0, 300, 4096}}, 1, "A", "100", "0=4096M"},
        {"nothing lent, fixed", QOS_FIXED_SHARE, LEND_FORBID, {{STR("A"), 0, 300, 4096}}, 1, "A", "30", "0=4096M"},
        {"nothing lent, best effort",
         QOS_BEST_EFFORT,
         LEND_FORBID,
         {{STR("A"), 0, 300, 4096}},
         1,
         "A",
         "30",
         "0=4096M"},
        {"nothing lent, equal share", QOS_EQUAL_SHARE, LEND_FORBID, {{STR("A"), 0, 62, 4096}}, 1, "A", "6", "0=4096M"},
        {"nothing lent, no compute asked",
         QOS_BEST_EFFORT,
         LEND_FORBID,
         {{STR("A"), 0, 0, 4096}},
         1,
         "A",
         "100",
         "0=4096M"},
        {"a virtual GPU is the host's to divide",
         QOS_FIXED_SHARE,
         LEND_FORBID,
         {{.uuid = STR("A"), .milli = 750, .mem_mib = 8192, .slice = true}},
         1,
         "A",
         "100",
         NULL},
        {"memory unknown", QOS_FIXED_SHARE, LEND_ALLOW, {{STR("A"), 0, 300, 0}}, 1, "A", "30", NULL},
        {"smallest of several",
         QOS_FIXED_SHARE,
         LEND_ALLOW,
         {{STR("A"), 0, 500, 7}, {STR("B"), 3, 200, 8}},
         2,
         "A,B",
         "20",
         "0=7M,1=8M"},
        {"numbered inside",
         QOS_FIXED_SHARE,
         LEND_ALLOW,
         {{STR("A"), 4, 500, 0}, {STR("B"), 7, 500, 8}},
         2,
         "A,B",
         "50",
         "1=8M"},
        {"indexes", QOS_FIXED_SHARE, LEND_ALLOW, {{STR(""), 0, 500, 0}, {STR(""), 7, 500, 0}}, 2, "0,7", "50", NULL},
        {"some UUIDs unknown",
         QOS_FIXED_SHARE,
         LEND_ALLOW,
         {{STR("A"), 2, 500, 0}, {STR(""), 7, 500, 0}},
         2,
         "2,7",
         "50",
         NULL},
        {"an instance has no part of it to give",
         QOS_FIXED_SHARE,
         LEND_ALLOW,
         {{STR("MIG-a"), 1024, 142, 4864, MIG_PROFILE(1, 5)}, {STR("MIG-b"), 1032, 428, 0, MIG_PROFILE(3, 20)}},
         2,
         "MIG-a,MIG-b",
         "100",
         NULL},
        {"an instance beside a GPU",
         QOS_FIXED_SHARE,
         LEND_ALLOW,
         {{STR("A"), 0, 300, 4096}, {STR("MIG-a"), 1032, 142, 4864, MIG_PROFILE(1, 5)}},
         2,
         "A,MIG-a",
         "30",
         "0=4096M"},
        {"none", QOS_FIXED_SHARE, LEND_ALLOW, {{STR(""), 0, 0, 0}}, 0, NULL, NULL, NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct assigned_container c = {.name = STR("c"), .devices = rows[i].devices, .device_n = rows[i].n};
        struct assignment as = {
            .id = STR("x"), .containers = &c, .container_n = 1, .qos = rows[i].qos, .lending = rows[i].lending};
        struct arena a;
        struct kv_list list;
        arena_init(&a, ARENA_BYTES);
        assert_int_equal(dialect_answer(&as, &a, &list, NULL), 0);
        expect(list, "fgpu.io/visible-devices.c0", rows[i].visible);
        expect(list, "fgpu.io/mps-active-thread-percentage.c0", rows[i].percentage);
        expect(list, "fgpu.io/mps-pinned-device-mem-limit.c0", rows[i].mem_limit);
        arena_fini(&a);
    }
}

static void native_answer__arena_full__error_and_result_untouched(void **state)
{
    struct assigned_device device = {STR("GPU-a"), 0, 300, 4096};
    struct assigned_container c = {.name = STR("c"), .devices = &device, .device_n = 1};
    struct assignment as = {.id = STR("x"), .containers = &c, .container_n = 1};
    int fits = 0;

    for (size_t bytes = 1; bytes < 4096; bytes += 16) {
        struct arena a;
        struct kv_list list = {NULL, 12345};
        struct err err = {.code = ERR_OK};
        arena_init(&a, bytes);
        int rc = dialect_answer(&as, &a, &list, &err);
        if (rc == 0) {
            fits++;
        } else {
            assert_int_equal(rc, -ERR_LIMIT);
            assert_int_equal(err.code, ERR_LIMIT);
            assert_int_equal(list.n, 12345);
            assert_int_equal(fits, 0);
        }
        arena_fini(&a);
    }
    assert_true(fits > 0);
}

/* A restored pod carries the answer of its former life: the Binding overwrites all of it. */
static void leftovers__of_an_earlier_answer__are_overwritten_with_nothing(void **state)
{
    const struct kv carried[] = {{STR("fgpu.io/gpu-fraction"), STR("0.5")},
                                 {STR("fgpu.io/visible-devices.c0"), STR("GPU-old")},
                                 {STR("fgpu.io/visible-devices.c7"), STR("GPU-old")},
                                 {STR("fgpu.io/visible-devices-of-mine"), STR("1")},
                                 {STR("fgpu.io/mps-active-thread-percentage.i0"), STR("100")},
                                 {STR("fgpu.io/assignment"), STR("{}")}};
    const struct kv ours[] = {{STR("fgpu.io/assignment"), STR("new")},
                              {STR("fgpu.io/visible-devices.c0"), STR("GPU-a")}};
    struct kv_list list = {ours, ARRAY_LEN(ours)};
    struct str leftovers;
    struct arena a;

    arena_init(&a, 1 << 16);
    assert_true(dialect_leftovers((struct kv_list){carried, ARRAY_LEN(carried)}, &a, &leftovers));
    assert_int_equal(dialect_blank(&list, leftovers, true, &a, NULL), 0);
    assert_int_equal(list.n, 4);
    assert_true(str_eq(*kv_find(list, STR("fgpu.io/assignment")), STR("new")));
    assert_true(str_eq(*kv_find(list, STR("fgpu.io/visible-devices.c0")), STR("GPU-a")));
    assert_int_equal(kv_find(list, STR("fgpu.io/visible-devices.c7"))->n, 0);
    assert_int_equal(kv_find(list, STR("fgpu.io/mps-active-thread-percentage.i0"))->n, 0);
    arena_fini(&a);
}

/* Whatever programs of others obey is overwritten, whoever wrote it; in a pod that asks us for nothing it is not ours.
 */
static void leftovers__of_other_hand_offs__overwritten_where_the_pod_asks_us(void **state)
{
    const struct kv carried[] = {{STR("nvidia.cdi.k8s.io/container.main"), STR("nvidia.com/gpu=all")},
                                 {STR("nvidia.com/container.main.gpus.devices"), STR("all")},
                                 {STR("nvidia.com/gpu.product"), STR("A100")},
                                 {STR("fgpu.io/visible-devices.c0"), STR("GPU-old")}};
    struct kv_list list = {NULL, 0};
    struct str leftovers;
    struct arena a;

    arena_init(&a, 1 << 16);
    assert_true(dialect_leftovers((struct kv_list){carried, ARRAY_LEN(carried)}, &a, &leftovers));
    assert_int_equal(dialect_blank(&list, leftovers, false, &a, NULL), 0);
    assert_int_equal(list.n, 1);
    expect(list, "fgpu.io/visible-devices.c0", "");
    list = (struct kv_list){NULL, 0};
    assert_int_equal(dialect_blank(&list, leftovers, true, &a, NULL), 0);
    assert_int_equal(list.n, 3);
    expect(list, "nvidia.cdi.k8s.io/container.main", "");
    expect(list, "nvidia.com/container.main.gpus.devices", "");
    arena_fini(&a);
}

static void leftovers__none__nothing_is_added(void **state)
{
    const struct kv asked = {STR("fgpu.io/gpu-fraction"), STR("0.5")};
    struct kv_list list = {&asked, 1};
    struct str leftovers;
    struct arena a;

    arena_init(&a, 1 << 16);
    assert_true(dialect_leftovers(list, &a, &leftovers));
    assert_int_equal(leftovers.n, 0);
    assert_int_equal(dialect_blank(&list, leftovers, true, &a, NULL), 0);
    assert_ptr_equal(list.items, &asked);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(native_answer__two_containers__record_and_keys),
        cmocka_unit_test(native_answer__downward_keys__table),
        cmocka_unit_test(native_answer__arena_full__error_and_result_untouched),
        cmocka_unit_test(leftovers__of_an_earlier_answer__are_overwritten_with_nothing),
        cmocka_unit_test(leftovers__of_other_hand_offs__overwritten_where_the_pod_asks_us),
        cmocka_unit_test(leftovers__none__nothing_is_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
