/* What the elector asks, writes and tells, and when. The API server's answers are the test's, and so is the time. What
 * follows from an answer: test_lease_model.c. */
#include "extender/elector_internal.h"

#include "base/compiler.h"
#include "extender/support/await.h"
#include "extender/support/fake_client.h"
#include "extender/support/fake_time.h"
#include "extender/support/warnings.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#define LEASE "/namespaces/ns/leases/fgpu-leader"
#define LEASES "/namespaces/ns/leases"
enum { DURATION_MS = 8000, RENEW_DEADLINE_MS = 6000, RETRY_MS = 200 };

static struct elector *elector;
static struct clock_manual wall;

/* ---- what is told ---- */

static atomic_uint elected_n, lost_n;
static atomic_int_least64_t others_ago_ms; /* when nobody else led any more */
static _Atomic(const char *) why;

static void elected(void *ctx, int64_t others_until_ns)
{
    atomic_store(&others_ago_ms, (clock_mono_ns(clock_system()) - others_until_ns) / NS_PER_MS);
    elected_n++;
}

static void lost(void *ctx, const char *text)
{
    atomic_store(&why, text);
    lost_n++;
}

static bool is_told(const void *count)
{
    return atomic_load((const atomic_uint *)count) > 0;
}

/* ---- what the operating system draws ---- */

static const uint64_t *drawn; /* 3; NULL: as ever */
static bool draws_nothing;

/* As the linker names them. */
int __wrap_rng_os_bytes(void *p, size_t n, struct err *reterr);
int __real_rng_os_bytes(void *p, size_t n, struct err *reterr);

int __wrap_rng_os_bytes(void *p, size_t n, struct err *reterr)
{
    if (draws_nothing) {
        return err_set(reterr, ERR_INTERNAL, "no entropy");
    }
    if (drawn == NULL) {
        return __real_rng_os_bytes(p, n, reterr);
    }
    assert_int_equal(n, 3 * sizeof(*drawn));
    memcpy(p, drawn, n);
    return 0;
}

/* ---- life ---- */

static struct elector_options options(void)
{
    return (struct elector_options){.clock = &wall.clock,
                                    .log = &warnings_log,
                                    .lease = STR("ns/fgpu-leader"),
                                    .host = "host",
                                    .duration_ms = DURATION_MS,
                                    .renew_deadline_ms = RENEW_DEADLINE_MS,
                                    .retry_ms = RETRY_MS,
                                    .listener = {elected, lost, NULL}};
}

static void start_with(const struct elector_options *o)
{
    assert_int_equal(elector_new(o, &elector, NULL), 0);
    assert_false(elector_may_write(elector));
    assert_int_equal(elector_start(elector, NULL), 0);
}

static void start(void)
{
    const struct elector_options o = options();

    start_with(&o);
}

static int setup(void **state)
{
    fake_client_reset();
    fake_time_set(1000 * NS_PER_S);
    clock_manual_init(&wall, 0, 1795161600123);
    warnings_reset();
    elected_n = lost_n = 0;
    drawn = NULL;
    draws_nothing = false;
    return 0;
}

static int teardown(void **state)
{
    static const char *const calls[][2] = {{"GET", LEASE}, {"PUT", LEASE}, {"POST", LEASES}};

    elector_stop(elector, false, 0);
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        while (fake_client_pending(calls[i][0], calls[i][1]) > 0) {
            fake_client_end(calls[i][0], calls[i][1], KUBE_CANCELLED);
        }
    }
    elector_free(elector);
    elector = NULL;
    return 0;
}

/* ---- answers ---- */

static void answer(const char *method, const char *end, int status, const char *revision, const struct lease_record *r)
{
    char body[1024];

    snprintf(body, sizeof(body),
             "{\"metadata\":{\"resourceVersion\":\"%s\",\"uid\":\"u\",\"labels\":{\"of\":\"an admin\"}},\"spec\":{"
             "\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":%d,\"acquireTime\":\"%s\",\"renewTime\":\"%s\","
             "\"leaseTransitions\":%d}}",
             revision, r->holder, (int)r->duration_s, r->acquired, r->renewed, (int)r->transition_n);
    fake_client_answer(method, end, status, KUBE_NO_RETRY_AFTER, body);
}

