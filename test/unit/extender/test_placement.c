/* filter, prioritize and reservations on a real store, without HTTP. Names with a B number are defects seen in
 * other extenders (defects.md). */
#include "core/dialects/dialect.h"
#include "extender/explain_events.h"
#include "extender/placement.h"
#include "extender/support/tested_store.h"
#include "support/cmocka.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES 3

static struct placement_context context;
static struct ingest ingest;
static const struct str names[NODES] = {{"n0", 2}, {"n1", 2}, {"n2", 2}};

static int setup(void **state)
{
    store_open(clock_system());
    ingest = (struct ingest){store, policy_defaults(), NULL, NULL};
    return placement_context_init(&context, store, policy_defaults(), NULL);
}

static int setup_synced(void **state)
{
    int rc = setup(state);

    apply_empty_lists();
    for (size_t i = 0; i < NODES; i++) {
        ingest_two_gpus(&ingest, names[i]);
    }
    return rc;
}

/* A pod with one container and one limit; milli NULL: none. */
struct test_pod {
    struct kv limit;
    struct container container;
    struct pod pod;
};

static struct pod *make_pod(struct test_pod *p, const char *uid, const char *resource, const char *amount)
{
    p->limit = (struct kv){str_of(resource), str_of(amount)};
    p->container = (struct container){.name = STR("c"), .limits = {&p->limit, amount != NULL}};
    p->pod = (struct pod){
        .namespace_ = STR("d"), .name = str_of(uid), .uid = str_of(uid), .containers = &p->container, .container_n = 1};
    return &p->pod;
}

static struct filter_result filter(const struct pod *pod)
{
    struct filter_result r;

    assert_int_equal(placement_filter(&context, &arena, pod, names, NODES, &r, NULL), 0);
    return r;
}

static enum store_reserve_result reserve_as(const char *uid, struct str node, const struct store_looked *looked,
                                            struct store_reservation *ret)
{
    return store_reserve(store, &arena, str_of(uid), STR("d"), str_of(uid), node, STR("decision"), &context.plans,
                         looked, ret, NULL);
}

static enum store_reserve_result reserve(const char *uid, struct str node, struct store_reservation *ret)
{
    return reserve_as(uid, node, NULL, ret);
}

/* gpu-admission and GAS answer before their caches are filled, and accept full nodes. */
static void B5__not_synced__every_verb_is_an_error(void **state)
{
    struct test_pod p;
    struct filter_result f;
    struct prioritize_result q;
    struct err err;

    make_pod(&p, "a", "fgpu.io/gpu-milli", "300");
    assert_int_equal(placement_filter(&context, &arena, &p.pod, names, NODES, &f, &err), -ERR_UNAVAILABLE);
    assert_int_equal(placement_prioritize(&context, &arena, &p.pod, names, NODES, &q, &err), -ERR_UNAVAILABLE);
    apply_empty_lists();
    store_hold_off(store, INT64_MAX);
    assert_int_equal(placement_filter(&context, &arena, &p.pod, names, NODES, &f, &err), -ERR_UNAVAILABLE);
    assert_non_null(strstr(err.msg, "earlier bindings"));
    store_hold_off(store, INT64_MIN);
    store_close(store, "because");
    assert_int_equal(placement_filter(&context, &arena, &p.pod, names, NODES, &f, &err), -ERR_UNAVAILABLE);
    assert_string_equal(err.msg, "because");
}

enum { WAITS_AFTER_MS = 30000 };

static bool look(int64_t now_ms)
{
    return explain_events_tick(&context, NULL, WAITS_AFTER_MS, now_ms);
}

/* A pod that nobody takes is told about after a while, once, and again when the reasons are others. */
static void explain_events__refused_for_long__told_once_for_each_kind(void **state)
{
    struct test_pod p;
    int64_t now_ms;

    make_pod(&p, "a", "fgpu.io/gpu-count", "3");
    assert_int_equal(ingest_pod(&ingest, &arena, &p.pod, NULL), 0);
    assert_int_equal(filter(&p.pod).outcome, FILTER_NONE_FITS);
    now_ms = store_wall_ms(store);
    now_ms += WAITS_AFTER_MS;
    assert_false(look(now_ms - 1000));                            /* not yet; */
    assert_false(explain_events_tick(&context, NULL, 0, now_ms)); /* nobody wants to know; */
    assert_true(look(now_ms));
    assert_false(look(now_ms)); /* it was just looked at, */
    now_ms += 2 * WAITS_AFTER_MS;
    assert_false(look(now_ms)); /* there is nothing new, */
    now_ms += 2 * WAITS_AFTER_MS;
    assert_int_equal(ingest_node(&ingest, &arena, &(struct node){.name = STR("empty"), .uid = STR("e")}, NULL), 0);
    assert_int_equal(filter(&p.pod).outcome, FILTER_NONE_FITS);
    assert_true(look(now_ms)); /* a node without GPUs is another kind */
}

