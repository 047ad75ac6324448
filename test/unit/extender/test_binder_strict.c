/* consistency: strict, one process: what is read and written before a Binding is sent, and what becomes of a bind where
 * that fails (extender/intents.h, decision 0103). What processes do to each other: test/protocol/strict.pml. */
#include "extender/support/tested_binder.h"

#include "base/compiler.h"
#include "extender/support/fake_client.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#define OBJECT "/namespaces/ns/leases/intents.n1"
#define OBJECTS "/namespaces/ns/leases"
#define OTHER "/pods/x"

static struct asked a, b; /* an answer may still come when a test fails */

/* As the linker names them. */
bool __wrap_store_has_node(struct store *s, struct str name);
bool __real_store_has_node(struct store *s, struct str name);
void __wrap_store_doubt(struct store *s, struct str node_name, bool in_doubt);
void __real_store_doubt(struct store *s, struct str node_name, bool in_doubt);

static _Atomic unsigned gone_in; /* this look at a node, counted from 1, finds none; 0: as the store has it */

bool __wrap_store_has_node(struct store *s, struct str name)
{
    return (gone_in == 0 || --gone_in > 0) && __real_store_has_node(s, name);
}

static _Atomic unsigned told_n; /* how often the store was told something */

void __wrap_store_doubt(struct store *s, struct str node_name, bool in_doubt)
{
    told_n++;
    __real_store_doubt(s, node_name, in_doubt);
}

static void answer_version(const char *minor)
{
    char text[64];

    snprintf(text, sizeof(text), "{\"major\":\"1\",\"minor\":\"%s\"}", minor);
    fake_client_answer("GET", "/version", 200, KUBE_NO_RETRY_AFTER, text);
    turn();
}

static void restart_strictly(void)
{
    options.intent_objects = STR("ns/intents");
    restart();
}

static int setup(void **state)
{
    a = b = (struct asked){0};
    gone_in = told_n = 0;
    if (tested_binder_setup(state) != 0) {
        return 1;
    }
    restart_strictly();
    answer_version("33");
    watch("100", NULL, NULL);
    return 0;
}

/* ---- the object of n1 ---- */

static const char *object(const char *revision, const char *node, const char *intents)
{
    static char text[1024];

    snprintf(text, sizeof(text),
             "{\"metadata\":{\"resourceVersion\":\"%s\",\"uid\":\"u\",\"annotations\":{\"fgpu.io/node\":\"%s\","
             "\"fgpu.io/intents\":\"%s\"}}}",
             revision, node, intents);
    return text;
}

static void answer_object(const char *revision, const char *intents)
{
    fake_client_answer("GET", OBJECT, 200, KUBE_NO_RETRY_AFTER, object(revision, "n1", intents));
    turn();
}

static void answer_none(void)
{
    fake_client_answer("GET", OBJECT, 404, KUBE_NO_RETRY_AFTER, "");
    turn();
}

/* Of pod d/a at this version, by this process; as JSON has it. */
static const char *ours(const char *version)
{
    static char text[64];

    snprintf(text, sizeof(text), "a d/a %s %s\\n", version, binder->process);
    return text;
}

#define THEIRS "x d/x 50 0123456789abcdef\\n"

static void answer_written(const char *method, const char *end, int status, const char *revision, const char *intents)
{
    fake_client_answer(method, end, status, KUBE_NO_RETRY_AFTER, object(revision, "n1", intents));
    turn();
}

/* Whoever asks is answered when the time of the caller is over. */
static void expect_given_up(const char *why)
{
    pass_ms(DEADLINE_MS);
    expect_refused(&a, BIND_OUTCOME_REFUSED, why);
    assert_int_equal(milli_charged(), 0);
    assert_int_equal(fake_client_pending("POST", BINDING), 0);
    assert_int_equal(binder_in_flight(binder), 0);
}

static void expect_unsent(void)
{
    assert_int_equal(fake_client_pending("POST", BINDING), 0);
    expect_open(&a);
}

