/* MIG in the ledger: nodes as their annotations and plugins describe them, one situation each. */
#include "base/compiler.h"
#include "core/dialects/dialect.h"
#include "core/fit/verdict.h"
#include "core/inventory/inventory.h"
#include "core/support/tested_ledger.h"
#include "model/mig.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

/* "1g.5gb@0 1g.5gb@1", as instances "MIG-<gpu>-<start>" of an A100 of 40 GB; "": none; NULL: not in
 * MIG mode. */
static size_t write_gpu(char *at, size_t room, int gpu, const char *card, const char *layout)
{
    size_t n = (size_t)snprintf(
        at, room, "{\"uuid\":\"GPU-%s%d\",\"index\":%d,\"model\":\"NVIDIA-A100-SXM4-40GB\",\"memMib\":40960", card, gpu,
        gpu);
    const char *sep = "";

    if (layout != NULL) {
        n += (size_t)snprintf(at + n, room - n, ",\"mig\":[");
        for (char profile[16]; *layout != '\0'; layout += *layout == ' ') {
            int start = 0, used = 0;

            assert_int_equal(sscanf(layout, "%15[^@]@%d%n", profile, &start, &used), 2);
            n += (size_t)snprintf(at + n, room - n, "%s{\"uuid\":\"MIG-%d-%d\",\"profile\":\"%s\",\"start\":%d}", sep,
                                  gpu, start, profile, start);
            layout += used;
            sep = ",";
        }
        n += (size_t)snprintf(at + n, room - n, "]");
    }
    return n + (size_t)snprintf(at + n, room - n, "}");
}

struct spec {
    const char *gpus[4];
    int gpu_n;
    const char *card;              /* before the number in the UUID of each GPU; NULL: nothing */
    struct kv label, resources[2]; /* an empty key: none */
};

static void node(const char *name, const struct spec *s)
{
    static char text[16384];
    struct arena a;
    struct inventory inventory;
    struct kv annotation = {STR("fgpu.io/gpus"), STR_NULL};
    struct node n = {.name = str_of(name),
                     .annotations = {&annotation, s->gpu_n > 0},
                     .labels = {&s->label, s->label.key.n > 0},
                     .allocatable = {s->resources, s->resources[1].key.n > 0 ? 2 : s->resources[0].key.n > 0}};
    struct ledger_op op = fixture_description(name, &inventory);
    size_t at = (size_t)snprintf(text, sizeof(text), "{\"v\":1,\"gpus\":[");

    for (int i = 0; i < s->gpu_n; i++) {
        at += (size_t)snprintf(text + at, sizeof(text) - at, i > 0 ? "," : "");
        at += write_gpu(text + at, sizeof(text) - at, i, s->card != NULL ? s->card : "", s->gpus[i]);
    }
    snprintf(text + at, sizeof(text) - at, "]}");
    annotation.value = str_of(text);
    arena_init(&a, 1 << 20);
    assert_true(dialect_inventory(policy_defaults(), &n, &a, &inventory, &op.node.note));
    fixture_apply(&fx, &op);
    arena_fini(&a);
}

#define SEVEN "1g.5gb@0 1g.5gb@1 1g.5gb@2 1g.5gb@3 1g.5gb@4 1g.5gb@5 1g.5gb@6"

static struct demand of_profile(struct gpu_request *w, uint16_t count, uint16_t profile)
{
    struct demand d = fixture_whole(w, count);

    w->profile = profile;
    return d;
}

static int reserve(const char *uid, const struct demand *d, const char *name)
{
    int rc;

    assert_int_equal(fixture_pod(&fx, uid, d, NULL, NULL), 0);
    rc = fixture_reserve(&fx, uid, name);
    assert_null(ledger_check(fx.l));
    return rc;
}

