#include "base/hashmap.h"

#include "base/compiler.h"
#include "base/rng.h"
#include "base/support/unit.h"

#include <string.h>

/* The owner of the keys in these tests: key of entry v is keys[v]. */
static bool key_is(const void *owner, uint32_t value, const void *key)
{
    const uint64_t *keys = owner;
    return keys[value] == *(const uint64_t *)key;
}

static void hashmap__never_used__finds_nothing(void **state)
{
    struct hashmap m;
    uint64_t key = 1;
    hashmap_init(&m);
    assert_int_equal(hashmap_find(&m, 1, key_is, NULL, &key), HASHMAP_NONE);
    hashmap_fini(&m);
}

static void hashmap_find__equal_hashes__owner_decides(void **state)
{
    struct hashmap m;
    const uint64_t keys[] = {10, 20, 30, 40};
    hashmap_init(&m);
    for (uint32_t v = 0; v < 3; v++) {
        hashmap_insert(&m, 7, v);
    }
    for (uint32_t v = 0; v < 3; v++) {
        assert_int_equal(hashmap_find(&m, 7, key_is, keys, &keys[v]), v);
    }
    assert_int_equal(hashmap_find(&m, 7, key_is, keys, &keys[3]), HASHMAP_NONE);
    assert_int_equal(hashmap_find(&m, 8, key_is, keys, &keys[0]), HASHMAP_NONE);
    hashmap_remove(&m, 7, 1);
    assert_int_equal(hashmap_find(&m, 7, key_is, keys, &keys[1]), HASHMAP_NONE);
    assert_int_equal(hashmap_find(&m, 7, key_is, keys, &keys[2]), 2);
    hashmap_fini(&m);
}

static void hashmap_reserve__then_inserts__no_growth(void **state)
{
    struct hashmap m;
    hashmap_init(&m);
    hashmap_reserve(&m, 1000);
    const struct hashmap_slot *slots = m.slots;
    uint32_t slot_n = m.slot_n;
    for (uint32_t v = 0; v < 1000; v++) {
        hashmap_insert(&m, v * 0x9e3779b97f4a7c15U, v);
    }
    assert_ptr_equal(m.slots, slots);
    assert_int_equal(m.slot_n, slot_n);
    assert_int_equal(m.used_n, 1000);
    hashmap_fini(&m);
    assert_int_equal(m.slot_n, 0);
}

/* Few distinct hashes near each other and near the end of the table, so that runs overlap and wrap. */
static uint64_t clumsy_hash(uint32_t v)
{
    return 0xfffffffffffffff0U + (v * 7U) % 29U;
}

static uint64_t good_hash(uint32_t v)
{
    return (v + 1) * 0x9e3779b97f4a7c15U;
}

enum { ENTRIES = 300 };

static void compare_with_model(uint64_t (*hash)(uint32_t), uint64_t seed)
{
    struct hashmap m;
    struct rng rng;
    uint64_t keys[ENTRIES];
    bool present[ENTRIES] = {false};
    uint32_t present_n = 0;
    for (uint32_t v = 0; v < ENTRIES; v++) {
        keys[v] = v * 1000;
    }
    hashmap_init(&m);
    rng_init(&rng, seed);
    for (int step = 0; step < 20000; step++) {
        /* the wanted filling goes up and down, so that chains grow long and are taken apart */
        uint32_t wanted = step / 2000 % 2 == 0 ? ENTRIES - 20 : 20;
        uint32_t v = (uint32_t)rng_below(&rng, ENTRIES);
        if (!present[v] && present_n < wanted) {
            hashmap_insert(&m, hash(v), v);
            present[v] = true;
            present_n++;
        } else if (present[v] && present_n > wanted) {
            hashmap_remove(&m, hash(v), v);
            present[v] = false;
            present_n--;
        }
        assert_int_equal(m.used_n, present_n);
        if (step % 97 == 0) {
            for (uint32_t k = 0; k < ENTRIES; k++) {
                assert_int_equal(hashmap_find(&m, hash(k), key_is, keys, &keys[k]), present[k] ? k : HASHMAP_NONE);
            }
        }
    }
    hashmap_fini(&m);
}

static void hashmap__random_operations__as_the_model(void **state)
{
    for (uint64_t seed = 0; seed < 4; seed++) {
        compare_with_model(good_hash, seed);
        compare_with_model(clumsy_hash, seed);
    }
}

static void hashmap__plain_copy__is_a_read_only_map(void **state)
{
    struct hashmap m;
    uint64_t keys[64];
    hashmap_init(&m);
    for (uint32_t v = 0; v < ARRAY_LEN(keys); v++) {
        keys[v] = v;
        hashmap_insert(&m, good_hash(v), v);
    }
    struct hashmap_slot slots[256];
    assert_true(m.slot_n <= ARRAY_LEN(slots));
    memcpy(slots, m.slots, m.slot_n * sizeof(slots[0]));
    struct hashmap copy = {.slots = slots, .slot_n = m.slot_n, .used_n = m.used_n};
    hashmap_fini(&m);
    for (uint32_t v = 0; v < ARRAY_LEN(keys); v++) {
        assert_int_equal(hashmap_find(&copy, good_hash(v), key_is, keys, &keys[v]), v);
    }
}

static void remove_absent(void)
{
    struct hashmap m;
    hashmap_init(&m);
    hashmap_insert(&m, 1, 1);
    hashmap_remove(&m, 1, 2);
}

static void insert_none(void)
{
    struct hashmap m;
    hashmap_init(&m);
    hashmap_insert(&m, 1, HASHMAP_NONE);
}

static void hashmap__misuse__aborts(void **state)
{
    assert_true(unit_aborts(remove_absent));
    assert_true(unit_aborts(insert_none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashmap__never_used__finds_nothing),
        cmocka_unit_test(hashmap_find__equal_hashes__owner_decides),
        cmocka_unit_test(hashmap_reserve__then_inserts__no_growth),
        cmocka_unit_test(hashmap__random_operations__as_the_model),
        cmocka_unit_test(hashmap__plain_copy__is_a_read_only_map),
        cmocka_unit_test(hashmap__misuse__aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