/* More names than one section, most of them several times, known and unknown mixed. */
static void filter__names_sent_again__are_answered_once(void **state)
{
    static char text[1000][16];
    struct str asked[2 * STORE_PACK_SECTION + 7];
    static const char *const amounts[] = {"300", "0", "1500"}; /* fits; not ours; malformed */

    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        snprintf(text[i], sizeof(text[i]), "%c%zu", i % 2 == 0 ? 'n' : 'x', i % 5);
        asked[i] = str_of(text[i]);
    }
    for (size_t k = 0; k < 3; k++) {
        unsigned seen[2][5] = {{0}};
        struct test_pod p;
        struct filter_result f;
        size_t n;

        make_pod(&p, "p", "fgpu.io/gpu-milli", amounts[k]);
        assert_int_equal(placement_filter(&context, &arena, &p.pod, asked, sizeof(asked) / sizeof(asked[0]), &f, NULL),
                         0);
        n = f.results != NULL ? f.result_n : f.name_n;
        assert_int_equal(n, 10);
        for (size_t i = 0; i < n; i++) {
            struct str name = f.results != NULL ? f.results[i].name : f.names[i];

            seen[name.p[0] == 'x'][name.p[1] - '0']++;
        }
        for (size_t i = 0; i < 10; i++) {
            assert_int_equal(seen[i / 5][i % 5], 1);
        }
    }
}

static void filter__pod_without_gpu__is_not_ours(void **state)
{
    struct test_pod p;

    assert_int_equal(filter(make_pod(&p, "a", "cpu", "1")).outcome, FILTER_NOT_OURS);
    assert_int_equal(filter(make_pod(&p, "a", "fgpu.io/gpu-milli", "0")).outcome, FILTER_NOT_OURS);
}

/* HAMi counts 2^32 GPUs as none; elastic-gpu and HAMi accept a negative GPU request. */
static void B7_B11__absurd_gpu_requests__are_defects_with_one_constant_text(void **state)
{
    static const struct {
        const char *resource, *amount;
    } rows[] = {
        {"fgpu.io/gpu-milli", "-1"},
        {"fgpu.io/gpu-milli", "1e400"},
        {"fgpu.io/gpu-milli", "5m"},
        {"fgpu.io/gpu-milli", "1500"},
        {"fgpu.io/gpu-milli", "0x10"},
        {"fgpu.io/gpu-milli", "9223372036854775807"},
        {"fgpu.io/gpu-count", "4294967296"},
        {"fgpu.io/gpu-memory-mib", "-5"},
        {"fgpu.io/gpu-memory-mib", "NaN"},
        {"nvidia.com/gpu", "4294967296"},
        {"nvidia.com/gpu", "-1"},
        {"nvidia.com/gpu", "0.5"},
    };
    struct test_pod huge;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct test_pod p;
        struct filter_result r = filter(make_pod(&p, "a", rows[i].resource, rows[i].amount));

        if (r.outcome != FILTER_DEFECT || strlen(demand_defect_text(r.defect)) == 0) {
            fail_msg("%s: %s gave outcome %d", rows[i].resource, rows[i].amount, (int)r.outcome);
        }
    }
    /* 2^32 + 1024 MiB is a number, if an absurd one: it must not wrap to 1024 (HAMi). */
    assert_true(filter(make_pod(&huge, "a", "fgpu.io/gpu-memory-mib", "4294968320")).outcome != FILTER_SOME_FIT);
}

/* elastic-gpu keeps an answer per GPU request and gives it again when the node has become full. */
static void B3__node_fills_up__the_next_answer_knows(void **state)
{
    struct test_pod p, q;
    struct store_reservation r;

    make_pod(&p, "p", "fgpu.io/gpu-count", "2");
    make_pod(&q, "q", "fgpu.io/gpu-milli", "600");
    assert_int_equal(filter(&q.pod).fit_n, NODES);
    assert_int_equal(ingest_pod(&ingest, &arena, &p.pod, NULL), 0);
    assert_int_equal(reserve("p", names[1], &r), STORE_RESERVED);
    assert_int_equal(filter(&q.pod).fit_n, NODES - 1);
}

static void R8__numbers_change_and_the_cause_does_not__same_reason(void **state)
{
    struct test_pod whole, small[2];
    struct store_reservation r;
    const char *first[NODES];

    for (size_t i = 0; i < NODES; i++) {
        static struct test_pod filler[NODES];
        static const char *const uids[] = {"f0", "f1", "f2"};

        make_pod(&filler[i], uids[i], "fgpu.io/gpu-milli", "100");
        assert_int_equal(ingest_pod(&ingest, &arena, &filler[i].pod, NULL), 0);
        assert_int_equal(reserve(uids[i], names[i], &r), STORE_RESERVED);
    }
    make_pod(&whole, "w", "fgpu.io/gpu-count", "2");
    for (int round = 0; round < 3; round++) {
        struct filter_result f = filter(&whole.pod);

        assert_int_equal(f.outcome, FILTER_NONE_FITS);
        for (size_t i = 0; i < NODES; i++) {
            const char *text = verdict_text(f.results[i].verdict);

            if (round == 0) {
                first[i] = text;
            }
            assert_string_equal(text, first[i]);
        }
        if (round < 2) {
            const char *uid = round == 0 ? "s0" : "s1";

            make_pod(&small[round], uid, "fgpu.io/gpu-milli", "200");
            assert_int_equal(ingest_pod(&ingest, &arena, &small[round].pod, NULL), 0);
            assert_int_equal(reserve(uid, names[0], &r), STORE_RESERVED);
        }
    }
}

