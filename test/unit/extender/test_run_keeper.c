/* What the keeper of the run object asks, writes and tells, and when. The API server's answers are the test's, and so
 * is the time: the minute that a start may take passes at once. What the claim decides: test_run_claim.c,
 * test_run_model.c. */
#include "extender/run_keeper_internal.h"

#include "base/compiler.h"
#include "extender/support/await.h"
#include "extender/support/fake_client.h"
#include "extender/support/fake_time.h"
#include "extender/support/warnings.h"
#include "support/cmocka.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define RUN "/configmaps/fgpu-run"
#define WAKE "/csistoragecapacities/fgpu-wake"
#define HOLD_OFF_MS 6000

static struct run_keeper *keeper;
static struct clock_manual wall;

/* ---- what is told ---- */

static struct {
    struct mutex lock;
    unsigned n;
    struct run_news last;
} told;

static void tell(void *ctx, const struct run_news *news)
{
    mutex_lock(&told.lock);
    told.last = *news;
    told.n++;
    mutex_unlock(&told.lock);
}

static unsigned told_n(void)
{
    unsigned n;

    mutex_lock(&told.lock);
    n = told.n;
    mutex_unlock(&told.lock);
    return n;
}

/* ---- waiting for it ---- */

static bool is_told(const void *n)
{
    return told_n() >= *(const unsigned *)n;
}

/* The last news, which are the n-th. */
static void expect_told(unsigned n, bool settled, bool skips, enum run_reason reason)
{
    struct run_news last;

    await(is_told, &n, "news");
    mutex_lock(&told.lock);
    last = told.last;
    mutex_unlock(&told.lock);
    assert_int_equal(told_n(), n);
    assert_int_equal(last.settled, settled);
    assert_int_equal(last.skips, skips);
    assert_string_equal(run_reason_name(last.reason), run_reason_name(reason));
}

static void expect_pause_ms(int64_t ms)
{
    assert_int_equal(fake_time_await_waiter_ms(), ms);
    fake_time_advance_ms(ms);
}

/* ---- life ---- */

static void start_with(struct str wake_object)
{
    const struct run_keeper_options o = {.client = NULL,
                                         .clock = &wall.clock,
                                         .log = &warnings_log,
                                         .run_object = STR("ns/fgpu-run"),
                                         .wake_object = wake_object,
                                         .hold_off_ms = HOLD_OFF_MS,
                                         .version = "v9",
                                         .tell = tell};

    assert_int_equal(run_keeper_start(&o, &keeper, NULL), 0);
}

static void start(void)
{
    start_with(STR("ns/fgpu-wake"));
}

static int setup(void **state)
{
    fake_client_reset();
    fake_time_set(1000 * NS_PER_S);
    clock_manual_init(&wall, 0, 1795161600123);
    warnings_reset();
    told.n = 0;
    told.last = (struct run_news){.settled = false};
    mutex_init(&told.lock, "told");
    return 0;
}

/* As at the end of a process: the thread first, then the calls that are left, as by a client that stops. */
static int teardown(void **state)
{
    static const char *const calls[][2] = {{"GET", RUN}, {"GET", WAKE}, {"PATCH", RUN}, {"PATCH", WAKE}};

    run_keeper_stop(keeper);
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        while (fake_client_pending(calls[i][0], calls[i][1]) > 0) {
            fake_client_end(calls[i][0], calls[i][1], KUBE_CANCELLED);
        }
    }
    run_keeper_free(keeper);
    keeper = NULL;
    mutex_destroy(&told.lock);
    return 0;
}

/* ---- objects ---- */

struct says {
    const char *revision, *state, *process, *wake, *hold_off;
};

static void answer(const char *method, const char *end, const struct says *o)
{
    char body[512];

    snprintf(body, sizeof(body),
             "{\"metadata\":{\"resourceVersion\":\"%s\",\"uid\":\"u\"},\"data\":{\"state\":\"%s\",\"process\":\"%s\","
             "\"wake\":\"%s\",\"holdOffMs\":\"%s\"}}",
             o->revision, o->state, o->process, o->wake != NULL ? o->wake : "", o->hold_off != NULL ? o->hold_off : "");
    fake_client_await(method, end);
    fake_client_answer(method, end, 200, KUBE_NO_RETRY_AFTER, body);
}

