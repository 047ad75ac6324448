/* Which objects could not be read, for /state. */
#include "extender/unreadable.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct unreadable *all;

static int setup(void **state)
{
    all = unreadable_new();
    return 0;
}

static int teardown(void **state)
{
    unreadable_free(all);
    return 0;
}

static void note_pod(const char *uid, const char *name, const char *why, int64_t now_ms)
{
    const struct pod p = {.namespace_ = STR("ns"), .name = str_of(name), .uid = str_of(uid)};
    const struct kube_object o = {.resource = KUBE_PODS, .pod = &p};

    unreadable_note(all, &o, why, now_ms);
}

static void note_node(const char *uid, const char *name, int64_t now_ms)
{
    const struct node n = {.name = str_of(name), .uid = str_of(uid)};
    const struct kube_object o = {.resource = KUBE_NODES, .node = &n};

    unreadable_note(all, &o, "w", now_ms);
}

static void clear_pod(const char *uid)
{
    const struct pod p = {.namespace_ = STR("ns"), .name = STR("any"), .uid = str_of(uid)};
    const struct kube_object o = {.resource = KUBE_PODS, .pod = &p};

    unreadable_clear(all, &o);
}

/* The names that are known, in order, each with a blank behind it. */
static const char *known(void)
{
    static char text[64];
    struct unreadable_object *copy;
    bool more;
    size_t n;

    copy = unreadable_copy(all, &n, &more);
    text[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        strcat(strcat(text, copy[i].name), " ");
    }
    free(copy);
    return text;
}

static bool knows_of_more(void)
{
    bool more;
    size_t n;

    free(unreadable_copy(all, &n, &more));
    return more;
}

static void note__of_a_pod_and_a_node__kept_with_its_first_time_and_last_reason(void **state)
{
    struct unreadable_object *copy;
    bool more = true;
    size_t n = 9;

    assert_null(unreadable_copy(all, &n, &more));
    assert_true(n == 0 && !more);
    note_pod("u1", "p", "first", 1000);
    note_node("u2", "n", 2000);
    note_pod("u1", "p", "second", 3000);
    copy = unreadable_copy(all, &n, &more);
    assert_true(n == 2 && !more);
    assert_true(copy[0].resource == KUBE_PODS && copy[1].resource == KUBE_NODES);
    assert_string_equal(copy[0].namespace_, "ns");
    assert_string_equal(copy[0].name, "p");
    assert_string_equal(copy[0].uid, "u1");
    assert_string_equal(copy[0].why, "second");
    assert_int_equal(copy[0].since_ms, 1000);
    assert_string_equal(copy[1].namespace_, "");
    assert_string_equal(copy[1].name, "n");
    assert_string_equal(copy[1].uid, "u2");
    assert_int_equal(copy[1].since_ms, 2000);
    free(copy);
}

/* Pods are told apart by uid, nodes by name, and one from the other. */
static void note__of_the_same_name__by_what_the_ledger_tells_them_apart(void **state)
{
    note_pod("u1", "a", "w", 1);
    note_pod("u2", "a", "w", 1);
    note_node("u1", "a", 1);
    note_node("u3", "a", 1);
    assert_string_equal(known(), "a a a ");
    clear_pod("u1");
    clear_pod("u4");
    assert_string_equal(known(), "a a ");
    clear_pod("u2");
    assert_string_equal(known(), "a ");
}

static void clear__one_in_the_middle__the_order_stays(void **state)
{
    note_pod("u1", "a", "w", 1);
    note_pod("u2", "b", "w", 1);
    note_pod("u3", "c", "w", 1);
    clear_pod("u2");
    assert_string_equal(known(), "a c ");
    note_pod("u2", "b", "w", 1);
    assert_string_equal(known(), "a c b ");
    clear_pod("u1");
    clear_pod("u3");
    clear_pod("u2");
    assert_string_equal(known(), "");
}

