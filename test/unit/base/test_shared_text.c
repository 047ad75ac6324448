#include "base/shared_text.h"

#include "base/support/unit.h"

#include <pthread.h>
#include <string.h>

static void shared_text__dropped_by_the_first__read_by_the_second(void **state)
{
    char source[] = "node-a";
    struct str a = shared_text_new(str_of(source)), b = shared_text_take(a);

    memset(source, 'x', sizeof(source) - 1);
    assert_ptr_equal(a.p, b.p);
    shared_text_drop(a);
    expect_text(b, "node-a", NULL);
    shared_text_drop(b);
}

static void shared_text__empty__nothing_to_hold(void **state)
{
    struct str e = shared_text_new(STR(""));

    assert_int_equal(e.n, 0);
    assert_int_equal(shared_text_take(e).n, 0);
    shared_text_drop(e);
    shared_text_drop(STR_NULL);
}

static void *hold_and_let_go(void *arg)
{
    const struct str *mine = arg;

    for (int i = 0; i < 100000; i++) {
        shared_text_drop(shared_text_take(*mine));
    }
    shared_text_drop(*mine);
    return NULL;
}

/* Meant for the sanitizers: two threads that hold one text, and whichever ends last frees it. */
static void shared_text__held_by_two_threads__freed_once(void **state)
{
    struct str a = shared_text_new(STR("node-a")), b = shared_text_take(a);
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, hold_and_let_go, &b), 0);
    hold_and_let_go(&a);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_text__dropped_by_the_first__read_by_the_second),
        cmocka_unit_test(shared_text__empty__nothing_to_hold),
        cmocka_unit_test(shared_text__held_by_two_threads__freed_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
