/* What keeps a container to its share: which kind, what it adds when a container is created, what the driver is told
 * when it is started. */
#include "node/limits.h"
#include "node/support/node_fixture.h"
#include "support/cmocka.h"

#include "base/compiler.h"

#include <string.h>

static const struct limits_rules mps = {.kind = LIMITS_MPS, .mps_dir = {"/run/mps", 8}};
static const struct limits_rules hami = {
    .kind = LIMITS_HAMI_CORE, .hami_dir = {"/run/hami", 9}, .hami_library = {"/opt/libvgpu.so", 15}};

/* Container main of pod p, which is handed these. */
static struct limits limits_of(struct node_fixture *f, const struct limits_rules *rules, const struct hand_over *h,
                               const struct str *env, size_t env_n)
{
    const struct pod_facts pod = pod_with(f, "p", STR_NULL);
    struct container_facts c = container_of(f, &pod, "main");

    c.env = env;
    c.env_n = env_n;
    return limits_at_creation(rules, &pod, &c, h, &f->arena);
}

static struct hand_over handed(const struct assigned_device *devices, size_t n)
{
    return (struct hand_over){.answer = HAND_OVER_DEVICES, .devices = devices, .device_n = n};
}

static struct limits limits_of_devices(struct node_fixture *f, const struct limits_rules *rules,
                                       const struct assigned_device *devices, size_t n)
{
    const struct hand_over h = handed(devices, n);

    return limits_of(f, rules, &h, NULL, 0);
}

static void has(const struct limits *l, const char *key, const char *value)
{
    const struct str *found = kv_find(l->env, str_of(key));

    if (found == NULL || !str_eq_cstr(*found, value)) {
        fail_msg("%s is %.*s, not %s", key, STR_ARG(found == NULL ? STR("missing") : *found), value);
    }
}

static void has_mount(const struct limits *l, const char *source, const char *destination, bool read_only)
{
    for (size_t i = 0; i < l->mount_n; i++) {
        if (str_eq_cstr(l->mounts[i].destination, destination)) {
            assert_true(str_eq_cstr(l->mounts[i].source, source));
            assert_int_equal(l->mounts[i].read_only, read_only);
            return;
        }
    }
    fail_msg("no mount at %s", destination);
}

static void adds_nothing(const struct limits *l)
{
    assert_null(l->why.p);
    assert_int_equal(l->env.n, 0);
    assert_int_equal(l->mount_n, 0);
}

static void refused_with(const struct limits *l, const char *says)
{
    assert_non_null(l->why.p);
    assert_says(l->why, says);
    assert_int_equal(l->env.n, 0);
    assert_int_equal(l->mount_n, 0);
}

/* ---- which kind ---- */

static void limits__auto__is_driver_only_where_it_holds(void **state)
{
    for (int bits = 0; bits < 32; bits++) {
        const struct limits_node node = {.driver_can = (bits & 1) != 0,
                                         .cgroup2 = (bits & 2) != 0,
                                         .host_pids = (bits & 4) != 0,
                                         .start_fails = (bits & 8) != 0,
                                         .trial = (bits & 16) != 0 ? NULL : "it was tried"};
        const char *why;

        assert_int_equal(limits_choose(LIMITS_AUTO, &node, &why), bits == 31 ? LIMITS_DRIVER : LIMITS_WATCH);
        assert_int_equal(why == NULL, bits == 31);
        /* What the admin said is not replaced by something weaker. */
        assert_int_equal(limits_choose(LIMITS_DRIVER, &node, &why), LIMITS_DRIVER);
        assert_int_equal(why == NULL, bits == 31);
        assert_int_equal(limits_choose(LIMITS_MPS, &node, &why), LIMITS_MPS);
        assert_null(why);
    }
}

static void limits__cgroups_that_are_not_there__are_not_of_version_1(void **state)
{
    const struct limits_node node = {.driver_can = true, .no_cgroups = true, .host_pids = true, .start_fails = true};
    const char *why;

    assert_int_equal(limits_choose(LIMITS_AUTO, &node, &why), LIMITS_WATCH);
    assert_non_null(strstr(why, "--cgroup-root is not there"));
    assert_null(strstr(why, "version 1"));
}

