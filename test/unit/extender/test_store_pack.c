/* What changes between two sections of a decision, while others have the lock. Here the test is all of the others. */
#include "base/compiler.h"
#include "core/placement/pack.h"
#include "core/placement/plan.h"
#include "extender/store_internal.h"
#include "extender/support/tested_store.h"
#include "support/cmocka.h"

#include <pthread.h>
#include <stdio.h>

enum { NODES = 2 * STORE_PACK_SECTION + 88, SECTIONS = 3, GIB = 1024 };

static char text[NODES][16];
static struct str names[NODES];
static struct policy policy;
static struct pack_plans plans;

static const struct demand half = DEMAND_OF_SHARE(500), large = DEMAND_OF_SHARE(700), small = DEMAND_OF_SHARE(200);

/* ---- between sections ---- */

static bool deciding;
static unsigned section_n;       /* that are over */
static void (*then)(unsigned n); /* after the n-th of them; NULL: nothing happens */

/* As the linker names them. */
int __wrap_pthread_mutex_unlock(pthread_mutex_t *m);
int __real_pthread_mutex_unlock(pthread_mutex_t *m);

int __wrap_pthread_mutex_unlock(pthread_mutex_t *m)
{
    const int rc = __real_pthread_mutex_unlock(m);

    if (deciding && m == &store->lock.os) {
        deciding = false; /* what the test does is no section */
        section_n++;
        if (then != NULL) {
            then(section_n);
        }
        deciding = true;
    }
    return rc;
}

static struct store_pack_answer decide(void (*meanwhile)(unsigned n))
{
    const struct view_pod pod = {.uid = STR("asking"), .namespace_ = STR("d"), .demand = &half};
    struct store_pack_answer answer;

    section_n = 0;
    then = meanwhile;
    deciding = true;
    assert_int_equal(store_pack(store, &arena, &pod, &plans, NULL, 0, names, NODES, &answer, NULL), 0);
    deciding = false;
    assert_int_equal(answer.n, NODES);
    return answer;
}

/* ---- the cluster ---- */

static void use(struct str strategy)
{
    policy = *policy_defaults();
    policy.node_strategy = policy.device_strategy = strategy;
    assert_int_equal(pack_plans_init(&plans, &policy, NULL), 0);
}

/* That wait, and so are expected to come again. */
static void pods(const char *prefix, int n, const struct demand *d)
{
    char uid[16];

    for (int i = 0; i < n; i++) {
        snprintf(uid, sizeof(uid), "%s%d", prefix, i);
        apply_pod(uid, NULL, d);
    }
}

static int setup(void **state)
{
    deciding = false;
    store_open(clock_system());
    apply_empty_lists();
    for (int i = 0; i < NODES; i++) {
        names[i] = (struct str){text[i], (size_t)snprintf(text[i], sizeof(text[i]), "n%03d", i)};
        apply_node(text[i], 1, 80 * GIB, true);
    }
    pods("large-", 4, &large);
    use(STR("binpack"));
    return 0;
}

/* ---- nothing happens ---- */

static unsigned asked_n(const struct store_pack_answer *answer)
{
    unsigned n = 0;

    for (size_t i = 0; i < answer->asked.word_n; i++) {
        n += (unsigned)__builtin_popcountll(answer->asked.bits[i]);
    }
    return n;
}

static void pack__nobody_disturbs__each_section_once(void **state)
{
    static const struct str looking_at[] = {STR("binpack"), STR("fgd")};

    for (size_t i = 0; i < sizeof(looking_at) / sizeof(looking_at[0]); i++) {
        struct store_pack_answer answer;

        use(looking_at[i]);
        answer = decide(NULL);
        assert_int_equal(section_n, SECTIONS);
        assert_false(answer.moved);
        assert_int_equal(answer.generation, store_generation(store));
        assert_int_equal(asked_n(&answer), NODES);
        for (size_t k = 0; k < NODES; k++) {
            assert_true(str_eq(answer.results[k].name, names[k]));
            assert_int_equal(answer.results[k].verdict, VERDICT_FITS);
        }
    }
}

