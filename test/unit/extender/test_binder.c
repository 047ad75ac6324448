/* The binder's own time: deadlines, pauses, what the watch settles, who is told what and when. The API server's answers
 * are the test's (extender/support/fake_client.h), and so is the clock: nothing here waits for time, and what must not
 * have happened yet is looked at when the binder's thread has looked at the clock. Against a simulated API server:
 * test/unit/cmd/test_binder*.c. */
#include "extender/support/tested_binder.h"

#include "base/compiler.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "extender/support/fake_client.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static struct asked a, b, other; /* of the test; an answer may still come when one fails */

static int setup(void **state)
{
    a = b = other = (struct asked){0};
    return tested_binder_setup(state);
}

/* ---- the answer in time, and not ---- */

static void post__answered__the_caller_hears_at_once(void **state)
{
    watch("100", NULL, NULL);
    ask(&a, "n1");
    expect_open(&a);
    assert_int_equal(binder_in_flight(binder), 1);
    assert_int_equal(fake_client_pending("POST", BINDING), 1);
    assert_true(fake_client_body_has("POST", BINDING, "\"100\""));
    assert_true(fake_client_body_has("POST", BINDING, decision()));
    answer_post(201);
    expect_bound(&a);
    assert_int_equal(strlen(a.decision_id), BIND_DECISION_ID_BYTES - 1);
    assert_int_equal(state_of_pod(), LEDGER_CONFIRMED);
    assert_int_equal(milli_charged(), 300);
    expect_ended();
}

static void post__in_flight_at_the_deadline__not_known_then_bound(void **state)
{
    watch("100", NULL, NULL);
    ask(&a, "n1");
    pass_ms(DEADLINE_MS - 1);
    expect_open(&a);
    pass_ms(1);
    expect_refused(&a, BIND_OUTCOME_UNKNOWN, "not known yet");
    assert_int_equal(state_of_pod(), LEDGER_RESERVED);
    assert_int_equal(fake_client_pending("POST", BINDING), 1);
    answer_post(201);
    assert_int_equal(a.calls, 1); /* nobody is told twice */
    assert_int_equal(state_of_pod(), LEDGER_CONFIRMED);
    expect_ended();
}

static void post__refused__released(void **state)
{
    watch("100", NULL, NULL);
    ask(&a, "n1");
    answer_post(422);
    expect_refused(&a, BIND_OUTCOME_REFUSED, "invalid (422)");
    assert_int_equal(state_of_pod(), LEDGER_PENDING);
    assert_int_equal(milli_charged(), 0);
    expect_ended();
}

/* Nobody answers: what is sent again after the deadline is sent ever more calmly, and stays charged. */
static void post__never_answered__calm_after_the_deadline(void **state)
{
    static const int64_t pauses_ms[] = {2000, 4000, 8000, 16000, 30000, 30000};
    watch("100", NULL, NULL);
    ask(&a, "n1");
    pass_ms(DEADLINE_MS);
    expect_refused(&a, BIND_OUTCOME_UNKNOWN, "not known yet");
    for (size_t i = 0; i < ARRAY_LEN(pauses_ms); i++) {
        fake_client_end("POST", BINDING, KUBE_TIMED_OUT);
        answer_get_unbound();
        expect_none_pending();
        pass_ms(pauses_ms[i] - 1);
        expect_none_pending();
        pass_ms(1);
        assert_int_equal(fake_client_pending("POST", BINDING), 1);
        assert_int_equal(state_of_pod(), LEDGER_RESERVED);
    }
    answer_post(201);
    assert_int_equal(a.calls, 1);
    expect_ended();
}

/* ---- waking ---- */

static void pause__ends_when_it_is_due_and_no_earlier(void **state)
{
    static const int64_t pauses_ms[] = {200, 400, 800};
    watch("100", NULL, NULL);
    ask(&a, "n1");
    for (size_t i = 0; i < ARRAY_LEN(pauses_ms); i++) {
        fake_client_end("POST", BINDING, KUBE_LOST);
        assert_int_equal(fake_client_pending("GET", POD), 1);
        answer_get_unbound();
        pass_ms(pauses_ms[i] - 1);
        expect_none_pending();
        pass_ms(1);
        assert_int_equal(fake_client_pending("POST", BINDING), 1);
    }
    expect_open(&a);
    answer_post(201);
    expect_bound(&a);
    expect_ended();
}

