/* Order, points and tentatives, over views of a real ledger. */
#include "base/rng.h"
#include "core/placement/pack.h"
#include "core/support/tested_ledger.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES 60
static char name_text[NODES][16];
static struct str names[NODES];
static struct arena arena;

/* 60 nodes with 2 GPUs, filled unevenly by pods on GPU 0. */
static int setup(void **state)
{
    fixture_init(&fx);
    arena_init(&arena, 64 << 20);
    for (int i = 0; i < NODES; i++) {
        struct demand d = SHARE_OF(50 + 10 * (i * 7 % 31));
        char uid[16];

        snprintf(name_text[i], sizeof(name_text[i]), "n%02d", i);
        names[i] = str_of(name_text[i]);
        snprintf(uid, sizeof(uid), "p%02d", i);
        fixture_node(&fx, name_text[i], 2, 80 * GIB);
        fixture_pod(&fx, uid, &d, NULL, NULL);
        assert_int_equal(fixture_reserve(&fx, uid, name_text[i]), 0);
    }
    return 0;
}

static int teardown(void **state)
{
    arena_fini(&arena);
    fixture_fini(&fx);
    return 0;
}

static const struct pack_params *params_of(const char *node, const char *device)
{
    static struct pack_params p;

    p = (struct pack_params){.node_strategy = strategy_find(str_of(node)),
                             .device_strategy = strategy_find(str_of(device))};
    return &p;
}

static struct ledger_view view_for(const struct demand *d)
{
    struct ledger_view v;

    assert_int_equal(ledger_view(fx.l, &arena, VIEW_POD("me", d), &v, NULL), 0);
    return v;
}

static size_t rank_all(const struct demand *d, const struct pack_tentative *tentatives, size_t tentative_n,
                       size_t limit, const struct str *order, size_t n, struct pack_result *ret)
{
    struct ledger_view v = view_for(d);
    struct pack_key keys[NODES];

    fixture_pack(&v, params_of("tight-fit", "tight-fit"), tentatives, tentative_n, order, n, ret);
    return pack_rank(ret, n, limit, keys);
}

static void pack_rank__limit__gives_the_head_of_the_full_order(void **state)
{
    struct demand d = SHARE_OF(300);
    struct pack_result all[NODES], some[NODES];

    for (size_t limit = 1; limit <= NODES; limit++) {
        assert_int_equal(rank_all(&d, NULL, 0, 0, names, NODES, all), NODES);
        assert_int_equal(rank_all(&d, NULL, 0, limit, names, NODES, some), NODES);
        for (size_t i = 0; i < limit; i++) {
            assert_true(str_eq(all[i].name, some[i].name));
        }
    }
}

static void pack_rank__order_of_the_request__does_not_matter(void **state)
{
    struct demand d = SHARE_OF(300);
    struct pack_result forward[NODES], backward[NODES];
    struct str reversed[NODES];

    for (size_t i = 0; i < NODES; i++) {
        reversed[i] = names[NODES - 1 - i];
    }
    rank_all(&d, NULL, 0, 10, names, NODES, forward);
    rank_all(&d, NULL, 0, 10, reversed, NODES, backward);
    for (size_t i = 0; i < 10; i++) {
        assert_true(str_eq(forward[i].name, backward[i].name));
    }
}

/* Names far from where the one before them was are looked up in blocks. Unknown ones and repeats are among them. */
static void pack_some__names_in_no_order__each_has_the_answer_that_it_has_alone(void **state)
{
    enum { ASKED = 5 * NODES };
    struct demand d = SHARE_OF(300);
    struct pack_result together[ASKED], alone;
    struct str asked[ASKED];
    struct rng r;

    rng_init(&r, 5);
    for (size_t i = 0; i < ASKED; i++) {
        asked[i] = rng_below(&r, 9) == 0 ? STR("nowhere") : names[rng_below(&r, NODES)];
    }
    struct ledger_view v = view_for(&d);

    fixture_pack(&v, params_of("tight-fit", "tight-fit"), NULL, 0, asked, ASKED, together);
    for (size_t i = 0; i < ASKED; i++) {
        fixture_pack(&v, params_of("tight-fit", "tight-fit"), NULL, 0, &asked[i], 1, &alone);
        assert_true(str_eq(together[i].name, asked[i]));
        assert_int_equal(together[i].verdict, alone.verdict);
        assert_int_equal(together[i].score, alone.score);
    }
}

