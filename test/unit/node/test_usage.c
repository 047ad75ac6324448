/* What containers use of their GPUs, told in looks. Memory in units of one byte, time in seconds. */
#include "base/bug.h"
#include "node/usage.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>

#define S INT64_C(1000000000)

static struct usage_holder holds(const char *id, const char *gpu, int32_t milli, int64_t mem_bytes)
{
    return (struct usage_holder){.container_id = str_of(id),
                                 .pod_uid = STR("uid"),
                                 .namespace_ = STR("ns"),
                                 .pod = STR("pod"),
                                 .container = STR("main"),
                                 .gpu = str_of(gpu),
                                 .milli = milli,
                                 .mem_bytes = mem_bytes};
}

static void process(struct usage *u, const char *id, int64_t pid, int64_t mem_bytes, int32_t milli)
{
    const struct usage_process p = {.pid = pid, .started = 7, .mem_bytes = mem_bytes, .milli = milli};

    assert_true(usage_look_process(u, str_of(id), &p));
}

/* A look at one container "a" with 300 milli and 100 bytes on GPU "g", and one process. */
static void look(struct usage *u, int64_t s, int64_t mem_bytes, int32_t milli)
{
    const struct usage_holder h = holds("a", "g", 300, 100);

    usage_look_begin(u, s * S);
    usage_look_holder(u, &h);
    usage_look_gpu(u, STR("g"), true);
    process(u, "a", 17, mem_bytes, milli);
    usage_look_end(u);
}

static const struct usage_row *row(const struct usage *u, const char *id)
{
    const struct usage_row *r = usage_of(u, str_of(id), STR("g"));

    assert_non_null(r);
    return r;
}

static void usage__of_a_container__has_now_peak_and_mean_over_time(void **state)
{
    struct usage *u = usage_new();
    const struct usage_row *r;

    look(u, 100, 40, 100);
    r = row(u, "a");
    assert_int_equal(r->mem_bytes.mean, 40); /* of no time yet: what there is */
    look(u, 110, 80, 200);
    look(u, 140, 20, 400);
    r = row(u, "a");
    assert_int_equal(r->mem_bytes.now, 20);
    assert_int_equal(r->mem_bytes.peak, 80);
    assert_int_equal(r->mem_bytes.mean, (80 * 10 + 20 * 30) / 40);
    assert_int_equal(r->milli.now, 400);
    assert_int_equal(r->milli.peak, 400);
    assert_int_equal(r->milli.mean, (200 * 10 + 400 * 30) / 40);
    assert_int_equal(r->since_ns, 100 * S);
    assert_int_equal(r->seen_ns, 140 * S);
    assert_int_equal(r->look_n, 3);
    usage_free(u);
}

static void usage__processes_of_a_container__add_up(void **state)
{
    struct usage *u = usage_new();
    const struct usage_holder h = holds("a", "g", 300, 100);

    usage_look_begin(u, 0);
    usage_look_holder(u, &h);
    usage_look_gpu(u, STR("g"), true);
    process(u, "a", 1, 30, 100);
    process(u, "a", 2, 50, 50);
    process(u, "a", 3, 10, 0);
    usage_look_end(u);
    assert_int_equal(row(u, "a")->mem_bytes.now, 90);
    assert_int_equal(row(u, "a")->milli.now, 150);
    assert_int_equal(row(u, "a")->process_n, 3);
    assert_int_equal(row(u, "a")->largest.pid, 2);
    usage_free(u);
}

static void usage__a_container_without_processes__has_never_touched_its_gpu(void **state)
{
    struct usage *u = usage_new();
    const struct usage_holder h = holds("a", "g", 300, 100);

    for (int i = 0; i < 2; i++) {
        usage_look_begin(u, i * S);
        usage_look_holder(u, &h);
        usage_look_gpu(u, STR("g"), true);
        usage_look_end(u);
    }
    assert_false(row(u, "a")->touched);
    assert_int_equal(row(u, "a")->mem_bytes.peak, 0);
    assert_int_equal(row(u, "a")->milli.peak, 0);
    look(u, 2, 0, 0); /* a process, be it without memory */
    assert_true(row(u, "a")->touched);
    usage_free(u);
}