/* It stands there as another process has written it the n-th time. */
static void answer_another(int n)
{
    struct lease_record r = {.holder = "another", .acquired = "a", .duration_s = DURATION_MS / 1000, .transition_n = 3};
    char revision[16];

    snprintf(r.renewed, sizeof(r.renewed), "r%d", n);
    snprintf(revision, sizeof(revision), "%d", n);
    fake_client_await("GET", LEASE);
    answer("GET", LEASE, 200, revision, &r);
}

static void answer_released(void)
{
    const struct lease_record r = {.holder = "", .acquired = "a", .renewed = "r", .duration_s = 1, .transition_n = 3};

    fake_client_await("GET", LEASE);
    answer("GET", LEASE, 200, "1", &r);
}

/* What was sent has taken effect. */
static void accept(const char *method, const char *end, const char *revision)
{
    fake_client_await(method, end);
    answer(method, end, strcmp(method, "POST") == 0 ? 201 : 200, revision, &elector->machine.next);
}

static void refuse(const char *method, const char *end, int status)
{
    fake_client_await(method, end);
    fake_client_answer(method, end, status, KUBE_NO_RETRY_AFTER, "{}");
}

/* The next thing is due in so long; it comes. */
static void expect_pause_ms(int64_t ms)
{
    assert_int_equal(fake_time_await_waiter_ms(), ms);
    fake_time_advance_ms(ms);
}

static void expect_retry(void)
{
    const int64_t ms = fake_time_await_waiter_ms();

    assert_in_range(ms, RETRY_MS - 1, RETRY_MS + RETRY_MS * LEASE_JITTER_PERCENT / 100);
    fake_time_advance_ms(ms + 1);
}

/* Of a Lease that was released: at once. */
static void lead(void)
{
    start();
    answer_released();
    accept("PUT", LEASE, "2");
    await(is_told, &elected_n, "an election");
    assert_true(elector_may_write(elector));
}

/* ---- elections ---- */

static void lease__is_missing__made_and_nobody_else_may_lead_any_more(void **state)
{
    start();
    fake_client_await("GET", LEASE);
    assert_int_equal(fake_client_deadline_ms("GET", LEASE), RENEW_DEADLINE_MS / 2);
    refuse("GET", LEASE, 404);
    fake_client_await("POST", LEASES);
    assert_true(fake_client_body_has("POST", LEASES, "\"leaseDurationSeconds\":8"));
    assert_true(fake_client_body_has("POST", LEASES, elector->identity));
    assert_true(fake_client_body_has("POST", LEASES, "\"leaseTransitions\":0"));
    assert_memory_equal(elector->identity, "host_", 5);
    fake_time_advance_ms(100);
    accept("POST", LEASES, "1");
    /* It renews, and waits until what another one may have written before is over. */
    for (int ms = 0; ms < RENEW_DEADLINE_MS; ms += RETRY_MS) {
        assert_int_equal(elected_n, 0);
        assert_false(elector_may_write(elector));
        expect_pause_ms(RETRY_MS);
        if (ms + RETRY_MS < RENEW_DEADLINE_MS) {
            accept("PUT", LEASE, ms % 400 == 0 ? "2" : "3");
        }
    }
    await(is_told, &elected_n, "an election");
    assert_true(elector_may_write(elector));
    accept("PUT", LEASE, "9");
    assert_int_equal(fake_time_await_waiter_ms(), RETRY_MS);
    assert_int_equal(elected_n, 1);
    assert_int_equal(warnings(), 0);
}

