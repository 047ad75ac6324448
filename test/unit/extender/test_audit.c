/* What an audit calls drift, what it repairs, and what it leaves to the watch. The lists are
 * extender/support/fake_lister.h; the clock stands still, or goes on by `tick_ms` with each look, so nothing here waits
 * for time. */
#include "extender/audit.h"

#include "base/bug.h"
#include "base/sync.h"
#include "extender/support/fake_lister.h"
#include "extender/support/tested_store.h"
#include "extender/support/warnings.h"
#include "kube/events.h"
#include "support/cmocka.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define PATIENCE_NS (60 * NS_PER_S)
#define PODS_MAX (AUDIT_SUSPECTS_MAX + 1)

/* ---- the cluster, as the API server has it: what a test changes here, the ledger hears by tell_*() alone ---- */

static const struct kv share = {{"fgpu.io/gpu-milli", 17}, {"300", 3}};
static const struct container main_container = {.name = {"c", 1}, .limits = {&share, 1}};
static struct pod pods[PODS_MAX];
static char numbers[PODS_MAX][8];
static struct kv gpus_of[FAKE_LISTER_NODES_MAX];

static struct policy_set *policies;
static struct ingest facts; /* by which the watch reads */
static struct audit *audit;
static struct audit_options options;

static _Atomic int64_t now_ns, tick_ms, wall_ms;

static int64_t mono(void *ctx)
{
    (void)ctx;
    return atomic_fetch_add(&now_ns, atomic_load(&tick_ms) * NS_PER_MS);
}

static int64_t wall(void *ctx)
{
    (void)ctx;
    return atomic_load(&wall_ms);
}

static const struct clock the_clock = {mono, wall, NULL};

/* ---- what the audit says, and to whom ---- */

static struct mutex lock; /* of the rest */
static struct condvar changed;
static unsigned finished_n, drifted_n[KUBE_RESOURCE__MAX], asked_n;
static struct audit_report finished_last;
static unsigned told_n; /* of the audit's thread, as is: */
static char told_of[16];

/* Of kube/events.h: nobody posts them here. */
void events_record(struct events *e, const struct event *event)
{
    if (e != NULL) {
        told_n++;
        snprintf(told_of, sizeof(told_of), "%.*s", STR_ARG(event->regarding.name));
    }
}

static void finished(void *ctx, const struct audit_report *r)
{
    BUG_ON(ctx != &options);
    mutex_lock(&lock);
    finished_n++;
    finished_last = *r;
    condvar_broadcast(&changed);
    mutex_unlock(&lock);
}

static void drifted(void *ctx, enum kube_resource resource)
{
    BUG_ON(ctx != &options);
    mutex_lock(&lock);
    drifted_n[resource]++;
    mutex_unlock(&lock);
}

/* Each run asks twice for each resource: before it waits for the watches, and after. */
static struct {
    uint64_t n[2];
    bool now[2];
    enum kube_resource of;
    void (*between)(void); /* called once the audit has asked the first time */
} watch;

static uint64_t interruptions(void *ctx, enum kube_resource resource, bool *ret_now)
{
    unsigned turn = asked_n++ / KUBE_RESOURCE__MAX % 2;

    BUG_ON(ctx != &options);
    if (asked_n % (2 * KUBE_RESOURCE__MAX) == KUBE_RESOURCE__MAX && watch.between != NULL) {
        watch.between();
    }
    *ret_now = resource == watch.of && watch.now[turn];
    return resource == watch.of ? watch.n[turn] : 7;
}

struct heard {
    unsigned calls;
    bool stopped;
    struct audit_report report;
};

static void hear(void *ctx, const struct audit_report *r, bool stopped)
{
    struct heard *h = ctx;

    mutex_lock(&lock);
    h->calls++;
    h->stopped = stopped;
    h->report = *r;
    condvar_broadcast(&changed);
    mutex_unlock(&lock);
}

/* Fails the test after a minute. */
static void await(const unsigned *n, unsigned at_least, const char *what)
{
    const int64_t until_ns = sync_in_ns(PATIENCE_NS);
    bool in_time = true;
    unsigned so_far;

    mutex_lock(&lock);
    while (*n < at_least && in_time) {
        in_time = condvar_wait_until(&changed, &lock, until_ns);
    }
    so_far = *n;
    mutex_unlock(&lock);
    if (so_far < at_least) {
        fail_msg("waited a minute for %s: %u of %u", what, so_far, at_least);
    }
}

