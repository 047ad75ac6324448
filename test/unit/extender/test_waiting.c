/* What is known of pods that wait, for explanations. */
#include "extender/waiting.h"

#include "base/compiler.h"
#include "model/names.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static struct waiting *waiting;
static struct arena arena;
static const uint64_t bits[] = {5, 1};
static const struct node_set nodes = {bits, 2, 7};

static int setup(void **state)
{
    (void)state;
    waiting = waiting_new();
    arena_init(&arena, 1 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_fini(&arena);
    waiting_free(waiting);
    return 0;
}

static struct pod pod_of(const char *uid)
{
    return (struct pod){.uid = str_of(uid), .namespace_ = STR("d"), .name = str_of(uid), .scheduler_name = STR("gpus")};
}

static struct waiting_note note_of(const char *uid)
{
    struct waiting_note n;

    waiting_find(waiting, &arena, str_of(uid), &n);
    return n;
}

static void ask(const struct pod *p, size_t node_n, size_t fit_n, int64_t now_ms)
{
    const uint64_t counts[VERDICT__MAX] = {[VERDICT_NO_GPU] = 1, [VERDICT_NO_MEMORY] = node_n - 1};

    waiting_asked(waiting, p, &(struct waiting_answer){node_n, fit_n, (uint64_t)now_ms, counts, nodes}, now_ms);
}

static void waiting__message_and_calls__kept_until_bound(void **state)
{
    struct pod p = pod_of("a");
    struct waiting_note n;

    (void)state;
    assert_false(note_of("a").known);
    p.unscheduled_message = STR("0/3 nodes");
    waiting_observed(waiting, &p);
    assert_true(str_eq(note_of("a").message, STR("0/3 nodes")));
    assert_int_equal(note_of("a").asked_n, 0);
    assert_int_equal(note_of("a").asking.n, 0);
    ask(&p, 3, 0, 1000);
    n = note_of("a");
    assert_true(node_set_has(&n.asked, 2) && node_set_has(&n.asked, 64) && !node_set_has(&n.asked, 1));
    assert_false(node_set_has(&n.asked, 128));
    assert_int_equal(n.asked.names_version, 7);
    ask(&p, 2, 1, 2000);
    assert_null(note_of("a").asked.bits); /* some take it: who was asked does not matter */
    assert_int_equal(note_of("a").asked_n, 2);
    assert_int_equal(note_of("a").node_n, 2);
    assert_int_equal(note_of("a").fit_n, 1);
    assert_true(str_eq(note_of("a").asking, STR("gpus")));
    p.node_name = STR("n");
    waiting_observed(waiting, &p);
    assert_false(note_of("a").known);
    assert_true(str_eq(note_of("b").asking, STR("gpus")));
}

static void waiting__long_message__cut_between_characters(void **state)
{
    char text[WAITING_MESSAGE_MAX + 2];
    struct pod p = pod_of("a");

    (void)state;
    memset(text, 'x', sizeof(text));
    memcpy(text + WAITING_MESSAGE_MAX - 1, "\xc3\xa4", 2);
    p.unscheduled_message = (struct str){text, sizeof(text)};
    waiting_observed(waiting, &p);
    assert_int_equal(note_of("a").message.n, WAITING_MESSAGE_MAX - 1);
}

static void waiting__more_than_there_is_room_for__the_oldest_go(void **state)
{
    char uid[16];

    (void)state;
    for (int i = 0; i <= WAITING_MAX; i++) {
        struct pod p;

        snprintf(uid, sizeof(uid), "p%d", i);
        p = pod_of(uid);
        waiting_observed(waiting, &p);
        p = pod_of("p1"); /* heard of again and again */
        waiting_observed(waiting, &p);
    }
    assert_false(note_of("p0").known);
    assert_true(note_of("p1").known);
    assert_true(note_of(uid).known);
}

static void F138_waiting__the_same_pod_twice_in_a_row__all_places_stay_in_use(void **state)
{
    enum { PODS = 3 * WAITING_MAX };
    char uid[16];

    (void)state;
    for (int i = 0; i < 2 * PODS; i++) {
        struct pod p;

        snprintf(uid, sizeof(uid), "p%d", i / 2);
        p = pod_of(uid);
        waiting_observed(waiting, &p);
    }
    for (int i = 0; i < PODS; i++) {
        snprintf(uid, sizeof(uid), "p%d", i);
        assert_int_equal(note_of(uid).known, i >= PODS - WAITING_MAX);
    }
}

static void waiting__refused_for_long__taken_once_in_a_while(void **state)
{
    struct pod p = pod_of("a"), q = pod_of("b");
    struct waiting_refused r;

    (void)state;
    ask(&p, 3, 0, 1000);
    ask(&q, 3, 0, 1500);
    ask(&q, 3, 1, 1600); /* it fits: the time begins again */
    ask(&p, 3, 0, 1700);
    assert_false(waiting_take_refused(waiting, &arena, 30999, 30000, 60000, &r));
    assert_true(waiting_take_refused(waiting, &arena, 31000, 30000, 60000, &r));
    assert_true(str_eq(r.uid, STR("a")));
    assert_int_equal(r.told, 0);
    waiting_told(waiting, STR("a"), 7);
    assert_false(waiting_take_refused(waiting, &arena, 90999, 30000, 60000, &r));
    assert_true(waiting_take_refused(waiting, &arena, 91000, 30000, 60000, &r));
    assert_int_equal(r.told, 7);
    waiting_gone(waiting, STR("a"));
    assert_false(waiting_take_refused(waiting, &arena, 1000000, 30000, 60000, &r));
}

/* More pods wait than can be looked at between two looks at one pod: all get their turn. */
static void waiting__more_are_due_than_looks__each_in_its_turn(void **state)
{
    static const char *const uids[] = {"a", "b", "c"};
    static const char order[] = "abcabc";

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct pod p = pod_of(uids[i]);

        ask(&p, 3, 0, 1000 + (int64_t)i);
    }
    for (size_t i = 0; i < strlen(order); i++) {
        struct waiting_refused r;

        assert_true(waiting_take_refused(waiting, &arena, 2000 + 1000 * (int64_t)i, 500, 1000, &r));
        assert_int_equal(r.uid.p[0], order[i]);
    }
}