static bool holds_at(const char *uid, uint64_t version)
{
    size_t bytes;

    return store_reservation_holds(store, str_of(uid), version, &bytes);
}

/* What a Binding with a new version has to be asked before. */
static void store_reservation_holds__only_for_the_object_that_was_decided_for(void **state)
{
    static const struct kv labels[] = {{STR("team"), STR("x")}};
    struct test_pod p;
    struct store_reservation r;
    uint64_t version = 0;

    make_pod(&p, "p", "fgpu.io/gpu-milli", "300");
    p.pod.resource_version = STR("7");
    assert_int_equal(ingest_pod(&ingest, &arena, &p.pod, NULL), 0);
    assert_false(holds_at("p", 7)); /* nothing is reserved */
    assert_int_equal(reserve("p", names[0], &r), STORE_RESERVED);
    assert_int_equal(r.version, 7);
    assert_int_equal(store_binding_seen(store, STR("p"), names[0], STR("decision"), &version), STORE_SEEN_UNBOUND);
    assert_int_equal(version, 7);
    p.pod.resource_version = STR("9");
    assert_int_equal(ingest_pod(&ingest, &arena, &p.pod, NULL), 0);
    assert_true(holds_at("p", 9));
    assert_false(holds_at("p", 7));
    p.pod.deleting = true;
    assert_int_equal(ingest_pod(&ingest, &arena, &p.pod, NULL), 0);
    assert_false(holds_at("p", 9));
    p.pod.deleting = false;
    p.pod.labels = (struct kv_list){labels, 1};
    assert_int_equal(ingest_pod(&ingest, &arena, &p.pod, NULL), 0);
    assert_false(holds_at("p", 9));
}

static void store_reservation_holds__another_request__does_not(void **state)
{
    struct test_pod p, more;
    struct store_reservation r;

    make_pod(&p, "p", "fgpu.io/gpu-milli", "300");
    make_pod(&more, "p", "fgpu.io/gpu-milli", "400");
    p.pod.resource_version = more.pod.resource_version = STR("7");
    assert_int_equal(ingest_pod(&ingest, &arena, &p.pod, NULL), 0);
    assert_int_equal(reserve("p", names[0], &r), STORE_RESERVED);
    assert_true(holds_at("p", 7));
    assert_int_equal(ingest_pod(&ingest, &arena, &more.pod, NULL), 0);
    assert_false(holds_at("p", 7));
    assert_int_equal(ingest_pod(&ingest, &arena, &p.pod, NULL), 0);
    assert_false(holds_at("p", 7)); /* to and fro: it was another for a while */
}

static void store_reserve__being_deleted__is_not_tried(void **state)
{
    struct test_pod p;
    struct store_reservation r;

    make_pod(&p, "p", "fgpu.io/gpu-milli", "300");
    p.pod.deleting = true;
    assert_int_equal(ingest_pod(&ingest, &arena, &p.pod, NULL), 0);
    assert_int_equal(reserve("p", names[0], &r), STORE_DELETING);
}

static void reserved_was_seen(void *ctx, struct str uid)
{
    unsigned *told = ctx;

    *told += str_eq_cstr(uid, "p");
}

static void store_watch_reserved__tells_of_reserved_pods_alone(void **state)
{
    struct test_pod p, other;
    struct store_reservation r;
    unsigned told = 0;

    make_pod(&p, "p", "fgpu.io/gpu-milli", "300");
    make_pod(&other, "other", "fgpu.io/gpu-milli", "300");
    store_watch_reserved(store, reserved_was_seen, &told);
    assert_int_equal(ingest_pod(&ingest, &arena, &p.pod, NULL), 0);
    assert_int_equal(told, 0);
    assert_int_equal(reserve("p", names[0], &r), STORE_RESERVED);
    assert_int_equal(ingest_pod(&ingest, &arena, &other.pod, NULL), 0);
    assert_int_equal(told, 0);
    assert_int_equal(ingest_pod(&ingest, &arena, &p.pod, NULL), 0);
    assert_int_equal(told, 1);
    store_watch_reserved(store, NULL, NULL);
    assert_int_equal(ingest_pod(&ingest, &arena, &p.pod, NULL), 0);
    assert_int_equal(told, 1);
}

