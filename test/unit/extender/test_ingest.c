/* Objects as the API server has them, and what the ledger knows afterwards. */
#include "core/time/node_pools.h"
#include "extender/planner.h"
#include "extender/support/tested_store.h"
#include "extender/support/warnings.h"
#include "support/cmocka.h"

#include <string.h>

static struct ingest ingest;

static int setup(void **state)
{
    warnings_reset();
    store_open(clock_system());
    ingest = (struct ingest){store, policy_defaults(), &warnings_log, NULL};
    return 0;
}

/* Pod d/a that asks for 300 milli. */
static struct pod pod(struct kv *limit, struct container *c)
{
    *limit = (struct kv){STR("fgpu.io/gpu-milli"), STR("300")};
    *c = (struct container){.name = STR("c"), .limits = {limit, 1}};
    return (struct pod){.namespace_ = STR("d"), .name = STR("a"), .uid = STR("a"), .containers = c, .container_n = 1};
}

static enum ledger_pod_state state_of(const char *uid)
{
    struct snapshot s;

    assert_int_equal(store_snapshot(store, &arena, STR_NULL, STR_NULL, &s, NULL), 0);
    for (size_t i = 0; i < s.pod_n; i++) {
        if (str_eq_cstr(s.pods[i].uid, uid)) {
            return s.pods[i].state;
        }
    }
    return LEDGER_POD_STATE__MAX; /* unknown */
}

#define RECORD_AT(uuid, index)                                                                                         \
    "{\"v\":1,\"id\":\"x\",\"containers\":[{\"name\":\"c\",\"init\":false,\"devices\":[{\"uuid\":" uuid                \
    ",\"index\":" index ",\"milli\":300,\"memMib\":24576}]}]}"
#define RECORD RECORD_AT("\"GPU-0\"", "0")

static void pod__through_its_life__pending_bound_terminal(void **state)
{
    struct kv limit, record = {STR("fgpu.io/assignment"), STR(RECORD)};
    struct container c;
    struct pod p = pod(&limit, &c);

    ingest_two_gpus(&ingest, STR("n1"));
    assert_int_equal(ingest_pod(&ingest, &arena, &p, NULL), 0);
    assert_int_equal(state_of("a"), LEDGER_PENDING);
    p.node_name = STR("n1");
    p.annotations = (struct kv_list){&record, 1};
    assert_int_equal(ingest_pod(&ingest, &arena, &p, NULL), 0);
    assert_int_equal(state_of("a"), LEDGER_BOUND);
    assert_int_equal(milli_charged(), 300);
    p.deleting = true;
    p.phase = POD_RUNNING;
    assert_int_equal(ingest_pod(&ingest, &arena, &p, NULL), 0);
    assert_int_equal(milli_charged(), 300); /* until it is gone */
    p.phase = POD_SUCCEEDED;
    assert_int_equal(ingest_pod(&ingest, &arena, &p, NULL), 0);
    assert_int_equal(state_of("a"), LEDGER_POD_STATE__MAX);
    assert_int_equal(milli_charged(), 0);
    assert_int_equal(warnings(), 0);
}

/* defects.md F125: found by the simulated world, seed 35. */
static void pod_read__older_than_what_the_watch_has_shown__changes_nothing(void **state)
{
    struct kv limit;
    struct container c;
    struct pod p = pod(&limit, &c), before;
    struct snapshot s;

    p.resource_version = STR("7");
    before = p;
    p.resource_version = STR("8");
    p.deleting = true;
    assert_int_equal(ingest_pod(&ingest, &arena, &p, NULL), 0);
    assert_int_equal(ingest_pod_read(&ingest, &arena, &before, NULL), 0);
    assert_int_equal(store_snapshot(store, &arena, STR_NULL, STR_NULL, &s, NULL), 0);
    assert_int_equal(s.pod_n, 1);
    assert_true(s.pods[0].deleting);
    p.resource_version = STR("9");
    p.deleting = false;
    assert_int_equal(ingest_pod_read(&ingest, &arena, &p, NULL), 0); /* this is news */
    assert_int_equal(store_snapshot(store, &arena, STR_NULL, STR_NULL, &s, NULL), 0);
    assert_false(s.pods[0].deleting);
}

