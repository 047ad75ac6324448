/* The process that tells the driver, as it really runs, with a library that a script tells: what it is told, and what
 * becomes of a container when it fails or hangs. No test measures time: a call that hangs would never come back. */
#include "base/bug.h"
#include "cmd_node/limit_helper.h"
#include "support/cmocka.h"
#include "support/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CONTAINER "c0ffee"
#define PATIENCE_MS 60000 /* for what comes back */
#define TOLD "0 4194304 GPU-b %s/pods/" CONTAINER "\n"

struct fixture {
    struct temp_dir dir;
    char gpus[128], told[128];
    struct limit_helper_options options;
    struct limit_helper *helper;
};

static void make_folder(const struct fixture *f, const char *name)
{
    char path[128];

    temp_dir_path(&f->dir, name, path, sizeof(path));
    assert_int_equal(mkdir(path, 0700), 0);
}

/* Process 7 is the first of the container. */
static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));

    temp_dir_init(&f->dir);
    temp_dir_path(&f->dir, "gpus", f->gpus, sizeof(f->gpus));
    temp_dir_path(&f->dir, "told", f->told, sizeof(f->told));
    temp_dir_write(&f->dir, "gpus", "gpu GPU-a 0 1000 0 One\ngpu GPU-b 1 1000 0 Two\n");
    make_folder(f, "7");
    make_folder(f, "8");
    make_folder(f, "self");
    make_folder(f, "pods");
    make_folder(f, "pods/" CONTAINER);
    temp_dir_write(&f->dir, "7/cgroup", "4:memory:/elsewhere\n0::/pods/" CONTAINER "\n");
    temp_dir_write(&f->dir, "8/cgroup", "0::/pods/another\n");
    temp_dir_write(&f->dir, "self/cgroup", "0::/pods\n");
    f->options = (struct limit_helper_options){
        .program = FGPU_NODE, .nvml_library = FGPU_FAKE_NVML, .cgroup_root = f->dir.path, .proc_root = f->dir.path};
    *state = f;
    return setenv("FAKE_NVML", f->gpus, 1) + setenv("FAKE_NVML_LIMITS", f->told, 1);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    limit_helper_free(f->helper);
    temp_dir_fini(&f->dir);
    free(f);
    return unsetenv("FAKE_NVML_LIMITS");
}

static const struct limits_memory of_b = {{"GPU-b", 5}, UINT64_C(4) << 20};

static int apply(struct fixture *f, uint32_t pid, int64_t within_ms, struct err *reterr)
{
    if (f->helper == NULL) {
        f->helper = limit_helper_new(&f->options);
    }
    return limit_helper_apply(f->helper, STR(CONTAINER), pid, &of_b, 1, within_ms, reterr);
}

static void succeeds(struct fixture *f)
{
    struct err err;

    if (apply(f, 7, PATIENCE_MS, &err) != 0) {
        fail_msg("%s", err.msg);
    }
}

static void fails(struct fixture *f, uint32_t pid, enum err_code code, const char *says)
{
    struct err err;

    assert_int_equal(apply(f, pid, code == ERR_TIMEOUT ? LIMIT_WITHIN_MS : PATIENCE_MS, &err), -(int)code);
    if (strstr(err.msg, says) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err.msg, says);
    }
}

/* How often the driver was told the limit of the container; nothing else may have been told. */
static int times_told(const struct fixture *f)
{
    FILE *file = fopen(f->told, "re");
    char line[256], want[256];
    int n = 0;

    snprintf(want, sizeof(want), TOLD, f->dir.path);
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        assert_string_equal(line, want);
        n++;
    }
    if (file != NULL) {
        fclose(file);
    }
    return n;
}

static void limit_helper__one_container__the_driver_is_told_for_its_cgroup(void **state)
{
    struct fixture *f = *state;

    succeeds(f);
    assert_int_equal(times_told(f), 1);
    succeeds(f);
    assert_int_equal(times_told(f), 2);
}

