/* Memory limits of cgroups, by a library that a script tells (test/nvml/fake_limits.c). */
#include "base/bug.h"
#include "nvml/limits.h"
#include "support/cmocka.h"
#include "support/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    struct temp_dir dir;
    char gpus[256], limits[256];
    struct nvml *nvml;
};

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));

    temp_dir_init(&f->dir);
    temp_dir_path(&f->dir, "gpus", f->gpus, sizeof(f->gpus));
    temp_dir_path(&f->dir, "limits", f->limits, sizeof(f->limits));
    temp_dir_write(&f->dir, "gpus", "gpu GPU-a 0 1000 0 One\ngpu GPU-b 1 1000 0 Two\n");
    *state = f;
    return setenv("FAKE_NVML", f->gpus, 1) + setenv("FAKE_NVML_LIMITS", f->limits, 1);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    nvml_close(f->nvml);
    temp_dir_fini(&f->dir);
    free(f);
    return unsetenv("FAKE_NVML_LIMITS");
}

static void open_library(struct fixture *f, const char *path)
{
    struct err err;

    if (nvml_open(path, &f->nvml, &err) != 0) {
        fail_msg("%s", err.msg);
    }
}

static void refuses(struct fixture *f, const char *script, const char *uuid, const char *says)
{
    struct err err;

    temp_dir_write(&f->dir, "limits.script", script);
    assert_int_equal(nvml_limit_memory(f->nvml, "/sys/fs/cgroup/x", uuid, 1, &err), -ERR_UNAVAILABLE);
    if (strstr(err.msg, says) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err.msg, says);
    }
}

static void nvml__limit__is_hard_without_a_guarantee_for_that_gpu_and_cgroup(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};
    char told[256] = "";
    FILE *file;

    open_library(f, FGPU_FAKE_NVML);
    assert_true(nvml_can_limit_memory(f->nvml));
    assert_int_equal(nvml_limit_memory(f->nvml, "/sys/fs/cgroup/pod/c1", "GPU-b", UINT64_C(5) << 30, &err), 0);
    file = fopen(f->limits, "re");
    assert_non_null(file);
    assert_non_null(fgets(told, sizeof(told), file));
    fclose(file);
    assert_string_equal(told, "0 5368709120 GPU-b /sys/fs/cgroup/pod/c1\n");
}

static void nvml__limit_that_the_driver_refuses__says_where_and_what_helps(void **state)
{
    struct fixture *f = *state;

    open_library(f, FGPU_FAKE_NVML);
    refuses(f, "fail 3", "GPU-a", "choose another kind");
    refuses(f, "fail 4", "GPU-a", "root");
    refuses(f, "fail 6", "GPU-a", "controller dmem");
    refuses(f, "fail 999", "GPU-a", "GPU GPU-a for cgroup /sys/fs/cgroup/x: Some Error (999)");
    refuses(f, "ok", "GPU-of-another-node", "GPU-of-another-node");
}

static void nvml__library_before_r615__cannot(void **state)
{
    struct fixture *f = *state;

    open_library(f, FGPU_FAKE_NVML_OLD);
    assert_false(nvml_can_limit_memory(f->nvml));
}

int main(void)
{
#define WITH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH(nvml__limit__is_hard_without_a_guarantee_for_that_gpu_and_cgroup),
        WITH(nvml__limit_that_the_driver_refuses__says_where_and_what_helps),
        WITH(nvml__library_before_r615__cannot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