static void lease__of_another__taken_when_it_has_run_out(void **state)
{
    int64_t waited_ms = 0;

    start();
    answer_another(1);
    expect_retry();
    answer_another(2); /* it is renewed */
    while (waited_ms < DURATION_MS - 400) {
        const int64_t before_ns = fake_time_ns();

        expect_retry();
        answer_another(2);
        waited_ms += (fake_time_ns() - before_ns) / NS_PER_MS;
        assert_int_equal(fake_client_pending("PUT", LEASE), 0);
    }
    fake_time_advance_ms(400);
    answer_another(2);
    fake_client_await("PUT", LEASE);
    assert_true(fake_client_body_has("PUT", LEASE, "\"resourceVersion\":\"2\""));
    assert_true(fake_client_body_has("PUT", LEASE, "\"leaseTransitions\":4"));
    assert_true(fake_client_body_has("PUT", LEASE, "\"of\":\"an admin\"")); /* what others have put there stays */
    assert_int_equal(elected_n, 0);
    accept("PUT", LEASE, "3");
    await(is_told, &elected_n, "an election");
    assert_true(elector_may_write(elector));
    /* Nobody else has sent anything since its renewDeadline was over. */
    assert_in_range(atomic_load(&others_ago_ms), DURATION_MS - RENEW_DEADLINE_MS - 400,
                    DURATION_MS - RENEW_DEADLINE_MS + 400 + 60000);
}

static void lease__of_another__not_asked_for_while_it_is_renewed(void **state)
{
    start();
    for (int i = 0; i < 100; i++) {
        answer_another(i);
        expect_retry();
    }
    assert_int_equal(elected_n + lost_n + warnings(), 0);
    assert_false(elector_may_write(elector));
}

static void leads__renews_again_and_again(void **state)
{
    lead();
    for (int i = 0; i < 50; i++) {
        char revision[16];

        snprintf(revision, sizeof(revision), "%d", 3 + i);
        expect_pause_ms(RETRY_MS);
        fake_client_await("PUT", LEASE);
        assert_true(fake_client_body_has("PUT", LEASE, "\"leaseTransitions\":4"));
        accept("PUT", LEASE, revision);
    }
    assert_int_equal(fake_time_await_waiter_ms(), RETRY_MS);
    assert_true(elector_may_write(elector));
    assert_int_equal(elected_n, 1);
}

static void leads__no_answer_in_time__lost_by_the_clock_alone(void **state)
{
    lead();
    expect_pause_ms(RETRY_MS);
    fake_client_await("PUT", LEASE);
    fake_time_advance_ms(RENEW_DEADLINE_MS - RETRY_MS - 1);
    assert_true(elector_may_write(elector));
    fake_time_advance_ms(1);
    assert_false(elector_may_write(elector)); /* before its thread knows */
    assert_int_equal(lost_n, 0);
    refuse("PUT", LEASE, 500);
    await(is_told, &lost_n, "the loss");
    assert_string_equal(atomic_load(&why), "it could not be renewed in time");
    elector_stop(elector, true, 1000); /* there is nothing to give back */
    assert_int_equal(fake_client_pending("PUT", LEASE), 0);
    assert_int_equal(lost_n, 1);
}

static void leads__another_has_it__lost(void **state)
{
    lead();
    expect_pause_ms(RETRY_MS);
    refuse("PUT", LEASE, 409);
    expect_pause_ms(RETRY_MS / 4);
    answer_another(7);
    await(is_told, &lost_n, "the loss");
    assert_string_equal(atomic_load(&why), "somebody else has changed it");
    assert_false(elector_may_write(elector));
    assert_int_equal(warnings(), 0);
}

static void leads__it_was_deleted__lost(void **state)
{
    lead();
    expect_pause_ms(RETRY_MS);
    refuse("PUT", LEASE, 404); /* of a write that says nothing yet */
    expect_pause_ms(RETRY_MS / 4);
    assert_int_equal(lost_n, 0);
    refuse("GET", LEASE, 404);
    await(is_told, &lost_n, "the loss");
    assert_string_equal(atomic_load(&why), "it was deleted");
}

