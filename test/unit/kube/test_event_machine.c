/* Events against a clock that only moves when told to: what is called, when, and what becomes of
 * each. */
#include "kube/event_machine.h"

#include "base/rng.h"
#include "support/cmocka.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MS INT64_C(1000000)
#define MINUTE (60000 * MS)

static struct {
    struct event_machine *machine;
    struct strbuf path, body;
    int64_t now_ns;
    uint64_t outcomes[EVENT_OUTCOME__MAX];
    int64_t wake_ns;
} t;

static void count(void *ctx, enum event_reason reason, enum event_outcome outcome)
{
    (void)ctx;
    (void)reason;
    t.outcomes[outcome]++;
}

static int setup(void **state)
{
    const struct event_machine_options o = {
        .key = {1, 2}, .seed = 3, .source = {EVENT_CONTROLLER_EXTENDER, "fgpu-0"}, .observe = count};

    memset(&t, 0, sizeof(t));
    t.now_ns = 1000 * MINUTE;
    t.machine = event_machine_new(&o);
    strbuf_init(&t.path, EVENT_PATH_MAX);
    strbuf_init(&t.body, EVENT_BODY_MAX);
    return 0;
}

static int teardown(void **state)
{
    event_machine_free(t.machine);
    strbuf_fini(&t.path);
    strbuf_fini(&t.body);
    return 0;
}

static void record_noted(const char *namespace_, const char *pod, const char *note)
{
    const struct event e = {
        .reason = EVENT_REQUEST_INVALID,
        .regarding = {EVENT_OBJECT_POD, str_of(namespace_), str_of(pod), STR("u")},
        .note = str_of(note),
    };

    event_machine_record(t.machine, &e, t.now_ns, t.now_ns / MS);
}

static void record(const char *pod)
{
    record_noted("ns", pod, "note");
}

static enum event_call next(void)
{
    return event_machine_next(t.machine, t.now_ns, &t.path, &t.body, &t.wake_ns);
}

static enum event_news reply(enum event_reply r)
{
    const struct event_answer a = {r, 0};

    return event_machine_replied(t.machine, &a, t.now_ns);
}

static void expect_accepted(enum event_call want)
{
    assert_int_equal(next(), want);
    assert_int_equal(reply(EVENT_REPLY_ACCEPTED), EVENT_NEWS_NONE);
}

static bool said(const char *text)
{
    return strstr(t.body.p, text) != NULL;
}

static void machine__nothing_recorded__nothing_to_do(void **state)
{
    assert_int_equal(next(), EVENT_CALL_NONE);
    assert_true(t.wake_ns == INT64_MAX);
    assert_true(event_machine_is_idle(t.machine));
}

static void machine__one_event__is_posted_once(void **state)
{
    record("p");
    assert_false(event_machine_is_idle(t.machine));
    expect_accepted(EVENT_CALL_POST);
    assert_false(said("series"));
    assert_int_equal(next(), EVENT_CALL_NONE);
    assert_int_equal(t.outcomes[EVENT_POSTED], 1);
}

static void series__second_occurrence__is_told_at_once(void **state)
{
    char name[400];

    record("p");
    expect_accepted(EVENT_CALL_POST);
    snprintf(name, sizeof(name), "%s", strstr(t.body.p, "\"name\":\"") + 8);
    *strchr(name, '"') = '\0';
    t.now_ns += 1000 * MS;
    record("p");
    expect_accepted(EVENT_CALL_PATCH);
    assert_true(said("\"count\":2,"));
    assert_non_null(strstr(t.path.p, name));
    assert_int_equal(t.outcomes[EVENT_REPEATED], 1);
    assert_int_equal(t.outcomes[EVENT_COUNTED], 1);
}

