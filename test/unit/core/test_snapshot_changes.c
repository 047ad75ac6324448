/* Who reads what changed since a generation, and drops the names that left, knows what a snapshot says. */
#include "core/ledger/node_table.h"
#include "core/ledger/snapshot_iterator.h"
#include "core/support/simulation_checks.h"
#include "core/support/snapshot_text.h"
#include "core/support/tested_ledger.h"

#include "support/cmocka.h"
#include "support/seeds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_MAX ((size_t)64 << 20)
#define NODES_MAX 64

/* What is known of nodes: each as text, with its pods. */
struct known {
    uint64_t generation;
    struct known_node {
        char *name, *text;
    } nodes[NODES_MAX];
    size_t n;
    size_t given_n; /* of nodes, in all */
};

static void forget(struct known *k, struct str name)
{
    for (size_t i = 0; i < k->n; i++) {
        if (str_eq_cstr(name, k->nodes[i].name)) {
            free(k->nodes[i].name);
            free(k->nodes[i].text);
            k->nodes[i] = k->nodes[--k->n];
            return;
        }
    }
}

static void known_fini(struct known *k)
{
    while (k->n > 0) {
        forget(k, str_of(k->nodes[0].name));
    }
}

static void learn(struct known *k, const struct snapshot *s)
{
    for (size_t i = 0; i < s->node_n; i++) {
        const struct snapshot one = {.nodes = &s->nodes[i], .node_n = 1, .pods = s->pods};
        struct text t;

        text_init(&t);
        text_add(&t, &one);
        for (size_t j = 0; j < s->nodes[i].pod_n; j++) {
            text_pod(&t, &s->pods[s->nodes[i].first_pod + j]);
            strbuf_add_str(&t.nodes, t.pods[j]);
            strbuf_add_char(&t.nodes, '\n');
        }
        forget(k, s->nodes[i].name);
        assert_true(k->n < NODES_MAX);
        k->given_n++;
        k->nodes[k->n++] = (struct known_node){str_dup(s->nodes[i].name), str_dup(strbuf_view(&t.nodes))};
        text_fini(&t);
    }
}

/* False: more left than the ledger remembers. */
static bool catch_up(struct known *k, struct ledger *l)
{
    const struct snapshot_iterator_filter filter = {.changed = true, .since = k->generation, .nodes_only = true};
    enum snapshot_iterator_step step = SNAPSHOT_ITERATOR_MORE;
    struct snapshot_iterator *it;
    const struct str *left;
    struct snapshot s;
    struct arena a;
    size_t left_n;
    bool known;

    it = snapshot_iterator_open(l, &filter, KEPT_MAX, &s);
    k->generation = s.generation;
    known = snapshot_iterator_left(it, &left, &left_n);
    for (size_t i = 0; i < left_n; i++) {
        forget(k, left[i]);
    }
    while (known && step == SNAPSHOT_ITERATOR_MORE) {
        arena_init(&a, KEPT_MAX);
        step = snapshot_iterator_next(l, it, 2, &a, &s);
        learn(k, &s);
        arena_fini(&a);
    }
    snapshot_iterator_close(l, it);
    snapshot_iterator_free(it);
    return known;
}

static void assert_knows(const struct known *k, const struct ledger *l)
{
    struct known want = {.n = 0};
    struct snapshot s;
    struct arena a;

    arena_init(&a, KEPT_MAX);
    assert_int_equal(snapshot_take(l, &a, STR_NULL, STR_NULL, &s, NULL), 0);
    learn(&want, &s);
    arena_fini(&a);
    assert_int_equal(k->n, want.n);
    for (size_t i = 0; i < want.n; i++) {
        size_t at = 0;

        while (at < k->n && strcmp(k->nodes[at].name, want.nodes[i].name) != 0) {
            at++;
        }
        assert_true(at < k->n);
        assert_string_equal(k->nodes[at].text, want.nodes[i].text);
    }
    known_fini(&want);
}

/* ---- with the watches, faults and Bindings of the simulation ---- */

#define FOLLOWERS 2 /* one looks after nearly each op, one seldom */
static struct known followers[FOLLOWERS];

