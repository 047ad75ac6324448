/* A dry run of another configuration: nothing differs with the same one, and what each key does is
 * counted. */
#include "sim/whatif.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "cmd/commands.h"
#include "cmd/support/crowd.h"

#include <stdlib.h>
#include <string.h>

#define SEEDS 12
#define SIZES "sizes: {small: {milli: 100, memory: 1Gi}, pair: {milli: 500, count: 2}}\n"

static struct state_file state;
static char *text;

/* The state of a crowd under `before`; ended by end(). */
static void begin_with(uint64_t seed, const char *before, unsigned pod_n)
{
    struct config_names names;
    struct crowd c;
    struct err err;

    crowd_init(&c, seed, before);
    crowd_fill_with(&c, pod_n);
    text = crowd_state(&c);
    crowd_fini(&c);
    cmd_config_names(&names);
    if (state_file_parse("state", str_of(text), &names, &state, &err) != 0) {
        fail_msg("%s", err.msg);
    }
}

static void end(struct whatif *w)
{
    whatif_fini(w);
    state_file_fini(&state);
    free(text);
}

static void begin(uint64_t seed, const char *before)
{
    begin_with(seed, before, CROWD_PODS);
}

static struct whatif run(const char *after)
{
    struct config *next = crowd_config(after);
    struct whatif w;
    struct err err;

    if (whatif_run(&state, next, &w, &err) != 0) {
        fail_msg("%s", err.msg);
    }
    config_free(next);
    return w;
}

static void run__the_same_configuration__nothing_differs(void **unused)
{
    size_t pending = 0, over = 0;

    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct whatif w;

        begin(seed, SIZES);
        w = run(SIZES);
        assert_int_equal(w.diff.n, 0);
        assert_null(w.unjudged[0]);
        assert_int_equal(w.recharged_n, 0);
        assert_int_equal(w.reread_n, 0);
        assert_int_equal(w.overcommitted_before, w.overcommitted_after);
        assert_int_equal(w.gpu_n, 0);
        assert_int_equal(w.before.idle_milli, w.after.idle_milli);
        assert_int_equal(w.before.fragmented_milli, w.after.fragmented_milli);
        assert_int_equal(w.size_n, 2 + 4);
        for (size_t i = 0; i < w.size_n; i++) {
            assert_int_equal(w.sizes[i].before, w.sizes[i].after);
        }
        for (size_t i = 0; i < w.pending_n; i++) {
            assert_true(str_eq(w.pending[i].before, w.pending[i].after));
        }
        assert_true(w.pod_n > 10 && w.node_n >= 7);
        pending += w.pending_n;
        over += w.overcommitted_before;
        end(&w);
    }
    assert_true(pending > 0 && over > 0);
}

static void run__a_larger_reserve__nodes_read_otherwise_and_gpus_over_committed(void **unused)
{
    struct whatif w;

    (void)unused;
    begin(5, "");
    w = run("devices: {memoryReserve: 30Gi}\n");
    assert_int_equal(w.diff.n, 1);
    assert_true(str_eq_cstr(w.diff.changes[0].key, "devices.memoryReserve"));
    assert_null(w.unjudged[0]);
    assert_true(w.reread_n >=
                5); /* all but the node whose memory is not known and those without GPUs */
    assert_true(w.overcommitted_after > w.overcommitted_before);
    assert_true(w.gpu_n >= w.overcommitted_after - w.overcommitted_before);
    assert_true(w.gpus[0].node.n > 0);
    assert_true(w.before.largest_mem_mib >= w.after.largest_mem_mib);
    end(&w);
}

static void run__memory_alone_takes_no_compute__pods_charged_otherwise(void **unused)
{
    struct whatif w;

    (void)unused;
    begin(5, "");
    w = run("devices: {memoryOnly: free}\n");
    assert_true(w.recharged_n > 0 && w.recharged_n < w.pod_n);
    assert_int_equal(w.reread_n, 0);
    assert_true(w.after.idle_milli > w.before.idle_milli);
    end(&w);
}

static void run__over_commit__more_fits(void **unused)
{
    struct whatif w;

    (void)unused;
    begin(5, SIZES);
    w = run(SIZES "devices: {overcommit: {compute: 2.0, memory: 2.0}}\n");
    assert_int_equal(w.diff.n, 2);
    assert_int_equal(w.diff.changes[0].reload, CONFIG_RELOAD_RELIST);
    assert_true(w.reread_n >= 6);
    assert_int_equal(w.gpu_n, 0);
    assert_string_equal(w.sizes[0].name, "small");
    assert_true(w.sizes[0].after > w.sizes[0].before);
    end(&w);
}

static void run__other_sizes_and_strategies__not_judged_and_chosen_anew(void **unused)
{
    size_t other = 0;

    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct whatif w;

        begin_with(seed, "packing: {nodeStrategy: binpack, deviceStrategy: binpack}\n" SIZES, 14);
        w = run("packing: {nodeStrategy: spread, deviceStrategy: spread}\n"
                "sizes: {small: {milli: 100}, tiny: {milli: 1}}\n");
        assert_string_equal(w.unjudged[0], "sizes");
        assert_null(w.unjudged[1]);
        assert_int_equal(w.recharged_n, 0);
        assert_int_equal(w.size_n, 3 + 4); /* small, pair, tiny */
        assert_string_equal(w.sizes[1].name, "pair");
        assert_int_equal(w.sizes[1].after, -1);
        for (size_t i = 0; i < w.pending_n; i++) {
            assert_int_equal(w.pending[i].before.n > 0, w.pending[i].after.n > 0);
            other += !str_eq(w.pending[i].before, w.pending[i].after);
        }
        end(&w);
    }
    assert_true(other > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run__the_same_configuration__nothing_differs),
        cmocka_unit_test(run__a_larger_reserve__nodes_read_otherwise_and_gpus_over_committed),
        cmocka_unit_test(run__memory_alone_takes_no_compute__pods_charged_otherwise),
        cmocka_unit_test(run__over_commit__more_fits),
        cmocka_unit_test(run__other_sizes_and_strategies__not_judged_and_chosen_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
