/* The keys of policy: tenants, overrides of devices, rules of packing. What is stored, and the exact report of each
 * mistake. */
#include "config/load.h"

#include "config/support/unit.h"

#include <string.h>

/* ---- resources ---- */

static void compute__kubelet_picks__nothing_to_span(void **state)
{
    static const struct mistake rows[] = {
        {"both", "resources:\n  compute:\n  - {name: a.b/c, unitsPerGPU: 2, picks: kubelet, aboveOneGPU: span}\n",
         "f.yaml:5:64: resources.compute[0]: kubelet picks these GPUs, so fgpu only counts units; leave the key out\n"
         "    - {name: a.b/c, unitsPerGPU: 2, picks: kubelet, aboveOneGPU: span}\n"
         "                                                                 ^\n"},
    };

    expect_reports(rows, ARRAY_LEN(rows));
}

/* ---- sizes ---- */

static void sizes__of_namespaces__stored(void **state)
{
    struct config *c = unit_config("sizes:\n"
                                   "  a: {milli: 250, namespaces: [x, 'team-*']}\n"
                                   "  b:\n"
                                   "    memory: 1Gi\n"
                                   "    variants:\n"
                                   "    - {namespaces: [y], milli: 3000}\n"
                                   "    - {namespaces: ['*'], memory: 2Gi, count: 2}\n");
    const struct named_size *s = c->policy.sizes;

    assert_int_equal(c->policy.size_n, 2);
    assert_int_equal(s[0].namespace_n, 2);
    expect_text(s[0].namespaces[1], "team-*", NULL);
    assert_int_equal(s[0].variant_n, 0);
    assert_int_equal(s[1].namespace_n, 0);
    assert_int_equal(s[1].variant_n, 2);
    assert_int_equal(s[1].variants[0].milli, 3000);
    assert_int_equal(s[1].variants[1].mem_mib, 2048);
    assert_int_equal(s[1].variants[1].count, 2);
    expect_text(s[1].variants[1].namespaces[0], "*", NULL);
    config_free(c);
}

static void sizes__mistakes_in_variants__exact_reports(void **state)
{
    static const struct mistake rows[] = {
        {"empty variant", "sizes:\n  a:\n    milli: 1\n    variants:\n    - {namespaces: [x]}\n",
         "f.yaml:7:7: sizes.a.variants[0]: an empty size; give milli, memory or count\n"
         "      - {namespaces: [x]}\n"
         "        ^\n"},
        {"for nobody", "sizes:\n  a:\n    milli: 1\n    variants:\n    - {milli: 2}\n",
         "f.yaml:7:7: sizes.a.variants[0]: 'namespaces' is missing\n"
         "      - {milli: 2}\n"
         "        ^\n"},
        {"never used",
         "sizes:\n  a:\n    milli: 1\n    variants:\n    - {namespaces: [x-*], milli: 2}\n"
         "    - {namespaces: [x-a, x-b], milli: 3}\n",
         "f.yaml:8:7: sizes.a: never used: elements before it apply to all of its namespaces\n"
         "      - {namespaces: [x-a, x-b], milli: 3}\n"
         "        ^\n"},
        {"one and a half", "sizes:\n  a:\n    milli: 1\n    variants:\n    - {namespaces: [x], milli: 1500}\n",
         "f.yaml:7:32: sizes.a.variants[0].milli: 1500 milli is neither a share of one GPU (1..1000) nor a multiple of "
         "1000\n"
         "      - {namespaces: [x], milli: 1500}\n"
         "                                 ^\n"},
    };

    expect_reports(rows, ARRAY_LEN(rows));
}

/* ---- tenants ---- */