static void pause__asked_for_by_the_server__kept(void **state)
{
    watch("100", NULL, NULL);
    ask(&a, "n1");
    fake_client_answer("POST", BINDING, 429, 1500, "{}");
    pass_ms(1499);
    expect_none_pending();
    pass_ms(1);
    answer_post(201);
    expect_bound(&a);
    expect_ended();
}

/* A 503 may have bound it all the same: a GET comes first, and the same Binding again. */
static void pause__asked_for_by_a_server_that_may_have_bound__kept(void **state)
{
    watch("100", NULL, NULL);
    ask(&a, "n1");
    fake_client_answer("POST", BINDING, 503, 1500, "{}");
    pass_ms(1499);
    expect_none_pending();
    pass_ms(1);
    answer_get_unbound();
    pass_ms(400); /* the second pause */
    assert_true(fake_client_body_has("POST", BINDING, "\"100\""));
    answer_post(201);
    expect_bound(&a);
    expect_ended();
}

/* As long as no GET is answered, it is asked again. */
static void pause__of_gets_that_fail__ever_longer(void **state)
{
    static const int64_t pauses_ms[] = {200, 400, 800, 1600};

    watch("100", NULL, NULL);
    ask(&a, "n1");
    answer_post(409); /* whatever its text: an API server whose etcd stalls says so, too */
    for (size_t i = 0; i < ARRAY_LEN(pauses_ms); i++) {
        fake_client_answer("GET", POD, 503, KUBE_NO_RETRY_AFTER, "");
        pass_ms(pauses_ms[i] - 1);
        expect_none_pending();
        pass_ms(1);
        assert_int_equal(fake_client_pending("GET", POD), 1);
    }
    expect_open(&a);
    fake_client_answer("GET", POD, 200, KUBE_NO_RETRY_AFTER, pod_json("101", "a")); /* nothing can land: renewed */
    assert_true(fake_client_body_has("POST", BINDING, "\"101\""));
    answer_post(201);
    expect_bound(&a);
    expect_ended();
}

/* Two binds wait; each wakes at its own time. */
static void pause__of_two_binds__the_earlier_one_first(void **state)
{
    watch("100", NULL, NULL);
    watch_pod("b", "101", NULL, NULL);
    ask(&a, "n1");
    fake_client_answer("POST", BINDING, 429, 1000, "{}");
    ask_for(&b, "b", "n2");
    fake_client_answer("POST", "/pods/b/binding", 429, 400, "{}");
    pass_ms(400);
    expect_none_pending();
    fake_client_answer("POST", "/pods/b/binding", 201, KUBE_NO_RETRY_AFTER, "{}");
    expect_bound(&b);
    pass_ms(599);
    expect_none_pending();
    pass_ms(1);
    answer_post(201);
    expect_bound(&a);
    expect_ended();
}

/* ---- how long the API server has ---- */

static void deadline__of_an_exchange__is_what_the_caller_has_left(void **state)
{
    watch("100", NULL, NULL);
    ask(&a, "n1");
    assert_int_equal(fake_client_deadline_ms("POST", BINDING), (BINDING_TIMEOUT_S + 1) * 1000);
    clock_manual_advance_ms(&now, 1000);
    fake_client_end("POST", BINDING, KUBE_LOST);
    assert_int_equal(fake_client_deadline_ms("GET", POD), 2000);
    answer_get_unbound();
    pass_ms(200);
    assert_int_equal(fake_client_deadline_ms("POST", BINDING), DEADLINE_MS - 1200);
    clock_manual_advance_ms(&now, DEADLINE_MS - 1200 - 20);
    fake_client_end("POST", BINDING, KUBE_LOST);
    assert_int_equal(fake_client_deadline_ms("GET", POD), 50); /* at least */
    pass_ms(20);
    expect_refused(&a, BIND_OUTCOME_UNKNOWN, "not known yet");
    answer_get_unbound();
    pass_ms(2000);
    assert_int_equal(fake_client_deadline_ms("POST", BINDING), (BINDING_TIMEOUT_S + 1) * 1000); /* nobody waits */
    answer_post(201);
    expect_ended();
}

