/* From bytes of lists and watches to the ledger: no single object stops the others (items 11 and 13). */
#include "extender/feed.h"

#include "base/bug.h"
#include "base/compiler.h"
#include "base/strbuf.h"
#include "core/ledger/snapshot.h"
#include "extender/planner.h"
#include "extender/unreadable.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct clock_manual the_clock;
static struct policy policy;
static struct store *store;
static struct policy_set *policies;
static struct unreadable *unreadable;
static struct planner *planner;
static char calls[256]; /* "begun pods;" */
static struct feed feeds[KUBE_RESOURCE__MAX];
static struct reflector *reflectors[KUBE_RESOURCE__MAX];
static struct rng rng;

static void note(const char *what, enum kube_resource resource)
{
    const size_t n = strlen(calls);

    snprintf(calls + n, sizeof(calls) - n, "%s %s;", what, kube_resource_name(resource));
}

static void begun(void *ctx, enum kube_resource resource)
{
    assert_ptr_equal(ctx, &the_clock);
    note("begun", resource);
}

static void synced(void *ctx, enum kube_resource resource)
{
    assert_ptr_equal(ctx, &the_clock);
    note("synced", resource);
}

static void listed(void *ctx, enum kube_resource resource, const struct rules *by)
{
    const struct rules *current = policy_set_take(policies);

    assert_ptr_equal(ctx, &the_clock);
    assert_ptr_equal(by, current);
    rules_put(current);
    note("listed", resource);
}

static void expect_calls(const char *want)
{
    assert_string_equal(calls, want);
    calls[0] = '\0';
}

static size_t choose_nobody(void *ctx, struct planner_question *q)
{
    return 0;
}

static void send_nothing(void *ctx, struct planner *p, struct planner_call *call, const struct nomination *n)
{
    BUG("nobody was chosen");
}

static int setup_with(uint32_t nodes_max)
{
    const struct ledger_limits limits = {
        .hash_key = {5, 6}, .overcommit_milli = 1000, .overcommit_mem_milli = 1000, .nodes_max = nodes_max};
    struct ingest facts = {.policy = &policy};
    const struct rules *rules;

    policy = *policy_defaults();
    policy.plan_ahead = true;
    clock_manual_init(&the_clock, 1000000000, 1795161600123);
    facts.store = store = store_new(&limits, &the_clock.clock);
    planner = facts.planner = planner_new(
        &(struct planner_options){.clock = &the_clock.clock, .choose = choose_nobody, .send = send_nothing});
    planner_enable(planner, true);
    calls[0] = '\0';
    assert_int_equal(rules_new(&facts, 1, NULL, NULL, &rules, NULL), 0);
    policies = policy_set_new(rules);
    unreadable = unreadable_new();
    rng_init(&rng, 1);
    for (size_t i = 0; i < KUBE_RESOURCE__MAX; i++) {
        feed_init(&feeds[i], policies, (enum kube_resource)i);
        feeds[i].unreadable = unreadable;
        feeds[i].clock = &the_clock.clock;
        struct reflector_handler h = feed_handler(&feeds[i]);
        reflectors[i] = reflector_new((enum kube_resource)i, &h, &rng);
        reflector_list_in_pages(reflectors[i]);
    }
    return 0;
}

static int setup(void **state)
{
    return setup_with(0);
}

static int setup_small(void **state)
{
    return setup_with(4);
}

static int teardown(void **state)
{
    for (size_t i = 0; i < KUBE_RESOURCE__MAX; i++) {
        reflector_free(reflectors[i]);
        feed_fini(&feeds[i]);
    }
    policy_set_free(policies);
    unreadable_free(unreadable);
    planner_free(planner);
    store_free(store);
    return 0;
}

static void next(enum kube_resource resource)
{
    struct reflector_step step;
    reflector_next(reflectors[resource], 1000000000, &step);
    assert_int_not_equal(step.action, REFLECTOR_WAIT);
}