/* One run, and what it says. */
static struct audit_report run(void)
{
    struct heard h = {0};

    audit_request(audit, hear, &h);
    await(&h.calls, 1, "the audit");
    assert_false(h.stopped);
    return h.report;
}

/* ---- life ---- */

static void start(void)
{
    const struct ingest by = {store, policy_defaults(), NULL, (struct events *)&told_n};
    const struct rules *rules;

    assert_int_equal(rules_new(&by, 1, NULL, NULL, &rules, NULL), 0);
    policies = policy_set_new(rules);
    assert_int_equal(audit_new(policies, NULL, &the_clock, &warnings_log, &options, &audit, NULL), 0);
}

static int setup_unsynced(void **state)
{
    warnings_reset();
    memset(&fake_lister, 0, sizeof(fake_lister));
    memset(&watch, 0, sizeof(watch));
    watch.of = KUBE_RESOURCE__MAX;
    atomic_store(&now_ns, 1000 * NS_PER_S);
    atomic_store(&tick_ms, 0);
    atomic_store(&wall_ms, 1795161600123);
    finished_n = asked_n = told_n = 0;
    told_of[0] = '\0';
    memset(drifted_n, 0, sizeof(drifted_n));
    mutex_init(&lock, "test");
    condvar_init(&changed, "test changed");
    store_open(&the_clock);
    facts = (struct ingest){store, policy_defaults(), NULL, NULL};
    fake_lister.pods = pods;
    options = (struct audit_options){
        .finished = finished, .drifted = drifted, .interruptions = interruptions, .ctx = &options};
    start();
    return 0;
}

static int setup(void **state)
{
    setup_unsynced(state);
    apply_empty_lists();
    return 0;
}

static void end_audit(void)
{
    audit_free(audit);
    audit = NULL;
}

static int teardown(void **state)
{
    end_audit();
    policy_set_free(policies);
    store_check_and_free();
    condvar_destroy(&changed);
    mutex_destroy(&lock);
    return 0;
}

/* With other options; between runs. */
static void restart(void)
{
    end_audit();
    policy_set_free(policies);
    start();
}

/* ---- objects ---- */

/* Pods p0, p1, ... */
static struct pod *add_pod(const char *node)
{
    size_t i = fake_lister.pod_n++;
    int n = snprintf(numbers[i], sizeof(numbers[i]), "p%zu", i);

    pods[i] = (struct pod){.namespace_ = STR("d"),
                           .name = {numbers[i], (size_t)n},
                           .uid = {numbers[i], (size_t)n},
                           .node_name = str_of(node),
                           .containers = &main_container,
                           .container_n = 1};
    return &pods[i];
}

static struct node *add_node(const char *name)
{
    size_t i = fake_lister.node_n++;

    gpus_of[i] = (struct kv){STR("fgpu.io/gpus"), STR(TWO_GPUS)};
    fake_lister.nodes[i] = (struct node){.name = str_of(name), .uid = str_of(name), .annotations = {&gpus_of[i], 1}};
    return &fake_lister.nodes[i];
}

/* As the watch would. */
static void tell_pod(const struct pod *p)
{
    assert_int_equal(ingest_pod(&facts, &arena, p, NULL), 0);
}

static void tell_node(const struct node *n)
{
    assert_int_equal(ingest_node(&facts, &arena, n, NULL), 0);
}

static void tell_gone(const struct pod *p)
{
    apply((struct ledger_op){.kind = LEDGER_POD_GONE, .name = p->uid});
}

/* Node n1, and p0 bound to it without a record: charged on both GPUs. */
static struct pod *one_bound_pod(void)
{
    struct pod *p;

    tell_node(add_node("n1"));
    p = add_pod("n1");
    tell_pod(p);
    assert_int_equal(milli_charged(), 600);
    return p;
}

/* Its deletion is lost. */
static void lose_pods(void)
{
    fake_lister.pod_n = 0;
}

/* ---- what is expected ---- */

static void expect_clean(const struct audit_report *r)
{
    assert_string_equal(audit_result_name(r->result), "clean");
    assert_string_equal(r->error, "");
    assert_int_equal(r->drift_n, 0);
    assert_int_equal(r->unsettled_n, 0);
}