/* Of two that fit, in the words of the header; -1: `x` comes first. */
static int by_words(const void *x, const void *y)
{
    const struct pack_result *a = x, *b = y;
    int64_t differences[] = {(int64_t)a->demoted - b->demoted, (int64_t)a->group - b->group,
                             (int64_t)a->slack - b->slack, (a->score < b->score) - (a->score > b->score),
                             (int64_t)a->name_order - b->name_order};

    for (size_t i = 0; i < sizeof(differences) / sizeof(differences[0]); i++) {
        if (differences[i] != 0) {
            return differences[i] < 0 ? -1 : 1;
        }
    }
    return 0;
}

/* Few different values, the extremes among them; every other result does not fit now and then. */
static size_t any_results(struct rng *r, size_t n, bool some_do_not_fit, struct pack_result *ret)
{
    static const int64_t scores[] = {INT64_MIN, -1, 0, 1, INT64_MAX};
    static const uint16_t slacks[] = {0, 7, UINT16_MAX};
    size_t fit = 0;

    for (size_t i = 0; i < n; i++) {
        ret[i] =
            (struct pack_result){.verdict = some_do_not_fit && rng_below(r, 2) == 0 ? VERDICT_NO_GPU : VERDICT_FITS,
                                 .demoted = (rng_below(r, 2) * rng_below(r, 3)) & 3,
                                 .group = rng_below(r, 3) == 0 ? UINT8_MAX : 0,
                                 .slack = slacks[rng_below(r, 3)],
                                 .score = scores[rng_below(r, 5)],
                                 .name_order = (uint32_t)i * 7919 % NODES + (i == 3 ? UINT32_MAX - NODES : 0)};
        fit += ret[i].verdict == VERDICT_FITS;
    }
    return fit;
}

static void pack_rank__any_results__as_sorted_and_none_lost(void **state)
{
    struct pack_result results[NODES], sorted[NODES];
    struct pack_key keys[NODES];
    struct rng r;

    rng_init(&r, 11);
    for (int round = 0; round < 3000; round++) {
        size_t n = (size_t)rng_below(&r, NODES + 1), limit = (size_t)rng_below(&r, NODES + 5), fit, kept = 0;
        uint64_t left = 0;

        fit = any_results(&r, n, round % 2 == 0, results);
        for (size_t i = 0; i < n; i++) {
            left += results[i].name_order;
            if (results[i].verdict == VERDICT_FITS) {
                sorted[kept++] = results[i];
            }
        }
        qsort(sorted, fit, sizeof(sorted[0]), by_words);
        assert_int_equal(pack_rank(results, n, limit, keys), fit);
        kept = limit > 0 && limit < fit ? limit : fit;
        for (size_t i = 0; i < n; i++) {
            left -= results[i].name_order;
            if (i < kept) {
                assert_int_equal(results[i].name_order, sorted[i].name_order);
            }
        }
        assert_int_equal(left, 0);
    }
}

/* What is the same in all stands above what differs, and must not reach into it. */
static void pack_rank__narrow_and_all_alike_above__as_sorted(void **state)
{
    enum { MANY = 64 };
    struct pack_result results[MANY], sorted[MANY];
    struct pack_key keys[MANY];

    for (uint32_t i = 0; i < MANY; i++) {
        results[i] = (struct pack_result){
            .verdict = VERDICT_FITS, .slack = (uint16_t)(i / 2 % 2), .score = i % 2, .name_order = MANY + i};
    }
    memcpy(sorted, results, sizeof(sorted));
    qsort(sorted, MANY, sizeof(sorted[0]), by_words);
    assert_int_equal(pack_rank(results, MANY, 0, keys), MANY);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(results[i].name_order, sorted[i].name_order);
    }
}

