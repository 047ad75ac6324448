/* By what the best node comes before the next one, and the parts of both scores side by side. */
#include "core/placement/reason.h"

#include "base/rng.h"
#include "support/cmocka.h"

#include <string.h>

static void reason__each_thing_that_ranks__is_named(void **state)
{
    static const struct pack_result best = {.verdict = VERDICT_FITS, .slack = 5, .group = 1, .score = 7};
    struct pack_result next = best;

    assert_int_equal(pack_reason(&best, NULL), PACK_BY_NONE);
    next.name_order = 9;
    assert_int_equal(pack_reason(&best, &next), PACK_BY_NAME);
    next.score = 6;
    assert_int_equal(pack_reason(&best, &next), PACK_BY_SCORE);
    next.slack = 6;
    assert_int_equal(pack_reason(&best, &next), PACK_BY_SLACK);
    next.group = 2;
    assert_int_equal(pack_reason(&best, &next), PACK_BY_RULE);
    next.demoted = PACK_PROMISED;
    assert_int_equal(pack_reason(&best, &next), PACK_BY_PROMISE);
    next.demoted = PACK_IN_DOUBT;
    assert_int_equal(pack_reason(&best, &next), PACK_BY_DOUBT);
}

/* What ranks a result, as numbers of which the smaller comes first; in the order of enum pack_reason. */
static void numbers_of(const struct pack_result *r, int64_t ret[6])
{
    ret[0] = r->demoted == PACK_IN_DOUBT;
    ret[1] = r->demoted == PACK_PROMISED;
    ret[2] = r->group;
    ret[3] = r->slack;
    ret[4] = -r->score;
    ret[5] = r->name_order;
}

/* pack_rank() is the judge: what is named is the first in which the two differ, and there the first one is better. */
static void reason__random_results__what_is_named_is_what_ranked(void **state)
{
    unsigned seen[PACK_BY__MAX] = {0};
    struct rng rng;

    rng_init(&rng, 1);
    for (int round = 0; round < 5000; round++) {
        struct pack_key keys[2];
        struct pack_result r[2];
        int64_t best[6], next[6];
        enum pack_reason why;
        int at = 0;

        for (size_t i = 0; i < 2; i++) {
            r[i] = (struct pack_result){.verdict = VERDICT_FITS,
                                        .demoted = (rng_below(&rng, 2) * rng_below(&rng, 3)) & 3,
                                        .group = (uint8_t)rng_below(&rng, 2),
                                        .slack = (uint16_t)rng_below(&rng, 2),
                                        .score = (int64_t)rng_below(&rng, 2) - 1,
                                        .name_order = (uint32_t)i};
        }
        assert_int_equal(pack_rank(r, 2, 0, keys), 2);
        numbers_of(&r[0], best);
        numbers_of(&r[1], next);
        while (best[at] == next[at]) {
            at++;
        }
        why = pack_reason(&r[0], &r[1]);
        assert_int_equal(why, PACK_BY_DOUBT + at);
        assert_true(best[at] < next[at]);
        seen[why]++;
    }
    for (int why = PACK_BY_DOUBT; why < PACK_BY__MAX; why++) {
        assert_true(seen[why] > 100);
    }
}

static void parts__of_both_nodes__stand_side_by_side_in_order(void **state)
{
    static const struct score_part best[] = {{.kind = SCORE_PART_SIZES, .which = 3, .milli = 700, .value = 5},
                                             {.kind = SCORE_PART_FILL, .value = -9}};
    static const struct score_part next[] = {{.kind = SCORE_PART_SIZES, .which = 4, .milli = 900, .value = 6},
                                             {.kind = SCORE_PART_FILL, .value = -8},
                                             {.kind = SCORE_PART_IDLE, .value = -1}};
    struct reason_part p[REASON_PARTS_MAX];

    assert_int_equal(reason_parts(best, 2, next, 3, p), 4);
    assert_true(p[0].of.kind == SCORE_PART_FILL && p[0].best == -9 && p[0].next == -8);
    assert_true(p[1].of.kind == SCORE_PART_SIZES && p[1].of.milli == 700 && p[1].best == 5 && p[1].next == 0);
    assert_true(p[2].of.kind == SCORE_PART_SIZES && p[2].of.milli == 900 && p[2].best == 0 && p[2].next == 6);
    assert_true(p[3].of.kind == SCORE_PART_IDLE && p[3].best == 0 && p[3].next == -1);
    assert_int_equal(reason_parts(best, 0, next, 0, p), 0);
}

/* As many as there can be: those that matter least become one, and nothing is lost of the sums. */
static void parts__more_than_are_kept__the_least_become_one(void **state)
{
    struct score_part best[SCORE_PARTS_MAX], next[SCORE_PARTS_MAX];
    struct reason_part p[REASON_PARTS_MAX];
    int64_t sums[2] = {0, 0}, got[2] = {0, 0};
    const size_t n = SCORE_PARTS_MAX;

    for (size_t i = 0; i < n; i++) {
        best[i] = (struct score_part){
            .kind = i == 0 ? SCORE_PART_IDLE : SCORE_PART_GANGS, .which = (uint8_t)i, .value = (int64_t)i * 10};
        next[n - 1 - i] = best[i];
        next[n - 1 - i].value = (int64_t)i * 9;
        sums[0] += best[i].value;
        sums[1] += next[n - 1 - i].value;
    }
    assert_int_equal(reason_parts(best, n, next, n, p), REASON_PARTS_MAX);
    for (size_t i = 0; i < REASON_PARTS_MAX; i++) {
        got[0] += p[i].best;
        got[1] += p[i].next;
        assert_true(p[i].of.kind != SCORE_PART_GANGS || p[i].of.which >= n - REASON_PARTS_MAX + 2);
    }
    assert_int_equal(got[0], sums[0]);
    assert_int_equal(got[1], sums[1]);
    assert_int_equal(p[REASON_PARTS_MAX - 1].of.kind, SCORE_PART_GOODS);
    assert_int_equal(p[REASON_PARTS_MAX - 2].of.kind, SCORE_PART_IDLE);

    assert_int_equal(reason_parts(best, REASON_PARTS_MAX, next, 0, p), REASON_PARTS_MAX);
    assert_int_not_equal(p[REASON_PARTS_MAX - 1].of.kind, SCORE_PART_GOODS); /* so many are kept as they are */
}

static void names__of_all__are_there_and_differ(void **state)
{
    for (int i = 0; i < SCORE_PART__MAX; i++) {
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(score_part_name((enum score_part_kind)i), score_part_name((enum score_part_kind)k));
        }
    }
    for (int i = 0; i < PACK_BY__MAX; i++) {
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(pack_reason_name((enum pack_reason)i), pack_reason_name((enum pack_reason)k));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reason__each_thing_that_ranks__is_named),
        cmocka_unit_test(reason__random_results__what_is_named_is_what_ranked),
        cmocka_unit_test(parts__of_both_nodes__stand_side_by_side_in_order),
        cmocka_unit_test(parts__more_than_are_kept__the_least_become_one),
        cmocka_unit_test(names__of_all__are_there_and_differ),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