static void series__goes_on__is_told_every_six_minutes(void **state)
{
    uint32_t patches = 0;

    record("p");
    expect_accepted(EVENT_CALL_POST);
    for (int i = 0; i < 3600; i++) { /* one a second for an hour */
        t.now_ns += 1000 * MS;
        record("p");
        while (next() == EVENT_CALL_PATCH) {
            patches++;
            reply(EVENT_REPLY_ACCEPTED);
        }
    }
    assert_in_range(patches, 9, 11); /* the second, then one in six minutes */
    event_machine_hurry(t.machine);
    expect_accepted(EVENT_CALL_PATCH); /* the last word */
    assert_true(said("\"count\":3601,"));
    assert_int_equal(next(), EVENT_CALL_NONE);
}

static void series__repeats_in_between__cause_no_call(void **state)
{
    for (int i = 0; i < 2; i++) {
        record("p");
        expect_accepted(i == 0 ? EVENT_CALL_POST : EVENT_CALL_PATCH);
    }
    t.now_ns += EVENT_REFRESH_MS * MS - 2;
    record("p");
    assert_int_equal(next(), EVENT_CALL_NONE);
    assert_true(t.wake_ns == INT64_MAX);
    t.now_ns += 2;
    record("p"); /* kubectl shows that it goes on */
    expect_accepted(EVENT_CALL_PATCH);
    assert_true(said("\"count\":4,"));
}

static void series__after_quiet_time__is_over(void **state)
{
    record("p");
    expect_accepted(EVENT_CALL_POST);
    t.now_ns += EVENT_QUIET_MS * MS;
    assert_int_equal(next(), EVENT_CALL_NONE);
    assert_true(t.wake_ns == INT64_MAX);
    record("p");
    expect_accepted(EVENT_CALL_POST);
    assert_int_equal(t.outcomes[EVENT_REPEATED], 0);
}

static void series__happens_again_while_posting__is_told_next(void **state)
{
    record("p");
    assert_int_equal(next(), EVENT_CALL_POST);
    record("p");
    record("p");
    assert_int_equal(reply(EVENT_REPLY_ACCEPTED), EVENT_NEWS_NONE);
    expect_accepted(EVENT_CALL_PATCH);
    assert_true(said("\"count\":3,"));
    assert_int_equal(next(), EVENT_CALL_NONE);
}

static void series__event_expired__the_next_repeat_is_a_new_one(void **state)
{
    char first[400];

    record("p");
    expect_accepted(EVENT_CALL_POST);
    snprintf(first, sizeof(first), "%s", strstr(t.body.p, "\"name\":\""));
    first[40] = '\0';
    record("p");
    assert_int_equal(next(), EVENT_CALL_PATCH);
    assert_int_equal(reply(EVENT_REPLY_GONE), EVENT_NEWS_NONE);
    assert_int_equal(next(), EVENT_CALL_NONE);
    record("p");
    expect_accepted(EVENT_CALL_POST);
    assert_false(said(first));
    assert_int_equal(next(), EVENT_CALL_NONE);
    assert_int_equal(t.outcomes[EVENT_POSTED], 2);
}

static void series__anything_differs__are_two(void **state)
{
    struct event e = {
        .reason = EVENT_DEVICE_LOST, .regarding = {EVENT_OBJECT_NODE, STR_NULL, STR("n"), STR("u")}, .note = STR("x")};

    event_machine_record(t.machine, &e, t.now_ns, 0);
    e.note = STR("y");
    event_machine_record(t.machine, &e, t.now_ns, 0);
    e.reason = EVENT_DEVICE_RETURNED;
    event_machine_record(t.machine, &e, t.now_ns, 0);
    e.regarding.uid = STR("v");
    event_machine_record(t.machine, &e, t.now_ns, 0);
    e.related = (struct event_object){EVENT_OBJECT_POD, STR("ns"), STR("p"), STR("u")};
    event_machine_record(t.machine, &e, t.now_ns, 0);
    for (int i = 0; i < 5; i++) {
        expect_accepted(EVENT_CALL_POST);
    }
    assert_int_equal(t.outcomes[EVENT_REPEATED], 0);
}

