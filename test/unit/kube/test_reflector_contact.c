/* How old our news are (design.md 3.1.7): on a clock of our own, without a byte of network. */
#include "kube/reflector.h"

#include "base/bug.h"
#include "base/compiler.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#define S INT64_C(1000000000)
#define STALE (20 * S)

struct fixture {
    struct rng rng;
    struct reflector *r;
    const struct reflector_stats *stats;
    int64_t now;
};

#define PAGE "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[]}"
#define EVENT "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"11\"}}}\n"
#define LIST_END                                                                                                       \
    "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"12\",\"annotations\":"                     \
    "{\"k8s.io/initial-events-end\":\"true\"}}}}\n"

static struct kube_outcome outcome(enum kube_outcome_kind kind, int status)
{
    return (struct kube_outcome){
        .kind = kind, .http_status = status, .retry_after_ms = KUBE_NO_RETRY_AFTER, .detail = "as scripted"};
}

static void done(struct fixture *f, enum kube_outcome_kind kind, int status)
{
    struct kube_outcome o = outcome(kind, status);

    reflector_done(f->r, f->now, &o);
}

static int checked(struct fixture *f, enum kube_outcome_kind kind, int status)
{
    struct kube_outcome o = outcome(kind, status);

    return reflector_checked(f->r, f->now, &o, NULL);
}

static void feed(struct fixture *f, const char *text)
{
    assert_int_equal(reflector_feed(f->r, f->now, str_of(text), NULL), 0);
}

/* The next exchange, after whatever wait. */
static enum reflector_action next(struct fixture *f)
{
    struct reflector_step step;

    reflector_next(f->r, f->now, &step);
    if (step.action == REFLECTOR_WAIT) {
        f->now = step.wait_until_ns;
        reflector_next(f->r, f->now, &step);
    }
    return step.action;
}

static void begin(struct fixture *f)
{
    static const struct reflector_handler nobody = {0};

    rng_init(&f->rng, 7);
    f->now = 1000 * S;
    f->r = reflector_new(KUBE_PODS, &nobody, &f->rng);
    f->stats = reflector_stats(f->r);
    reflector_set_stale_after(f->r, STALE);
    reflector_list_in_pages(f->r);
}

/* Listed, and a watch was asked for. */
static void begin_listed(struct fixture *f)
{
    begin(f);
    assert_int_equal(next(f), REFLECTOR_LIST);
    feed(f, PAGE);
    done(f, KUBE_ANSWERED, 200);
    assert_int_equal(next(f), REFLECTOR_WATCH);
}

static void contact__lists_without_a_watch__are_none(void **state)
{
    struct fixture f;
    begin_listed(&f);
    assert_int_equal(f.stats->last_contact_ns, 0);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(reflector_check_due_ns(f.r), INT64_MAX); /* nothing is open that could be silent */
        done(&f, KUBE_ANSWERED, 403);
        assert_int_equal(f.stats->trouble, REFLECTOR_FORBIDDEN);
        assert_string_equal(f.stats->trouble_verb, "watch");
        assert_non_null(strstr(f.stats->trouble_text, "403"));
        assert_int_equal(f.stats->trouble_n, i + 1);
        assert_int_equal(next(&f), REFLECTOR_LIST);
        feed(&f, PAGE);
        done(&f, KUBE_ANSWERED, 200);
        assert_int_equal(next(&f), REFLECTOR_WATCH);
    }
    assert_int_equal(f.stats->last_contact_ns, 0);
    assert_int_equal(f.stats->trouble, REFLECTOR_FORBIDDEN);
    reflector_free(f.r);
}

static void contact__bytes_on_the_open_watch__are_one(void **state)
{
    struct fixture f;
    begin_listed(&f);
    feed(&f, EVENT);
    assert_int_equal(f.stats->last_contact_ns, f.now);
    f.now += 3 * S;
    feed(&f, "{\"type\":"); /* a piece of one */
    assert_int_equal(f.stats->last_contact_ns, f.now);
    assert_int_equal(reflector_check_due_ns(f.r), f.now + STALE / 4);
    reflector_free(f.r);
}

static void contact__bytes_that_cannot_be_read__are_none(void **state)
{
    struct fixture f;
    begin_listed(&f);
    assert_true(
        reflector_feed(f.r, f.now, STR("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"x\"}}\n"), NULL) < 0);
    done(&f, KUBE_ABORTED, 200);
    assert_int_equal(f.stats->last_contact_ns, 0);
    assert_int_equal(f.stats->trouble, REFLECTOR_UNREADABLE);
    assert_non_null(strstr(f.stats->trouble_text, "x: JSON at byte")); /* which object it was */
    reflector_free(f.r);
}

static void contact__silent_open_watch__asks_every_quarter_and_an_answer_is_one(void **state)
{
    struct fixture f;
    begin_listed(&f);
    assert_int_equal(reflector_check_due_ns(f.r), INT64_MAX); /* not open yet */
    reflector_opened(f.r);
    for (int i = 0; i < 6; i++) {
        int64_t due = reflector_check_due_ns(f.r);

        if (i == 0) {
            assert_true(due <= f.now); /* the first at once */
        } else {
            assert_int_equal(due, f.now - S + STALE / 4);
            f.now = due;
        }
        int64_t asked = f.now;
        assert_string_equal(reflector_begin_check(f.r, f.now), "/api/v1/pods?limit=1");
        assert_int_equal(reflector_check_ms(f.r), 5000);
        assert_int_equal(reflector_check_due_ns(f.r), INT64_MAX); /* one at a time */
        f.now += S;
        assert_int_equal(checked(&f, i == 3 ? KUBE_TOO_LARGE : KUBE_ANSWERED, 200), 0);
        assert_int_equal(f.stats->last_contact_ns, asked); /* as new as the question */
    }
    assert_int_equal(f.stats->check_n, 6);
    reflector_free(f.r);
}

