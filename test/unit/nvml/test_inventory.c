/* The GPUs that the driver's library knows, from a library that a script tells (test/nvml/fake_nvml.c). */
#include "base/bug.h"
#include "model/mig.h"
#include "nvml/inventory.h"
#include "support/cmocka.h"
#include "support/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY (1U << 20)

struct fixture {
    struct temp_dir dir;
    char script[256];
    struct arena arena;
    struct nvml *nvml;
    const struct device *devices;
    size_t n, unreadable_n;
};

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));

    temp_dir_init(&f->dir);
    temp_dir_path(&f->dir, "script", f->script, sizeof(f->script));
    arena_init(&f->arena, MEMORY);
    *state = f;
    return setenv("FAKE_NVML", f->script, 1);
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

static void read_script(struct fixture *f, const char *script)
{
    struct err err = {0};

    temp_dir_write(&f->dir, "script", script);
    if (nvml_open(FGPU_FAKE_NVML, &f->nvml, &err) != 0 ||
        nvml_read_devices(f->nvml, &f->arena, &f->devices, &f->n, &f->unreadable_n, &err) != 0) {
        fail_msg("%s", err.msg);
    }
}

static void nvml__gpus__have_uuid_index_minor_model_and_usable_memory(void **state)
{
    struct fixture *f = *state;

    read_script(f, "gpu GPU-a 3 81920 600 NVIDIA_H100\ngpu GPU-b 1 16384 0 Tesla_T4\n");
    assert_int_equal(f->n, 2);
    assert_int_equal(f->unreadable_n, 0);
    assert_true(str_eq(f->devices[0].uuid, STR("GPU-a")));
    assert_int_equal(f->devices[0].index, 0);
    assert_int_equal(f->devices[0].minor, 3);
    assert_true(str_eq(f->devices[0].model, STR("NVIDIA H100")));
    assert_int_equal(f->devices[0].mem_mib, 81320);
    assert_int_equal(f->devices[0].profile, 0);
    assert_true(f->devices[0].healthy);
    assert_int_equal(f->devices[1].index, 1);
    assert_int_equal(f->devices[1].mem_mib, 16384);
}

static void nvml__gpu_in_mig_mode__is_followed_by_its_instances(void **state)
{
    struct fixture *f = *state;

    read_script(f, "gpu GPU-a 0 40960 0 A100\nmig MIG-1 4864 1g.5gb\nhole\nmig MIG-2 9856 2g.10gb\n"
                   "gpu GPU-b 1 40960 0 A100\ngpu GPU-c 2 40960 0 A100\nmode\n");
    assert_int_equal(f->n, 5);
    assert_int_equal(f->unreadable_n, 0);
    assert_int_equal(f->devices[0].profile, DEVICE_IN_MIG_MODE);
    assert_true(str_eq(f->devices[1].uuid, STR("MIG-1")));
    assert_int_equal(f->devices[1].profile, mig_profile_parse(STR("1g.5gb")));
    assert_int_equal(f->devices[1].mem_mib, 4864);
    assert_int_equal(f->devices[1].gpu_index, 0);
    assert_int_equal(f->devices[1].slot_n, 1);
    assert_int_equal(f->devices[2].profile, mig_profile_parse(STR("2g.10gb")));
    assert_int_equal(f->devices[3].profile, 0);
    assert_int_equal(f->devices[4].profile, DEVICE_IN_MIG_MODE);
}

static void nvml__gpu_near_one_numa_node__has_it(void **state)
{
    struct fixture *f = *state;

    read_script(f, "gpu GPU-a 0 1000 0 A\nnuma 3\nmode\nmig MIG-1 100 1g.5gb\ngpu GPU-b 1 1000 0 A\nnuma 0 1\n"
                   "gpu GPU-c 2 1000 0 A\n");
    assert_int_equal(f->n, 4);
    assert_int_equal(f->devices[0].numa, 3);
    assert_int_equal(f->devices[1].numa, 3);
    assert_int_equal(f->devices[2].numa, -1);
    assert_int_equal(f->devices[3].numa, -1);
}

static void nvml__instance_whose_place_may_be_asked__has_it_and_an_index(void **state)
{
    struct fixture *f = *state;

    read_script(f, "gpu GPU-a 0 40960 0 A100\nmig MIG-1 4864 1g.5gb\nat 6 1\nmig MIG-2 9856 2g.10gb\n");
    assert_int_equal(f->n, 3);
    assert_int_equal(f->devices[1].start, 6);
    assert_int_equal(f->devices[1].index, DEVICE_INSTANCE_INDEX(0, 6));
    assert_int_equal(f->devices[2].start, -1);
    assert_int_equal(f->devices[2].index, -1);
}

