/* What the Binding says to the program that makes devices visible on a node (model/hand_off.h), which pods a hand-off
 * cannot serve, and what is required of the container runtime where fgpu-node runs. */
#include "base/compiler.h"
#include "core/dialects/dialect.h"
#include "core/fit/feasibility.h"
#include "core/inventory/inventory.h"
#include "model/mig.h"
#include "model/names.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#define ARENA_BYTES (1 << 20)
#define NAME_33 "n23456789012345678901234567890123"
#define NAME_53 NAME_33 "45678901234567890123"
#define NAME_63 NAME_53 "4567890123"

static void expect(struct kv_list list, const char *key, const char *want)
{
    const struct str *got = kv_find(list, str_of(key));

    if (want == NULL ? got != NULL : got == NULL || !str_eq_cstr(*got, want)) {
        fail_msg("%s: got \"%.*s\", want \"%s\"", key, got ? (int)got->n : 6, got ? got->p : "(none)",
                 want ? want : "(none)");
    }
}

/* ---- names ---- */

static void hand_off__each__its_name_and_the_longest_name_of_a_container(void **state)
{
    static const struct {
        const char *name;
        size_t bytes;
    } rows[HAND_OFF__MAX] = {
        {"downward-api", 63}, {"agent", 63}, {"nvidia-cdi", 53}, {"kai-fractioning", 33}, {"kai-sm-sharing", 33}};

    for (unsigned h = 0; h < HAND_OFF__MAX; h++) {
        enum hand_off parsed = HAND_OFF__MAX;

        assert_string_equal(hand_off_name((enum hand_off)h), rows[h].name);
        assert_int_equal(hand_off_name_bytes_max((enum hand_off)h), rows[h].bytes);
        assert_true(hand_off_parse(str_of(rows[h].name), &parsed));
        assert_int_equal(parsed, h);
    }
    assert_false(hand_off_parse(STR("kai"), &(enum hand_off){0}));
}

/* ---- what is written ---- */

static int answer(enum hand_off h, const struct assignment *of, struct arena *a, struct kv_list *ret)
{
    struct assignment as = *of;

    as.hand_off = h;
    return dialect_answer(&as, a, ret, NULL);
}

static const struct assigned_device of_setup[] = {{STR("GPU-b"), 1, 1000, 81920}};
static const struct assigned_device of_main[] = {{STR("GPU-a"), 0, 300, 4096}, {STR("GPU-b"), 1, 50, 2048}};
static const struct assigned_container two[] = {
    {.name = STR("setup"), .init = true, .position = 2, .devices = of_setup, .device_n = 1},
    {.name = STR("main"), .position = 1, .devices = of_main, .device_n = 2},
    {.name = STR("plain"), .position = 2},
};
static const struct assignment decided = {.id = STR("d-1"), .containers = two, .container_n = 3};

static void hand_off__agent__the_record_alone(void **state)
{
    struct kv_list list;
    struct arena a;

    arena_init(&a, ARENA_BYTES);
    assert_int_equal(answer(HAND_OFF_AGENT, &decided, &a, &list), 0);
    assert_int_equal(list.n, 1);
    assert_true(str_eq(list.items[0].key, STR(ASSIGNMENT_KEY)));
    arena_fini(&a);
}