/* "MIG-0-3" of the pod's one device, and the record that goes with it. */
static const char *device_of(const char *uid, struct assignment *ret)
{
    static char text[64];

    arena_reset(&fx.arena);
    assert_int_equal(ledger_assignment(fx.l, str_of(uid), &fx.arena, ret, NULL), 0);
    assert_int_equal(ret->container_n, 1);
    assert_int_equal(ret->containers[0].device_n, 1);
    snprintf(text, sizeof(text), "%.*s", STR_ARG(ret->containers[0].devices[0].uuid));
    return text;
}

static void fgpu_picks__seven_1g_of_an_a100__seven_pods_and_no_eighth(void **state)
{
    struct spec s = {.gpus = {SEVEN}, .gpu_n = 1};
    struct gpu_request w;
    struct demand d = of_profile(&w, 1, MIG_PROFILE(1, 5));
    struct assignment record;
    char uid[16], seen[7][64];

    node("n", &s);
    for (int i = 0; i < 7; i++) {
        snprintf(uid, sizeof(uid), "p%d", i);
        assert_int_equal(reserve(uid, &d, "n"), 0);
        strcpy(seen[i], device_of(uid, &record));
        assert_int_equal(record.containers[0].devices[0].milli, 142);
        assert_int_equal(record.containers[0].devices[0].mem_mib, 4864);
        assert_int_equal(record.containers[0].devices[0].profile, MIG_PROFILE(1, 5));
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(seen[i], seen[k]);
        }
    }
    assert_int_equal(reserve("p7", &d, "n"), VERDICT_MIG_TAKEN);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "p3"), 0);
    assert_int_equal(fixture_reserve(&fx, "p7", "n"), 0);
    assert_string_equal(device_of("p7", &record), seen[3]);
}

static void fgpu_picks__four_2g_of_one_gpu__impossible_three_are_not(void **state)
{
    struct spec s = {.gpus = {"2g.10gb@0 2g.10gb@2 2g.10gb@4 1g.5gb@6"}, .gpu_n = 1};
    struct gpu_request w;
    struct demand four = of_profile(&w, 4, MIG_PROFILE(2, 10));
    struct gpu_request w3;
    struct demand three = of_profile(&w3, 3, MIG_PROFILE(2, 10));
    struct gpu_request w2;
    struct demand other = of_profile(&w2, 1, MIG_PROFILE(3, 20));

    node("n", &s);
    assert_int_equal(reserve("four", &four, "n"), VERDICT_MIG_IMPOSSIBLE);
    assert_int_equal(reserve("other", &other, "n"), VERDICT_MIG_TOO_FEW);
    assert_int_equal(reserve("three", &three, "n"), 0);
}

static void fgpu_picks__parts_and_whole_gpus__never_on_an_instance(void **state)
{
    struct spec only = {.gpus = {SEVEN}, .gpu_n = 1};
    struct spec both = {.gpus = {SEVEN, NULL}, .gpu_n = 2};
    struct spec empty = {.gpus = {""}, .gpu_n = 1};
    struct demand demands[] = {SHARE_OF(100)};
    struct demand whole = WHOLE_GPUS(1);
    struct demand amounts = SHARE_AND_MEMORY_OF(100, 1000);
    struct gpu_request w4;
    struct demand instance = of_profile(&w4, 1, MIG_PROFILE(1, 5));
    struct assignment record;

    node("only", &only);
    node("both", &both);
    node("empty", &empty);
    assert_int_equal(reserve("a", &demands[0], "only"), VERDICT_MIG_ONLY);
    assert_int_equal(reserve("b", &whole, "only"), VERDICT_MIG_ONLY);
    assert_int_equal(reserve("c", &amounts, "only"), VERDICT_MIG_ONLY);
    assert_int_equal(reserve("a", &demands[0], "empty"), VERDICT_MIG_EMPTY);
    assert_int_equal(reserve("d", &instance, "empty"), VERDICT_MIG_EMPTY);
    assert_int_equal(reserve("a", &demands[0], "both"), 0);
    assert_string_equal(device_of("a", &record), "GPU-1");
    assert_int_equal(record.containers[0].devices[0].profile, 0);
    assert_int_equal(reserve("c", &amounts, "both"), 0);
    assert_string_equal(device_of("c", &record), "GPU-1");
    assert_int_equal(reserve("b", &whole, "both"), VERDICT_NOT_EMPTY);
    assert_int_equal(reserve("d", &instance, "both"), 0);
    assert_string_equal(device_of("d", &record), "MIG-0-0");
}

