/* Scores at other prices by what is kept of them: what a new look at the node would find, however many GPUs there
 * are to choose from. */
#include "core/ledger/ledger.h"
#include "core/placement/pack.h"
#include "core/placement/score_terms.h"
#include "core/request/demand_histogram.h"
#include "core/support/ledger_fixture.h"
#include "support/cmocka.h"

#include <stdio.h>

/* Nodes by how many GPUs they have, each filled otherwise. */
enum { FEW = SCORE_TERMS_FEW, MOST = FORECAST_TERMS_MAX, TOO_MANY = FORECAST_TERMS_MAX + 1, NODES = TOO_MANY };

struct scene {
    struct ledger_fixture f;
    struct forecast *o;
    struct demand_histogram *expected;
    struct score_cache *cache;
    struct str names[NODES];
    char texts[NODES][32];
};

static void expect(struct scene *s, int32_t milli, int times)
{
    struct demand d = SHARE_OF(milli);

    for (int i = 0; i < times; i++) {
        demand_histogram_arrived(s->expected, &d);
    }
    demand_histogram_settle(s->expected);
    forecast_give_demand_histogram(s->o, s->expected);
}

static void begin(struct scene *s)
{
    fixture_init(&s->f);
    s->o = forecast_new();
    s->expected = demand_histogram_new();
    s->cache = score_cache_new();
    for (int i = 0; i < NODES; i++) {
        snprintf(s->texts[i], sizeof(s->texts[i]), "%d-gpus", i + 1);
        s->names[i] = str_of(s->texts[i]);
        fixture_node(&s->f, s->texts[i], i + 1, 0);
        for (int k = 0; k <= i; k++) {
            struct demand d = SHARE_OF(50 + 50 * k);
            struct assignment as = RECORD_OF("d", "", k, 50 + 50 * k, 0);
            char uid[32];

            snprintf(uid, sizeof(uid), "%d-%d", i, k);
            assert_int_equal(fixture_pod(&s->f, uid, &d, s->texts[i], &as), 0);
        }
    }
    expect(s, 300, 50);
}

static void end(struct scene *s)
{
    score_cache_free(s->cache);
    forecast_free(s->o);
    demand_histogram_free(s->expected);
    fixture_fini(&s->f);
}

/* Asks about all nodes, remembering or not; the row where it does. */
static struct score_row ask(struct scene *s, const struct demand *d, bool remembering, struct pack_result *ret)
{
    struct pack_params p = *fixture_params("rsp");
    struct ledger_view v;
    struct pack_query q;

    while (!forecast_follow(s->o, ledger_cluster_view(s->f.l), p.node_strategy)) {
    }
    p.forecast = s->o;
    p.prices = forecast_prices(s->o);
    arena_reset(&s->f.arena);
    assert_int_equal(ledger_view(s->f.l, &s->f.arena, VIEW_POD("me", d), &v, NULL), 0);
    pack_query_init(&q, &v, &p, NULL, 0);
    if (remembering) {
        q.known = score_cache_find(s->cache, d, &p, v.node_n);
    }
    assert_int_equal(pack_some(&v, &q, s->names, NODES, ret), NODES);
    return q.known;
}

static int64_t sum(const struct score_part *parts, size_t n)
{
    int64_t all = 0;

    for (size_t i = 0; i < n; i++) {
        all += parts[i].value;
    }
    return all;
}

static void gain__other_pods_expected__as_judged_anew(void **state)
{
    struct score_part parts[SCORE_PARTS_MAX];
    static const int32_t sizes[] = {700, 450, 120, 1000, 300};
    struct pack_result anew[NODES], again[NODES];
    struct demand d = SHARE_OF(100);
    struct score_row row;
    struct scene s;
    int64_t score;

    begin(&s);
    row = ask(&s, &d, true, again);
    for (uint32_t i = 0; i < NODES; i++) {
        assert_int_equal(row.terms->nodes[i].n, i + 1 < TOO_MANY ? i + 1 : 0);
        assert_int_equal(row.terms->nodes[i].more > 0, i + 1 > FEW && i + 1 < TOO_MANY);
    }
    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        expect(&s, sizes[k], 400);
        ask(&s, &d, false, anew);
        for (uint32_t i = 0; i < NODES; i++) {
            assert_int_equal(score_terms_gain(row.terms, i, s.o, forecast_prices(s.o), &score), i + 1 < TOO_MANY);
            if (i + 1 < TOO_MANY) {
                assert_int_equal(score, anew[i].score);
                assert_int_equal(sum(parts, score_terms_parts(row.terms, i, s.o, forecast_prices(s.o), parts)), score);
            } else {
                assert_int_equal(score_terms_parts(row.terms, i, s.o, forecast_prices(s.o), parts), 0);
            }
        }
        ask(&s, &d, true, again);
        for (uint32_t i = 0; i < NODES; i++) {
            assert_int_equal(again[i].score, anew[i].score);
        }
    }
    end(&s);
}

static void keep__fewer_and_more_again__what_came_last(void **state)
{
    struct score_terms t = {0};
    struct forecast_terms terms = {.n = MOST};

    score_terms_grow(&t, 100);
    for (uint32_t node = 0; node < 100; node++) {
        for (uint32_t n = MOST; n-- > 0;) {
            terms.after[n] = (struct forecast_place){node, n};
        }
        terms.n = MOST;
        score_terms_keep(&t, node, &terms);
        terms.n = node % MOST;
        score_terms_keep(&t, node, &terms);
        terms.n = MOST;
        score_terms_keep(&t, node, &terms);
    }
    assert_int_equal(t.more_n, 100); /* one each, used again */
    for (uint32_t node = 0; node < 100; node++) {
        for (uint32_t k = 0; k < MOST; k++) {
            const struct forecast_place *p =
                k < FEW ? &t.nodes[node].few[k] : &t.more[t.nodes[node].more - 1].places[k - FEW];

            assert_int_equal(p->place, node);
            assert_int_equal(p->serial, k);
        }
    }
    assert_true(score_terms_bytes(&t) >= 100 * (sizeof(t.nodes[0]) + sizeof(t.more[0])));
    score_terms_forget(&t);
    assert_int_equal(t.nodes[99].n, 0);
    assert_int_equal(t.nodes[99].more, 0);
    score_terms_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gain__other_pods_expected__as_judged_anew),
        cmocka_unit_test(keep__fewer_and_more_again__what_came_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
