/* Names of nodes as numbers: in whatever order they come and go, of two the one with the smaller name has the smaller
 * number. Every test ends with ledger_check(), which compares all neighbours. */
#include "base/rng.h"
#include "core/ledger/audit.h"
#include "core/ledger/view.h"
#include "core/support/tested_ledger.h"
#include "support/cmocka.h"

#include <stdio.h>

enum { NAMES = 600 };

static void check(void)
{
    assert_ptr_equal(ledger_check(fx.l), NULL);
}

static void come(const char *prefix, int i)
{
    char name[32];

    snprintf(name, sizeof(name), "%s%04d", prefix, i);
    fixture_node(&fx, name, 1, 1024);
}

static void order__names_from_either_end_and_between_two__stays_that_of_the_names(void **state)
{
    come("a", 0);
    come("z", 0);
    for (int i = 0; i < NAMES; i++) {
        come("m", i);         /* always before the same one */
        come("f", NAMES - i); /* always behind the same one */
        come("zz", i);        /* at the end */
        come("A", NAMES - i); /* in front */
    }
    check();
}

static void order__names_come_and_go_at_random__stays_that_of_the_names(void **state)
{
    struct rng r;
    char name[32];

    rng_init(&r, 7);
    for (int i = 0; i < 4000; i++) {
        snprintf(name, sizeof(name), "%x", (unsigned)rng_below(&r, 700));
        if (rng_below(&r, 3) == 0) {
            assert_int_equal(fixture_name_op(&fx, LEDGER_NODE_GONE, name), 0);
        } else {
            fixture_node(&fx, name, 1, 1024);
        }
        if (i % 100 == 0) {
            check();
        }
    }
    check();
}

static void order__seen_in_a_view__agrees_with_the_names(void **state)
{
    static const char *const names[] = {"node-10", "node-9", "node-1", "node", "Node-2", "node-1a"};
    const size_t n = sizeof(names) / sizeof(names[0]);
    struct ledger_view v;
    struct demand d = SHARE_OF(100);

    for (size_t i = 0; i < n; i++) {
        fixture_node(&fx, names[i], 1, 1024);
    }
    assert_int_equal(ledger_view(fx.l, &fx.arena, VIEW_POD("me", &d), &v, NULL), 0);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            const struct node_state *a = ledger_view_find(&v, str_of(names[i])),
                                    *b = ledger_view_find(&v, str_of(names[j]));

            assert_int_equal(a->name_order < b->name_order, str_cmp(str_of(names[i]), str_of(names[j])) < 0);
        }
    }
}

int main(void)
{
#define T(f) EMPTY_LEDGER_TEST(f)
    const struct CMUnitTest tests[] = {
        T(order__names_from_either_end_and_between_two__stays_that_of_the_names),
        T(order__names_come_and_go_at_random__stays_that_of_the_names),
        T(order__seen_in_a_view__agrees_with_the_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