static void tenants__every_key__stored(void **state)
{
    struct config *c = unit_config("tenants:\n"
                                   "- {name: research, namespaces: [research, 'team-*'], gpuShare: 12.5%, "
                                   "memory: 100%}\n"
                                   "- name: batch\n"
                                   "  namespaces: ['*']\n"
                                   "  milli: 0\n"
                                   "  memory: 320Gi\n"
                                   "- {name: counted, namespaces: [x]}\n");
    const struct tenant *t = c->policy.tenants;

    assert_int_equal(c->policy.tenant_n, 3);
    expect_text(t[0].name, "research", NULL);
    assert_int_equal(t[0].namespace_n, 2);
    expect_text(t[0].namespaces[1], "team-*", NULL);
    assert_int_equal(t[0].gpu_permille, 125);
    assert_int_equal(t[0].milli, TENANT_UNLIMITED);
    assert_int_equal(t[0].mem_permille, 1000);
    assert_int_equal(t[0].mem_mib, TENANT_UNLIMITED);
    assert_int_equal(t[1].gpu_permille, TENANT_UNLIMITED);
    assert_int_equal(t[1].milli, 0);
    assert_int_equal(t[1].mem_permille, TENANT_UNLIMITED);
    assert_int_equal(t[1].mem_mib, 320 * 1024);
    assert_int_equal(t[2].milli, TENANT_UNLIMITED);
    assert_int_equal(t[2].mem_mib, TENANT_UNLIMITED);
    config_free(c);
}

static void tenants__mistakes__exact_reports(void **state)
{
    static const struct mistake rows[] = {
        {"no name", "tenants: [{namespaces: [a]}]\n",
         "f.yaml:3:11: tenants[0]: 'name' is missing\n  tenants: [{namespaces: [a]}]\n            ^\n"},
        {"bad name", "tenants: [{name: A b, namespaces: [a]}]\n",
         "f.yaml:3:18: tenants[0].name: 'A b': a name has at most 63 lower-case letters, digits, '-' and '.', with a "
         "letter or digit at both ends\n  tenants: [{name: A b, namespaces: [a]}]\n                   ^\n"},
        {"no namespaces", "tenants: [{name: a}]\n",
         "f.yaml:3:11: tenants[0]: 'namespaces' is missing\n  tenants: [{name: a}]\n            ^\n"},
        {"empty namespaces", "tenants: [{name: a, namespaces: []}]\n",
         "f.yaml:3:33: tenants[0].namespaces: nothing in it; give at least one\n"
         "  tenants: [{name: a, namespaces: []}]\n                                  ^\n"},
        {"null namespaces", "tenants:\n- name: a\n  namespaces:\n",
         "f.yaml:5:14: tenants[0].namespaces: no value; give one\n    namespaces:\n               ^\n"},
        {"bad namespace", "tenants: [{name: a, namespaces: [Team_x]}]\n",
         "f.yaml:3:34: tenants[0].namespaces[0]: 'Team_x': a namespace has at most 63 lower-case letters, digits and "
         "'-'; '*' stands for any text\n  tenants: [{name: a, namespaces: [Team_x]}]\n"
         "                                   ^\n"},
        {"share without unit", "tenants: [{name: a, namespaces: [a], gpuShare: 40}]\n",
         "f.yaml:3:48: tenants[0].gpuShare: 40 has no unit; write 40%\n"
         "  tenants: [{name: a, namespaces: [a], gpuShare: 40}]\n"
         "                                                 ^\n"},
        {"share is no number", "tenants: [{name: a, namespaces: [a], gpuShare: half}]\n",
         "f.yaml:3:48: tenants[0].gpuShare: 'half' is not a percentage such as 40% or 12.5%\n"
         "  tenants: [{name: a, namespaces: [a], gpuShare: half}]\n"
         "                                                 ^\n"},
        {"share too large", "tenants: [{name: a, namespaces: [a], gpuShare: 100.1%}]\n",
         "f.yaml:3:48: tenants[0].gpuShare: 100.1% is out of range 0%..100% (part of the compute of all GPUs "
         "that the tenant may hold)\n  tenants: [{name: a, namespaces: [a], gpuShare: 100.1%}]\n"
         "                                                 ^\n"},
        {"share too fine", "tenants: [{name: a, namespaces: [a], memory: 1.25%}]\n",
         "f.yaml:3:46: tenants[0].memory: 1.25% has more than one decimal\n"
         "  tenants: [{name: a, namespaces: [a], memory: 1.25%}]\n"
         "                                               ^\n"},
        {"memory unit", "tenants: [{name: a, namespaces: [a], memory: 80GB}]\n",
         "f.yaml:3:46: tenants[0].memory: '80GB' is not a quantity such as 512Mi or 4Gi; did you mean '80Gi'?\n"
         "  tenants: [{name: a, namespaces: [a], memory: 80GB}]\n"
         "                                               ^\n"},
        {"two limits of compute", "tenants: [{name: a, namespaces: [a], gpuShare: 1%, milli: 5}]\n",
         "f.yaml:3:59: tenants[0]: both gpuShare and milli limit compute; keep one of them\n"
         "  tenants: [{name: a, namespaces: [a], gpuShare: 1%, milli: 5}]\n"
         "                                                            ^\n"},
        {"name twice", "tenants:\n- {name: a, namespaces: [a]}\n- {name: a, namespaces: [b]}\n",
         "f.yaml:5:10: tenants: element 1 has the same name as element 0\n"
         "  - {name: a, namespaces: [b]}\n           ^\n"},
        {"namespace twice", "tenants:\n- {name: a, namespaces: [x, y]}\n- {name: b, namespaces: [z, y]}\n",
         "f.yaml:5:29: tenants: y belongs to tenant a already\n"
         "  - {name: b, namespaces: [z, y]}\n                              ^\n"},
        {"misspelt", "tenants: [{name: a, namespaces: [a], gpushare: 1%}]\n",
         "f.yaml:3:38: unknown key 'gpushare' in tenants[0]; did you mean 'gpuShare'?\n"
         "  tenants: [{name: a, namespaces: [a], gpushare: 1%}]\n"
         "                                       ^\n"},
    };

    expect_reports(rows, ARRAY_LEN(rows));
}