/* This, once, and nothing else; repaired, so that the next run is clean. */
static void expect_drift(enum ledger_drift drift)
{
    const struct audit_report r = run();
    const bool of_pods = drift < DRIFT_NODE_MISSING;
    struct audit_report again;

    assert_string_equal(audit_result_name(r.result), "drift");
    assert_int_equal(r.suspect_n, 1);
    assert_int_equal(r.drift_n, 1);
    assert_int_equal(r.unsettled_n, 0);
    for (int i = 0; i < DRIFT__MAX; i++) {
        assert_int_equal(r.drift[i], i == (int)drift);
    }
    assert_int_equal(drifted_n[KUBE_PODS], of_pods);
    assert_int_equal(drifted_n[KUBE_NODES], !of_pods);
    assert_int_equal(told_n, 1);
    assert_int_equal(warnings(), 2); /* the object, and the run */
    again = run();
    expect_clean(&again);
    assert_int_equal(again.suspect_n, 0);
    assert_int_equal(drifted_n[KUBE_PODS] + drifted_n[KUBE_NODES], 1);
}

static void expect_failed(const struct audit_report *r, uint64_t unsettled_n, const char *part)
{
    assert_string_equal(audit_result_name(r->result), "failed");
    assert_int_equal(r->unsettled_n, unsettled_n);
    if (strstr(r->error, part) == NULL) {
        fail_msg("\"%s\" instead of \"...%s...\"", r->error, part);
    }
}

/* ---- a run ---- */

static void on_list_time_passes(enum kube_resource resource)
{
    atomic_fetch_add(&now_ns, 3 * NS_PER_S);
    atomic_fetch_add(&wall_ms, 3000);
}

static void run__nothing_lost__clean_and_counted(void **state)
{
    struct audit_report r, last;

    audit_last(audit, &last);
    assert_string_equal(audit_result_name(last.result), "never");
    one_bound_pod();
    tell_pod(add_pod(NULL));
    tell_node(add_node("n2"));
    add_pod(NULL)->phase = POD_SUCCEEDED; /* not listed */
    fake_lister.listing = on_list_time_passes;
    r = run();
    expect_clean(&r);
    assert_int_equal(r.pod_n, 2);
    assert_int_equal(r.node_n, 2);
    assert_int_equal(r.suspect_n, 0);
    assert_int_equal(r.incident_n, 0);
    assert_int_equal(r.run_n, 1);
    assert_int_equal(r.started_ms, 1795161600123);
    assert_int_equal(r.ended_ms, 1795161600123 + 6000);
    assert_int_equal(r.success_ms, r.ended_ms);
    assert_int_equal(r.duration_ns, 6 * NS_PER_S);
    assert_int_equal(finished_n, 1);
    assert_memory_equal(&finished_last, &r, sizeof(r));
    audit_last(audit, &last);
    assert_memory_equal(&last, &r, sizeof(r));
    assert_int_equal(drifted_n[KUBE_PODS] + drifted_n[KUBE_NODES], 0);
    assert_int_equal(warnings(), 0);
    assert_int_equal(run().run_n, 2);
}

static void run__nobody_wants_to_hear__all_the_same(void **state)
{
    options = (struct audit_options){0};
    restart();
    one_bound_pod();
    lose_pods();
    assert_int_equal(run().drift[DRIFT_POD_GONE], 1);
    audit_request(audit, NULL, NULL);
    assert_int_equal(run().drift_n, 0);
}

/* Everything is seen again, also what is more than the memory for it at first. */
static void run__many_objects__each_is_found(void **state)
{
    struct audit_report r;

    tell_node(add_node("n1"));
    for (int i = 0; i < 2500; i++) {
        tell_pod(add_pod(NULL));
    }
    r = run();
    expect_clean(&r);
    assert_int_equal(r.pod_n, 2500);
    assert_int_equal(r.suspect_n, 0);
}

/* ---- drift ---- */

static void drift__pod_gone(void **state)
{
    one_bound_pod();
    lose_pods();
    expect_drift(DRIFT_POD_GONE);
    assert_int_equal(milli_charged(), 0);
}

