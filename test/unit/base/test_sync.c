#define _GNU_SOURCE /* pthread_getname_np, pthread_setattr_default_np */

#include "base/sync.h"

#include "base/clock.h"
#include "base/support/unit.h"

#include <signal.h>
#include <string.h>

static struct mutex lock, other, outermost;
static struct condvar changed;

static int set_up(void **state)
{
    mutex_init(&lock, "leaf");
    mutex_init(&other, "another leaf");
    mutex_init(&outermost, "config apply");
    condvar_init(&changed, "leaf changed");
    return 0;
}

static int tear_down(void **state)
{
    condvar_destroy(&changed);
    mutex_destroy(&outermost);
    mutex_destroy(&other);
    mutex_destroy(&lock);
    return 0;
}

/* ---- locks ---- */

enum { ROUNDS = 2000 };

static void *count(void *counter)
{
    for (int i = 0; i < ROUNDS; i++) {
        mutex_lock(&lock);
        ++*(int *)counter;
        mutex_unlock(&lock);
    }
    return NULL;
}

static void mutex__several_threads__one_at_a_time(void **state)
{
    struct thread threads[4];
    int counter = 0;
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        assert_int_equal(thread_start(&threads[i], "count", count, &counter, NULL), 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        thread_join(&threads[i]);
    }
    assert_int_equal(counter, (int)ARRAY_LEN(threads) * ROUNDS);
}

static void destroy_what_is_held(void)
{
    mutex_lock(&lock);
    mutex_destroy(&lock);
}

static void mutex__call_fails__bug_says_which_lock(void **state)
{
    expect_bug(destroy_what_is_held, "mutex_destroy(\"leaf\"): Device or resource busy");
}

static void take_what_was_never_made(void)
{
    struct mutex m = {0};

    mutex_lock(&m);
}

static void destroy_what_was_never_made(void)
{
    struct mutex m = {0};

    mutex_destroy(&m);
}

static struct condvar never_made;

static void wake_what_was_never_made(void)
{
    condvar_broadcast(&never_made);
}

static void signal_what_was_never_made(void)
{
    condvar_signal(&never_made);
}

static void end_what_was_never_made(void)
{
    condvar_destroy(&never_made);
}

static void wait_for_what_was_never_made(void)
{
    mutex_lock(&lock);
    condvar_wait(&never_made, &lock);
}

static void wait_a_while_for_what_was_never_made(void)
{
    mutex_lock(&lock);
    (void)condvar_wait_until(&never_made, &lock, 1);
}

static void any__never_made__bug(void **state)
{
    expect_bug(take_what_was_never_made, "mutex_lock(\"never made\"): Invalid argument");
    expect_bug(destroy_what_was_never_made, "mutex_destroy(\"never made\")");
    expect_bug(wake_what_was_never_made, "condvar_broadcast(\"never made\")");
    expect_bug(signal_what_was_never_made, "condvar_signal(\"never made\")");
    expect_bug(end_what_was_never_made, "condvar_destroy(\"never made\")");
    expect_bug(wait_for_what_was_never_made, "condvar_wait(\"never made\")");
    expect_bug(wait_a_while_for_what_was_never_made, "condvar_wait_until(\"never made\")");
}

/* The leak sanitizer sees what lives between the two; without it this shows that it is there. */
static void any__made__has_a_witness_until_destroyed(void **state)
{
    struct mutex m;
    struct condvar c;

    mutex_init(&m, "m");
    condvar_init(&c, "c");
    assert_non_null(m.witness);
    assert_non_null(c.witness);
    condvar_destroy(&c);
    mutex_destroy(&m);
    assert_null(m.witness);
    assert_null(c.witness);
}

/* ---- their order ---- */

static void take_inner_then_outer(void)
{
    mutex_lock(&lock);
    mutex_lock(&outermost);
}

static void take_two_leaves(void)
{
    mutex_lock(&lock);
    mutex_lock(&other);
}

static void take_twice(void)
{
    mutex_lock(&outermost);
    mutex_lock(&outermost);
}

static void release_what_is_not_held(void)
{
    mutex_lock(&lock);
    mutex_unlock(&other);
}

static void wait_while_holding_another(void)
{
    mutex_lock(&outermost);
    mutex_lock(&lock);
    condvar_wait(&changed, &lock);
}

static void lock_order__as_in_the_table__goes_on(void **state)
{
    mutex_lock(&outermost);
    mutex_lock(&lock);
    mutex_unlock(&outermost); /* in any order */
    mutex_unlock(&lock);
    mutex_lock(&outermost); /* nothing is left behind */
    mutex_unlock(&outermost);
}

static void lock_order__broken__bug_names_both(void **state)
{
    expect_bug(take_inner_then_outer, "takes the lock \"config apply\" while holding \"leaf\"");
    expect_bug(take_two_leaves, "takes the lock \"another leaf\" while holding \"leaf\"");
    expect_bug(take_twice, "takes the lock \"config apply\" while holding \"config apply\"");
    expect_bug(release_what_is_not_held, "mutex_unlock(\"another leaf\")");
    expect_bug(wait_while_holding_another, "waits with the lock \"leaf\" while holding \"config apply\"");
}

/* ---- conditions ---- */

static void *raise_flag(void *flag)
{
    mutex_lock(&lock);
    *(bool *)flag = true;
    condvar_signal(&changed);
    mutex_unlock(&lock);
    return NULL;
}