/* ---- overrides ---- */

static void overrides__every_key__stored(void **state)
{
    struct config *c = unit_config("devices:\n"
                                   "  maxSharers: 8\n"
                                   "  overrides:\n"
                                   "  - nodeSelector: {a.b/pool: x, gpu: true}\n"
                                   "    memoryReserve: 512Mi\n"
                                   "    maxSharers: 3\n"
                                   "    overcommit: {compute: 1.5, memory: 1.25}\n"
                                   "    qos: equal-share\n"
                                   "    lendIdleCompute: forbid\n"
                                   "  - {nodeSelector: {empty: ''}, memoryReserve: 0}\n"
                                   "  - {nodeSelector: {b: c}, memoryOnly: free, overcommit: {memory: 2}}\n"
                                   "  - {nodeSelector: {c: d}, handOff: nvidia-cdi}\n");
    const struct device_override *o = c->policy.overrides;

    assert_int_equal(c->policy.override_n, 4);
    assert_int_equal(o[3].settings.hand_off, HAND_OFF_NVIDIA_CDI);
    assert_int_equal(o[2].settings.hand_off, HAND_OFF__MAX);
    assert_int_equal(c->policy.hand_off, HAND_OFF_DOWNWARD_API);
    assert_int_equal(o[0].node_selector.n, 2);
    expect_text(o[0].node_selector.items[0].key, "a.b/pool", NULL);
    expect_text(o[0].node_selector.items[1].value, "true", NULL);
    assert_int_equal(o[0].settings.mem_reserve_mib, 512);
    assert_int_equal(o[0].settings.max_sharers, 3);
    assert_int_equal(o[0].settings.overcommit_milli, 1500);
    assert_int_equal(o[0].settings.overcommit_mem_milli, 1250);
    assert_int_equal(o[0].settings.qos, QOS_EQUAL_SHARE);
    assert_int_equal(o[0].settings.lending, LEND_FORBID);
    expect_text(o[1].node_selector.items[0].value, "", NULL);
    assert_int_equal(o[1].settings.mem_reserve_mib, 0);
    assert_int_equal(o[1].settings.max_sharers, DEVICES_AS_ELSEWHERE);
    assert_int_equal(o[2].settings.overcommit_milli, DEVICES_AS_ELSEWHERE);
    assert_int_equal(o[1].settings.memory_only, MEMORY_ONLY__MAX);
    assert_int_equal(o[2].settings.memory_only, MEMORY_ONLY_FREE);
    assert_int_equal(o[2].settings.qos, QOS__MAX);
    assert_int_equal(o[2].settings.lending, LEND__MAX);
    config_free(c);
}