/* The API server accepts no longer names; whoever calls filter may send any. */
static void waiting__names_no_pod_can_have__not_kept(void **state)
{
    static char text[KUBE_SUBDOMAIN_MAX + 1];
    const struct str lengthy = {text, sizeof(text)}, longest = {text, KUBE_SUBDOMAIN_MAX},
                     label = {text, KUBE_LABEL_MAX};
    const struct pod good[] = {{.uid = longest},
                               {.uid = STR("u"), .name = longest},
                               {.uid = STR("v"), .namespace_ = label}},
                     bad[] = {{.uid = STR_NULL},
                              {.uid = lengthy},
                              {.uid = STR("w"), .name = lengthy},
                              {.uid = STR("x"), .namespace_ = {text, KUBE_LABEL_MAX + 1}}};
    struct waiting_note n;

    (void)state;
    memset(text, 'n', sizeof(text));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        waiting_observed(waiting, &bad[i]);
        ask(&bad[i], 3, 0, 1000);
        waiting_find(waiting, &arena, bad[i].uid, &n);
        assert_false(n.known);
    }
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        waiting_observed(waiting, &good[i]);
        waiting_find(waiting, &arena, good[i].uid, &n);
        assert_true(n.known);
    }
}

/* Asked about before it was seen; what the object says comes later and takes no count away. */
static void waiting__asked_before_it_is_seen__kept_and_counted_on(void **state)
{
    struct pod p = pod_of("a");
    struct waiting_note n;

    (void)state;
    ask(&p, 3, 0, 1000);
    n = note_of("a");
    assert_true(n.known && n.asked_n == 1 && n.message.n == 0 && str_eq(n.scheduler_name, STR("gpus")));
    p.unscheduled_message = STR("0/3 nodes");
    p.scheduler_name = STR("another");
    waiting_observed(waiting, &p);
    n = note_of("a");
    assert_true(n.asked_n == 1 && n.asked_ms == 1000 && str_eq(n.message, STR("0/3 nodes")));
    assert_true(str_eq(n.scheduler_name, STR("another")) && str_eq(n.asking, STR("gpus")));
    p.scheduler_name = STR_NULL;
    ask(&p, 3, 0, 2000);
    n = note_of("a");
    assert_true(n.asked_n == 2 && n.asking.n == 0); /* who asked last is not known */
    p.phase = POD_FAILED;
    waiting_observed(waiting, &p);
    assert_false(note_of("a").known);
    waiting_gone(waiting, STR("a"));
    waiting_told(waiting, STR("a"), 3); /* of nobody */
}