static void limits__one_object__gets_its_burst_then_one_in_five_minutes(void **state)
{
    char note[16];
    int posted = 0;

    for (int i = 0; i < 1000; i++) {
        snprintf(note, sizeof(note), "%d", i);
        record_noted("ns", "p", note);
    }
    assert_int_equal(t.outcomes[EVENT_LIMITED], 1000 - EVENT_OBJECT_BURST);
    for (; next() == EVENT_CALL_POST; posted++) {
        reply(EVENT_REPLY_ACCEPTED);
    }
    assert_int_equal(posted, EVENT_OBJECT_BURST);
    t.now_ns += EVENT_OBJECT_REFILL_MS * MS;
    record_noted("ns", "p", "a");
    record_noted("ns", "p", "b");
    assert_int_equal(t.outcomes[EVENT_LIMITED], 1000 - EVENT_OBJECT_BURST + 1);
}

static void limits__one_namespace__does_not_silence_another(void **state)
{
    char pod[24];
    uint64_t limited;

    for (int i = 0; i < 1000; i++) { /* created and deleted, each another object */
        snprintf(pod, sizeof(pod), "p-%d", i);
        record_noted("noisy", pod, "note");
    }
    limited = t.outcomes[EVENT_LIMITED];
    assert_int_equal(limited, 1000 - EVENT_NAMESPACE_BURST);
    record_noted("quiet", "p", "note");
    assert_int_equal(t.outcomes[EVENT_LIMITED], limited);
}

static void limits__all_calls__wait_for_their_tokens(void **state)
{
    char node[24];
    int64_t start_ns = t.now_ns;
    int called = 0;

    for (int i = 0; i < 5000; i++) {
        struct event e = {.reason = EVENT_DEVICE_LOST, .note = STR("x")};

        snprintf(node, sizeof(node), "n-%d", i);
        e.regarding = (struct event_object){EVENT_OBJECT_NODE, STR_NULL, str_of(node), STR_NULL};
        event_machine_record(t.machine, &e, t.now_ns, 0);
    }
    assert_int_equal(t.outcomes[EVENT_QUEUE_FULL], 5000 - EVENT_PENDING_MAX);
    while (!event_machine_is_idle(t.machine)) {
        if (next() == EVENT_CALL_NONE) {
            assert_true(t.wake_ns > t.now_ns);
            t.now_ns = t.wake_ns;
        } else {
            called++;
            reply(EVENT_REPLY_ACCEPTED);
        }
    }
    assert_int_equal(called, EVENT_PENDING_MAX);
    assert_int_equal((t.now_ns - start_ns) / MS, (EVENT_PENDING_MAX - EVENT_CALLS_BURST) * EVENT_CALLS_REFILL_MS);
}

static void limits__many_series__the_quietest_gives_way(void **state)
{
    event_machine_hurry(t.machine); /* no waiting for tokens */
    for (int i = 0; i < EVENT_SERIES_MAX + 1; i++) {
        struct event e = {.reason = EVENT_DEVICE_LOST, .note = STR("x")};
        char node[24];

        snprintf(node, sizeof(node), "n-%d", i);
        e.regarding = (struct event_object){EVENT_OBJECT_NODE, STR_NULL, str_of(node), STR_NULL};
        t.now_ns += 1 * MS;
        event_machine_record(t.machine, &e, t.now_ns, 0);
        e.regarding.name = STR("n-0"); /* kept alive */
        event_machine_record(t.machine, &e, t.now_ns, 0);
        while (next() != EVENT_CALL_NONE) {
            reply(EVENT_REPLY_ACCEPTED);
        }
    }
    assert_int_equal(t.outcomes[EVENT_POSTED], EVENT_SERIES_MAX + 1);
    assert_int_equal(t.outcomes[EVENT_REPEATED], EVENT_SERIES_MAX + 1);
}