static void hand_off__nvidia_cdi__names_of_cdi_for_each_container(void **state)
{
    static const struct assigned_device unknown[] = {{STR(""), 0, 300, 4096}, {STR("GPU-b"), 1, 300, 4096}};
    static const struct assigned_container c = {.name = STR(NAME_53), .devices = unknown, .device_n = 2};
    static const struct assignment indexes = {.id = STR("d"), .containers = &c, .container_n = 1};
    struct kv_list list;
    struct arena a;

    arena_init(&a, ARENA_BYTES);
    assert_int_equal(answer(HAND_OFF_NVIDIA_CDI, &decided, &a, &list), 0);
    assert_int_equal(list.n, 3);
    expect(list, "nvidia.cdi.k8s.io/container.setup", "nvidia.com/gpu=GPU-b");
    expect(list, "nvidia.cdi.k8s.io/container.main", "nvidia.com/gpu=GPU-a,nvidia.com/gpu=GPU-b");
    assert_int_equal(answer(HAND_OFF_NVIDIA_CDI, &indexes, &a, &list), 0);
    expect(list, "nvidia.cdi.k8s.io/container." NAME_53, "nvidia.com/gpu=0,nvidia.com/gpu=GPU-b");
    assert_true(kube_name_is_annotation_key(list.items[1].key));
    arena_fini(&a);
}

static void hand_off__kai__devices_memory_and_portion(void **state)
{
    struct kv_list list;
    struct arena a;

    arena_init(&a, ARENA_BYTES);
    assert_int_equal(answer(HAND_OFF_KAI_FRACTIONING, &decided, &a, &list), 0);
    expect(list, "nvidia.com/container.setup.gpus.devices", "GPU-b");
    expect(list, "nvidia.com/container.setup.gpu-memory.request", "81920Mi");
    expect(list, "nvidia.com/container.setup.gpu-memory.limit", "81920Mi");
    expect(list, "nvidia.com/container.setup.gpu-compute.mode", "time-slicing");
    expect(list, "nvidia.com/container.setup.gpu-compute.portion", NULL); /* all of it */
    expect(list, "nvidia.com/container.main.gpus.devices", "GPU-a,GPU-b");
    expect(list, "nvidia.com/container.main.gpu-memory.request",
           "2048Mi"); /* it holds on both: no more than on either */
    expect(list, "nvidia.com/container.main.gpu-memory.limit", "2048Mi");
    expect(list, "nvidia.com/container.main.gpu-compute.portion", "0.05");
    assert_int_equal(list.n, 1 + 4 + 5);
    assert_int_equal(answer(HAND_OFF_KAI_SM_SHARING, &decided, &a, &list), 0);
    expect(list, "nvidia.com/container.main.gpu-compute.mode", "sm-sharing");
    assert_int_equal(list.n, 1 + 4 + 5);
    arena_fini(&a);
}

static void hand_off__kai__portion_by_quality_of_service(void **state)
{
    static const struct {
        int32_t milli;
        enum qos qos;
        enum lending lending;
        const char *portion;
    } rows[] = {
        {300, QOS_FIXED_SHARE, LEND_ALLOW, "0.3"},    {1, QOS_FIXED_SHARE, LEND_ALLOW, "0.001"},
        {999, QOS_FIXED_SHARE, LEND_ALLOW, "0.999"},  {1000, QOS_FIXED_SHARE, LEND_ALLOW, NULL},
        {0, QOS_FIXED_SHARE, LEND_ALLOW, NULL},       {300, QOS_BEST_EFFORT, LEND_ALLOW, NULL},
        {305, QOS_BEST_EFFORT, LEND_FORBID, "0.305"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct assigned_device d = {STR("GPU-a"), 0, rows[i].milli, 4096};
        const struct assigned_container c = {.name = STR("main"), .devices = &d, .device_n = 1};
        const struct assignment as = {
            .id = STR("d"), .containers = &c, .container_n = 1, .qos = rows[i].qos, .lending = rows[i].lending};
        struct kv_list list;
        struct arena a;

        arena_init(&a, ARENA_BYTES);
        assert_int_equal(answer(HAND_OFF_KAI_FRACTIONING, &as, &a, &list), 0);
        expect(list, "nvidia.com/container.main.gpu-compute.portion", rows[i].portion);
        arena_fini(&a);
    }
}

/* filter keeps such pods away; a Binding that would hand over nothing is not written all the same. */
static void hand_off__what_it_cannot_say__no_answer(void **state)
{
    static const struct assigned_device plain = {STR("GPU-a"), 0, 300, 4096}, unknown = {STR("GPU-a"), 0, 300, 0},
                                        little = {STR("GPU-a"), 0, 300, 1},
                                        instance = {STR("MIG-a"), 1024, 142, 4864, MIG_PROFILE(1, 5)};
    static const struct {
        const char *name;
        const struct assigned_device *device;
        bool fits[HAND_OFF__MAX];
    } rows[] = {
        {NAME_63, &plain, {true, true, false, false, false}}, {NAME_53 "4", &plain, {true, true, false, false, false}},
        {NAME_53, &plain, {true, true, true, false, false}},  {NAME_33 "4", &plain, {true, true, true, false, false}},
        {NAME_33, &plain, {true, true, true, true, true}},    {"a", &unknown, {true, true, true, false, false}},
        {"a", &instance, {true, true, true, false, false}},   {"a", &little, {true, true, true, true, true}},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows) * HAND_OFF__MAX; i++) {
        const size_t row = i / HAND_OFF__MAX, h = i % HAND_OFF__MAX;
        const struct assigned_container c = {
            .name = str_of(rows[row].name), .devices = rows[row].device, .device_n = 1};
        const struct assignment as = {.id = STR("d"), .containers = &c, .container_n = 1};
        struct kv_list list = {0};
        struct arena a;

        arena_init(&a, ARENA_BYTES);
        assert_int_equal(answer((enum hand_off)h, &as, &a, &list), rows[row].fits[h] ? 0 : -ERR_INVALID);
        for (size_t k = 0; k < list.n; k++) {
            assert_true(kube_name_is_annotation_key(list.items[k].key));
        }
        arena_fini(&a);
    }
}

