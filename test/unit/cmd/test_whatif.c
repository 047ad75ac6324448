/* A dry run of another configuration: nothing differs with the same one, and what each key does is
 * counted. */
#include "sim/whatif.h"

#include "cmd/commands.h"
#include "cmd/support/full_state.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#define SEEDS 12
#define SIZES "sizes: {small: {milli: 100, memory: 1Gi}, pair: {milli: 500, count: 2}}\n"

static struct state_file state;
static char *text;

/* The state of a cluster under `before`; ended by end(). */
static void begin_with(uint64_t seed, const char *before, unsigned pod_n)
{
    struct config_names names;
    struct full_state c;
    struct err err;

    full_state_init(&c, seed, before);
    full_state_fill_with(&c, pod_n);
    text = full_state_state(&c);
    full_state_fini(&c);
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
    begin_with(seed, before, FULL_STATE_PODS);
}

static struct whatif run(const char *after)
{
    struct config *next = full_state_config(after);
    const struct whatif_question q = {.before = state.config, .after = next, .state = &state};
    struct whatif w;
    struct err err;

    if (whatif_run(&q, &w, &err) != 0) {
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
        assert_int_equal(w.unjudged_n, state.isolated_n > 0);
        assert_int_equal(w.recharged_n, 0);
        assert_int_equal(w.reread_n, 0);
        assert_int_equal(w.changed_n, 0);
        assert_false(whatif_is_worse(&w));
        assert_int_equal(w.overcommitted_n[0], w.overcommitted_n[1]);
        assert_int_equal(w.gpu_n, 0);
        assert_int_equal(w.capacity_totals[0].idle_milli, w.capacity_totals[1].idle_milli);
        assert_int_equal(w.capacity_totals[0].fragmented_milli, w.capacity_totals[1].fragmented_milli);
        assert_int_equal(w.size_n, 2 + 4);
        for (size_t i = 0; i < w.size_n; i++) {
            assert_int_equal(w.sizes[i].before, w.sizes[i].after);
        }
        for (size_t i = 0; i < w.pending_n; i++) {
            assert_int_equal(w.pending[i].place[0], w.pending[i].place[1]);
            assert_true(str_eq(w.pending[i].node[0], w.pending[i].node[1]));
        }
        assert_true(w.pod_n[0] > 10 && w.pod_n[1] == w.pod_n[0] && w.node_n >= 7);
        pending += w.pending_n;
        over += w.overcommitted_n[0];
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
    assert_true(w.reread_n >= 5); /* all but the node whose memory is not known and those without GPUs */
    assert_true(w.overcommitted_n[1] > w.overcommitted_n[0]);
    assert_true(w.gpu_n >= w.overcommitted_n[1] - w.overcommitted_n[0]);
    assert_true(whatif_is_worse(&w));
    assert_int_equal(w.changed_n, w.reread_n);
    assert_true(w.gpus[0].node.n > 0);
    assert_true(w.capacity_totals[0].largest_mem_mib >= w.capacity_totals[1].largest_mem_mib);
    end(&w);
}

static void run__memory_alone_takes_no_compute__pods_charged_otherwise(void **unused)
{
    struct whatif w;

    (void)unused;
    begin(5, "");
    w = run("devices: {memoryOnly: free}\n");
    assert_true(w.recharged_n > 0 && w.recharged_n < w.pod_n[0]);
    assert_true(w.charges[0].there[0] && w.charges[0].there[1]);
    assert_true(w.charges[0].held[1].milli < w.charges[0].held[0].milli);
    assert_int_equal(w.charges[0].held[1].mem_mib, w.charges[0].held[0].mem_mib);
    assert_int_equal(w.reread_n, 0);
    assert_true(w.capacity_totals[1].idle_milli > w.capacity_totals[0].idle_milli);
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
        assert_true(str_eq_cstr(w.unjudged[0].key, "sizes"));
        assert_int_equal(w.unjudged_n, 1 + (state.isolated_n > 0));
        assert_int_equal(w.recharged_n, 0);
        assert_int_equal(w.size_n, 3 + 4); /* small, pair, tiny */
        assert_string_equal(w.sizes[1].name, "pair");
        assert_int_equal(w.sizes[1].after, -1);
        for (size_t i = 0; i < w.pending_n; i++) {
            assert_int_equal(w.pending[i].place[0], w.pending[i].place[1]);
            other += !str_eq(w.pending[i].node[0], w.pending[i].node[1]);
        }
        end(&w);
    }
    assert_true(other > 0);
}

