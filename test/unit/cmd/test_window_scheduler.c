/* A year's worth of evenings in seconds: the clock is ours, everything else is what `fgpu serve`
 * has. Nodes 1 to 4 are open by day, node 5 by night. */
#include "cmd/window_scheduler.h"

#include "base/compiler.h"
#include "cmd/commands.h"
#include "core/time/timetable.h"
#include "obs/catalog.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HEAD "apiVersion: fgpu.io/v1alpha1\nkind: FgpuConfiguration\n"
#define NIGHT                                                                                                          \
    "- name: night\n  from: \"20:00\"\n  to: \"08:00\"\n  timeZone: Europe/Berlin\n"                                   \
    "  packing: {nodeStrategy: spread}\n"                                                                              \
    "  nodePools:\n  - {nodeSelector: {vgpu.type: v100-4q-4GB}, state: closed}\n"                                      \
    "  - {nodeSelector: {vgpu.type: v100-16q-16GB}, state: open}\n"
#define DAY_AND_NIGHT                                                                                                  \
    HEAD "nodePools: [{nodeSelector: {vgpu.type: v100-16q-16GB}, state: "                                              \
         "closed}]\ntimeWindows:\n" NIGHT
#define NODES 5

static struct cluster_model {
    struct clock_manual clock;
    struct log log;
    struct store *store;
    struct policy_set *policies;
    struct config_slot *slot;
    struct metrics *metrics;
    struct config_apply *config_apply;
    struct window_scheduler *window_scheduler;
    struct config *first;
    unsigned relists; /* asked for and not read yet, a bit per resource */
    bool api_down;
    unsigned grown_n;
    int64_t announced_ms; /* when, the last time */
    unsigned announced_n, changed_n;
    char last_change[256];
    unsigned held_n;
    char held_keys[256];
} w;

static void write_log(void *ctx, const struct log_record *rec)
{
    (void)ctx;
    if (strcmp(rec->msg, "Time windows will change") == 0) {
        w.announced_ms = w.clock.wall_ms;
        w.announced_n++;
    } else if (strcmp(rec->msg, "Time windows change") == 0) {
        w.changed_n++;
        snprintf(w.last_change, sizeof(w.last_change), "%.*s", STR_ARG(rec->fields[0].s));
    } else if (strstr(rec->msg, "The time windows stay as they were") != NULL) {
        w.held_n++;
        snprintf(w.held_keys, sizeof(w.held_keys), "%.*s", STR_ARG(rec->fields[2].s));
    }
}

static struct config *parse(const char *text)
{
    struct config_names names;
    struct config *c = NULL;
    struct err err;

    cmd_config_names(&names);
    if (config_parse(STR("f.yaml"), str_of(text), &names, &c, NULL, &err) != 0) {
        fail_msg("%s", err.msg);
    }
    return c;
}

static void apply(void *ctx, const struct config *c)
{
    (void)ctx;
    (void)c;
}

static void relist(void *ctx, enum kube_resource resource)
{
    (void)ctx;
    w.relists |= 1U << resource;
}

static void capacity_grew(void *ctx)
{
    (void)ctx;
    w.grown_n++;
}

static void list_nodes(const struct rules *rules)
{
    static const char *const names[NODES] = {"node-1", "node-2", "node-3", "node-4", "node-5"};
    static const struct kv gpus = {STR("fgpu.io/gpus"),
                                   STR("{\"v\":1,\"gpus\":[{\"uuid\":\"GPU-0\",\"index\":0,\"memMib\":16384}]}")};
    struct arena a;

    arena_init(&a, 1 << 20);
    for (int i = 0; i < NODES; i++) {
        const struct kv label = {STR("vgpu.type"), i < 4 ? STR("v100-4q-4GB") : STR("v100-16q-16GB")};
        const struct node n = {
            .name = str_of(names[i]), .uid = str_of(names[i]), .labels = {&label, 1}, .annotations = {&gpus, 1}};

        assert_int_equal(ingest_node(&rules->ingest, &a, &n, NULL), 0);
        arena_reset(&a);
    }
    arena_fini(&a);
}

