#include "base/rng.h"

#include "base/support/unit.h"

#include <string.h>

static void rng_u64__state_one_to_four__known_sequence(void **state)
{
    struct rng r = {.s = {1, 2, 3, 4}};
    /* by hand: rotl(2 * 5, 7) * 9, then with s[1] = 0, then with s[1] = 262149 */
    assert_int_equal(rng_u64(&r), 11520);
    assert_int_equal(rng_u64(&r), 0);
    assert_int_equal(rng_u64(&r), 1509978240);
}

static void rng_init__same_seed__same_run(void **state)
{
    struct rng a, b, c;
    rng_init(&a, 42);
    rng_init(&b, 42);
    rng_init(&c, 43);
    bool differs = false;
    for (int i = 0; i < 100; i++) {
        uint64_t v = rng_u64(&a);
        assert_int_equal(rng_u64(&b), v);
        differs |= rng_u64(&c) != v;
    }
    assert_true(differs);
}

static void rng_init__seed_zero__not_stuck(void **state)
{
    struct rng r;
    rng_init(&r, 0);
    /* the first output of splitmix64 from seed 0, as published */
    assert_int_equal(r.s[0], 0xe220a8397b1dcdafU);
    assert_true(rng_u64(&r) != rng_u64(&r));
}

static void rng_below__small_range__even(void **state)
{
    struct rng r;
    unsigned counts[6] = {0};
    rng_init(&r, 7);
    for (int i = 0; i < 60000; i++) {
        uint64_t v = rng_below(&r, 6);
        assert_true(v < 6);
        counts[v]++;
    }
    for (size_t i = 0; i < 6; i++) {
        assert_in_range(counts[i], 9500, 10500); /* fixed seed: the same on every run */
    }
}

static void rng_below__extreme_ranges__inside(void **state)
{
    struct rng r;
    rng_init(&r, 7);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(rng_below(&r, 1), 0);
        assert_true(rng_below(&r, UINT64_MAX) < UINT64_MAX);
    }
}

/* Of 2^64 draws mapped to 3 * 2^62 numbers without rejection, every third number would get two. */
static void rng_below__three_quarters_of_the_range__no_bias(void **state)
{
    struct rng r;
    unsigned third = 0;
    rng_init(&r, 7);
    for (int i = 0; i < 3000; i++) {
        third += rng_below(&r, (uint64_t)3 << 62) % 3 == 0;
    }
    assert_in_range(third, 900, 1100);
}

static void below_zero(void)
{
    struct rng r;
    rng_init(&r, 1);
    rng_below(&r, 0);
}

static void rng_below__zero__aborts(void **state)
{
    assert_true(unit_aborts(below_zero));
}

static void rng_os_bytes__twice__differ(void **state)
{
    unsigned char a[700] = {0}, b[700] = {0};
    struct err err;
    assert_int_equal(rng_os_bytes(a, sizeof(a), &err), 0);
    assert_int_equal(rng_os_bytes(b, sizeof(b), &err), 0);
    assert_memory_not_equal(a, b, sizeof(a));
    assert_memory_not_equal(a + sizeof(a) - 16, b + sizeof(b) - 16, 16); /* to the end */
    assert_int_equal(rng_os_bytes(NULL, 0, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rng_u64__state_one_to_four__known_sequence),
        cmocka_unit_test(rng_init__same_seed__same_run),
        cmocka_unit_test(rng_init__seed_zero__not_stuck),
        cmocka_unit_test(rng_below__small_range__even),
        cmocka_unit_test(rng_below__extreme_ranges__inside),
        cmocka_unit_test(rng_below__three_quarters_of_the_range__no_bias),
        cmocka_unit_test(rng_below__zero__aborts),
        cmocka_unit_test(rng_os_bytes__twice__differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
