/* What a bind is answered, by what the ledger and a GET of the pod say of it: row by row. When it is answered:
 * test_binder.c. */
#include "extender/support/tested_binder.h"

#include "base/compiler.h"
#include "extender/support/await.h"
#include "extender/support/fake_client.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static struct asked a; /* of the test; an answer may still come when one fails */

static int setup(void **state)
{
    a = (struct asked){0};
    return tested_binder_setup(state);
}

/* ---- what the ledger says ---- */

static void waits(void)
{
    watch("100", NULL, NULL);
}

static void is_held_off(void)
{
    waits();
    store_hold_off(store, now.mono_ns + NS_PER_S);
}

static const struct demand much = DEMAND_OF_SHARE(900);

static void node_is_full(void)
{
    waits();
    apply_pod("x", "n1", &much);
}

static void is_bound(void)
{
    watch_bound("0123456789abcdef");
}

static void is_bound_without_a_record(void)
{
    watch("100", "n1", NULL);
}

static void is_bound_elsewhere(void)
{
    watch("100", "n2", NULL);
}

static void observe_as(const char *milli, bool deleting)
{
    const struct kv limit = {STR("fgpu.io/gpu-milli"), str_of(milli)};
    const struct container c = {.name = STR("c"), .limits = {&limit, 1}};
    const struct pod p = {.namespace_ = STR("d"),
                          .name = STR("a"),
                          .uid = STR("a"),
                          .resource_version = STR("100"),
                          .deleting = deleting,
                          .containers = &c,
                          .container_n = 1};

    assert_int_equal(ingest_pod(&facts, &arena, &p, NULL), 0);
}

static void is_deleted(void)
{
    observe_as("300", true);
}

static void asks_for_nonsense(void)
{
    observe_as("none", false);
}

/* By nobody who is here any more. */
static void is_reserved(void)
{
    const struct rules *rules = policy_set_take(policies);
    struct store_reservation r;

    waits();
    assert_int_equal(store_reserve(store, &arena, STR("a"), STR("d"), STR("a"), STR("n1"), STR("0123456789abcdef"),
                                   &rules->placement.plans, NULL, &r, NULL),
                     STORE_RESERVED);
    rules_put(rules);
}

static void is_rehearsed(void)
{
    waits();
    options.rehearses = true;
    binder_set_options(binder, &options);
}