static void answer__refused_or_none__said_once_until_there_is_one(void **state)
{
    static const int statuses[] = {403, 401, 500};

    start();
    for (unsigned i = 0; i < ARRAY_LEN(statuses); i++) {
        const unsigned before = warnings();

        refuse("GET", LEASE, statuses[i]);
        expect_retry();
        assert_int_equal(warnings(), before + 1);
        fake_client_await("GET", LEASE);
        fake_client_end("GET", LEASE, KUBE_LOST);
        expect_retry();
        fake_client_await("GET", LEASE);
        fake_client_answer("GET", LEASE, 200, KUBE_NO_RETRY_AFTER, "<html>");
        expect_retry();
        assert_int_equal(warnings(), before + 1);
        answer_another(1);
        expect_retry();
    }
    fake_client_await("GET", LEASE);
    fake_client_answer("GET", LEASE, 201, KUBE_NO_RETRY_AFTER, "{}"); /* not to a GET */
    expect_retry();
    assert_int_equal(warnings(), 4);
}

static void call__cannot_be_sent__tried_again(void **state)
{
    fake_client_refuse(true);
    start();
    assert_in_range(fake_time_await_waiter_ms(), RETRY_MS - 1, 2 * RETRY_MS);
    assert_int_equal(warnings(), 1);
    fake_client_refuse(false);
    fake_time_advance_ms(2 * RETRY_MS);
    answer_released();
    accept("PUT", LEASE, "2");
    await(is_told, &elected_n, "an election");
}

/* ---- the end ---- */

static struct {
    struct thread thread;
    int64_t wait_ms;
} end;

static void *end_main(void *ctx)
{
    elector_stop(elector, true, end.wait_ms);
    return NULL;
}

static void begin_to_give_back(int64_t wait_ms)
{
    end.wait_ms = wait_ms;
    assert_int_equal(thread_start(&end.thread, "end", end_main, NULL, NULL), 0);
}

static void expect_released(void)
{
    thread_join(&end.thread);
    assert_false(elector_may_write(elector));
    assert_int_equal(fake_client_pending("PUT", LEASE) + fake_client_pending("GET", LEASE), 0);
    assert_int_equal(lost_n, 0);
}

static void stop__gives_it_back(void **state)
{
    lead();
    assert_int_equal(fake_time_await_waiter_ms(), RETRY_MS);
    begin_to_give_back(2000);
    fake_client_await("PUT", LEASE);
    assert_true(fake_client_body_has("PUT", LEASE, "\"holderIdentity\":\"\""));
    assert_true(fake_client_body_has("PUT", LEASE, "\"leaseDurationSeconds\":1"));
    assert_false(elector_may_write(elector)); /* before it is gone */
    accept("PUT", LEASE, "3");
    expect_released();
    assert_int_equal(warnings(), 0);
}

static void stop__a_renewal_is_under_way__waits_for_it_and_gives_back_then(void **state)
{
    lead();
    expect_pause_ms(RETRY_MS);
    fake_client_await("PUT", LEASE);
    begin_to_give_back(2000);
    assert_true(fake_client_body_has("PUT", LEASE, elector->identity));
    accept("PUT", LEASE, "3");
    fake_client_await("PUT", LEASE);
    assert_true(fake_client_body_has("PUT", LEASE, "\"holderIdentity\":\"\""));
    accept("PUT", LEASE, "4");
    expect_released();
}

/* It pauses without a condition; time passes until it goes on. */
static bool is_looking(const void *nothing)
{
    fake_time_advance_ms(RETRY_MS / 8);
    return fake_client_pending("GET", LEASE) > 0;
}

static void stop__answers_are_lost__a_get_tells(void **state)
{
    lead();
    assert_int_equal(fake_time_await_waiter_ms(), RETRY_MS);
    begin_to_give_back(INT32_MAX);
    fake_client_await("PUT", LEASE);
    fake_client_end("PUT", LEASE, KUBE_LOST);
    await(is_looking, NULL, "a GET after a pause");
    answer("GET", LEASE, 200, "3", &elector->machine.next); /* it has landed */
    expect_released();
    assert_int_equal(warnings(), 1); /* no answer */
}

static void stop__no_answer__not_longer_than_it_may(void **state)
{
    lead();
    assert_int_equal(fake_time_await_waiter_ms(), RETRY_MS);
    begin_to_give_back(2000);
    fake_client_await("PUT", LEASE);
    assert_int_equal(fake_time_await_waiter_ms(), 2000);
    fake_time_advance_ms(2000);
    thread_join(&end.thread);
    assert_int_equal(warnings(), 1); /* it runs out */
    assert_int_equal(fake_client_pending("PUT", LEASE), 1);
}

