#define _GNU_SOURCE /* memmem */
/* Limits as they are carried out: what the node lacks is found out at start, MPS's daemon is asked whether it is there,
 * and what a container gets is added to what it has. */
#include "base/bug.h"
#include "cmd_node/limiting.h"
#include "support/cmocka.h"
#include "support/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

struct fixture {
    struct temp_dir dir;
    char gpus[128], told[128];
    struct node_options options;
    struct limiting *limiting;
    struct nvml *nvml;
    struct arena arena;
    struct nri_adjustment adjustment;
    struct str why;
    int daemon;
};

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    char pipes[128];

    temp_dir_init(&f->dir);
    temp_dir_path(&f->dir, "gpus", f->gpus, sizeof(f->gpus));
    temp_dir_path(&f->dir, "told", f->told, sizeof(f->told));
    temp_dir_path(&f->dir, "pipe", pipes, sizeof(pipes));
    temp_dir_write(&f->dir, "gpus", "gpu GPU-a 0 1000 0 One\n");
    arena_init(&f->arena, 1U << 20);
    f->options = (struct node_options){.mps_dir = f->dir.path, .cgroup_root = f->dir.path};
    f->daemon = -1;
    *state = f;
    return setenv("FAKE_NVML", f->gpus, 1) + setenv("FAKE_NVML_LIMITS", f->told, 1) + mkdir(pipes, 0700);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    limiting_free(f->limiting);
    nvml_close(f->nvml);
    arena_fini(&f->arena);
    if (f->daemon >= 0) {
        close(f->daemon);
    }
    temp_dir_fini(&f->dir);
    free(f);
    return 0;
}

static int found(struct fixture *f, enum limits_kind kind, const char *library, struct err *reterr)
{
    f->options.limits = kind;
    f->limiting = limiting_new(&f->options, NULL);
    assert_int_equal(nvml_open(library, &f->nvml, reterr), 0);
    return limiting_found_library(f->limiting, f->nvml, reterr);
}

static void cannot(struct fixture *f, const char *library, const char *says)
{
    struct err err;

    assert_int_equal(found(f, LIMITS_DRIVER, library, &err), -ERR_INVALID);
    if (strstr(err.msg, says) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err.msg, says);
    }
}

static void connect_to(struct fixture *f, const char *runtime)
{
    const struct nri_runtime r = {.name = str_of(runtime), .version = STR("v2.4.2")};

    limiting_connected(f->limiting, &r);
}

/* Container main of pod team/p with 300 milli and 400 MiB of GPU-a. */
static bool create(struct fixture *f)
{
    static const struct assigned_device share = {.uuid = {"GPU-a", 5}, .milli = 300, .mem_mib = 400};
    const struct pod_facts pod = {.uid = STR("u"), .namespace_ = STR("team"), .name = STR("p")};
    const struct container_facts c = {.id = STR("c1"), .name = STR("main")};
    const struct hand_over h = {.answer = HAND_OVER_DEVICES, .devices = &share, .device_n = 1};

    return limiting_create(f->limiting, &pod, &c, &h, &f->arena, &f->adjustment, &f->why);
}

static void start_daemon(struct fixture *f, int type)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    temp_dir_path(&f->dir, "pipe/control", at.sun_path, sizeof(at.sun_path));
    f->daemon = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(f->daemon, (const struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(f->daemon, 0), 0);
}

static void limiting__driver_where_it_cannot_hold__is_an_error_at_start(void **state)
{
    cannot(*state, FGPU_FAKE_NVML_OLD, "r615");
}

static void limiting__driver_with_cgroups_of_version_1__is_an_error_at_start(void **state)
{
    cannot(*state, FGPU_FAKE_NVML, "version 1");
}

static void limiting__driver_with_no_cgroups_there__does_not_speak_of_versions(void **state)
{
    struct fixture *f = *state;

    f->options.cgroup_root = "/nope";
    cannot(f, FGPU_FAKE_NVML, "--cgroup-root is not there");
}

static void limiting__auto_there__adds_nothing_and_refuses_nobody(void **state)
{
    struct fixture *f = *state;
    struct err err;

    assert_int_equal(found(f, LIMITS_AUTO, FGPU_FAKE_NVML, &err), 0);
    connect_to(f, "cri-o");
    assert_true(create(f));
    assert_int_equal(f->adjustment.env.n, 0);
    assert_int_equal(f->adjustment.mount_n, 0);
}

static void limiting__mps_without_its_daemon__the_container_waits(void **state)
{
    struct fixture *f = *state;
    struct err err;

    assert_int_equal(found(f, LIMITS_MPS, FGPU_FAKE_NVML_OLD, &err), 0);
    connect_to(f, "containerd");
    assert_false(create(f));
    assert_non_null(memmem(f->why.p, f->why.n, "waits for the MPS daemon", 24));
    assert_int_equal(f->adjustment.env.n, 0);
    start_daemon(f, SOCK_STREAM);
    assert_true(create(f));
    assert_int_equal(f->adjustment.env.n, 3);
    assert_int_equal(f->adjustment.mount_n, 2);
    /* One that has ended leaves its socket behind. */
    close(f->daemon);
    f->daemon = -1;
    assert_false(create(f));
}