/* What the feeds do: read everything by the newest rules and say so. */
static void serve_relists(void)
{
    while (w.relists != 0 && !w.api_down) {
        enum kube_resource resource = (w.relists & 1U << KUBE_NODES) != 0 ? KUBE_NODES : KUBE_PODS;
        const struct rules *rules = policy_set_take_newest(w.policies);

        w.relists &= ~(1U << resource);
        if (resource == KUBE_NODES) {
            list_nodes(rules);
        }
        config_apply_listed(w.config_apply, resource, rules);
        rules_put(rules);
    }
}

static void bracket(enum ledger_op_kind kind)
{
    struct ledger_op op = {.kind = kind};

    assert_int_equal(store_apply(w.store, &op, NULL), 0);
}

/* As a process that starts at this moment. */
static void start(const char *text, const char *at)
{
    const struct ledger_limits limits = {{1, 2}, 1000, 1000};
    struct config *file = parse(text);
    const struct rules *rules;
    int64_t wall_ms;

    w = (struct cluster_model){.log = {.write = write_log}};
    assert_true(clock_rfc3339_parse(str_of(at), &wall_ms));
    clock_manual_init(&w.clock, 0, wall_ms);
    w.store = store_new(&limits, &w.clock.clock);
    store_watch_capacity(w.store, capacity_grew, NULL);
    w.first = config_apply_config_at(file, wall_ms);
    config_free(file);
    assert_int_equal(rules_new(&(struct ingest){w.store, &w.first->policy, &w.log, NULL}, 1, NULL, NULL, &rules, NULL),
                     0);
    w.policies = policy_set_new(rules);
    w.slot = config_slot_new(config_ref(w.first), NULL, wall_ms);
    w.metrics = catalog_metrics_new();
    w.config_apply = config_apply_new(&(struct config_apply_options){.policies = w.policies,
                                                                     .slot = w.slot,
                                                                     .metrics = w.metrics,
                                                                     .clock = &w.clock.clock,
                                                                     .log = &w.log,
                                                                     .apply = apply,
                                                                     .relist = relist});
    w.window_scheduler = window_scheduler_new(&(struct window_scheduler_options){
        .config_apply = w.config_apply, .slot = w.slot, .clock = &w.clock.clock, .log = &w.log});
    bracket(LEDGER_NODES_BEGIN);
    list_nodes(rules);
    bracket(LEDGER_NODES_END);
    bracket(LEDGER_PODS_BEGIN);
    bracket(LEDGER_PODS_END);
}

static void end(void)
{
    assert_null(store_check(w.store));
    window_scheduler_free(w.window_scheduler);
    config_apply_free(w.config_apply);
    policy_set_free(w.policies);
    config_slot_free(w.slot);
    config_free(w.first);
    store_watch_capacity(w.store, NULL, NULL);
    store_free(w.store);
    metrics_free(w.metrics);
}

static void tick_at(int64_t wall_ms)
{
    w.clock.wall_ms = wall_ms;
    window_scheduler_tick(w.window_scheduler);
    serve_relists();
}

/* What filter says to a pod that fits every node: a bit per node, node 1 first. Refusals must be
 * ours. */
static unsigned open_nodes(void)
{
    static const struct str names[NODES] = {STR("node-1"), STR("node-2"), STR("node-3"), STR("node-4"), STR("node-5")};
    static const struct kv limit = {STR("fgpu.io/gpu-milli"), STR("100")};
    static const struct container container = {.name = STR("main"), .limits = {&limit, 1}};
    const struct pod pod = {
        .namespace_ = STR("ns"), .name = STR("p"), .uid = STR("u"), .containers = &container, .container_n = 1};
    const struct rules *rules = policy_set_take(w.policies);
    struct filter_result r;
    struct arena a;
    unsigned open = 0;

    arena_init(&a, 1 << 20);
    assert_int_equal(placement_filter(&rules->placement, &a, &pod, names, NODES, &r, NULL), 0);
    for (size_t i = 0; i < r.result_n; i++) {
        assert_true(r.results[i].verdict == VERDICT_FITS || r.results[i].verdict == VERDICT_CLOSED);
        open |= (r.results[i].verdict == VERDICT_FITS ? 1U : 0U) << (r.results[i].name.p[5] - '1');
    }
    arena_fini(&a);
    rules_put(rules);
    return open;
}

static bool spreads(void)
{
    const struct config *c = config_slot_take(w.slot);
    bool is = str_eq(c->policy.node_strategy, STR("spread"));

    config_free(c);
    return is;
}