static void stop__without_giving_back__waits_for_nothing(void **state)
{
    lead();
    expect_pause_ms(RETRY_MS);
    fake_client_await("PUT", LEASE);
    elector_stop(elector, false, 2000);
    assert_false(elector_may_write(elector));
    assert_int_equal(fake_client_pending("PUT", LEASE), 1);
    assert_int_equal(warnings(), 0);
    elector_stop(NULL, true, 0);
    elector_decline(NULL);
    elector_free(NULL);
}

static void stop__follows__nothing_to_give_back(void **state)
{
    start();
    answer_another(1);
    assert_true(fake_time_await_waiter_ms() > 0);
    elector_stop(elector, true, 2000);
    assert_int_equal(fake_client_pending("PUT", LEASE), 0);
    assert_int_equal(warnings(), 0);
}

static void decline__before_the_election__nobody_is_told(void **state)
{
    start();
    answer_released();
    fake_client_await("PUT", LEASE);
    elector_decline(elector);
    accept("PUT", LEASE, "2");
    assert_int_equal(fake_time_await_waiter_ms(), RETRY_MS);
    assert_int_equal(elected_n, 0);
    fake_time_advance_ms(RETRY_MS); /* what is held is renewed on */
    refuse("PUT", LEASE, 409);
    expect_pause_ms(RETRY_MS / 4);
    answer_another(7);
    elector_stop(elector, false, 0);
    assert_int_equal(lost_n, 0);
}

static void decline__after_the_election__renewed_on_and_the_loss_is_told_to_nobody(void **state)
{
    lead();
    elector_decline(elector); /* whoever was being told knows by now */
    assert_true(elector_may_write(elector));
    expect_pause_ms(RETRY_MS);
    refuse("PUT", LEASE, 409);
    expect_pause_ms(RETRY_MS / 4);
    answer_another(7);
    elector_stop(elector, false, 0);
    assert_int_equal(lost_n, 0);
}

static atomic_bool is_telling;

/* Whether it returned before the end of the call. */
static void *decline_main(void *ret_early)
{
    elector_decline(elector);
    *(bool *)ret_early = is_telling;
    return NULL;
}

static bool declines(const void *e)
{
    struct elector *const its = *(struct elector *const *)e;
    bool so;

    mutex_lock(&its->lock);
    so = its->declines;
    mutex_unlock(&its->lock);
    return so;
}

/* Until another thread declines. */
static void elected_meanwhile(void *ctx, int64_t others_until_ns)
{
    is_telling = true;
    await(declines, &elector, "somebody who declines");
    is_telling = false;
}

static bool is_set(const void *flag)
{
    return *(const atomic_bool *)flag;
}

static void decline__while_somebody_is_being_told__waits_for_that(void **state)
{
    struct elector_options o = options();
    struct thread who;
    bool early = true;

    is_telling = false;
    o.listener = (struct elector_listener){elected_meanwhile, lost, NULL};
    start_with(&o);
    answer_released();
    accept("PUT", LEASE, "2");
    await(is_set, &is_telling, "an election");
    assert_int_equal(thread_start(&who, "decline", decline_main, &early, NULL), 0);
    thread_join(&who);
    assert_false(early);
    assert_int_equal(fake_time_await_waiter_ms(), RETRY_MS); /* it renews on */
}

/* ---- election: follow-scheduler ---- */

static void start_following(void)
{
    struct elector_options o = options();

    o.follows = true;
    start_with(&o);
}

/* The Lease of the schedulers as it stands there. */
static void answer_scheduler(const char *holder, int transition_n, int renewal)
{
    struct lease_record r = {.acquired = "a", .duration_s = DURATION_MS / 1000, .transition_n = transition_n};
    char revision[16];

    snprintf(r.holder, sizeof(r.holder), "%s", holder);
    snprintf(r.renewed, sizeof(r.renewed), "r%d", renewal);
    snprintf(revision, sizeof(revision), "%d", renewal);
    fake_client_await("GET", LEASE);
    answer("GET", LEASE, 200, revision, &r);
}