static void contact__check_fails__none_and_the_next_success_replaces_the_watch(void **state)
{
    struct fixture f;
    struct reflector_step step;
    begin_listed(&f);
    feed(&f, EVENT);
    int64_t heard = f.now;
    for (int i = 0; i < 3; i++) {
        f.now = reflector_check_due_ns(f.r);
        reflector_begin_check(f.r, f.now);
        assert_int_equal(checked(&f, KUBE_NOT_SENT, 0), 0);
        assert_int_equal(f.stats->last_contact_ns, heard);
        assert_int_equal(f.stats->trouble, REFLECTOR_UNREACHABLE);
        assert_string_equal(f.stats->trouble_verb, "check");
    }
    f.now = reflector_check_due_ns(f.r);
    reflector_begin_check(f.r, f.now);
    assert_true(checked(&f, KUBE_ANSWERED, 200) < 0);
    assert_int_equal(f.stats->last_contact_ns, heard); /* nobody knows whether that watch still lives */
    done(&f, KUBE_ABORTED, 200);
    reflector_next(f.r, f.now, &step); /* not a list: a probe at once, then on from the cursor */
    assert_int_equal(step.action, REFLECTOR_LIST);
    assert_non_null(strstr(step.path, "resourceVersion=11"));
    done(&f, KUBE_ANSWERED, 200);
    assert_int_equal(next(&f), REFLECTOR_WATCH);
    reflector_opened(f.r);
    assert_true(reflector_check_due_ns(f.r) <= f.now + STALE / 4);
    reflector_free(f.r);
}

static void contact__event_after_a_failed_check__makes_the_watch_trusted_again(void **state)
{
    struct fixture f;
    begin_listed(&f);
    reflector_opened(f.r);
    reflector_begin_check(f.r, f.now);
    assert_int_equal(checked(&f, KUBE_ANSWERED, 503), 0);
    assert_int_equal(f.stats->trouble, REFLECTOR_REFUSED);
    feed(&f, EVENT);
    assert_int_equal(f.stats->trouble, REFLECTOR_FINE);
    f.now = reflector_check_due_ns(f.r);
    reflector_begin_check(f.r, f.now);
    assert_int_equal(checked(&f, KUBE_ANSWERED, 200), 0);
    assert_int_equal(f.stats->last_contact_ns, f.now);
    reflector_free(f.r);
}

static void contact__answer_that_comes_when_its_watch_is_over__counts_for_nothing(void **state)
{
    struct fixture f;
    begin_listed(&f);
    reflector_opened(f.r);
    reflector_begin_check(f.r, f.now);
    done(&f, KUBE_ANSWERED, 429);
    assert_int_equal(next(&f), REFLECTOR_WATCH);
    assert_int_equal(checked(&f, KUBE_ANSWERED, 200), 0);
    assert_int_equal(f.stats->last_contact_ns, 0);
    reflector_free(f.r);
}

static void contact__watch_list__none_before_its_end(void **state)
{
    static const struct reflector_handler nobody = {0};
    struct fixture f = {.now = 1000 * S};
    rng_init(&f.rng, 7);
    f.r = reflector_new(KUBE_NODES, &nobody, &f.rng);
    f.stats = reflector_stats(f.r);
    reflector_set_stale_after(f.r, STALE);
    assert_int_equal(next(&f), REFLECTOR_WATCH);
    reflector_opened(f.r);
    feed(&f, EVENT);
    assert_int_equal(f.stats->last_contact_ns, 0);
    assert_int_equal(reflector_check_due_ns(f.r), INT64_MAX);
    f.now += S;
    feed(&f, LIST_END);
    assert_int_equal(f.stats->last_contact_ns, f.now);
    f.now = reflector_check_due_ns(f.r);
    assert_string_equal(reflector_begin_check(f.r, f.now), "/api/v1/nodes?limit=1");
    reflector_free(f.r);
}

static void silence__of_a_watch_on_a_live_server__two_minutes_then_another(void **state)
{
    struct fixture f;
    struct reflector_step step;
    begin_listed(&f);
    reflector_opened(f.r);
    assert_int_equal(reflector_silence_ms(f.r), 120000);
    done(&f, KUBE_SILENT, 200);
    assert_int_equal(f.stats->trouble_n, 0); /* a quiet cluster is healthy */
    reflector_next(f.r, f.now, &step);
    assert_int_equal(step.action, REFLECTOR_LIST);
    done(&f, KUBE_ANSWERED, 200);
    assert_int_equal(next(&f), REFLECTOR_WATCH);
    reflector_free(f.r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contact__lists_without_a_watch__are_none),
        cmocka_unit_test(contact__bytes_on_the_open_watch__are_one),
        cmocka_unit_test(contact__bytes_that_cannot_be_read__are_none),
        cmocka_unit_test(contact__silent_open_watch__asks_every_quarter_and_an_answer_is_one),
        cmocka_unit_test(contact__check_fails__none_and_the_next_success_replaces_the_watch),
        cmocka_unit_test(contact__event_after_a_failed_check__makes_the_watch_trusted_again),
        cmocka_unit_test(contact__answer_that_comes_when_its_watch_is_over__counts_for_nothing),
        cmocka_unit_test(contact__watch_list__none_before_its_end),
        cmocka_unit_test(silence__of_a_watch_on_a_live_server__two_minutes_then_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
