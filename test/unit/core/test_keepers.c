/* Whom others' anti-affinity may keep off a node. */
#include "core/plan/keepers.h"

#include "model/pod.h"
#include "support/cmocka.h"

#include <malloc.h>
#include <stdio.h>

static struct keepers *k;

static int setup(void **state)
{
    k = keepers_new();
    return 0;
}

static int teardown(void **state)
{
    keepers_free(k);
    return 0;
}

static void see(const char *uid, const char *namespace_, unsigned only)
{
    keepers_observed(k, str_of(uid), str_of(namespace_), only);
}

static bool mean(const char *namespace_)
{
    return keepers_mean(k, str_of(namespace_));
}

static void keepers__of_one_namespace__mean_its_pods_until_the_last_is_gone(void **state)
{
    see("other", "a", POD_POD_AFFINITY);
    assert_false(mean("a"));
    see("one", "a", POD_POD_AFFINITY | POD_KEEPS_OTHERS_OFF);
    see("two", "a", POD_KEEPS_OTHERS_OFF);
    see("two", "a", POD_KEEPS_OTHERS_OFF); /* once more */
    assert_true(mean("a"));
    assert_false(mean("b"));
    keepers_gone(k, STR("one"));
    keepers_gone(k, STR("never seen"));
    assert_true(mean("a"));
    keepers_gone(k, STR("two"));
    assert_false(mean("a"));
}

static void keepers__whose_terms_name_namespaces__mean_everybody(void **state)
{
    see("one", "a", POD_KEEPS_OTHERS_OFF | POD_KEEPS_ALL_OFF);
    assert_true(mean("a"));
    assert_true(mean("b"));
    see("one", "a", 0); /* not what the API server allows, but no reason to count wrongly */
    assert_false(mean("a"));
    assert_false(mean("b"));
}

static void keepers__a_complete_list_without_them__forgets(void **state)
{
    see("one", "a", POD_KEEPS_OTHERS_OFF);
    see("two", "b", POD_KEEPS_OTHERS_OFF);
    keepers_list_begin(k);
    see("two", "b", POD_KEEPS_OTHERS_OFF);
    keepers_list_end(k, false);
    assert_true(mean("a"));
    keepers_list_begin(k);
    see("two", "b", POD_KEEPS_OTHERS_OFF);
    keepers_list_end(k, true);
    assert_false(mean("a"));
    assert_true(mean("b"));
}

static void fill(const char *namespace_, unsigned only, int n)
{
    char uid[32];

    for (int i = 0; i < n; i++) {
        snprintf(uid, sizeof(uid), "k%d", i);
        see(uid, namespace_, only);
    }
}

static void keepers__more_than_are_known__nobody_is_planned_until_a_list_shows_fewer(void **state)
{
    fill("a", POD_KEEPS_OTHERS_OFF, KEEPERS_MAX);
    assert_false(mean("b"));
    see("one more", "a", POD_KEEPS_ALL_OFF);
    assert_true(mean("b"));
    keepers_list_begin(k);
    see("k1", "a", POD_KEEPS_OTHERS_OFF);
    keepers_list_end(k, true);
    assert_false(mean("b"));
    assert_true(mean("a"));
}

/* So many that some which were left out may still be there, and one fewer. */
static void keepers__table_half_empty_after_a_list__planned_again(void **state)
{
    fill("a", POD_KEEPS_OTHERS_OFF, KEEPERS_MAX);
    see("one more", "a", POD_KEEPS_ALL_OFF);
    for (int n = KEEPERS_MAX / 2; n >= KEEPERS_MAX / 2 - 1; n--) {
        assert_true(mean("b"));
        keepers_list_begin(k);
        fill("a", POD_KEEPS_OTHERS_OFF, n);
        keepers_list_end(k, true);
    }
    assert_false(mean("b"));
}

/* One who may make many pods closes planning for himself. */
static void F136_keepers__one_namespace_has_more_than_are_known__others_are_planned(void **state)
{
    fill("a", POD_KEEPS_OTHERS_OFF, KEEPERS_MAX);
    see("one more", "a", POD_KEEPS_OTHERS_OFF);
    see("of another", "c", POD_KEEPS_OTHERS_OFF);
    assert_true(mean("a"));
    assert_false(mean("b"));
    assert_true(mean("c"));
    keepers_list_begin(k);
    see("k1", "a", POD_KEEPS_OTHERS_OFF);
    keepers_list_end(k, true);
    assert_false(mean("c"));
    assert_true(mean("a"));
    keepers_gone(k, STR("k1"));
    assert_false(mean("a"));
}

static void F136_keepers__namespaces_come_and_go__no_memory_is_kept(void **state)
{
    size_t before;

    see("first", "first", POD_KEEPS_OTHERS_OFF);
    before = mallinfo2().uordblks;
    for (int i = 0; i < 50000; i++) {
        char name[32];

        snprintf(name, sizeof(name), "build-%d", i);
        see("one", name, POD_KEEPS_OTHERS_OFF);
        assert_true(mean(name));
        keepers_gone(k, STR("one"));
        assert_false(mean(name));
    }
    assert_true(mallinfo2().uordblks < before + 65536);
    assert_true(mean("first"));
}

int main(void)
{
#define TEST(name_) cmocka_unit_test_setup_teardown(name_, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(keepers__of_one_namespace__mean_its_pods_until_the_last_is_gone),
        TEST(keepers__whose_terms_name_namespaces__mean_everybody),
        TEST(keepers__a_complete_list_without_them__forgets),
        TEST(keepers__more_than_are_known__nobody_is_planned_until_a_list_shows_fewer),
        TEST(keepers__table_half_empty_after_a_list__planned_again),
        TEST(F136_keepers__one_namespace_has_more_than_are_known__others_are_planned),
        TEST(F136_keepers__namespaces_come_and_go__no_memory_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
