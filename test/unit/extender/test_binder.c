/* The binder's own time: deadlines, pauses, what the watch settles, who is told what and when. The API server's answers
 * are the test's (extender/support/fake_client.h), and so is the clock: nothing here waits for time, and what must not
 * have happened yet is looked at when the binder's thread has looked at the clock. Against a simulated API server:
 * test/unit/cmd/test_binder*.c. */
#include "extender/support/tested_binder.h"

#include "base/bug.h"
#include "base/compiler.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "extender/support/fake_client.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static struct asked a, b, other;      /* of the test; an answer may still come when one fails */
static void *(*meanwhile)(void *ctx); /* what another thread does in the middle of a step; NULL: nothing */

static int setup(void **state)
{
    a = b = other = (struct asked){0};
    meanwhile = NULL;
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

/* ---- another configuration ---- */

/* By it the pod asks for more or less: so many units are a GPU. */
static void write_policy(struct policy *next, struct compute_resource *units, int32_t units_per_gpu)
{
    *next = *policy_defaults();
    *units = (struct compute_resource){.name = STR("fgpu.io/gpu-milli"), .units_per_gpu = units_per_gpu};
    next->compute_resources = units;
    next->compute_resource_n = 1;
}

/* It waits for its lists, of which the pod's part has come. */
static void announce_as(const struct policy *next, uint64_t generation)
{
    policy_set_announce(policies, rules_of(next, generation));
    facts.policy = next;
    watch("100", NULL, NULL);
}

static void announce_to(struct policy *next, struct compute_resource *units, int32_t units_per_gpu)
{
    write_policy(next, units, units_per_gpu);
    announce_as(next, 2);
}

static void announce(struct policy *next, struct compute_resource *units, int32_t units_per_gpu)
{
    announce_to(next, units, units_per_gpu);
    ask(&a, "n1");
    assert_int_equal(fake_client_pending("POST", BINDING), 0);
    answer_get_unbound();
}

static void post_succeeds(int64_t charged_milli)
{
    answer_post(201);
    expect_bound(&a);
    assert_int_equal(milli_charged(), charged_milli);
}

/* It is the test's own. */
static void end_policy(void)
{
    stop();
    policy_set_publish(policies, rules_of(policy_defaults(), 4));
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
    post_succeeds(600);
    end_policy();
}

static void transition__asks_for_the_same__bound(void **state)
{
    struct policy policy;
    struct compute_resource units;

    announce(&policy, &units, 1000);
    post_succeeds(300);
    end_policy();
}

static bool room_appeared;

static void lists_end(void *ctx)
{
    room_appeared = true;
    policy_set_publish(policies, rules_of(facts.policy, 3));
}

/* The room that was kept for the pod is free as soon as it has devices: then the lists end. */
static void F159_transition__ends_while_devices_are_chosen__chosen_again(void **state)
{
    struct policy policy;
    struct compute_resource units;

    nominated_node = "n2";
    announce_to(&policy, &units, 500);
    room_appeared = false;
    store_watch_capacity(store, lists_end, NULL);
    ask(&a, "n1");
    store_watch_capacity(store, NULL, NULL);
    assert_int_equal(fake_client_pending("POST", BINDING), 0);
    assert_int_equal(milli_charged(), 0);
    if (!room_appeared) {
        lists_end(NULL); /* nothing was chosen before somebody has looked: then they end now */
    }
    answer_get_unbound();
    post_succeeds(600);
    end_policy();
}

static void lists_end__before_devices_are_chosen__bound_at_once(void **state)
{
    struct policy policy;
    struct compute_resource units;

    announce_to(&policy, &units, 500);
    policy_set_publish(policies, rules_of(&policy, 3));
    ask(&a, "n1");
    post_succeeds(600);
    end_policy();
}

/* ---- what comes between the look at the pod and the choice of its devices ---- */

static int64_t (*wall_ms_before)(void *ctx);
static struct policy policy_between;
static struct compute_resource units_between;

/* The clock is asked before devices are chosen; and before that when the pod that was read is told to the ledger,
 * during the exchange. On another thread, because the binder's lock is held; its end is waited for. */
static int64_t wall_ms_and_meanwhile(void *ctx)
{
    void *(*const now_comes)(void *ctx) = meanwhile;
    struct thread t;

    if (now_comes != NULL && !binder->binds->busy) {
        meanwhile = NULL;
        BUG_ON(thread_start(&t, "meanwhile", now_comes, NULL, NULL) != 0);
        thread_join(&t);
    }
    return wall_ms_before(ctx);
}

static void *another_file_comes(void *ctx)
{
    announce_as(&policy_between, 2);
    return NULL;
}

/* ... by which nothing is as before; and when it is in effect, one that is as the first. */
static void *two_files_come(void *ctx)
{
    policy_set_publish(policies, rules_of(&policy_between, 2));
    announce_as(policy_defaults(), 3);
    return NULL;
}

static void fetch_and_meanwhile(void *(*what)(void *ctx))
{
    write_policy(&policy_between, &units_between, 500);
    ask(&a, "n1"); /* the ledger does not know the pod yet */
    wall_ms_before = now.clock.wall_ms;
    meanwhile = what;
    now.clock.wall_ms = wall_ms_and_meanwhile;
    answer_get_unbound();
    now.clock.wall_ms = wall_ms_before;
    assert_null(meanwhile);
    expect_refused(&a, BIND_OUTCOME_REFUSED, "another configuration");
    expect_none_pending();
    assert_int_equal(state_of_pod(), LEDGER_PENDING);
    assert_int_equal(milli_charged(), 0);
}

static void F167_transition__begins_between_the_look_and_the_choice__nothing_is_sent(void **state)
{
    fetch_and_meanwhile(another_file_comes);
    policy_set_publish(policies, rules_of(&policy_between, 3)); /* the lists end */
    ask(&a, "n1");
    post_succeeds(600);
}

static void F167_transition__another_one_since_the_look__nothing_is_sent(void **state)
{
    fetch_and_meanwhile(two_files_come); /* the pod asks for what it was looked at for; others were bound in between */
    policy_set_publish(policies, rules_of(policy_defaults(), 4));
    ask(&a, "n1");
    post_succeeds(300);
}

/* The ledger still has the pod by the second file. */
static void F168_transition__file_is_taken_back_before_its_lists_end__nothing_is_sent_by_it(void **state)
{
    announce_to(&policy_between, &units_between, 500);
    policy_set_announce(policies, rules_of(policy_defaults(), 3));
    ask(&a, "n1");
    answer_get_unbound();
    expect_refused(&a, BIND_OUTCOME_REFUSED, "another configuration");
    expect_none_pending();
    assert_int_equal(milli_charged(), 0);
    facts.policy = policy_defaults();
    watch("100", NULL, NULL); /* of the new list */
    ask(&a, "n1");
    answer_get_unbound();
    post_succeeds(300);
}

/* By the rules with which the bind began the pod asks for the same, by those in effect it does not. */
static void F169_transition__rules_in_effect_are_others_than_at_the_start__nothing_is_sent(void **state)
{
    write_policy(&policy_between, &units_between, 500);
    ask(&a, "n1");
    policy_set_publish(policies, rules_of(&policy_between, 2));
    policy_set_announce(policies, rules_of(policy_defaults(), 3));
    answer_get_unbound();
    expect_refused(&a, BIND_OUTCOME_REFUSED, "another configuration");
    expect_none_pending();
    assert_int_equal(milli_charged(), 0);
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
    static const int statuses[] = {400, 403, 402, 428, 430, 499, 302};

    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        ask(&a, "n1");
        fake_client_answer("GET", POD, statuses[i], KUBE_NO_RETRY_AFTER, "");
        expect_refused(&a, BIND_OUTCOME_REFUSED, "cannot be read");
    }
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

/* ---- the same without a bind ---- */

#define LEASES "/namespaces/ns/leases"
#define LEASE LEASES "/intents.n9"
#define OF_N9 "{\"metadata\":{\"name\":\"intents.n9\",\"annotations\":{\"fgpu.io/node\":\"n9\"}}}"
#define OF_N1 "{\"metadata\":{\"name\":\"intents.n1\",\"annotations\":{\"fgpu.io/node\":\"n1\"}}}"
#define INTENT "q d/q 50 another\\n"

static void answer(const char *method, const char *end, int status, const char *body)
{
    fake_client_answer(method, end, status, KUBE_NO_RETRY_AFTER, body);
}

/* The object of n9, at a version. */
static const char *lease_json(const char *version, const char *intents)
{
    static char text[512];

    snprintf(text, sizeof(text),
             "{\"metadata\":{\"name\":\"intents.n9\",\"uid\":\"u\",\"resourceVersion\":\"%s\",\"annotations\":{"
             "\"fgpu.io/node\":\"n9\",\"fgpu.io/intents\":\"%s\"}}}",
             version, intents);
    return text;
}

static void expect_no_call(void)
{
    static const char *const methods[] = {"GET", "PATCH", "DELETE"};

    turn();
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        assert_int_equal(fake_client_pending(methods[i], LEASE), 0);
        assert_int_equal(fake_client_pending(methods[i], LEASES), 0);
    }
}