static void store_reserve__states_of_a_pod__each_has_its_answer(void **state)
{
    struct test_pod p, bad;
    struct store_reservation r;
    struct ledger_op confirm = {.kind = LEDGER_CONFIRM, .name = STR("p")};

    make_pod(&p, "p", "fgpu.io/gpu-milli", "300");
    make_pod(&bad, "bad", "fgpu.io/gpu-milli", "1500");
    assert_int_equal(reserve("p", names[0], &r), STORE_UNKNOWN_POD);
    assert_int_equal(ingest_pod(&ingest, &arena, &p.pod, NULL), 0);
    assert_int_equal(ingest_pod(&ingest, &arena, &bad.pod, NULL), 0);
    assert_int_equal(store_reserve(store, &arena, STR("p"), STR("d"), STR("other-name"), names[0], STR("x"),
                                   &context.plans, NULL, &r, NULL),
                     STORE_UNKNOWN_POD);
    assert_int_equal(reserve("bad", names[0], &r), STORE_DEFECT);
    assert_int_equal(reserve("p", STR("nowhere"), &r), STORE_NO_FIT);
    assert_int_equal(r.verdict, VERDICT_NODE_UNKNOWN);
    assert_int_equal(reserve("p", names[0], &r), STORE_RESERVED);
    assert_int_equal(r.assignment.container_n, 1);
    assert_int_equal(r.assignment.containers[0].devices[0].milli, 300);
    assert_int_equal(reserve("p", names[0], &r), STORE_IN_FLIGHT);
    assert_int_equal(store_apply(store, &confirm, NULL), 0);
    assert_int_equal(reserve("p", names[0], &r), STORE_ALREADY_BOUND);
    assert_int_equal(reserve("p", names[1], &r), STORE_BOUND_ELSEWHERE);
}

static void store_reserve__in_a_transition__only_as_somebody_has_looked(void **state)
{
    const struct demand nothing = {.dialect = ""};
    struct test_pod p, larger;
    struct store_reservation r;
    struct demand asks, more;
    const struct {
        struct store_looked looked;
        enum store_reserve_result known, unknown;
    } cases[] = {
        {{0, NULL}, STORE_TRANSITION, STORE_TRANSITION},      {{0, &asks}, STORE_TRANSITION, STORE_TRANSITION},
        {{6, &asks}, STORE_TRANSITION, STORE_TRANSITION},     {{7, NULL}, STORE_TRANSITION, STORE_TRANSITION},
        {{7, &more}, STORE_TRANSITION, STORE_TRANSITION},     {{6, &nothing}, STORE_TRANSITION, STORE_TRANSITION},
        {{7, &nothing}, STORE_TRANSITION, STORE_UNKNOWN_POD}, {{7, &asks}, STORE_RESERVED, STORE_TRANSITION},
    };

    make_pod(&p, "p", "fgpu.io/gpu-milli", "300");
    make_pod(&larger, "larger", "fgpu.io/gpu-milli", "400");
    assert_int_equal(ingest_pod(&ingest, &arena, &p.pod, NULL), 0);
    assert_true(dialect_demand(policy_defaults(), &p.pod, &arena, &asks));
    assert_true(dialect_demand(policy_defaults(), &larger.pod, &arena, &more));
    store_transition_begins(store, 6);
    store_transition_begins(store, 7);
    store_transition_ends(store, 6);
    assert_int_equal(store_transition(store), 7);
    assert_int_equal(reserve("p", names[0], &r), STORE_TRANSITION);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(reserve_as("unknown", names[0], &cases[i].looked, &r), cases[i].unknown);
        assert_int_equal(reserve_as("p", names[0], &cases[i].looked, &r), cases[i].known);
    }
    assert_int_equal(reserve("p", names[0], &r), STORE_IN_FLIGHT);
    store_transition_ends(store, 7);
    assert_int_equal(store_transition(store), 0);
    assert_int_equal(ingest_pod(&ingest, &arena, &larger.pod, NULL), 0);
    assert_int_equal(reserve_as("larger", names[0], &(struct store_looked){7, &asks}, &r), STORE_RESERVED);
}

static void prioritize__best_node__is_alone_at_ten_and_held(void **state)
{
    struct test_pod p, q;
    struct prioritize_result r;

    make_pod(&p, "p", "fgpu.io/gpu-milli", "1000");
    make_pod(&q, "q", "fgpu.io/gpu-count", "2");
    assert_int_equal(placement_prioritize(&context, &arena, &p.pod, names, NODES, &r, NULL), 0);
    assert_int_equal(r.points[0], 10);
    assert_true(str_eq(r.ranked[0].name, names[0])); /* equals fall to the smaller name */
    assert_int_equal(placement_prioritize(&context, &arena, &q.pod, names, NODES, &r, NULL), 0);
    assert_true(str_eq(r.ranked[0].name, names[1])); /* n0 is promised to p */
    assert_true(str_eq(r.ranked[NODES - 1].name, names[0]));
}