/* ---- what the watch settles ---- */

static void watch__shows_our_binding_while_it_is_in_flight__answered_now(void **state)
{
    watch("100", NULL, NULL);
    ask(&a, "n1");
    watch_bound(decision());
    turn();
    expect_bound(&a);
    assert_int_equal(binder_in_flight(binder), 1); /* ends with its exchange */
    ask(&b, "n1");
    expect_bound(&b);
    fake_client_end("POST", BINDING, KUBE_LOST);
    assert_int_equal(state_of_pod(), LEDGER_BOUND);
    expect_ended();
}

static void watch__shows_our_binding_while_a_get_is_in_flight__answered_now(void **state)
{
    watch("100", NULL, NULL);
    ask(&a, "n1");
    fake_client_end("POST", BINDING, KUBE_LOST);
    watch_bound(decision());
    turn();
    expect_bound(&a);
    ask(&b, "n1");
    expect_bound(&b);
    ask(&other, "n2");
    expect_refused(&other, BIND_OUTCOME_CONFLICT, "somebody else");
    assert_int_equal(fake_client_pending("GET", POD), 1);
    fake_client_end("GET", POD, KUBE_TIMED_OUT);
    expect_ended();
}

static void watch__shows_our_binding_during_a_pause__answered_now(void **state)
{
    watch("100", NULL, NULL);
    ask(&a, "n1");
    fake_client_end("POST", BINDING, KUBE_LOST);
    fake_client_answer("GET", POD, 503, KUBE_NO_RETRY_AFTER, "");
    watch_bound(decision());
    turn();
    expect_bound(&a);
    expect_ended();
}

static void watch__shows_another_decision__refused_now(void **state)
{
    watch("100", NULL, NULL);
    ask(&a, "n1");
    watch_bound("of-another");
    turn();
    expect_refused(&a, BIND_OUTCOME_REFUSED, "somebody else");
    answer_post(409);
    assert_int_equal(milli_charged(), 300);
    expect_ended();
}

/* The second caller looks itself. */
static void watch__has_shown_it__whoever_asks_next_hears(void **state)
{
    watch("100", NULL, NULL);
    ask(&a, "n1");
    watch_bound(decision());
    ask(&b, "n1"); /* perhaps before the binder's thread has looked */
    turn();
    expect_bound(&a);
    expect_bound(&b);
    answer_post(201);
    expect_ended();
}

/* At a greater version nothing that was sent can land; but only a server that looks at versions says so. */
static void watch__shows_a_new_version__ends_what_was_lost(void **state)
{
    watch("100", NULL, NULL);
    ask(&a, "n1");
    pass_ms(DEADLINE_MS);
    fake_client_end("POST", BINDING, KUBE_LOST);
    fake_client_answer("GET", POD, 503, KUBE_NO_RETRY_AFTER, "");
    assert_int_equal(state_of_pod(), LEDGER_RESERVED);
    watch("100", NULL, NULL); /* no news */
    turn();
    assert_int_equal(state_of_pod(), LEDGER_RESERVED);
    watch("101", NULL, NULL);
    turn();
    assert_int_equal(state_of_pod(), LEDGER_PENDING);
    assert_int_equal(a.calls, 1);
    expect_ended();
}

static void watch__pod_gone_while_in_flight__nothing_is_left(void **state)
{
    watch("100", NULL, NULL);
    ask(&a, "n1");
    apply((struct ledger_op){.kind = LEDGER_POD_GONE, .name = STR("a")});
    answer_post(404);
    expect_refused(&a, BIND_OUTCOME_REFUSED, "");
    assert_int_equal(milli_charged(), 0);
    expect_ended();
}

/* ---- what the server is ---- */

/* A lost Binding, and the pod at a new version. */
static void lose_and_renew(struct asked *by)
{
    watch("100", NULL, NULL);
    ask(by, "n1");
    pass_ms(DEADLINE_MS);
    fake_client_end("POST", BINDING, KUBE_LOST);
    fake_client_answer("GET", POD, 503, KUBE_NO_RETRY_AFTER, "");
    watch("101", NULL, NULL);
    turn();
}