static void list(enum ledger_op_kind kind, uint64_t version)
{
    struct ledger_op op = {.kind = kind, .list = {.version = version}};

    assert_int_equal(store_apply(store, &op, NULL), 0);
}

/* defects.md F145: found by the simulated world, seed 5006. */
static void F145_pod_read__after_its_end_was_told__stays_gone(void **state)
{
    struct kv limit;
    struct container c;
    struct pod p = pod(&limit, &c);
    const struct kube_object o = {.pod = &p, .in_order = true};

    p.resource_version = STR("7");
    assert_int_equal(ingest_object(&ingest, &arena, &o, NULL), 0);
    p.resource_version = STR("12");
    assert_int_equal(ingest_gone(&ingest, &o, NULL), 0);
    p.resource_version = STR("8");
    assert_int_equal(ingest_pod_read(&ingest, &arena, &p, NULL), 0);
    assert_int_equal(state_of("a"), LEDGER_POD_STATE__MAX);
    assert_true(store_was_told(store, 12));
    assert_false(store_was_told(store, 13));
    list(LEDGER_PODS_BEGIN, 0);
    list(LEDGER_PODS_END, 20); /* nor by a list that does not show it */
    p.resource_version = STR("20");
    assert_int_equal(ingest_pod_read(&ingest, &arena, &p, NULL), 0);
    assert_int_equal(state_of("a"), LEDGER_POD_STATE__MAX);
    p.resource_version = STR("21");
    assert_int_equal(ingest_pod_read(&ingest, &arena, &p, NULL), 0); /* the watch is behind: news */
    assert_int_equal(state_of("a"), LEDGER_PENDING);
}

/* The same, seed 5032: what is read while a list comes is not listed by that. */
static void F145_pod_read__while_a_list_comes__stays_only_if_it_is_newer_than_that(void **state)
{
    static const struct {
        const char *version;
        enum ledger_pod_state after;
    } rows[] = {{"15", LEDGER_POD_STATE__MAX}, {"20", LEDGER_POD_STATE__MAX}, {"21", LEDGER_FOREIGN}};
    struct kv limit;
    struct container c;
    struct pod p = pod(&limit, &c);

    ingest_two_gpus(&ingest, STR("n1"));
    p.node_name = STR("n1");
    for (size_t i = 0; i < 3; i++) {
        p.resource_version = str_of(rows[i].version);
        list(LEDGER_PODS_BEGIN, 0);
        assert_int_equal(ingest_pod_read(&ingest, &arena, &p, NULL), 0);
        assert_int_equal(state_of("a"), LEDGER_FOREIGN);
        list(LEDGER_PODS_END, 20);
        assert_int_equal(state_of("a"), rows[i].after);
        list(LEDGER_PODS_BEGIN, 0);
        list(LEDGER_PODS_END, 10); /* of a cluster that was restored: only a read during the list itself counts */
        assert_int_equal(state_of("a"), LEDGER_POD_STATE__MAX);
    }
    p.resource_version = STR("9");
    assert_int_equal(ingest_pod(&ingest, &arena, &p, NULL), 0);
    list(LEDGER_PODS_BEGIN, 0);
    p.resource_version = STR("11");
    assert_int_equal(ingest_pod_read(&ingest, &arena, &p, NULL), 0); /* known before, and shown by no list */
    list(LEDGER_PODS_END, 12);
    assert_int_equal(state_of("a"), LEDGER_POD_STATE__MAX);
}