/* Many at once are sorted by digits, where what differs is narrow enough; points are those of the formula. */
static void pack_rank__many_results__as_sorted_and_none_lost(void **state)
{
    enum { MANY = 700 };
    static struct pack_result results[MANY], sorted[MANY];
    static struct pack_key keys[MANY];
    static int32_t points[MANY];
    struct rng r;

    rng_init(&r, 12);
    for (int round = 0; round < 300; round++) {
        size_t n = 64 + (size_t)rng_below(&r, MANY - 63), fit = 0, fit_n;
        const int64_t spread = round % 3 == 0 ? 5 : round % 3 == 1 ? 1 << 30 : INT64_MAX; /* the last one is too wide */
        const int64_t below = round % 4 < 2 ? 0 : spread / 2; /* of both signs differ in each bit: too wide as well */
        const uint32_t first_name = round % 7 == 1 ? 1 << 14 : round % 7 == 2 ? UINT32_MAX - 10007 : 0;
        uint64_t left = 0;

        for (size_t i = 0; i < n; i++) {
            results[i] = (struct pack_result){.verdict = rng_below(&r, 8) == 0 ? VERDICT_NO_GPU : VERDICT_FITS,
                                              .demoted = round % 2 == 0 && rng_below(&r, 50) == 0,
                                              .slack = round % 5 == 0 ? (uint16_t)rng_below(&r, 3) : UINT16_MAX,
                                              .score = (int64_t)rng_below(&r, (uint64_t)spread) - below,
                                              .name_order = (uint32_t)(i * 7919 % 10007) + first_name};
            if (round == 0) {
                results[i].verdict = VERDICT_NO_GPU;
            }
            left += results[i].name_order;
            if (results[i].verdict == VERDICT_FITS) {
                sorted[fit++] = results[i];
            }
        }
        qsort(sorted, fit, sizeof(sorted[0]), by_words);
        fit_n = pack_rank(results, n, round % 4 == 0 ? n : 0, keys);
        assert_int_equal(fit_n, fit);
        pack_points(results, n, points);
        for (size_t i = 0; i < n; i++) {
            left -= results[i].name_order;
            assert_true((results[i].verdict == VERDICT_FITS) == (i < fit));
            if (i < fit) {
                assert_int_equal(results[i].name_order, sorted[i].name_order);
            }
            if (i < fit && i > 0 && (i == 1 || results[i].score != results[i - 1].score)) {
                assert_int_equal(points[i], 9 - 10 * (i - 1) / (n - 1));
            }
        }
        assert_int_equal(left, 0);
    }
}

static void pack_some__unknown_and_full_nodes__have_their_verdicts(void **state)
{
    struct demand d = WHOLE_GPUS(2);
    struct str asked[] = {names[0], STR("nobody"), names[1]};
    struct pack_result r[3];

    assert_int_equal(rank_all(&d, NULL, 0, 0, asked, 3, r), 0);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(r[i].verdict, str_eq(r[i].name, STR("nobody")) ? VERDICT_NODE_UNKNOWN : VERDICT_NOT_EMPTY);
    }
}

static void pack_some__name_again__is_left_out(void **state)
{
    struct demand d = SHARE_OF(300);
    struct str asked[] = {names[4], names[2], names[4], names[2], names[9]};
    uint64_t seen[NODES / 64 + 1] = {0};
    struct ledger_view v = view_for(&d);
    struct pack_query q;
    struct pack_result r[5];

    pack_query_init(&q, &v, params_of("tight-fit", "tight-fit"), NULL, 0);
    q.seen = seen;
    assert_int_equal(pack_some(&v, &q, asked, 3, r), 2);
    assert_int_equal(pack_some(&v, &q, asked + 3, 2, r + 2), 1); /* across calls too */
    assert_true(str_eq(r[0].name, names[4]));
    assert_true(str_eq(r[1].name, names[2]));
    assert_true(str_eq(r[2].name, names[9]));
}

