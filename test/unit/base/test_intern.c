#include "base/intern.h"

#include "base/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct hash_key KEY = {1, 2};

static struct str name_of(uint32_t i, char buf[32])
{
    snprintf(buf, 32, "model-%u", i);
    return str_of(buf);
}

static void intern_take__many_texts__ids_count_up(void **state)
{
    enum { N = 5000 };
    struct intern *t = intern_new(KEY, N);
    char buf[32];

    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(intern_find(t, name_of(i, buf)), INTERN_NONE);
        assert_int_equal(intern_take(t, name_of(i, buf)), i);
        assert_int_equal(intern_take(t, name_of(i, buf)), i);
    }
    assert_int_equal(intern_count(t), N);
    assert_int_equal(intern_used(t), N);
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(intern_find(t, name_of(i, buf)), i);
        expect_text(intern_text(t, i), buf, NULL);
    }
    intern_free(t);
}

static void intern_take__as_many_as_may_be__known_texts_still_taken_and_room_after_a_drop(void **state)
{
    struct intern *t = intern_new(KEY, 2);

    assert_int_equal(intern_take(t, STR("a")), 0);
    assert_int_equal(intern_take(t, STR("b")), 1);
    assert_int_equal(intern_take(t, STR("c")), INTERN_NONE);
    assert_int_equal(intern_take(t, STR("a")), 0);
    assert_int_equal(intern_find(t, STR("c")), INTERN_NONE);
    intern_drop(t, 1);
    assert_int_equal(intern_find(t, STR("b")), INTERN_NONE);
    assert_int_equal(intern_text(t, 1).n, 0);
    assert_int_equal(intern_take(t, STR("c")), 1);
    expect_text(intern_text(t, 1), "c", NULL);
    intern_free(t);
}

static void intern_drop__the_last_user__and_not_before(void **state)
{
    struct intern *t = intern_new(KEY, 10);

    assert_int_equal(intern_take(t, STR("a")), 0);
    intern_take_again(t, 0);
    assert_int_equal(intern_users(t, 0), 2);
    intern_drop(t, 0);
    assert_int_equal(intern_find(t, STR("a")), 0);
    assert_int_equal(intern_users(t, 0), 1);
    intern_drop(t, 0);
    assert_int_equal(intern_users(t, 0), 0);
    assert_int_equal(intern_find(t, STR("a")), INTERN_NONE);
    assert_int_equal(intern_used(t), 0);
    assert_int_equal(intern_count(t), 1);
    intern_free(t);
}

static void intern_version__changes_when_an_id_means_another_text(void **state)
{
    struct intern *t = intern_new(KEY, 10);
    uint64_t version;

    assert_int_equal(intern_take(t, STR("a")), 0);
    version = intern_version(t);
    intern_take_again(t, 0);
    assert_int_equal(intern_take(t, STR("a")), 0);
    assert_int_equal(intern_version(t), version);
    for (int i = 0; i < 3; i++) {
        intern_drop(t, 0);
    }
    assert_int_equal(intern_take(t, STR("b")), 0);
    assert_true(intern_version(t) != version);
    intern_free(t);
}

/* The issue: names that come and go must not fill the table. */
static void intern_take__a_million_texts_one_after_the_other__one_place(void **state)
{
    struct intern *t = intern_new(KEY, 10);
    char buf[32];

    for (uint32_t i = 0; i < 1000000; i++) {
        assert_int_equal(intern_take(t, name_of(i, buf)), 0);
        intern_drop(t, 0);
    }
    assert_int_equal(intern_count(t), 1);
    intern_free(t);
}

static void intern_take__odd_texts__kept_apart(void **state)
{
    struct intern *t = intern_new(KEY, 10);

    assert_int_equal(intern_take(t, STR_NULL), 0);
    assert_int_equal(intern_take(t, STR("")), 0);
    assert_int_equal(intern_take(t, STR("a")), 1);
    assert_int_equal(intern_take(t, (struct str){"a\0", 2}), 2);
    assert_int_equal(intern_take(t, (struct str){"a\0b", 3}), 3);
    assert_int_equal(intern_take(t, STR("A")), 4);
    assert_int_equal(intern_text(t, 3).n, 3);
    assert_memory_equal(intern_text(t, 3).p, "a\0b", 3);
    intern_free(t);
}

static void intern_free__null__accepted(void **state)
{
    intern_free(NULL);
}

static void text_of_unknown_id(void)
{
    struct intern *t = intern_new(KEY, 10);

    (void)intern_take(t, STR("a"));
    (void)intern_text(t, 1);
}

static void drop_too_many(void)
{
    struct intern *t = intern_new(KEY, 10);

    (void)intern_take(t, STR("a"));
    intern_drop(t, 0);
    intern_drop(t, 0);
}

static void intern__misuse__aborts(void **state)
{
    assert_true(unit_aborts(text_of_unknown_id));
    assert_true(unit_aborts(drop_too_many));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intern_take__many_texts__ids_count_up),
        cmocka_unit_test(intern_take__as_many_as_may_be__known_texts_still_taken_and_room_after_a_drop),
        cmocka_unit_test(intern_drop__the_last_user__and_not_before),
        cmocka_unit_test(intern_version__changes_when_an_id_means_another_text),
        cmocka_unit_test(intern_take__a_million_texts_one_after_the_other__one_place),
        cmocka_unit_test(intern_take__odd_texts__kept_apart),
        cmocka_unit_test(intern_free__null__accepted),
        cmocka_unit_test(intern__misuse__aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