static void pod__phase__only_terminal_ones_free(void **state)
{
    static const struct {
        enum pod_phase phase;
        int64_t charged;
    } rows[] = {{POD_PENDING, 600}, {POD_RUNNING, 600}, {POD_PHASE_UNKNOWN, 600}, {POD_FAILED, 0}};
    struct kv limit;
    struct container c;
    struct pod p = pod(&limit, &c);

    ingest_two_gpus(&ingest, STR("n1"));
    p.node_name = STR("n1");
    for (size_t i = 0; i < 4; i++) {
        p.phase = rows[i].phase;
        assert_int_equal(ingest_pod(&ingest, &arena, &p, NULL), 0);
        assert_int_equal(milli_charged(), rows[i].charged); /* foreign: on both GPUs */
    }
}

static void pod__record_while_it_is_not_bound__is_somebodys_text(void **state)
{
    struct kv limit, record = {STR("fgpu.io/assignment"), STR(RECORD)};
    struct container c;
    struct pod p = pod(&limit, &c);

    ingest_two_gpus(&ingest, STR("n1"));
    p.annotations = (struct kv_list){&record, 1};
    assert_int_equal(ingest_pod(&ingest, &arena, &p, NULL), 0);
    assert_int_equal(state_of("a"), LEDGER_PENDING);
    assert_int_equal(milli_charged(), 0);
}

/* defects.md B4: an index of 99 or -1, or any other text, makes elastic-gpu and gpu-admission panic. */
static void B4__unreadable_record__counts_on_every_device_and_is_reported(void **state)
{
    static const char *const records[] = {
        "null", "[]", "{", "{\"v\":2}", "{\"v\":1,\"id\":\"x\",\"containers\":[{}]}", RECORD_AT("\"\"", "-1"),
    };

    ingest_two_gpus(&ingest, STR("n1"));
    for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
        struct kv limit, record = {STR("fgpu.io/assignment"), str_of(records[i])};
        struct container c;
        struct pod p = pod(&limit, &c);

        p.node_name = STR("n1");
        p.annotations = (struct kv_list){&record, 1};
        assert_int_equal(ingest_pod(&ingest, &arena, &p, NULL), 0);
        if (state_of("a") != LEDGER_FOREIGN || milli_charged() != 600 || warnings() != i + 1) {
            fail_msg("record %s: state %d, charged %d, %u warnings", records[i], (int)state_of("a"),
                     (int)milli_charged(), warnings());
        }
        assert_int_equal(ingest_gone(&ingest, &(struct kube_object){.pod = &(struct pod){.uid = STR("a")}}, NULL), 0);
    }
}

static void pod__nonsense_in_the_request__is_a_defect_of_that_pod(void **state)
{
    struct kv limit;
    struct container c;
    struct pod p = pod(&limit, &c);

    ingest_two_gpus(&ingest, STR("n1"));
    limit.value = STR("-1");
    assert_int_equal(ingest_pod(&ingest, &arena, &p, NULL), 0);
    assert_int_equal(state_of("a"), LEDGER_PENDING);
    assert_int_equal(milli_charged(), 0);
    p.node_name = STR("n1"); /* somebody bound it all the same */
    assert_int_equal(ingest_pod(&ingest, &arena, &p, NULL), 0);
    assert_int_equal(milli_charged(), 2000);
}

static void pod__without_gpu__is_not_kept(void **state)
{
    struct kv limit;
    struct container c;
    struct pod p = pod(&limit, &c);

    c.limits.n = 0;
    assert_int_equal(ingest_pod(&ingest, &arena, &p, NULL), 0);
    assert_int_equal(state_of("a"), LEDGER_POD_STATE__MAX);
}