#define BY_DAY 0x0fU
#define BY_NIGHT 0x10U

/* The oracle: the hour on the wall, by libc. */
static bool is_night_by_libc(int64_t wall_ms)
{
    time_t t = (time_t)(wall_ms / 1000);
    struct tm tm;

    assert_non_null(localtime_r(&t, &tm));
    return tm.tm_hour >= 20 || tm.tm_hour < 8;
}

static void week__of_either_jump__minute_by_minute_as_the_wall_says(void **state)
{
    static const char *const weeks[] = {"2026-03-25T11:00:00Z", "2026-10-21T11:00:00Z"};

    for (size_t i = 0; i < ARRAY_LEN(weeks); i++) {
        unsigned changes = 0;
        bool night;

        start(DAY_AND_NIGHT, weeks[i]);
        night = is_night_by_libc(w.clock.wall_ms);
        for (int minute = 0; minute < 7 * 24 * 60; minute++) {
            unsigned grown_n = w.grown_n;
            int64_t now_ms = w.clock.wall_ms + 60000;

            tick_at(now_ms);
            if (is_night_by_libc(now_ms) != night) {
                night = !night;
                changes++;
                assert_string_equal(w.last_change, night ? "opens night" : "closes night");
                assert_int_equal(now_ms - w.announced_ms, 600000);
                assert_true(w.grown_n > grown_n); /* who was refused is tried again */
            }
            assert_int_equal(open_nodes(), night ? BY_NIGHT : BY_DAY);
            assert_int_equal(spreads(), night);
            assert_int_equal(w.changed_n, changes);
        }
        assert_int_equal(changes, 14);
        assert_int_equal(w.announced_n, 14);
        assert_int_equal(metric_value(METRIC(w.metrics, FGPU_TIME_WINDOWS_CHANGES_TOTAL)), 14);
        end();
    }
}

static void example__day_and_night__nodes_1_to_4_or_node_5(void **state)
{
    static char text[1 << 16];
    FILE *f = fopen(FGPU_SOURCE_DIR "/config/examples/day-night.yaml", "r");

    assert_non_null(f);
    text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
    assert_int_equal(fclose(f), 0);
    start(text, "2026-11-20T11:59:00Z");
    for (int minute = 0; minute < 2 * 24 * 60; minute++) {
        tick_at(w.clock.wall_ms + 60000);
        assert_int_equal(open_nodes(), is_night_by_libc(w.clock.wall_ms) ? BY_NIGHT : BY_DAY);
    }
    assert_int_equal(w.changed_n, 4);
    end();
}

static void start__within_a_window__it_holds_from_the_first_moment(void **state)
{
    start(DAY_AND_NIGHT, "2026-06-01T21:00:00Z");
    assert_int_equal(open_nodes(), BY_NIGHT);
    assert_true(spreads());
    tick_at(w.clock.wall_ms + 1000);
    assert_int_equal(w.changed_n, 0);
    end();
}

static void clock__is_set_back__the_window_of_that_time_holds(void **state)
{
    start(DAY_AND_NIGHT, "2026-06-01T18:30:00Z");
    assert_int_equal(open_nodes(), BY_NIGHT);
    tick_at(w.clock.wall_ms - 3600000);
    assert_int_equal(open_nodes(), BY_DAY);
    tick_at(w.clock.wall_ms + 3600000);
    assert_int_equal(open_nodes(), BY_NIGHT);
    end();
}

static void change__while_the_api_server_is_down__waits_and_the_latest_one_wins(void **state)
{
    start(DAY_AND_NIGHT, "2026-06-01T17:59:00Z");
    w.api_down = true;
    tick_at(w.clock.wall_ms + 120000);
    assert_int_equal(open_nodes(), BY_DAY);
    assert_false(spreads()); /* as a whole or not at all */
    assert_int_equal(w.changed_n, 1);
    tick_at(w.clock.wall_ms + 1000);
    assert_int_equal(w.changed_n, 1); /* said once */
    tick_at(w.clock.wall_ms + 12 * 3600000);
    assert_int_equal(w.changed_n, 2);
    w.api_down = false;
    serve_relists();
    assert_int_equal(open_nodes(), BY_DAY);
    assert_false(policy_set_is_waiting(w.policies));
    end();
}