static void pack_tentative__demote_and_never_refuse(void **state)
{
    struct demand d = SHARE_OF(960), held = SHARE_OF(960);
    struct pack_result free_r[NODES], held_r[NODES];
    size_t fit = rank_all(&d, NULL, 0, 0, names, NODES, free_r);
    struct pack_tentative tentative = {free_r[0].name, &held};

    assert_int_equal(fit, NODES);
    assert_int_equal(rank_all(&d, &tentative, 1, 0, names, NODES, held_r), fit);
    assert_true(str_eq(held_r[NODES - 1].name, free_r[0].name)); /* room for one of the two only */
    assert_true(held_r[NODES - 1].demoted);
    assert_true(str_eq(held_r[0].name, free_r[1].name));
}

/* Whatever else speaks for it, also where it would come last anyway. */
static void pack_in_doubt__comes_last_and_is_not_refused(void **state)
{
    struct demand d = SHARE_OF(960), held = SHARE_OF(960);
    struct ledger_view v = view_for(&d);
    uint64_t in_doubt[NODES / 64 + 1] = {0};
    struct pack_result plain[NODES], r[NODES];
    struct pack_key keys[NODES];
    struct pack_tentative tentative;
    struct pack_query q;
    size_t fit = rank_all(&d, NULL, 0, 0, names, NODES, plain);

    tentative = (struct pack_tentative){plain[1].name, &held};
    for (size_t beside = 0; beside < 2; beside++) {
        const uint32_t node = ledger_view_index(&v, &plain[beside].name);

        pack_query_init(&q, &v, params_of("tight-fit", "tight-fit"), &tentative, 1);
        memset(in_doubt, 0, sizeof(in_doubt));
        in_doubt[node / 64] = UINT64_C(1) << node % 64;
        q.in_doubt = in_doubt;
        assert_int_equal(pack_some(&v, &q, names, NODES, r), NODES);
        assert_int_equal(pack_rank(r, NODES, 0, keys), fit);
        assert_true(str_eq(r[fit - 1].name, plain[beside].name));
        assert_int_equal(r[fit - 1].demoted, PACK_IN_DOUBT);
        assert_int_equal(r[fit - 2].demoted, beside == 0 ? PACK_PROMISED : PACK_NOT_DEMOTED);
    }
}

static void pack_tentative__room_for_both__change_nothing(void **state)
{
    struct demand d = SHARE_OF(300), held = SHARE_OF(300);
    struct pack_result free_r[NODES], held_r[NODES];
    struct pack_tentative tentative;

    rank_all(&d, NULL, 0, 0, names, NODES, free_r);
    tentative = (struct pack_tentative){free_r[0].name, &held};
    rank_all(&d, &tentative, 1, 0, names, NODES, held_r);
    assert_true(str_eq(held_r[0].name, free_r[0].name));
}

/* Whole GPUs of a plugin change no device, but they fill a node all the same. */
static void pack_rank__pods_of_a_plugin__are_packed_and_spread_too(void **state)
{
    struct demand one = {.dialect = "native", .plugin_managed_n = 1},
                  three = {.dialect = "native", .plugin_managed_n = 3};
    const struct str nodes[] = {STR("w1"), STR("w2"), STR("w3")};
    struct pack_result r[3];
    struct pack_key keys[3];
    struct ledger_view v;

    for (size_t i = 0; i < 3; i++) {
        fixture_node_plugin_managed(&fx, nodes[i].p, 4, 80 * GIB, 4);
    }
    fixture_pod(&fx, "one", &one, NULL, NULL);
    fixture_pod(&fx, "three", &three, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "one", "w2"), 0);
    assert_int_equal(fixture_reserve(&fx, "three", "w3"), 0);
    v = view_for(&one);
    fixture_pack(&v, params_of("binpack", "binpack"), NULL, 0, nodes, 3, r);
    assert_int_equal(pack_rank(r, 3, 0, keys), 3);
    assert_true(str_eq_cstr(r[0].name, "w3"));
    assert_true(str_eq_cstr(r[2].name, "w1"));
    fixture_pack(&v, params_of("spread", "spread"), NULL, 0, nodes, 3, r);
    assert_int_equal(pack_rank(r, 3, 0, keys), 3);
    assert_true(str_eq_cstr(r[0].name, "w1"));
    assert_true(str_eq_cstr(r[2].name, "w3"));
}