static void start_strict(void)
{
    options.intent_objects = STR("ns/intents");
    restart();
}

/* The node n9 is gone, n1 is not; the object of n9 is asked for, and lists these. */
static void tidy_n9(const char *intents)
{
    binder_tidy(binder);
    fake_client_await("GET", LEASES);
    answer("GET", LEASES, 200, "{\"items\":[" OF_N9 "," OF_N1 "]}");
    fake_client_await("GET", LEASE);
    answer("GET", LEASE, 200, lease_json("7", intents));
}

static void tidy__node_and_pods_are_gone__emptied_and_removed_at_that_revision(void **state)
{
    start_strict();
    tidy_n9(INTENT);
    answer("GET", "/pods/q", 404, "{}");
    assert_true(fake_client_body_has("PATCH", LEASE, "\"uid\":\"u\",\"resourceVersion\":\"7\""));
    assert_true(fake_client_body_has("PATCH", LEASE, "\"fgpu.io/intents\":\"\"},\"finalizers\":[]"));
    answer("PATCH", LEASE, 200, lease_json("8", ""));
    assert_true(fake_client_body_has("DELETE", LEASE, "\"uid\":\"u\",\"resourceVersion\":\"8\""));
    answer("DELETE", LEASE, 200, "{}");
    expect_no_call();
    binder_tidy(binder);
    assert_null(*bucket_of("n9"));
    fake_client_await("GET", LEASES);
    answer("GET", LEASES, 200, "{\"items\":[]}");
    expect_no_call();
}