static void fgpu_picks__memory_alone__smallest_instance_that_fits_then_gpus(void **state)
{
    struct spec s = {.gpus = {"3g.20gb@4 2g.10gb@2 1g.5gb+me@0 1g.5gb@1", NULL}, .gpu_n = 2};
    static const struct {
        const char *uid;
        int64_t mem_mib;
        const char *want;
    } rows[] = {
        {"a", 4000, "MIG-0-1"},  {"b", 4864, "MIG-0-0"}, {"c", 4864, "MIG-0-2"},
        {"d", 15000, "MIG-0-4"}, {"e", 100, "GPU-1"},    {"f", 100, "GPU-1"},
    };
    struct assignment record;
    struct gpu_request w;
    struct demand large;

    node("n", &s);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct demand d = fixture_memory(&w, rows[i].mem_mib);

        assert_int_equal(reserve(rows[i].uid, &d, "n"), 0);
        assert_string_equal(device_of(rows[i].uid, &record), rows[i].want);
    }
    large = fixture_memory(&w, 50000);
    assert_int_equal(reserve("g", &large, "n"), VERDICT_GPU_TOO_SMALL);
    assert_int_equal(reserve("h",
                             &(struct demand){.dialect = "native",
                                              .gpu_request_n = 1,
                                              .gpu_requests = &(struct gpu_request){.container = STR("main"),
                                                                                    .count = 1,
                                                                                    .kind = GPU_REQUEST_BOTH,
                                                                                    .mem_mib = 100,
                                                                                    .phases = 1}},
                             "n"),
                     0); /* with compute shared by all, the same */
    assert_string_equal(device_of("h", &record), "GPU-1");
}

static void fgpu_picks__read_back__the_same_instance_whatever_order_facts_come_in(void **state)
{
    struct spec s = {.gpus = {SEVEN}, .gpu_n = 1};
    struct gpu_request w;
    struct demand d = of_profile(&w, 1, MIG_PROFILE(1, 5)), shared = MEMORY_OF(1000);
    struct assignment record;
    struct assigned_device device;
    struct assigned_container c;

    shared.source = DEMAND_FROM_ANNOTATIONS;
    for (int node_first = 0; node_first < 2; node_first++) {
        const struct snapshot_node *n;

        if (node_first) {
            node("n", &s);
        }
        record = fixture_record(&c, &device, "id-a", "MIG-0-5", 1029, 142, 4864);
        device.profile = MIG_PROFILE(1, 5);
        assert_int_equal(fixture_pod(&fx, "a", &d, "n", &record), 0);
        record = fixture_record(&c, &device, "id-b", "MIG-0-2", 1026, 142, 4864);
        assert_int_equal(fixture_pod(&fx, "b", &shared, "n", &record), 0);
        node("n", &s);
        n = fixture_state(&fx, "n");
        for (size_t i = 0; i < n->device_n; i++) {
            bool held = i == 6 || i == 3;

            assert_int_equal(n->devices[i].allocation_n, held);
            assert_int_equal(n->devices[i].mem_charged_mib, held ? 4864 : 0);
        }
        assert_int_equal(fixture_pod_state(&fx, "a"), LEDGER_BOUND);
        fixture_name_op(&fx, LEDGER_POD_GONE, "a");
        fixture_name_op(&fx, LEDGER_POD_GONE, "b");
        fixture_name_op(&fx, LEDGER_NODE_GONE, "n");
    }
}

