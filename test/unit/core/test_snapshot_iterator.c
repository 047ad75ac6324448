/* Iterators show the ledger of one generation, whatever is applied while they are read. */
#include "core/ledger/snapshot_iterator.h"
#include "core/support/snapshot_text.h"
#include "core/support/tested_ledger.h"
#include "core/support/simulation_checks.h"

#include "base/strbuf.h"
#include "support/cmocka.h"
#include "support/seeds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_MAX ((size_t)64 << 20)

/* ---- an iterator, and what it must show ---- */

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static void assert_same_text(struct text *a, struct text *b)
{
    assert_string_equal(a->nodes.p, b->nodes.p);
    assert_int_equal(a->pod_n, b->pod_n);
    if (a->pod_n > 0) {
        qsort(a->pods, a->pod_n, sizeof(*a->pods), by_text);
        qsort(b->pods, b->pod_n, sizeof(*b->pods), by_text);
    }
    for (size_t i = 0; i < a->pod_n; i++) {
        assert_string_equal(a->pods[i].p, b->pods[i].p);
    }
}

struct reader {
    struct ledger *ledger;
    struct snapshot_iterator *iterator; /* NULL: none is open */
    struct snapshot totals;
    bool filtered;
    struct text want, got;
};

static void reader_open(struct reader *r, struct ledger *l, struct str node, struct str namespace_)
{
    const struct snapshot_iterator_filter filter = {node, namespace_};
    struct arena a;
    struct snapshot s;

    text_init(&r->want);
    text_init(&r->got);
    arena_init(&a, 64U << 20);
    assert_int_equal(snapshot_take(l, &a, node, namespace_, &s, NULL), 0);
    text_add(&r->want, &s);
    arena_fini(&a);
    r->ledger = l;
    r->filtered = node.n > 0 || namespace_.n > 0;
    r->iterator = snapshot_iterator_open(l, &filter, KEPT_MAX, &r->totals);
    assert_int_equal(r->totals.generation, ledger_generation(l));
}

/* The sums over what was shown are those that were announced at the opening. */
static void reader_check_sums(const struct reader *r)
{
    const struct snapshot *t = &r->totals;

    assert_int_equal(r->got.pod_n, t->pod_n);
    for (size_t i = 0; i < LEDGER_POD_STATE__MAX; i++) {
        assert_int_equal(r->got.by_state[i], t->pods_by_state[i]);
    }
    assert_int_equal(r->got.milli_charged, t->milli_charged);
    assert_int_equal(r->got.mem_charged_mib, t->mem_charged_mib);
    assert_int_equal(r->got.milli_cap, t->milli_cap);
    assert_int_equal(r->got.mem_cap_mib, t->mem_cap_mib);
    assert_int_equal(r->got.device_n, t->device_n);
}

static void reader_close(struct reader *r)
{
    snapshot_iterator_close(r->ledger, r->iterator);
    snapshot_iterator_free(r->iterator);
    text_fini(&r->want);
    text_fini(&r->got);
    r->iterator = NULL;
}

/* One section; at the end everything is compared. */
static bool reader_step(struct reader *r, size_t max_nodes)
{
    struct arena a;
    struct snapshot s;
    enum snapshot_iterator_step step;

    arena_init(&a, 64U << 20);
    step = snapshot_iterator_next(r->ledger, r->iterator, max_nodes, &a, &s);
    assert_int_not_equal(step, SNAPSHOT_ITERATOR_TORN);
    text_add(&r->got, &s);
    arena_fini(&a);
    if (step == SNAPSHOT_ITERATOR_MORE) {
        return true;
    }
    assert_same_text(&r->want, &r->got);
    if (!r->filtered) {
        reader_check_sums(r);
    }
    reader_close(r);
    return false;
}

/* ---- with the watches, faults and Bindings of the simulation in between ---- */

#define READERS 3
static struct reader readers[READERS];
static unsigned ended_n;