/* The scheduler of this host has the Lease, and renews it; an age after the first look that showed it so, this leads.
 */
static void lead_by_scheduler(void)
{
    enum { LOOK_MS = RETRY_MS / 4 };

    start_following();
    fake_client_await("GET", LEASE);
    assert_int_equal(fake_client_deadline_ms("GET", LEASE), FOLLOW_CALL_MS);
    answer_scheduler("host_1", 3, 0);
    for (int ms = 0; ms < FOLLOW_AGE_MS; ms += LOOK_MS) {
        assert_int_equal(elected_n, 0);
        assert_false(elector_may_write(elector));
        expect_pause_ms(LOOK_MS);
        answer_scheduler("host_1", 3, ms + 1);
    }
    await(is_told, &elected_n, "an election");
    assert_true(elector_may_write(elector));
    assert_in_range(atomic_load(&others_ago_ms), 0, 60000); /* since it opened */
}

static void follows__its_scheduler_is_elected__leads_and_writes_nothing(void **state)
{
    lead_by_scheduler();
    for (int i = 0; i < 5; i++) { /* it looks half as often then */
        expect_pause_ms(RETRY_MS / 2);
        answer_scheduler("host_1", 3, 5000 + i);
    }
    assert_int_equal(fake_time_await_waiter_ms(), RETRY_MS / 2);
    assert_int_equal(elected_n, 1);
    elector_stop(elector, true, 2000); /* there is nothing to give back */
    assert_false(elector_may_write(elector));
    assert_int_equal(fake_client_pending("PUT", LEASE) + fake_client_pending("POST", LEASES), 0);
    assert_int_equal(lost_n + warnings(), 0);
}

static void follows__another_scheduler_is_elected__lost(void **state)
{
    lead_by_scheduler();
    expect_pause_ms(RETRY_MS / 2);
    answer_scheduler("another_1", 4, 5000);
    await(is_told, &lost_n, "the loss");
    assert_string_equal(atomic_load(&why), "the scheduler of another replica has the Lease");
    assert_false(elector_may_write(elector));
}

static void follows__others_lead__waits(void **state)
{
    start_following();
    for (int i = 0; i < 50; i++) {
        answer_scheduler("another_1", 3, i);
        expect_pause_ms(RETRY_MS / 4);
    }
    assert_int_equal(elected_n + lost_n + warnings(), 0);
    assert_false(elector_may_write(elector));
}

/* The last look that showed it is too old: by the clock alone, before the thread knows, and it is no loss. */
static void follows__no_answer_in_time__closed_by_the_clock_alone(void **state)
{
    lead_by_scheduler();
    expect_pause_ms(RETRY_MS / 2);
    fake_client_await("GET", LEASE);
    fake_time_advance_ms(FOLLOW_AGE_MS - RETRY_MS / 2 - 1);
    assert_true(elector_may_write(elector));
    fake_time_advance_ms(1);
    assert_false(elector_may_write(elector));
    answer_scheduler("host_1", 3, 6000);
    expect_pause_ms(RETRY_MS / 2);
    answer_scheduler("host_1", 3, 6001);
    assert_false(elector_may_write(elector)); /* somebody else may have been named meanwhile */
    assert_int_equal(lost_n, 0);
}

static void follows__refused_or_none__said_once_until_there_is_an_answer(void **state)
{
    static const int statuses[] = {403, 401, 500};

    start_following();
    for (unsigned i = 0; i < ARRAY_LEN(statuses); i++) {
        for (int again = 0; again < 2; again++) {
            refuse("GET", LEASE, statuses[i]);
            expect_pause_ms(RETRY_MS / 4);
            assert_int_equal(warnings(), i + 1);
        }
        answer_scheduler("another_1", 3, (int)i);
        expect_pause_ms(RETRY_MS / 4);
    }
    refuse("GET", LEASE, 404); /* no scheduler runs: nothing is wrong here */
    expect_pause_ms(RETRY_MS / 4);
    assert_int_equal(warnings(), ARRAY_LEN(statuses));
}