/* ---- which pods fit ---- */

static struct demand demand_of(struct str container, struct arena *a)
{
    const struct kv asked = {STR("fgpu.io/gpu-milli"), STR("300")};
    const struct container containers[] = {{.name = STR(NAME_63)}, {.name = container, .limits = {&asked, 1}}};
    const struct pod pod = {.containers = containers, .container_n = 2};
    struct demand d;

    assert_true(dialect_demand(policy_defaults(), &pod, a, &d));
    assert_int_equal(d.defect, DEMAND_OK);
    return *demand_copy_to(&d, a);
}

static void hand_off__long_name__refused_on_such_nodes_only(void **state)
{
    static const struct {
        const char *name;
        enum verdict verdicts[HAND_OFF__MAX];
    } rows[] = {
        {NAME_63, {VERDICT_FITS, VERDICT_FITS, VERDICT_HAND_OFF_NAME, VERDICT_HAND_OFF_NAME, VERDICT_HAND_OFF_NAME}},
        {NAME_53, {VERDICT_FITS, VERDICT_FITS, VERDICT_FITS, VERDICT_HAND_OFF_NAME, VERDICT_HAND_OFF_NAME}},
        {NAME_33, {VERDICT_FITS, VERDICT_FITS, VERDICT_FITS, VERDICT_FITS, VERDICT_FITS}},
    };
    struct arena a;

    arena_init(&a, ARENA_BYTES);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct demand d = demand_of(str_of(rows[i].name), &a);
        const struct demand nothing = {.dialect = ""};

        for (uint8_t h = 0; h < HAND_OFF__MAX; h++) {
            const struct node_state node = {.flags = NODE_DESCRIBED, .hand_off = h};

            assert_int_equal(feasibility_of_node(&node, &d), rows[i].verdicts[h]);
            assert_int_equal(feasibility_of_node(&node, &nothing), VERDICT_FITS);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct demand d = demand_of(str_of(rows[i].name), &a);
        const struct node_state unfit = {.flags = NODE_DESCRIBED, .hand_off = HAND_OFF__MAX};

        assert_int_equal(feasibility_of_node(&unfit, &d), VERDICT_HAND_OFF);
    }
    arena_fini(&a);
}