static void limits__names__are_those_of_the_option(void **state)
{
    enum limits_kind k = LIMITS_NONE;

    for (int i = 0; i < LIMITS__MAX; i++) {
        assert_true(limits_kind_parse(str_of(limits_kind_name((enum limits_kind)i)), &k));
        assert_int_equal(k, i);
    }
    assert_false(limits_kind_parse(STR("Driver"), &k));
    assert_false(limits_kind_parse(STR(""), &k));
}

/* ---- mps ---- */

static void limits__mps__one_share__has_pipe_threads_and_memory(void **state)
{
    struct node_fixture *f = *state;
    const struct limits l = limits_of_devices(f, &mps, ONE_OF(share_of(f, 1, 300, 400)));

    assert_null(l.why.p);
    assert_int_equal(l.env.n, 3);
    has(&l, "CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps");
    has(&l, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "30");
    has(&l, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=400M"); /* as the process numbers it, not the node */
    assert_int_equal(l.mount_n, 2);
    has_mount(&l, "/run/mps/pipe", "/tmp/nvidia-mps", false);
    has_mount(&l, "/run/mps/shm", "/dev/shm", false);
}

static void limits__mps__several_gpus__the_order_is_said_and_the_smallest_share_counts(void **state)
{
    struct node_fixture *f = *state;
    const struct limits l = limits_of_devices(f, &mps, TWO_OF(share_of(f, 0, 500, 100), share_of(f, 1, 5, 200)));

    has(&l, "CUDA_VISIBLE_DEVICES", "GPU-a,GPU-b");
    has(&l, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "1");
    has(&l, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=100M,1=200M");
}

static void limits__mps__one_alone_and_one_shared__only_the_shared_is_limited(void **state)
{
    struct node_fixture *f = *state;
    const struct limits l = limits_of_devices(f, &mps, TWO_OF(whole_of(f, 0), share_of(f, 1, 1000, 200)));

    has(&l, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "100");
    has(&l, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "1=200M");
}

static void limits__mps__a_whole_gpu__goes_through_the_daemon_without_limits(void **state)
{
    struct node_fixture *f = *state;
    const struct limits l = limits_of_devices(f, &mps, ONE_OF(whole_of(f, 0)));

    assert_int_equal(l.env.n, 2);
    has(&l, "CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps");
    has(&l, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "100");
}

static void limits__mps__an_instance__is_left_alone(void **state)
{
    struct node_fixture *f = *state;
    const struct limits l = limits_of_devices(f, &mps, ONE_OF(whole_of(f, 3)));

    adds_nothing(&l);
}

static void limits__mps__who_may_use_what_is_idle__has_all_threads(void **state)
{
    struct node_fixture *f = *state;
    struct hand_over h = handed(ONE_OF(share_of(f, 1, 300, 400)));
    struct limits l;

    h.qos = QOS_BEST_EFFORT;
    l = limits_of(f, &mps, &h, NULL, 0);
    has(&l, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "100");
    has(&l, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=400M");
}

static void limits__variable_of_image_or_pod__is_replaced_and_of_both_refused(void **state)
{
    struct node_fixture *f = *state;
    static const struct str once[] = {{"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=99G", 38}};
    static const struct str twice[] = {{"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=99G", 38},
                                       {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=7=1M", 37}};
    static const struct str same[] = {{"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=400M", 39},
                                      {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=400M", 39}};
    const struct hand_over h = handed(ONE_OF(share_of(f, 1, 300, 400)));
    struct limits l = limits_of(f, &mps, &h, once, 1);

    has(&l, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=400M");
    l = limits_of(f, &mps, &h, twice, 2);
    refused_with(&l, "image and pod both set CUDA_MPS_PINNED_DEVICE_MEM_LIMIT for container main of pod team/p");
    l = limits_of(f, &mps, &h, same, 2);
    assert_null(l.why.p);
}

static void limits__mount_over_one_of_ours__is_refused_however_it_is_spelled(void **state)
{
    struct node_fixture *f = *state;
    static const struct {
        const char *at;
        bool refused;
    } rows[] = {{"/tmp/nvidia-mps", true},
                {"/tmp/nvidia-mps/control", true},
                {"//x/../tmp/./nvidia-mps/", true},
                {"tmp/nvidia-mps", true},
                {"/../tmp/nvidia-mps", true},
                {"/tmp", false},
                {"/tmp/nvidia-mps-other", false},
                {"/", false},
                {"/dev/shm", false}}; /* every container has that */
    const struct pod_facts pod = pod_with(f, "p", STR_NULL);
    const struct hand_over h = handed(ONE_OF(share_of(f, 1, 300, 400)));

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct container_facts c = container_of(f, &pod, "main");
        const struct str at = str_of(rows[i].at);
        struct limits l;

        c.mounts = &at;
        c.mount_n = 1;
        l = limits_at_creation(&mps, &pod, &c, &h, &f->arena);
        if ((l.why.p != NULL) != rows[i].refused) {
            fail_msg("%s: %.*s", rows[i].at, STR_ARG(l.why));
        }
        if (rows[i].refused) {
            refused_with(&l, "container main of pod team/p has a mount at /tmp/nvidia-mps");
        }
    }
}

/* ---- hami-core ---- */

static void limits__hami_core__has_library_and_limits_of_each_device(void **state)
{
    struct node_fixture *f = *state;
    const struct limits l = limits_of_devices(f, &hami, TWO_OF(share_of(f, 0, 500, 100), whole_of(f, 1)));

    assert_null(l.why.p);
    has(&l, "CUDA_DEVICE_MEMORY_LIMIT_0", "100m");
    has(&l, "CUDA_DEVICE_SM_LIMIT_0", "50");
    has(&l, "CUDA_DEVICE_MEMORY_LIMIT_1", "0m");
    has(&l, "CUDA_DEVICE_SM_LIMIT_1", "100");
    has(&l, "CUDA_DISABLE_CONTROL", "false");
    has(&l, "GPU_CORE_UTILIZATION_POLICY", "force");
    has(&l, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    has_mount(&l, "/opt/libvgpu.so", "/usr/local/vgpu/libvgpu.so", true);
    has_mount(&l, "/run/hami/ld.so.preload", "/etc/ld.so.preload", true);
    has_mount(&l, "/run/hami/lock", "/tmp/vgpulock", false);
}

static void limits__hami_core__who_has_gpus_alone__is_left_alone(void **state)
{
    struct node_fixture *f = *state;
    const struct limits l = limits_of_devices(f, &hami, TWO_OF(whole_of(f, 0), whole_of(f, 3)));

    adds_nothing(&l);
}

/* ---- driver ---- */

static void limits__driver__adds_nothing_at_creation_and_limits_memory_at_start(void **state)
{
    struct node_fixture *f = *state;
    const struct limits_rules rules = {.kind = LIMITS_DRIVER};
    const struct assigned_device devices[] = {share_of(f, 0, 300, 400), whole_of(f, 1), share_of(f, 2, 300, 0),
                                              whole_of(f, 3)};
    struct limits_memory told[DEVICES_PER_NODE_MAX];
    const struct limits l = limits_of_devices(f, &rules, devices, ARRAY_LEN(devices));

    adds_nothing(&l);
    assert_int_equal(limits_at_start(LIMITS_DRIVER, &f->rules.node, devices, ARRAY_LEN(devices), told), 1);
    assert_true(str_eq(told[0].uuid, STR("GPU-a")));
    assert_int_equal(told[0].hard_bytes, UINT64_C(400) << 20);
    assert_int_equal(limits_at_start(LIMITS_MPS, &f->rules.node, devices, ARRAY_LEN(devices), told), 0);
}

/* A record of a node that did not know UUIDs names a GPU by its index. */
static void limits__driver__a_gpu_by_its_index__is_told_by_its_uuid(void **state)
{
    struct node_fixture *f = *state;
    struct assigned_device d = share_of(f, 1, 300, ASSIGNMENT_MEM_MIB_MAX);
    struct limits_memory told[DEVICES_PER_NODE_MAX];

    d.uuid = STR_NULL;
    assert_int_equal(limits_at_start(LIMITS_DRIVER, &f->rules.node, &d, 1, told), 1);
    assert_true(str_eq(told[0].uuid, STR("GPU-b")));
    assert_int_equal(told[0].hard_bytes, (uint64_t)ASSIGNMENT_MEM_MIB_MAX << 20);
}

/* It may come back while the container runs: without a limit, if nobody had been told. */
static void limits__driver__a_gpu_that_is_lost__is_not_forgotten(void **state)
{
    struct node_fixture *f = *state;
    struct assigned_device d = share_of(f, 1, 300, 400);
    struct limits_memory told[DEVICES_PER_NODE_MAX];

    f->rules.node.device_n = 1;
    assert_int_equal(limits_at_start(LIMITS_DRIVER, &f->rules.node, &d, 1, told), 1);
    assert_true(str_eq(told[0].uuid, STR("GPU-b")));
    d.uuid = STR_NULL;
    assert_int_equal(limits_at_start(LIMITS_DRIVER, &f->rules.node, &d, 1, told), 1);
    assert_int_equal(told[0].uuid.n, 0);
}

static void limits__driver_where_it_cannot_hold__refuses_who_needs_it_and_nobody_else(void **state)
{
    struct node_fixture *f = *state;
    const struct limits_rules rules = {.kind = LIMITS_DRIVER, .why_not = "it is too old"};
    struct limits l = limits_of_devices(f, &rules, ONE_OF(share_of(f, 0, 300, 400)));

    refused_with(&l, "container main of pod team/p needs a limit, and --limits=driver cannot hold it on this node: it "
                     "is too old");
    l = limits_of_devices(f, &rules, TWO_OF(whole_of(f, 0), whole_of(f, 3)));
    adds_nothing(&l);
}

/* ---- none ---- */

static void limits__watch_none_and_containers_without_gpus__add_nothing(void **state)
{
    struct node_fixture *f = *state;
    const struct limits_rules watch = {.kind = LIMITS_WATCH}, none = {.kind = LIMITS_NONE};
    const struct hand_over hidden = {.answer = HAND_OVER_VOID};
    struct limits l = limits_of_devices(f, &watch, ONE_OF(share_of(f, 0, 300, 400)));

    adds_nothing(&l);
    l = limits_of_devices(f, &none, ONE_OF(share_of(f, 0, 300, 400)));
    adds_nothing(&l);
    l = limits_of(f, &mps, &hidden, NULL, 0);
    adds_nothing(&l);
    l = limits_of(f, &hami, &hidden, NULL, 0);
    adds_nothing(&l);
}

static void limits__without_memory__is_refused(void **state)
{
    struct node_fixture *f = *state;
    const struct pod_facts pod = pod_with(f, "p", STR_NULL);
    const struct container_facts c = container_of(f, &pod, "main");
    const struct hand_over h = handed(TWO_OF(share_of(f, 0, 300, 400), share_of(f, 1, 300, 400)));

    for (size_t bytes = 1; bytes < 16384; bytes += 64) {
        struct arena a;
        struct limits l;

        arena_init(&a, bytes);
        l = limits_at_creation(bytes % 128 == 1 ? &mps : &hami, &pod, &c, &h, &a);
        if (a.overflowed) {
            refused_with(&l, "no memory left");
        } else {
            assert_null(l.why.p);
        }
        arena_fini(&a);
    }
}

int main(void)
{
#define WITH_NODE(test) cmocka_unit_test_setup_teardown(test, node_fixture_set_up, node_fixture_tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits__auto__is_driver_only_where_it_holds),
        cmocka_unit_test(limits__cgroups_that_are_not_there__are_not_of_version_1),
        cmocka_unit_test(limits__names__are_those_of_the_option),
        WITH_NODE(limits__mps__one_share__has_pipe_threads_and_memory),
        WITH_NODE(limits__mps__several_gpus__the_order_is_said_and_the_smallest_share_counts),
        WITH_NODE(limits__mps__one_alone_and_one_shared__only_the_shared_is_limited),
        WITH_NODE(limits__mps__a_whole_gpu__goes_through_the_daemon_without_limits),
        WITH_NODE(limits__mps__an_instance__is_left_alone),
        WITH_NODE(limits__mps__who_may_use_what_is_idle__has_all_threads),
        WITH_NODE(limits__variable_of_image_or_pod__is_replaced_and_of_both_refused),
        WITH_NODE(limits__mount_over_one_of_ours__is_refused_however_it_is_spelled),
        WITH_NODE(limits__hami_core__has_library_and_limits_of_each_device),
        WITH_NODE(limits__hami_core__who_has_gpus_alone__is_left_alone),
        WITH_NODE(limits__driver__adds_nothing_at_creation_and_limits_memory_at_start),
        WITH_NODE(limits__driver__a_gpu_by_its_index__is_told_by_its_uuid),
        WITH_NODE(limits__driver__a_gpu_that_is_lost__is_not_forgotten),
        WITH_NODE(limits__driver_where_it_cannot_hold__refuses_who_needs_it_and_nobody_else),
        WITH_NODE(limits__watch_none_and_containers_without_gpus__add_nothing),
        WITH_NODE(limits__without_memory__is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