static void trouble__no_answer__pauses_grow_and_end(void **state)
{
    int64_t before_ns = 0, pauses[EVENT_TRIES_MAX];
    int tries = 0;

    record("p");
    while (!event_machine_is_idle(t.machine)) {
        if (next() == EVENT_CALL_NONE) {
            t.now_ns = t.wake_ns;
            continue;
        }
        pauses[tries++] = t.now_ns - before_ns;
        before_ns = t.now_ns;
        reply(EVENT_REPLY_RETRY);
    }
    assert_int_equal(tries, EVENT_TRIES_MAX);
    assert_int_equal(t.outcomes[EVENT_GAVE_UP], 1);
    for (int i = 1; i < tries; i++) {
        int64_t base = EVENT_PAUSE_MIN_MS << (i - 1 < 5 ? i - 1 : 5);

        base = base > EVENT_PAUSE_MAX_MS ? EVENT_PAUSE_MAX_MS : base;
        assert_in_range(pauses[i] / MS, base, 2 * base);
    }
}

static void trouble__retry_after__is_obeyed_within_reason(void **state)
{
    const struct event_answer polite = {EVENT_REPLY_RETRY, 5000};
    const struct event_answer absurd = {EVENT_REPLY_RETRY, INT64_C(1) << 40};

    record("p");
    assert_int_equal(next(), EVENT_CALL_POST);
    event_machine_replied(t.machine, &polite, t.now_ns);
    t.now_ns += 4999 * MS;
    assert_int_equal(next(), EVENT_CALL_NONE);
    t.now_ns += 1 * MS;
    assert_int_equal(next(), EVENT_CALL_POST);
    event_machine_replied(t.machine, &absurd, t.now_ns);
    t.now_ns += EVENT_SILENCE_MS * MS;
    expect_accepted(EVENT_CALL_POST);
}

static void trouble__forbidden__one_line_then_silence_then_one_try(void **state)
{
    record("a");
    record("b");
    assert_int_equal(next(), EVENT_CALL_POST);
    assert_int_equal(reply(EVENT_REPLY_FORBIDDEN), EVENT_NEWS_FORBIDDEN);
    record("c");
    assert_int_equal(next(), EVENT_CALL_NONE);
    assert_int_equal(t.outcomes[EVENT_FORBIDDEN], 1);
    assert_int_equal(t.outcomes[EVENT_SILENCED], 2);
    t.now_ns += EVENT_SILENCE_MIN_MS * MS;
    record("d");
    assert_int_equal(next(), EVENT_CALL_POST);
    assert_int_equal(reply(EVENT_REPLY_FORBIDDEN), EVENT_NEWS_NONE);
    t.now_ns += EVENT_SILENCE_MS * MS;
    record("e");
    assert_int_equal(next(), EVENT_CALL_POST);
    assert_int_equal(reply(EVENT_REPLY_ACCEPTED), EVENT_NEWS_ALLOWED);
}

/* An API server that has just started forbids everything for a moment; a role that is missing is missing for long. */
static void trouble__forbidden_again_and_again__silence_doubles_and_begins_anew(void **state)
{
    for (int64_t ms = EVENT_SILENCE_MIN_MS, i = 0; i < 12;
         i++, ms = 2 * ms < EVENT_SILENCE_MS ? 2 * ms : EVENT_SILENCE_MS) {
        record("a");
        assert_int_equal(next(), EVENT_CALL_POST);
        assert_int_equal(reply(EVENT_REPLY_FORBIDDEN), i == 0 ? EVENT_NEWS_FORBIDDEN : EVENT_NEWS_NONE);
        t.now_ns += ms * MS - 1;
        record("b");
        assert_int_equal(next(), EVENT_CALL_NONE);
        t.now_ns += 1;
    }
    record("a");
    assert_int_equal(next(), EVENT_CALL_POST);
    assert_int_equal(reply(EVENT_REPLY_ACCEPTED), EVENT_NEWS_ALLOWED);
    record("b");
    assert_int_equal(next(), EVENT_CALL_POST);
    assert_int_equal(reply(EVENT_REPLY_FORBIDDEN), EVENT_NEWS_FORBIDDEN);
    t.now_ns += EVENT_SILENCE_MIN_MS * MS;
    record("c");
    assert_int_equal(next(), EVENT_CALL_POST);
    assert_int_equal(reply(EVENT_REPLY_ACCEPTED), EVENT_NEWS_ALLOWED);
}