/* Instances that a device plugin publishes by profile are picked, and handed over, by kubelet. */
static void hand_off__instances_of_a_plugin__none_of_its_business(void **state)
{
    static const struct gpu_request one = {.count = 1, .kind = GPU_REQUEST_WHOLE, .profile = MIG_PROFILE(1, 5)};
    struct demand d = {.gpu_requests = &one, .gpu_request_n = 1, .dialect = "", .name_bytes_most = 63};
    struct node_state node = {.flags = NODE_DESCRIBED | NODE_MIG_COUNTED, .hand_off = HAND_OFF_KAI_FRACTIONING};

    assert_int_equal(feasibility_of_node(&node, &d), VERDICT_FITS);
    node.hand_off = HAND_OFF__MAX;
    assert_int_equal(feasibility_of_node(&node, &d), VERDICT_FITS);
    node.flags = NODE_DESCRIBED;
    assert_int_equal(feasibility_of_node(&node, &d), VERDICT_HAND_OFF);
}

/* ---- of a node ---- */

static struct inventory inventory_of(const struct policy *p, const char *gpus, const struct kv *label,
                                     const char **note)
{
    static struct arena a;
    const struct kv annotation = {STR("fgpu.io/gpus"), str_of(gpus)};
    const struct node node = {.annotations = {&annotation, 1}, .labels = {label, label != NULL}};
    struct inventory inv;

    arena_fini(&a);
    arena_init(&a, ARENA_BYTES);
    assert_true(dialect_inventory(p, &node, &a, &inv, note));
    return inv;
}

#define ONE_GPU "\"gpus\":[{\"uuid\":\"GPU-a\",\"index\":0,\"memMib\":81920}]}"

static void inventory__hand_off__of_the_node_by_its_labels(void **state)
{
    const struct kv pool = {STR("toolkit"), STR("cdi")};
    const struct device_override o = {.node_selector = {&pool, 1},
                                      .settings = {DEVICES_AS_ELSEWHERE, DEVICES_AS_ELSEWHERE, DEVICES_AS_ELSEWHERE,
                                                   DEVICES_AS_ELSEWHERE, MEMORY_ONLY__MAX, QOS__MAX, LEND__MAX,
                                                   HAND_OFF_NVIDIA_CDI}};
    struct policy p = *policy_defaults();
    const char *note;

    p.hand_off = HAND_OFF_AGENT;
    p.overrides = &o;
    p.override_n = 1;
    assert_int_equal(inventory_of(&p, "{\"v\":1," ONE_GPU, &pool, &note).hand_off, HAND_OFF_NVIDIA_CDI);
    assert_int_equal(inventory_of(&p, "{\"v\":1," ONE_GPU, NULL, &note).hand_off, HAND_OFF_AGENT);
}

static void inventory__kai__only_gpus_of_known_memory_that_are_whole(void **state)
{
    static const struct {
        const char *gpus;
        bool unfit;
    } rows[] = {
        {"{\"v\":1," ONE_GPU, false},
        {"{\"v\":1,\"gpus\":[]}", false},
        {"{\"v\":1,\"gpus\":[{\"uuid\":\"GPU-a\",\"index\":0,\"memMib\":81920},"
         "{\"uuid\":\"GPU-b\",\"index\":1,\"memMib\":81920,\"mig\":[]}]}",
         true},
        {"{\"v\":1,\"gpus\":[{\"uuid\":\"GPU-a\",\"index\":0,\"memMib\":1024}]}", true}, /* all of it is reserved */
    };
    struct policy p = *policy_defaults();

    p.mem_reserve_mib = 1024;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *note;

        for (unsigned h = 0; h < HAND_OFF__MAX; h++) {
            p.hand_off = (enum hand_off)h;
            assert_int_equal(inventory_of(&p, rows[i].gpus, NULL, &note).hand_off_unfit, rows[i].unfit && h >= 3);
        }
        assert_true(!rows[i].unfit || note != NULL);
    }
}