static void pack_points__best_is_alone_at_ten(void **state)
{
    static const struct {
        size_t n;
        int64_t score[6];
        int32_t points[6];
    } rows[] = {
        {1, {5}, {10}},
        {2, {5, 4}, {10, 9}},
        {2, {5, 5}, {10, 9}}, /* alone even among equals */
        {3, {9, 5, 5}, {10, 9, 9}},
        {6, {9, 8, 7, 6, 5, 4}, {10, 9, 7, 5, 3, 1}},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pack_result r[6] = {{.verdict = VERDICT_FITS}};
        int32_t points[6];

        for (size_t j = 0; j < rows[i].n; j++) {
            r[j] = (struct pack_result){.verdict = VERDICT_FITS, .score = rows[i].score[j]};
        }
        pack_points(r, rows[i].n, points);
        for (size_t j = 0; j < rows[i].n; j++) {
            assert_int_equal(points[j], rows[i].points[j]);
        }
    }
}

static void pack_points__many_nodes__spread_over_nine_to_zero_in_order(void **state)
{
    struct pack_result r[500];
    int32_t points[500];

    for (size_t i = 0; i < 500; i++) {
        r[i] = (struct pack_result){.verdict = i < 490 ? VERDICT_FITS : VERDICT_NO_GPU, .score = 1000 - (int64_t)i};
    }
    pack_points(r, 500, points);
    assert_int_equal(points[0], 10);
    assert_int_equal(points[1], 9);
    for (size_t i = 1; i < 500; i++) {
        assert_in_range(points[i], 0, 9);
        assert_true(points[i] <= points[i - 1]);
    }
    assert_int_equal(points[499], 0);
}

static void view__uuid_list__denies_the_other_devices(void **state)
{
    struct demand d = SHARE_OF(100);
    struct device_pattern only = {STR("GPU-n05-1"), false};
    struct device_state buffer[DEVICES_PER_NODE_MAX];
    struct ledger_view v;
    struct pack_result r[NODES];

    d.uuids = &only;
    d.uuid_n = 1;
    v = view_for(&d);
    assert_true((ledger_view_devices(&v, ledger_view_find(&v, names[5]), buffer)->flags & DEVICE_DENIED) != 0);
    assert_int_equal(rank_all(&d, NULL, 0, 0, names, NODES, r), 1);
    assert_true(str_eq(r[0].name, names[5]));
}

static void view__arena_too_small__is_an_error(void **state)
{
    struct demand d = SHARE_OF(100);
    struct device_pattern any = {STR("*"), false};
    struct arena small;
    struct ledger_view v;

    d.models = &any; /* the table of allowed models is all a view needs memory for */
    d.model_n = 1;
    arena_init(&small, 1);
    assert_int_equal(ledger_view(fx.l, &small, VIEW_POD("me", &d), &v, NULL), -ERR_LIMIT);
    arena_fini(&small);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(pack_rank__limit__gives_the_head_of_the_full_order),
        T(pack_rank__order_of_the_request__does_not_matter),
        T(pack_some__names_in_no_order__each_has_the_answer_that_it_has_alone),
        cmocka_unit_test(pack_rank__any_results__as_sorted_and_none_lost),
        cmocka_unit_test(pack_rank__narrow_and_all_alike_above__as_sorted),
        cmocka_unit_test(pack_rank__many_results__as_sorted_and_none_lost),
        T(pack_some__unknown_and_full_nodes__have_their_verdicts),
        T(pack_some__name_again__is_left_out),
        T(pack_tentative__demote_and_never_refuse),
        T(pack_in_doubt__comes_last_and_is_not_refused),
        T(pack_tentative__room_for_both__change_nothing),
        T(pack_rank__pods_of_a_plugin__are_packed_and_spread_too),
        cmocka_unit_test(pack_points__best_is_alone_at_ten),
        cmocka_unit_test(pack_points__many_nodes__spread_over_nine_to_zero_in_order),
        T(view__uuid_list__denies_the_other_devices),
        T(view__arena_too_small__is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