static void limiting__mps_daemon_that_speaks_in_messages__is_there(void **state)
{
    struct fixture *f = *state;
    struct err err;

    start_daemon(f, SOCK_SEQPACKET);
    assert_int_equal(found(f, LIMITS_MPS, FGPU_FAKE_NVML, &err), 0);
    connect_to(f, "containerd");
    assert_true(create(f));
}

static void limiting__what_the_container_gets__stands_behind_what_it_has(void **state)
{
    struct fixture *f = *state;
    static const struct kv visible = {{"NVIDIA_VISIBLE_DEVICES", 22}, {"GPU-a", 5}};
    struct err err;

    start_daemon(f, SOCK_STREAM);
    assert_int_equal(found(f, LIMITS_MPS, FGPU_FAKE_NVML, &err), 0);
    connect_to(f, "containerd");
    f->adjustment.env = (struct kv_list){&visible, 1};
    assert_true(create(f));
    assert_int_equal(f->adjustment.env.n, 4);
    assert_true(str_eq(kv_find(f->adjustment.env, STR("NVIDIA_VISIBLE_DEVICES"))[0], STR("GPU-a")));
    assert_true(str_eq(kv_find(f->adjustment.env, STR("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"))[0], STR("0=400M")));
    assert_true(str_eq(f->adjustment.mounts[0].type, STR("bind")));
    assert_true(str_eq(f->adjustment.mounts[0].destination, STR("/tmp/nvidia-mps")));
}

/* ---- a driver that comes later, and containers that run ---- */

#define SLOW_US 300000 /* one is in time, two are not */

static void make_folder(const struct fixture *f, const char *name)
{
    char path[128];

    temp_dir_path(&f->dir, name, path, sizeof(path));
    assert_int_equal(mkdir(path, 0700), 0);
}

/* Processes 1, 2 and 3 are the first of containers c1, c2 and c3. */
static int found_with_helper(struct fixture *f, enum limits_kind kind, const char *gpus, struct err *reterr)
{
    const struct limits_node node = {.driver_can = true, .cgroup2 = true, .host_pids = true, .start_fails = true};
    const struct limit_helper_options helper = {
        .program = FGPU_NODE, .nvml_library = FGPU_FAKE_NVML, .cgroup_root = f->dir.path, .proc_root = f->dir.path};
    static const char *const folders[] = {"self", "1", "2", "3", "pods", "pods/c1", "pods/c2", "pods/c3"};

    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        make_folder(f, folders[i]);
    }
    temp_dir_write(&f->dir, "self/cgroup", "0::/pods\n");
    temp_dir_write(&f->dir, "1/cgroup", "0::/pods/c1\n");
    temp_dir_write(&f->dir, "2/cgroup", "0::/pods/c2\n");
    temp_dir_write(&f->dir, "3/cgroup", "0::/pods/c3\n");
    temp_dir_write(&f->dir, "gpus", gpus);
    f->options.limits = kind;
    f->limiting = limiting_new(&f->options, NULL);
    return limiting_found_node(f->limiting, &node, &helper, reterr);
}

/* How often the driver was told a limit of a container. */
static int times_told(const struct fixture *f)
{
    FILE *file = fopen(f->told, "re");
    char line[256];
    int n = 0;

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        n += strstr(line, "/pods/c") != NULL;
    }
    if (file != NULL) {
        fclose(file);
    }
    return n;
}

static const struct limits_memory of_a = {{"GPU-a", 5}, UINT64_C(4) << 20};

static size_t wants(void *ctx, struct str id, struct arena *a, struct limits_memory ret[DEVICES_PER_NODE_MAX])
{
    (void)id;
    (void)a;
    if (ctx != NULL) { /* a node where each takes long */
        usleep(SLOW_US);
    }
    ret[0] = of_a;
    return 1;
}

static enum limits_kind kind_now(struct fixture *f)
{
    char why[ERR_MSG_MAX];

    return limiting_kind(f->limiting, why);
}

static void list(struct fixture *f)
{
    limiting_sync_begin(f->limiting);
    limiting_sync_container(f->limiting, STR("c1"), 1);
    limiting_sync_container(f->limiting, STR("c2"), 2);
    limiting_sync_container(f->limiting, STR("c3"), 3);
    limiting_sync_end(f->limiting);
}