/* What is handed off is for programs of NVIDIA; the downward API says numbers and names to whoever reads them. */
static void inventory__gpus_of_another_vendor__the_downward_api_alone(void **state)
{
    const struct kv gpus = {STR("fgpu.io/gpus"), STR("{\"v\":1," ONE_GPU)}, of_amd = {STR("amd.com/gpu"), STR("1")},
                    of_nvidia = {STR("nvidia.com/gpu"), STR("1")};
    static const struct str wholes[] = {STR("nvidia.com/gpu"), STR("amd.com/gpu")};
    struct policy p = *policy_defaults();

    p.whole_resources = wholes;
    p.whole_resource_n = 2;
    for (unsigned h = 0; h < HAND_OFF__MAX; h++) {
        for (int amd = 0; amd < 2; amd++) {
            const struct node node = {.annotations = {&gpus, 1}, .allocatable = {amd ? &of_amd : &of_nvidia, 1}};
            struct inventory inv;
            const char *note = NULL;
            struct arena a;

            arena_init(&a, ARENA_BYTES);
            p.hand_off = (enum hand_off)h;
            assert_true(dialect_inventory(&p, &node, &a, &inv, &note));
            assert_int_equal(inv.vendor, amd ? VENDOR_AMD : VENDOR_NVIDIA);
            assert_int_equal(inv.hand_off_unfit, amd && h != HAND_OFF_DOWNWARD_API);
            assert_true(!inv.hand_off_unfit || strstr(note, "of another vendor") != NULL);
            arena_fini(&a);
        }
    }
}

/* ---- the agent ---- */

static void inventory__by_the_agent__says_whether_the_agent_runs(void **state)
{
    static const struct {
        const char *head;
        bool needs_agent;
    } rows[] = {
        {"{\"v\":1,", false},
        {"{\"v\":1,\"by\":\"fgpu-node\",", true},
        {"{\"v\":1,\"by\":\"a script\",", false},
        {"{\"v\":1,\"by\":null,", false},
    };
    struct policy p = *policy_defaults();

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (unsigned h = 0; h < HAND_OFF__MAX; h++) {
            const char *note;
            char text[256];
            struct inventory inv;

            snprintf(text, sizeof(text), "%s%s", rows[i].head, ONE_GPU);
            p.hand_off = (enum hand_off)h;
            inv = inventory_of(&p, text, NULL, &note);
            assert_int_equal(inv.device_n, 1);
            /* Where another program hands over, the agent stands back. */
            assert_int_equal(inv.needs_agent,
                             h == HAND_OFF_AGENT || (h == HAND_OFF_DOWNWARD_API && rows[i].needs_agent));
        }
    }
}

#define KEY "required-plugins.noderesource.dev"

