/* Whatever is made in an arena: with too little room it says so, and what it makes with enough is complete. */
#include "base/compiler.h"
#include "core/dialects/dialect.h"
#include "core/ledger/preempt.h"
#include "core/ledger/snapshot.h"
#include "core/record/assignment.h"
#include "core/request/toleration.h"
#include "core/support/tested_ledger.h"
#include "model/names.h"
#include "support/cmocka.h"

static const struct kv asks_shares[] = {{STR("fgpu.io/gpu-milli"), STR("300")},
                                        {STR("fgpu.io/gpu-memory-mib"), STR("9")}};
static const struct kv wants[] = {{STR("fgpu.io/gpu-model"), STR("A100,!T4")},
                                  {STR("fgpu.io/gpu-uuid"), STR("GPU-a,GPU-b")},
                                  {STR("fgpu.io/isolate-from"), STR("app=x,tier=y")}};
static const struct kv labels[] = {{STR("app"), STR("x")}, {STR("tier"), STR("y")}};
static const struct container container = {.name = STR("main"), .limits = {asks_shares, 2}};
static const struct pod pod = {
    .containers = &container, .container_n = 1, .annotations = {wants, 3}, .labels = {labels, 2}};

static const struct assigned_device devices[] = {{STR("GPU-a"), 0, 300, 4096}, {STR("GPU-b"), 1, 300, 4096}};
static const struct assigned_container containers[] = {{.name = STR("main"), .devices = devices, .device_n = 2}};
static const struct assignment record = {.id = STR("d"), .containers = containers, .container_n = 1};
static const struct kv brought[] = {{STR("fgpu.io/visible-devices.old"), STR("GPU-x")},
                                    {STR("required-plugins.noderesource.dev/pod"), STR("[a, b]")}};

/* ---- each returns whether it was made, with asserts about what was ---- */

static bool demand_of_native(struct arena *a)
{
    struct demand d;

    if (!dialect_demand(policy_defaults(), &pod, a, &d)) {
        return false;
    }
    assert_int_equal(d.defect, DEMAND_OK);
    assert_int_equal(d.gpu_request_n, 1);
    assert_true(d.model_n == 2 && d.uuid_n == 2 && d.isolate_n == 2);
    return true;
}

static bool demand_of_kai(struct arena *a)
{
    static const struct kv fraction[] = {{STR("gpu-fraction"), STR("0.5")}, {STR("fgpu.io/gpu-model"), STR("A100")}};
    static const struct container plain = {.name = STR("main")};
    const struct pod kai = {.containers = &plain, .container_n = 1, .annotations = {fraction, 2}};
    struct policy policy = *policy_defaults();
    struct demand d;

    policy.kai = DIALECT_SERVE;
    if (!dialect_demand(&policy, &kai, a, &d)) {
        return false;
    }
    assert_int_equal(d.gpu_request_n, 1);
    assert_int_equal(d.model_n, 1);
    return true;
}

static bool demand_with_a_defect(struct arena *a)
{
    static const struct kv wrong[] = {{STR("fgpu.io/gpu-milli"), STR("many")}};
    static const struct container bad = {.name = STR("main"), .limits = {wrong, 1}};
    const struct pod odd = {.containers = &bad, .container_n = 1};
    struct demand d;

    if (!dialect_demand(policy_defaults(), &odd, a, &d)) {
        return false;
    }
    assert_int_not_equal(d.defect, DEMAND_OK);
    assert_true(d.as_written.n > 0);
    return true;
}

static bool hashes_of_labels(struct arena *a)
{
    const uint64_t *hashes;
    size_t n;

    return dialect_label_hashes(&pod, a, &hashes, &n) && n == 2 && hashes[1] == label_pair_hash(STR("tier"), STR("y"));
}

static bool inventory_of_a_node(struct arena *a)
{
    static const struct kv said[] = {
        {STR("fgpu.io/gpus"), STR("{\"v\":1,\"gpus\":[{\"uuid\":\"GPU-\\u0061\",\"index\":0,\"memMib\":9}]}")}};
    static const struct node node = {.name = STR("n"), .annotations = {said, 1}};
    struct inventory inv;
    const char *note;

    if (!dialect_inventory(policy_defaults(), &node, a, &inv, &note)) {
        return false;
    }
    return inv.device_n == 1 && str_eq_cstr(inv.devices[0].uuid, "GPU-a");
}

static bool answer(enum hand_off hand_off, struct arena *a)
{
    struct assignment as = record;
    struct kv_list list = {NULL, 0};

    as.hand_off = hand_off;
    if (dialect_answer(&as, a, &list, NULL) != 0) {
        return false;
    }
    assert_non_null(kv_find(list, STR("fgpu.io/assignment")));
    assert_int_equal(list.n > 1, hand_off != HAND_OFF_AGENT);
    return true;
}

static bool answer_of_downward_api(struct arena *a)
{
    return answer(HAND_OFF_DOWNWARD_API, a);
}

static bool answer_of_agent(struct arena *a)
{
    return answer(HAND_OFF_AGENT, a);
}

static bool answer_of_cdi(struct arena *a)
{
    return answer(HAND_OFF_NVIDIA_CDI, a);
}