/* What was promised to it tentatively ends with it, as if the watch had told; of one that stays it stays. */
static void drift__pod_gone__its_promise_ends(void **state)
{
    const struct demand d = DEMAND_OF_SHARE(100);
    const struct pack_tentative *promised;
    struct store_promises when;
    size_t n;

    tell_node(add_node("n1"));
    tell_pod(add_pod(NULL));
    tell_pod(add_pod(NULL));
    store_tentative(store, STR("p0"), STR("n1"), &d, 60000);
    store_tentative(store, STR("p1"), STR("n1"), &d, 60000);
    pods[0].deleting = true; /* a change that the watch did not tell of */
    fake_lister.pod_n = 1;
    assert_int_equal(run().drift_n, 2);
    assert_int_equal(store_tentatives(store, &arena, STR_NULL, &promised, &n, &when, NULL), 0);
    assert_int_equal(n, 1);
    assert_int_equal(store_tentatives(store, &arena, STR("p0"), &promised, &n, &when, NULL), 0);
    assert_int_equal(n, 0);
}

/* Another pod has its name, and is no drift: the watch has told of it. */
static void drift__pod_gone__another_of_its_name_exists(void **state)
{
    struct pod *p = one_bound_pod();

    p->uid = STR("other");
    p->node_name = STR_NULL;
    tell_pod(p);
    expect_drift(DRIFT_POD_GONE);
    assert_int_equal(milli_charged(), 0);
    assert_true(store_knows_pod(store, STR("other")));
}

static void drift__pod_finished(void **state)
{
    struct pod *p = one_bound_pod();

    p->phase = POD_SUCCEEDED;
    expect_drift(DRIFT_POD_FINISHED);
    assert_int_equal(milli_charged(), 0);
}

static void drift__pod_missing__charged(void **state)
{
    tell_node(add_node("n1"));
    add_pod("n1");
    expect_drift(DRIFT_POD_MISSING);
    assert_int_equal(milli_charged(), 600);
    assert_string_equal(told_of, "p0");
}

static void drift__pod_bound_behind_our_back__charged(void **state)
{
    struct pod *p;

    tell_node(add_node("n1"));
    p = add_pod(NULL);
    tell_pod(p);
    p->node_name = STR("n1");
    expect_drift(DRIFT_POD_STATE);
    assert_int_equal(milli_charged(), 600);
}

static void drift__nodes(void **state)
{
    add_node("n1");
    expect_drift(DRIFT_NODE_MISSING);
    assert_true(store_has_node(store, STR("n1")));
    assert_string_equal(told_of, "n1");
}

static void drift__node_gone(void **state)
{
    tell_node(add_node("n1"));
    fake_lister.node_n = 0;
    expect_drift(DRIFT_NODE_GONE);
    assert_false(store_has_node(store, STR("n1")));
}

static void drift__node_details(void **state)
{
    struct node *n = add_node("n1");

    tell_node(n);
    n->unschedulable = true;
    expect_drift(DRIFT_NODE_DETAILS);
}

/* The same rules as for the watch: it counts as whole devices. */
static void drift__pod_that_cannot_be_read(void **state)
{
    one_bound_pod();
    fake_lister.unusable = STR("p0");
    expect_drift(DRIFT_POD_DEMAND);
    assert_int_equal(milli_charged(), 2000);
}

static void no_uid__not_decided_and_the_others_are(void **state)
{
    struct pod *p = one_bound_pod();
    struct audit_report r;

    add_pod(NULL)->uid = STR_NULL;
    fake_lister.unusable = STR("p1");
    p->phase = POD_FAILED;
    r = run();
    expect_failed(&r, 1, "without a readable uid");
    assert_int_equal(r.drift[DRIFT_POD_FINISHED], 1);
    assert_int_equal(milli_charged(), 0);
}

static void on_read_unusable(struct str name)
{
    fake_lister.unusable = STR("p0");
}

static void read_again__cannot_be_read_then__counts_as_whole_devices(void **state)
{
    tell_node(add_node("n1"));
    add_pod("n1");
    fake_lister.reading = on_read_unusable;
    expect_drift(DRIFT_POD_MISSING);
    assert_int_equal(fake_lister.one_n, 2); /* that it is still there was seen, too */
    assert_int_equal(milli_charged(), 2000);
}

/* ---- what the watch is quicker with ---- */

static void bring_binding(enum kube_resource resource)
{
    struct pod bound = pods[0];

    bound.node_name = STR("n1");
    if (resource == KUBE_PODS) {
        tell_pod(&bound);
    }
}

static void bring_new_pod(enum kube_resource resource)
{
    struct pod fresh = pods[0];

    fresh.uid = STR("fresh");
    if (resource == KUBE_PODS) {
        tell_pod(&fresh);
    }
}