/* contract.md R24: what others nominate keeps its room, what the planner nominated does not. */
static void pod__nominated__counts_unless_the_planner_did_it(void **state)
{
    struct kv limit;
    struct container c;
    struct pod p = pod(&limit, &c);
    const struct kube_object o = {.pod = &p};
    struct ingest_fact f;

    p.nominated_node_name = STR("n1");
    assert_int_equal(ingest_read(&ingest, &arena, &o, true, &f, NULL), 0);
    assert_true(str_eq(f.op.pod.nominated_node, STR("n1")));
    p.nominated_by_planner = true;
    assert_int_equal(ingest_read(&ingest, &arena, &o, true, &f, NULL), 0);
    assert_int_equal(f.op.pod.nominated_node.n, 0);
}

static uint32_t planned_n(void)
{
    struct planner_status s;

    planner_read(ingest.planner, &s);
    return s.waiting_n;
}

static void planner__pods_that_wait__only_where_it_is_on_or_the_nomination_is_its_own(void **state)
{
    struct policy on = *policy_defaults();
    struct kv limit;
    struct container c;
    struct pod p = pod(&limit, &c);

    ingest_two_gpus(&ingest, STR("n1"));
    ingest.planner = planner_new(&(struct planner_options){.clock = clock_system(), .log = &warnings_log});
    p.resource_version = STR("7");
    assert_int_equal(ingest_pod(&ingest, &arena, &p, NULL), 0);
    assert_int_equal(planned_n(), 0);
    p.nominated_node_name = STR("n1");
    p.nominated_by_planner = true;
    assert_int_equal(ingest_pod(&ingest, &arena, &p, NULL), 0);
    assert_int_equal(planned_n(), 1);
    p.nominated_node_name = STR_NULL;
    p.nominated_by_planner = false;
    assert_int_equal(ingest_pod(&ingest, &arena, &p, NULL), 0);
    assert_int_equal(planned_n(), 0);
    on.plan_ahead = true;
    ingest.policy = &on;
    assert_int_equal(ingest_pod(&ingest, &arena, &p, NULL), 0);
    assert_int_equal(planned_n(), 1);
    assert_int_equal(ingest_gone(&ingest, &(struct kube_object){.pod = &p}, NULL), 0);
    assert_int_equal(planned_n(), 0);
    assert_int_equal(ingest_pod(&ingest, &arena, &p, NULL), 0);
    assert_int_equal(planned_n(), 1);
    p.scheduler_only = POD_GATED;
    assert_int_equal(ingest_pod(&ingest, &arena, &p, NULL), 0);
    assert_int_equal(planned_n(), 0);
    p.scheduler_only = 0;
    assert_int_equal(ingest_pod(&ingest, &arena, &p, NULL), 0);
    p.node_name = STR("n1");
    assert_int_equal(ingest_pod(&ingest, &arena, &p, NULL), 0);
    assert_int_equal(planned_n(), 0);
    planner_free(ingest.planner);
}

/* Whoever may patch the pod may take our name out of managedFields: the room is not the pod's by that. */
static void F135_pod_read__older_than_what_the_watch_has_shown__is_not_planned(void **state)
{
    struct policy on = *policy_defaults();
    struct kv limit;
    struct container c;
    struct pod p = pod(&limit, &c), before;

    ingest_two_gpus(&ingest, STR("n1"));
    ingest.planner = planner_new(&(struct planner_options){.clock = clock_system(), .log = &warnings_log});
    on.plan_ahead = true;
    ingest.policy = &on;
    p.resource_version = STR("7");
    before = p;
    assert_int_equal(ingest_pod_read(&ingest, &arena, &p, NULL), 0); /* nobody has seen it: news */
    assert_int_equal(planned_n(), 1);
    p.resource_version = STR("8");
    p.node_name = STR("n1");
    assert_int_equal(ingest_pod(&ingest, &arena, &p, NULL), 0);
    assert_int_equal(planned_n(), 0);
    assert_int_equal(ingest_pod_read(&ingest, &arena, &before, NULL), 0);
    assert_int_equal(planned_n(), 0);
    planner_free(ingest.planner);
}