static void ledger__says_no__the_caller_hears_why(void **state)
{
    static const struct {
        void (*what)(void);
        const char *node;
        enum bind_outcome outcome;
        const char *part;
        bool has_decision; /* which can be asked about */
    } rows[] = {
        {is_held_off, "n1", BIND_OUTCOME_NOT_READY, "waits for earlier bindings", false},
        {node_is_full, "n1", BIND_OUTCOME_NO_FIT, "too few GPUs with enough free compute", true},
        {waits, "n9", BIND_OUTCOME_NO_FIT, "node not known to fgpu yet", true},
        {asks_for_nonsense, "n1", BIND_OUTCOME_NO_FIT, "GPU request is not a valid amount", true},
        {is_bound, "n1", BIND_OUTCOME_BOUND, NULL, false},
        {is_bound, "n2", BIND_OUTCOME_CONFLICT, "already bound by somebody else", false},
        {is_bound_without_a_record, "n1", BIND_OUTCOME_CONFLICT, "already bound by somebody else", false},
        {is_bound_elsewhere, "n1", BIND_OUTCOME_CONFLICT, "already bound by somebody else", false},
        {is_deleted, "n1", BIND_OUTCOME_CONFLICT, "being deleted", false},
        {is_reserved, "n1", BIND_OUTCOME_CONFLICT, "not resolved", false},
        {is_rehearsed, "n1", BIND_OUTCOME_NOT_READY, "rehearses", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (i > 0) {
            (void)tested_binder_teardown(state);
            (void)setup(state);
        }
        rows[i].what();
        ask(&a, rows[i].node);
        if (rows[i].part == NULL) {
            expect_bound(&a);
        } else {
            expect_refused(&a, rows[i].outcome, rows[i].part);
        }
        assert_int_equal(a.decision_id[0] != '\0', rows[i].has_decision);
        expect_ended();
    }
}

/* ---- a pod that asks for no GPU ---- */

/* `more` of its metadata; it is known to nobody until a GET shows it. */
static const char *plain_pod(const char *more, const char *node)
{
    static char text[600];

    snprintf(
        text, sizeof(text),
        "{\"metadata\":{\"name\":\"a\",\"namespace\":\"d\",\"uid\":\"a\",\"resourceVersion\":\"7\"%s},\"spec\":{%s%s%s"
        "\"containers\":[{\"name\":\"c\"}]}}",
        more, node == NULL ? "" : "\"nodeName\":\"", node == NULL ? "" : node, node == NULL ? "" : "\",");
    return text;
}

static void show(const char *pod)
{
    fake_client_answer("GET", POD, 200, KUBE_NO_RETRY_AFTER, pod);
}

static void bind_all(void)
{
    options.binds_all_pods = true;
    binder_set_options(binder, &options);
}

static void no_gpu__asked_for__bound_only_where_fgpu_binds_all(void **state)
{
    ask(&a, "n1");
    show(plain_pod("", NULL));
    expect_refused(&a, BIND_OUTCOME_REFUSED, "asks for no GPU");
    expect_ended();
    (void)tested_binder_teardown(state);
    (void)setup(state);
    bind_all();
    ask(&a, "n1");
    show(plain_pod("", NULL));
    assert_true(fake_client_body_has("POST", BINDING, "\"7\""));
    assert_false(fake_client_body_has("POST", BINDING, "fgpu.io/assignment"));
    answer_post(201);
    expect_bound(&a);
    assert_string_equal(a.decision_id, ""); /* there was nothing to decide */
    assert_int_equal(state_of_pod(), LEDGER_POD_STATE__MAX);
    expect_ended();
}

static void no_gpu__on_a_node_that_nobody_knows__refused(void **state)
{
    bind_all();
    ask(&a, "n9");
    show(plain_pod("", NULL));
    expect_refused(&a, BIND_OUTCOME_NO_FIT, "node");
    expect_ended();
}

/* The reply was lost: then the node tells, for there is no record. */
static void no_gpu__reply_lost__its_node_tells(void **state)
{
    static const struct {
        const char *node;
        bool bound;
    } rows[] = {{"n1", true}, {"n2", false}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (i > 0) {
            (void)tested_binder_teardown(state);
            (void)setup(state);
        }
        bind_all();
        ask(&a, "n1");
        show(plain_pod("", NULL));
        fake_client_end("POST", BINDING, KUBE_LOST);
        pass_ms(200);
        show(plain_pod("", rows[i].node));
        if (rows[i].bound) {
            expect_bound(&a);
        } else {
            expect_refused(&a, BIND_OUTCOME_REFUSED, "");
        }
        expect_ended();
    }
}

/* ---- what a GET shows after a reply was lost ---- */

#define RECORD_OF                                                                                                      \
    ",\"annotations\":{\"fgpu.io/assignment\":\"{\\\"v\\\":1,\\\"id\\\":\\\"%s\\\",\\\"containers\\\":[{\\\"name\\\":" \
    "\\\"c\\\",\\\"init\\\":false,\\\"devices\\\":[{\\\"uuid\\\":\\\"GPU-0\\\",\\\"index\\\":0,\\\"milli\\\":300,"     \
    "\\\"memMib\\\":24576}]}]}\"}"

static void get__after_a_lost_reply__node_and_record_tell(void **state)
{
    static const struct {
        int status;
        const char *node, *record; /* "": ours; NULL: none */
        const char *refused;       /* NULL: bound; "": asked again */
    } rows[] = {
        {200, "n1", "", NULL},
        {200, "n1", "0123456789abcdef", "already bound by somebody else"},
        {200, "n1", NULL, "already bound by somebody else"},
        {200, "n2", "", "already bound by somebody else"},
        {404, "n1", "", "no longer exists"},
        {500, "n1", "", ""}, /* whatever stands in it */
        {201, "n1", "", ""},
        {403, "n1", "", ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char record[400] = "";

        if (i > 0) {
            (void)tested_binder_teardown(state);
            (void)setup(state);
        }
        watch("100", NULL, NULL);
        ask(&a, "n1");
        if (rows[i].record != NULL) {
            snprintf(record, sizeof(record), RECORD_OF, rows[i].record[0] == '\0' ? decision() : rows[i].record);
        }
        fake_client_end("POST", BINDING, KUBE_LOST);
        pass_ms(200);
        fake_client_answer("GET", POD, rows[i].status, KUBE_NO_RETRY_AFTER, plain_pod(record, rows[i].node));
        if (rows[i].refused == NULL) {
            expect_bound(&a);
        } else if (rows[i].refused[0] != '\0') {
            expect_refused(&a, BIND_OUTCOME_REFUSED, rows[i].refused);
        } else {
            expect_open(&a);
            continue;
        }
        expect_ended();
    }
}

/* A pod that is fetched first. */
static void fetch__shows_what_is_not_to_be_bound__why(void **state)
{
    static const struct {
        const char *pod;
        enum bind_outcome outcome;
        const char *part;
    } rows[] = {
        {"{\"metadata\":{\"name\":\"a\",\"namespace\":\"d\",\"uid\":\"a\",\"resourceVersion\":\"7\","
         "\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":{\"containers\":[{\"name\":\"c\"}]}}",
         BIND_OUTCOME_CONFLICT, "being deleted"},
        {"<html>", BIND_OUTCOME_REFUSED, "cannot be read"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ask(&a, "n1");
        show(rows[i].pod);
        expect_refused(&a, rows[i].outcome, rows[i].part);
        expect_none_pending();
    }
    expect_ended();
}

/* ---- the end ---- */

/* Who closes waits for the last one, and no longer. */
static void *close_main(void *ret_none_left)
{
    *(bool *)ret_none_left = binder_close(binder, 3600000);
    return NULL;
}

/* He waits then, or is about to: the lock is free only while he does. */
static bool is_closed(const void *b)
{
    bool closed;

    mutex_lock(&binder->lock);
    closed = binder->closed;
    mutex_unlock(&binder->lock);
    return closed;
}

static void close__while_a_bind_is_under_way__returns_with_its_end(void **state)
{
    struct thread closes;
    bool none_left = false;

    watch("100", NULL, NULL);
    ask(&a, "n1");
    assert_int_equal(thread_start(&closes, "close", close_main, &none_left, NULL), 0);
    await(is_closed, binder, "somebody who closes");
    answer_post(201);
    thread_join(&closes); /* at once, or this test never ends */
    assert_true(none_left);
    expect_bound(&a);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, tested_binder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(ledger__says_no__the_caller_hears_why),
        T(no_gpu__asked_for__bound_only_where_fgpu_binds_all),
        T(no_gpu__on_a_node_that_nobody_knows__refused),
        T(no_gpu__reply_lost__its_node_tells),
        T(get__after_a_lost_reply__node_and_record_tell),
        T(fetch__shows_what_is_not_to_be_bound__why),
        T(close__while_a_bind_is_under_way__returns_with_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