static void overrides__first_that_selects_the_node__holds(void **state)
{
    struct config *c = unit_config("devices:\n"
                                   "  memoryReserve: 1Gi\n"
                                   "  memoryOnly: free\n"
                                   "  lendIdleCompute: forbid\n"
                                   "  overrides:\n"
                                   "  - {nodeSelector: {pool: x, fast: y}, maxSharers: 3}\n"
                                   "  - {nodeSelector: {pool: x}, memoryReserve: 0, memoryOnly: share, qos: "
                                   "best-effort, lendIdleCompute: allow, overcommit: {compute: 2.0}}\n");
    const struct kv both[] = {{STR("fast"), STR("y")}, {STR("pool"), STR("x")}};
    const struct kv other = {STR("pool"), STR("z")};
    struct device_settings s = policy_devices_of(&c->policy, (struct kv_list){both, 2});

    assert_int_equal(s.max_sharers, 3);
    assert_int_equal(s.mem_reserve_mib, 1024); /* the second does not add to the first */
    assert_int_equal(s.memory_only, MEMORY_ONLY_FREE);
    assert_int_equal(s.overcommit_milli, 1000);
    assert_int_equal(s.qos, QOS_FIXED_SHARE);
    assert_int_equal(s.lending, LEND_FORBID);
    s = policy_devices_of(&c->policy, (struct kv_list){&both[1], 1});
    assert_int_equal(s.max_sharers, 16);
    assert_int_equal(s.mem_reserve_mib, 0);
    assert_int_equal(s.overcommit_milli, 2000);
    assert_int_equal(s.memory_only, MEMORY_ONLY_SHARE);
    assert_int_equal(s.qos, QOS_BEST_EFFORT);
    assert_int_equal(s.lending, LEND_ALLOW);
    s = policy_devices_of(&c->policy, (struct kv_list){&other, 1});
    assert_int_equal(s.mem_reserve_mib, 1024);
    s = policy_devices_of(&c->policy, (struct kv_list){NULL, 0});
    assert_int_equal(s.max_sharers, 16);
    config_free(c);
}

static void overrides__mistakes__exact_reports(void **state)
{
    static const struct mistake rows[] = {
        {"no selector", "devices: {overrides: [{maxSharers: 3}]}\n",
         "f.yaml:3:23: devices.overrides[0]: 'nodeSelector' is missing\n"
         "  devices: {overrides: [{maxSharers: 3}]}\n                        ^\n"},
        {"empty selector", "devices: {overrides: [{nodeSelector: {}, maxSharers: 3}]}\n",
         "f.yaml:3:38: devices.overrides[0].nodeSelector: nothing in it; give at least one\n"
         "  devices: {overrides: [{nodeSelector: {}, maxSharers: 3}]}\n"
         "                                       ^\n"},
        {"selector is a list", "devices: {overrides: [{nodeSelector: [a], maxSharers: 3}]}\n",
         "f.yaml:3:38: devices.overrides[0].nodeSelector: expected names with keys below them, found a list\n"
         "  devices: {overrides: [{nodeSelector: [a], maxSharers: 3}]}\n"
         "                                       ^\n"},
        {"bad key", "devices: {overrides: [{nodeSelector: {a b: c}, maxSharers: 3}]}\n",
         "f.yaml:3:39: devices.overrides[0].nodeSelector.a b: 'a b': the label key is not valid\n"
         "  devices: {overrides: [{nodeSelector: {a b: c}, maxSharers: 3}]}\n"
         "                                        ^\n"},
        {"bad value", "devices: {overrides: [{nodeSelector: {a: b c}, maxSharers: 3}]}\n",
         "f.yaml:3:42: devices.overrides[0].nodeSelector.a: 'b c': the label value is not valid\n"
         "  devices: {overrides: [{nodeSelector: {a: b c}, maxSharers: 3}]}\n"
         "                                           ^\n"},
        {"nothing changed", "devices: {overrides: [{nodeSelector: {a: b}, overcommit: {}}]}\n",
         "f.yaml:3:23: devices.overrides[0]: changes nothing; give memoryReserve, maxSharers, memoryOnly, qos, "
         "lendIdleCompute, handOff or overcommit\n"
         "  devices: {overrides: [{nodeSelector: {a: b}, overcommit: {}}]}\n                        ^\n"},
        {"factor below one", "devices: {overrides: [{nodeSelector: {a: b}, overcommit: {memory: 0.5}}]}\n",
         "f.yaml:3:67: devices.overrides[0].overcommit.memory: 0.5 is out of range 1.0..10.0 (factor for the "
         "part of a GPU's memory that pods may get; 1.5 is 150 %)\n"
         "  devices: {overrides: [{nodeSelector: {a: b}, overcommit: {memory: 0.5}}]}\n"
         "                                                                    ^\n"},
        {"never used",
         "devices:\n  overrides:\n  - {nodeSelector: {a: b}, maxSharers: 3}\n"
         "  - {nodeSelector: {c: d, a: b}, maxSharers: 4}\n",
         "f.yaml:6:5: devices.overrides: never used: element 0 selects all of these nodes\n"
         "    - {nodeSelector: {c: d, a: b}, maxSharers: 4}\n      ^\n"},
        {"no such mode", "devices: {overrides: [{nodeSelector: {a: b}, memoryOnly: fre}]}\n",
         "f.yaml:3:58: devices.overrides[0].memoryOnly: 'fre' is not one of: share, free; did you mean 'free'?\n"
         "  devices: {overrides: [{nodeSelector: {a: b}, memoryOnly: fre}]}\n"
         "                                                           ^\n"},
    };

    expect_reports(rows, ARRAY_LEN(rows));
}