static void planner__a_nomination_once_seen_as_ours__keeps_no_room(void **state)
{
    struct kv limit;
    struct container c;
    struct pod p = pod(&limit, &c);
    const struct kube_object o = {.pod = &p};
    struct ingest_fact f;

    ingest_two_gpus(&ingest, STR("n1"));
    ingest.planner = planner_new(&(struct planner_options){.clock = clock_system(), .log = &warnings_log});
    p.resource_version = STR("7");
    p.nominated_node_name = STR("n1");
    p.nominated_by_planner = true;
    assert_int_equal(ingest_pod(&ingest, &arena, &p, NULL), 0);
    p.resource_version = STR("8");
    p.nominated_by_planner = false;
    assert_int_equal(ingest_pod(&ingest, &arena, &p, NULL), 0);
    assert_int_equal(planned_n(), 1); /* to be taken back, also where planning is off */
    assert_int_equal(ingest_read(&ingest, &arena, &o, true, &f, NULL), 0); /* as the audit reads it */
    assert_int_equal(f.op.pod.nominated_node.n, 0);
    p.nominated_node_name = STR("n2");
    assert_int_equal(ingest_read(&ingest, &arena, &o, true, &f, NULL), 0);
    assert_true(str_eq(f.op.pod.nominated_node, STR("n2")));
    planner_free(ingest.planner);
}

static void pod_gone__ends_its_hold(void **state)
{
    struct gpu_request w = {.container = STR("c"), .count = 1, .kind = GPU_REQUEST_MILLI, .milli = 1, .phases = 1};
    struct demand d = {.dialect = "native", .gpu_requests = &w, .gpu_request_n = 1};
    const struct pack_tentative *h;
    size_t n;

    store_tentative(store, STR("a"), STR("n1"), &d, 60000);
    assert_int_equal(ingest_gone(&ingest, &(struct kube_object){.pod = &(struct pod){.uid = STR("a")}}, NULL), 0);
    assert_int_equal(store_tentatives(store, &arena, STR("x"), &h, &n, &(struct store_promises){0}, NULL), 0);
    assert_int_equal(n, 0);
}

static void pod_unusable__bound__counts_as_whole_devices_until_it_can_be_read(void **state)
{
    struct kv limit;
    struct container c;
    struct pod p = pod(&limit, &c), salvaged = {.namespace_ = STR("d"), .name = STR("a"), .uid = STR("a")};
    struct err err;

    ingest_two_gpus(&ingest, STR("n1"));
    salvaged.node_name = STR("n1");
    assert_int_equal(ingest_unusable(&ingest, &(struct kube_object){.pod = &salvaged}, NULL), 0);
    assert_int_equal(milli_charged(), 2000);
    p.node_name = STR("n1");
    assert_int_equal(ingest_pod(&ingest, &arena, &p, NULL), 0);
    assert_int_equal(milli_charged(), 600);
    salvaged.phase = POD_FAILED;
    assert_int_equal(ingest_unusable(&ingest, &(struct kube_object){.pod = &salvaged}, NULL), 0);
    assert_int_equal(milli_charged(), 0);
    salvaged.uid = STR_NULL;
    assert_int_equal(ingest_unusable(&ingest, &(struct kube_object){.pod = &salvaged}, &err), -ERR_INVALID);
}

static void pod_unusable__bound_by_us__keeps_what_it_holds(void **state)
{
    struct kv limit, record = {STR("fgpu.io/assignment"), STR(RECORD)};
    struct container c;
    struct pod p = pod(&limit, &c);

    ingest_two_gpus(&ingest, STR("n1"));
    p.node_name = STR("n1");
    p.annotations = (struct kv_list){&record, 1};
    assert_int_equal(ingest_pod(&ingest, &arena, &p, NULL), 0);
    assert_int_equal(ingest_unusable(&ingest, &(struct kube_object){.pod = &p}, NULL), 0);
    assert_int_equal(milli_charged(), 300);
}