/* List and watch are two readings: what was touched after the list was asked for may be newer than the list. */
static void list__the_watch_is_newer__no_suspicion(void **state)
{
    static void (*const news[])(enum kube_resource) = {bring_binding, bring_new_pod};

    tell_node(add_node("n1"));
    tell_pod(add_pod(NULL));
    for (size_t i = 0; i < ARRAY_LEN(news); i++) {
        struct audit_report r;

        fake_lister.listing = news[i];
        r = run();
        expect_clean(&r);
        assert_int_equal(r.suspect_n, 0);
        assert_int_equal(fake_lister.one_n, 0);
        tell_gone(&pods[0]);
        tell_pod(&pods[0]);
    }
}

static void bring_end(void)
{
    tell_gone(&pods[0]);
}

static void settle__the_watch_brings_it__no_second_look(void **state)
{
    struct audit_report r;

    one_bound_pod();
    lose_pods();
    watch.between = bring_end;
    r = run();
    expect_clean(&r);
    assert_int_equal(r.suspect_n, 0);
    assert_int_equal(fake_lister.one_n, 0);
    assert_int_equal(milli_charged(), 0);
}

static void on_read_bring_end(struct str name)
{
    tell_gone(&pods[0]);
}

static void second_look__the_watch_brings_it_meanwhile__no_drift(void **state)
{
    struct audit_report r;

    one_bound_pod();
    lose_pods();
    fake_lister.reading = on_read_bring_end;
    r = run();
    expect_clean(&r);
    assert_int_equal(r.suspect_n, 1);
    assert_int_equal(fake_lister.one_n, 1);
}

static void on_read_as_told(struct str name)
{
    pods[0].node_name = STR("n1");
}

static void second_look__is_as_the_ledger_says__no_drift(void **state)
{
    struct audit_report r;

    one_bound_pod()->node_name = STR("n2"); /* of a list that is older */
    fake_lister.reading = on_read_as_told;
    r = run();
    expect_clean(&r);
    assert_int_equal(r.suspect_n, 1);
    assert_int_equal(drifted_n[KUBE_PODS], 0);
    assert_int_equal(milli_charged(), 600);
}

/* A pod that was missing goes while it is read again: the ledger had no entry whose change could have shown that. */
static void on_read_second_time_gone(struct str name)
{
    if (fake_lister.one_n == 1) {
        fake_lister.pod_n = 0;
    }
}

static void missing__goes_while_it_is_added__taken_back(void **state)
{
    struct audit_report r;

    tell_node(add_node("n1"));
    add_pod("n1");
    fake_lister.reading = on_read_second_time_gone;
    r = run();
    assert_int_equal(r.drift[DRIFT_POD_MISSING], 1);
    assert_int_equal(r.drift_n, 1);
    assert_int_equal(fake_lister.one_n, 2);
    assert_int_equal(milli_charged(), 0);
    assert_false(store_knows_pod(store, STR("p0")));
    fake_lister.reading = NULL;
    r = run();
    expect_clean(&r);
}

static void missing__cannot_be_read_the_second_time__is_still_there(void **state)
{
    tell_node(add_node("n1"));
    add_pod("n1");
    fake_lister.unusable = STR("p0");
    expect_drift(DRIFT_POD_MISSING);
    assert_int_equal(fake_lister.one_n, 2);
    assert_int_equal(milli_charged(), 2000);
}

/* Only for what was missing. */
static void drift__other_than_missing__read_once(void **state)
{
    struct node *n = add_node("n1");

    tell_node(n);
    n->unschedulable = true;
    expect_drift(DRIFT_NODE_DETAILS);
    assert_int_equal(fake_lister.one_n, 1);
}

/* ---- the watch was interrupted ---- */

static void interrupted__nothing_is_decided_of_that_resource(void **state)
{
    static const struct {
        uint64_t n[2];
        bool now[2];
    } rows[] = {
        {{3, 4}, {false, false}}, /* while the audit waited */
        {{3, 3}, {true, false}},  /* there was none when it began to wait, */
        {{3, 3}, {false, true}},  /* or when it ended */
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (int of = 0; of < KUBE_RESOURCE__MAX; of++) {
            struct audit_report r;

            fake_lister.pod_n = fake_lister.node_n = 0;
            one_bound_pod();
            lose_pods();
            add_node("new");
            watch.of = (enum kube_resource)of;
            memcpy(watch.n, rows[i].n, sizeof(watch.n));
            memcpy(watch.now, rows[i].now, sizeof(watch.now));
            r = run();
            expect_failed(&r, 1, "the watch was interrupted");
            assert_int_equal(r.suspect_n, 1);
            assert_int_equal(r.drift_n, 1);
            assert_int_equal(r.drift[of == KUBE_PODS ? DRIFT_NODE_MISSING : DRIFT_POD_GONE], 1);
            assert_int_equal(milli_charged(), of == KUBE_PODS ? 600 : 0);
            assert_int_equal(store_has_node(store, STR("new")), of == KUBE_PODS);
            watch.of = KUBE_RESOURCE__MAX;
            fake_lister.node_n = 0;
            assert_int_equal(run().unsettled_n, 0); /* whatever is left is found now */
            assert_int_equal(milli_charged(), 0);
        }
    }
}