static void fgpu_picks__instance_vanishes_under_its_pod__stays_until_the_pod_is_gone(void **state)
{
    struct spec s = {.gpus = {SEVEN}, .gpu_n = 1}, now = {.gpus = {"3g.20gb@4"}, .gpu_n = 1},
                whole = {.gpus = {NULL}, .gpu_n = 1};
    struct gpu_request w, w3;
    struct demand d = of_profile(&w, 1, MIG_PROFILE(1, 5)), half = SHARE_OF(500),
                  three = of_profile(&w3, 1, MIG_PROFILE(3, 20));

    node("n", &s);
    assert_int_equal(reserve("a", &d, "n"), 0);
    node("n", &now);
    assert_int_equal(fixture_state(&fx, "n")->device_n, 3);
    assert_true(fixture_state(&fx, "n")->devices[2].lost);
    assert_int_equal(reserve("t", &three, "n"), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "t"), 0);
    node("n", &whole); /* somebody is mistaken: not given away a second time */
    assert_int_equal(reserve("b", &half, "n"), VERDICT_HELD_ALONE);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "a"), 0);
    assert_int_equal(fixture_state(&fx, "n")->device_n, 1);
    assert_int_equal(fixture_reserve(&fx, "b", "n"), 0);
    node("n", &s);
    assert_int_equal(reserve("d", &d, "n"), VERDICT_MIG_TAKEN); /* the GPU is still held as a whole */
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "b"), 0);
    assert_int_equal(fixture_reserve(&fx, "d", "n"), 0);
}

/* A lost card closes itself alone (design.md 3.1.9), also where another one has its number. */
static void F163_fgpu_picks__card_was_replaced_under_its_pod__instances_of_the_new_one_are_free(void **state)
{
    struct spec before = {.gpus = {NULL}, .gpu_n = 1}, in_mig_mode = {.gpus = {SEVEN}, .gpu_n = 1},
                other = {.gpus = {SEVEN}, .gpu_n = 1, .card = "new-"};
    struct gpu_request w;
    struct demand d = of_profile(&w, 1, MIG_PROFILE(1, 5)), half = SHARE_OF(500);

    node("n", &before);
    assert_int_equal(reserve("a", &half, "n"), 0);
    node("n", &in_mig_mode); /* the same card: somebody is mistaken */
    assert_int_equal(reserve("b", &d, "n"), VERDICT_MIG_TAKEN);
    node("n", &other);
    assert_int_equal(fixture_reserve(&fx, "b", "n"), 0);
    assert_null(ledger_check(fx.l));
}

static void fgpu_picks__bound_by_somebody_else__counts_on_every_instance(void **state)
{
    struct spec s = {.gpus = {"3g.20gb@0 3g.20gb@4", NULL}, .gpu_n = 2};
    struct gpu_request w;
    struct demand d = of_profile(&w, 1, MIG_PROFILE(3, 20)), share = SHARE_OF(300);

    node("n", &s);
    assert_int_equal(fixture_pod(&fx, "bypass", &share, "n", NULL), 0);
    assert_null(ledger_check(fx.l));
    assert_int_equal(reserve("a", &d, "n"), VERDICT_MIG_TAKEN);
    assert_int_equal(reserve("b", &share, "n"), 0); /* the whole GPU has room for another */
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "bypass"), 0);
    assert_int_equal(fixture_reserve(&fx, "a", "n"), 0);
    assert_int_equal(fixture_pod(&fx, "other", &d, "n", NULL), 0); /* past us, where no plugin counts */
    assert_int_equal(reserve("c", &share, "n"), VERDICT_OVERCOMMITTED);
}

