/* Who waits, for what, and who does not. No duration is asserted: only what happened, and in which order. */
#include "extender/second_look.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static struct store *store;
static struct second_look *look;

static int setup(void **state)
{
    const struct ledger_limits limits = {{1, 2}, 1000, 1000};

    (void)state;
    store = store_new(&limits, clock_system());
    return second_look_new(store, clock_system(), &look, NULL);
}

static int teardown(void **state)
{
    (void)state;
    second_look_free(look);
    look = NULL;
    store_free(store);
    return 0;
}

static void change_ledger(void)
{
    struct ledger_op op = {.kind = LEDGER_PODS_BEGIN};

    assert_int_equal(store_apply(store, &op, NULL), 0);
}

struct asked {
    atomic_int looks;
    atomic_bool last;
    atomic_bool answered;
    int answer_at; /* answers at this look, whatever `last` says */
};

static bool again(void *ctx, bool last)
{
    struct asked *a = ctx;
    int n = atomic_fetch_add(&a->looks, 1) + 1;
    bool answer = last || n == a->answer_at;

    atomic_store(&a->last, last);
    if (answer) {
        atomic_store(&a->answered, true);
    }
    return answer;
}

static void await(struct asked *a)
{
    while (!atomic_load(&a->answered)) {
        usleep(1000);
    }
}

static void second_look__nothing_changes__is_answered_at_last(void **state)
{
    struct asked a = {0};

    (void)state;
    assert_true(second_look_wanted(look, store_generation(store), again, &a));
    await(&a);
    assert_int_equal(a.looks, 1);
    assert_true(a.last);
}

static void second_look__ledger_changes__looks_again_and_may_answer(void **state)
{
    struct asked a = {.answer_at = 1};

    (void)state;
    assert_true(second_look_wanted(look, store_generation(store), again, &a));
    change_ledger();
    await(&a);
    assert_int_equal(a.looks, 1);
}

static void second_look__ledger_was_already_newer__looks_at_once(void **state)
{
    struct asked a = {.answer_at = 1};
    uint64_t seen = store_generation(store);

    (void)state;
    change_ledger();
    assert_true(second_look_wanted(look, seen, again, &a));
    await(&a);
    assert_int_equal(a.looks, 1);
}

static void second_look__flood_of_refusals__most_are_answered_at_once(void **state)
{
    static struct asked a[200];
    int waiting = 0;

    (void)state;
    for (size_t i = 0; i < 200; i++) {
        waiting += second_look_wanted(look, store_generation(store), again, &a[i]);
    }
    assert_in_range(waiting, 1, 40); /* 4 saved up, and what a slow loop earns meanwhile */
    for (int i = 0; i < waiting; i++) {
        await(&a[i]);
    }
}

static void second_look__stopping__answers_everybody(void **state)
{
    struct asked a[3] = {{0}};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_true(second_look_wanted(look, store_generation(store), again, &a[i]));
    }
    second_look_free(look);
    for (size_t i = 0; i < 3; i++) {
        assert_true(a[i].answered);
    }
    assert_int_equal(second_look_new(store, clock_system(), &look, NULL), 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(second_look__nothing_changes__is_answered_at_last),
        T(second_look__ledger_changes__looks_again_and_may_answer),
        T(second_look__ledger_was_already_newer__looks_at_once),
        T(second_look__flood_of_refusals__most_are_answered_at_once),
        T(second_look__stopping__answers_everybody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
