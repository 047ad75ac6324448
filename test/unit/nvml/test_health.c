/* Errors of GPUs and who still answers, from a library that a script tells (test/nvml). */
#include "base/bug.h"
#include "model/device.h"
#include "nvml/health.h"
#include "nvml/inventory.h"
#include "support/cmocka.h"
#include "support/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY (1U << 16)
#define TWO_GPUS "gpu GPU-a 0 1000 0 A\ngpu GPU-b 1 1000 0 A\n"
#define WITH_MIG TWO_GPUS "mig MIG-1 100 1g.5gb\nmig MIG-2 100 1g.5gb\n"

struct fixture {
    struct temp_dir dir;
    char script[256], events[256];
    struct arena arena;
    struct nvml *nvml;
    struct nvml_watch *watch;
    const struct nvml_sight *sights;
    size_t n;
};

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));

    temp_dir_init(&f->dir);
    temp_dir_path(&f->dir, "script", f->script, sizeof(f->script));
    temp_dir_path(&f->dir, "script.events", f->events, sizeof(f->events));
    arena_init(&f->arena, MEMORY);
    *state = f;
    return setenv("FAKE_NVML", f->script, 1);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    nvml_watch_free(f->watch);
    nvml_close(f->nvml);
    arena_fini(&f->arena);
    temp_dir_fini(&f->dir);
    free(f);
    return 0;
}

/* Something happens. */
static void happens(struct fixture *f, const char *lines)
{
    FILE *events = fopen(f->events, "ae");

    assert_non_null(events);
    fputs(lines, events);
    assert_int_equal(fclose(events), 0);
}

static void look(struct fixture *f)
{
    struct err err = {0};

    if (nvml_watch_look(f->watch, &f->arena, &f->sights, &f->n, &err) != 0) {
        fail_msg("%s", err.msg);
    }
}

static void watch(struct fixture *f, const char *script)
{
    struct err err = {0};

    temp_dir_write(&f->dir, "script", script);
    if (nvml_open(FGPU_FAKE_NVML, &f->nvml, &err) != 0) {
        fail_msg("%s", err.msg);
    }
    f->watch = nvml_watch_new(f->nvml);
    look(f);
}

static int next(struct fixture *f, struct nvml_xid *ret)
{
    struct err err;

    return nvml_watch_wait(f->watch, 0, ret, &err);
}

static void nvml__look__tells_of_gpus_and_mig_devices_by_their_numbers(void **state)
{
    struct fixture *f = *state;

    happens(f, "compute MIG-2 1\n");
    watch(f, WITH_MIG);
    assert_int_equal(f->n, 4);
    for (size_t i = 0; i < f->n; i++) {
        assert_true(f->sights[i].answers);
        assert_true(f->sights[i].watched);
        assert_false(f->sights[i].too_old);
    }
    assert_true(str_eq(f->sights[0].uuid, STR("GPU-a")));
    assert_int_equal(f->sights[0].gpu.n, 0);
    assert_int_equal(f->sights[0].gpu_instance, NVML_NO_INSTANCE);
    assert_true(str_eq(f->sights[3].uuid, STR("MIG-2")));
    assert_true(str_eq(f->sights[3].gpu, STR("GPU-b")));
    assert_int_equal(f->sights[3].gpu_instance, f->sights[2].gpu_instance + 1);
    assert_int_equal(f->sights[2].compute_instance, 0);
    assert_int_equal(f->sights[3].compute_instance, 1);
}

static void nvml__xids__are_told_once_and_in_order(void **state)
{
    struct fixture *f = *state;
    struct nvml_xid x;

    happens(f, "xid GPU-a 48\n"); /* before anybody watched */
    watch(f, WITH_MIG);
    assert_int_equal(next(f, &x), 0);
    happens(f, "xid GPU-b 79\nbit GPU-a\nxid GPU-b 95 4 1\nxid GPU-elsewhere 79\n");
    assert_int_equal(next(f, &x), 1);
    assert_true(str_eq(x.gpu, STR("GPU-b")));
    assert_int_equal(x.xid, 79);
    assert_int_equal(x.gpu_instance, NVML_NO_INSTANCE);
    assert_int_equal(next(f, &x), 1);
    assert_int_equal(x.xid, 95);
    assert_int_equal(x.gpu_instance, 4);
    assert_int_equal(x.compute_instance, 1);
    assert_int_equal(next(f, &x), 0);
}

/* Its handle is known, so that one error does not close all. */
static void nvml__xid_of_a_gpu_that_tells_nothing_any_more__names_it(void **state)
{
    struct fixture *f = *state;
    struct nvml_xid x;

    watch(f, TWO_GPUS);
    happens(f, "mute GPU-b\nxid GPU-b 79\nstray 79\n");
    assert_int_equal(next(f, &x), 1);
    assert_true(str_eq(x.gpu, STR("GPU-b")));
    assert_int_equal(next(f, &x), 1);
    assert_int_equal(x.gpu.n, 0);
}

static void nvml__gpu_that_does_not_answer__is_shown_so(void **state)
{
    static const int codes[] = {15, 16, 999, 17};
    struct fixture *f = *state;

    watch(f, TWO_GPUS);
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        char line[64];

        snprintf(line, sizeof(line), "sick GPU-a %d\n", codes[i]);
        happens(f, line);
        look(f);
        assert_int_equal(f->n, 2);
        assert_false(f->sights[0].answers);
        assert_true(f->sights[1].answers);
    }
    happens(f, "sick GPU-a 0\n");
    look(f);
    assert_true(f->sights[0].answers);
}