static void changing__any_pod__refused_until_the_layout_is_done(void **state)
{
    struct spec s = {.gpus = {SEVEN, NULL}, .gpu_n = 2, .label = {STR("nvidia.com/mig.config.state"), STR("pending")}};
    struct gpu_request w;
    struct demand d = of_profile(&w, 1, MIG_PROFILE(1, 5)), share = SHARE_OF(300);
    struct demand plugin = {.plugin_managed_n = 1, .dialect = "native"};
    uint64_t before;

    node("n", &s);
    assert_int_equal(reserve("a", &d, "n"), VERDICT_MIG_CHANGING);
    assert_int_equal(reserve("b", &share, "n"), VERDICT_MIG_CHANGING);
    assert_int_equal(reserve("c", &plugin, "n"), VERDICT_MIG_CHANGING);
    s.label.value = STR("failed");
    node("n", &s);
    assert_int_equal(fixture_reserve(&fx, "a", "n"), VERDICT_MIG_CHANGING);
    s.label.value = STR("success");
    before = ledger_capacity_generation(fx.l);
    node("n", &s);
    assert_true(ledger_capacity_generation(fx.l) > before); /* who waits is told */
    assert_int_equal(fixture_reserve(&fx, "a", "n"), 0);
    s.label.value = STR("rebooting");
    node("n", &s);
    assert_int_equal(fixture_pod_state(&fx, "a"), LEDGER_RESERVED); /* who is there stays */
}

static void counted__a_plugin_by_profile__exact_numbers_and_no_record(void **state)
{
    struct spec s = {
        .resources = {{STR("nvidia.com/mig-1g.5gb"), STR("3")}, {STR("nvidia.com/mig-2g.10gb"), STR("2")}}};
    struct gpu_request w, w2, w3, w4;
    struct demand one = of_profile(&w, 1, MIG_PROFILE(1, 5)), two = of_profile(&w2, 2, MIG_PROFILE(1, 5)),
                  other = of_profile(&w3, 1, MIG_PROFILE(2, 10)), annotated = of_profile(&w4, 1, MIG_PROFILE(1, 5)),
                  memory = MEMORY_OF(100);
    const struct snapshot_node *n;

    annotated.source = DEMAND_FROM_ANNOTATIONS;
    node("n", &s);
    assert_int_equal(reserve("annotated", &annotated, "n"), VERDICT_MIG_PLUGIN);
    assert_int_equal(reserve("memory", &memory, "n"), VERDICT_MIG_ONLY);
    assert_int_equal(reserve("two", &two, "n"), 0);
    assert_false(ledger_chose_devices(fx.l, STR("two")));
    assert_int_equal(reserve("two-more", &two, "n"), VERDICT_MIG_TAKEN);
    assert_int_equal(fixture_pod(&fx, "bound", &one, "n", NULL), 0); /* past us: counted all the same */
    assert_int_equal(fixture_pod_state(&fx, "bound"), LEDGER_BOUND);
    assert_int_equal(reserve("one", &one, "n"), VERDICT_MIG_TAKEN);
    assert_int_equal(reserve("other", &other, "n"), 0);
    n = fixture_state(&fx, "n");
    assert_int_equal(n->device_n, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(n->devices[i].allocation_n, i < 4);
    }
    /* The plugin loses one: more is used than there is, and nothing else changes. */
    s.resources[0].value = STR("2");
    node("n", &s);
    assert_true(fixture_state(&fx, "n")->devices[1].overcommitted);
    assert_int_equal(fixture_reserve(&fx, "one", "n"), VERDICT_MIG_TAKEN);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "bound"), 0);
    assert_false(fixture_state(&fx, "n")->devices[1].overcommitted);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "two"), 0);
    assert_int_equal(fixture_reserve(&fx, "one", "n"), 0);
}