/* ---- something does ---- */

static void a_pod_comes(unsigned n)
{
    if (n == 2) {
        apply_pod("one more", NULL, &large);
    }
}

/* What changes is no matter of names nor of what is expected: those that are judged stay judged. */
static void pack__the_ledger_changes__goes_on_and_says_so(void **state)
{
    const uint64_t before = store_generation(store);
    struct store_pack_answer answer = decide(a_pod_comes);

    assert_int_equal(section_n, SECTIONS);
    assert_true(answer.moved);
    assert_int_equal(answer.generation, before);
    assert_int_equal(store_generation(store), before + 1);
}

static void the_first_goes(unsigned n)
{
    if (n == 1) {
        apply((struct ledger_op){.kind = LEDGER_NODE_GONE, .name = names[0]});
    }
}

static void pack__a_node_goes_that_was_judged__begins_again(void **state)
{
    struct store_pack_answer answer = decide(the_first_goes);

    assert_int_equal(section_n, 1 + SECTIONS);
    assert_int_equal(answer.results[0].verdict, VERDICT_NODE_UNKNOWN);
    assert_int_equal(answer.generation, store_generation(store));
    assert_int_equal(asked_n(&answer), NODES - 1);
    for (size_t i = 1; i < NODES; i++) {
        assert_true(str_eq(answer.results[i].name, names[i]));
        assert_int_equal(answer.results[i].verdict, VERDICT_FITS);
    }
}

static void another_comes(unsigned n)
{
    char name[16];

    snprintf(name, sizeof(name), "x%u", n);
    apply_node(name, 1, 80 * GIB, true);
}

/* In one long section after it has begun again eight times. */
static void pack__nodes_come_without_end__ends_all_the_same(void **state)
{
    struct store_pack_answer answer = decide(another_comes);

    assert_int_equal(section_n, 1 + 8);
    for (size_t i = 0; i < NODES; i++) {
        assert_true(str_eq(answer.results[i].name, names[i]));
        assert_int_equal(answer.results[i].verdict, VERDICT_FITS);
    }
}

static void other_pods_come(unsigned n)
{
    if (n == 1) {
        pods("small-", 8, &small);
    }
}

/* The nodes are alike, and so are their scores, by what is expected in the end. What classes mean stays as it is: only
 * typical pods are others. */
static void pack__other_pods_are_expected__judges_all_by_them(void **state)
{
    struct store_pack_answer before, answer, fresh;

    use(STR("fgd"));
    before = decide(NULL);
    answer = decide(other_pods_come);
    assert_int_equal(section_n, 1 + SECTIONS);
    fresh = decide(NULL);
    assert_int_not_equal(before.results[0].score, fresh.results[0].score);
    for (size_t i = 0; i < NODES; i++) {
        assert_int_equal(answer.results[i].score, fresh.results[0].score);
    }
}

static void the_last_has_two(unsigned n)
{
    if (n == 1) {
        apply_node(text[NODES - 1], 2, 80 * GIB, true);
    }
}

/* Another shape of nodes: what classes mean is new, and typical pods are the same. */
static void pack__prices_mean_something_else__judges_all_by_the_new_ones(void **state)
{
    struct store_pack_answer before, answer, fresh;

    use(STR("rsp"));
    (void)decide(NULL);
    before = decide(NULL);
    answer = decide(the_last_has_two);
    fresh = decide(NULL);
    assert_int_not_equal(before.prices.basis, fresh.prices.basis);
    assert_int_equal(answer.prices.basis, fresh.prices.basis);
    for (size_t i = 0; i < NODES; i++) {
        assert_int_equal(answer.results[i].score, fresh.results[i].score);
    }
}

/* ---- by several criteria ---- */

/* ---- names and scores ---- */

