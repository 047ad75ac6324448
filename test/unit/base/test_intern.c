#include "base/intern.h"

#include "base/support/unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct hash_key KEY = {1, 2};

static struct str name_of(uint32_t i, char buf[32])
{
    snprintf(buf, 32, "node-%u", i);
    return str_of(buf);
}

static void intern_add__many_texts__ids_count_up_and_stay(void **state)
{
    (void)state;
    enum { N = 5000 };
    struct intern *t = intern_new(KEY, N);
    const char **at = calloc(N, sizeof(*at));
    assert_non_null(at);
    char buf[32];
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(intern_find(t, name_of(i, buf)), INTERN_NONE);
        assert_int_equal(intern_add(t, name_of(i, buf)), i);
        assert_int_equal(intern_add(t, name_of(i, buf)), i);
        at[i] = intern_text(t, i).p;
    }
    assert_int_equal(intern_count(t), N);
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(intern_find(t, name_of(i, buf)), i);
        expect_text(intern_text(t, i), buf, NULL);
        assert_ptr_equal(intern_text(t, i).p, at[i]);
    }
    free(at);
    intern_free(t);
}

static void intern_add__cap_reached__known_texts_still_found(void **state)
{
    (void)state;
    struct intern *t = intern_new(KEY, 2);
    assert_int_equal(intern_add(t, STR("a")), 0);
    assert_int_equal(intern_add(t, STR("b")), 1);
    assert_int_equal(intern_add(t, STR("c")), INTERN_NONE);
    assert_int_equal(intern_add(t, STR("a")), 0);
    assert_int_equal(intern_count(t), 2);
    assert_int_equal(intern_find(t, STR("c")), INTERN_NONE);
    intern_free(t);
}

static void intern_add__odd_texts__kept_apart(void **state)
{
    (void)state;
    struct intern *t = intern_new(KEY, 10);
    assert_int_equal(intern_add(t, STR_NULL), 0);
    assert_int_equal(intern_add(t, STR("")), 0);
    assert_int_equal(intern_add(t, STR("a")), 1);
    assert_int_equal(intern_add(t, (struct str){"a\0", 2}), 2);
    assert_int_equal(intern_add(t, (struct str){"a\0b", 3}), 3);
    assert_int_equal(intern_add(t, STR("A")), 4);
    assert_int_equal(intern_text(t, 3).n, 3);
    assert_memory_equal(intern_text(t, 3).p, "a\0b", 3);
    intern_free(t);
}

static void intern_free__null__accepted(void **state)
{
    (void)state;
    intern_free(NULL);
}

static void text_of_unknown_id(void)
{
    struct intern *t = intern_new(KEY, 10);
    intern_add(t, STR("a"));
    intern_text(t, 1);
}

static void intern_text__unknown_id__aborts(void **state)
{
    (void)state;
    assert_true(unit_aborts(text_of_unknown_id));
}

struct reader_job {
    const struct intern *t;
    uint32_t n;
    uint32_t wrong;
};

static void *read_again(void *arg)
{
    struct reader_job *job = arg;
    char buf[32];
    for (int round = 0; round < 50; round++) {
        for (uint32_t i = 0; i < job->n; i++) {
            job->wrong += !str_eq(intern_text(job->t, i), name_of(i, buf));
        }
    }
    return NULL;
}

/* Meant for the thread sanitizer: ids got before the thread started may be used while others are added. */
static void intern_text__while_another_thread_adds__stable(void **state)
{
    (void)state;
    struct intern *t = intern_new(KEY, 100000);
    char buf[32];
    for (uint32_t i = 0; i < 100; i++) {
        intern_add(t, name_of(i, buf));
    }
    struct reader_job job = {.t = t, .n = 100};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, read_again, &job), 0);
    for (uint32_t i = 100; i < 20000; i++) {
        intern_add(t, name_of(i, buf));
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(job.wrong, 0);
    intern_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intern_add__many_texts__ids_count_up_and_stay),
        cmocka_unit_test(intern_add__cap_reached__known_texts_still_found),
        cmocka_unit_test(intern_add__odd_texts__kept_apart),
        cmocka_unit_test(intern_free__null__accepted),
        cmocka_unit_test(intern_text__unknown_id__aborts),
        cmocka_unit_test(intern_text__while_another_thread_adds__stable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