static void limit_helper__driver_hangs__the_container_is_refused_and_the_next_is_not(void **state)
{
    struct fixture *f = *state;

    succeeds(f);
    temp_dir_write(&f->dir, "told.script", "hang");
    fails(f, 7, ERR_TIMEOUT, "within 500 ms");
    fails(f, 7, ERR_TIMEOUT, "within 500 ms");
    temp_dir_write(&f->dir, "told.script", "ok");
    succeeds(f);
    assert_true(times_told(f) >= 2); /* and whatever had begun */
}

/* More often than there may be helpers that cannot be ended: these can. */
static void limit_helper__driver_hangs_often__helpers_that_end_do_not_count(void **state)
{
    struct fixture *f = *state;

    temp_dir_write(&f->dir, "told.script", "hang");
    for (int i = 0; i < LIMIT_HELPERS_MAX + 2; i++) {
        fails(f, 7, ERR_TIMEOUT, "within 500 ms");
    }
    temp_dir_write(&f->dir, "told.script", "ok");
    succeeds(f);
}

static void limit_helper__driver_refuses__so_does_it_and_goes_on(void **state)
{
    struct fixture *f = *state;

    temp_dir_write(&f->dir, "told.script", "fail 6");
    fails(f, 7, ERR_UNAVAILABLE, "GPU GPU-b for cgroup");
    temp_dir_remove(&f->dir, "told.script");
    succeeds(f);
}

static void limit_helper__process_of_another_container__nothing_is_limited(void **state)
{
    struct fixture *f = *state;

    fails(f, 8, ERR_UNAVAILABLE, "not in a cgroup of the container");
    fails(f, 9, ERR_UNAVAILABLE, "hostPID"); /* there is none */
    assert_int_equal(times_told(f), 0);
    succeeds(f);
}

static void limit_helper__cgroup_that_cannot_be_seen__is_refused(void **state)
{
    struct fixture *f = *state;
    char root[128];

    temp_dir_path(&f->dir, "pods", root, sizeof(root));
    f->options.cgroup_root = root;
    fails(f, 7, ERR_UNAVAILABLE, "mount the host's /sys/fs/cgroup");
    assert_int_equal(times_told(f), 0);
}

/* Each container is told why, and the driver may come. */
static void limit_helper__library_that_cannot__says_so_each_time(void **state)
{
    struct fixture *f = *state;

    f->options.nvml_library = FGPU_FAKE_NVML_OLD;
    fails(f, 7, ERR_UNAVAILABLE, "has no memory limits");
    fails(f, 7, ERR_UNAVAILABLE, "has no memory limits");
    limit_helper_free(f->helper);
    f->helper = NULL;
    f->options.nvml_library = FGPU_FAKE_NVML;
    temp_dir_write(&f->dir, "gpus", "no-driver\n");
    fails(f, 7, ERR_UNAVAILABLE, "Driver Not Loaded");
    temp_dir_write(&f->dir, "gpus", "gpu GPU-b 0 1000 0 One\n");
    (void)apply(f, 7, PATIENCE_MS, NULL); /* that one may have been started before */
    succeeds(f);
}

static void limit_helper__program_that_is_no_helper__is_an_error(void **state)
{
    struct fixture *f = *state;

    f->options.program = "/bin/true";
    fails(f, 7, ERR_INTERNAL, "has ended");
    limit_helper_free(f->helper);
    f->helper = NULL;
    f->options.program = "/nowhere/fgpu-node";
    fails(f, 7, ERR_INTERNAL, "cannot be started");
}

static int try(struct fixture *f, const char *script, struct err *reterr)
{
    temp_dir_write(&f->dir, "told.script", script);
    if (f->helper == NULL) {
        f->helper = limit_helper_new(&f->options);
    }
    return limit_helper_try(f->helper, strcmp(script, "hang") == 0 ? LIMIT_WITHIN_MS : PATIENCE_MS, reterr);
}