static void follow(struct simulation *s)
{
    for (unsigned i = 0; i < FOLLOWERS; i++) {
        if (cluster_model_chance(&s->w, i == 0 ? 80 : 5)) {
            assert_true(catch_up(&followers[i], s->l));
            assert_knows(&followers[i], s->l);
        }
    }
}

static void random__followers__know_what_a_snapshot_says(void **state)
{
    enum { SEEDS = 40, STEPS = 200 };
    const struct seeds seeds = seeds_of_test(5101, SEEDS);

    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct simulation *s = simulation_new(seed);

        s->after = follow;
        for (unsigned i = 1; i <= STEPS; i++) {
            simulation_step(s);
            if (i % 50 == 0) {
                simulation_settle(s, cluster_model_chance(&s->w, 50));
            }
        }
        s->after = NULL;
        simulation_free(s);
        for (unsigned i = 0; i < FOLLOWERS; i++) {
            known_fini(&followers[i]);
            followers[i].generation = 0;
        }
    }
}

/* ---- names that left ---- */

static void come_and_go(const char *name)
{
    fixture_node(&fx, name, 1, 1 * GIB);
    fixture_name_op(&fx, LEDGER_NODE_GONE, name);
}

/* Who has seen everything is given nothing, and then only what has changed. */
static void changed__one_of_two_nodes__that_one_alone(void **state)
{
    struct demand d = SHARE_OF(100);
    struct known k = {.n = 0};

    fixture_node(&fx, "n1", 1, 1 * GIB);
    fixture_node(&fx, "n2", 1, 1 * GIB);
    assert_true(catch_up(&k, fx.l));
    assert_int_equal(k.given_n, 2);
    assert_true(catch_up(&k, fx.l));
    assert_int_equal(k.given_n, 2);
    assert_int_equal(fixture_pod(&fx, "a", &d, "n2", NULL), 0);
    assert_true(catch_up(&k, fx.l));
    assert_int_equal(k.given_n, 3);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "a"), 0);
    assert_true(catch_up(&k, fx.l));
    assert_true(catch_up(&k, fx.l));
    assert_int_equal(k.given_n, 4);
    fixture_node(&fx, "n3", 0, 0); /* new, and with nothing that could change */
    assert_true(catch_up(&k, fx.l));
    assert_int_equal(k.given_n, 5);
    assert_int_equal(fixture_pod(&fx, "b", &d, "n4", NULL), 0); /* known by its pod alone */
    assert_true(catch_up(&k, fx.l));
    assert_int_equal(k.given_n, 6);
    assert_knows(&k, fx.l);
    known_fini(&k);
}

static void left__came_back__is_not_gone(void **state)
{
    struct known k = {.n = 0};

    fixture_node(&fx, "n1", 1, 1 * GIB);
    assert_true(catch_up(&k, fx.l));
    fixture_name_op(&fx, LEDGER_NODE_GONE, "n1");
    fixture_node(&fx, "n1", 2, 1 * GIB);
    assert_true(catch_up(&k, fx.l));
    assert_int_equal(k.n, 1);
    assert_knows(&k, fx.l);
    known_fini(&k);
}

static void left__more_than_are_remembered__is_said(void **state)
{
    struct known all = {.n = 0}, last = {.n = 0};
    char name[16];

    assert_true(catch_up(&all, fx.l));
    for (int i = 0; i < NODES_LEFT_MAX; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        come_and_go(name);
        last.generation = i == 1 ? ledger_generation(fx.l) : last.generation;
    }
    assert_true(catch_up(&(struct known){.generation = all.generation}, fx.l));
    come_and_go("one-more");
    assert_false(catch_up(&(struct known){.generation = all.generation}, fx.l));
    assert_false(catch_up(&(struct known){.generation = last.generation - 1}, fx.l));
    assert_true(catch_up(&last, fx.l)); /* who knows of the oldest that is remembered misses none */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random__followers__know_what_a_snapshot_says),
        EMPTY_LEDGER_TEST(changed__one_of_two_nodes__that_one_alone),
        EMPTY_LEDGER_TEST(left__came_back__is_not_gone),
        EMPTY_LEDGER_TEST(left__more_than_are_remembered__is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
