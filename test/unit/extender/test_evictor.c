/* Who is asked to go, how often, and what is said of a refusal. The API server's answers are the test's, and so is the
 * clock. */
#include "extender/evictor.h"

#include "base/compiler.h"
#include "extender/support/fake_client.h"
#include "extender/support/warnings.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static struct clock_manual now;
static struct evictor *evictor;
static unsigned replies[EVICTION_REPLY__MAX];

static void observe(void *ctx, enum eviction_reply r)
{
    replies[r]++;
}

static int setup(void **state)
{
    fake_client_reset();
    warnings_reset();
    memset(replies, 0, sizeof(replies));
    clock_manual_init(&now, 1000 * NS_PER_S, 0);
    evictor = evictor_new(NULL, &now.clock, &warnings_log, observe, NULL);
    return 0;
}

static int teardown(void **state)
{
    evictor_free(evictor);
    return 0;
}

static void evict(const char *uid)
{
    evictor_evict(evictor, &(struct pool_pod){.uid = str_of(uid), .namespace_ = STR("ns"), .name = str_of(uid)});
}

static unsigned asked(const char *uid)
{
    char end[96];

    snprintf(end, sizeof(end), "/namespaces/ns/pods/%s/eviction", uid);
    return fake_client_pending("POST", end);
}

static void answer(const char *uid, int status, int64_t retry_after_ms)
{
    char end[96];

    snprintf(end, sizeof(end), "/pods/%s/eviction", uid);
    fake_client_answer("POST", end, status, retry_after_ms, "{}");
}

static void expect_trouble(const char *uid, const char *want)
{
    char trouble[EVICTION_TROUBLE_MAX];

    memset(trouble, 'x', sizeof(trouble));
    evictor_trouble(evictor, str_of(uid), trouble);
    assert_string_equal(trouble, want);
}

/* It is asked again after so long, and not before. */
static void expect_pause_ms(const char *uid, int64_t ms)
{
    clock_manual_advance_ms(&now, ms - 1);
    evict(uid);
    assert_int_equal(asked(uid), 0);
    clock_manual_advance_ms(&now, 1);
    evict(uid);
    assert_int_equal(asked(uid), 1);
}

static void evict__said_again_and_again__asked_once(void **state)
{
    evict("a");
    evict("a");
    evict("b");
    assert_int_equal(asked("a"), 1);
    assert_int_equal(asked("b"), 1);
    assert_true(fake_client_body_has("POST", "/pods/a/eviction", "\"uid\":\"a\""));
    assert_int_equal(fake_client_deadline_ms("POST", "/pods/a/eviction"), 10000);
    clock_manual_advance_ms(&now, 3600 * 1000);
    evict("a"); /* it is not answered yet */
    assert_int_equal(asked("a"), 1);
    expect_trouble("a", "");
    answer("a", 201, KUBE_NO_RETRY_AFTER);
    answer("b", 404, KUBE_NO_RETRY_AFTER);
    assert_int_equal(replies[EVICTION_ACCEPTED], 1);
    assert_int_equal(replies[EVICTION_GONE], 1);
    assert_int_equal(warnings(), 0);
    expect_pause_ms("a", EVICTION_FORBIDDEN_MS); /* it is going; if it is still there then, once more */
    answer("a", 200, KUBE_NO_RETRY_AFTER);
    expect_trouble("", "");
    expect_trouble("nobody", "");
}

static void evict__refused__said_and_tried_again_later(void **state)
{
    static const struct {
        int status;
        int64_t retry_after_ms, pause_ms;
        const char *trouble;
        enum eviction_reply reply;
    } rows[] = {
        {429, KUBE_NO_RETRY_AFTER, EVICTION_RETRY_MS, "the API server refuses it for now", EVICTION_HELD},
        {429, 3000, EVICTION_RETRY_MS, "the API server refuses it for now", EVICTION_HELD},
        {429, 45000, 45000, "the API server refuses it for now", EVICTION_HELD},
        {500, KUBE_NO_RETRY_AFTER, EVICTION_RETRY_MS, "no usable answer", EVICTION_FAILED},
        {403, KUBE_NO_RETRY_AFTER, EVICTION_FORBIDDEN_MS, "fgpu has no right to evict pods; see manifests/drain",
         EVICTION_FORBIDDEN},
    };

    evict("a");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const unsigned before = replies[rows[i].reply];

        answer("a", rows[i].status, rows[i].retry_after_ms);
        expect_trouble("a", rows[i].trouble);
        assert_int_equal(replies[rows[i].reply], before + 1);
        assert_int_equal(warnings(), i + 1);
        expect_pause_ms("a", rows[i].pause_ms);
    }
    answer("a", 201, KUBE_NO_RETRY_AFTER);
    expect_trouble("a", "");
}

static void evict__no_answer__the_transports_words(void **state)
{
    evict("a");
    fake_client_end("POST", "/pods/a/eviction", KUBE_LOST);
    expect_trouble("a", "no usable answer: of the test");
    assert_int_equal(replies[EVICTION_FAILED], 1);
    expect_pause_ms("a", EVICTION_RETRY_MS);
    fake_client_end("POST", "/pods/a/eviction", KUBE_CANCELLED); /* we are stopping: nobody is told */
    assert_int_equal(replies[EVICTION_FAILED], 1);
    assert_int_equal(warnings(), 1);
}

static void evict__cannot_be_asked_for__said_and_tried_again(void **state)
{
    fake_client_refuse(true);
    evict("a");
    expect_trouble("a", "it cannot be asked for: too many calls");
    fake_client_refuse(false);
    expect_pause_ms("a", EVICTION_RETRY_MS);
    answer("a", 201, KUBE_NO_RETRY_AFTER);
    expect_trouble("a", "");
}

static void evict__uid_of_no_api_server__never(void **state)
{
    char uid[80];

    memset(uid, 'u', sizeof(uid));
    uid[64] = '\0';
    evict(uid);
    assert_int_equal(asked(uid), 0);
    evict("");
    assert_int_equal(fake_client_pending("POST", "/eviction"), 0);
    uid[63] = '\0';
    evict(uid);
    assert_int_equal(asked(uid), 1);
    answer(uid, 201, KUBE_NO_RETRY_AFTER);
}

/* So many are remembered; one more waits until one of them may be asked again, which is forgotten then. */
static void evict__more_than_are_remembered__wait_their_turn(void **state)
{
    char uid[16];

    for (int i = 0; i < EVICTIONS_MAX; i++) {
        snprintf(uid, sizeof(uid), "p%d", i);
        evict(uid);
        assert_int_equal(asked(uid), 1);
        answer(uid, i == 0 ? 500 : 201, KUBE_NO_RETRY_AFTER);
    }
    evict("late");
    assert_int_equal(asked("late"), 0);
    expect_trouble("p0", "no usable answer");
    expect_pause_ms("late", EVICTION_RETRY_MS);
    expect_trouble("p0", "");
    expect_trouble("late", "");
    evict("later"); /* the one place that was due is under way */
    assert_int_equal(asked("later"), 0);
    answer("late", 201, KUBE_NO_RETRY_AFTER);
    evictor_free(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(evict__said_again_and_again__asked_once), TEST(evict__refused__said_and_tried_again_later),
        TEST(evict__no_answer__the_transports_words),  TEST(evict__cannot_be_asked_for__said_and_tried_again),
        TEST(evict__uid_of_no_api_server__never),      TEST(evict__more_than_are_remembered__wait_their_turn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
