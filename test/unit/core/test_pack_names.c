/* Lists of names in every order: blocks of our nodes one after the other, nodes in no order, names twice, names of no
 * node, while nodes come, change and go. Whatever way a name is found by, the answer is that of the node which the
 * table has under just that name, and is judged as if nothing were remembered. */
#include "base/rng.h"
#include "core/fit/slack.h"
#include "core/ledger/state.h"
#include "core/placement/pack.h"
#include "core/support/tested_ledger.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 300, PLACES_MAX = 1024, ASKED_MAX = 2 * NODES, NAME_MAX_BYTES = 96, HELD = 3, DOUBTS_MAX = 30 };

struct list {
    char text[ASKED_MAX][NAME_MAX_BYTES];
    struct str names[ASKED_MAX];
    size_t n;
};

static struct arena arena;
static struct rng rng;
static struct list list;

/* The nth name of a node: beginnings and ends are often the same, and lengths go over each limit of a comparison. */
static void name_of(unsigned n, char ret[NAME_MAX_BYTES])
{
    static const char *const forms[][2] = {{"", ""},
                                           {"n-", ""},
                                           {"node-", ""},
                                           {"node-", "-abc"},
                                           {"a-long-beginning-", ""},
                                           {"", "-and-a-rather-long-end"},
                                           {"sixteen-byt-", "-"},
                                           {"a-beginning-of-many-bytes-", "-then-an-end-of-more"}};
    const char *const *form = forms[n / 16 % (sizeof(forms) / sizeof(forms[0]))];

    snprintf(ret, NAME_MAX_BYTES, "%s%03u%s", form[0], n % 1000, form[1]);
}

static void describe(unsigned n)
{
    char name[NAME_MAX_BYTES];

    name_of(n, name);
    fixture_node(&fx, name, 1 + (int)(n % 3), 80 * GIB);
}

static int setup(void **state)
{
    (void)empty_ledger_setup(state);
    arena_init(&arena, 64 << 20);
    for (unsigned i = 0; i < NODES; i++) {
        describe(i);
    }
    return 0;
}

static int teardown(void **state)
{
    arena_fini(&arena);
    return ledger_teardown(state);
}

static struct str any_node(void)
{
    struct str name;

    do {
        name = fx.l->names[rng_below(&rng, fx.l->node_n)];
    } while (name.n == 0);
    return name;
}

static void change_something(void)
{
    struct demand d = SHARE_OF(100 * (1 + (int32_t)rng_below(&rng, 9)));
    const struct str name = any_node();
    char text[NAME_MAX_BYTES], uid[16];

    snprintf(uid, sizeof(uid), "p%d", (int)rng_below(&rng, 400));
    snprintf(text, sizeof(text), "%.*s", STR_ARG(name));
    switch (rng_below(&rng, 10)) {
    case 0:
    case 1:
    case 2:
        fixture_name_op(&fx, LEDGER_NODE_GONE, text);
        break;
    case 3:
    case 4:
    case 5:
        describe((unsigned)rng_below(&rng, 900));
        break;
    case 6:
        fixture_name_op(&fx, LEDGER_POD_GONE, uid);
        break;
    default:
        if (!fixture_knows_pod(&fx, uid)) {
            fixture_pod(&fx, uid, &d, NULL, NULL);
            (void)fixture_reserve(&fx, uid, text);
        }
    }
}

static void ask(struct str name)
{
    char *text = list.text[list.n];

    memcpy(text, name.p, name.n);
    if (rng_below(&rng, 40) == 0) { /* a name that is like it */
        switch (rng_below(&rng, 3)) {
        case 0:
            text[rng_below(&rng, name.n)] ^= 1;
            break;
        case 1:
            name.n--;
            break;
        default:
            text[name.n++] = 'x';
        }
    }
    list.names[list.n++] = (struct str){text, name.n};
}

/* Runs of nodes in the order of the table, from anywhere and round the end, some left out, some asked again. */
static void ask_in_runs(void)
{
    const uint32_t run_max = 1 + (uint32_t)rng_below(&rng, 150);
    uint32_t at = (uint32_t)rng_below(&rng, fx.l->node_n);

    list.n = 0;
    while (list.n < NODES) {
        for (uint64_t left = 1 + rng_below(&rng, run_max); left > 0 && list.n < ASKED_MAX; left--, at++) {
            const struct str name = fx.l->names[at % fx.l->node_n];

            if (name.n > 0 && rng_below(&rng, 50) > 0) {
                ask(name);
            }
        }
        at = rng_below(&rng, 3) == 0 ? at : (uint32_t)rng_below(&rng, fx.l->node_n);
    }
}

/* ---- the same without anything that makes it quick ---- */

static uint32_t find(struct str name)
{
    for (uint32_t i = 0; i < fx.l->node_n; i++) {
        if (name.n > 0 && str_eq(fx.l->names[i], name)) {
            return i;
        }
    }
    return LEDGER_VIEW_NONE;
}

static struct pack_result judged(const struct ledger_view *v, const struct pack_query *like, struct str name)
{
    struct pack_result r = {.name = name, .slack = SLACK_NONE, .verdict = VERDICT_NODE_UNKNOWN};
    const uint32_t node = find(name);
    int64_t held_n = 0;

    if (node == LEDGER_VIEW_NONE) {
        return r;
    }
    r.name_order = v->nodes[node].name_order;
    r.verdict = pack_node(v, &v->nodes[node], like->params, &r.score, NULL);
    for (size_t i = 0; i < like->tentative_n && r.verdict == VERDICT_FITS; i++) {
        held_n += str_eq(like->tentatives[i].node_name, name);
    }
    r.demoted = held_n > 0 && r.score <= held_n; /* one GPU for each that is held, and one more */
    if (r.verdict == VERDICT_FITS && like->in_doubt != NULL && (like->in_doubt[node / 64] >> node % 64 & 1) != 0) {
        r.demoted = PACK_IN_DOUBT;
    }
    return r;
}