static void counted__init_and_app_containers__as_kubelet_counts(void **state)
{
    struct spec s = {.resources = {{STR("nvidia.com/mig-1g.5gb"), STR("3")}}};
    struct gpu_request gpu_requests[3] = {
        {.container = STR("i"),
         .init = true,
         .count = 3,
         .phases = 2,
         .kind = GPU_REQUEST_WHOLE,
         .profile = MIG_PROFILE(1, 5)},
        {.container = STR("a"), .count = 1, .phases = 1, .kind = GPU_REQUEST_WHOLE, .profile = MIG_PROFILE(1, 5)},
        {.container = STR("b"), .count = 1, .phases = 1, .kind = GPU_REQUEST_WHOLE, .profile = MIG_PROFILE(1, 5)},
    };
    struct demand d = {.dialect = "native", .gpu_request_n = 3, .gpu_requests = gpu_requests};

    node("n", &s);
    assert_int_equal(reserve("a", &d, "n"), 0);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(fixture_mem_free(&fx, "n", i), 0);
        assert_false(fixture_state(&fx, "n")->devices[i].overcommitted);
    }
    gpu_requests[0].count = 1; /* needs two at once, not three */
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "a"), 0);
    assert_int_equal(reserve("b", &d, "n"), 0);
    assert_int_equal(fixture_state(&fx, "n")->devices[1].allocation_n, 1);
    assert_int_equal(fixture_state(&fx, "n")->devices[2].allocation_n, 0);
}

static void counted__whole_gpus_and_instances_of_one_plugin__do_not_disturb_each_other(void **state)
{
    struct spec s = {.resources = {{STR("nvidia.com/mig-1g.5gb"), STR("1")}, {STR("nvidia.com/gpu"), STR("1")}}};
    struct gpu_request w;
    struct demand instance = of_profile(&w, 1, MIG_PROFILE(1, 5)), share = SHARE_OF(100);
    struct demand plugin = {.plugin_managed_n = 1, .dialect = "native"};

    node("n", &s);
    assert_int_equal(reserve("whole", &plugin, "n"), 0);
    assert_int_equal(reserve("instance", &instance, "n"), 0);
    assert_int_equal(reserve("whole2", &plugin, "n"), VERDICT_PLUGIN_FULL);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "whole"), 0);
    assert_int_equal(fixture_reserve(&fx, "whole2", "n"), 0);
    assert_int_equal(reserve("share", &share, "n"), VERDICT_MIG_ONLY); /* nobody knows which GPUs are whole */
}

static void single__instances_as_whole_gpus__counted_like_gpus_of_a_plugin(void **state)
{
    struct spec s = {.label = {STR("nvidia.com/gpu.product"), STR("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb")},
                     .resources = {{STR("nvidia.com/gpu"), STR("7")}}};
    struct gpu_request w;
    struct demand instance = of_profile(&w, 1, MIG_PROFILE(1, 5)), memory = MEMORY_OF(100);
    struct demand plugin = {.plugin_managed_n = 4, .dialect = "native"};
    struct device_pattern model = {STR("*A100*"), false};

    plugin.models = &model;
    plugin.model_n = 1;
    node("n", &s);
    assert_int_equal(fixture_state(&fx, "n")->device_n, 7);
    assert_int_equal(reserve("a", &plugin, "n"), 0);
    assert_int_equal(reserve("b", &plugin, "n"), VERDICT_PLUGIN_FULL);
    assert_int_equal(reserve("c", &instance, "n"), VERDICT_MIG_PLUGIN);
    assert_int_equal(reserve("d", &memory, "n"), VERDICT_MIG_ONLY);
    model.text = STR("*H100*");
    assert_int_equal(reserve("e", &plugin, "n"), VERDICT_NOT_ALLOWED);
}