static void bind_and_end(void)
{
    assert_int_equal(fake_client_pending("POST", BINDING), 1);
    answer_post(201);
    expect_bound(&a);
    assert_int_equal(state_of_pod(), LEDGER_CONFIRMED);
    assert_int_equal(binder_in_flight(binder), 0);
}

/* ---- in order ---- */

static void strict__nothing_is_written_yet__reads_makes_the_object_and_binds(void **state)
{
    ask(&a, "n1");
    assert_int_equal(fake_client_pending("GET", OBJECT), 1);
    assert_int_equal(fake_client_deadline_ms("GET", OBJECT), 2000);
    assert_int_equal(milli_charged(), 0); /* no devices are chosen before it is read */
    answer_none();
    assert_int_equal(milli_charged(), 300);
    expect_unsent();
    assert_int_equal(fake_client_pending("POST", OBJECTS), 1);
    assert_true(fake_client_body_has("POST", OBJECTS, ours("100")));
    assert_true(fake_client_body_has("POST", OBJECTS, "\"fgpu.io/node\":\"n1\""));
    answer_written("POST", OBJECTS, 201, "1", ours("100"));
    assert_true(fake_client_body_has("POST", BINDING, "\"100\""));
    bind_and_end();
}

/* What is known of the node needs no second read; what has landed stays in the object, what is dead goes. */
static void strict__the_next_bind__writes_over_what_it_knows(void **state)
{
    watch_pod("b", "101", NULL, NULL);
    watch_pod("x", "60", NULL, NULL); /* seen later than it was meant to be bound: that is dead */
    ask(&a, "n1");
    answer_object("7", THEIRS);
    assert_int_equal(fake_client_pending("PATCH", OBJECT), 1);
    assert_true(fake_client_body_has("PATCH", OBJECT, "\"resourceVersion\":\"7\""));
    assert_true(fake_client_body_has("PATCH", OBJECT, "\"uid\":\"u\""));
    assert_false(fake_client_body_has("PATCH", OBJECT, "d/x"));
    answer_written("PATCH", OBJECT, 200, "8", ours("100"));
    watch_bound(decision());
    turn();
    answer_post(201);
    expect_bound(&a);
    ask_for(&b, "b", "n1");
    turn();
    assert_int_equal(fake_client_pending("GET", OBJECT), 0);
    assert_true(fake_client_body_has("PATCH", OBJECT, "\"resourceVersion\":\"8\""));
    assert_true(fake_client_body_has("PATCH", OBJECT, "a d/a 100 "));
    assert_true(fake_client_body_has("PATCH", OBJECT, "b d/b 101 "));
}

/* A Binding that is refused was never taken: its intent is dead, and the next write leaves it out. */
static void strict__refused__the_intent_goes_with_the_next_write(void **state)
{
    watch_pod("b", "101", NULL, NULL);
    ask(&a, "n1");
    answer_none();
    answer_written("POST", OBJECTS, 201, "1", ours("100"));
    answer_post(422);
    expect_refused(&a, BIND_OUTCOME_REFUSED, "422");
    assert_int_equal(milli_charged(), 0);
    ask_for(&b, "b", "n1");
    turn();
    assert_false(fake_client_body_has("PATCH", OBJECT, "d/a"));
    assert_true(fake_client_body_has("PATCH", OBJECT, "b d/b 101 "));
}