/* Every GPU that takes limits, and no limit that is one. */
static void limit_helper__trial__sets_no_limit_on_its_own_cgroup(void **state)
{
    struct fixture *f = *state;
    char text[512] = "", want[512];
    struct err err;
    FILE *file;

    temp_dir_write(&f->dir, "gpus",
                   "gpu GPU-a 0 1000 0 One\ngpu GPU-m 1 1000 0 Two\nmig MIG-m 500 1g.5gb\n"
                   "gpu GPU-b 2 1000 0 Three\n");
    assert_int_equal(try(f, "ok", &err), 0);
    file = fopen(f->told, "re");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
    fclose(file);
    snprintf(want, sizeof(want), "0 18446744073709551615 GPU-a %s/pods\n0 18446744073709551615 GPU-b %s/pods\n",
             f->dir.path, f->dir.path);
    assert_string_equal(text, want);
}

static void limit_helper__trial_that_fails__says_why(void **state)
{
    struct fixture *f = *state;
    struct err err;

    assert_int_equal(try(f, "fail 6", &err), -ERR_UNAVAILABLE);
    assert_non_null(strstr(err.msg, "controller dmem"));
    assert_int_equal(try(f, "hang", &err), -ERR_TIMEOUT);
    temp_dir_write(&f->dir, "self/cgroup", "0::/../..\n");
    assert_int_equal(try(f, "ok", &err), -ERR_UNAVAILABLE);
    assert_non_null(strstr(err.msg, "hostPID"));
    temp_dir_write(&f->dir, "self/cgroup", "0::/nowhere\n");
    assert_int_equal(try(f, "ok", &err), -ERR_UNAVAILABLE);
    assert_non_null(strstr(err.msg, "/sys/fs/cgroup"));
}

static void limit_helper__names_that_are_too_long__are_refused(void **state)
{
    struct fixture *f = *state;
    char uuid[128];
    struct limits_memory limit = {{uuid, sizeof(uuid)}, 1};
    struct err err;

    memset(uuid, 'x', sizeof(uuid));
    succeeds(f);
    assert_int_equal(limit_helper_apply(f->helper, STR(CONTAINER), 7, &limit, 1, PATIENCE_MS, &err), -ERR_LIMIT);
    succeeds(f);
}

static void limit_helper__driver_that_was_loaded_anew__is_told_by_the_next_call(void **state)
{
    struct fixture *f = *state;
    struct err err;

    succeeds(f);
    temp_dir_write(&f->dir, "gpus", "loaded 2\ngpu GPU-a 0 1000 0 One\ngpu GPU-b 1 1000 0 Two\n");
    assert_int_not_equal(apply(f, 7, PATIENCE_MS, &err), 0); /* the container is tried again */
    succeeds(f);
    assert_int_equal(times_told(f), 2);
}

int main(void)
{
#define WITH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH(limit_helper__one_container__the_driver_is_told_for_its_cgroup),
        WITH(limit_helper__driver_hangs__the_container_is_refused_and_the_next_is_not),
        WITH(limit_helper__driver_hangs_often__helpers_that_end_do_not_count),
        WITH(limit_helper__driver_refuses__so_does_it_and_goes_on),
        WITH(limit_helper__driver_that_was_loaded_anew__is_told_by_the_next_call),
        WITH(limit_helper__process_of_another_container__nothing_is_limited),
        WITH(limit_helper__cgroup_that_cannot_be_seen__is_refused),
        WITH(limit_helper__library_that_cannot__says_so_each_time),
        WITH(limit_helper__program_that_is_no_helper__is_an_error),
        WITH(limit_helper__trial__sets_no_limit_on_its_own_cgroup),
        WITH(limit_helper__trial_that_fails__says_why),
        WITH(limit_helper__names_that_are_too_long__are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