static void required_plugins__of_the_pod__the_agent_is_added(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"", "[\"fgpu\"]"},
        {"[]", "[\"fgpu\"]"},
        {" [ ] ", "[\"fgpu\"]"},
        {"null", "[\"fgpu\"]"},
        {"[a]", "[\"a\",\"fgpu\"]"},
        {"[a, \"b\",\n 'c+d.e_F-9', ]", "[\"a\",\"b\",\"c+d.e_F-9\",\"fgpu\"]"},
        {"[fgpu]", "[\"fgpu\"]"},
        {"[fgpu, a]", "[\"fgpu\",\"a\"]"},
        {"[a, 10-fgpu]", "[\"a\",\"10-fgpu\"]"},
        {"[fgpu, 10-fgpu, a, fgpu]", "[\"fgpu\",\"a\"]"},
        {"[1-fgpu]", "[\"1-fgpu\",\"fgpu\"]"},
        {"[00-fgpu]", "[\"00-fgpu\"]"},
        {"[99-fgpu]", "[\"99-fgpu\"]"},
        {"[a0-fgpu]", "[\"a0-fgpu\",\"fgpu\"]"},
        {"[0a-fgpu]", "[\"0a-fgpu\",\"fgpu\"]"},
        {"[.0-fgpu]", "[\".0-fgpu\",\"fgpu\"]"},
        {"[0.-fgpu]", "[\"0.-fgpu\",\"fgpu\"]"},
        {"[10.fgpu]", "[\"10.fgpu\",\"fgpu\"]"},
        {"[110-fgpu]", "[\"110-fgpu\",\"fgpu\"]"},
        {"[10-]", "[\"10-\",\"fgpu\"]"},
        {"- a\n- \"b\"  # why\n", "[\"a\",\"b\",\"fgpu\"]"},
        {"---\n# mine\n\n  - a\n  - b\r\n", "[\"a\",\"b\",\"fgpu\"]"},
        /* Not read: ours alone. */
        {"a", "[\"fgpu\"]"},
        {"{a: b}", "[\"fgpu\"]"},
        {"[", "[\"fgpu\"]"},
        {"[a", "[\"fgpu\"]"},
        {"[a,,b]", "[\"fgpu\"]"},
        {"[,]", "[\"fgpu\"]"},
        {"[a b]", "[\"fgpu\"]"},
        {"[\"a]", "[\"fgpu\"]"},
        {"[a]\n[b]", "[\"fgpu\"]"},
        {"- a\n - b", "[\"fgpu\"]"},
        {"- a\n-b", "[\"fgpu\"]"},
        {"- a\nb", "[\"fgpu\"]"},
        {"- - a", "[\"fgpu\"]"},
        {"- a\nx b", "[\"fgpu\"]"},
        {"-\n- a", "[\"fgpu\"]"},
        {"- a\n---\n- b", "[\"fgpu\"]"},
        {"- a#b", "[\"fgpu\"]"},
        {"['a\"]", "[\"fgpu\"]"},
        {"[\"]", "[\"fgpu\"]"},
        {"['']", "[\"fgpu\"]"},
        {"- !!str a", "[\"fgpu\"]"},
        {"&x [a]", "[\"fgpu\"]"},
        {"[0123456789012345678901234567890123456789012345678901234567890123"
         "45678901234567890123456789012345678901234567890123456789012345678]",
         "[\"fgpu\"]"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct kv carried = {STR(KEY), str_of(rows[i].text)};
        struct kv_list list = {NULL, 0};
        struct str leftovers;
        struct arena a;

        arena_init(&a, ARENA_BYTES);
        assert_true(dialect_leftovers((struct kv_list){&carried, 1}, &a, &leftovers));
        assert_int_equal(dialect_require_agent(&list, leftovers, &a, NULL), 0);
        expect(list, KEY, rows[i].want);
        assert_int_equal(list.n, 1);
        list = (struct kv_list){NULL, 0}; /* without an agent it is nobody's business */
        assert_int_equal(dialect_blank(&list, leftovers, true, &a, NULL), 0);
        assert_int_equal(list.n, 0);
        arena_fini(&a);
    }
}

/* The list with the agent added, or "" where it is not read and ours alone is required. */
static struct str plugins_of(struct str text, struct arena *a)
{
    const struct kv carried = {STR(KEY), text};
    struct kv_list list = {NULL, 0};
    struct str leftovers;

    assert_true(dialect_leftovers((struct kv_list){&carried, 1}, a, &leftovers));
    assert_int_equal(dialect_require_agent(&list, leftovers, a, NULL), 0);
    assert_int_equal(list.n, 1);
    return str_eq_cstr(list.items[0].value, "[\"fgpu\"]") ? STR("") : list.items[0].value;
}