static void trouble__only_patch_forbidden__posts_go_on(void **state)
{
    record("a");
    expect_accepted(EVENT_CALL_POST);
    record("a");
    assert_int_equal(next(), EVENT_CALL_PATCH);
    assert_int_equal(reply(EVENT_REPLY_FORBIDDEN), EVENT_NEWS_FORBIDDEN);
    record("a");
    record("b");
    expect_accepted(EVENT_CALL_POST);
    assert_int_equal(next(), EVENT_CALL_NONE);
    assert_int_equal(t.outcomes[EVENT_POSTED], 2);
}

static void trouble__rejected__others_go_on(void **state)
{
    record("a");
    record("b");
    record("c");
    assert_int_equal(next(), EVENT_CALL_POST);
    assert_int_equal(reply(EVENT_REPLY_REJECTED), EVENT_NEWS_REJECTED);
    assert_int_equal(next(), EVENT_CALL_POST);
    assert_int_equal(reply(EVENT_REPLY_GONE), EVENT_NEWS_NONE); /* its namespace */
    expect_accepted(EVENT_CALL_POST);
    assert_int_equal(t.outcomes[EVENT_REJECTED], 2);
}

static void record__impossible_object__is_rejected(void **state)
{
    struct event e = {.reason = EVENT_DEVICE_LOST, .regarding = {EVENT_OBJECT_NODE, STR_NULL, STR("../x"), STR_NULL}};
    char uid[EVENT_BODY_MAX];

    event_machine_record(t.machine, &e, t.now_ns, 0);
    memset(uid, 'u', sizeof(uid));
    e.regarding.name = STR("n");
    e.regarding.uid = (struct str){uid, sizeof(uid)};
    event_machine_record(t.machine, &e, t.now_ns, 0);
    assert_int_equal(t.outcomes[EVENT_REJECTED], 2);
    assert_true(event_machine_is_idle(t.machine));
}

static void hurry__counts_not_told__are_told_without_waiting(void **state)
{
    for (int i = 0; i < 2; i++) {
        record("p");
        expect_accepted(i == 0 ? EVENT_CALL_POST : EVENT_CALL_PATCH);
    }
    record("p");
    assert_int_equal(next(), EVENT_CALL_NONE);
    event_machine_hurry(t.machine);
    assert_false(event_machine_is_idle(t.machine));
    expect_accepted(EVENT_CALL_PATCH);
    assert_true(said("\"count\":3,"));
    assert_int_equal(next(), EVENT_CALL_NONE);
    assert_true(event_machine_is_idle(t.machine));
}

static void hurry__no_answer__everything_is_given_up(void **state)
{
    record("a");
    record("b");
    event_machine_hurry(t.machine);
    assert_int_equal(next(), EVENT_CALL_POST);
    reply(EVENT_REPLY_RETRY);
    assert_true(event_machine_is_idle(t.machine));
    assert_int_equal(t.outcomes[EVENT_GAVE_UP], 2);
}

/* Whatever is recorded, and however late the answers: every record ends in one outcome, the calls keep
 * to their rate, and the queue empties. */