static void filter__more_fit_than_candidates__the_best_in_order(void **state)
{
    struct policy two = *policy_defaults();
    struct placement_context short_list;
    struct test_pod filler, p;
    struct store_reservation r;
    struct filter_result f;

    two.candidates = 2;
    two.node_strategy = two.device_strategy = STR("tight-fit");
    assert_int_equal(placement_context_init(&short_list, store, &two, NULL), 0);
    make_pod(&filler, "f", "fgpu.io/gpu-milli", "700");
    assert_int_equal(ingest_pod(&ingest, &arena, &filler.pod, NULL), 0);
    assert_int_equal(reserve("f", names[2], &r), STORE_RESERVED);
    make_pod(&p, "p", "fgpu.io/gpu-milli", "300"); /* best on the GPU that it fills up */
    assert_int_equal(placement_filter(&short_list, &arena, &p.pod, names, NODES, &f, NULL), 0);
    assert_int_equal(f.outcome, FILTER_SOME_FIT);
    assert_int_equal(f.fit_n, 2);
    assert_true(str_eq(f.results[0].name, names[2]));
    assert_true(str_eq(f.results[1].name, names[0]));
    two.candidates = 0; /* all */
    assert_int_equal(placement_filter(&short_list, &arena, &p.pod, names, NODES, &f, NULL), 0);
    assert_int_equal(f.fit_n, NODES);
}

static void filter__any_pod__the_answer_says_what_was_read_of_it(void **state)
{
    const struct kv label = {STR("app"), STR("a")};
    struct test_pod p;
    struct filter_result f;

    make_pod(&p, "p", "fgpu.io/gpu-milli", "300")->labels = (struct kv_list){&label, 1};
    f = filter(&p.pod);
    assert_true(str_eq(f.pod.uid, STR("p")));
    assert_int_equal(f.pod.demand->gpu_request_n, 1);
    assert_int_equal(f.pod.demand->gpu_requests[0].milli, 300);
    assert_int_equal(f.pod.label_n, 1);
    assert_true(f.pod.label_hashes[0] == label_pair_hash(label.key, label.value));
}

static void filter__nothing_fits__every_name_once_with_its_verdict(void **state)
{
    const struct str asked[] = {STR("n2"), STR("nowhere"), STR("n0")};
    struct test_pod p;
    struct filter_result f;
    unsigned seen = 0;

    make_pod(&p, "p", "fgpu.io/gpu-count", "3");
    assert_int_equal(placement_filter(&context, &arena, &p.pod, asked, 3, &f, NULL), 0);
    assert_int_equal(f.outcome, FILTER_NONE_FITS);
    for (size_t i = 0; i < 3; i++) {
        bool unknown = str_eq(f.results[i].name, asked[1]);

        assert_int_equal(f.results[i].verdict, unknown ? VERDICT_NODE_UNKNOWN : VERDICT_TOO_FEW_GPUS);
        for (unsigned k = 0; k < 3; k++) {
            seen += str_eq(f.results[i].name, asked[k]) ? 1U << (4 * k) : 0;
        }
    }
    assert_int_equal(seen, 0x111);
    assert_int_equal(placement_filter(&context, &arena, &p.pod, asked, 0, &f, NULL), 0);
    assert_int_equal(f.fit_n, 0);
}

static size_t tentative_n(void)
{
    const struct pack_tentative *h;
    size_t n;

    assert_int_equal(store_tentatives(store, &arena, STR("-"), &h, &n, &(struct store_promises){0}, NULL), 0);
    return n;
}

/* kube-scheduler skips prioritize when one node is left; and a new filter call ends the attempt before. */
static void filter__asked_about_no_node__an_empty_answer(void **state)
{
    struct test_pod p;
    struct filter_result r;

    assert_int_equal(
        placement_filter(&context, &arena, make_pod(&p, "u", "fgpu.io/gpu-milli", "300"), NULL, 0, &r, NULL), 0);
    assert_int_equal(r.outcome, FILTER_NONE_FITS);
    assert_int_equal(r.fit_n, 0);
    assert_int_equal(r.result_n, 0);
}

/* `tentativePlacements` of the configuration: 0 is none, and anything else is one. */
static void filter__one_node_left__is_held_if_anything_is(void **state)
{
    static const int32_t lives_ms[] = {0, 1, 3000};

    for (size_t i = 0; i < ARRAY_LEN(lives_ms); i++) {
        struct policy p = *context.policy;
        struct placement_context c = context;
        struct test_pod asking;
        struct filter_result f;

        p.tentative_ms = lives_ms[i];
        c.policy = &p;
        make_pod(&asking, "p", "fgpu.io/gpu-milli", "300");
        assert_int_equal(placement_filter(&c, &arena, &asking.pod, names, 1, &f, NULL), 0);
        assert_int_equal(tentative_n(), lives_ms[i] > 0);
        store_tentative_end(store, STR("p"));
    }
}

static void filter__one_node_left__is_held_until_the_next_filter(void **state)
{
    struct test_pod p;
    struct filter_result f;

    make_pod(&p, "p", "fgpu.io/gpu-milli", "300");
    (void)filter(&p.pod);
    assert_int_equal(tentative_n(), 0);
    assert_int_equal(placement_filter(&context, &arena, &p.pod, names, 1, &f, NULL), 0);
    assert_int_equal(f.fit_n, 1);
    assert_int_equal(tentative_n(), 1);
    (void)filter(&p.pod);
    assert_int_equal(tentative_n(), 0);
}