static void node__cordoned_redescribed_and_gone(void **state)
{
    const struct kv annotation = {STR("fgpu.io/gpus"), STR(TWO_GPUS)};
    struct node n = {.name = STR("n1"), .uid = STR("n1"), .annotations = {&annotation, 1}};
    struct snapshot s;

    n.unschedulable = true;
    assert_int_equal(ingest_node(&ingest, &arena, &n, NULL), 0);
    assert_int_equal(store_snapshot(store, &arena, STR_NULL, STR_NULL, &s, NULL), 0);
    assert_false(s.nodes[0].schedulable);
    assert_int_equal(s.nodes[0].source, INVENTORY_ANNOTATION);
    assert_int_equal(s.device_n, 2);
    assert_int_equal(ingest_gone(&ingest, &(struct kube_object){.node = &(struct node){.name = STR("n1")}}, NULL), 0);
    assert_false(store_has_node(store, STR("n1")));
    assert_int_equal(ingest_gone(&ingest, &(struct kube_object){.node = &(struct node){.name = STR("n1")}}, NULL),
                     0); /* a second DELETED event */
}

static void node__malformed_inventory__offers_nothing_and_has_a_note(void **state)
{
    const struct kv annotation = {STR("fgpu.io/gpus"), STR("{\"v\":1,\"gpus\":[{}]}")};
    const struct node n = {.name = STR("n1"), .uid = STR("n1"), .annotations = {&annotation, 1}};
    struct snapshot s;

    assert_int_equal(ingest_node(&ingest, &arena, &n, NULL), 0);
    assert_int_equal(store_snapshot(store, &arena, STR_NULL, STR_NULL, &s, NULL), 0);
    assert_int_equal(s.device_n, 0);
    assert_non_null(s.nodes[0].note);
}

static void node_unusable__keeps_its_pods_and_offers_nothing(void **state)
{
    struct kv limit, record = {STR("fgpu.io/assignment"), STR(RECORD)};
    struct container c;
    struct pod p = pod(&limit, &c);
    const struct node n = {.name = STR("n1"), .uid = STR("n1")}, nameless = {.uid = STR("x")};
    struct err err;

    ingest_two_gpus(&ingest, STR("n1"));
    p.node_name = STR("n1");
    p.annotations = (struct kv_list){&record, 1};
    assert_int_equal(ingest_pod(&ingest, &arena, &p, NULL), 0);
    assert_int_equal(ingest_unusable(&ingest, &(struct kube_object){.node = &n}, NULL), 0);
    assert_int_equal(milli_charged(), 300); /* on the GPU that is listed as lost */
    ingest_two_gpus(&ingest, STR("n1"));
    assert_int_equal(milli_charged(), 300);
    assert_int_equal(ingest_unusable(&ingest, &(struct kube_object){.node = &nameless}, &err), -ERR_INVALID);
}