/* One that is asked about again is answered again, unless nobody knows it: then once. */
static void pack__names_that_nobody_knows__once_each(void **state)
{
    static const struct str asked[] = {STR("x"), STR("n001"), STR("y"), STR("x"),   STR("n000"),
                                       STR("y"), STR("x"),    STR("z"), STR("n002")};
    static const char *const want[] = {"x", "n001", "y", "n000", "z", "n002"};
    const struct view_pod pod = {.uid = STR("asking"), .namespace_ = STR("d"), .demand = &half};
    struct store_pack_answer answer;

    assert_int_equal(store_pack(store, &arena, &pod, &plans, NULL, 0, asked, ARRAY_LEN(asked), &answer, NULL), 0);
    assert_int_equal(answer.n, ARRAY_LEN(want));
    for (size_t i = 0; i < answer.n; i++) {
        assert_true(str_eq_cstr(answer.results[i].name, want[i]));
        assert_int_equal(answer.results[i].verdict == VERDICT_FITS, want[i][0] == 'n');
    }
}

/* best-fit is a published strategy, whose scores lie between those of the worst and of the best node. */
static void pack__scores_that_are_relative__from_0_to_the_most(void **state)
{
    struct store_pack_answer answer;
    int64_t lowest = INT64_MAX, highest = INT64_MIN;

    apply_pod("holds", "n007", &small);
    use(STR("best-fit"));
    answer = decide(NULL);
    for (size_t i = 0; i < NODES; i++) {
        lowest = answer.results[i].score < lowest ? answer.results[i].score : lowest;
        highest = answer.results[i].score > highest ? answer.results[i].score : highest;
    }
    assert_int_equal(lowest, 0);
    assert_int_equal(highest, 100);
}

static void use_two_criteria(void)
{
    policy = *policy_defaults();
    policy.node_strategy = policy.device_strategy = STR("binpack");
    policy.node_criteria =
        (struct criteria){.names = {STR("binpack"), STR("spread")}, .weights_milli = {750, 500}, .n = 2};
    assert_int_equal(pack_plans_init(&plans, &policy, NULL), 0);
}

/* Sections begin small, because several criteria have more to compute, and grow while that is little. */
static void pack__by_two_criteria__each_name_once_with_what_both_say(void **state)
{
    struct store_pack_answer answer;

    use_two_criteria();
    answer = decide(NULL);
    assert_int_equal(section_n, 4); /* 64, 128, 256 and the rest */
    assert_int_equal(answer.scored_n, NODES);
    for (size_t i = 0; i < NODES; i++) {
        assert_true(str_eq(answer.results[i].name, names[i]) && str_eq(answer.scored[i], names[i]));
        assert_int_equal(answer.results[i].verdict, VERDICT_FITS);
        assert_int_equal(answer.results[i].score, answer.scores[i].combined);
        assert_int_equal(answer.scores[i].by[0] + answer.scores[i].by[1], answer.scores[i].combined);
    }
}

static void pack__by_two_criteria_and_a_node_goes__begins_again(void **state)
{
    struct store_pack_answer answer;

    use_two_criteria();
    answer = decide(the_first_goes);
    assert_int_equal(section_n, 1 + 3);
    assert_int_equal(answer.results[0].verdict, VERDICT_NODE_UNKNOWN);
    for (size_t i = 1; i < NODES; i++) {
        assert_true(str_eq(answer.results[i].name, names[i]));
        assert_int_equal(answer.results[i].verdict, VERDICT_FITS);
    }
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, store_teardown)
    const struct CMUnitTest tests[] = {
        T(pack__nobody_disturbs__each_section_once),
        T(pack__the_ledger_changes__goes_on_and_says_so),
        T(pack__a_node_goes_that_was_judged__begins_again),
        T(pack__nodes_come_without_end__ends_all_the_same),
        T(pack__other_pods_are_expected__judges_all_by_them),
        T(pack__prices_mean_something_else__judges_all_by_the_new_ones),
        T(pack__by_two_criteria__each_name_once_with_what_both_say),
        T(pack__names_that_nobody_knows__once_each),
        T(pack__scores_that_are_relative__from_0_to_the_most),
        T(pack__by_two_criteria_and_a_node_goes__begins_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
