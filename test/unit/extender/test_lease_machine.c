/* Single steps of extender/lease_machine.h: who may send, until when, and what is written. What processes do to each
 * other: test_lease_model.c. */
#include "extender/lease_machine.h"

#include "base/clock.h"
#include "base/compiler.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

enum { DURATION_MS = 5000, RENEW_MS = 3000, RETRY_MS = 1000 };
#define MS(ms_) ((int64_t)(ms_)*NS_PER_MS)
#define WALL_US INT64_C(1795161600000000)

static struct lease_machine m;

static int setup(void **state)
{
    lease_machine_init(
        &m, &(struct lease_options){
                .identity = "me", .duration_ms = DURATION_MS, .renew_deadline_ms = RENEW_MS, .retry_ms = RETRY_MS});
    return 0;
}

static struct lease_record record(const char *holder, const char *renewed, int64_t duration_s, const char *revision)
{
    struct lease_record r = {.uid = "u", .acquired = "a", .duration_s = duration_s, .transition_n = 7};

    snprintf(r.holder, sizeof(r.holder), "%s", holder);
    snprintf(r.renewed, sizeof(r.renewed), "%s", renewed);
    snprintf(r.revision, sizeof(r.revision), "%s", revision);
    return r;
}

static void expect(int64_t at_ms, enum lease_step step)
{
    assert_int_equal(lease_machine_next(&m, MS(at_ms), WALL_US + at_ms * 1000), step);
}

static void look(int64_t at_ms, const struct lease_record *r)
{
    expect(at_ms, LEASE_GET);
    lease_machine_answered(&m, LEASE_ANSWER_OBJECT, r, MS(at_ms), 0);
}

/* What was sent has taken effect, as this revision. */
static void taken(int64_t at_ms, const char *revision)
{
    struct lease_record r = m.next;

    snprintf(r.revision, sizeof(r.revision), "%s", revision);
    snprintf(r.uid, sizeof(r.uid), "u");
    lease_machine_answered(&m, LEASE_ANSWER_OBJECT, &r, MS(at_ms), 0);
}

/* From 0 on, by a Lease that was given back. */
static void lead(void)
{
    const struct lease_record released = record("", "r", LEASE_RELEASED_S, "1");

    look(0, &released);
    expect(0, LEASE_UPDATE);
    taken(10, "2");
    assert_int_equal(m.phase, LEASE_LEADS);
}

/* ---- until when others may lead ---- */