static void read_on(struct simulation *s)
{
    for (unsigned i = 0; i < READERS; i++) {
        struct reader *r = &readers[i];

        if (r->iterator != NULL && cluster_model_chance(&s->w, 15)) {
            ended_n += !reader_step(r, 1 + cluster_model_below(&s->w, 2));
        } else if (r->iterator == NULL && cluster_model_chance(&s->w, 10)) {
            const struct cluster_model_node *n = s->w.nodes[cluster_model_below(&s->w, CLUSTER_MODEL_NODES)];
            const struct cluster_model_pod *p =
                s->w.pod_n == 0 ? NULL : s->w.pods[cluster_model_below(&s->w, s->w.pod_n)];

            reader_open(r, s->l, i == 1 && n != NULL ? n->name : STR_NULL,
                        i == 2 && p != NULL ? p->namespace_ : STR_NULL);
        }
    }
}

static void random__iterators_beside_everything__show_the_generation_of_their_opening(void **state)
{
    enum { SEEDS = 100, STEPS = 300 };
    const struct seeds seeds = seeds_of_test(5001, SEEDS);

    ended_n = 0;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct simulation *s = simulation_new(seed);

        s->after = read_on;
        for (unsigned i = 1; i <= STEPS; i++) {
            simulation_step(s);
            if (i % 60 == 0) {
                simulation_settle(s, cluster_model_chance(&s->w, 50));
            }
        }
        s->after = NULL;
        for (unsigned i = 0; i < READERS; i++) {
            while (readers[i].iterator != NULL && reader_step(&readers[i], 2)) {
            }
        }
        simulation_free(s);
    }
    assert_true(seeds.n < SEEDS || ended_n > 5 * seeds.n); /* ended in the midst of it */
}

/* ---- one thing at a time ---- */

static int setup(void **state)
{
    fixture_init(&fx);
    fixture_node(&fx, "n2", 2, 80 * GIB);
    fixture_node(&fx, "n1", 1, 40 * GIB);
    fixture_node(&fx, "n3", 4, 40 * GIB);
    return 0;
}

static void finish(struct reader *r)
{
    while (reader_step(r, 1)) {
    }
}

static void iterator__pods_go_through_all_states__shown_as_they_were(void **state)
{
    struct demand third = SHARE_AND_MEMORY_OF(300, 4 * GIB), half = SHARE_OF(500);
    struct reader r = {0};

    fixture_pod(&fx, "pending", &half, NULL, NULL);
    fixture_pod(&fx, "goes", &half, NULL, NULL);
    fixture_pod(&fx, "reserved", &third, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "reserved", "n2"), 0);
    fixture_pod(&fx, "foreign", &half, "n1", NULL);
    reader_open(&r, fx.l, STR_NULL, STR_NULL);
    assert_true(reader_step(&r, 1)); /* n1 is read */
    assert_int_equal(fixture_reserve(&fx, "pending", "n3"), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_RELEASE, "reserved"), 0);
    fixture_name_op(&fx, LEDGER_POD_GONE, "goes");
    fixture_pod(&fx, "new", &half, NULL, NULL); /* in the place of the one that went */
    fixture_name_op(&fx, LEDGER_POD_GONE, "foreign");
    fixture_name_op(&fx, LEDGER_NODE_GONE, "n2");
    fixture_node(&fx, "n0", 8, 80 * GIB);
    fixture_name_op(&fx, LEDGER_NODE_GONE, "n3");
    fixture_node(&fx, "n3", 1, 1 * GIB);
    finish(&r);
}

static void iterator__lists_sweep_everything_away__shown_as_it_was(void **state)
{
    struct demand half = SHARE_OF(500);
    struct reader r = {0};

    fixture_pod(&fx, "a", &half, "n1", NULL);
    fixture_pod(&fx, "b", &half, NULL, NULL);
    reader_open(&r, fx.l, STR_NULL, STR_NULL);
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    fixture_bracket(&fx, LEDGER_PODS_END);
    fixture_bracket(&fx, LEDGER_NODES_BEGIN);
    fixture_bracket(&fx, LEDGER_NODES_END);
    assert_false(ledger_has_node(fx.l, STR("n1")));
    assert_true(snapshot_iterator_kept_bytes(r.iterator) > 0);
    finish(&r);
}