static void condvar_wait__signalled__returns_with_the_lock(void **state)
{
    struct thread t;
    bool flag = false;
    mutex_lock(&lock);
    assert_int_equal(thread_start(&t, "raise", raise_flag, &flag, NULL), 0);
    while (!flag) {
        condvar_wait(&changed, &lock);
    }
    mutex_unlock(&lock);
    thread_join(&t);
}

static void condvar_wait_until__signalled__is_in_time(void **state)
{
    static const int64_t ends[] = {INT64_MAX, INT64_MAX - 1};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct thread t;
        bool flag = false, in_time = false;
        mutex_lock(&lock);
        assert_int_equal(thread_start(&t, "raise", raise_flag, &flag, NULL), 0);
        while (!flag) {
            in_time = condvar_wait_until(&changed, &lock, ends[i]);
        }
        mutex_unlock(&lock);
        thread_join(&t);
        assert_true(in_time);
    }
}

static void condvar_wait_until__moment_passed__says_so(void **state)
{
    const int64_t now_ns = clock_mono_ns(clock_system());
    const int64_t past[] = {now_ns, 1, 0, -1, INT64_MIN};
    mutex_lock(&lock);
    for (size_t i = 0; i < ARRAY_LEN(past); i++) {
        assert_false(condvar_wait_until(&changed, &lock, past[i]));
    }
    /* The clock is the monotonic one: by the wall clock this moment passed decades ago. */
    const int64_t soon_ns = sync_in_ns(2000000);
    while (condvar_wait_until(&changed, &lock, soon_ns)) {
    }
    assert_true(clock_mono_ns(clock_system()) >= soon_ns);
    mutex_unlock(&lock);
}

static void sync_in_ns__any_span__never_wraps(void **state)
{
    const int64_t before_ns = clock_mono_ns(clock_system());
    assert_true(sync_in_ns(NS_PER_S) >= before_ns + NS_PER_S);
    assert_true(sync_in_ns(INT64_MAX) == INT64_MAX);
    assert_true(sync_in_ns(-NS_PER_S) >= before_ns);
}

/* ---- threads ---- */

static void *look_at_myself(void *ctx)
{
    sigset_t *blocked = ctx;
    pthread_sigmask(SIG_SETMASK, NULL, blocked);
    return NULL;
}

static void thread_start__any__leaves_signals_to_the_caller(void **state)
{
    struct thread t;
    sigset_t theirs, ours;
    assert_int_equal(thread_start(&t, "look", look_at_myself, &theirs, NULL), 0);
    thread_join(&t);
    pthread_sigmask(SIG_SETMASK, NULL, &ours);
    assert_true(sigismember(&theirs, SIGTERM));
    assert_false(sigismember(&ours, SIGTERM));
}

static void thread_start__running__shows_its_name(void **state)
{
    struct thread t;
    bool flag = false;
    char name[16];
    mutex_lock(&lock); /* it waits for this, so it still runs */
    assert_int_equal(thread_start(&t, "fifteen-letters", raise_flag, &flag, NULL), 0);
    assert_int_equal(pthread_getname_np(t.os, name, sizeof(name)), 0);
    mutex_unlock(&lock);
    thread_join(&t);
    assert_string_equal(name, "fifteen-letters");
    assert_string_equal(t.name, "fifteen-letters");
}

static void thread_start__machine_gives_none__error_names_it(void **state)
{
    struct thread t = {.name = "untouched"};
    struct err e = {0};
    pthread_attr_t usual, huge;
    bool flag = false;
    assert_int_equal(pthread_getattr_default_np(&usual), 0);
    assert_int_equal(pthread_attr_init(&huge), 0);
    assert_int_equal(pthread_attr_setstacksize(&huge, (size_t)1 << 50), 0); /* more than an address space */
    assert_int_equal(pthread_setattr_default_np(&huge), 0);
    int rc = thread_start(&t, "giant", raise_flag, &flag, &e);
    assert_int_equal(pthread_setattr_default_np(&usual), 0);
    assert_int_equal(pthread_attr_destroy(&huge), 0);
    assert_int_equal(pthread_attr_destroy(&usual), 0);
    assert_int_equal(rc, -ERR_INTERNAL);
    assert_non_null(strstr(e.msg, "cannot start the thread \"giant\": "));
    assert_string_equal(t.name, "untouched");
}

/* ---- once ---- */

static int calls;

static void count_call(void)
{
    calls++;
}

static void once_run__again__runs_once(void **state)
{
    static struct once once = ONCE_INIT;
    once_run(&once, count_call);
    once_run(&once, count_call);
    assert_int_equal(calls, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mutex__several_threads__one_at_a_time),
        cmocka_unit_test(mutex__call_fails__bug_says_which_lock),
        cmocka_unit_test(any__never_made__bug),
        cmocka_unit_test(any__made__has_a_witness_until_destroyed),
        cmocka_unit_test(lock_order__as_in_the_table__goes_on),
        cmocka_unit_test(lock_order__broken__bug_names_both),
        cmocka_unit_test(condvar_wait__signalled__returns_with_the_lock),
        cmocka_unit_test(condvar_wait_until__signalled__is_in_time),
        cmocka_unit_test(condvar_wait_until__moment_passed__says_so),
        cmocka_unit_test(sync_in_ns__any_span__never_wraps),
        cmocka_unit_test(thread_start__any__leaves_signals_to_the_caller),
        cmocka_unit_test(thread_start__running__shows_its_name),
        cmocka_unit_test(thread_start__machine_gives_none__error_names_it),
        cmocka_unit_test(once_run__again__runs_once),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
