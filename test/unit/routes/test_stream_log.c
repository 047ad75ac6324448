/* The text that all streams read: who reads what, and who is told to read anew, without a server. */
#include "routes/stream_log.h"

#include "base/bug.h"
#include "base/clock.h"
#include "support/cmocka.h"

#include <pthread.h>
#include <string.h>

enum { RING_BYTES = 64, PLACES = 4 };

#define LONG_NS (60 * NS_PER_S)

struct follower {
    struct stream_reader reader;
    char text[4 * RING_BYTES];
    size_t n;
};

static struct stream_log log_;

static int set_up(void **state)
{
    (void)state;
    stream_log_init(&log_, RING_BYTES, PLACES);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    stream_log_fini(&log_);
    return 0;
}

static bool join(struct follower *f, uint64_t generation)
{
    memset(f, 0, sizeof(*f));
    f->reader.until_ns = INT64_MAX;
    return stream_log_join(&log_, generation, &f->reader);
}

/* Reads as far as there is something; what the last read said. */
static ssize_t read_all(struct follower *f)
{
    ssize_t n;

    while ((n = stream_log_read(&f->reader, f->text + f->n, sizeof(f->text) - 1 - f->n, 0)) > 0) {
        f->n += (size_t)n;
        f->text[f->n] = '\0';
    }
    return n;
}

static void batch(uint64_t to, const char *text)
{
    stream_log_begin(&log_, to);
    stream_log_add(&log_, str_of(text));
    stream_log_end(&log_);
}

/* ---- who follows ---- */

static void *wait_for_followers(void *ctx)
{
    size_t *ret = ctx;

    *ret = stream_log_wait(&log_, clock_mono_ns(clock_system()) + LONG_NS);
    return NULL;
}

/* The writer waits with the lock released, having given up the ring before that. */
static void await_that_the_writer_waits(void)
{
    bool waits = false;

    while (!waits) {
        mutex_lock(&log_.lock);
        waits = log_.ring == NULL;
        mutex_unlock(&log_.lock);
    }
}

/* A page that is loaded again: what the writer knew of the cluster is as old as the stream before. */
static void wait__everybody_left_and_somebody_comes_meanwhile__says_that_nobody_followed(void **state)
{
    struct follower before, f;
    pthread_t writer;
    size_t n = 99;

    (void)state;
    assert_true(join(&before, 7));
    stream_log_leave(&before.reader);
    BUG_ON(pthread_create(&writer, NULL, wait_for_followers, &n) != 0);
    await_that_the_writer_waits();
    assert_true(join(&f, 9));
    pthread_join(writer, NULL);
    assert_int_equal(n, 0);
    assert_int_equal(stream_log_wait(&log_, 0), 1);
    assert_int_equal(stream_log_covered(&log_), 9);
    stream_log_leave(&f.reader);
}

/* ---- the end of a stream ---- */

static void finished__read_in_time__all_of_it_and_the_end(void **state)
{
    struct follower f;

    (void)state;
    assert_true(join(&f, 1));
    batch(2, "first ");
    stream_log_finish_all(&log_, STR("last"), 3);
    assert_int_equal(read_all(&f), HTTPD_STREAM_END);
    assert_string_equal(f.text, "first last");
    stream_log_leave(&f.reader);
}

/* Nobody waits for it, so others may have written where it still had to read. */
static void finished__too_slow_and_overwritten__cut_not_the_text_of_others(void **state)
{
    struct follower slow, next;

    (void)state;
    assert_true(join(&slow, 1));
    batch(2, "first ");
    stream_log_finish_all(&log_, STR("last"), 3);
    assert_true(join(&next, 3));
    for (uint64_t to = 4; to < 4 + RING_BYTES / 8; to++) {
        batch(to, "other   ");
        assert_int_equal(read_all(&next), HTTPD_STREAM_WAIT);
    }
    assert_int_equal(read_all(&slow), HTTPD_STREAM_ABORT);
    assert_int_equal(slow.n, 0);
    stream_log_leave(&slow.reader);
    stream_log_leave(&next.reader);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(wait__everybody_left_and_somebody_comes_meanwhile__says_that_nobody_followed),
        TEST(finished__read_in_time__all_of_it_and_the_end),
        TEST(finished__too_slow_and_overwritten__cut_not_the_text_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