/* While its Binding was on the way a pod counted twice for others: as reserved, and as promised. */
static void F115_store_reserve__ends_the_promise(void **state)
{
    struct test_pod p;
    struct filter_result f;
    struct store_reservation r;

    make_pod(&p, "p", "fgpu.io/gpu-milli", "300");
    assert_int_equal(ingest_pod(&ingest, &arena, &p.pod, NULL), 0);
    assert_int_equal(placement_filter(&context, &arena, &p.pod, names, 1, &f, NULL), 0);
    assert_int_equal(tentative_n(), 1);
    assert_int_equal(reserve("p", names[0], &r), STORE_RESERVED);
    assert_int_equal(tentative_n(), 0);
}

/* The planner chooses nodes while pods are bound. */
static void F115_promise__to_a_pod_that_is_reserved_meanwhile__is_none(void **state)
{
    struct test_pod p;
    struct store_reservation r;
    const struct demand demand = {.dialect = "fgpu"};

    make_pod(&p, "p", "fgpu.io/gpu-milli", "300");
    assert_int_equal(ingest_pod(&ingest, &arena, &p.pod, NULL), 0);
    store_tentative(store, STR("p"), names[0], &demand, 3000);
    assert_int_equal(tentative_n(), 1);
    assert_int_equal(reserve("p", names[0], &r), STORE_RESERVED);
    store_tentative(store, STR("p"), names[1], &demand, 3000);
    assert_int_equal(tentative_n(), 0);
}

static void prioritize__pod_without_gpu_or_with_a_defect__all_zero(void **state)
{
    static const char *const amounts[] = {"0", "-1"};

    for (size_t i = 0; i < 2; i++) {
        struct test_pod p;
        struct prioritize_result r;

        make_pod(&p, "p", "fgpu.io/gpu-milli", amounts[i]);
        assert_int_equal(placement_prioritize(&context, &arena, &p.pod, names, NODES, &r, NULL), 0);
        for (size_t k = 0; k < NODES; k++) {
            assert_int_equal(r.points[k], 0);
            assert_true(str_eq(r.ranked[k].name, names[k]));
        }
        assert_int_equal(placement_prioritize(&context, &arena, &p.pod, names, 0, &r, NULL), 0);
    }
    assert_int_equal(tentative_n(), 0);
}

static void request_larger_than_its_memory__is_an_error(void **state)
{
    struct test_pod p;
    struct filter_result f;
    struct prioritize_result r;

    make_pod(&p, "p", "fgpu.io/gpu-milli", "300");
    for (size_t bytes = 16; bytes < 2048; bytes += 16) { /* every place where memory may end */
        struct arena small;
        struct err err;

        arena_init(&small, bytes);
        assert_int_equal(placement_filter(&context, &small, &p.pod, names, NODES, &f, &err), -ERR_LIMIT);
        arena_reset(&small);
        assert_int_equal(placement_prioritize(&context, &small, &p.pod, names, NODES, &r, &err), -ERR_LIMIT);
        arena_fini(&small);
    }
}

static void context__unknown_strategy__names_it(void **state)
{
    struct policy p = *policy_defaults();
    struct placement_context c;
    struct err err;

    p.node_strategy = STR("bestfit");
    assert_int_equal(placement_context_init(&c, store, &p, &err), -ERR_INVALID);
    assert_non_null(strstr(err.msg, "\"bestfit\""));
    p = *policy_defaults();
    p.device_strategy = STR("");
    assert_int_equal(placement_context_init(&c, store, &p, &err), -ERR_INVALID);
}

/* ---- B6: callers at the same time ---- */

#define CALLERS 24

static void *call(void *arg)
{
    const char *uid = arg;
    struct arena a;
    struct test_pod p;
    struct filter_result f;
    struct store_reservation r;

    arena_init(&a, 64 << 20);
    make_pod(&p, uid, "fgpu.io/gpu-milli", "420");
    for (int i = 0; i < 50; i++) {
        enum store_reserve_result got = STORE_NO_FIT;

        if (placement_filter(&context, &a, &p.pod, names, NODES, &f, NULL) == 0 && f.fit_n > 0) {
            got = store_reserve(store, &a, str_of(uid), STR("d"), str_of(uid), f.results[0].name, STR("x"),
                                &context.plans, NULL, &r, NULL);
        }
        if (got == STORE_RESERVED && i < 49) { /* let go again, but for the last time */
            struct ledger_op release = {.kind = LEDGER_RELEASE, .name = str_of(uid)};

            if (store_apply(store, &release, NULL) != 0) {
                abort();
            }
        }
        arena_reset(&a);
    }
    arena_fini(&a);
    return NULL;
}

