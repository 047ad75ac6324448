/* How much may be said: about one object, and about all of them. */
#include "extender/seldom.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define MS INT64_C(1000000)

static void seldom__one_object__once_in_its_time(void **state)
{
    struct seldom *s = seldom_new();
    unsigned said = 0;

    (void)state;
    for (int64_t ms = 0; ms < 3 * SELDOM_OBJECT_MS; ms += 1000) {
        said += seldom_may_say(s, STR("a"), ms * MS);
    }
    assert_int_equal(said, 3);
    seldom_free(s);
}

static void seldom__many_objects__bounded_together(void **state)
{
    struct seldom *s = seldom_new();
    unsigned said = 0;

    (void)state;
    for (int i = 0; i < 5000; i++) {
        char name[16];

        snprintf(name, sizeof(name), "%d", i);
        said += seldom_may_say(s, str_of(name), 0);
    }
    assert_int_equal(said, SELDOM_ALL_N);
    assert_true(seldom_may_say(s, STR("later"), SELDOM_ALL_MS * MS));
    seldom_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seldom__one_object__once_in_its_time),
        cmocka_unit_test(seldom__many_objects__bounded_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