static void answer_status(const char *method, const char *end, int status)
{
    fake_client_await(method, end);
    fake_client_answer(method, end, status, KUBE_NO_RETRY_AFTER, "{}");
}

static void lose(const char *method, const char *end)
{
    fake_client_await(method, end);
    fake_client_end(method, end, KUBE_LOST);
}

static void answer_wake(const char *revision)
{
    answer("GET", WAKE, &(struct says){.revision = revision, .state = "", .process = ""});
}

static void answer_run(const char *revision, const char *state, const char *process)
{
    answer("GET", RUN, &(struct says){.revision = revision, .state = state, .process = process});
}

static void expect_patch(const char *part)
{
    fake_client_await("PATCH", RUN);
    if (!fake_client_body_has("PATCH", RUN, part)) {
        fail_msg("the PATCH of the run object does not say %s", part);
    }
}

/* The claim of `seen` takes effect. */
static void claim(const char *seen, const char *revision)
{
    char part[64];

    snprintf(part, sizeof(part), "\"resourceVersion\":\"%s\"", seen);
    expect_patch(part);
    expect_patch("\"state\":\"running\"");
    expect_patch("\"version\":\"v9\"");
    expect_patch(keeper->claim.process);
    answer("PATCH", RUN, &(struct says){.revision = revision, .state = "running", .process = keeper->claim.process});
}

/* Claimed after somebody who ended in order, with revision 2; the wake object is at 7. */
static void start_and_claim(void)
{
    start();
    answer_wake("7");
    answer("GET", RUN, &(struct says){"1", "ended", "p", "7", "6000"});
    claim("1", "2");
    expect_told(1, true, true, RUN_HAS_ENDED);
}

/* ---- a start ---- */

static void start__after_an_end_in_order__told_once_and_without_hold_off(void **state)
{
    start();
    fake_client_await("GET", WAKE);
    fake_client_await("GET", RUN);
    assert_int_equal(fake_client_deadline_ms("GET", RUN), RUN_KEEPER_DECIDE_MS);
    assert_int_equal(fake_client_deadline_ms("GET", WAKE), RUN_KEEPER_DECIDE_MS);
    fake_time_advance_ms(400);
    answer_wake("7");
    answer("GET", RUN, &(struct says){"1", "ended", "p", "7", "8000"});
    fake_client_await("PATCH", RUN);
    assert_int_equal(fake_client_deadline_ms("PATCH", RUN), RUN_KEEPER_DECIDE_MS - 400);
    assert_int_equal(told_n(), 0); /* nothing is certain before the claim is */
    claim("1", "2");
    expect_told(1, true, true, RUN_HAS_ENDED);
    assert_int_equal(told.last.hold_off_ms, 8000);
    assert_int_equal(warnings(), 0);
}

static void start__nobody_was_before__no_hold_off_and_none_to_answer_for(void **state)
{
    start();
    answer_wake("7");
    answer_run("1", "", "");
    claim("1", "2");
    expect_told(1, true, true, RUN_NONE);
    assert_true(told.last.hold_off_ms == RUN_HOLD_OFF_NONE);
}

static void start__somebody_runs__hold_off(void **state)
{
    start();
    answer_wake("7");
    answer_run("1", "running", "p");
    claim("1", "2");
    expect_told(1, true, false, RUN_RUNS);
}

/* The list of pods waits for nobody longer than a second, Bindings for half a minute; pauses double, and end when
 * something is due. */
static void start__no_answer__decided_and_settled_in_time(void **state)
{
    static const int64_t before_ms[] = {50, 100, 200, 400, 250}, after_ms[] = {1000, 1000, 1000};

    start_with(STR_NULL);
    for (size_t i = 0; i < ARRAY_LEN(before_ms); i++) {
        assert_int_equal(told_n(), 0);
        lose("GET", RUN);
        expect_pause_ms(before_ms[i]);
    }
    expect_told(1, false, false, RUN_NOT_KNOWN);
    assert_true(told.last.hold_off_ms == RUN_HOLD_OFF_NONE);
    for (size_t i = 0; i < ARRAY_LEN(after_ms); i++) {
        fake_client_await("GET", RUN);
        assert_int_equal(fake_client_deadline_ms("GET", RUN), 2000);
        lose("GET", RUN);
        expect_pause_ms(after_ms[i]);
    }
    fake_client_await("GET", RUN);
    fake_time_advance_ms(RUN_KEEPER_SETTLE_MS - 4000 - 300);
    lose("GET", RUN);
    expect_pause_ms(300);
    expect_told(2, true, false, RUN_NOT_KNOWN);
    assert_int_equal(fake_time_await_waiter_ms(), RUN_KEEPER_LOOK_MS);
}