static void interrupted__but_no_suspect__clean(void **state)
{
    struct audit_report r;

    one_bound_pod();
    watch.of = KUBE_PODS;
    watch.n[1] = 9;
    r = run();
    expect_clean(&r);
    assert_int_equal(asked_n, 0);
}

/* ---- waiting for the watches ---- */

static void settle__waits_as_long_as_it_is_told(void **state)
{
    options.settle_ms = 5000;
    restart();
    one_bound_pod();
    lose_pods();
    atomic_store(&tick_ms, 10000);
    expect_drift(DRIFT_POD_GONE);
}

/* Longer than a run may last: it is not waited for, and nothing is decided. */
static void settle__longer_than_a_run_may_last__given_up(void **state)
{
    struct audit_report r;

    options.settle_ms = AUDIT_RUN_MAX_MS + 1;
    restart();
    one_bound_pod();
    lose_pods();
    r = run();
    expect_failed(&r, 0, "stopped while waiting");
    assert_int_equal(r.drift_n, 0);
    assert_int_equal(milli_charged(), 600);
}

/* ---- what keeps an audit from its work ---- */

static void not_synced__said(void **state)
{
    struct audit_report r = run();

    expect_failed(&r, 0, "not complete yet");
    assert_int_equal(fake_lister.list_n, 0);
    assert_int_equal(r.success_ms, 0);
    assert_int_equal(warnings(), 1);
}

static void other_rules_announced__said(void **state)
{
    struct audit_report r;

    policy_set_announce(policies, rules_of(policy_defaults(), 2));
    r = run();
    expect_failed(&r, 0, "a new configuration");
    assert_int_equal(fake_lister.list_n, 0);
}

static void change_rules(void)
{
    policy_set_publish(policies, rules_of(policy_defaults(), 2));
}

static void rules_change_meanwhile__nothing_is_decided(void **state)
{
    struct audit_report r;

    one_bound_pod();
    add_node("n2");
    lose_pods();
    watch.between = change_rules;
    r = run();
    expect_failed(&r, 2, "the configuration changed");
    assert_int_equal(r.suspect_n, 0);
    assert_int_equal(milli_charged(), 600);
}

static void list_fails__said_and_the_last_success_stays(void **state)
{
    for (int of = 0; of < KUBE_RESOURCE__MAX; of++) {
        int64_t success_ms;
        struct audit_report r = run();

        success_ms = r.success_ms;
        assert_true(success_ms > 0);
        atomic_fetch_add(&wall_ms, 60000);
        one_bound_pod();
        lose_pods();
        fake_lister.node_n = 0;
        fake_lister.list_fails[of] = ERR_UNAVAILABLE;
        r = run();
        expect_failed(&r, 0, "the fake lister fails");
        assert_int_equal(r.success_ms, success_ms);
        assert_int_equal(r.suspect_n, 0);
        assert_int_equal(fake_lister.one_n, 0);
        assert_int_equal(milli_charged(), 600);
        fake_lister.list_fails[of] = ERR_OK;
        fake_lister.pod_n = 0;
        assert_int_equal(run().drift_n, 2);
        fake_lister.one_n = 0;
    }
}