/* Of the cluster with more nodes the set is larger. */
static void waiting__asked_about_more_nodes__the_last_ones(void **state)
{
    static const uint64_t few[] = {1}, many[] = {2, 3, 4};
    static const uint64_t counts[VERDICT__MAX] = {[VERDICT_NO_GPU] = 1};
    const struct pod p = pod_of("a");
    struct waiting_note n;

    (void)state;
    waiting_asked(waiting, &p, &(struct waiting_answer){1, 0, 1, counts, {few, 1, 7}}, 1000);
    waiting_asked(waiting, &p, &(struct waiting_answer){1, 0, 1, counts, {many, 3, 8}}, 1000);
    n = note_of("a");
    assert_true(n.asked.word_n == 3 && n.asked.names_version == 8);
    assert_memory_equal(n.asked.bits, many, sizeof(many));
    waiting_asked(waiting, &p, &(struct waiting_answer){1, 0, 1, counts, {few, 1, 9}}, 1000);
    n = note_of("a");
    assert_true(n.asked.word_n == 1 && n.asked.bits[0] == 1);
    waiting_asked(waiting, &p, &(struct waiting_answer){1, 0, 1, counts, {NULL, 0, 0}}, 1000);
    assert_null(note_of("a").asked.bits);
}

/* A place that is given back is taken first. */
static void waiting__full_and_one_is_gone__its_place_is_taken(void **state)
{
    char uid[16];
    struct pod p;

    (void)state;
    for (int i = 0; i < WAITING_MAX; i++) {
        snprintf(uid, sizeof(uid), "p%d", i);
        p = pod_of(uid);
        waiting_observed(waiting, &p);
    }
    waiting_gone(waiting, STR("p500"));
    p = pod_of("new");
    waiting_observed(waiting, &p);
    assert_true(note_of("p0").known && note_of("new").known && note_of("p1023").known);
    assert_false(note_of("p500").known);
}

static void refusals__of_pods_that_no_node_took_last__by_uid(void **state)
{
    const struct pod a = pod_of("a"), b = pod_of("b"), c = pod_of("c");
    const struct waiting_refusal *all, *of_a;
    size_t n;

    (void)state;
    assert_int_equal(waiting_refusals(waiting, &arena, &all), 0);
    assert_null(waiting_refusal_of(all, 0, STR("a")));
    waiting_observed(waiting, &c); /* nobody has asked */
    ask(&b, 9, 0, 1000);
    ask(&a, 3, 0, 2000);
    ask(&a, 5, 0, 3000);
    n = waiting_refusals(waiting, &arena, &all);
    assert_int_equal(n, 2);
    of_a = waiting_refusal_of(all, n, STR("a"));
    assert_int_equal(of_a->since_ms, 2000);
    assert_int_equal(of_a->last_ms, 3000);
    assert_int_equal(of_a->generation, 3000);
    assert_int_equal(of_a->node_n, 5);
    assert_int_equal(of_a->counts[VERDICT_NO_MEMORY], 4);
    assert_null(waiting_refusal_of(all, n, STR("c")));
    ask(&b, 9, 1, 4000);
    assert_int_equal(waiting_refusals(waiting, &arena, &all), 1);
    assert_true(str_eq(all[0].uid, STR("a")));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(waiting__message_and_calls__kept_until_bound),
        T(waiting__long_message__cut_between_characters),
        T(waiting__more_than_there_is_room_for__the_oldest_go),
        T(waiting__refused_for_long__taken_once_in_a_while),
        T(waiting__more_are_due_than_looks__each_in_its_turn),
        T(waiting__names_no_pod_can_have__not_kept),
        T(waiting__asked_before_it_is_seen__kept_and_counted_on),
        T(waiting__asked_about_more_nodes__the_last_ones),
        T(waiting__full_and_one_is_gone__its_place_is_taken),
        T(refusals__of_pods_that_no_node_took_last__by_uid),
        T(F138_waiting__the_same_pod_twice_in_a_row__all_places_stay_in_use),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