static void start__answer_comes_when_it_is_due__not_asked_with_no_time(void **state)
{
    start_with(STR_NULL);
    fake_client_await("GET", RUN);
    fake_time_advance_ms(RUN_KEEPER_DECIDE_MS - 20);
    lose("GET", RUN);
    expect_pause_ms(20);
    expect_told(1, false, false, RUN_NOT_KNOWN);
    fake_client_await("GET", RUN);
    fake_time_advance_ms(RUN_KEEPER_SETTLE_MS - RUN_KEEPER_DECIDE_MS - 10);
    answer_run("1", "running", "p");
    fake_client_await("PATCH", RUN);
    assert_int_equal(fake_client_deadline_ms("PATCH", RUN), 50);
    claim("1", "2");
    expect_told(2, true, false, RUN_RUNS);
}

/* Whoever was told of a hold-off has begun to list by that. */
static void start__claimed_after_it_was_decided__hold_off_all_the_same(void **state)
{
    start_with(STR_NULL);
    fake_client_await("GET", RUN);
    fake_time_advance_ms(RUN_KEEPER_DECIDE_MS);
    answer_run("1", "", "");
    expect_told(1, false, false, RUN_NOT_KNOWN);
    claim("1", "2");
    expect_told(2, true, false, RUN_NOT_KNOWN);
}

static void start__object_changes_under_the_claim__asked_again(void **state)
{
    start();
    answer_wake("7");
    answer("GET", RUN, &(struct says){"1", "ended", "p", "7", "6000"});
    answer_status("PATCH", RUN, 409);
    expect_pause_ms(50);
    answer("GET", RUN, &(struct says){"2", "ended", "p", "7", "6000"});
    assert_int_equal(fake_client_pending("GET", WAKE), 0); /* it is known */
    claim("2", "3");
    expect_told(1, true, false, RUN_NOT_KNOWN); /* who changed it? */
}

static void start__too_many_calls__tried_again(void **state)
{
    fake_client_refuse(true);
    start_with(STR_NULL);
    assert_int_equal(fake_time_await_waiter_ms(), 50);
    fake_client_refuse(false);
    fake_time_advance_ms(50);
    answer_run("1", "", "");
    claim("1", "2");
    expect_told(1, true, true, RUN_NONE);
}

static void start__every_answer__means_what_it_says(void **state)
{
    static const struct {
        int status;
        const char *body;
        enum run_reason reason; /* RUN_NOT_KNOWN: as if there were none */
    } rows[] = {
        {401, "{}", RUN_FORBIDDEN}, {403, "{}", RUN_FORBIDDEN}, {405, "{}", RUN_FORBIDDEN},
        {422, "{}", RUN_FORBIDDEN}, {404, "{}", RUN_MISSING},   {409, "{}", RUN_NOT_KNOWN},
        {500, "{}", RUN_NOT_KNOWN}, {429, "{}", RUN_NOT_KNOWN}, {200, "<html>", RUN_NOT_KNOWN},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        start_with(STR_NULL);
        fake_client_await("GET", RUN);
        fake_client_answer("GET", RUN, rows[i].status, KUBE_NO_RETRY_AFTER, rows[i].body);
        if (rows[i].reason != RUN_NOT_KNOWN) {
            expect_told(1, true, false, rows[i].reason);
            assert_int_equal(fake_time_await_waiter_ms(), RUN_KEEPER_LOOK_MS);
        } else {
            assert_int_equal(fake_time_await_waiter_ms(), 50);
            assert_int_equal(told_n(), 0);
        }
        (void)teardown(NULL);
        (void)setup(NULL);
    }
    start();
}

/* ---- an end of somebody else that cannot be replaced ---- */