static void usage__a_process_of_nobody_who_holds_the_gpu__is_refused(void **state)
{
    struct usage *u = usage_new();
    const struct usage_holder h = holds("a", "g", 300, 100);
    const struct usage_process p = {.pid = 1, .mem_bytes = 1};

    usage_look_begin(u, 0);
    usage_look_holder(u, &h);
    usage_look_gpu(u, STR("other"), true);
    assert_false(usage_look_process(u, STR("a"), &p));
    usage_look_gpu(u, STR("g"), true);
    assert_false(usage_look_process(u, STR("b"), &p));
    usage_look_end(u);
    usage_free(u);
}

/* ---- above its memory ---- */

static void usage__at_its_memory__is_within_and_above_it_is_over_since_then(void **state)
{
    struct usage *u = usage_new();

    look(u, 10, 100, 0);
    assert_int_equal(row(u, "a")->over_since_ns, USAGE_UNKNOWN);
    look(u, 20, 101, 0);
    look(u, 30, 150, 0);
    assert_int_equal(row(u, "a")->over_since_ns, 20 * S);
    assert_false(usage_is_due(u, row(u, "a"), 11 * S));
    assert_true(usage_is_due(u, row(u, "a"), 10 * S));
    look(u, 40, 100, 0);
    assert_int_equal(row(u, "a")->over_since_ns, USAGE_UNKNOWN);
    look(u, 50, 101, 0); /* the grace begins anew */
    assert_false(usage_is_due(u, row(u, "a"), 10 * S));
    usage_free(u);
}

static void usage__one_process_of_unknown_memory__is_nobodys_fault(void **state)
{
    struct usage *u = usage_new();
    const struct usage_holder h = holds("a", "g", 300, 100);

    look(u, 10, 150, 0);
    usage_look_begin(u, 20 * S);
    usage_look_holder(u, &h);
    usage_look_gpu(u, STR("g"), true);
    process(u, "a", 1, 500, 0);
    process(u, "a", 2, USAGE_UNKNOWN, 0);
    usage_look_end(u);
    assert_int_equal(row(u, "a")->mem_bytes.now, USAGE_UNKNOWN);
    assert_int_equal(row(u, "a")->mem_bytes.peak, 150);
    assert_int_equal(row(u, "a")->over_since_ns, USAGE_UNKNOWN);
    assert_false(usage_is_due(u, row(u, "a"), 0));
    usage_free(u);
}

static void usage__a_gpu_that_cannot_be_read__blames_nobody(void **state)
{
    struct usage *u = usage_new();
    const struct usage_holder h = holds("a", "g", 300, 100);

    look(u, 10, 150, 100);
    usage_look_begin(u, 20 * S);
    usage_look_holder(u, &h);
    usage_look_end(u);
    assert_int_equal(row(u, "a")->mem_bytes.now, USAGE_UNKNOWN);
    assert_int_equal(row(u, "a")->over_since_ns, USAGE_UNKNOWN);
    assert_false(usage_is_due(u, row(u, "a"), 0));
    assert_int_equal(row(u, "a")->look_n, 1);
    look(u, 30, 50, 100); /* for the time since it was read last */
    assert_int_equal(row(u, "a")->mem_bytes.mean, 50);
    usage_free(u);
}

static void usage__who_has_a_gpu_alone_or_no_amount__is_not_judged(void **state)
{
    struct usage *u = usage_new();
    struct usage_holder alone = holds("a", "g", 1000, 100), none = holds("b", "g", 0, 0);

    alone.alone = true;
    usage_look_begin(u, 0);
    usage_look_holder(u, &alone);
    usage_look_holder(u, &none);
    usage_look_gpu(u, STR("g"), true);
    process(u, "a", 1, 500, 0);
    process(u, "b", 2, 500, 0);
    usage_look_end(u);
    assert_int_equal(row(u, "a")->over_since_ns, USAGE_UNKNOWN);
    assert_int_equal(row(u, "b")->over_since_ns, USAGE_UNKNOWN);
    usage_free(u);
}

/* ---- crowding ---- */

/* "a" and "b" with these shares use this much of the GPU's compute. */
static void look_at_two(struct usage *u, int32_t share_a, int32_t use_a, int32_t share_b, int32_t use_b)
{
    const struct usage_holder a = holds("a", "g", share_a, 100), b = holds("b", "g", share_b, 100);
    static int64_t s;

    usage_look_begin(u, (s += 10) * S);
    usage_look_holder(u, &a);
    usage_look_holder(u, &b);
    usage_look_gpu(u, STR("g"), true);
    process(u, "a", 1, 10, use_a);
    process(u, "b", 2, 10, use_b);
    usage_look_end(u);
}