static void server__not_known__nothing_is_proven_until_it_says(void **state)
{
    restart();
    assert_int_equal(fake_client_pending("GET", "/version"), 1);
    assert_int_equal(fake_client_deadline_ms("GET", "/version"), 5000);
    lose_and_renew(&a);
    assert_int_equal(state_of_pod(), LEDGER_RESERVED);
    fake_client_answer("GET", "/version", 200, KUBE_NO_RETRY_AFTER, "{\"major\":\"1\",\"minor\":\"23\"}");
    turn();
    assert_int_equal(state_of_pod(), LEDGER_PENDING);
    pass_ms(3600 * 1000);
    assert_int_equal(fake_client_pending("GET", "/version"), 0); /* it is known for good */
    expect_ended();
}

static void server__cannot_be_asked__asked_again_ever_later(void **state)
{
    static const int64_t pauses_ms[] = {2000, 4000, 8000};

    restart();
    for (size_t i = 0; i < ARRAY_LEN(pauses_ms); i++) {
        fake_client_answer("GET", "/version", 403, KUBE_NO_RETRY_AFTER, "");
        turn();
        pass_ms(pauses_ms[i] - 1);
        assert_int_equal(fake_client_pending("GET", "/version"), 0);
        pass_ms(1);
        assert_int_equal(fake_client_pending("GET", "/version"), 1);
    }
    fake_client_reset();
}

static void server__old__asked_each_minute(void **state)
{
    restart();
    for (int i = 0; i < 2; i++) {
        fake_client_answer("GET", "/version", 200, KUBE_NO_RETRY_AFTER, "{\"major\":\"1\",\"minor\":\"22\"}");
        turn();
        pass_ms(59999);
        assert_int_equal(fake_client_pending("GET", "/version"), 0);
        pass_ms(1);
        assert_int_equal(fake_client_pending("GET", "/version"), 1);
    }
    lose_and_renew(&a);
    assert_int_equal(state_of_pod(), LEDGER_RESERVED); /* it might land on any version */
    watch_bound(decision());
    turn();
    assert_int_equal(state_of_pod(), LEDGER_BOUND);
    expect_ended();
    fake_client_reset();
}

/* ---- a pod that the ledger does not know ---- */

static void fetch__found__then_bound(void **state)
{
    ask(&a, "n1");
    assert_int_equal(fake_client_deadline_ms("GET", POD), 2000);
    fake_client_answer("GET", POD, 200, KUBE_NO_RETRY_AFTER, pod_json("7", "a"));
    assert_true(fake_client_body_has("POST", BINDING, "\"7\""));
    answer_post(201);
    expect_bound(&a);
    expect_ended();
}

/* It asked for GPUs, so it is not bound as a pod that asks for none. */
static void F157_fetch__pod_has_ended__nothing_is_sent(void **state)
{
    struct strbuf ended;

    strbuf_init(&ended, 4096);
    strbuf_addf(&ended, "{\"status\":{\"phase\":\"Succeeded\"},%s", strchr(pod_json("7", "a"), '{') + 1);
    ask(&a, "n1");
    fake_client_answer("GET", POD, 200, KUBE_NO_RETRY_AFTER, ended.p);
    expect_refused(&a, BIND_OUTCOME_CONFLICT, "has ended");
    expect_none_pending();
    expect_ended();
    strbuf_fini(&ended);
}

/* Another configuration waits for its lists; the watch shows the pod by it, as `units` of a GPU. */
static void announce_to(struct policy *next, struct compute_resource *units, int32_t units_per_gpu)
{
    *next = *policy_defaults();
    *units = (struct compute_resource){.name = STR("fgpu.io/gpu-milli"), .units_per_gpu = units_per_gpu};
    next->compute_resources = units;
    next->compute_resource_n = 1;
    policy_set_announce(policies, rules_of(next, 2));
    facts.policy = next;
    watch("100", NULL, NULL);
}

static void announce(struct policy *next, struct compute_resource *units, int32_t units_per_gpu)
{
    announce_to(next, units, units_per_gpu);
    ask(&a, "n1");
    assert_int_equal(fake_client_pending("POST", BINDING), 0);
    answer_get_unbound();
}