/* One instance is enough to say so. */
static void counted__one_instance__counted(void **state)
{
    struct spec s = {.resources = {{STR("nvidia.com/mig-1g.5gb"), STR("1")}}};
    struct gpu_request w;
    struct demand instance = of_profile(&w, 1, MIG_PROFILE(1, 5));
    struct demand share = SHARE_OF(100);

    node("n", &s);
    assert_int_equal(fixture_state(&fx, "n")->device_n, 1);
    assert_true(fixture_state(&fx, "n")->mig_counted);
    assert_int_equal(reserve("share", &share, "n"), VERDICT_MIG_ONLY);
    assert_int_equal(reserve("a", &instance, "n"), 0);
    assert_int_equal(reserve("b", &instance, "n"), VERDICT_MIG_TAKEN);
}

/* Who waits is told when a GPU of the plugin is free, and not when one is taken. */
static void counted__pods_of_a_plugin__room_grows_when_one_leaves(void **state)
{
    struct spec s = {.label = {STR("nvidia.com/gpu.product"), STR("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb")},
                     .resources = {{STR("nvidia.com/gpu"), STR("7")}}};
    const struct demand plugin = {.plugin_managed_n = 2, .dialect = "native"};
    uint64_t room;

    node("n", &s);
    fixture_pod(&fx, "b", &plugin, NULL, NULL);
    assert_int_equal(reserve("a", &plugin, "n"), 0);
    room = ledger_capacity_generation(fx.l);
    assert_int_equal(fixture_reserve(&fx, "b", "n"), 0);
    assert_int_equal(ledger_capacity_generation(fx.l), room);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "a"), 0);
    assert_true(ledger_capacity_generation(fx.l) > room);
}

static void constraints__uuid_of_gpu_or_instance__both_are_understood(void **state)
{
    struct spec s = {.gpus = {"3g.20gb@0 3g.20gb@4", "3g.20gb@0 3g.20gb@4"}, .gpu_n = 2};
    struct device_pattern list[2] = {{STR("GPU-1"), false}, {STR("MIG-1-0"), true}};
    struct gpu_request w;
    struct demand d = of_profile(&w, 1, MIG_PROFILE(3, 20));
    struct assignment record;

    node("n", &s);
    d.uuids = list;
    d.uuid_n = 2;
    assert_int_equal(reserve("a", &d, "n"), 0);
    assert_string_equal(device_of("a", &record), "MIG-1-4");
    assert_int_equal(reserve("b", &d, "n"), VERDICT_MIG_TAKEN);
    list[0].text = STR("MIG-0-4");
    assert_int_equal(reserve("c", &d, "n"), 0);
    assert_string_equal(device_of("c", &record), "MIG-0-4");
}

int main(void)
{
#define TEST(f) EMPTY_LEDGER_TEST(f)
    const struct CMUnitTest tests[] = {
        TEST(fgpu_picks__seven_1g_of_an_a100__seven_pods_and_no_eighth),
        TEST(fgpu_picks__four_2g_of_one_gpu__impossible_three_are_not),
        TEST(fgpu_picks__parts_and_whole_gpus__never_on_an_instance),
        TEST(fgpu_picks__memory_alone__smallest_instance_that_fits_then_gpus),
        TEST(fgpu_picks__read_back__the_same_instance_whatever_order_facts_come_in),
        TEST(fgpu_picks__instance_vanishes_under_its_pod__stays_until_the_pod_is_gone),
        TEST(F163_fgpu_picks__card_was_replaced_under_its_pod__instances_of_the_new_one_are_free),
        TEST(fgpu_picks__bound_by_somebody_else__counts_on_every_instance),
        TEST(changing__any_pod__refused_until_the_layout_is_done),
        TEST(counted__a_plugin_by_profile__exact_numbers_and_no_record),
        TEST(counted__init_and_app_containers__as_kubelet_counts),
        TEST(counted__whole_gpus_and_instances_of_one_plugin__do_not_disturb_each_other),
        TEST(single__instances_as_whole_gpus__counted_like_gpus_of_a_plugin),
        TEST(counted__one_instance__counted),
        TEST(counted__pods_of_a_plugin__room_grows_when_one_leaves),
        TEST(constraints__uuid_of_gpu_or_instance__both_are_understood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
