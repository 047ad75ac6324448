/* When the hold-off is left out: the claim step by step. What processes do to each other: test_run_model.c. */
#include "extender/run_claim.h"

#include "base/compiler.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static struct run_claim claim;

static struct run_object object(const char *revision, enum run_state state, const char *process, const char *wake)
{
    struct run_object o = {.state = state};

    snprintf(o.revision, sizeof(o.revision), "%s", revision);
    snprintf(o.uid, sizeof(o.uid), "u");
    snprintf(o.process, sizeof(o.process), "%s", process);
    snprintf(o.wake, sizeof(o.wake), "%s", wake);
    o.hold_off_ms = 6000;
    return o;
}

static int setup(void **state)
{
    run_claim_init(&claim, "me", 6000);
    return 0;
}

static void asked(const char *revision, enum run_state state, const char *process, const char *wake_then,
                  const char *wake_now)
{
    const struct run_object o = object(revision, state, process, wake_then);

    run_claim_asked(&claim, RUN_ANSWER_OBJECT, &o, wake_now);
}

static void sent(enum run_answer a, const char *revision)
{
    const struct run_object o = object(revision, RUN_RUNNING, "me", "");

    run_claim_sent(&claim, a, &o);
}

static void claim__ended_and_nobody_since__no_hold_off(void **state)
{
    asked("5", RUN_ENDED, "other", "3", "3");
    assert_int_equal(claim.step, RUN_SEND);
    assert_false(run_claim_is_skipped(&claim)); /* not before the answer */
    sent(RUN_ANSWER_OBJECT, "6");
    assert_int_equal(claim.step, RUN_CLAIMED);
    assert_int_equal(claim.reason, RUN_HAS_ENDED);
    assert_true(run_claim_is_skipped(&claim));
    assert_string_equal(claim.seen.revision, "6");
}

static void claim__ended_after_a_shorter_hold_off__hold_off(void **state)
{
    struct run_object o = object("5", RUN_ENDED, "other", "3");

    o.hold_off_ms = 5999;
    run_claim_asked(&claim, RUN_ANSWER_OBJECT, &o, "3");
    sent(RUN_ANSWER_OBJECT, "6");
    assert_int_equal(claim.reason, RUN_SHORTER);
    assert_false(run_claim_is_skipped(&claim));
    run_claim_init(&claim, "me", 6000);
    o.hold_off_ms = RUN_HOLD_OFF_NONE;
    run_claim_asked(&claim, RUN_ANSWER_OBJECT, &o, "3");
    sent(RUN_ANSWER_OBJECT, "6");
    assert_true(run_claim_is_skipped(&claim));
    assert_true(claim.ended_hold_off_ms == RUN_HOLD_OFF_NONE);
}

static void look__still_ours__nothing_is_sent(void **state)
{
    asked("5", RUN_ENDED, "other", "3", "3");
    sent(RUN_ANSWER_OBJECT, "6");
    run_claim_look(&claim);
    assert_true(claim.is_ours);
    run_claim_asked(&claim, RUN_ANSWER_LOST, NULL, "");
    assert_true(claim.is_ours); /* as far as is known */
    asked("7", RUN_RUNNING, "me", "", "3");
    assert_int_equal(claim.step, RUN_CLAIMED);
    assert_true(claim.is_ours && !claim.takes_over);
    assert_string_equal(claim.seen.revision, "7");
}

static void look__somebody_else_has_it__claimed_again(void **state)
{
    static const struct {
        enum run_state state;
        bool takes_over;
    } rows[] = {{RUN_RUNNING, true}, {RUN_ENDED, false}, {RUN_NEVER, true}, {RUN_ILLEGIBLE, true}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        run_claim_init(&claim, "me", 6000);
        asked("5", RUN_NEVER, "", "", "3");
        sent(RUN_ANSWER_OBJECT, "6");
        assert_false(claim.takes_over);
        run_claim_look(&claim);
        asked("9", rows[i].state, "other", "3", "3");
        assert_int_equal(claim.step, RUN_SEND);
        assert_false(claim.is_ours);
        sent(RUN_ANSWER_OBJECT, "10");
        assert_true(claim.is_ours);
        assert_int_equal(claim.takes_over, rows[i].takes_over);
        assert_false(run_claim_is_skipped(&claim));
    }
}

static void look__gone_or_helpless__tried_again(void **state)
{
    run_claim_asked(&claim, RUN_ANSWER_FORBIDDEN, NULL, "");
    assert_int_equal(claim.step, RUN_HELPLESS);
    run_claim_look(&claim);
    run_claim_asked(&claim, RUN_ANSWER_MISSING, NULL, "");
    assert_int_equal(claim.step, RUN_HELPLESS);
    run_claim_look(&claim);
    asked("9", RUN_NEVER, "", "", "3");
    sent(RUN_ANSWER_OBJECT, "10");
    assert_true(claim.is_ours);
    run_claim_look(&claim);
    run_claim_asked(&claim, RUN_ANSWER_MISSING, NULL, "");
    assert_false(claim.is_ours);
}

static void claim__never_written__no_hold_off_if_the_list_agrees(void **state)
{
    asked("5", RUN_NEVER, "", "", "3");
    sent(RUN_ANSWER_OBJECT, "6");
    assert_int_equal(claim.reason, RUN_NONE);
    assert_true(run_claim_is_skipped(&claim));
}