static void start__ended_stays_there__settled_when_the_wake_object_has_changed(void **state)
{
    start();
    answer_wake("7");
    answer("GET", RUN, &(struct says){"1", "ended", "p", "7", "6000"});
    answer_status("PATCH", RUN, 403);
    expect_told(1, false, false, RUN_FORBIDDEN);
    fake_client_await("PATCH", WAKE);
    assert_int_equal(fake_client_deadline_ms("PATCH", WAKE), 2000);
    assert_true(fake_client_body_has("PATCH", WAKE, "1795161600123"));
    answer_status("PATCH", WAKE, 403);
    answer("GET", RUN, &(struct says){"1", "ended", "p", "7", "6000"}); /* it looks again */
    answer_status("PATCH", RUN, 403);
    expect_pause_ms(1000);
    assert_int_equal(warnings(), 1);
    answer_status("PATCH", WAKE, 403);
    answer("GET", RUN, &(struct says){"1", "ended", "p", "7", "6000"});
    answer_status("PATCH", RUN, 403);
    assert_int_equal(fake_time_await_waiter_ms(), 1000);
    assert_int_equal(warnings(), 1); /* once */
    assert_int_equal(told_n(), 1);
    fake_time_advance_ms(1000);
    answer("PATCH", WAKE, &(struct says){.revision = "8", .state = "", .process = ""});
    expect_told(2, true, false, RUN_FORBIDDEN);
}

static void start__ended_stays_there_and_its_wake_object_is_gone__settled(void **state)
{
    start();
    answer_wake("7");
    answer("GET", RUN, &(struct says){"1", "ended", "p", "7", "6000"});
    answer_status("PATCH", RUN, 403);
    answer_status("PATCH", WAKE, 404);
    expect_told(2, true, false, RUN_FORBIDDEN);
    assert_int_equal(warnings(), 0);
}

static void start__ended_stays_there_and_can_be_claimed_after_all__settled(void **state)
{
    start();
    answer_wake("7");
    answer("GET", RUN, &(struct says){"1", "ended", "p", "7", "6000"});
    answer_status("PATCH", RUN, 403);
    answer_status("PATCH", WAKE, 500);
    answer("GET", RUN, &(struct says){"1", "ended", "p", "7", "6000"});
    claim("1", "2");
    expect_pause_ms(1000);
    expect_told(2, true, false, RUN_NOT_KNOWN);
}

static void start__ended_names_another_state_of_the_wake_object__nobody_would_believe_it(void **state)
{
    start();
    answer_wake("8");
    answer("GET", RUN, &(struct says){"1", "ended", "p", "7", "6000"});
    answer_status("PATCH", RUN, 403);
    expect_told(1, true, false, RUN_FORBIDDEN);
    assert_int_equal(fake_client_pending("PATCH", WAKE), 0);
}

/* ---- afterwards ---- */

static void look__still_ours__nothing_is_written(void **state)
{
    start_and_claim();
    for (int i = 0; i < 3; i++) {
        expect_pause_ms(RUN_KEEPER_LOOK_MS);
        fake_client_await("GET", RUN);
        assert_int_equal(fake_client_deadline_ms("GET", RUN), 2000);
        answer_run("2", "running", keeper->claim.process);
    }
    assert_int_equal(fake_time_await_waiter_ms(), RUN_KEEPER_LOOK_MS);
    assert_int_equal(fake_client_pending("PATCH", RUN), 0);
    assert_int_equal(told_n(), 1);
    assert_int_equal(warnings(), 0);
}

static void look__another_process_has_taken_it__claimed_again_and_said_once(void **state)
{
    start_and_claim();
    for (int i = 0; i < 2; i++) {
        expect_pause_ms(RUN_KEEPER_LOOK_MS);
        answer_run("5", "running", "another");
        claim("5", "6");
        assert_int_equal(fake_time_await_waiter_ms(), RUN_KEEPER_LOOK_MS);
        assert_int_equal(warnings(), 1);
    }
    expect_pause_ms(RUN_KEEPER_LOOK_MS);
    answer_run("7", "running", "a third");
    claim("7", "8");
    assert_int_equal(fake_time_await_waiter_ms(), RUN_KEEPER_LOOK_MS);
    assert_int_equal(warnings(), 2);
    expect_pause_ms(RUN_KEEPER_LOOK_MS);
    answer_run("9", "", ""); /* somebody has emptied it: no process to name */
    claim("9", "10");
    assert_int_equal(fake_time_await_waiter_ms(), RUN_KEEPER_LOOK_MS);
    assert_int_equal(warnings(), 2);
}