/* What cannot be read again alone is passed over; if the API server does not answer, all that is left. */
static void second_look_fails__the_rest_is_undecided(void **state)
{
    static const struct {
        enum err_code code;
        unsigned failing;
        uint64_t unsettled_n, drift_n;
    } rows[] = {
        {ERR_INVALID, 1, 1, 2},
        {ERR_UNAVAILABLE, 1, 2, 1},
        {ERR_CANCELLED, 2, 1, 2},
        {ERR_UNAVAILABLE, 0, 3, 0},
    };

    tell_node(add_node("n1"));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct audit_report r;

        fake_lister.pod_n = 0;
        for (int p = 0; p < 3; p++) {
            add_pod("n1"); /* missing, in this order */
        }
        fake_lister.one_fails = rows[i].code;
        fake_lister.one_failing = pods[rows[i].failing].name;
        r = run();
        expect_failed(&r, rows[i].unsettled_n, "the fake lister fails");
        assert_int_equal(r.drift_n, rows[i].drift_n);
        assert_int_equal(milli_charged(), 600 * (int64_t)rows[i].drift_n);
        fake_lister.one_fails = ERR_OK;
        lose_pods();
        assert_int_equal(run().drift_n, rows[i].drift_n);
    }
}

static void too_many__the_watch_lists_again(void **state)
{
    struct audit_report r;

    for (int i = 0; i < PODS_MAX; i++) {
        tell_pod(add_pod(NULL));
    }
    lose_pods();
    r = run();
    expect_failed(&r, 1, "more differences than one run looks at");
    assert_int_equal(r.drift[DRIFT_POD_GONE], AUDIT_SUSPECTS_MAX);
    assert_int_equal(r.suspect_n, AUDIT_SUSPECTS_MAX);
    assert_int_equal(drifted_n[KUBE_PODS], 1);
    assert_int_equal(drifted_n[KUBE_NODES], 0);
    assert_int_equal(warnings(), 20 + 1); /* not one for each */
    assert_int_equal(run().drift_n, 1);
}

/* A list that starts over counts from its last beginning on. */
static void list_begins_again__what_it_said_before_counts_for_nothing(void **state)
{
    struct audit_report r;

    one_bound_pod();
    add_pod(NULL); /* missing */
    add_node("n2");
    fake_lister.begins_again = true;
    r = run();
    assert_int_equal(r.pod_n, 2);
    assert_int_equal(r.node_n, 2);
    assert_int_equal(r.suspect_n, 2);
    assert_int_equal(r.drift[DRIFT_POD_MISSING], 1);
    assert_int_equal(r.drift[DRIFT_NODE_MISSING], 1);
    assert_int_equal(r.drift_n, 2);
}

/* ---- what the ledger itself says ---- */

static void double_booking__the_ledger_is_right_and_it_is_said(void **state)
{
#define RECORD                                                                                                         \
    "{\"v\":1,\"id\":\"x\",\"containers\":[{\"name\":\"c\",\"init\":false,\"devices\":[{\"uuid\":\"GPU-0\","           \
    "\"index\":0,\"milli\":300,\"memMib\":100}]}]}"
    static const struct kv record = {{"fgpu.io/assignment", 18}, {RECORD, sizeof(RECORD) - 1}};
    struct audit_report r;

    tell_node(add_node("n1"));
    for (int i = 0; i < 4; i++) { /* of which three fit */
        struct pod *p = add_pod("n1");

        p->annotations = (struct kv_list){&record, 1};
        tell_pod(p);
    }
    r = run();
    assert_string_equal(audit_result_name(r.result), "incidents");
    assert_int_equal(r.incident_n, 1);
    assert_int_equal(r.described_n, 1);
    assert_int_equal(r.incidents[0].kind, INCIDENT_DOUBLE_BOOKING);
    assert_int_equal(r.incidents[0].since_ms, 1795161600123);
    assert_non_null(strstr(r.incidents[0].what, "GPU-0"));
    assert_int_equal(r.success_ms, r.ended_ms);
    assert_int_equal(warnings(), 1);
}

/* ---- who asks, and when ---- */

static struct heard late[3];

static void ask_while_listing(enum kube_resource resource)
{
    if (resource == KUBE_NODES && fake_lister.list_n == 0) {
        for (size_t i = 0; i < ARRAY_LEN(late); i++) {
            audit_request(audit, hear, &late[i]);
        }
    }
}

/* It may have read already what they want to know. */
static void ask__during_a_run__share_the_next_one(void **state)
{
    memset(late, 0, sizeof(late));
    fake_lister.listing = ask_while_listing;
    assert_int_equal(run().run_n, 1);
    for (size_t i = 0; i < ARRAY_LEN(late); i++) {
        await(&late[i].calls, 1, "the second run");
        assert_int_equal(late[i].report.run_n, 2);
        assert_false(late[i].stopped);
    }
    assert_int_equal(run().run_n, 3);
    for (size_t i = 0; i < ARRAY_LEN(late); i++) {
        assert_int_equal(late[i].calls, 1);
    }
}