/* GPUs that share the machine's memory have none of their own. */
static void nvml__gpu_without_memory_of_its_own__answers(void **state)
{
    struct fixture *f = *state;

    watch(f, TWO_GPUS);
    happens(f, "sick GPU-a 3\n");
    look(f);
    assert_true(f->sights[0].answers);
}

static void nvml__gpu_without_a_handle__is_left_out(void **state)
{
    struct fixture *f = *state;

    watch(f, "gpu GPU-a 0 1000 0 A\nlost\n");
    assert_int_equal(f->n, 1);
}

static void nvml__gpu_too_old_for_events__is_watched_by_looking_at_it(void **state)
{
    struct fixture *f = *state;

    happens(f, "old GPU-a\n");
    watch(f, TWO_GPUS);
    assert_true(f->sights[0].too_old);
    assert_true(f->sights[0].watched);
    assert_false(f->sights[1].too_old);
}

/* It is sick while it should be entered, and entered later. */
static void nvml__gpu_that_cannot_be_entered__is_not_watched_until_it_can(void **state)
{
    struct fixture *f = *state;
    struct nvml_xid x;

    happens(f, "sick GPU-a 15\n");
    watch(f, TWO_GPUS);
    assert_false(f->sights[0].watched);
    assert_true(f->sights[1].watched);
    happens(f, "sick GPU-a 0\n");
    look(f);
    assert_true(f->sights[0].watched);
    happens(f, "xid GPU-a 79\n");
    assert_int_equal(next(f, &x), 1);
}

static void nvml__wait_that_fails__is_made_anew_and_nobody_is_watched_until_one_works(void **state)
{
    struct fixture *f = *state;
    struct nvml_xid x;
    struct err err;

    watch(f, TWO_GPUS);
    happens(f, "error 15\n");
    assert_int_equal(nvml_watch_wait(f->watch, 0, &x, &err), -ERR_UNAVAILABLE);
    assert_non_null(strstr(err.msg, "(15)"));
    assert_int_equal(nvml_watch_wait(f->watch, 0, &x, &err), -ERR_UNAVAILABLE); /* there is no set */
    look(f);
    assert_false(f->sights[0].watched);
    happens(f, "xid GPU-a 79\n");
    assert_int_equal(next(f, &x), 1);
    look(f);
    assert_true(f->sights[0].watched);
}

static void nvml__library_that_fails__is_an_error(void **state)
{
    struct fixture *f = *state;
    struct err err;

    watch(f, TWO_GPUS);
    temp_dir_write(&f->dir, "script", "no-driver\n");
    assert_int_equal(nvml_watch_look(f->watch, &f->arena, &f->sights, &f->n, &err), -ERR_UNAVAILABLE);
    assert_non_null(strstr(err.msg, "Driver Not Loaded (9)"));
}

/* One device too many closes none of the others. */
static void nvml__look_at_more_devices_than_a_node_may_have__tells_of_the_first_and_of_each_gpu(void **state)
{
    char script[1U << 14] = "";
    struct fixture *f = *state;
    size_t gpu_n = 0, n = 0;

    for (int i = 0; i < 80; i++) {
        n += (size_t)(i % 8 == 0 ? snprintf(script + n, sizeof(script) - n, "gpu GPU-%d %d 1000 0 A\n", i / 8, i / 8)
                                 : snprintf(script + n, sizeof(script) - n, "mig MIG-%d 100 1g.5gb\n", i));
    }
    watch(f, script);
    assert_int_equal(f->n, DEVICES_PER_NODE_MAX);
    for (size_t i = 0; i < f->n; i++) {
        assert_true(f->sights[i].answers);
        assert_true(f->sights[i].watched);
        gpu_n += f->sights[i].gpu.n == 0;
    }
    assert_int_equal(gpu_n, 10);
    assert_true(str_eq(f->sights[f->n - 1].uuid, STR("GPU-9")));
    nvml_watch_free(f->watch);
    nvml_close(f->nvml);
    n = 0;
    for (int i = 0; i <= DEVICES_PER_NODE_MAX; i++) {
        n += (size_t)snprintf(script + n, sizeof(script) - n, "gpu GPU-%d %d 1000 0 A\n", i, i);
    }
    watch(f, script);
    assert_int_equal(f->n, DEVICES_PER_NODE_MAX);
    assert_true(str_eq(f->sights[f->n - 1].uuid, STR("GPU-63")));
}

int main(void)
{
#define WITH_SCRIPT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_SCRIPT(nvml__look__tells_of_gpus_and_mig_devices_by_their_numbers),
        WITH_SCRIPT(nvml__look_at_more_devices_than_a_node_may_have__tells_of_the_first_and_of_each_gpu),
        WITH_SCRIPT(nvml__xids__are_told_once_and_in_order),
        WITH_SCRIPT(nvml__xid_of_a_gpu_that_tells_nothing_any_more__names_it),
        WITH_SCRIPT(nvml__gpu_that_does_not_answer__is_shown_so),
        WITH_SCRIPT(nvml__gpu_without_memory_of_its_own__answers),
        WITH_SCRIPT(nvml__gpu_without_a_handle__is_left_out),
        WITH_SCRIPT(nvml__gpu_too_old_for_events__is_watched_by_looking_at_it),
        WITH_SCRIPT(nvml__gpu_that_cannot_be_entered__is_not_watched_until_it_can),
        WITH_SCRIPT(nvml__wait_that_fails__is_made_anew_and_nobody_is_watched_until_one_works),
        WITH_SCRIPT(nvml__library_that_fails__is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