/* Both intents in one write, if both are decided by then. */
static void strict__two_binds_wait_for_one_read__each_is_bound(void **state)
{
    char both[160];

    watch_pod("b", "101", NULL, NULL);
    ask(&a, "n1");
    ask_for(&b, "b", "n1");
    assert_int_equal(fake_client_pending("GET", OBJECT), 1);
    answer_none();
    turn();
    assert_int_equal(fake_client_pending("POST", OBJECTS), 1);
    if (fake_client_body_has("POST", OBJECTS, "d/a")) {
        answer_written("POST", OBJECTS, 201, "1", ours("100"));
        snprintf(both, sizeof(both), "%sb d/b 101 %s\\n", ours("100"), binder->process);
    } else {
        snprintf(both, sizeof(both), "b d/b 101 %s\\n", binder->process);
        answer_written("POST", OBJECTS, 201, "1", both);
        snprintf(both + strlen(both), sizeof(both) - strlen(both), "%s", ours("100"));
    }
    assert_int_equal(fake_client_pending("PATCH", OBJECT), 1);
    assert_true(fake_client_body_has("PATCH", OBJECT, both));
    answer_written("PATCH", OBJECT, 200, "2", both);
    answer_post(201);
    fake_client_answer("POST", "/pods/b/binding", 201, KUBE_NO_RETRY_AFTER, "{}");
    expect_bound(&a);
    expect_bound(&b);
    assert_int_equal(milli_charged(), 600);
}

/* The same version again stands in the same intent; another one needs its own. */
static void strict__sent_again__the_intent_is_of_the_version(void **state)
{
    char both[160];

    ask(&a, "n1");
    answer_none();
    answer_written("POST", OBJECTS, 201, "1", ours("100"));
    fake_client_answer("POST", BINDING, 429, 1000, "{}");
    pass_ms(1000);
    assert_int_equal(fake_client_pending("POST", BINDING), 1);
    assert_int_equal(fake_client_pending("PATCH", OBJECT), 0);
    fake_client_end("POST", BINDING, KUBE_LOST);
    fake_client_answer("GET", POD, 200, KUBE_NO_RETRY_AFTER, pod_json("101", "a")); /* nothing can land: renewed */
    turn();
    expect_unsent();
    snprintf(both, sizeof(both), "a d/a 100 %s\\na d/a 101 %s\\n", binder->process, binder->process);
    assert_true(fake_client_body_has("PATCH", OBJECT, both));
    answer_written("PATCH", OBJECT, 200, "2", both);
    assert_true(fake_client_body_has("POST", BINDING, "\"101\""));
    bind_and_end();
}

/* ---- intents of others ---- */