/* Pods of a pool are waited for before its hardware goes to another one; those of a host group share its GPUs. */
static void node_unusable__stays_in_its_pools_and_its_host_group(void **state)
{
    static const struct kv labels[] = {{STR("fgpu.io/host-group"), STR("host-1")}, {STR("pool"), STR("night")}};
    static const struct kv annotation = {STR("fgpu.io/gpus"), STR(TWO_GPUS)};
    static const struct node_pool entries[] = {{.name = STR("day"), .selector = {labels, 1}},
                                               {.name = STR("night"), .selector = {&labels[1], 1}}};
    static const struct str pools[] = {STR("day"), STR("night")};
    static const struct change_over_group group = {STR("card"), pools, 2};
    struct policy p = *policy_defaults();
    const struct node n = {
        .name = STR("n1"), .uid = STR("n1"), .labels = {&labels[1], 1}, .annotations = {&annotation, 1}};
    const struct node in_group = {.name = STR("n2"), .uid = STR("n2"), .labels = {labels, 1}};
    const struct node bare[] = {{.name = STR("n1"), .uid = STR("n1")}, {.name = STR("n2"), .uid = STR("n2")}};
    struct pool_use use[GATED_POOLS_MAX];
    struct kv limit;
    struct container c;
    struct pod a = pod(&limit, &c);
    struct snapshot s;

    p.node_pools = entries;
    p.node_pool_n = 2;
    p.change_overs = &group;
    p.change_over_n = 1;
    ingest.policy = &p;
    assert_int_equal(ingest_node(&ingest, &arena, &n, NULL), 0);
    assert_int_equal(ingest_node(&ingest, &arena, &in_group, NULL), 0);
    a.node_name = STR("n1");
    assert_int_equal(ingest_pod(&ingest, &arena, &a, NULL), 0);
    store_pool_use(store, node_pools_layout(&p), use);
    assert_int_equal(use[1].pod_n, 1);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(ingest_unusable(&ingest, &(struct kube_object){.node = &bare[i]}, NULL), 0);
    }
    store_pool_use(store, node_pools_layout(&p), use);
    assert_int_equal(use[1].pod_n, 1);
    assert_int_equal(use[1].open_n, 0);
    assert_int_equal(use[0].pod_n, 0);
    assert_int_equal(store_snapshot(store, &arena, STR_NULL, STR_NULL, &s, NULL), 0);
    for (size_t i = 0; i < s.node_n; i++) {
        assert_true(str_eq_cstr(s.nodes[i].name, "n1") || str_eq_cstr(s.nodes[i].host_group, "host-1"));
    }
}

static void memory__object_larger_than_the_arena__is_an_error_and_changes_nothing(void **state)
{
    struct kv limit;
    struct container c;
    struct pod p = pod(&limit, &c);
    const struct kv annotation = {STR("fgpu.io/gpus"), STR(TWO_GPUS)};
    const struct node n = {.name = STR("n1"), .uid = STR("n1"), .annotations = {&annotation, 1}};
    struct arena small;
    struct err err;
    uint64_t before = store_generation(store);

    arena_init(&small, 16);
    assert_int_equal(ingest_pod(&ingest, &small, &p, &err), -ERR_LIMIT);
    assert_non_null(strstr(err.msg, "pod a"));
    arena_reset(&small);
    assert_int_equal(ingest_node(&ingest, &small, &n, &err), -ERR_LIMIT);
    assert_non_null(strstr(err.msg, "node n1"));
    arena_fini(&small);
    assert_int_equal(store_generation(store), before);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, store_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(pod__through_its_life__pending_bound_terminal),
        T(pod_read__older_than_what_the_watch_has_shown__changes_nothing),
        T(F145_pod_read__after_its_end_was_told__stays_gone),
        T(F145_pod_read__while_a_list_comes__stays_only_if_it_is_newer_than_that),
        T(pod__phase__only_terminal_ones_free),
        T(pod__record_while_it_is_not_bound__is_somebodys_text),
        T(B4__unreadable_record__counts_on_every_device_and_is_reported),
        T(pod__nonsense_in_the_request__is_a_defect_of_that_pod),
        T(pod__without_gpu__is_not_kept),
        T(pod__nominated__counts_unless_the_planner_did_it),
        T(planner__pods_that_wait__only_where_it_is_on_or_the_nomination_is_its_own),
        T(F135_pod_read__older_than_what_the_watch_has_shown__is_not_planned),
        T(planner__a_nomination_once_seen_as_ours__keeps_no_room),
        T(pod_gone__ends_its_hold),
        T(pod_unusable__bound__counts_as_whole_devices_until_it_can_be_read),
        T(pod_unusable__bound_by_us__keeps_what_it_holds),
        T(node__cordoned_redescribed_and_gone),
        T(node__malformed_inventory__offers_nothing_and_has_a_note),
        T(node_unusable__keeps_its_pods_and_offers_nothing),
        T(node_unusable__stays_in_its_pools_and_its_host_group),
        T(memory__object_larger_than_the_arena__is_an_error_and_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