/* ---- identities ---- */

/* A UUID of version 4 (RFC 9562): all of what is drawn but six bits is in it, so no two processes have the same. */
static void identity__of_a_process__its_host_and_122_bits_that_were_drawn(void **state)
{
    static const struct {
        uint64_t drawn[3];
        const char *uuid;
    } rows[] = {
        {{0, 0, 0}, "00000000-0000-4000-8000-000000000000"},
        {{UINT64_MAX, UINT64_MAX, UINT64_MAX}, "ffffffff-ffff-4fff-bfff-ffffffffffff"},
        {{UINT64_C(0x0123456789abcdef), UINT64_C(0xfedcba9876543210), 7}, "01234567-89ab-4def-bedc-ba9876543210"},
        {{UINT64_C(0x0000000100010001), UINT64_C(0x0001000000000001), 7}, "00000001-0001-4001-8001-000000000001"},
        {{UINT64_C(0x8000000080000800), UINT64_C(0x2000800000000000), 7}, "80000000-8000-4800-a000-800000000000"},
    };
    const struct elector_options o = options();

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        drawn = rows[i].drawn;
        assert_int_equal(elector_new(&o, &elector, NULL), 0);
        assert_memory_equal(elector->identity, "host_", 5);
        assert_string_equal(elector->identity + 5, rows[i].uuid);
        elector_free(elector);
        elector = NULL;
    }
}

static void identity__of_a_lengthy_host__cut_and_the_bits_are_whole(void **state)
{
    static const uint64_t bits[3] = {1, 2, 3};
    char host[101];
    struct elector_options o = options();

    memset(host, 'h', sizeof(host) - 1);
    host[sizeof(host) - 1] = '\0';
    o.host = host;
    drawn = bits;
    assert_int_equal(elector_new(&o, &elector, NULL), 0);
    assert_memory_equal(elector->identity, host, 63);
    assert_string_equal(elector->identity + 63, "_00000000-0000-4001-8000-000000000002");
}

static void identity__nothing_can_be_drawn__an_error(void **state)
{
    const struct elector_options o = options();
    struct err err;

    draws_nothing = true;
    assert_int_equal(elector_new(&o, &elector, &err), -ERR_INTERNAL);
    assert_string_equal(err.msg, "no entropy");
    assert_null(elector);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lease__is_missing__made_and_nobody_else_may_lead_any_more),
        TEST(lease__of_another__taken_when_it_has_run_out),
        TEST(lease__of_another__not_asked_for_while_it_is_renewed),
        TEST(leads__renews_again_and_again),
        TEST(leads__no_answer_in_time__lost_by_the_clock_alone),
        TEST(leads__another_has_it__lost),
        TEST(leads__it_was_deleted__lost),
        TEST(answer__refused_or_none__said_once_until_there_is_one),
        TEST(call__cannot_be_sent__tried_again),
        TEST(stop__gives_it_back),
        TEST(stop__a_renewal_is_under_way__waits_for_it_and_gives_back_then),
        TEST(stop__answers_are_lost__a_get_tells),
        TEST(stop__no_answer__not_longer_than_it_may),
        TEST(stop__without_giving_back__waits_for_nothing),
        TEST(stop__follows__nothing_to_give_back),
        TEST(decline__before_the_election__nobody_is_told),
        TEST(decline__after_the_election__renewed_on_and_the_loss_is_told_to_nobody),
        TEST(decline__while_somebody_is_being_told__waits_for_that),
        TEST(follows__its_scheduler_is_elected__leads_and_writes_nothing),
        TEST(follows__another_scheduler_is_elected__lost),
        TEST(follows__others_lead__waits),
        TEST(follows__no_answer_in_time__closed_by_the_clock_alone),
        TEST(follows__refused_or_none__said_once_until_there_is_an_answer),
        TEST(identity__of_a_process__its_host_and_122_bits_that_were_drawn),
        TEST(identity__of_a_lengthy_host__cut_and_the_bits_are_whole),
        TEST(identity__nothing_can_be_drawn__an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