static void look__no_answer__a_few_tries_and_then_the_next_look(void **state)
{
    static const int64_t pauses_ms[] = {50, 100, 200, 400};

    start_and_claim();
    for (int k = 0; k < 2; k++) {
        expect_pause_ms(RUN_KEEPER_LOOK_MS);
        for (size_t i = 0; i < ARRAY_LEN(pauses_ms); i++) {
            lose("GET", RUN);
            expect_pause_ms(pauses_ms[i]);
        }
    }
    assert_int_equal(fake_time_await_waiter_ms(), RUN_KEEPER_LOOK_MS);
    assert_int_equal(fake_client_pending("GET", RUN), 0);
}

static void stop__while_a_call_is_under_way__does_not_wait_for_it(void **state)
{
    start();
    fake_client_await("GET", RUN);
    run_keeper_stop(keeper);
    run_keeper_stop(keeper); /* once is enough */
    assert_int_equal(told_n(), 0);
    run_keeper_stop(NULL);
    run_keeper_free(NULL);
}

/* ---- the end ---- */

static struct {
    struct thread thread;
    bool ended;
} end;

static void *end_main(void *ctx)
{
    end.ended = run_keeper_end(keeper, 7500, 4000);
    return NULL;
}

static void begin_end(void)
{
    run_keeper_stop(keeper);
    assert_int_equal(thread_start(&end.thread, "end", end_main, NULL, NULL), 0);
}

static void expect_end(bool ended)
{
    thread_join(&end.thread);
    assert_int_equal(end.ended, ended);
    assert_int_equal(warnings(), !ended);
    assert_int_equal(fake_client_pending("PATCH", RUN) + fake_client_pending("GET", RUN), 0);
}

static void answer_end(const char *method, const char *revision)
{
    answer(method, RUN, &(struct says){revision, "ended", keeper->claim.process, "9", "7500"});
}

static void end__of_ours__says_so_with_the_wake_object_as_it_is_now(void **state)
{
    start_and_claim();
    begin_end();
    fake_client_await("GET", WAKE);
    assert_int_equal(fake_client_deadline_ms("GET", WAKE), 1000);
    answer_wake("9");
    expect_patch("\"resourceVersion\":\"2\"");
    expect_patch("\"state\":\"ended\"");
    expect_patch("\"wake\":\"9\"");
    expect_patch("\"holdOffMs\":\"7500\"");
    assert_int_equal(fake_client_deadline_ms("PATCH", RUN), 1000);
    answer_end("PATCH", "3");
    expect_end(true);
}

static void end__wake_object_cannot_be_read__names_none(void **state)
{
    start_and_claim();
    begin_end();
    lose("GET", WAKE);
    expect_patch("\"wake\":\"\"");
    answer_end("PATCH", "3");
    expect_end(true);
}

static void end__answer_is_lost__a_get_tells(void **state)
{
    start_and_claim();
    begin_end();
    answer_wake("9");
    lose("PATCH", RUN);
    fake_client_await("GET", RUN);
    assert_int_equal(fake_client_deadline_ms("GET", RUN), 1000);
    answer_end("GET", "3");
    expect_end(true);
}

static void end__nothing_has_landed__written_again_on_what_stands_there(void **state)
{
    start_and_claim();
    begin_end();
    answer_wake("9");
    answer_status("PATCH", RUN, 409);
    answer_run("4", "running", keeper->claim.process); /* somebody has put something else into it */
    expect_pause_ms(50);
    expect_patch("\"resourceVersion\":\"4\"");
    lose("PATCH", RUN);
    lose("GET", RUN);
    expect_pause_ms(50);
    expect_patch("\"resourceVersion\":\"4\"");
    answer_end("PATCH", "5");
    expect_end(true);
}

static void end__another_process_has_it__left_alone(void **state)
{
    start_and_claim();
    begin_end();
    answer_wake("9");
    answer_status("PATCH", RUN, 409);
    answer_run("4", "running", "another");
    expect_end(false);
}