static void transition__asks_for_something_else__nothing_is_sent(void **state)
{
    struct policy policy;
    struct compute_resource units;

    announce(&policy, &units, 500);
    expect_refused(&a, BIND_OUTCOME_REFUSED, "another configuration");
    assert_int_equal(state_of_pod(), LEDGER_PENDING);
    assert_int_equal(milli_charged(), 0);
    policy_set_publish(policies, rules_of(&policy, 3));
    ask(&a, "n1");
    answer_post(201);
    expect_bound(&a);
    assert_int_equal(milli_charged(), 600);
    stop();
    policy_set_publish(policies, rules_of(policy_defaults(), 4));
}

static void transition__asks_for_the_same__bound(void **state)
{
    struct policy policy;
    struct compute_resource units;

    announce(&policy, &units, 1000);
    answer_post(201);
    expect_bound(&a);
    assert_int_equal(milli_charged(), 300);
    stop();
    policy_set_publish(policies, rules_of(policy_defaults(), 4));
}

static int64_t (*wall_ms_before)(void *ctx);

/* The lists end while the devices are being chosen. */
static int64_t wall_ms_after_the_lists(void *ctx)
{
    now.clock.wall_ms = wall_ms_before;
    policy_set_publish(policies, rules_of(facts.policy, 3));
    return wall_ms_before(ctx);
}

static void F159_transition__ends_while_devices_are_chosen__chosen_again(void **state)
{
    struct policy policy;
    struct compute_resource units;

    announce_to(&policy, &units, 500);
    wall_ms_before = now.clock.wall_ms;
    now.clock.wall_ms = wall_ms_after_the_lists;
    ask(&a, "n1");
    assert_false(policy_set_is_waiting(policies));
    assert_int_equal(fake_client_pending("POST", BINDING), 0);
    assert_int_equal(milli_charged(), 0);
    answer_get_unbound();
    answer_post(201);
    expect_bound(&a);
    assert_int_equal(milli_charged(), 600);
    stop();
    policy_set_publish(policies, rules_of(policy_defaults(), 4));
}

static void fetch__fails__tried_again_until_the_deadline(void **state)
{
    static const int statuses[] = {503, 401, 429, 500};
    int64_t pause_ms = 200, at_ms = 0;
    ask(&a, "n1");
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++, pause_ms *= 2) {
        fake_client_answer("GET", POD, statuses[i], KUBE_NO_RETRY_AFTER, "");
        pass_ms(pause_ms - 1);
        expect_none_pending();
        pass_ms(1);
        assert_int_equal(fake_client_pending("GET", POD), 1);
        at_ms += pause_ms;
    }
    expect_open(&a);
    fake_client_answer("GET", POD, 503, 1990, ""); /* the next try would come when nobody waits any more */
    assert_true(at_ms + 2000 == DEADLINE_MS);
    expect_refused(&a, BIND_OUTCOME_REFUSED, "could not be reached");
    expect_ended();
}

static void fetch__the_server_asks_for_patience__kept(void **state)
{
    ask(&a, "n1");
    fake_client_answer("GET", POD, 429, 3000, "");
    pass_ms(2999);
    expect_none_pending();
    pass_ms(1);
    fake_client_answer("GET", POD, 404, KUBE_NO_RETRY_AFTER, "");
    expect_refused(&a, BIND_OUTCOME_CONFLICT, "no longer exists");
    expect_ended();
}

static void fetch__in_flight_at_the_deadline__refused_and_the_reply_finds_nobody(void **state)
{
    ask(&a, "n1");
    pass_ms(DEADLINE_MS - 1);
    expect_open(&a);
    pass_ms(1);
    expect_refused(&a, BIND_OUTCOME_REFUSED, "did not answer in time");
    fake_client_answer("GET", POD, 200, KUBE_NO_RETRY_AFTER, pod_json("7", "a"));
    assert_int_equal(a.calls, 1);
    assert_int_equal(milli_charged(), 0);
    expect_ended();
}

static void fetch__refused_for_good__not_tried_again(void **state)
{
    ask(&a, "n1");
    fake_client_answer("GET", POD, 403, KUBE_NO_RETRY_AFTER, "");
    expect_refused(&a, BIND_OUTCOME_REFUSED, "cannot be read");
    ask(&a, "n1");
    fake_client_answer("GET", POD, 200, KUBE_NO_RETRY_AFTER, pod_json("7", "another"));
    expect_refused(&a, BIND_OUTCOME_CONFLICT, "no longer exists");
    expect_ended();
}