static void claim__anything_else_that_was_read__hold_off(void **state)
{
    static const struct {
        enum run_state state;
        const char *wake_then, *wake_now;
        enum run_reason reason;
    } rows[] = {
        {RUN_RUNNING, "", "3", RUN_RUNS},   {RUN_RUNNING, "3", "3", RUN_RUNS}, {RUN_ILLEGIBLE, "3", "3", RUN_NOT_KNOWN},
        {RUN_ENDED, "3", "4", RUN_UNAWARE}, {RUN_ENDED, "", "4", RUN_NO_WAKE}, {RUN_ENDED, "3", "", RUN_NO_WAKE},
        {RUN_ENDED, "", "", RUN_NO_WAKE},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        run_claim_init(&claim, "me", 6000);
        asked("5", rows[i].state, "other", rows[i].wake_then, rows[i].wake_now);
        sent(RUN_ANSWER_OBJECT, "6");
        assert_int_equal(claim.step, RUN_CLAIMED);
        assert_int_equal(claim.reason, rows[i].reason);
        assert_false(run_claim_is_skipped(&claim));
    }
}

static void claim__answer_lost_and_found_landed__no_hold_off(void **state)
{
    asked("5", RUN_ENDED, "other", "3", "3");
    sent(RUN_ANSWER_LOST, "");
    assert_int_equal(claim.step, RUN_ASK);
    asked("6", RUN_RUNNING, "me", "", "3");
    assert_int_equal(claim.step, RUN_CLAIMED);
    assert_true(run_claim_is_skipped(&claim));
}

/* The API server reports a failing etcd as a conflict, and the transaction lands later. */
static void claim__conflict_and_found_landed__no_hold_off(void **state)
{
    asked("5", RUN_ENDED, "other", "3", "3");
    sent(RUN_ANSWER_CONFLICT, "");
    asked("6", RUN_RUNNING, "me", "", "3");
    assert_true(run_claim_is_skipped(&claim));
}

static void claim__answer_lost_and_not_landed__the_same_again(void **state)
{
    asked("5", RUN_ENDED, "other", "3", "3");
    sent(RUN_ANSWER_LOST, "");
    run_claim_asked(&claim, RUN_ANSWER_LOST, NULL, "");
    assert_int_equal(claim.step, RUN_ASK);
    asked("5", RUN_ENDED, "other", "3", "3");
    assert_int_equal(claim.step, RUN_SEND);
    sent(RUN_ANSWER_OBJECT, "6");
    assert_true(run_claim_is_skipped(&claim));
}

/* Whoever was faster may bind already; and may have ended by the time that we look. */
static void claim__somebody_came_between__hold_off_whatever_it_says_now(void **state)
{
    static const enum run_state states[] = {RUN_RUNNING, RUN_ENDED, RUN_NEVER, RUN_ILLEGIBLE};

    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        run_claim_init(&claim, "me", 6000);
        asked("5", RUN_ENDED, "other", "3", "3");
        sent(i % 2 == 0 ? RUN_ANSWER_CONFLICT : RUN_ANSWER_LOST, "");
        asked("8", states[i], "third", "3", "3");
        sent(RUN_ANSWER_OBJECT, "9");
        assert_int_equal(claim.step, RUN_CLAIMED);
        assert_false(run_claim_is_skipped(&claim));
    }
}

static void claim__missing_or_forbidden__given_up(void **state)
{
    static const struct {
        enum run_answer answer;
        enum run_reason reason;
    } rows[] = {{RUN_ANSWER_MISSING, RUN_MISSING}, {RUN_ANSWER_FORBIDDEN, RUN_FORBIDDEN}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        run_claim_init(&claim, "me", 6000);
        run_claim_asked(&claim, rows[i].answer, NULL, "3");
        assert_int_equal(claim.step, RUN_HELPLESS);
        assert_int_equal(claim.reason, rows[i].reason);
        assert_false(run_claim_is_skipped(&claim));
        run_claim_init(&claim, "me", 6000);
        asked("5", RUN_ENDED, "other", "3", "3");
        run_claim_sent(&claim, rows[i].answer, NULL);
        assert_int_equal(claim.step, RUN_HELPLESS);
        assert_int_equal(claim.reason, rows[i].reason);
        assert_false(run_claim_is_skipped(&claim));
    }
}

static void claim__an_answer_that_is_not_ours__is_none(void **state)
{
    const struct run_object other = object("6", RUN_RUNNING, "other", "");

    asked("5", RUN_ENDED, "other", "3", "3");
    run_claim_sent(&claim, RUN_ANSWER_OBJECT, &other);
    assert_int_equal(claim.step, RUN_ASK);
    assert_false(run_claim_is_skipped(&claim));
}

static void reason__each__has_a_name_and_a_text(void **state)
{
    for (size_t i = 0; i < RUN_REASON__MAX; i++) {
        assert_true(run_reason_name((enum run_reason)i)[0] != '\0');
        assert_true(strlen(run_reason_text((enum run_reason)i)) > 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup(name, setup)
        T(claim__ended_and_nobody_since__no_hold_off),
        T(claim__ended_after_a_shorter_hold_off__hold_off),
        T(look__still_ours__nothing_is_sent),
        T(look__somebody_else_has_it__claimed_again),
        T(look__gone_or_helpless__tried_again),
        T(claim__never_written__no_hold_off_if_the_list_agrees),
        T(claim__anything_else_that_was_read__hold_off),
        T(claim__answer_lost_and_found_landed__no_hold_off),
        T(claim__conflict_and_found_landed__no_hold_off),
        T(claim__answer_lost_and_not_landed__the_same_again),
        T(claim__somebody_came_between__hold_off_whatever_it_says_now),
        T(claim__missing_or_forbidden__given_up),
        T(claim__an_answer_that_is_not_ours__is_none),
        T(reason__each__has_a_name_and_a_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