static void end__refused__not_tried_again(void **state)
{
    static const int statuses[] = {403, 404};

    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        start_and_claim();
        begin_end();
        answer_wake("9");
        answer_status("PATCH", RUN, statuses[i]);
        expect_end(false);
        (void)teardown(NULL);
        (void)setup(NULL);
    }
    start();
}

static void end__time_is_over__given_up(void **state)
{
    start_and_claim();
    begin_end();
    answer_wake("9");
    lose("PATCH", RUN);
    fake_client_await("GET", RUN);
    fake_time_advance_ms(3960);
    lose("GET", RUN);
    expect_pause_ms(50);
    expect_end(false);
}

static void end__not_ours__nothing_is_asked(void **state)
{
    start();
    fake_client_await("GET", RUN);
    run_keeper_stop(keeper);
    assert_false(run_keeper_end(keeper, 7500, 4000));
    assert_int_equal(fake_client_pending("PATCH", RUN), 0);
    assert_int_equal(warnings(), 0);
}

/* It may live, and look three times before it is sure to know of us. */
static void end__soon_after_a_claim_of_another_ones_running__not_written(void **state)
{
    for (int i = 0; i < 2; i++) {
        start();
        answer_wake("7");
        answer_run("1", "running", "p");
        claim("1", "2");
        expect_told(1, true, false, RUN_RUNS);
        run_keeper_stop(keeper);
        fake_time_advance_ms(RUN_KEEPER_ALONE_MS - (i == 0));
        if (i == 0) {
            assert_false(run_keeper_end(keeper, 7500, 4000));
            assert_int_equal(fake_client_pending("GET", WAKE), 0);
        } else {
            begin_end();
            answer_wake("9");
            answer_end("PATCH", "3");
            expect_end(true);
        }
        (void)teardown(NULL);
        (void)setup(NULL);
    }
    start();
}

/* A look was interrupted: its answers are waited for first, and the end is written on what it has found. */
static void end__a_look_was_under_way__waits_for_its_answer(void **state)
{
    start_and_claim();
    expect_pause_ms(RUN_KEEPER_LOOK_MS);
    fake_client_await("GET", RUN);
    begin_end();
    assert_int_equal(fake_client_pending("GET", WAKE), 0);
    answer_run("2", "running", keeper->claim.process);
    answer_wake("9");
    answer_end("PATCH", "3");
    expect_end(true);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(start__after_an_end_in_order__told_once_and_without_hold_off),
        TEST(start__nobody_was_before__no_hold_off_and_none_to_answer_for),
        TEST(start__somebody_runs__hold_off),
        TEST(start__no_answer__decided_and_settled_in_time),
        TEST(start__answer_comes_when_it_is_due__not_asked_with_no_time),
        TEST(start__claimed_after_it_was_decided__hold_off_all_the_same),
        TEST(start__object_changes_under_the_claim__asked_again),
        TEST(start__too_many_calls__tried_again),
        TEST(start__every_answer__means_what_it_says),
        TEST(start__ended_stays_there__settled_when_the_wake_object_has_changed),
        TEST(start__ended_stays_there_and_its_wake_object_is_gone__settled),
        TEST(start__ended_stays_there_and_can_be_claimed_after_all__settled),
        TEST(start__ended_names_another_state_of_the_wake_object__nobody_would_believe_it),
        TEST(look__still_ours__nothing_is_written),
        TEST(look__another_process_has_taken_it__claimed_again_and_said_once),
        TEST(look__no_answer__a_few_tries_and_then_the_next_look),
        TEST(stop__while_a_call_is_under_way__does_not_wait_for_it),
        TEST(end__of_ours__says_so_with_the_wake_object_as_it_is_now),
        TEST(end__wake_object_cannot_be_read__names_none),
        TEST(end__answer_is_lost__a_get_tells),
        TEST(end__nothing_has_landed__written_again_on_what_stands_there),
        TEST(end__another_process_has_it__left_alone),
        TEST(end__refused__not_tried_again),
        TEST(end__time_is_over__given_up),
        TEST(end__not_ours__nothing_is_asked),
        TEST(end__soon_after_a_claim_of_another_ones_running__not_written),
        TEST(end__a_look_was_under_way__waits_for_its_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