/* gpu-admission and HAMi over-commit when filters run at the same time; 24 put 420 % on one GPU. */
static void B6__24_concurrent_callers__never_over_commit(void **state)
{
    static char uids[CALLERS][8];
    static struct test_pod pods[CALLERS];
    pthread_t threads[CALLERS];
    struct snapshot s;

    for (size_t i = 0; i < CALLERS; i++) {
        snprintf(uids[i], sizeof(uids[i]), "u%zu", i);
        make_pod(&pods[i], uids[i], "fgpu.io/gpu-milli", "420");
        assert_int_equal(ingest_pod(&ingest, &arena, &pods[i].pod, NULL), 0);
    }
    for (size_t i = 0; i < CALLERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, call, uids[i]), 0);
    }
    for (size_t i = 0; i < CALLERS; i++) {
        pthread_join(threads[i], NULL);
    }
    store_totals(store, &s);
    assert_int_equal(s.overcommitted_n, 0);
    assert_in_range(s.pods_by_state[LEDGER_RESERVED], 1, NODES * 2 * 2); /* two of 420 on each GPU */
}

#define VOLATILE_NODES (2 * STORE_PACK_SECTION + 100)
static char volatile_text[VOLATILE_NODES][8];
static atomic_bool churn_over;

/* Makes and removes nodes, so that places in the ledger's tables change hands all the time. */
static void *churn(void *arg)
{
    const struct inventory none = {.source = INVENTORY_NONE};

    for (size_t i = 0; !atomic_load(&churn_over); i++) {
        struct str gone = str_of(volatile_text[i * 7 % VOLATILE_NODES]);
        struct str fresh = str_of(volatile_text[i * 13 % VOLATILE_NODES]);
        struct ledger_op drop = {.kind = LEDGER_NODE_GONE, .name = gone};
        struct ledger_op add = {.kind = LEDGER_NODE_DESCRIBED,
                                .node = {.name = fresh, .uid = fresh, .inventory = &none}};

        if (store_apply(store, &drop, NULL) != 0 || store_apply(store, &add, NULL) != 0) {
            abort();
        }
    }
    return arg;
}

static void filter__nodes_come_and_go_meanwhile__each_name_once(void **state)
{
    struct str asked[VOLATILE_NODES + NODES];
    struct test_pod p;
    pthread_t thread;

    for (size_t i = 0; i < VOLATILE_NODES; i++) {
        snprintf(volatile_text[i], sizeof(volatile_text[i]), "v%zu", i);
        asked[i] = str_of(volatile_text[i]);
    }
    memcpy(asked + VOLATILE_NODES, names, sizeof(names));
    make_pod(&p, "p", "fgpu.io/gpu-count", "3"); /* more than any node has: every name is answered */
    atomic_store(&churn_over, false);
    assert_int_equal(pthread_create(&thread, NULL, churn, NULL), 0);
    for (int round = 0; round < 200; round++) {
        unsigned char seen[VOLATILE_NODES] = {0};
        unsigned stable = 0;
        struct filter_result f;

        assert_int_equal(placement_filter(&context, &arena, &p.pod, asked, VOLATILE_NODES + NODES, &f, NULL), 0);
        assert_int_equal(f.outcome, FILTER_NONE_FITS);
        assert_int_equal(f.result_n, VOLATILE_NODES + NODES);
        for (size_t i = 0; i < f.result_n; i++) {
            uint64_t number;

            if (f.results[i].name.p[0] == 'n') {
                stable++;
            } else if (str_to_u64(str_drop(f.results[i].name, 1), VOLATILE_NODES - 1, &number)) {
                assert_int_equal(seen[number]++, 0);
            }
        }
        assert_int_equal(stable, NODES);
        arena_reset(&arena);
    }
    atomic_store(&churn_over, true);
    pthread_join(thread, NULL);
}

/* ---- preemption ---- */

static void observe_bound(struct test_pod *p, const char *uid, const char *milli, const char *node, int32_t priority)
{
    make_pod(p, uid, "fgpu.io/gpu-milli", milli)->node_name = str_of(node);
    p->pod.priority = priority;
    assert_int_equal(ingest_pod(&ingest, &arena, &p->pod, NULL), 0);
}

/* Without a record they count on both GPUs of their node. */
static void preempt__only_who_is_less_important_makes_room(void **state)
{
    struct preempt_node nodes[NODES] = {
        {.name = names[0], .pdb_violations = 7}, {.name = names[1]}, {.name = names[2]}};
    struct test_pod low, high, asking;
    enum verdict why = VERDICT__MAX;
    size_t n = 9;

    observe_bound(&low, "low", "800", "n0", 1);
    observe_bound(&high, "high", "800", "n2", 20);
    make_pod(&asking, "asking", "fgpu.io/gpu-milli", "500")->priority = 10;
    assert_int_equal(placement_preempt(&context, &arena, &asking.pod, nodes, NODES, &n, &why, NULL), 0);
    assert_int_equal(n, 2);
    assert_int_equal(why, VERDICT_FITS);
    assert_true(str_eq(nodes[0].name, names[0]));
    assert_int_equal(nodes[0].victim_n, 1);
    assert_true(str_eq_cstr(nodes[0].victims[0], "low"));
    assert_int_equal(nodes[0].pdb_violations, 7);
    assert_true(str_eq(nodes[1].name, names[1]));
    assert_int_equal(nodes[1].victim_n, 0);
    nodes[0] = (struct preempt_node){.name = names[2]};
    nodes[1] = (struct preempt_node){.name = STR("stranger")};
    nodes[2] = (struct preempt_node){.name = names[2]};
    assert_int_equal(placement_preempt(&context, &arena, &asking.pod, nodes, NODES, &n, &why, NULL), 0);
    assert_int_equal(n, 0);
    assert_int_equal(why, VERDICT_NO_COMPUTE); /* twice, and once not known */
}