/* ---- rules and criteria ---- */

static void rules__every_key__stored(void **state)
{
    struct config *c = unit_config("packing:\n"
                                   "  nodeStrategy: {binpack: 0.7, spread: 12}\n"
                                   "  rules:\n"
                                   "  - namespaces: [a, 'b-*']\n"
                                   "    podSelector: {tier: gold, x.y/z: ''}\n"
                                   "    nodeSelector: {pool: 1}\n"
                                   "    nodeStrategy: [spread, tight-fit]\n"
                                   "    deviceStrategy: binpack\n"
                                   "  - {nodeStrategy: [spread]}\n");
    const struct policy *p = &c->policy;
    const struct packing_rule *r = p->rules;

    expect_text(p->node_strategy, "binpack", NULL);
    assert_int_equal(p->node_criteria.n, 2);
    expect_text(p->node_criteria.names[1], "spread", NULL);
    assert_int_equal(p->node_criteria.weights_milli[0], 700);
    assert_int_equal(p->node_criteria.weights_milli[1], 12000);
    assert_int_equal(p->rule_n, 2);
    assert_int_equal(r[0].namespace_n, 2);
    assert_int_equal(r[0].pod_selector.n, 2);
    expect_text(r[0].pod_selector.items[1].key, "x.y/z", NULL);
    expect_text(r[0].node_selector.items[0].value, "1", NULL);
    expect_text(r[0].node_strategy, "spread", NULL);
    assert_int_equal(r[0].node_criteria.n, 2);
    assert_int_equal(r[0].node_criteria.weights_milli[0], 0);
    expect_text(r[0].device_strategy, "binpack", NULL);
    expect_text(r[1].node_strategy, "spread", NULL);
    assert_int_equal(r[1].node_criteria.n, 0); /* one alone is no chain */
    assert_int_equal(r[1].device_strategy.n, 0);
    config_free(c);
}