static void tidy__pod_may_be_bound_there_yet__stays_and_is_asked_for_again(void **state)
{
    start_strict();
    for (int i = 0; i < 2; i++) {
        tidy_n9(INTENT);
        answer(
            "GET", "/pods/q", 200,
            "{\"metadata\":{\"name\":\"q\",\"namespace\":\"d\",\"uid\":\"q\",\"resourceVersion\":\"50\"},\"spec\":{}}");
        expect_no_call();
    }
}

/* Whoever reads the object for the first time may not have heard of it. */
static void tidy__pod_is_bound_there__stays(void **state)
{
    start_strict();
    watch("200", "n9", NULL);
    tidy_n9("a d/a 100 another\\n");
    assert_int_equal(fake_client_pending("GET", POD), 0);
    expect_no_call();
}

static void tidy__another_one_writes_first__left_to_the_next_time(void **state)
{
    start_strict();
    tidy_n9(INTENT);
    answer("GET", "/pods/q", 404, "{}");
    answer("PATCH", LEASE, 409, "{}");
    expect_no_call();
    tidy_n9("");
    answer("DELETE", LEASE, 409, "{}");
    expect_no_call();
}

static void tidy__several_pages__one_node_after_the_other(void **state)
{
    start_strict();
    binder_tidy(binder);
    fake_client_await("GET", LEASES);
    answer("GET", LEASES, 200, "{\"items\":[" OF_N9 "],\"metadata\":{\"continue\":\"t\"}}");
    fake_client_await("GET", LEASE);
    turn();
    assert_int_equal(fake_client_pending("GET", LEASES), 0);
    answer("GET", LEASE, 404, "{}");
    fake_client_await("GET", LEASES);
    answer("GET", LEASES, 200, "{\"items\":[" OF_N1 "]}");
    expect_no_call();
}

static void tidy__refused_or_not_answered__rests_until_the_next_time(void **state)
{
    start_strict();
    for (int i = 0; i < 2; i++) {
        binder_tidy(binder);
        fake_client_await("GET", LEASES);
        answer("GET", LEASES, i == 0 ? 403 : 500, "{}");
        expect_no_call();
    }
    tidy_n9("");
    fake_client_end("DELETE", LEASE, KUBE_LOST);
    expect_no_call();
}

static void tidy__not_strict_or_stopping__nothing_is_asked(void **state)
{
    binder_tidy(binder);
    expect_no_call();
    start_strict();
    assert_true(binder_close(binder, 0));
    binder_tidy(binder);
    expect_no_call();
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
        T(tidy__node_and_pods_are_gone__emptied_and_removed_at_that_revision),
        T(tidy__pod_may_be_bound_there_yet__stays_and_is_asked_for_again),
        T(tidy__pod_is_bound_there__stays),
        T(tidy__another_one_writes_first__left_to_the_next_time),
        T(tidy__several_pages__one_node_after_the_other),
        T(tidy__refused_or_not_answered__rests_until_the_next_time),
        T(tidy__not_strict_or_stopping__nothing_is_asked),
        T(F159_transition__ends_while_devices_are_chosen__chosen_again),
        T(lists_end__before_devices_are_chosen__bound_at_once),
        T(F167_transition__begins_between_the_look_and_the_choice__nothing_is_sent),
        T(F167_transition__another_one_since_the_look__nothing_is_sent),
        T(F168_transition__file_is_taken_back_before_its_lists_end__nothing_is_sent_by_it),
        T(F169_transition__rules_in_effect_are_others_than_at_the_start__nothing_is_sent),
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