static const char *pod_x(const char *uid, const char *version, const char *node, const char *phase)
{
    static char text[512];

    snprintf(text, sizeof(text),
             "{\"metadata\":{\"name\":\"x\",\"namespace\":\"d\",\"uid\":\"%s\",\"resourceVersion\":\"%s\"},\"spec\":{"
             "\"nodeName\":\"%s\",\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":{\"fgpu.io/gpu-milli\":"
             "\"300\"}}}]},\"status\":{\"phase\":\"%s\"}}",
             uid, version, node, phase);
    return text;
}

/* A pod that this process has not heard of: it is asked for, and each answer that proves something is enough. */
static void strict__intent_of_another__its_pod_is_asked_for(void **state)
{
    static const struct {
        const char *uid, *version, *node, *phase; /* uid NULL: 404 */
        bool proves;
    } rows[] = {
        {NULL, "", "", "", true},               /* gone */
        {"another", "10", "", "Pending", true}, /* made anew */
        {"x", "51", "", "Pending", true},       /* unbound at a later version */
        {"x", "50", "", "Pending", false},      /* of that version the Binding may land */
        {"x", "49", "", "Pending", false},
        {"x", "60", "n2", "Running", true},   /* bound elsewhere */
        {"x", "60", "n1", "Succeeded", true}, /* it has ended */
        {"x", "60", "n1", "Running", true},   /* here: charged from now on */
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(tested_binder_teardown(state), 0);
        assert_int_equal(setup(state), 0);
        ask(&a, "n1");
        answer_object("7", THEIRS);
        assert_int_equal(fake_client_pending("PATCH", OBJECT), 0);
        assert_int_equal(fake_client_pending("GET", OTHER), 1);
        assert_int_equal(fake_client_deadline_ms("GET", OTHER), 2000);
        if (rows[i].uid == NULL) {
            fake_client_answer("GET", OTHER, 404, KUBE_NO_RETRY_AFTER, "");
        } else {
            fake_client_answer("GET", OTHER, 200, KUBE_NO_RETRY_AFTER,
                               pod_x(rows[i].uid, rows[i].version, rows[i].node, rows[i].phase));
        }
        turn();
        if (fake_client_pending("PATCH", OBJECT) != rows[i].proves) {
            fail_msg("row %zu", i);
        }
        if (!rows[i].proves) {
            expect_given_up("may still take effect");
        } else {
            const bool here = strcmp(rows[i].node, "n1") == 0 && strcmp(rows[i].phase, "Running") == 0;

            assert_int_equal(fake_client_body_has("PATCH", OBJECT, "d/x"), here);
            assert_true(milli_charged() >= (here ? 600 : 300));
        }
    }
}

/* Nothing is certain: it is asked again after ever longer pauses, which is told after the second look. */
static void strict__intent_stays_unproven__asked_again_and_told(void **state)
{
    static const int64_t pauses_ms[] = {200, 400, 800, 1600};

    ask(&a, "n1");
    answer_object("7", THEIRS);
    for (size_t i = 0; i < ARRAY_LEN(pauses_ms); i++) {
        assert_int_equal(fake_client_pending("GET", OTHER), 1);
        assert_int_equal(binder_nodes_in_doubt(binder), i > 2);
        fake_client_answer("GET", OTHER, i == 1 ? 500 : 200, KUBE_NO_RETRY_AFTER, pod_x("x", "50", "", "Pending"));
        turn();
        pass_ms(pauses_ms[i] - 1);
        assert_int_equal(fake_client_pending("GET", OTHER), 0);
        pass_ms(1);
    }
    assert_int_equal(binder_nodes_in_doubt(binder), 1);
    fake_client_answer("GET", OTHER, 200, KUBE_NO_RETRY_AFTER, pod_x("x", "51", "", "Pending"));
    turn();
    assert_int_equal(binder_nodes_in_doubt(binder), 0);
    assert_int_equal(fake_client_pending("PATCH", OBJECT), 1);
}

static void doubt_n1(void)
{
    ask(&a, "n1");
    answer_object("7", THEIRS);
    for (int64_t pause_ms = 200; pause_ms < 1000; pause_ms *= 2) {
        assert_false(store_is_in_doubt(store, STR("n1")));
        fake_client_answer("GET", OTHER, 200, KUBE_NO_RETRY_AFTER, pod_x("x", "50", "", "Pending"));
        turn();
        pass_ms(pause_ms);
    }
    assert_true(store_is_in_doubt(store, STR("n1")));
}

/* Filter hears of it, until somebody proves something: the API server, the watch, or the end of the node. */
static void strict__node_in_doubt__the_store_ranks_it_last(void **state)
{
    doubt_n1();
    fake_client_answer("GET", OTHER, 200, KUBE_NO_RETRY_AFTER, pod_x("x", "51", "", "Pending"));
    turn();
    assert_false(store_is_in_doubt(store, STR("n1")));
}

/* Nobody asks for a bind there any more, now that it comes last. */
static void strict__watch_shows_the_pod_of_the_doubt__over_without_a_bind(void **state)
{
    doubt_n1();
    expect_given_up("may still take effect");
    assert_true(store_is_in_doubt(store, STR("n1")));
    watch_pod("x", "51", NULL, NULL);
    pass_ms(1000);
    assert_false(store_is_in_doubt(store, STR("n1")));
}

/* Nor does the watch prove it: of a pod that the ledger does not have only the API server says that it is gone. */
static void F182_strict__pod_of_the_doubt_is_gone__found_out_without_a_bind_or_an_audit(void **state)
{
    doubt_n1();
    expect_given_up("may still take effect");
    fake_client_answer("GET", OTHER, 200, KUBE_NO_RETRY_AFTER, pod_x("x", "50", "", "Pending"));
    turn();
    for (int status = 200; status <= 404; status += 204) {
        assert_true(store_is_in_doubt(store, STR("n1")));
        assert_int_equal(fake_client_pending("GET", OTHER), 0);
        pass_ms(30000);
        assert_int_equal(fake_client_pending("GET", OTHER), 1);
        fake_client_answer("GET", OTHER, status, KUBE_NO_RETRY_AFTER, pod_x("x", "50", "", "Pending"));
        turn();
    }
    assert_false(store_is_in_doubt(store, STR("n1")));
    pass_ms(30000);
    assert_int_equal(fake_client_pending("GET", OTHER), 0);
}

static void strict__object_is_illegible__the_store_ranks_it_last_until_it_is_mended(void **state)
{
    ask(&a, "n1");
    answer_object("7", "nonsense\\n");
    assert_true(store_is_in_doubt(store, STR("n1")));
    pass_ms(200);
    answer_object("8", "");
    assert_false(store_is_in_doubt(store, STR("n1")));
}

/* The object can be read each time, and then its pod cannot be asked for. */
static void F183_strict__pod_of_an_intent_has_no_possible_name__in_doubt_all_the_time(void **state)
{
    ask(&a, "n1");
    for (int64_t pause_ms = 200; pause_ms < 1000; pause_ms *= 2) {
        answer_object("7", "u ../d/p 5 a\\n");
        assert_true(store_is_in_doubt(store, STR("n1")));
        assert_int_equal(told_n, 1);
        pass_ms(pause_ms);
    }
}

static void strict__node_in_doubt_goes__no_doubt_is_left(void **state)
{
    doubt_n1();
    apply((struct ledger_op){.kind = LEDGER_NODE_GONE, .name = STR("n1")});
    pass_ms(1000);
    assert_false(store_is_in_doubt(store, STR("n1")));
    assert_int_equal(binder_nodes_in_doubt(binder), 0);
}

/* It is made again while what is known of it is forgotten: the first look is whether it is in doubt. */
static void F181_strict__node_in_doubt_goes_and_comes__no_doubt_is_left(void **state)
{
    doubt_n1();
    expect_given_up("may still take effect");
    fake_client_cancel_all();
    gone_in = 2;
    binder_tidy(binder);
    assert_int_equal(gone_in, 0);
    assert_false(store_is_in_doubt(store, STR("n1")));
    assert_int_equal(binder_nodes_in_doubt(binder), 0);
}

/* Ours, of a bind that is under way, is charged by it. */
static void strict__own_intent_is_open__no_reason_to_ask(void **state)
{
    watch_pod("b", "101", NULL, NULL);
    ask(&a, "n1");
    answer_none();
    answer_written("POST", OBJECTS, 201, "1", ours("100"));
    ask_for(&b, "b", "n1");
    turn();
    assert_int_equal(fake_client_pending("GET", POD), 0);
    assert_true(fake_client_body_has("PATCH", OBJECT, ours("100")));
    assert_int_equal(milli_charged(), 600);
    fake_client_end("POST", BINDING, KUBE_LOST); /* it may have landed: it stays */
    assert_int_equal(binder_nodes_in_doubt(binder), 0);
}

/* ---- rights ---- */

#define SELF_REVIEWS "/selfsubjectaccessreviews"

/* The question about this verb is on its way, and is answered. */
static void answer_right(const char *verb, bool allowed)
{
    char text[40], reply[120];

    snprintf(text, sizeof(text), "\"verb\":\"%s\"", verb);
    snprintf(reply, sizeof(reply), "{\"kind\":\"SelfSubjectAccessReview\",\"status\":{\"allowed\":%s}}",
             allowed ? "true" : "false");
    assert_true(fake_client_body_has("POST", SELF_REVIEWS, text));
    assert_true(fake_client_body_has("POST", SELF_REVIEWS, "\"resource\":\"leases\",\"namespace\":\"ns\""));
    fake_client_answer("POST", SELF_REVIEWS, 201, KUBE_NO_RETRY_AFTER, reply);
    turn();
}

static void answer_rights(void)
{
    answer_right("get", true);
    answer_right("create", true);
    answer_right("patch", true);
    assert_null(store_not_ready(store));
    assert_int_equal(fake_client_pending("POST", SELF_REVIEWS), 0);
}

static void strict__rights_are_missing__not_ready_until_they_are_there(void **state)
{
    static const char *const verbs[] = {"get", "create", "patch"};

    for (size_t lacks = 0; lacks < ARRAY_LEN(verbs); lacks++) {
        assert_null(store_not_ready(store)); /* at first nobody knows */
        for (size_t i = 0; i < lacks; i++) {
            answer_right(verbs[i], true);
        }
        answer_right(verbs[lacks], false);
        assert_non_null(strstr(store_not_ready(store), "apply manifests/strict"));
        assert_null(store_not_open(store)); /* pods without GPUs */
        assert_null(store_not_warm(store)); /* one that follows */
        ask(&a, "n1");
        answer_none();
        expect_refused(&a, BIND_OUTCOME_NOT_READY, "apply manifests/strict");
        pass_ms(9999);
        assert_int_equal(fake_client_pending("POST", SELF_REVIEWS), 0);
        pass_ms(1);
        answer_rights();
        assert_int_equal(tested_binder_teardown(state), 0);
        assert_int_equal(setup(state), 0);
    }
}

/* As without the question. */
static void strict__rights_cannot_be_asked_for__as_ready_as_without(void **state)
{
    fake_client_answer("POST", SELF_REVIEWS, 403, KUBE_NO_RETRY_AFTER, "{}");
    turn();
    assert_null(store_not_ready(store));
    pass_ms(60000);
    fake_client_answer("POST", SELF_REVIEWS, 200, KUBE_NO_RETRY_AFTER, "<html>");
    turn();
    assert_null(store_not_ready(store));
    pass_ms(60000);
    answer_rights();
    pass_ms(600000);
    assert_int_equal(fake_client_pending("POST", SELF_REVIEWS), 0);
}

static void strict__rights_are_taken_away__asked_again(void **state)
{
    answer_rights();
    ask(&a, "n1");
    fake_client_answer("GET", OBJECT, 403, KUBE_NO_RETRY_AFTER, "{}");
    turn();
    pass_ms(1000);
    answer_right("get", false);
    assert_non_null(strstr(store_not_ready(store), "apply manifests/strict"));
    pass_ms(10000);
    answer_rights();
}

static void not_strict__nobody_asks_for_rights(void **state)
{
    options.intent_objects = STR_NULL;
    restart();
    answer_version("33");
    assert_int_equal(fake_client_pending("POST", SELF_REVIEWS), 0);
}

/* ---- what fails ---- */

static void strict__object_cannot_be_read__nothing_is_bound(void **state)
{
    static const struct {
        int status;
        const char *body, *why;
    } rows[] = {
        {500, "", "could not be read or written"}, {401, "", "may not read or write"},
        {403, "", "may not read or write"},        {200, "{}", "illegible"},
        {200, "{\"metadata\":", "illegible"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows) + 2; i++) {
        const char *body = i < ARRAY_LEN(rows)    ? rows[i].body
                           : i == ARRAY_LEN(rows) ? object("7", "n2", "") /* of a node with the same name, shortened */
                                                  : object("7", "n1", "nonsense\\n");

        assert_int_equal(tested_binder_teardown(state), 0);
        assert_int_equal(setup(state), 0);
        ask(&a, "n1");
        fake_client_answer("GET", OBJECT, i < ARRAY_LEN(rows) ? rows[i].status : 200, KUBE_NO_RETRY_AFTER, body);
        turn();
        pass_ms(199);
        assert_int_equal(fake_client_pending("GET", OBJECT), 0);
        pass_ms(1);
        assert_int_equal(fake_client_pending("GET", OBJECT), 1); /* tried again after a pause */
        expect_given_up(i < ARRAY_LEN(rows) ? rows[i].why : "illegible");
    }
}

static void strict__object_cannot_be_read__read_again_in_time(void **state)
{
    ask(&a, "n1");
    fake_client_end("GET", OBJECT, KUBE_LOST);
    turn();
    pass_ms(200);
    answer_none();
    answer_written("POST", OBJECTS, 201, "1", ours("100"));
    bind_and_end();
}

/* The API client takes no more calls. */
static void strict__cannot_be_asked__tried_again(void **state)
{
    fake_client_refuse(true);
    ask(&a, "n1");
    fake_client_refuse(false);
    assert_int_equal(fake_client_pending("GET", OBJECT), 0);
    pass_ms(200);
    answer_none();
    assert_int_equal(fake_client_pending("POST", OBJECTS), 1);
}

/* Another process wrote first: read, and devices chosen again over what it wrote. */
static void strict__another_writes_first__read_and_decided_again(void **state)
{
    char before[BIND_DECISION_ID_BYTES];

    watch_pod("x", "60", "n2", NULL);
    ask(&a, "n1");
    answer_object("7", "");
    memcpy(before, decision(), sizeof(before));
    fake_client_answer("PATCH", OBJECT, 409, KUBE_NO_RETRY_AFTER, "{}");
    turn();
    expect_unsent();
    answer_object("9", THEIRS);
    assert_true(fake_client_body_has("PATCH", OBJECT, "\"resourceVersion\":\"9\""));
    assert_string_not_equal(before, decision());
    answer_written("PATCH", OBJECT, 200, "10", ours("100"));
    bind_and_end();
}

/* Nobody knows whether it landed; the object says it. */
static void strict__write_is_lost__the_object_tells(void **state)
{
    ask(&a, "n1");
    answer_none();
    fake_client_end("POST", OBJECTS, KUBE_LOST);
    turn();
    expect_unsent();
    pass_ms(200);
    answer_object("1", ours("100")); /* it had landed: ours, and nothing was sent for it: dead */
    assert_true(fake_client_body_has("PATCH", OBJECT, "\"resourceVersion\":\"1\""));
    answer_written("PATCH", OBJECT, 200, "2", ours("100"));
    bind_and_end();
}

/* A success that shows another text is none: somebody has changed it on its way. */
static void strict__another_text_is_written__no_success(void **state)
{
    ask(&a, "n1");
    answer_none();
    answer_written("POST", OBJECTS, 201, "1", "");
    expect_unsent();
    assert_int_equal(fake_client_pending("GET", OBJECT), 0); /* after a pause */
    pass_ms(200);
    assert_int_equal(fake_client_pending("GET", OBJECT), 1);
}

static void strict__write_is_forbidden__refused_at_once(void **state)
{
    ask(&a, "n1");
    answer_none();
    fake_client_answer("POST", OBJECTS, 403, KUBE_NO_RETRY_AFTER, "{}");
    turn();
    expect_refused(&a, BIND_OUTCOME_CONFLICT, "may not read or write");
    assert_int_equal(milli_charged(), 0);
}

/* Again and again another is faster: after BIND_AGAIN_MAX tries the caller hears it. */
static void strict__always_too_late__refused_after_some_tries(void **state)
{
    char revision[16];

    ask(&a, "n1");
    answer_object("7", "");
    for (int i = 0; i <= BIND_AGAIN_MAX; i++) {
        expect_unsent();
        fake_client_answer("PATCH", OBJECT, 409, KUBE_NO_RETRY_AFTER, "{}");
        turn();
        if (i < BIND_AGAIN_MAX) {
            snprintf(revision, sizeof(revision), "%d", 8 + i);
            answer_object(revision, "");
        }
    }
    expect_refused(&a, BIND_OUTCOME_CONFLICT, "another fgpu decides for this node");
    assert_int_equal(milli_charged(), 0);
    assert_int_equal(binder_in_flight(binder), 0);
}

/* The time of the caller is over while the intent is being written: nothing was sent, and nothing is charged. */
static void strict__time_is_over_during_the_write__given_back(void **state)
{
    ask(&a, "n1");
    answer_none();
    expect_given_up("could not be found out in time");
    answer_written("POST", OBJECTS, 201, "1", ours("100")); /* it finds nobody */
    assert_int_equal(milli_charged(), 0);
    ask(&a, "n1"); /* the node is known now: no read */
    turn();
    assert_int_equal(fake_client_pending("GET", OBJECT), 0);
    assert_true(fake_client_body_has("PATCH", OBJECT, "\"resourceVersion\":\"1\""));
}

/* ---- what strict cannot do ---- */

static void strict__server_is_old_or_not_known__refused(void **state)
{
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tested_binder_teardown(state), 0);
        assert_int_equal(setup(state), 0);
        restart_strictly();
        if (i == 1) {
            answer_version("22");
        }
        ask(&a, "n1");
        answer_none();
        expect_refused(&a, BIND_OUTCOME_REFUSED, "needs an API server of 1.23");
        assert_int_equal(fake_client_pending("POST", OBJECTS), 0);
        assert_int_equal(milli_charged(), 0);
    }
}