/* ---- too much, and the end ---- */

static void same_pod__joins_or_is_refused(void **state)
{
    watch("100", NULL, NULL);
    ask(&a, "n1");
    ask(&b, "n1");
    ask(&other, "n2");
    expect_refused(&other, BIND_OUTCOME_CONFLICT, "not resolved");
    assert_int_equal(fake_client_pending("POST", BINDING), 1);
    assert_int_equal(binder_in_flight(binder), 1);
    answer_post(201);
    expect_bound(&a);
    expect_bound(&b);
    expect_ended();
}

/* Who joins what nobody waits for has a deadline of its own, and the same Binding is sent without a pause. */
static void join__after_the_deadline__a_deadline_of_its_own(void **state)
{
    watch("100", NULL, NULL);
    ask(&a, "n1");
    pass_ms(DEADLINE_MS);
    expect_refused(&a, BIND_OUTCOME_UNKNOWN, "");
    fake_client_end("POST", BINDING, KUBE_LOST);
    fake_client_answer("GET", POD, 503, KUBE_NO_RETRY_AFTER, "");
    expect_none_pending();
    ask(&b, "n1");
    turn();
    answer_get_unbound();
    pass_ms(200);
    assert_int_equal(fake_client_pending("POST", BINDING), 1);
    pass_ms(DEADLINE_MS - 201);
    expect_open(&b);
    pass_ms(1);
    expect_refused(&b, BIND_OUTCOME_UNKNOWN, "");
    answer_post(201);
    assert_int_equal(a.calls + b.calls, 2);
    expect_ended();
}

static void too_many__refused(void **state)
{
    options.max_in_flight = 1;
    binder_set_options(binder, &options);
    watch("100", NULL, NULL);
    ask(&a, "n1");
    ask_for(&b, "b", "n1");
    expect_refused(&b, BIND_OUTCOME_OVERLOADED, "try again");
    answer_post(201);
    expect_bound(&a);
    expect_ended();
}

static void client_takes_nothing__tried_again(void **state)
{
    watch("100", NULL, NULL);
    fake_client_refuse(true);
    ask(&a, "n1");
    expect_open(&a);
    ask_for(&b, "b", "n1");
    expect_refused(&b, BIND_OUTCOME_OVERLOADED, "try again");
    assert_int_equal(binder_in_flight(binder), 1);
    fake_client_refuse(false);
    pass_ms(199);
    expect_none_pending();
    pass_ms(1);
    answer_post(201);
    expect_bound(&a);
    expect_ended();
}

static void rehearsal__binds_nothing(void **state)
{
    options.rehearses = true;
    binder_set_options(binder, &options);
    watch("100", NULL, NULL);
    ask(&a, "n1");
    expect_refused(&a, BIND_OUTCOME_NOT_READY, "rehearses");
    assert_int_equal(state_of_pod(), LEDGER_PENDING);
    expect_ended();
}

static void close__nothing_begins_any_more(void **state)
{
    watch("100", NULL, NULL);
    ask(&a, "n1");
    assert_false(binder_close(binder, 0));
    ask(&b, "n1"); /* joins what is under way */
    answer_post(201);
    expect_bound(&a);
    expect_bound(&b);
    assert_true(binder_close(binder, 60000));
    apply((struct ledger_op){.kind = LEDGER_POD_GONE, .name = STR("a")});
    watch("300", NULL, NULL);
    ask(&a, "n1");
    expect_refused(&a, BIND_OUTCOME_OVERLOADED, "");
}

static void stop__with_binds_on_their_way__everybody_hears(void **state)
{
    watch("100", NULL, NULL);
    ask(&a, "n1");
    binder_stop(binder);
    ask(&b, "n1");
    expect_open(&a);
    answer_post(201); /* changes nothing any more */
    expect_open(&a);
    binder_free(binder);
    binder = NULL;
    expect_refused(&a, BIND_OUTCOME_UNKNOWN, "stopping");
    assert_int_equal(b.calls, 1);
    assert_int_equal(state_of_pod(), LEDGER_RESERVED);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, tested_binder_teardown)

/* ---- consistency: strict ---- */