/* How many GPUs of the node nobody is on. */
static int64_t free_gpus(const struct forecast *o, const struct strategy_node *n)
{
    int64_t free_n = 0;

    (void)o;
    for (uint32_t i = 0; i < n->device_n; i++) {
        free_n += n->before[i].milli_free == 1000;
    }
    return free_n;
}

static const struct strategy by_free_gpus = {.name = "by-free-gpus", .node_score = free_gpus};

static void expect_as_one_by_one(const struct ledger_view *v, const struct pack_query *q, const struct pack_result *got,
                                 size_t got_n)
{
    static bool seen[PLACES_MAX];
    size_t k = 0;

    assert_true(v->node_n <= PLACES_MAX);
    memset(seen, 0, sizeof(seen));
    for (size_t i = 0; i < list.n; i++) {
        const struct pack_result want = judged(v, q, list.names[i]);
        const uint32_t node = find(list.names[i]);

        if (node != LEDGER_VIEW_NONE) {
            if (seen[node]) {
                continue;
            }
            seen[node] = true;
        }
        assert_true(k < got_n);
        assert_ptr_equal(got[k].name.p, want.name.p);
        assert_int_equal(got[k].name.n, want.name.n);
        assert_int_equal(got[k].verdict, want.verdict);
        assert_int_equal(got[k].name_order, want.name_order);
        assert_int_equal(got[k].slack, want.slack);
        assert_int_equal(got[k].demoted, want.demoted);
        assert_true(want.verdict != VERDICT_FITS || got[k].score == want.score);
        k++;
    }
    assert_int_equal(k, got_n);
}

static const uint64_t *any_doubts(const struct ledger_view *v)
{
    uint64_t *bits = arena_calloc(&arena, v->node_n / 64 + 1, sizeof(*bits));

    assert_non_null(bits);
    for (uint64_t n = 1 + rng_below(&rng, DOUBTS_MAX); n > 0; n--) {
        const uint64_t node = rng_below(&rng, v->node_n);

        bits[node / 64] |= UINT64_C(1) << node % 64;
    }
    return bits;
}

/* One call, in sections as the store makes them. */
static void call(struct score_cache *cache, const struct pack_params *p, const struct demand *d, size_t held_n,
                 bool doubts)
{
    static struct pack_result got[ASKED_MAX];
    struct demand held = WHOLE_GPUS(1);
    struct pack_tentative tentatives[HELD];
    struct pack_query q;
    struct ledger_view v;
    size_t done = 0, n = 0;

    for (size_t i = 0; i < held_n; i++) {
        tentatives[i] = (struct pack_tentative){any_node(), &held};
    }
    assert_int_equal(ledger_view(fx.l, &arena, VIEW_POD("me", d), &v, NULL), 0);
    pack_query_init(&q, &v, p, tentatives, held_n);
    q.seen = arena_calloc(&arena, v.node_n / 64 + 1, sizeof(*q.seen));
    q.known = score_cache_find(cache, d, p, v.node_n);
    q.in_doubt = doubts ? any_doubts(&v) : NULL;
    while (done < list.n) {
        size_t section = 1 + (size_t)rng_below(&rng, 256);

        section = section < list.n - done ? section : list.n - done;
        n += pack_some(&v, &q, list.names + done, section, got + n);
        done += q.done;
    }
    expect_as_one_by_one(&v, &q, got, n);
    arena_reset(&arena);
}

static void pack_some__lists_in_every_order__each_name_as_if_it_were_alone(void **state)
{
    struct score_cache *cache = score_cache_new();
    const struct pack_params p = {.node_strategy = &by_free_gpus, .device_strategy = strategy_find(STR("tight-fit"))};
    struct demand d = WHOLE_GPUS(1);

    rng_init(&rng, 31);
    for (int round = 0; round < 300; round++) {
        for (uint64_t n = rng_below(&rng, 12); n > 0; n--) {
            change_something();
        }
        ask_in_runs();
        call(cache, &p, &d, round % 3 == 0 ? HELD : 0, round % 4 == 0);
        assert_ptr_equal(ledger_check(fx.l), NULL);
    }
    score_cache_free(cache);
}

/* A view compares whole names: of every length, one byte at any place makes another name. */
static void view_index__one_byte_differs__is_another_name(void **state)
{
    struct demand d = SHARE_OF(100);
    char name[NAME_MAX_BYTES];
    struct ledger_view v;

    memset(name, 'n', sizeof(name));
    for (size_t n = 1; n < 80; n++) {
        name[n] = '\0';
        fixture_node(&fx, name, 1, GIB);
        name[n] = 'n';
    }
    assert_int_equal(ledger_view(fx.l, &arena, VIEW_POD("me", &d), &v, NULL), 0);
    for (size_t n = 1; n < 80; n++) {
        const struct str whole = {name, n};
        const uint32_t node = ledger_view_index(&v, &whole);

        assert_int_equal(node, find(whole));
        for (size_t i = 0; i < n; i++) {
            name[i] = 'm';
            assert_false(ledger_view_is_named(&v, &v.briefs[node], &whole));
            assert_int_equal(ledger_view_index_near(&v, &whole, node), LEDGER_VIEW_NONE);
            name[i] = 'n';
        }
        assert_int_equal(ledger_view_index_near(&v, &whole, node), node);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pack_some__lists_in_every_order__each_name_as_if_it_were_alone, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(view_index__one_byte_differs__is_another_name, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