static void machine__random_load__accounts_for_every_record(void **state)
{
    const int64_t start_ns = t.now_ns;
    uint64_t records = 0, calls = 0, outcomes = 0;
    struct rng rng;

    rng_init(&rng, 7);
    for (int turn = 0; turn < 100000; turn++) {
        char pod[16], note[16];

        if (rng_below(&rng, 3) == 0) {
            snprintf(pod, sizeof(pod), "p%d", (int)rng_below(&rng, 60));
            snprintf(note, sizeof(note), "%d", (int)rng_below(&rng, 40));
            record_noted(rng_below(&rng, 2) ? "a" : "b", pod, note);
            records++;
        }
        t.now_ns += (int64_t)rng_below(&rng, 200) * MS;
        if (next() != EVENT_CALL_NONE) {
            calls++;
            reply(rng_below(&rng, 5) == 0 ? EVENT_REPLY_RETRY : EVENT_REPLY_ACCEPTED);
        }
    }
    assert_true(calls <= EVENT_CALLS_BURST + (uint64_t)((t.now_ns - start_ns) / MS) / EVENT_CALLS_REFILL_MS);
    event_machine_hurry(t.machine);
    while (next() != EVENT_CALL_NONE) {
        reply(EVENT_REPLY_ACCEPTED);
    }
    assert_true(event_machine_is_idle(t.machine));
    for (int f = 0; f < EVENT_OUTCOME__MAX; f++) {
        outcomes += f == EVENT_COUNTED ? 0 : t.outcomes[f];
    }
    assert_int_equal(outcomes, records);
    assert_true(t.outcomes[EVENT_POSTED] > 1000 && t.outcomes[EVENT_REPEATED] > 1000);
    assert_true(t.outcomes[EVENT_LIMITED] > 0 && t.outcomes[EVENT_COUNTED] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(machine__nothing_recorded__nothing_to_do, setup, teardown),
        cmocka_unit_test_setup_teardown(machine__one_event__is_posted_once, setup, teardown),
        cmocka_unit_test_setup_teardown(series__second_occurrence__is_told_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(series__goes_on__is_told_every_six_minutes, setup, teardown),
        cmocka_unit_test_setup_teardown(series__repeats_in_between__cause_no_call, setup, teardown),
        cmocka_unit_test_setup_teardown(series__after_quiet_time__is_over, setup, teardown),
        cmocka_unit_test_setup_teardown(series__happens_again_while_posting__is_told_next, setup, teardown),
        cmocka_unit_test_setup_teardown(series__event_expired__the_next_repeat_is_a_new_one, setup, teardown),
        cmocka_unit_test_setup_teardown(series__anything_differs__are_two, setup, teardown),
        cmocka_unit_test_setup_teardown(limits__one_object__gets_its_burst_then_one_in_five_minutes, setup, teardown),
        cmocka_unit_test_setup_teardown(limits__one_namespace__does_not_silence_another, setup, teardown),
        cmocka_unit_test_setup_teardown(limits__all_calls__wait_for_their_tokens, setup, teardown),
        cmocka_unit_test_setup_teardown(limits__many_series__the_quietest_gives_way, setup, teardown),
        cmocka_unit_test_setup_teardown(trouble__no_answer__pauses_grow_and_end, setup, teardown),
        cmocka_unit_test_setup_teardown(trouble__retry_after__is_obeyed_within_reason, setup, teardown),
        cmocka_unit_test_setup_teardown(trouble__forbidden__one_line_then_silence_then_one_try, setup, teardown),
        cmocka_unit_test_setup_teardown(trouble__forbidden_again_and_again__silence_doubles_and_begins_anew, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(trouble__only_patch_forbidden__posts_go_on, setup, teardown),
        cmocka_unit_test_setup_teardown(trouble__rejected__others_go_on, setup, teardown),
        cmocka_unit_test_setup_teardown(record__impossible_object__is_rejected, setup, teardown),
        cmocka_unit_test_setup_teardown(hurry__counts_not_told__are_told_without_waiting, setup, teardown),
        cmocka_unit_test_setup_teardown(hurry__no_answer__everything_is_given_up, setup, teardown),
        cmocka_unit_test_setup_teardown(machine__random_load__accounts_for_every_record, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
