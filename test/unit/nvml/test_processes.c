/* Who uses a GPU, from a library that a script tells (test/nvml/fake_processes.c). */
#include "base/bug.h"
#include "nvml/processes.h"
#include "support/cmocka.h"
#include "support/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>

struct fixture {
    struct temp_dir dir;
    char script[256];
    struct arena arena;
    struct nvml *nvml;
    uint64_t seen_us;
};

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    struct err err = {0};

    temp_dir_init(&f->dir);
    temp_dir_path(&f->dir, "script", f->script, sizeof(f->script));
    temp_dir_write(&f->dir, "script", "gpu GPU-a 0 81920 0 H100\ngpu GPU-b 1 40960 0 A100\nmig MIG-1 4864 1g.5gb\n");
    arena_init(&f->arena, 4U << 20);
    *state = f;
    if (setenv("FAKE_NVML", f->script, 1) != 0 || nvml_open(FGPU_FAKE_NVML, &f->nvml, &err) != 0) {
        fail_msg("%s", err.msg);
    }
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    nvml_close(f->nvml);
    arena_fini(&f->arena);
    temp_dir_fini(&f->dir);
    free(f);
    return 0;
}

static int reads(struct fixture *f, const char *script, const char *uuid, struct nvml_processes *ret)
{
    struct err err;

    temp_dir_write(&f->dir, "script.processes", script);
    return nvml_read_processes(f->nvml, uuid, &f->seen_us, &f->arena, ret, &err);
}

static void processes__nobody__is_an_empty_list(void **state)
{
    struct nvml_processes p;

    assert_int_equal(reads(*state, "", "GPU-a", &p), 0);
    assert_int_equal(p.n, 0);
    assert_true(p.knows_compute);
}

static void processes__of_a_gpu__have_memory_and_compute(void **state)
{
    struct nvml_processes p;

    assert_int_equal(
        reads(*state, "process GPU-a 17 1000 40\nprocess GPU-b 18 7 1\nprocess GPU-a 19 2 0\n", "GPU-a", &p), 0);
    assert_int_equal(p.n, 2);
    assert_int_equal(p.list[0].pid, 17);
    assert_int_equal(p.list[0].mem_bytes, 1000LL << 20);
    assert_int_equal(p.list[0].milli, 400);
    assert_int_equal(p.list[1].pid, 19);
    assert_int_equal(p.list[1].milli, 0);
}

/* A process with several contexts is told with its memory by each list. */
static void processes__with_several_contexts__count_once(void **state)
{
    struct nvml_processes p;

    assert_int_equal(
        reads(*state, "process GPU-a 17 1000 0\nmps GPU-a 17 1000 0\ngraphics GPU-a 17 900 0\n", "GPU-a", &p), 0);
    assert_int_equal(p.n, 1);
    assert_int_equal(p.list[0].mem_bytes, 1000LL << 20);
}

/* Memory that a program takes by drawing is memory, too. */
static void processes__that_use_mps_or_draw__are_seen(void **state)
{
    struct nvml_processes p;

    assert_int_equal(reads(*state, "mps GPU-a 5 10 0\ngraphics GPU-a 6 20 0\n", "GPU-a", &p), 0);
    assert_int_equal(p.n, 2);
}

static void processes__memory_that_the_driver_does_not_know__is_unknown(void **state)
{
    struct nvml_processes p;

    assert_int_equal(reads(*state, "process GPU-a 17 - 0\nmps GPU-a 17 1000 0\n", "GPU-a", &p), 0);
    assert_int_equal(p.n, 1);
    assert_int_equal(p.list[0].mem_bytes, -1);
}

static void processes__without_utilization__their_compute_is_unknown(void **state)
{
    struct nvml_processes p;

    assert_int_equal(reads(*state, "no-utilization\nprocess GPU-a 17 1 90\n", "GPU-a", &p), 0);
    assert_false(p.knows_compute);
    assert_int_equal(p.list[0].milli, -1);
    assert_int_equal(p.list[0].mem_bytes, 1LL << 20);
}

static void processes__samples__are_read_once(void **state)
{
    struct fixture *f = *state;
    struct nvml_processes p;

    assert_int_equal(reads(f, "process GPU-a 17 1 90\n", "GPU-a", &p), 0);
    assert_int_equal(f->seen_us, 1000000);
    assert_int_equal(reads(f, "process GPU-a 17 1 90\n", "GPU-a", &p), 0);
    assert_int_equal(f->seen_us, 2000000);
}

static void processes__more_than_the_first_room__are_all_read(void **state)
{
    char script[16384];
    size_t at = 0;
    struct nvml_processes p;

    for (int i = 0; i < 300; i++) {
        at += (size_t)snprintf(script + at, sizeof(script) - at, "process GPU-a %d 1 1\n", i + 1);
    }
    assert_int_equal(reads(*state, script, "GPU-a", &p), 0);
    assert_int_equal(p.n, 300);
    assert_int_equal(p.list[299].milli, 10);
}

static void processes__of_an_instance__are_its_own(void **state)
{
    struct nvml_processes p;

    assert_int_equal(reads(*state, "process MIG-1 17 100 0\nprocess GPU-b 18 1 0\n", "MIG-1", &p), 0);
    assert_int_equal(p.n, 1);
    assert_int_equal(p.list[0].pid, 17);
}

static void processes__of_a_gpu_that_is_gone_or_lost__are_an_error(void **state)
{
    struct nvml_processes p;

    assert_int_equal(reads(*state, "", "GPU-z", &p), -ERR_NOT_FOUND);
    assert_int_equal(reads(*state, "lost GPU-a\n", "GPU-a", &p), -ERR_UNAVAILABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(processes__nobody__is_an_empty_list, set_up, tear_down),
        cmocka_unit_test_setup_teardown(processes__of_a_gpu__have_memory_and_compute, set_up, tear_down),
        cmocka_unit_test_setup_teardown(processes__with_several_contexts__count_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(processes__that_use_mps_or_draw__are_seen, set_up, tear_down),
        cmocka_unit_test_setup_teardown(processes__memory_that_the_driver_does_not_know__is_unknown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(processes__without_utilization__their_compute_is_unknown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(processes__samples__are_read_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(processes__more_than_the_first_room__are_all_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(processes__of_an_instance__are_its_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(processes__of_a_gpu_that_is_gone_or_lost__are_an_error, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