static void strict__pod_without_a_version__refused(void **state)
{
    watch_pod("b", "", NULL, NULL);
    ask_for(&b, "b", "n1");
    answer_none();
    expect_refused(&b, BIND_OUTCOME_REFUSED, "needs the resourceVersion");
    assert_int_equal(milli_charged(), 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, tested_binder_teardown)
    const struct CMUnitTest tests[] = {
        T(strict__nothing_is_written_yet__reads_makes_the_object_and_binds),
        T(strict__the_next_bind__writes_over_what_it_knows),
        T(strict__refused__the_intent_goes_with_the_next_write),
        T(strict__two_binds_wait_for_one_read__each_is_bound),
        T(strict__sent_again__the_intent_is_of_the_version),
        T(strict__intent_of_another__its_pod_is_asked_for),
        T(strict__intent_stays_unproven__asked_again_and_told),
        T(strict__node_in_doubt__the_store_ranks_it_last),
        T(strict__watch_shows_the_pod_of_the_doubt__over_without_a_bind),
        T(F182_strict__pod_of_the_doubt_is_gone__found_out_without_a_bind_or_an_audit),
        T(strict__object_is_illegible__the_store_ranks_it_last_until_it_is_mended),
        T(F183_strict__pod_of_an_intent_has_no_possible_name__in_doubt_all_the_time),
        T(strict__node_in_doubt_goes__no_doubt_is_left),
        T(F181_strict__node_in_doubt_goes_and_comes__no_doubt_is_left),
        T(strict__own_intent_is_open__no_reason_to_ask),
        T(strict__rights_are_missing__not_ready_until_they_are_there),
        T(strict__rights_cannot_be_asked_for__as_ready_as_without),
        T(strict__rights_are_taken_away__asked_again),
        T(not_strict__nobody_asks_for_rights),
        T(strict__object_cannot_be_read__nothing_is_bound),
        T(strict__object_cannot_be_read__read_again_in_time),
        T(strict__cannot_be_asked__tried_again),
        T(strict__another_writes_first__read_and_decided_again),
        T(strict__write_is_lost__the_object_tells),
        T(strict__another_text_is_written__no_success),
        T(strict__write_is_forbidden__refused_at_once),
        T(strict__always_too_late__refused_after_some_tries),
        T(strict__time_is_over_during_the_write__given_back),
        T(strict__server_is_old_or_not_known__refused),
        T(strict__pod_without_a_version__refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