static void iterator__nothing_changes__nothing_is_kept(void **state)
{
    struct demand half = SHARE_OF(500);
    struct reader r = {0};
    size_t before;

    fixture_pod(&fx, "a", &half, "n1", NULL);
    reader_open(&r, fx.l, STR_NULL, STR_NULL);
    before = snapshot_iterator_kept_bytes(r.iterator);
    assert_true(reader_step(&r, 8));
    fixture_pod(&fx, "b", &half, "n1", NULL); /* after it was read */
    assert_int_equal(snapshot_iterator_kept_bytes(r.iterator), before);
    finish(&r);
}

static void iterator__keeps_more_than_it_may__torn_until_it_is_closed(void **state)
{
    const struct snapshot_iterator_filter all = {0};
    struct snapshot totals, s;
    struct snapshot_iterator *iterator = snapshot_iterator_open(fx.l, &all, 256, &totals);

    assert_int_equal(snapshot_iterator_next(fx.l, iterator, 1, &fx.arena, &s), SNAPSHOT_ITERATOR_MORE);
    fixture_node(&fx, "n3", 1, 1 * GIB);
    assert_int_equal(snapshot_iterator_next(fx.l, iterator, 1, &fx.arena, &s), SNAPSHOT_ITERATOR_TORN);
    fixture_node(&fx, "n2", 1, 1 * GIB);
    assert_int_equal(snapshot_iterator_next(fx.l, iterator, 1, &fx.arena, &s), SNAPSHOT_ITERATOR_TORN);
    assert_int_equal(s.node_n, 0);
    snapshot_iterator_close(fx.l, iterator);
    snapshot_iterator_free(iterator);
}

static void iterator__pending_pods_beyond_its_bound__torn(void **state)
{
    const struct snapshot_iterator_filter all = {0};
    struct demand half = SHARE_OF(500);
    struct snapshot totals, s;
    struct snapshot_iterator *iterator;
    char uid[16];

    for (int i = 0; i < 100; i++) {
        snprintf(uid, sizeof(uid), "p%d", i);
        fixture_pod(&fx, uid, &half, NULL, NULL);
    }
    iterator = snapshot_iterator_open(fx.l, &all, 4096, &totals);
    for (int i = 0; i < 100; i++) {
        snprintf(uid, sizeof(uid), "p%d", i);
        fixture_name_op(&fx, LEDGER_POD_GONE, uid);
    }
    assert_int_equal(snapshot_iterator_next(fx.l, iterator, 1, &fx.arena, &s), SNAPSHOT_ITERATOR_TORN);
    snapshot_iterator_close(fx.l, iterator);
    snapshot_iterator_free(iterator);
}

static void iterator__several_at_different_generations__each_its_own(void **state)
{
    struct demand half = SHARE_OF(500);
    struct reader r[3] = {0};

    for (size_t i = 0; i < 3; i++) {
        reader_open(&r[i], fx.l, STR_NULL, STR_NULL);
        fixture_pod(&fx, i == 0 ? "a" : i == 1 ? "b" : "c", &half, "n2", NULL);
    }
    reader_close(&r[1]); /* a reader that hangs up */
    finish(&r[2]);
    finish(&r[0]);
}

static void iterator__one_node_or_namespace__no_more(void **state)
{
    struct demand half = SHARE_OF(500);
    struct reader r = {0};

    fixture_pod(&fx, "a", &half, "n2", NULL);
    fixture_pod(&fx, "p", &half, NULL, NULL);
    reader_open(&r, fx.l, STR("n2"), STR_NULL);
    fixture_name_op(&fx, LEDGER_POD_GONE, "a");
    finish(&r);
    reader_open(&r, fx.l, STR_NULL, STR("elsewhere"));
    fixture_name_op(&fx, LEDGER_POD_GONE, "p");
    finish(&r);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, ledger_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(iterator__pods_go_through_all_states__shown_as_they_were),
        T(iterator__lists_sweep_everything_away__shown_as_it_was),
        T(iterator__nothing_changes__nothing_is_kept),
        T(iterator__keeps_more_than_it_may__torn_until_it_is_closed),
        T(iterator__pending_pods_beyond_its_bound__torn),
        T(iterator__several_at_different_generations__each_its_own),
        T(iterator__one_node_or_namespace__no_more),
        cmocka_unit_test(random__iterators_beside_everything__show_the_generation_of_their_opening),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