static const struct whatif_tenant *tenant(const struct whatif *w, const char *name)
{
    for (size_t i = 0; i < w->tenant_n; i++) {
        if (str_eq_cstr(w->tenants[i].name, name)) {
            return &w->tenants[i];
        }
    }
    fail_msg("no tenant %s", name);
    return NULL;
}

static void run__other_tenants__what_they_hold_against_both_limits(void **unused)
{
    const struct whatif_tenant *t;
    struct whatif w;

    (void)unused;
    begin(5, "tenants: [{name: all, namespaces: ['*'], gpuShare: 100%}]\n");
    w = run("tenants: [{name: all, namespaces: ['*'], milli: 1}, {name: none, namespaces: [x], milli: 0}]\n");
    t = tenant(&w, "all");
    assert_true(t->held[0].milli > 1 && t->held[0].milli == t->held[1].milli);
    assert_true(t->limit[0].milli > t->held[0].milli && t->limit[1].milli == 1);
    assert_false(whatif_tenant_is_over(t, 0));
    assert_true(whatif_tenant_is_over(t, 1) && whatif_is_worse(&w));
    t = tenant(&w, "none");
    assert_true(!t->there[0] && t->there[1]);
    for (size_t i = 0; i < w.pending_n; i++) { /* no room of the tenant is left */
        assert_int_not_equal(w.pending[i].place[1], WHATIF_NODE);
    }
    end(&w);
}

static void run__keys_that_need_labels_or_words__said_to_be_not_judged(void **unused)
{
    static const struct {
        const char *after, *key;
    } rows[] = {
        {"resources: {memory: [example.com/mem]}\n", "resources.memory"},
        {"dialects: {kai: serve}\n", "dialects.kai"},
        {"nodeTemplates: [{label: a=b, gpus: 1, memory: 1Gi}]\n", "nodeTemplates"},
        {"devices: {overrides: [{nodeSelector: {a: b}, maxSharers: 2}]}\n", "devices.overrides"},
        {"devices: {maxSharers: 2}\n", "devices.maxSharers"},
        {"nodePools: [{nodeSelector: {a: b}, state: closed}]\n", "nodePools"},
        {"packing: {rules: [{nodeSelector: {a: b}, nodeStrategy: fgd}]}\n", "packing.rules with nodeSelector"},
        {"packing: {rules: [{podSelector: {a: b}, nodeStrategy: fgd}]}\n", "packing.rules with podSelector"},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct whatif w;

        begin(5, "");
        w = run(rows[i].after);
        assert_int_equal(w.unjudged_n, 1 + (state.isolated_n > 0));
        assert_true(str_eq_cstr(w.unjudged[0].key, rows[i].key));
        assert_true(strlen(w.unjudged[0].because) > 0);
        end(&w);
    }
}

/* Rules by namespace need no labels. */
static void run__rule_of_a_namespace__pods_of_it_go_elsewhere(void **unused)
{
    size_t other = 0, same = 0;

    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct whatif w;

        begin_with(seed, "packing: {nodeStrategy: binpack, deviceStrategy: binpack}\n", 14);
        w = run("packing: {nodeStrategy: binpack, deviceStrategy: binpack, rules: [{namespaces: ['*'], nodeStrategy: "
                "{spread: 1, binpack: 0.001}}]}\n");
        assert_int_equal(w.unjudged_n, state.isolated_n > 0);
        for (size_t i = 0; i < w.pending_n; i++) {
            other += !str_eq(w.pending[i].node[0], w.pending[i].node[1]);
        }
        end(&w);
        begin_with(seed, "packing: {nodeStrategy: binpack, deviceStrategy: binpack}\n", 14);
        w = run("packing: {nodeStrategy: binpack, deviceStrategy: binpack, rules: [{namespaces: [nobody], "
                "nodeStrategy: spread}]}\n");
        for (size_t i = 0; i < w.pending_n; i++) {
            same += !str_eq(w.pending[i].node[0], w.pending[i].node[1]);
        }
        end(&w);
    }
    assert_true(other > 0);
    assert_int_equal(same, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run__the_same_configuration__nothing_differs),
        cmocka_unit_test(run__a_larger_reserve__nodes_read_otherwise_and_gpus_over_committed),
        cmocka_unit_test(run__memory_alone_takes_no_compute__pods_charged_otherwise),
        cmocka_unit_test(run__over_commit__more_fits),
        cmocka_unit_test(run__other_sizes_and_strategies__not_judged_and_chosen_anew),
        cmocka_unit_test(run__other_tenants__what_they_hold_against_both_limits),
        cmocka_unit_test(run__keys_that_need_labels_or_words__said_to_be_not_judged),
        cmocka_unit_test(run__rule_of_a_namespace__pods_of_it_go_elsewhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