static void required_plugins__long_names_and_many__up_to_the_limits(void **state)
{
    char name[130];
    struct str many = STR("");
    struct arena a;

    arena_init(&a, ARENA_BYTES);
    memset(name, 'n', sizeof(name));
    assert_true(plugins_of(arena_printf(&a, "[%.*s]", 128, name), &a).n > 128);
    assert_int_equal(plugins_of(arena_printf(&a, "[%.*s]", 129, name), &a).n, 0);
    for (int i = 0; i < 32; i++) {
        many = arena_printf(&a, "%.*s,p%d", STR_ARG(many), i);
    }
    many = str_drop(many, 1);
    assert_true(plugins_of(arena_printf(&a, "[%.*s]", STR_ARG(many)), &a).n > 0);
    assert_true(plugins_of(arena_printf(&a, "[%.*s,fgpu]", STR_ARG(many)), &a).n > 0);
    assert_true(plugins_of(arena_printf(&a, "[fgpu,%.*s]", STR_ARG(many)), &a).n > 0);
    assert_int_equal(plugins_of(arena_printf(&a, "[%.*s,x]", STR_ARG(many)), &a).n, 0);
    assert_int_equal(plugins_of(arena_printf(&a, "[fgpu,%.*s,x]", STR_ARG(many)), &a).n, 0);
    arena_fini(&a);
}

/* The list of a container holds for it, whatever that of the pod says. */
static void required_plugins__of_containers__each_gets_the_agent(void **state)
{
    const struct kv carried[] = {{STR(KEY "/container.main"), STR("[]")},
                                 {STR(KEY "/pod"), STR("[a]")},
                                 {STR(KEY "x"), STR("[b]")},
                                 {STR("fgpu.io/visible-devices.c0"), STR("GPU-old")}};
    const struct kv ours = {STR("fgpu.io/assignment"), STR("new")};
    struct kv_list list = {&ours, 1};
    struct str leftovers;
    struct arena a;

    arena_init(&a, ARENA_BYTES);
    assert_true(dialect_leftovers((struct kv_list){carried, ARRAY_LEN(carried)}, &a, &leftovers));
    assert_int_equal(dialect_require_agent(&list, leftovers, &a, NULL), 0);
    assert_int_equal(dialect_blank(&list, leftovers, true, &a, NULL), 0);
    expect(list, "fgpu.io/assignment", "new");
    expect(list, KEY "/container.main", "[\"fgpu\"]");
    expect(list, KEY "/pod", "[\"a\",\"fgpu\"]");
    expect(list, KEY, "[\"fgpu\"]");
    expect(list, KEY "x", NULL);
    expect(list, "fgpu.io/visible-devices.c0", "");
    assert_int_equal(list.n, 5);
    list = (struct kv_list){&ours, 1};
    assert_int_equal(dialect_require_agent(&list, STR_NULL, &a, NULL), 0); /* a pod that brings none */
    expect(list, KEY, "[\"fgpu\"]");
    assert_int_equal(list.n, 2);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hand_off__each__its_name_and_the_longest_name_of_a_container),
        cmocka_unit_test(hand_off__agent__the_record_alone),
        cmocka_unit_test(hand_off__nvidia_cdi__names_of_cdi_for_each_container),
        cmocka_unit_test(hand_off__kai__devices_memory_and_portion),
        cmocka_unit_test(hand_off__kai__portion_by_quality_of_service),
        cmocka_unit_test(hand_off__what_it_cannot_say__no_answer),
        cmocka_unit_test(hand_off__long_name__refused_on_such_nodes_only),
        cmocka_unit_test(hand_off__instances_of_a_plugin__none_of_its_business),
        cmocka_unit_test(inventory__hand_off__of_the_node_by_its_labels),
        cmocka_unit_test(inventory__kai__only_gpus_of_known_memory_that_are_whole),
        cmocka_unit_test(inventory__gpus_of_another_vendor__the_downward_api_alone),
        cmocka_unit_test(inventory__by_the_agent__says_whether_the_agent_runs),
        cmocka_unit_test(required_plugins__of_the_pod__the_agent_is_added),
        cmocka_unit_test(required_plugins__long_names_and_many__up_to_the_limits),
        cmocka_unit_test(required_plugins__of_containers__each_gets_the_agent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