static void give(enum kube_resource resource, struct str text)
{
    struct err err = {.code = ERR_OK};
    if (reflector_feed(reflectors[resource], 1000000000, text, &err) != 0) {
        fail_msg("%s", err.msg);
    }
}

static void end(enum kube_resource resource)
{
    const struct kube_outcome o = {.kind = KUBE_ANSWERED, .http_status = 200, .retry_after_ms = KUBE_NO_RETRY_AFTER};
    reflector_done(reflectors[resource], 1000000000, &o);
}

static void list(enum kube_resource resource, const char *items)
{
    struct strbuf b;
    strbuf_init(&b, 64U << 20);
    strbuf_addf(&b, "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[%s]}", items);
    next(resource);
    give(resource, strbuf_view(&b));
    end(resource);
    strbuf_fini(&b);
}

#define NODE(name, more)                                                                                               \
    "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"u-" name "\",\"resourceVersion\":\"3\",\"annotations\":{" more     \
    "\"fgpu.io/gpus\":\"{\\\"v\\\":1,\\\"gpus\\\":[{\\\"uuid\\\":\\\"GPU-" name                                        \
    "\\\",\\\"index\\\":0,\\\"memMib\\\":40960}]}\"}}}"

#define POD(name, more)                                                                                                \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ns\",\"uid\":\"" name "\",\"resourceVersion\":\"4\"" more    \
    "},\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":{\"fgpu.io/"            \
    "gpu-milli\":"                                                                                                     \
    "\"300\"}}}]},\"status\":{\"phase\":\"Running\"}}"

static int64_t milli_charged(void)
{
    struct snapshot totals;
    store_totals(store, &totals);
    return totals.milli_charged;
}

static uint64_t gpu_n(void)
{
    struct snapshot totals;
    store_totals(store, &totals);
    return totals.device_n;
}

static void expect_unreadable(size_t n, const char *name, const char *why)
{
    bool more;
    size_t got_n;
    struct unreadable_object *all = unreadable_copy(unreadable, &got_n, &more);
    assert_int_equal(got_n, n);
    assert_false(more);
    if (n > 0) {
        assert_string_equal(all[n - 1].name, name);
        assert_non_null(strstr(all[n - 1].why, why));
        assert_true(all[n - 1].since_ms == 1795161600123);
    }
    free(all);
}

/* A bound pod whose devices nobody can prove counts on every device: one GPU, so 300 each. */
static void feed__nul_in_a_foreign_annotation__pod_counts_and_so_do_the_others(void **state)
{
    list(KUBE_NODES, NODE("n1", ""));
    list(KUBE_PODS, POD("a", "") "," POD("b", ",\"annotations\":{\"evil\":\"\\u0000\"}") "," POD("c", ""));
    assert_true(store_is_synced(store));
    assert_int_equal(milli_charged(), 900);
    expect_unreadable(0, NULL, NULL);
    next(KUBE_PODS);
    give(KUBE_PODS,
         STR("{\"type\":\"ADDED\",\"object\":" POD(
             "d", ",\"labels\":{\"x\":\"\\ud800\"}") "}\n"
                                                     "{\"type\":\"DELETED\",\"object\":" POD("a", "") "}\n"));
    assert_int_equal(milli_charged(), 900);
    assert_null(store_closed(store));
}

static void feed__4200_annotations__node_keeps_its_gpus_and_pod_is_read(void **state)
{
    struct strbuf b;
    strbuf_init(&b, 4U << 20);
    strbuf_add_cstr(&b, "{\"metadata\":{\"name\":\"n1\",\"uid\":\"u\",\"resourceVersion\":\"3\",\"annotations\":{");
    for (int i = 0; i < 4200; i++) {
        strbuf_addf(&b, "\"a/%d\":\"\",", i);
    }
    strbuf_add_cstr(&b, "\"fgpu.io/gpus\":\"{\\\"v\\\":1,\\\"gpus\\\":[{\\\"uuid\\\":\\\"GPU-1\\\",\\\"index\\\":0,"
                        "\\\"memMib\\\":40960}]}\"}}}");
    list(KUBE_NODES, b.p);
    assert_int_equal(gpu_n(), 1);
    strbuf_reset(&b);
    strbuf_add_cstr(
        &b,
        "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"p\",\"resourceVersion\":\"4\",\"annotations\":{");
    for (int i = 0; i < 4200; i++) {
        strbuf_addf(&b, "%s\"a/%d\":\"\"", i > 0 ? "," : "", i);
    }
    strbuf_add_cstr(&b, "}},\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":"
                        "{\"fgpu.io/gpu-milli\":\"300\"}}}]}}");
    list(KUBE_PODS, b.p);
    assert_int_equal(milli_charged(), 300);
    expect_unreadable(0, NULL, NULL);
    strbuf_fini(&b);
}

static void feed__object_of_9_mib__is_charged_by_what_was_read_and_named(void **state)
{
    struct strbuf b;
    strbuf_init(&b, 32U << 20);
    list(KUBE_NODES, NODE("n1", ""));
    strbuf_add_cstr(&b, POD("a", "") ",");
    size_t big_at = b.n;
    strbuf_add_cstr(&b,
                    "{\"metadata\":{\"name\":\"big\",\"namespace\":\"ns\",\"uid\":\"big\",\"resourceVersion\":\"4\"},"
                    "\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"c\",\"args\":[\"");
    for (int i = 0; i < 9 * 1024 * 1024 / 6; i++) {
        strbuf_add_cstr(&b, "\\u0000");
    }
    strbuf_add_cstr(
        &b, "\"],\"resources\":{\"limits\":{\"fgpu.io/gpu-milli\":\"200\"}}}]},\"status\":{\"phase\":\"Running\"}}");
    struct str big = {b.p + big_at, b.n - big_at};
    char *copy = xmalloc(big.n);
    memcpy(copy, big.p, big.n);
    strbuf_add_cstr(&b, "," POD("c", ""));
    list(KUBE_PODS, b.p);
    assert_int_equal(milli_charged(), 800);
    expect_unreadable(1, "big", "bytes of JSON");
    /* in a watch, too; and when it is gone it is not listed any more */
    strbuf_reset(&b);
    strbuf_add_cstr(&b, "{\"type\":\"MODIFIED\",\"object\":");
    strbuf_add_str(&b, (struct str){copy, big.n});
    strbuf_add_cstr(&b, "}\n{\"type\":\"ADDED\",\"object\":" POD("d", "") "}\n");
    next(KUBE_PODS);
    give(KUBE_PODS, strbuf_view(&b));
    assert_int_equal(milli_charged(), 1100);
    expect_unreadable(1, "big", "bytes of JSON");
    give(KUBE_PODS, STR("{\"type\":\"DELETED\",\"object\":" POD("big", "") "}\n"));
    assert_int_equal(milli_charged(), 900);
    expect_unreadable(0, NULL, NULL);
    assert_null(store_closed(store));
    free(copy);
    strbuf_fini(&b);
}

/* Nothing an API server would send: but if one did, the pod counts for the most it could be. */
static void feed__field_of_another_type__counts_for_the_most_and_a_list_forgets_it(void **state)
{
    list(KUBE_NODES, NODE("n1", ""));
    list(KUBE_PODS,
         POD("a", "") ",{\"metadata\":{\"name\":\"b\",\"namespace\":\"ns\",\"uid\":\"b\",\"resourceVersion\":\"4\"},"
                      "\"spec\":{\"nodeName\":\"n1\",\"priority\":\"x\"}}");
    assert_int_equal(milli_charged(), 1300);
    expect_unreadable(1, "b", "integer");
    reflector_relist(reflectors[KUBE_PODS]);
    list(KUBE_PODS, POD("a", ""));
    assert_int_equal(milli_charged(), 300);
    expect_unreadable(0, NULL, NULL);
}

/* Whatever a tenant writes into spec.nodeName, the store is open, and a real node is counted; not before a list has
 * shown that nobody is on it. */
static void feed__pods_name_more_nodes_than_there_is_room_for__store_stays_open(void **state)
{
    struct store_turned_away t;
    struct strbuf b;

    strbuf_init(&b, 1U << 20);
    for (int i = 0; i < 20; i++) { /* every other one cannot be read, either */
        strbuf_addf(
            &b,
            "%s{\"metadata\":{\"name\":\"p%d\",\"namespace\":\"ns\",\"uid\":\"p%d\",\"resourceVersion\":\"4\"},"
            "\"spec\":{\"nodeName\":\"made-up-%d\",\"priority\":%s,\"containers\":[{\"name\":\"c\",\"resources\":"
            "{\"limits\":{\"fgpu.io/gpu-milli\":\"300\"}}}]}}",
            i > 0 ? "," : "", i, i, i, i % 2 == 0 ? "1" : "\"x\"");
    }
    list(KUBE_PODS, b.p);
    list(KUBE_NODES, NODE("n1", ""));
    assert_true(store_is_synced(store));
    assert_null(store_closed(store));
    assert_int_equal(gpu_n(), 1);
    store_turned_away(store, &t);
    assert_int_equal(t.pod_n, 18);
    assert_int_equal(t.node_n, 1);
    assert_string_equal(t.last, "ns/p19 on made-up-19");
    reflector_relist(reflectors[KUBE_PODS]);
    list(KUBE_PODS, b.p);
    store_turned_away(store, &t);
    assert_int_equal(t.pod_n, 18);
    assert_int_equal(t.node_n, 0);
    strbuf_fini(&b);
}

#define BARE(name, annotations, spec)                                                                                  \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ns\",\"uid\":\"" name                                        \
    "\",\"resourceVersion\":\"4\"" annotations "},\"spec\":{" spec "\"containers\":[{\"name\":\"c\"}]}}"
#define LIMITS(resource, spec)                                                                                         \
    "{\"metadata\":{\"name\":\"l\",\"namespace\":\"ns\",\"uid\":\"l\",\"resourceVersion\":\"4\"},\"spec\":{" spec      \
    "\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":{\"" resource "\":\"1\"}}}]}}"
#define ASKS ",\"annotations\":{\"fgpu.io/gpu-fraction\":\"0.3\"}"
#define RECORD ",\"annotations\":{\"fgpu.io/assignment\":\"nonsense\"}"
#define BOUND "\"nodeName\":\"n1\","

/* What a process before this one may have bound, or may still bind. */
static void feed__traces__of_the_list_that_was_read_last(void **state)
{
    static const struct {
        const char *items;
        uint64_t expected;
    } rows[] = {
        {BARE("a", "", "") "," BARE("b", "", BOUND), 0},
        {BARE("a", ASKS, ""), 1},                 /* waits */
        {LIMITS("example.com/was-a-gpu", ""), 1}, /* perhaps by an earlier configuration */
        {LIMITS("example.com/was-a-gpu", BOUND), 0},
        {LIMITS("memory", ""), 0},
        {BARE("a", ASKS, BOUND), 0},                             /* by somebody else, and seen where it is */
        {BARE("a", RECORD, "") "," BARE("b", RECORD, BOUND), 2}, /* whatever the record is worth */
        {BARE("c", "",
              "") ",{\"metadata\":{\"name\":\"x\",\"namespace\":\"ns\",\"uid\":\"x\",\"resourceVersion\":\"4\"},"
                  "\"spec\":{\"nodeName\":\"n1\",\"priority\":\"x\"}}",
         1}, /* cannot be read */
        {"", 0},
    };

    list(KUBE_NODES, NODE("n1", ""));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        reflector_relist(reflectors[KUBE_PODS]);
        list(KUBE_PODS, rows[i].items);
        assert_int_equal(feeds[KUBE_PODS].traces, rows[i].expected);
    }
}

static uint32_t waiting_n(void)
{
    struct planner_status s;

    planner_read(planner, &s);
    return s.waiting_n;
}

/* Whoever plans ahead forgets whom a complete list does not have. */
static void feed__lists_of_pods__those_that_wait_are_planned_for(void **state)
{
    list(KUBE_NODES, NODE("n1", ""));
    list(KUBE_PODS, BARE("a", ASKS, "") "," BARE("b", ASKS, "") "," BARE("c", ASKS, BOUND));
    assert_int_equal(waiting_n(), 2);
    reflector_relist(reflectors[KUBE_PODS]);
    list(KUBE_PODS, BARE("b", ASKS, ""));
    assert_int_equal(waiting_n(), 1);
    reflector_relist(reflectors[KUBE_NODES]);
    list(KUBE_NODES, NODE("n1", "")); /* not one of pods */
    assert_int_equal(waiting_n(), 1);
}

static void feed__lists__told_when_they_begin_and_end(void **state)
{
    for (size_t i = 0; i < KUBE_RESOURCE__MAX; i++) {
        feeds[i].begun = begun;
        feeds[i].synced = synced;
        feeds[i].listed = listed;
        feeds[i].ctx = &the_clock;
    }
    list(KUBE_NODES, NODE("n1", ""));
    expect_calls("begun nodes;listed nodes;synced nodes;");
    list(KUBE_PODS, POD("a", ""));
    expect_calls("begun pods;listed pods;synced pods;");
    reflector_relist(reflectors[KUBE_PODS]);
    list(KUBE_PODS, POD("a", ""));
    expect_calls("begun pods;listed pods;"); /* the first one alone */
}

/* What cannot be counted at all: without a UID nobody knows which pod it is. The reflector gives none such. */
static void feed__object_that_cannot_be_counted__everything_is_refused(void **state)
{
    const struct reflector_handler h = feed_handler(&feeds[KUBE_PODS]);
    const struct pod nobody = {.namespace_ = STR("ns"), .name = STR("b"), .node_name = STR("n1")};
    const struct kube_object o = {.pod = &nobody};
    struct err why;

    list(KUBE_NODES, NODE("n1", ""));
    list(KUBE_PODS, POD("a", ""));
    err_set(&why, ERR_INVALID, "of this test");
    assert_null(store_closed(store));
    h.unusable(h.ctx, &o, false, &why);
    assert_non_null(store_closed(store));
    assert_non_null(strstr(store_closed(store), "could not be counted"));
}

static void feed__object_of_another_type_is_deleted__gone(void **state)
{
    static const char spoiled[] = "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\","
                                  "\"uid\":\"a\",\"resourceVersion\":\"9\"},\"spec\":{\"priority\":\"x\"}}}\n";

    list(KUBE_NODES, NODE("n1", ""));
    list(KUBE_PODS, POD("a", "") "," POD("b", ""));
    assert_int_equal(milli_charged(), 600);
    next(KUBE_PODS);
    give(KUBE_PODS, str_of(spoiled));
    assert_int_equal(milli_charged(), 300);
    assert_null(store_closed(store));
    expect_unreadable(0, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(feed__nul_in_a_foreign_annotation__pod_counts_and_so_do_the_others, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(feed__4200_annotations__node_keeps_its_gpus_and_pod_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(feed__object_of_9_mib__is_charged_by_what_was_read_and_named, setup, teardown),
        cmocka_unit_test_setup_teardown(feed__field_of_another_type__counts_for_the_most_and_a_list_forgets_it, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(feed__pods_name_more_nodes_than_there_is_room_for__store_stays_open,
                                        setup_small, teardown),
        cmocka_unit_test_setup_teardown(feed__lists_of_pods__those_that_wait_are_planned_for, setup, teardown),
        cmocka_unit_test_setup_teardown(feed__lists__told_when_they_begin_and_end, setup, teardown),
        cmocka_unit_test_setup_teardown(feed__object_that_cannot_be_counted__everything_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(feed__object_of_another_type_is_deleted__gone, setup, teardown),
        cmocka_unit_test_setup_teardown(feed__traces__of_the_list_that_was_read_last, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