static void usage__more_than_its_share_while_a_neighbour_lacks__is_crowding(void **state)
{
    struct usage *u = usage_new();

    look_at_two(u, 300, 800, 300, 150);
    assert_true(row(u, "a")->crowding);
    assert_false(row(u, "b")->crowding);
    assert_int_equal(row(u, "a")->crowding_ns, 0); /* since when, nobody knows */
    look_at_two(u, 300, 800, 300, 150);
    assert_int_equal(row(u, "a")->crowding_ns, 10 * S);
    look_at_two(u, 0, 800, 0, 150); /* even parts of 500 */
    assert_true(row(u, "a")->crowding);
    usage_free(u);
}

static void usage__of_what_is_idle__is_no_crowding(void **state)
{
    struct usage *u = usage_new();

    look_at_two(u, 300, 800, 300, 0); /* the neighbour has no work */
    assert_false(row(u, "a")->crowding);
    look_at_two(u, 300, 600, 300, 150); /* the GPU is not busy */
    assert_false(row(u, "a")->crowding);
    look_at_two(u, 300, 600, 300, 350); /* the neighbour has its share */
    assert_false(row(u, "a")->crowding);
    look_at_two(u, 750, 800, 250, 150); /* it takes little more than its share */
    assert_false(row(u, "a")->crowding);
    usage_free(u);
}

/* ---- the end ---- */

static void usage__of_who_has_ended__is_kept_the_latest_first(void **state)
{
    struct usage *u = usage_new();

    look(u, 10, 40, 100);
    look(u, 20, 60, 100);
    usage_look_begin(u, 30 * S);
    usage_look_end(u);
    assert_int_equal(usage_n(u), 0);
    assert_null(usage_of(u, STR("a"), STR("g")));
    assert_int_equal(usage_ended_n(u), 1);
    assert_true(usage_ended_at(u, 0)->ended);
    assert_int_equal(usage_ended_at(u, 0)->mem_bytes.peak, 60);
    assert_int_equal(usage_ended_at(u, 0)->mem_bytes.now, USAGE_UNKNOWN);
    assert_true(str_eq(usage_ended_at(u, 0)->holder.pod, STR("pod")));
    usage_free(u);
}

static void usage__of_many_who_have_ended__the_oldest_is_forgotten(void **state)
{
    struct usage *u = usage_new();
    char id[16];

    for (int i = 0; i <= USAGE_ENDED_MAX; i++) {
        struct usage_holder h;

        snprintf(id, sizeof(id), "c%d", i);
        h = holds(id, "g", 1, 1);
        usage_look_begin(u, i * S);
        usage_look_holder(u, &h);
        usage_look_end(u);
    }
    usage_look_begin(u, 1000 * S);
    usage_look_end(u);
    assert_int_equal(usage_ended_n(u), USAGE_ENDED_MAX);
    assert_true(str_eq_cstr(usage_ended_at(u, 0)->holder.container_id, id));
    assert_true(str_eq_cstr(usage_ended_at(u, USAGE_ENDED_MAX - 1)->holder.container_id, "c1"));
    usage_free(u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usage__of_a_container__has_now_peak_and_mean_over_time),
        cmocka_unit_test(usage__processes_of_a_container__add_up),
        cmocka_unit_test(usage__a_container_without_processes__has_never_touched_its_gpu),
        cmocka_unit_test(usage__a_process_of_nobody_who_holds_the_gpu__is_refused),
        cmocka_unit_test(usage__at_its_memory__is_within_and_above_it_is_over_since_then),
        cmocka_unit_test(usage__one_process_of_unknown_memory__is_nobodys_fault),
        cmocka_unit_test(usage__a_gpu_that_cannot_be_read__blames_nobody),
        cmocka_unit_test(usage__who_has_a_gpu_alone_or_no_amount__is_not_judged),
        cmocka_unit_test(usage__more_than_its_share_while_a_neighbour_lacks__is_crowding),
        cmocka_unit_test(usage__of_what_is_idle__is_no_crowding),
        cmocka_unit_test(usage__of_who_has_ended__is_kept_the_latest_first),
        cmocka_unit_test(usage__of_many_who_have_ended__the_oldest_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