static void limiting__auto_before_the_driver_works__watches_and_limits_what_runs_afterwards(void **state)
{
    struct fixture *f = *state;
    struct err err;

    assert_int_equal(found_with_helper(f, LIMITS_AUTO, "no-driver\n", &err), 0);
    connect_to(f, "containerd");
    limiting_sync_begin(f->limiting);
    limiting_sync_container(f->limiting, STR("c2"), 2);
    limiting_sync_end(f->limiting);
    assert_int_equal(kind_now(f), LIMITS_WATCH);
    assert_true(create(f));
    assert_int_equal(limiting_start(f->limiting, STR("c1"), 1, &of_a, 1, &err), 0);
    limiting_running(f->limiting, wants, NULL);
    assert_int_equal(times_told(f), 0);

    temp_dir_write(&f->dir, "gpus", "gpu GPU-a 0 1000 0 One\n");
    for (int i = 0; i < 2; i++) { /* the process that waits may have looked before */
        assert_int_equal(limiting_look(f->limiting, &err), 0);
    }
    assert_int_equal(kind_now(f), LIMITS_DRIVER);
    limiting_running(f->limiting, wants, NULL);
    assert_int_equal(times_told(f), 2);
}

static void limiting__driver_before_it_works__refuses_until_then(void **state)
{
    struct fixture *f = *state;
    struct err err;

    assert_int_equal(found_with_helper(f, LIMITS_DRIVER, "no-driver\n", &err), 0);
    connect_to(f, "containerd");
    assert_false(create(f));
    assert_int_equal(limiting_start(f->limiting, STR("c1"), 1, &of_a, 1, &err), -ERR_UNAVAILABLE);
    temp_dir_write(&f->dir, "gpus", "gpu GPU-a 0 1000 0 One\n");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(limiting_look(f->limiting, &err), 0);
    }
    assert_true(create(f));
    assert_int_equal(limiting_start(f->limiting, STR("c1"), 1, &of_a, 1, &err), 0);
    assert_int_equal(times_told(f), 1);
}

static void limiting__driver_that_comes_and_refuses__is_an_error_then(void **state)
{
    struct fixture *f = *state;
    struct err err;

    assert_int_equal(found_with_helper(f, LIMITS_DRIVER, "no-driver\n", &err), 0);
    temp_dir_write(&f->dir, "told.script", "fail 3");
    temp_dir_write(&f->dir, "gpus", "gpu GPU-a 0 1000 0 One\n");
    if (limiting_look(f->limiting, &err) == 0) {
        assert_int_equal(limiting_look(f->limiting, &err), -ERR_INVALID);
    }
}

static void limiting__more_that_run_than_there_is_time_for__the_rest_is_told_later(void **state)
{
    struct fixture *f = *state;
    struct err err;

    assert_int_equal(found_with_helper(f, LIMITS_DRIVER, "gpu GPU-a 0 1000 0 One\n", &err), 0);
    connect_to(f, "containerd");
    list(f);
    limiting_running(f->limiting, wants, f);
    assert_in_range(times_told(f), 0, 1);
    limiting_running(f->limiting, wants, NULL);
    limiting_running(f->limiting, wants, NULL);
    assert_int_equal(times_told(f), 3);
}

static void limiting__containers_that_were_told__are_not_told_when_they_are_listed_again(void **state)
{
    struct fixture *f = *state;
    struct err err;

    assert_int_equal(found_with_helper(f, LIMITS_DRIVER, "gpu GPU-a 0 1000 0 One\n", &err), 0);
    connect_to(f, "containerd");
    assert_int_equal(limiting_start(f->limiting, STR("c1"), 1, &of_a, 1, &err), 0);
    list(f);
    limiting_running(f->limiting, wants, NULL);
    assert_int_equal(times_told(f), 3);
    list(f);
    limiting_running(f->limiting, wants, NULL);
    assert_int_equal(times_told(f), 3);
    limiting_ended(f->limiting, STR("c2"));
    list(f);
    limiting_running(f->limiting, wants, NULL);
    assert_int_equal(times_told(f), 4);
}

int main(void)
{
#define WITH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH(limiting__driver_where_it_cannot_hold__is_an_error_at_start),
        WITH(limiting__driver_with_cgroups_of_version_1__is_an_error_at_start),
        WITH(limiting__driver_with_no_cgroups_there__does_not_speak_of_versions),
        WITH(limiting__auto_there__adds_nothing_and_refuses_nobody),
        WITH(limiting__mps_without_its_daemon__the_container_waits),
        WITH(limiting__mps_daemon_that_speaks_in_messages__is_there),
        WITH(limiting__what_the_container_gets__stands_behind_what_it_has),
        WITH(limiting__auto_before_the_driver_works__watches_and_limits_what_runs_afterwards),
        WITH(limiting__driver_before_it_works__refuses_until_then),
        WITH(limiting__driver_that_comes_and_refuses__is_an_error_then),
        WITH(limiting__more_that_run_than_there_is_time_for__the_rest_is_told_later),
        WITH(limiting__containers_that_were_told__are_not_told_when_they_are_listed_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
