/* GPUs, replicas and units that plugins sell while kubelet picks. What a node's labels make of them: test_inventory.c;
 * how amounts of containers add up: test_native_pods.c. */
#include "core/dialects/units/units.h"

#include "base/compiler.h"
#include "core/support/pod_notation.h"
#include "support/cmocka.h"

#include <string.h>

static const struct compute_resource compute[] = {{STR("fgpu.io/gpu-milli"), 1000, ABOVE_REFUSE, PICKS_FGPU},
                                                  {STR("x/metagpu"), 100, ABOVE_SPAN, PICKS_FGPU},
                                                  {STR("x/units"), 100, ABOVE_REFUSE, PICKS_KUBELET}};

static struct policy units_policy(void)
{
    struct policy p = *policy_defaults();

    p.compute_resources = compute;
    p.compute_resource_n = ARRAY_LEN(compute);
    p.kai = DIALECT_SERVE;
    return p;
}

static void units__owns_resource__what_kubelet_picks(void **state)
{
    const struct policy p = units_policy();

    assert_true(dialect_units.owns_resource(&p, STR("nvidia.com/gpu")));
    assert_true(dialect_units.owns_resource(&p, STR("x/units")));
    assert_false(dialect_units.owns_resource(&p, STR("x/metagpu")));
    assert_false(dialect_units.owns_resource(&p, STR("fgpu.io/gpu-count")));
    assert_false(dialect_native.owns_resource(&p, STR("x/units")));
    assert_false(dialect_native.owns_resource(&p, STR("nvidia.com/gpu")));
}

static void units__claims__by_keys_only(void **state)
{
    static const struct {
        const char *pod;
        bool want;
    } rows[] = {
        {"c:", false},
        {"c: x/units=nonsense", true},
        {"sidecar i: nvidia.com/gpu=0", true},
        {"c: ~x/units=1", true},
        {"init i: nvidia.com/gpu=1; c:", true},
        {"c: x/metagpu=5", false},
        {"c: gpu-milli=5", false},
        {"c:; @gpu-count=1", false},
    };
    const struct policy p = units_policy();

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct made_pod *m = made_pod_new(rows[i].pod);
        if (dialect_units.claims_pod(&p, &m->pod) != rows[i].want) {
            fail_msg("%s", rows[i].pod);
        }
        made_pod_free(m);
    }
}

/* Two requests are no request. Which of the two could not be read does not matter then. */
static void units__beside_others__refused(void **state)
{
    static const struct demand_row rows[] = {
        {"alone", "c: nvidia.com/gpu=1 x/units=2", "plugin-managed 3"},
        {"a share", "c: nvidia.com/gpu=1; d: gpu-milli=5", "defect mixed_kinds"},
        {"units that fgpu picks", "c: x/units=50; d: x/metagpu=50", "defect mixed_kinds"},
        {"a share in annotations", "c: nvidia.com/gpu=1; @gpu-fraction=0.5", "defect mixed_kinds annotated"},
        {"a share that cannot be read", "c: nvidia.com/gpu=1; d: gpu-milli=x", "defect mixed_kinds"},
        {"units that cannot be read", "c: nvidia.com/gpu=x; d: gpu-milli=5", "defect mixed_kinds"},
        {"a share of 0", "c: nvidia.com/gpu=1 gpu-milli=0", "plugin-managed 1"},
        {"units of 0", "c: nvidia.com/gpu=0 gpu-milli=5", "c 1xmilli(5,0)@1"},
        {"KAI", "c: nvidia.com/gpu=1; @/gpu-fraction=0.5", "defect vocabularies annotated"},
        {"all three", "c: nvidia.com/gpu=1 gpu-milli=5; @/gpu-fraction=0.5", "defect vocabularies annotated"},
        {"a container that is named", "c: nvidia.com/gpu=1; @container=c", "defect twice"},
        {"a constraint that cannot be read", "c: nvidia.com/gpu=1; @gpu-model=", "defect constraint"},
    };
    const struct policy p = units_policy();

    check_demands(&p, rows, ARRAY_LEN(rows));
}

/* /state and files of it have always called them native. */
static void units__demand__native_by_name(void **state)
{
    struct made_pod *m = made_pod_new("c: nvidia.com/gpu=1");
    struct demand d;

    assert_true(dialect_units.parse_request(policy_defaults(), &m->pod, &m->arena, &d));
    assert_string_equal(d.dialect, "native");
    made_pod_free(m);
}

static struct inventory node_with(const struct policy *p, struct arena *a, struct kv_list allocatable,
                                  struct kv_list labels)
{
    const struct node node = {.name = STR("n"), .allocatable = allocatable, .labels = labels};
    struct inventory inv;
    const char *note;

    assert_true(dialect_inventory(p, &node, a, &inv, &note));
    return inv;
}

/* A number of GPUs under fgpu's own name that nobody vouches for leaves it to the template. What a plugin sells beside
 * is counted; it says nothing about the devices then, although its replicas are explained. */
static void units__own_count_without_a_word__template_and_not_the_plugin(void **state)
{
    static const struct node_template t = {STR("type"), STR("t"), 4, 16384, STR("T4"), ALLOCATABLE_IGNORE};
    const struct kv allocatable[] = {{STR("fgpu.io/gpu-count"), STR("2")}, {STR("nvidia.com/gpu.shared"), STR("8")}};
    const struct kv labels[] = {{STR("type"), STR("t")}, {STR("nvidia.com/gpu.replicas"), STR("4")}};
    static const struct str whole[] = {STR("nvidia.com/gpu"), STR("nvidia.com/gpu.shared")};
    struct policy p = units_policy();
    struct inventory inv;
    struct arena a;

    arena_init(&a, 1 << 16);
    p.templates = &t;
    p.template_n = 1;
    p.whole_resources = whole;
    p.whole_resource_n = ARRAY_LEN(whole);
    inv = node_with(&p, &a, (struct kv_list){allocatable, 2}, (struct kv_list){labels, 2});
    assert_int_equal(inv.source, INVENTORY_TEMPLATE);
    assert_int_equal(inv.device_n, 4);
    assert_int_equal(inv.plugin_managed_n, 8);
    assert_int_equal(inv.plugin_managed_per_gpu, 4);
    inv = node_with(&p, &a, (struct kv_list){&allocatable[1], 1}, (struct kv_list){labels, 2});
    assert_int_equal(inv.source, INVENTORY_RESOURCES); /* without that count the plugin's number is one */
    assert_int_equal(inv.device_n, 2);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units__owns_resource__what_kubelet_picks),
        cmocka_unit_test(units__claims__by_keys_only),
        cmocka_unit_test(units__beside_others__refused),
        cmocka_unit_test(units__demand__native_by_name),
        cmocka_unit_test(units__own_count_without_a_word__template_and_not_the_plugin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
