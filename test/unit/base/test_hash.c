#include "base/hash.h"

#include "base/compiler.h"
#include "base/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fill_counting(char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bytes[i] = (char)i;
    }
}

/* SipHash-1-3 of the bytes 0, 1, 2 ... under the key 0, computed with CPython 3.11, whose hash of bytes it
 * is (PYTHONHASHSEED=0). */
static void hash_str__zero_key__as_cpython(void **state)
{
    static const struct {
        size_t n;
        uint64_t hash;
    } rows[] = {
        {1, 0x68a914128e01e473},  {2, 0x010bac45c41e3669},  {3, 0x4d4c9a4a8ef6e0ad},  {7, 0x2f098ab0c751325a},
        {8, 0xead411e67ebe2eea},  {9, 0x75927f9d95124362},  {15, 0xf30eb725bb91c9ea}, {16, 0x8972188433a5c5b7},
        {17, 0x4883c49a2c009c1d}, {63, 0x385d3e39e5f37359}, {64, 0x75e05fd5bbc870c6},
    };
    char bytes[64];
    fill_counting(bytes, sizeof(bytes));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(hash_str((struct hash_key){0, 0}, (struct str){bytes, rows[i].n}), rows[i].hash);
    }
}

/* The lower halves of the authors' vectors for the key 00 01 ... 0f. */
static void hash_str__counting_key__as_the_authors(void **state)
{
    static const struct {
        size_t n;
        uint32_t low;
    } rows[] = {{0, 0x050fc4dc}, {1, 0x7d57ca93}, {2, 0x4dc7d44d}, {8, 0x8d299a8e}, {63, 0xb7bbb3a8}};
    const struct hash_key key = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
    char bytes[64];
    fill_counting(bytes, sizeof(bytes));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal((uint32_t)hash_str(key, (struct str){bytes, rows[i].n}), rows[i].low);
    }
    assert_int_equal((uint32_t)hash_str(key, STR_NULL), rows[0].low);
}

static void hash_str__unaligned_text__same_hash(void **state)
{
    char bytes[80];
    const struct hash_key key = {1, 2};
    for (size_t shift = 0; shift < 8; shift++) {
        memcpy(bytes + shift, "the same text everywhere", 24);
        assert_int_equal(hash_str(key, (struct str){bytes + shift, 24}),
                         hash_str(key, STR("the same text everywhere")));
    }
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void hash_name__every_byte_and_the_length__count(void **state)
{
    const struct hash_key key = {3, 4};
    char text[64] = {0};
    for (size_t n = 0; n < sizeof(text); n++) {
        uint64_t h = hash_name(key, (struct str){text, n});
        assert_true(h != hash_name(key, (struct str){text, n + 1}));
        assert_true(h != hash_name((struct hash_key){3, 5}, (struct str){text, n}));
        for (size_t i = 0; i < n; i++) {
            text[i] ^= 1;
            assert_true(h != hash_name(key, (struct str){text, n}));
            text[i] ^= 1;
        }
    }
    assert_int_equal(hash_name(key, STR_NULL), hash_name(key, STR("")));
}

/* Names of nodes differ in a digit or two; a table looks at the low bits. */
static void hash_name__numbered_names__spread_over_the_low_bits(void **state)
{
    enum { NAMES = 60000, SLOTS = 1 << 14 };
    static uint64_t hashes[NAMES];
    static unsigned in_slot[SLOTS];
    unsigned fullest = 0;
    for (unsigned i = 0; i < NAMES; i++) {
        char name[64];
        int n = snprintf(name, sizeof(name), i % 2 == 0 ? "gpu-node-%05u" : "ip-10-0-%u.eu-west-1.compute.internal", i);
        hashes[i] = hash_name((struct hash_key){1, 2}, (struct str){name, (size_t)n});
        unsigned *slot = &in_slot[hashes[i] % SLOTS];
        fullest = ++*slot > fullest ? *slot : fullest;
    }
    qsort(hashes, NAMES, sizeof(hashes[0]), by_value);
    for (unsigned i = 1; i < NAMES; i++) {
        assert_true(hashes[i] != hashes[i - 1]);
    }
    assert_in_range(fullest, 4, 20); /* 3.7 on average; chance gives about 14 */
}

static void hash_fnv1a__known_texts__as_the_authors(void **state)
{
    assert_true(hash_fnv1a(HASH_FNV1A_BASIS, STR_NULL) == HASH_FNV1A_BASIS);
    assert_true(hash_fnv1a(HASH_FNV1A_BASIS, STR("a")) == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(hash_fnv1a(hash_fnv1a(HASH_FNV1A_BASIS, STR("foo")), STR("bar")) == UINT64_C(0x85944171f73967e8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hash_fnv1a__known_texts__as_the_authors),
        cmocka_unit_test(hash_str__zero_key__as_cpython),
        cmocka_unit_test(hash_str__counting_key__as_the_authors),
        cmocka_unit_test(hash_str__unaligned_text__same_hash),
        cmocka_unit_test(hash_name__every_byte_and_the_length__count),
        cmocka_unit_test(hash_name__numbered_names__spread_over_the_low_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