static void seen__of_another__leads_for_its_time_at_most(void **state)
{
    static const struct {
        int64_t duration_s, until_ms;
        const char *holder;
    } rows[] = {
        {5, RENEW_MS, "another"}, /* our own */
        {2, RENEW_MS, "another"}, /* nobody's is shorter */
        {3, RENEW_MS, "another"},
        {4, 4000, "another"},
        {9, 9000, "another"},
        {0, RENEW_MS, "another"}, /* it says nothing */
        {1, 0, ""},               /* given back */
        {1, RENEW_MS, "another"},
        {2, RENEW_MS, ""}, /* somebody has emptied it */
        {9, 9000, ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct lease_record r = record(rows[i].holder, "r", rows[i].duration_s, "1");

        setup(NULL);
        assert_int_equal(m.others_until_ns, INT64_MAX);
        look(100, &r);
        assert_int_equal(m.others_until_ns, MS(100 + rows[i].until_ms));
        assert_int_equal(m.seen_ns, MS(100));
    }
}

/* Each word of it is a sign of life but what others put into the object, which makes a revision. */
static void seen__again__counts_from_the_last_change(void **state)
{
    struct lease_record first = record("another", "r", 5, "1"), again = first;

    look(0, &first);
    snprintf(again.revision, sizeof(again.revision), "2");
    snprintf(again.acquired, sizeof(again.acquired), "b");
    look(1000, &again);
    assert_true(m.seen_ns == 0 && m.others_until_ns == MS(RENEW_MS));
    for (int i = 0; i < 5; i++) {
        struct lease_record other = first;

        setup(NULL);
        look(0, &first);
        snprintf(i == 0 ? other.uid : i == 1 ? other.holder : other.renewed, 8, "%s", i < 3 ? "x" : "r");
        other.duration_s += i == 3;
        other.transition_n += i == 4;
        look(1000, &other);
        assert_int_equal(m.seen_ns, MS(1000));
        assert_true(m.others_until_ns > MS(RENEW_MS));
    }
}

static void seen__missing__counts_from_the_first_time(void **state)
{
    const struct lease_record long_one = record("another", "r", 9, "1");

    for (int64_t ms = 0; ms <= 1000; ms += 1000) {
        expect(ms, LEASE_GET);
        lease_machine_answered(&m, LEASE_ANSWER_MISSING, NULL, MS(ms), 0);
        assert_true(m.others_until_ns == MS(RENEW_MS) && m.seen_ns == 0);
        m.must_look = true;
    }
    setup(NULL);
    look(0, &long_one);
    expect(1000, LEASE_GET);
    lease_machine_answered(&m, LEASE_ANSWER_MISSING, NULL, MS(1000), 0);
    assert_int_equal(m.others_until_ns, MS(1000 + 9000)); /* whose it was */
}

/* ---- when it is taken ---- */

static void acquires__when_it_has_been_the_same_for_its_own_time(void **state)
{
    static const struct {
        int64_t duration_s, ms;
    } rows[] = {{5, 5000}, {9, 9000}, {0, DURATION_MS}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct lease_record r = record("another", "r", rows[i].duration_s, "1");

        setup(NULL);
        look(100, &r);
        assert_int_equal(m.wake_ns, MS(100 + RETRY_MS));
        expect(100 + RETRY_MS - 1, LEASE_WAIT);
        look(100 + rows[i].ms - 1, &r);
        m.wake_ns = INT64_MIN;
        look(100 + rows[i].ms, &r);
        expect(100 + rows[i].ms, LEASE_UPDATE);
        assert_true(m.next.transition_n == 8 && strcmp(m.next.holder, "me") == 0 && m.next.duration_s == 5);
        assert_string_equal(m.next.acquired, m.next.renewed);
    }
}

/* Of a Lease that is ours already (an earlier write of ours) or nobody's: at once. */
static void acquires__at_once_what_is_nobodys(void **state)
{
    static const char *const holders[] = {"", "me"};

    for (size_t i = 0; i < ARRAY_LEN(holders); i++) {
        const struct lease_record r = record(holders[i], "r", 5, "1");

        setup(NULL);
        look(0, &r);
        expect(0, LEASE_UPDATE);
        assert_int_equal(m.next.transition_n, i == 0 ? 8 : 7);
        assert_string_equal(m.next.acquired, i == 0 ? m.next.renewed : "a");
        expect(1, LEASE_GET); /* a try begins with a look */
    }
    setup(NULL);
    expect(0, LEASE_GET);
    lease_machine_answered(&m, LEASE_ANSWER_MISSING, NULL, MS(0), 0);
    expect(0, LEASE_CREATE);
    assert_int_equal(m.next.transition_n, 0);
}

static void pause__of_one_who_follows__up_to_a_fifth_longer(void **state)
{
    static const struct {
        uint32_t random;
        int64_t ms;
    } rows[] = {{0, RETRY_MS}, {500, RETRY_MS + 100}, {1000, RETRY_MS + 200}, {1001, RETRY_MS}, {2001, RETRY_MS + 200}};
    const struct lease_record r = record("another", "r", 5, "1");

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        setup(NULL);
        expect(0, LEASE_GET);
        lease_machine_answered(&m, LEASE_ANSWER_OBJECT, &r, MS(0), rows[i].random);
        assert_int_equal(m.wake_ns, MS(rows[i].ms));
        expect(rows[i].ms, LEASE_GET);
        lease_machine_answered(&m, LEASE_ANSWER_LOST, NULL, MS(rows[i].ms), rows[i].random);
        assert_int_equal(m.wake_ns, MS(2 * rows[i].ms));
    }
}

/* ---- who leads ---- */

/* From when it was sent, not from the answer; before that nobody before may lead any more. */
static void leads__from_the_end_of_others_until_its_deadline(void **state)
{
    const struct lease_record emptied = record("", "r", 4, "1");

    look(0, &emptied);
    expect(500, LEASE_UPDATE);
    taken(700, "2");
    assert_int_equal(m.leads_until_ns, MS(500 + RENEW_MS));
    assert_int_equal(m.wake_ns, MS(700 + RETRY_MS)); /* without jitter */
    assert_false(lease_machine_leads(&m, MS(3499)));
    for (int64_t ms = 1700; ms <= 3700; ms += RETRY_MS) {
        expect(ms, LEASE_UPDATE);
        taken(ms, ms == 1700 ? "3" : ms == 2700 ? "4" : "5");
    }
    assert_false(lease_machine_leads(&m, MS(4000) - 1));
    assert_true(lease_machine_leads(&m, MS(4000)));
    assert_true(lease_machine_leads(&m, MS(3700 + RENEW_MS) - 1));
    assert_false(lease_machine_leads(&m, MS(3700 + RENEW_MS)));
}