static void interval__runs_by_itself(void **state)
{
    options.interval_ms = 1000;
    atomic_store(&tick_ms, 10000);
    restart();
    await(&finished_n, 3, "three runs");
}

/* ---- the end ---- */

static unsigned busy_n, interrupted_n;

static void count_up(unsigned *n)
{
    mutex_lock(&lock);
    (*n)++;
    condvar_broadcast(&changed);
    mutex_unlock(&lock);
}

static void note_interruption(void)
{
    count_up(&interrupted_n);
}

/* Lists until it is interrupted. */
static void hang(enum kube_resource resource)
{
    count_up(&busy_n);
    mutex_lock(&lock);
    while (interrupted_n == 0) {
        BUG_ON(!condvar_wait_until(&changed, &lock, sync_in_ns(PATIENCE_NS)));
    }
    mutex_unlock(&lock);
}

static void note_settling(void)
{
    count_up(&busy_n);
}

/* Asked for a run that is under way, and for one more; then the end. */
static void end_while_busy(void)
{
    struct heard first = {0}, second = {0};

    busy_n = interrupted_n = 0;
    fake_lister.interrupted = note_interruption;
    audit_request(audit, hear, &first);
    await(&busy_n, 1, "the audit to be busy");
    audit_request(audit, hear, &second);
    end_audit();
    assert_int_equal(first.calls, 1);
    assert_int_equal(second.calls, 1);
    assert_true(first.stopped && second.stopped);
    assert_string_equal(audit_result_name(first.report.result), "failed");
    assert_string_equal(audit_result_name(second.report.result), "never"); /* of the last that ended */
    assert_int_equal(finished_n, 0);
}

static void end__while_listing__everybody_is_answered(void **state)
{
    fake_lister.listing = hang;
    end_while_busy();
}

static void end__while_waiting_for_the_watches__everybody_is_answered(void **state)
{
    options.settle_ms = AUDIT_RUN_MAX_MS; /* and the clock stands still */
    restart();
    one_bound_pod();
    lose_pods();
    watch.between = note_settling;
    end_while_busy();
    assert_int_equal(milli_charged(), 600);
}

static void end__of_none__nothing(void **state)
{
    audit_free(NULL);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(run__nothing_lost__clean_and_counted),
        T(run__nobody_wants_to_hear__all_the_same),
        T(run__many_objects__each_is_found),
        T(drift__pod_gone),
        T(drift__pod_gone__its_promise_ends),
        T(drift__pod_gone__another_of_its_name_exists),
        T(drift__pod_finished),
        T(drift__pod_missing__charged),
        T(drift__pod_bound_behind_our_back__charged),
        T(drift__nodes),
        T(drift__node_gone),
        T(drift__node_details),
        T(drift__pod_that_cannot_be_read),
        T(no_uid__not_decided_and_the_others_are),
        T(read_again__cannot_be_read_then__counts_as_whole_devices),
        T(list__the_watch_is_newer__no_suspicion),
        T(settle__the_watch_brings_it__no_second_look),
        T(second_look__the_watch_brings_it_meanwhile__no_drift),
        T(second_look__is_as_the_ledger_says__no_drift),
        T(missing__goes_while_it_is_added__taken_back),
        T(missing__cannot_be_read_the_second_time__is_still_there),
        T(drift__other_than_missing__read_once),
        T(interrupted__nothing_is_decided_of_that_resource),
        T(interrupted__but_no_suspect__clean),
        T(settle__waits_as_long_as_it_is_told),
        T(settle__longer_than_a_run_may_last__given_up),
        cmocka_unit_test_setup_teardown(not_synced__said, setup_unsynced, teardown),
        T(other_rules_announced__said),
        T(rules_change_meanwhile__nothing_is_decided),
        T(list_fails__said_and_the_last_success_stays),
        T(second_look_fails__the_rest_is_undecided),
        T(too_many__the_watch_lists_again),
        T(list_begins_again__what_it_said_before_counts_for_nothing),
        T(double_booking__the_ledger_is_right_and_it_is_said),
        T(ask__during_a_run__share_the_next_one),
        T(interval__runs_by_itself),
        T(end__while_listing__everybody_is_answered),
        T(end__while_waiting_for_the_watches__everybody_is_answered),
        T(end__of_none__nothing),
    };

    cmocka_set_message_output(CM_OUTPUT_STDOUT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