static void nvml__details__are_mode_links_and_what_the_gpu_can_be_cut_into(void **state)
{
    struct fixture *f = *state;
    const struct gpu_details *d;

    read_script(f, "gpu GPU-a 0 40960 0 A100\ncompute-mode 3\nnvlink 1\n"
                   "gpu GPU-b 1 40960 0 A100\nnvlink 0\nmode\noffers 1g.5gb 1 4864 7 0 1 2 3 4 5 6\n"
                   "offers 3g.20gb 4 19968 2 0 4\noffers 1g.5gb+gfx 1 4864 7 0\noffers 7g.40gb 8 40192 1\n"
                   "mig MIG-1 4864 1g.5gb\ngpu GPU-c 2 40960 0 A100\ncompute-mode 2\n");
    d = nvml_read_details(f->nvml, f->devices, f->n, &f->arena);
    assert_non_null(d);
    assert_int_equal(d[0].compute_mode, COMPUTE_MODE_EXCLUSIVE_PROCESS);
    assert_int_equal(d[0].nvlinked, 1 << 1);
    assert_int_equal(d[0].shape_n, 0);
    assert_int_equal(d[1].compute_mode, COMPUTE_MODE_DEFAULT);
    assert_int_equal(d[1].nvlinked, 1 << 0);
    assert_int_equal(d[1].shape_n, 2); /* what we have no word for, and what has no known places, is left out */
    assert_int_equal(d[1].shapes[0].profile, mig_profile_parse(STR("1g.5gb")));
    assert_int_equal(d[1].shapes[0].size, 1);
    assert_int_equal(d[1].shapes[0].starts, 0x7f);
    assert_int_equal(d[1].shapes[0].max, 7);
    assert_int_equal(d[1].shapes[0].mem_mib, 4864);
    assert_int_equal(d[1].shapes[1].size, 4);
    assert_int_equal(d[1].shapes[1].starts, 0x11);
    assert_int_equal(d[2].shape_n, 0);
    assert_int_equal(d[3].compute_mode, COMPUTE_MODE_PROHIBITED);
    assert_int_equal(d[3].nvlinked, 0);
}

/* One that has fallen off the bus stops nobody else. */
static void nvml__gpu_that_cannot_be_read__is_left_out_and_counted(void **state)
{
    struct fixture *f = *state;

    read_script(f, "gpu GPU-a 0 1000 0 A\nlost\ngpu GPU-c 2 1000 0 A\nmig MIG-1 100 odd\n");
    assert_int_equal(f->n, 2);
    assert_int_equal(f->unreadable_n, 2);
    assert_int_equal(f->devices[1].index, 2);
}

static void nvml__machine_without_the_library__is_told_apart(void **state)
{
    struct fixture *f = *state;
    struct err err;

    assert_int_equal(nvml_open("/nowhere/libnvidia-ml.so.1", &f->nvml, &err), -ERR_NOT_FOUND);
    assert_non_null(strstr(err.msg, "/nowhere/libnvidia-ml.so.1"));
    assert_int_equal(nvml_open("libm.so.6", &f->nvml, &err), -ERR_INVALID);
    assert_non_null(strstr(err.msg, "libm.so.6 is not NVIDIA's management library: it has no nvmlInit_v2"));
    temp_dir_write(&f->dir, "script", "no-driver\n");
    assert_int_equal(nvml_open(FGPU_FAKE_NVML, &f->nvml, &err), -ERR_UNAVAILABLE);
    assert_non_null(strstr(err.msg, "Driver Not Loaded (9)"));
    assert_null(f->nvml);
}

static void read_machine(struct fixture *f, int gpu_n, int instance_n)
{
    struct err err;
    FILE *script = fopen(f->script, "we");

    assert_non_null(script);
    for (int i = 0; i < gpu_n; i++) {
        fprintf(script, "gpu GPU-%d %d 1000 0 A\n", i, i);
        for (int k = 0; k < instance_n; k++) {
            fprintf(script, "mig MIG-%d-%d 100 1g.5gb\n", i, k);
        }
    }
    fclose(script);
    nvml_close(f->nvml);
    assert_int_equal(nvml_open(FGPU_FAKE_NVML, &f->nvml, &err), 0);
    if (nvml_read_devices(f->nvml, &f->arena, &f->devices, &f->n, &f->unreadable_n, &err) != 0) {
        fail_msg("%s", err.msg);
    }
}

static void nvml__more_devices_than_a_node_may_have__keeps_the_first_and_gpus_before_instances(void **state)
{
    struct fixture *f = *state;
    size_t gpu_n = 0;

    read_machine(f, DEVICES_PER_NODE_MAX + 1, 0);
    assert_string_equal(nvml_path(f->nvml), FGPU_FAKE_NVML);
    assert_int_equal(f->n, DEVICES_PER_NODE_MAX);
    assert_int_equal(f->unreadable_n, 1);
    assert_true(str_eq(f->devices[DEVICES_PER_NODE_MAX - 1].uuid, STR("GPU-63")));
    read_machine(f, 10, 7);
    assert_int_equal(f->n, DEVICES_PER_NODE_MAX);
    assert_int_equal(f->unreadable_n, 80 - DEVICES_PER_NODE_MAX);
    for (size_t i = 0; i < f->n; i++) {
        gpu_n += f->devices[i].gpu_index < 0;
    }
    assert_int_equal(gpu_n, 10);
    assert_true(str_eq(f->devices[f->n - 1].uuid, STR("GPU-9")));
}

int main(void)
{
#define WITH_SCRIPT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_SCRIPT(nvml__gpus__have_uuid_index_minor_model_and_usable_memory),
        WITH_SCRIPT(nvml__gpu_in_mig_mode__is_followed_by_its_instances),
        WITH_SCRIPT(nvml__gpu_near_one_numa_node__has_it),
        WITH_SCRIPT(nvml__instance_whose_place_may_be_asked__has_it_and_an_index),
        WITH_SCRIPT(nvml__details__are_mode_links_and_what_the_gpu_can_be_cut_into),
        WITH_SCRIPT(nvml__gpu_that_cannot_be_read__is_left_out_and_counted),
        WITH_SCRIPT(nvml__machine_without_the_library__is_told_apart),
        WITH_SCRIPT(nvml__more_devices_than_a_node_may_have__keeps_the_first_and_gpus_before_instances),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