/* That it did not exist is no revision. */
static void leads__of_one_that_it_made__after_a_deadline_of_others(void **state)
{
    expect(0, LEASE_GET);
    lease_machine_answered(&m, LEASE_ANSWER_MISSING, NULL, MS(0), 0);
    expect(0, LEASE_CREATE);
    taken(400, "1");
    assert_int_equal(m.others_until_ns, MS(400 + RENEW_MS));
    assert_int_equal(m.leads_until_ns, MS(RENEW_MS));
}

static void leads__time_is_over__lost(void **state)
{
    lead();
    m.wake_ns = MS(10 * RENEW_MS);
    expect(RENEW_MS - 1, LEASE_WAIT);
    expect(RENEW_MS, LEASE_LOST);
    assert_string_equal(m.why, "it could not be renewed in time");
    expect(RENEW_MS + 1, LEASE_LOST);
}

/* Somebody answers who is no API server, or a webhook has changed it: a success that shows other words is none. */
static void written__another_object_comes_back__not_taken(void **state)
{
    for (int i = 0; i < 3; i++) {
        const struct lease_record released = record("", "r", LEASE_RELEASED_S, "1");
        struct lease_record r;

        setup(NULL);
        look(0, &released);
        expect(0, LEASE_UPDATE);
        r = m.next;
        snprintf(r.revision, sizeof(r.revision), "%d", i == 0 ? 1 : 2);
        snprintf(i == 1 ? r.holder : i == 2 ? r.renewed : r.uid, 8, "x");
        lease_machine_answered(&m, LEASE_ANSWER_OBJECT, &r, MS(10), 0);
        assert_int_equal(m.phase, LEASE_FOLLOWS);
        assert_int_equal(m.wake_ns, MS(10 + RETRY_MS));
        expect(10 + RETRY_MS - 1, LEASE_WAIT);
        expect(10 + RETRY_MS, LEASE_GET);
    }
}

/* Lost answers: the same words again, so that whichever copy lands is known. */
static void renews__no_answer__the_same_words_after_a_look(void **state)
{
    struct lease_record before, sent;

    lead();
    before = m.seen;
    expect(10 + RETRY_MS, LEASE_UPDATE);
    sent = m.next;
    assert_int_equal(sent.transition_n, 8);
    assert_string_equal(sent.acquired, before.acquired);
    assert_string_not_equal(sent.renewed, before.renewed);
    lease_machine_answered(&m, LEASE_ANSWER_LOST, NULL, MS(1100), 0);
    assert_int_equal(m.wake_ns, MS(1100 + RETRY_MS / 4));
    expect(1349, LEASE_WAIT);
    look(1350, &before);
    assert_int_equal(m.phase, LEASE_LEADS);
    expect(1350, LEASE_UPDATE);
    assert_string_equal(m.next.renewed, sent.renewed);
    lease_machine_answered(&m, LEASE_ANSWER_CONFLICT, NULL, MS(1400), 0);
    snprintf(sent.revision, sizeof(sent.revision), "3");
    snprintf(sent.uid, sizeof(sent.uid), "u");
    look(1650, &sent); /* the first copy has landed */
    assert_int_equal(m.phase, LEASE_LEADS);
    assert_int_equal(m.leads_until_ns, MS(RENEW_MS)); /* a read renews nothing */
    expect(1650, LEASE_UPDATE);
    assert_string_not_equal(m.next.renewed, sent.renewed);
}

