#include "base/bug.h"

#include "base/support/unit.h"

#include <stdlib.h>
#include <string.h>

static void bug_on_true(void)
{
    BUG_ON(1 + 1 == 2);
}

static void bug_on_false(void)
{
    BUG_ON(1 + 1 == 3);
}

static void allocate_too_much(void)
{
    free(xreallocarray(NULL, SIZE_MAX, 2));
}

static void bug__condition_true__aborts(void **state)
{
    assert_true(unit_aborts(bug_on_true));
    assert_false(unit_aborts(bug_on_false));
}

static void xmalloc__size_zero__gives_pointers(void **state)
{
    void *a = xmalloc(0);
    void *b = xcalloc(0, 8);
    void *c = xreallocarray(NULL, 0, 8);
    assert_non_null(a);
    assert_non_null(b);
    assert_non_null(c);
    free(a);
    free(b);
    free(c);
}

static void xcalloc__any_size__is_cleared(void **state)
{
    static const unsigned char zeros[64];
    void *p = xcalloc(8, 8);
    assert_memory_equal(p, zeros, sizeof(zeros));
    free(p);
}

static void xreallocarray__grown__keeps_content(void **state)
{
    char *p = xreallocarray(NULL, 4, 1);
    memcpy(p, "abc", 4);
    p = xreallocarray(p, 1000, 8);
    assert_string_equal(p, "abc");
    free(p);
}

static void xreallocarray__product_overflows__aborts(void **state)
{
    assert_true(unit_aborts(allocate_too_much));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bug__condition_true__aborts),
        cmocka_unit_test(xmalloc__size_zero__gives_pointers),
        cmocka_unit_test(xcalloc__any_size__is_cleared),
        cmocka_unit_test(xreallocarray__grown__keeps_content),
        cmocka_unit_test(xreallocarray__product_overflows__aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