static struct bind_node **bucket_of(const char *node)
{
    return &binder->nodes[hash_str((struct hash_key){0, 0}, str_of(node)) % BIND_NODE_BUCKETS];
}

/* Nobody says which intents there are. */
static void ask_in_vain(const char *node)
{
    char object[64];

    snprintf(object, sizeof(object), "/leases/intents.%s", node);
    ask(&a, node);
    assert_int_equal(fake_client_pending("GET", object), 1);
    fake_client_answer("GET", object, 500, KUBE_NO_RETRY_AFTER, "");
    pass_ms(DEADLINE_MS);
    expect_refused(&a, BIND_OUTCOME_REFUSED, "could not be read or written");
    assert_int_equal(binder_in_flight(binder), 0);
}

static void F161_strict__node_is_gone__nothing_is_kept_of_it(void **state)
{
    enum { NODE_N = 3, NAME_BYTES = 16 };
    char names[NODE_N][NAME_BYTES] = {"n1"}; /* all are looked for in the same place */
    const struct node gone = {.name = STR("n1")};

    options.intent_objects = STR("ns/intents");
    restart();
    watch("100", NULL, NULL);
    for (unsigned n = 1, i = 2; n < NODE_N; i++) {
        snprintf(names[n], NAME_BYTES, "n%u", i);
        n += bucket_of(names[n]) == bucket_of("n1");
    }
    ingest_two_gpus(&facts, str_of(names[1]));
    ingest_two_gpus(&facts, str_of(names[2]));
    ask_in_vain(names[0]);
    ask_in_vain(names[1]);
    assert_non_null((*bucket_of("n1"))->next);
    assert_int_equal(ingest_gone(&facts, &(struct kube_object){.node = &gone}, NULL), 0);
    ask_in_vain(names[2]);
    assert_string_equal((*bucket_of("n1"))->name, names[2]);
    assert_string_equal((*bucket_of("n1"))->next->name, names[1]);
    assert_null((*bucket_of("n1"))->next->next);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(post__answered__the_caller_hears_at_once),
        T(post__in_flight_at_the_deadline__not_known_then_bound),
        T(post__refused__released),
        T(post__never_answered__calm_after_the_deadline),
        T(pause__ends_when_it_is_due_and_no_earlier),
        T(pause__asked_for_by_the_server__kept),
        T(pause__asked_for_by_a_server_that_may_have_bound__kept),
        T(pause__of_gets_that_fail__ever_longer),
        T(pause__of_two_binds__the_earlier_one_first),
        T(deadline__of_an_exchange__is_what_the_caller_has_left),
        T(watch__shows_our_binding_while_it_is_in_flight__answered_now),
        T(watch__shows_our_binding_while_a_get_is_in_flight__answered_now),
        T(watch__shows_our_binding_during_a_pause__answered_now),
        T(watch__shows_another_decision__refused_now),
        T(watch__has_shown_it__whoever_asks_next_hears),
        T(watch__shows_a_new_version__ends_what_was_lost),
        T(watch__pod_gone_while_in_flight__nothing_is_left),
        T(server__not_known__nothing_is_proven_until_it_says),
        T(server__cannot_be_asked__asked_again_ever_later),
        T(server__old__asked_each_minute),
        T(fetch__found__then_bound),
        T(F157_fetch__pod_has_ended__nothing_is_sent),
        T(transition__asks_for_something_else__nothing_is_sent),
        T(transition__asks_for_the_same__bound),
        T(F161_strict__node_is_gone__nothing_is_kept_of_it),
        T(F159_transition__ends_while_devices_are_chosen__chosen_again),
        T(fetch__fails__tried_again_until_the_deadline),
        T(fetch__the_server_asks_for_patience__kept),
        T(fetch__in_flight_at_the_deadline__refused_and_the_reply_finds_nobody),
        T(fetch__refused_for_good__not_tried_again),
        T(same_pod__joins_or_is_refused),
        T(join__after_the_deadline__a_deadline_of_its_own),
        T(too_many__refused),
        T(client_takes_nothing__tried_again),
        T(rehearsal__binds_nothing),
        T(close__nothing_begins_any_more),
        T(stop__with_binds_on_their_way__everybody_hears),
    };

    cmocka_set_message_output(CM_OUTPUT_STDOUT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