static void renews__anything_else_has_become_of_it__lost(void **state)
{
    for (int i = 0; i < 5; i++) {
        struct lease_record r;

        setup(NULL);
        lead();
        r = m.seen;
        snprintf(r.revision, sizeof(r.revision), "9");
        snprintf(i == 0 ? r.uid : i == 1 ? r.holder : i == 2 ? r.renewed : r.revision, 8, "x");
        r.duration_s += i == 3;
        r.transition_n += i == 4;
        m.must_look = true;
        look(2000, &r);
        expect(2000, LEASE_LOST);
        assert_string_equal(m.why, "somebody else has changed it");
    }
    setup(NULL);
    lead();
    m.must_look = true;
    expect(2000, LEASE_GET);
    lease_machine_answered(&m, LEASE_ANSWER_MISSING, NULL, MS(2000), 0);
    expect(2000, LEASE_LOST);
    assert_string_equal(m.why, "it was deleted");
}

/* The wall clock of this machine stands still, or was set back. */
static void renews__each_write_differs_from_all_before(void **state)
{
    char before[LEASE_TIME_BYTES];

    lead();
    memcpy(before, m.next.renewed, sizeof(before));
    assert_int_equal(lease_machine_next(&m, MS(1010), WALL_US), LEASE_UPDATE);
    assert_true(strcmp(m.next.renewed, before) > 0);
    taken(1020, "3");
    memcpy(before, m.next.renewed, sizeof(before));
    assert_int_equal(lease_machine_next(&m, MS(2020), WALL_US - 5000000), LEASE_UPDATE);
    assert_true(strcmp(m.next.renewed, before) > 0);
    assert_int_equal(m.last_renewed_us, WALL_US + 2);
}

/* ---- the end ---- */

static void give_back__who_leads__writes_that_it_is_nobodys(void **state)
{
    lead();
    assert_true(lease_machine_give_back(&m, MS(100)));
    expect(100, LEASE_UPDATE);
    assert_true(m.next.holder[0] == '\0' && m.next.duration_s == LEASE_RELEASED_S && m.next.transition_n == 8);
    assert_false(lease_machine_leads(&m, MS(100)));
    taken(200, "3");
    expect(200, LEASE_RELEASED);
    expect(9000, LEASE_RELEASED);
}

/* Before we know that nobody before us leads it would not be true. */
static void give_back__others_may_still_lead__not_given(void **state)
{
    const struct lease_record emptied = record("", "r", 5, "1");

    look(0, &emptied);
    assert_false(lease_machine_give_back(&m, MS(0))); /* it does not lead at all */
    expect(0, LEASE_RELEASED);
    for (int64_t early_ns = 1; early_ns >= 0; early_ns--) {
        setup(NULL);
        look(0, &emptied);
        expect(0, LEASE_UPDATE);
        taken(10, "2");
        assert_int_equal(lease_machine_give_back(&m, MS(RENEW_MS) - early_ns), early_ns == 0);
    }
}

/* A renewal is under way: what came of it is looked at first. */
static void give_back__during_a_renewal__after_it(void **state)
{
    struct lease_record r;

    lead();
    expect(1010, LEASE_UPDATE);
    assert_true(lease_machine_give_back(&m, MS(1020)));
    taken(1030, "3");
    assert_int_equal(m.phase, LEASE_GIVES_BACK);
    expect(1030, LEASE_UPDATE);
    assert_string_equal(m.next.holder, "");
    lease_machine_answered(&m, LEASE_ANSWER_LOST, NULL, MS(1040), 0);
    r = m.next;
    snprintf(r.revision, sizeof(r.revision), "4");
    snprintf(r.uid, sizeof(r.uid), "u");
    look(1040 + RETRY_MS / 4, &r);
    expect(1040 + RETRY_MS / 4, LEASE_RELEASED);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup(f, setup)
    const struct CMUnitTest tests[] = {
        T(seen__of_another__leads_for_its_time_at_most),
        T(seen__again__counts_from_the_last_change),
        T(seen__missing__counts_from_the_first_time),
        T(acquires__when_it_has_been_the_same_for_its_own_time),
        T(acquires__at_once_what_is_nobodys),
        T(pause__of_one_who_follows__up_to_a_fifth_longer),
        T(leads__from_the_end_of_others_until_its_deadline),
        T(leads__of_one_that_it_made__after_a_deadline_of_others),
        T(leads__time_is_over__lost),
        T(written__another_object_comes_back__not_taken),
        T(renews__no_answer__the_same_words_after_a_look),
        T(renews__anything_else_has_become_of_it__lost),
        T(renews__each_write_differs_from_all_before),
        T(give_back__who_leads__writes_that_it_is_nobodys),
        T(give_back__others_may_still_lead__not_given),
        T(give_back__during_a_renewal__after_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