static void file__read_within_a_window__its_part_for_now_holds(void **state)
{
    struct config_status status;

    start(HEAD, "2026-06-01T21:00:00Z");
    assert_int_equal(open_nodes(), BY_DAY | BY_NIGHT);
    config_apply_offer(w.config_apply, parse(DAY_AND_NIGHT));
    serve_relists();
    assert_int_equal(open_nodes(), BY_NIGHT);
    config_slot_status(w.slot, &status);
    assert_int_equal(status.last.outcome, CONFIG_IN_EFFECT);
    tick_at(w.clock.wall_ms + 12 * 3600000);
    assert_int_equal(open_nodes(), BY_DAY);
    config_slot_status(w.slot, &status); /* the time is no reload */
    assert_int_equal(metric_value(METRIC(w.metrics, FGPU_CONFIG_RELOADS_TOTAL, "in_effect")), 1);
    config_apply_offer(w.config_apply, parse(HEAD));
    serve_relists();
    assert_int_equal(open_nodes(), BY_DAY | BY_NIGHT);
    end();
}

static void file__that_needs_a_restart__windows_of_the_old_one_go_on(void **state)
{
    struct config_status status;

    start(DAY_AND_NIGHT, "2026-06-01T12:00:00Z");
    config_apply_offer(w.config_apply, parse(HEAD "election: none\naudit: {interval: 1m}\n"));
    config_slot_status(w.slot, &status);
    assert_int_equal(status.last.outcome, CONFIG_NEEDS_RESTART);
    tick_at(w.clock.wall_ms + 9 * 3600000);
    assert_int_equal(open_nodes(), BY_NIGHT);
    config_slot_status(w.slot, &status);
    assert_int_equal(status.last.outcome, CONFIG_NEEDS_RESTART);
    end();
}

/* No file can say this, so the test does, behind the reader's back: with the window a key changes that a running
 * process cannot follow. */
static void window__that_needs_a_restart__is_held_back_and_told_once(void **state)
{
    struct config_status status;
    struct config *file;

    start(DAY_AND_NIGHT, "2026-06-01T17:59:00Z");
    file = (struct config *)(uintptr_t)w.first->file_values;
    file->audit.interval_ms++;
    for (int i = 0; i < 3; i++) {
        tick_at(w.clock.wall_ms + 60000);
        assert_int_equal(open_nodes(), BY_DAY);
        assert_false(spreads()); /* as a whole or not at all */
    }
    assert_int_equal(w.held_n, 1);
    assert_string_equal(w.held_keys, "audit.interval");
    assert_int_equal(w.changed_n, 0); /* no window opened */
    assert_int_equal(metric_value(METRIC(w.metrics, FGPU_TIME_WINDOWS_CHANGES_TOTAL)), 0);
    config_slot_status(w.slot, &status);
    assert_int_equal(status.last.outcome, CONFIG_NEEDS_RESTART);
    assert_string_equal(status.last.restart_keys, "audit.interval");
    tick_at(w.clock.wall_ms + 12 * 3600000); /* day */
    tick_at(w.clock.wall_ms + 12 * 3600000);
    assert_int_equal(w.held_n, 2); /* the next evening */
    file->audit.interval_ms--;
    tick_at(w.clock.wall_ms + 12 * 3600000);
    tick_at(w.clock.wall_ms + 12 * 3600000);
    assert_int_equal(open_nodes(), BY_NIGHT);
    assert_string_equal(w.last_change, "opens night");
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(week__of_either_jump__minute_by_minute_as_the_wall_says),
        cmocka_unit_test(example__day_and_night__nodes_1_to_4_or_node_5),
        cmocka_unit_test(start__within_a_window__it_holds_from_the_first_moment),
        cmocka_unit_test(clock__is_set_back__the_window_of_that_time_holds),
        cmocka_unit_test(change__while_the_api_server_is_down__waits_and_the_latest_one_wins),
        cmocka_unit_test(file__read_within_a_window__its_part_for_now_holds),
        cmocka_unit_test(file__that_needs_a_restart__windows_of_the_old_one_go_on),
        cmocka_unit_test(window__that_needs_a_restart__is_held_back_and_told_once),
    };

    if (setenv("TZ", "Europe/Berlin", 1) != 0) {
        return 1;
    }
    tzset();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
