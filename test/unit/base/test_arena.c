#include "base/arena.h"

#include "base/rng.h"
#include "base/support/unit.h"

#include <string.h>

static void arena_alloc__many_sizes__aligned_and_apart(void **state)
{
    struct arena a;
    struct rng rng;
    unsigned char *objects[500];
    size_t sizes[ARRAY_LEN(objects)];
    arena_init(&a, 64 << 20);
    rng_init(&rng, 1);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < ARRAY_LEN(objects); i++) {
            sizes[i] = rng_below(&rng, i % 50 == 0 ? 100000 : 200);
            objects[i] = arena_alloc(&a, sizes[i]);
            assert_non_null(objects[i]);
            assert_int_equal((uintptr_t)objects[i] % _Alignof(max_align_t), 0);
            memset(objects[i], (int)(i % 251), sizes[i]);
        }
        for (size_t i = 0; i < ARRAY_LEN(objects); i++) {
            for (size_t k = 0; k < sizes[i]; k++) {
                assert_int_equal(objects[i][k], i % 251);
            }
        }
        arena_reset(&a);
        assert_int_equal(a.used_bytes, 0);
    }
    arena_fini(&a);
}

static void arena_alloc__cap_reached__null_until_reset(void **state)
{
    struct arena a;
    arena_init(&a, 64);
    assert_non_null(arena_alloc(&a, 48));
    assert_false(a.overflowed);
    assert_null(arena_alloc(&a, 17));
    assert_true(a.overflowed);
    assert_null(arena_alloc(&a, 1)); /* would fit, but the failure sticks */
    arena_reset(&a);
    assert_false(a.overflowed);
    assert_non_null(arena_alloc(&a, 64));
    assert_null(arena_alloc(&a, 0));
    arena_fini(&a);
}

static void arena_alloc__cap_of_zero__always_null(void **state)
{
    struct arena a;
    arena_init(&a, 0);
    assert_null(arena_alloc(&a, 0));
    arena_fini(&a);
}

static void arena_alloc__absurd_size__null(void **state)
{
    struct arena a;
    arena_init(&a, SIZE_MAX);
    volatile size_t huge = SIZE_MAX; /* hidden from the compiler's own check of sizes */
    assert_null(arena_alloc(&a, huge));
    arena_reset(&a);
    assert_null(arena_calloc(&a, huge / 2, 3));
    assert_true(a.overflowed);
    arena_reset(&a);
    assert_null(arena_cstr(&a, (struct str){"", huge}));
    arena_fini(&a);
}

static void arena_calloc__after_reset__cleared(void **state)
{
    static const unsigned char zeros[256];
    struct arena a;
    arena_init(&a, 4096);
    void *p = arena_alloc(&a, sizeof(zeros));
    assert_non_null(p);
    memset(p, 0xff, sizeof(zeros));
    arena_reset(&a);
    assert_memory_equal(arena_calloc(&a, 16, 16), zeros, sizeof(zeros));
    uint64_t *numbers = ARENA_ARRAY(&a, 4, uint64_t);
    assert_non_null(numbers);
    assert_int_equal(numbers[3], 0);
    assert_non_null(ARENA_NEW(&a, struct str));
    arena_fini(&a);
}

static void arena_text__copies__independent_and_terminated(void **state)
{
    struct arena a;
    char source[] = "hello";
    arena_init(&a, 4096);
    struct str s = arena_str(&a, str_of(source));
    char *c = arena_cstr(&a, (struct str){source, 4});
    struct str f = arena_printf(&a, "%s-%d", source, 42);
    memset(source, 'x', 5);
    expect_text(s, "hello", NULL);
    assert_string_equal(c, "hell");
    expect_text(f, "hello-42", NULL);
    assert_string_equal(f.p, "hello-42");
    struct str nothing = arena_str(&a, STR_NULL);
    assert_int_equal(nothing.n, 0);
    assert_non_null(nothing.p); /* not to be taken for the cap */
    arena_fini(&a);
}

static void arena_text__cap_reached__null_view(void **state)
{
    struct arena a;
    arena_init(&a, 16);
    assert_null(arena_str(&a, STR("0123456789abcdef")).p);
    assert_true(a.overflowed);
    arena_reset(&a);
    assert_null(arena_printf(&a, "%064d", 1).p);
    assert_true(a.overflowed);
    arena_reset(&a);
    assert_null(arena_cstr(&a, STR("0123456789abcdef")));
    arena_reset(&a);
    assert_non_null(arena_cstr(&a, STR("0123456789abcde")));
    arena_fini(&a);
}

static void arena_fini__called_twice__harmless(void **state)
{
    struct arena a;
    arena_init(&a, 1 << 20);
    assert_non_null(arena_alloc(&a, 1 << 19));
    arena_fini(&a);
    arena_fini(&a);
    assert_non_null(arena_alloc(&a, 10));
    arena_fini(&a);
}

static size_t lent_bytes;

static bool lend(struct arena_lender *l, size_t bytes)
{
    (void)l;
    if (lent_bytes + bytes > 100000) {
        return false;
    }
    lent_bytes += bytes;
    return true;
}

static void take_back(struct arena_lender *l, size_t bytes)
{
    (void)l;
    assert_true(bytes <= lent_bytes);
    lent_bytes -= bytes;
}

static void item18__arena_with_a_lender__all_above_the_free_bytes_is_asked_for_and_given_back(void **state)
{
    struct arena_lender lender = {lend, take_back};
    struct arena a, b;

    arena_init_lent(&a, 1 << 20, &lender, 8192);
    arena_init_lent(&b, 1 << 20, &lender, 8192);
    assert_non_null(arena_alloc(&a, 100));
    assert_int_equal(lent_bytes, 0);
    assert_non_null(arena_alloc(&a, 60000));
    assert_true(lent_bytes >= 60000 - 8192);
    assert_null(arena_alloc(&b, 60000));
    assert_true(b.overflowed && b.refused);
    arena_reset(&a);
    assert_int_equal(lent_bytes, 0);
    arena_reset(&b);
    assert_false(b.overflowed || b.refused);
    assert_non_null(arena_alloc(&b, 60000));
    arena_fini(&a);
    arena_fini(&b);
    assert_int_equal(lent_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_alloc__many_sizes__aligned_and_apart),
        cmocka_unit_test(arena_alloc__cap_reached__null_until_reset),
        cmocka_unit_test(arena_alloc__cap_of_zero__always_null),
        cmocka_unit_test(arena_alloc__absurd_size__null),
        cmocka_unit_test(arena_calloc__after_reset__cleared),
        cmocka_unit_test(arena_text__copies__independent_and_terminated),
        cmocka_unit_test(arena_text__cap_reached__null_view),
        cmocka_unit_test(arena_fini__called_twice__harmless),
        cmocka_unit_test(item18__arena_with_a_lender__all_above_the_free_bytes_is_asked_for_and_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