static void F184_preempt__nodes_in_doubt__only_where_no_other_helps(void **state)
{
    struct preempt_node nodes[NODES];
    struct test_pod asking, none_of_ours;
    enum verdict why;
    size_t n;

#define FRESH()                                                                                                        \
    memcpy(nodes, (struct preempt_node[NODES]){{.name = names[0]}, {.name = names[1]}, {.name = names[2]}},            \
           sizeof(nodes))
    make_pod(&asking, "asking", "fgpu.io/gpu-milli", "500")->priority = 10;
    make_pod(&none_of_ours, "cpu-only", "cpu", "1");
    store_doubt(store, names[0], true);
    FRESH();
    assert_int_equal(placement_preempt(&context, &arena, &asking.pod, nodes, NODES, &n, &why, NULL), 0);
    assert_int_equal(n, 2);
    assert_true(str_eq(nodes[0].name, names[1]) && str_eq(nodes[1].name, names[2]));
    FRESH();
    assert_int_equal(placement_preempt(&context, &arena, &none_of_ours.pod, nodes, NODES, &n, &why, NULL), 0);
    assert_int_equal(n, 3);
    store_doubt(store, names[1], true);
    store_doubt(store, names[2], true);
    FRESH();
    assert_int_equal(placement_preempt(&context, &arena, &asking.pod, nodes, NODES, &n, &why, NULL), 0);
    assert_int_equal(n, 3);
    assert_int_equal(why, VERDICT_FITS);
    assert_true(str_eq(nodes[0].name, names[0]) && str_eq(nodes[2].name, names[2]));
#undef FRESH
}

static void preempt__none_of_ours_or_malformed__kept_or_dropped(void **state)
{
    const struct str victims[] = {STR("x"), STR("y")};
    struct preempt_node nodes[2] = {{.name = names[0], .victims = victims, .victim_n = 2}, {.name = STR("stranger")}};
    struct test_pod p;
    enum verdict why;
    size_t n;

    make_pod(&p, "a", "cpu", "1");
    assert_int_equal(placement_preempt(&context, &arena, &p.pod, nodes, 2, &n, &why, NULL), 0);
    assert_int_equal(n, 2);
    assert_int_equal(nodes[0].victim_n, 2);
    assert_ptr_equal(nodes[0].victims, victims);
    make_pod(&p, "a", "fgpu.io/gpu-milli", "many");
    assert_int_equal(placement_preempt(&context, &arena, &p.pod, nodes, 2, &n, &why, NULL), 0);
    assert_int_equal(n, 0);
    assert_int_equal(why, VERDICT_FITS);
    store_close(store, "the end");
    assert_int_equal(placement_preempt(&context, &arena, &p.pod, nodes, 2, &n, &why, NULL), -ERR_UNAVAILABLE);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup_synced, store_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(B5__not_synced__every_verb_is_an_error, setup, store_teardown),
        T(preempt__only_who_is_less_important_makes_room),
        T(F184_preempt__nodes_in_doubt__only_where_no_other_helps),
        T(preempt__none_of_ours_or_malformed__kept_or_dropped),
        T(explain_events__refused_for_long__told_once_for_each_kind),
        T(filter__names_sent_again__are_answered_once),
        T(filter__nodes_come_and_go_meanwhile__each_name_once),
        T(filter__pod_without_gpu__is_not_ours),
        T(B7_B11__absurd_gpu_requests__are_defects_with_one_constant_text),
        T(B3__node_fills_up__the_next_answer_knows),
        T(R8__numbers_change_and_the_cause_does_not__same_reason),
        T(store_reservation_holds__only_for_the_object_that_was_decided_for),
        T(store_reservation_holds__another_request__does_not),
        T(store_reserve__being_deleted__is_not_tried),
        T(store_watch_reserved__tells_of_reserved_pods_alone),
        T(store_reserve__states_of_a_pod__each_has_its_answer),
        T(store_reserve__in_a_transition__only_as_somebody_has_looked),
        T(prioritize__best_node__is_alone_at_ten_and_held),
        T(filter__more_fit_than_candidates__the_best_in_order),
        T(filter__any_pod__the_answer_says_what_was_read_of_it),
        T(filter__nothing_fits__every_name_once_with_its_verdict),
        T(filter__one_node_left__is_held_until_the_next_filter),
        T(filter__one_node_left__is_held_if_anything_is),
        T(F115_store_reserve__ends_the_promise),
        T(F115_promise__to_a_pod_that_is_reserved_meanwhile__is_none),
        T(filter__asked_about_no_node__an_empty_answer),
        T(prioritize__pod_without_gpu_or_with_a_defect__all_zero),
        T(request_larger_than_its_memory__is_an_error),
        T(context__unknown_strategy__names_it),
        T(B6__24_concurrent_callers__never_over_commit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