static void list__complete__forgets_those_of_its_resource_that_it_did_not_bring(void **state)
{
    note_pod("u1", "a", "w", 1);
    note_pod("u2", "b", "w", 1);
    note_pod("u3", "c", "w", 1);
    note_node("u4", "n", 1);
    unreadable_list_begin(all, KUBE_PODS);
    note_pod("u2", "b", "w", 2);
    note_pod("u5", "d", "w", 2);                /* new in it */
    assert_string_equal(known(), "a b c n d "); /* not before its end */
    unreadable_list_end(all, KUBE_PODS);
    assert_string_equal(known(), "b n d ");
    unreadable_list_begin(all, KUBE_NODES);
    unreadable_list_end(all, KUBE_NODES);
    assert_string_equal(known(), "b d ");
    unreadable_list_begin(all, KUBE_PODS); /* broken: it begins again */
    unreadable_list_begin(all, KUBE_PODS);
    note_pod("u5", "d", "w", 2);
    unreadable_list_end(all, KUBE_PODS);
    assert_string_equal(known(), "d ");
}

static void note__more_than_there_is_room_for__said_until_a_list_has_fewer(void **state)
{
    struct unreadable_object *copy;
    char uid[16];
    bool more;
    size_t n;

    for (int i = 0; i < UNREADABLE_MAX; i++) {
        snprintf(uid, sizeof(uid), "u%d", i);
        note_pod(uid, uid, "w", 1);
    }
    assert_false(knows_of_more());
    note_pod("over", "over", "w", 1);
    copy = unreadable_copy(all, &n, &more);
    assert_true(n == UNREADABLE_MAX && more);
    assert_string_equal(copy[UNREADABLE_MAX - 1].name, "u255");
    free(copy);
    note_pod("u255", "u255", "again", 2); /* one that is known needs no room */
    unreadable_list_begin(all, KUBE_NODES);
    unreadable_list_end(all, KUBE_NODES); /* says nothing of pods */
    assert_true(knows_of_more());
    unreadable_list_begin(all, KUBE_PODS);
    note_pod("u255", "u255", "w", 3);
    assert_true(knows_of_more());
    unreadable_list_end(all, KUBE_PODS);
    assert_string_equal(known(), "u255 ");
    assert_false(knows_of_more());
}

static void note__texts_that_do_not_fit__cut(void **state)
{
    char name[300], why[ERR_MSG_MAX + 9];
    struct unreadable_object *copy;
    bool more;
    size_t n;

    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    memset(why, 'w', sizeof(why) - 1);
    why[sizeof(why) - 1] = '\0';
    note_pod("u", name, why, 1);
    copy = unreadable_copy(all, &n, &more);
    assert_int_equal(n, 1);
    assert_int_equal(strlen(copy[0].name), 253);
    assert_int_equal(strlen(copy[0].why), ERR_MSG_MAX - 1);
    free(copy);
}

static void nobody_keeps_them__nothing_happens(void **state)
{
    const struct pod p = {.uid = STR("u")};
    const struct kube_object o = {.resource = KUBE_PODS, .pod = &p};
    bool more = true;
    size_t n = 9;

    unreadable_note(NULL, &o, "w", 1);
    unreadable_clear(NULL, &o);
    unreadable_list_begin(NULL, KUBE_PODS);
    unreadable_list_end(NULL, KUBE_PODS);
    assert_null(unreadable_copy(NULL, &n, &more));
    assert_true(n == 0 && !more);
    unreadable_free(NULL);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(note__of_a_pod_and_a_node__kept_with_its_first_time_and_last_reason),
        T(note__of_the_same_name__by_what_the_ledger_tells_them_apart),
        T(clear__one_in_the_middle__the_order_stays),
        T(list__complete__forgets_those_of_its_resource_that_it_did_not_bring),
        T(note__more_than_there_is_room_for__said_until_a_list_has_fewer),
        T(note__texts_that_do_not_fit__cut),
        cmocka_unit_test(nobody_keeps_them__nothing_happens),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