static bool answer_of_kai(struct arena *a)
{
    return answer(HAND_OFF_KAI_FRACTIONING, a);
}

static bool leftovers_and_agent(struct arena *a)
{
    struct kv_list list = {NULL, 0};
    struct str leftovers;

    if (!dialect_leftovers((struct kv_list){brought, 2}, a, &leftovers) ||
        dialect_require_agent(&list, leftovers, a, NULL) != 0 || dialect_blank(&list, leftovers, true, a, NULL) != 0) {
        return false;
    }
    assert_int_equal(list.n, 3);
    return true;
}

static bool record_as_text(struct arena *a)
{
    struct assignment again;
    struct str text;

    if (assignment_format(&record, a, &text, NULL) != 0 || assignment_parse(text, a, &again, NULL) != 0) {
        return false;
    }
    assert_int_equal(again.containers[0].device_n, 2);
    assert_true(str_eq_cstr(again.containers[0].devices[1].uuid, "GPU-b"));
    return true;
}

static bool signed_bytes(struct arena *a)
{
    struct str bytes;

    return assignment_signed_bytes(&record, STR("uid"), STR("n"), a, &bytes, NULL) == 0 && bytes.n > 0;
}

static bool taints(struct arena *a)
{
    static const struct taint taint = {.key = STR("k"), .effect = TAINT_NO_SCHEDULE};
    const struct node node = {.taints = &taint, .taint_n = 1, .unschedulable = true};
    const struct taint *ret;
    size_t n;

    return taints_of_node(&node, a, &ret, &n) && n == 2;
}

static bool copy_of_a_demand(struct arena *a)
{
    struct device_pattern models[] = {{.text = STR("A100")}};
    struct demand d = SHARE_OF(300);
    const struct demand *copy;

    d.models = models;
    d.model_n = 1;
    copy = demand_copy_to(&d, a);
    return copy != NULL && demand_equal(copy, &d);
}

/* "first" is nominated to n1, whose pods are "low" and "other". */
static bool view_beside_a_nomination(struct arena *a)
{
    struct device_pattern uuids[] = {{.text = STR("GPU-n1-1"), .exclude = true}};
    struct demand d = SHARE_OF(300);
    struct ledger_view v;

    d.uuids = uuids;
    d.uuid_n = 1;
    if (ledger_view(fx.l, a, VIEW_POD("asks", &d), &v, NULL) != 0) {
        return false;
    }
    assert_non_null(ledger_view_find(&v, STR("n1")));
    assert_int_equal(v.nomination_n, 1);
    return true;
}

static bool snapshot(struct arena *a)
{
    struct snapshot s;

    if (snapshot_take(fx.l, a, STR_NULL, STR_NULL, &s, NULL) != 0) {
        return false;
    }
    assert_int_equal(s.pod_n, 3);
    assert_int_equal(s.node_n, 1);
    return true;
}

static bool record_of_the_ledger(struct arena *a)
{
    struct assignment as;

    return ledger_assignment(fx.l, STR("low"), a, &as, NULL) == 0 && as.container_n == 1;
}

static int setup(void **state)
{
    struct demand d = SHARE_OF(300);
    struct ledger_op first = fixture_observation("first", &d, NULL, NULL);

    two_gpus_setup(state);
    assert_int_equal(fixture_pod(&fx, "low", &d, NULL, NULL), 0);
    assert_int_equal(fixture_reserve(&fx, "low", "n1"), 0);
    assert_int_equal(fixture_pod(&fx, "other", &d, "n1", NULL), 0);
    first.pod.nominated_node = STR("n1");
    first.pod.priority = 5;
    fixture_apply(&fx, &first);
    return 0;
}

static void each__with_any_room__is_made_in_full_or_says_that_there_was_none(void **state)
{
    static const struct {
        const char *name;
        bool (*make)(struct arena *a);
    } all[] = {
        {"native demand", demand_of_native},
        {"demand of KAI", demand_of_kai},
        {"demand with a defect", demand_with_a_defect},
        {"hashes of labels", hashes_of_labels},
        {"inventory", inventory_of_a_node},
        {"answer, downward API", answer_of_downward_api},
        {"answer, agent", answer_of_agent},
        {"answer, CDI", answer_of_cdi},
        {"answer, KAI", answer_of_kai},
        {"leftovers and agent", leftovers_and_agent},
        {"record as text", record_as_text},
        {"signed bytes", signed_bytes},
        {"taints", taints},
        {"copy of a demand", copy_of_a_demand},
        {"view", view_beside_a_nomination},
        {"snapshot", snapshot},
        {"record of the ledger", record_of_the_ledger},
    };

    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        bool made = false;
        size_t room = 0;

        for (; !made && room < 1 << 18; room += room < 8192 ? 8 : 512) {
            struct arena a;

            arena_init(&a, room);
            made = all[i].make(&a);
            if (made == a.overflowed) {
                fail_msg("%s: %s in %zu bytes, and the arena %s", all[i].name, made ? "made" : "not made", room,
                         a.overflowed ? "was full" : "was not full");
            }
            arena_fini(&a);
        }
        if (!made || room <= 8) {
            fail_msg("%s: made in %zu bytes", all[i].name, room);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each__with_any_room__is_made_in_full_or_says_that_there_was_none, setup,
                                        ledger_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