static void rules__mistakes__exact_reports(void **state)
{
    static const struct mistake rows[] = {
        {"nothing chosen", "packing: {rules: [{namespaces: [a]}]}\n",
         "f.yaml:3:19: packing.rules[0]: changes nothing; give nodeStrategy or deviceStrategy\n"
         "  packing: {rules: [{namespaces: [a]}]}\n                    ^\n"},
        {"empty selector", "packing: {rules: [{podSelector: {}, nodeStrategy: spread}]}\n",
         "f.yaml:3:33: packing.rules[0].podSelector: nothing in it; give at least one, or remove the key\n"
         "  packing: {rules: [{podSelector: {}, nodeStrategy: spread}]}\n"
         "                                  ^\n"},
        {"chain for devices", "packing: {deviceStrategy: [spread, binpack]}\n",
         "f.yaml:3:27: packing.deviceStrategy: expected one value, found a list\n"
         "  packing: {deviceStrategy: [spread, binpack]}\n                            ^\n"},
        {"empty chain", "packing: {nodeStrategy: []}\n",
         "f.yaml:3:25: packing.nodeStrategy: 0 strategies; give 1 to 4\n"
         "  packing: {nodeStrategy: []}\n                          ^\n"},
        {"twice", "packing: {nodeStrategy: [spread, spread]}\n",
         "f.yaml:3:34: packing.nodeStrategy: spread stands here twice\n"
         "  packing: {nodeStrategy: [spread, spread]}\n                                   ^\n"},
        {"nested", "packing: {nodeStrategy: [[spread]]}\n",
         "f.yaml:3:26: packing.nodeStrategy: expected a strategy, found a list\n"
         "  packing: {nodeStrategy: [[spread]]}\n                           ^\n"},
        {"weight of zero", "packing: {nodeStrategy: {spread: 0, binpack: 1}}\n",
         "f.yaml:3:34: packing.nodeStrategy: 0 is out of range 0.001..1000.0 (how much this strategy counts)\n"
         "  packing: {nodeStrategy: {spread: 0, binpack: 1}}\n                                   ^\n"},
        {"weight is no number", "packing: {nodeStrategy: {spread: much}}\n",
         "f.yaml:3:34: packing.nodeStrategy: 'much' is not a factor such as 1.0 or 1.25\n"
         "  packing: {nodeStrategy: {spread: much}}\n                                   ^\n"},
        {"never used",
         "packing:\n  rules:\n  - {namespaces: [a-*], nodeStrategy: spread}\n"
         "  - {namespaces: [a-b], nodeSelector: {x: y}, nodeStrategy: binpack}\n",
         "f.yaml:6:5: packing.rules: never used: element 0 applies wherever this one would\n"
         "    - {namespaces: [a-b], nodeSelector: {x: y}, nodeStrategy: binpack}\n      ^\n"},
        {"behind a rule for all",
         "packing:\n  rules:\n  - {nodeStrategy: spread}\n  - {podSelector: {a: b}, "
         "deviceStrategy: spread}\n",
         "f.yaml:6:5: packing.rules: never used: element 0 applies wherever this one would\n"
         "    - {podSelector: {a: b}, deviceStrategy: spread}\n      ^\n"},
    };

    expect_reports(rows, ARRAY_LEN(rows));
}

/* What comes first is narrower, or other: nothing to complain about. */
static void rules__in_a_useful_order__accepted(void **state)
{
    config_free(unit_config("packing:\n  rules:\n"
                            "  - {namespaces: [a-b], nodeStrategy: spread}\n"
                            "  - {namespaces: ['a-*'], nodeStrategy: spread}\n"
                            "  - {namespaces: ['*-b'], nodeStrategy: spread}\n"
                            "  - {podSelector: {x: y, z: z}, nodeStrategy: spread}\n"
                            "  - {podSelector: {x: y}, nodeSelector: {p: q}, nodeStrategy: spread}\n"
                            "  - {podSelector: {x: y}, nodeStrategy: spread}\n"
                            "  - {nodeStrategy: spread}\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compute__kubelet_picks__nothing_to_span),
        cmocka_unit_test(sizes__of_namespaces__stored),
        cmocka_unit_test(sizes__mistakes_in_variants__exact_reports),
        cmocka_unit_test(tenants__every_key__stored),
        cmocka_unit_test(tenants__mistakes__exact_reports),
        cmocka_unit_test(overrides__every_key__stored),
        cmocka_unit_test(overrides__first_that_selects_the_node__holds),
        cmocka_unit_test(overrides__mistakes__exact_reports),
        cmocka_unit_test(rules__every_key__stored),
        cmocka_unit_test(rules__mistakes__exact_reports),
        cmocka_unit_test(rules__in_a_useful_order__accepted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
