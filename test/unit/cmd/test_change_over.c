/* Change-overs through all parts of `fgpu serve` that take part, but for threads, processes and the network: random
 * windows, pods, commands, lists that take their time, other files, clocks that jump, restarts.
 *
 * The oracle is a model of the cluster: machines that commands suspend and resume, pods that run, the hour on the wall.
 * It shares no code with fgpu, and knows nothing of steps. No node says that it shares a GPU, so nothing but the
 * change-over keeps two pools from being used at a time. */
#include "cmd/window_scheduler.h"

#include "base/compiler.h"
#include "base/rng.h"
#include "cmd/commands.h"
#include "core/dialects/dialect.h"
#include "core/time/timetable.h"
#include "extender/change_overs.h"
#include "obs/catalog.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DAY, NIGHT, WEEKEND, POOLS };
enum { NODES = 6, PODS_MAX = 40, FOREIGN_SEEN_LOOKS = 40 };

static const char *const pool_names[POOLS] = {"day", "night", "weekend"};
static const char *const node_names[NODES] = {"day-1", "day-2", "day-3", "night-1", "weekend-1", "weekend-2"};
static const int pool_of[NODES] = {DAY, DAY, DAY, NIGHT, WEEKEND, WEEKEND};

#define HEAD "apiVersion: fgpu.io/v1alpha1\nkind: FgpuConfiguration\n"
#define ENTRY(name_, state_) "- {name: " name_ ", nodeSelector: {pool: " name_ "}, state: " state_ "}\n"
#define IN_WINDOW(name_, state_) "  " ENTRY(name_, state_)
#define POOLS_OF_DAY "nodePools:\n" ENTRY("day", "open") ENTRY("night", "closed") ENTRY("weekend", "closed")
#define NIGHT_WINDOW                                                                                                   \
    "- name: night\n  from: \"20:00\"\n  to: \"08:00\"\n  timeZone: Europe/Berlin\n  nodePools:\n" IN_WINDOW(          \
        "day", "closed") IN_WINDOW("night", "open")
#define WEEKEND_WINDOW(more_)                                                                                          \
    "- name: weekend\n  days: [sat, sun]\n  from: 00:00\n  to: \"24:00\"\n  timeZone: Europe/Berlin\n"                 \
    "  nodePools:\n" IN_WINDOW("day", "closed") more_ IN_WINDOW("weekend", "open")

/* The second has a mistake: in the nights of the weekend two pools are to be open. */
static const char *const files[] = {
    HEAD "changeOvers: [{name: card, pools: [day, night, weekend]}]\n" POOLS_OF_DAY
         "timeWindows:\n" NIGHT_WINDOW WEEKEND_WINDOW(IN_WINDOW("night", "closed")),
    HEAD "changeOvers: [{name: other, pools: [weekend, night, day]}]\n" POOLS_OF_DAY
         "timeWindows:\n" NIGHT_WINDOW WEEKEND_WINDOW(""),
};

enum machines { MACHINES_UNKNOWN, MACHINES_SUSPENDED, MACHINES_RUNNING };

struct run {
    bool is_on;
    enum node_pool_state state;
    unsigned turn; /* of the pool when it began: the outcome counts for no other */
};

struct model_pod {
    bool lives, reserved, foreign;
    int node;
    unsigned seen_at; /* look */
    char uid[16];
};

static struct cluster_model {
    struct rng rng;
    unsigned uid_n, look_n, file;
    enum machines machines[POOLS];
    struct model_pod pods[PODS_MAX];
    bool opened[POOLS]; /* took pods when last asked */
    unsigned opened_n, conflict_n, waited_n, failed_n;
} w;

/* One life of the process. */
static struct process {
    struct clock_manual clock;
    struct store *store;
    struct policy_set *policies;
    struct config_slot *slot;
    struct metrics *metrics;
    struct config_apply *config_apply;
    struct window_scheduler *window_scheduler;
    struct change_overs *change_overs;
    struct config *first;
    unsigned relists;          /* asked for and not begun, a bit per resource */
    const struct rules *lists; /* being read by; NULL: none is */
    int listed_n, first_listed;
    enum kube_resource resource;
    bool api_down;
    /* what extender/pool_commands.h promises */
    struct run runs[POOLS];
    enum node_pool_state wanted[POOLS];
    enum pool_command_result results[POOLS];
    bool held[POOLS];
    unsigned turns[POOLS];
} p;

static unsigned below(unsigned n)
{
    return (unsigned)rng_below(&w.rng, n);
}

/* ---- commands ---- */

static size_t list_commands(void *commands, struct arena *a, const struct pool_command_status **ret)
{
    struct pool_command_status *all = ARENA_ARRAY(a, POOLS, struct pool_command_status);

    for (int i = 0; i < POOLS; i++) {
        all[i] = (struct pool_command_status){
            .pool = str_of(pool_names[i]), .state = p.wanted[i], .result = p.results[i], .error = "no hypervisor"};
    }
    *ret = all;
    return POOLS;
}

static void order_command(void *commands, struct str pool, enum pool_order order)
{
    const enum node_pool_state state = order == POOL_RUN_OPEN ? NODE_POOL_OPEN : NODE_POOL_CLOSED;
    int i = 0;

    while (!str_eq_cstr(pool, pool_names[i])) {
        i++;
    }
    p.held[i] = order == POOL_HOLD;
    if (order != POOL_HOLD && p.wanted[i] != state) {
        p.wanted[i] = state;
        p.results[i] = POOL_COMMAND_WAITING;
        p.turns[i]++;
    }
}

static void begin_command(int i)
{
    if (!p.runs[i].is_on && !p.held[i] && p.results[i] != POOL_COMMAND_OK) {
        p.runs[i] = (struct run){true, p.wanted[i], p.turns[i]};
        w.machines[i] = MACHINES_UNKNOWN; /* half of them, maybe */
    }
}

static void end_command(int i, bool works)
{
    if (!p.runs[i].is_on) {
        return;
    }
    p.runs[i].is_on = false;
    if (works) {
        w.machines[i] = p.runs[i].state == NODE_POOL_OPEN ? MACHINES_RUNNING : MACHINES_SUSPENDED;
    }
    if (p.runs[i].turn == p.turns[i]) {
        p.results[i] = works ? POOL_COMMAND_OK : POOL_COMMAND_FAILED;
    }
}

/* ---- the cluster, as fgpu sees it ---- */

static void see_node(const struct rules *rules, int i)
{
    static const struct kv gpus = {STR("fgpu.io/gpus"),
                                   STR("{\"v\":1,\"gpus\":[{\"uuid\":\"GPU-0\",\"index\":0,\"memMib\":16384}]}")};
    const struct kv label = {STR("pool"), str_of(pool_names[pool_of[i]])};
    const struct str name = str_of(node_names[i]);
    const struct node n = {.name = name, .uid = name, .labels = {&label, 1}, .annotations = {&gpus, 1}};
    struct arena a;

    arena_init(&a, 1 << 20);
    assert_int_equal(ingest_node(&rules->ingest, &a, &n, NULL), 0);
    arena_fini(&a);
}

static struct pod object_of(const struct model_pod *pod, bool bound)
{
    static const struct kv limit = {STR("fgpu.io/gpu-milli"), STR("10")};
    static const struct container container = {.name = STR("main"), .limits = {&limit, 1}};

    return (struct pod){.namespace_ = STR("ns"),
                        .name = str_of(pod->uid),
                        .uid = str_of(pod->uid),
                        .node_name = bound ? str_of(node_names[pod->node]) : STR_NULL,
                        .containers = &container,
                        .container_n = 1};
}

static void see_pod(const struct model_pod *pod, bool bound)
{
    const struct pod seen = object_of(pod, bound);
    const struct rules *rules = policy_set_take(p.policies);
    struct arena a;

    arena_init(&a, 1 << 20);
    assert_int_equal(ingest_pod(&rules->ingest, &a, &seen, NULL), 0);
    arena_fini(&a);
    rules_put(rules);
}

static void say(enum ledger_op_kind kind, const char *uid)
{
    struct ledger_op op = {.kind = kind, .name = str_of(uid)};

    assert_int_equal(store_apply(p.store, &op, NULL), 0);
}

/* A list takes its time: one node, then what other things happen, then the next. */
static void read_on(void)
{
    if (p.api_down) {
        return;
    }
    if (p.lists == NULL && p.relists != 0) {
        const bool nodes = (p.relists & 1U << KUBE_NODES) != 0 && ((p.relists & ~(1U << KUBE_NODES)) == 0 || below(2));

        p.resource = nodes ? KUBE_NODES : KUBE_PODS;
        if ((p.relists & 1U << p.resource) == 0) {
            p.relists = 0; /* of resources that the ledger is not made of */
            return;
        }
        p.relists &= ~(1U << p.resource);
        p.lists = policy_set_take_newest(p.policies);
        p.listed_n = 0;
        p.first_listed = (int)below(NODES);
    }
    if (p.lists != NULL && p.resource == KUBE_NODES && p.listed_n < NODES) {
        see_node(p.lists, (p.listed_n++ + p.first_listed) % NODES);
    } else if (p.lists != NULL) {
        const struct rules *by = p.lists;

        p.lists = NULL;
        config_apply_listed(p.config_apply, p.resource, by);
        rules_put(by);
    }
}

/* The thread that lists may be quick. */
static void relist(void *ctx, enum kube_resource resource)
{
    p.relists |= 1U << resource;
    for (unsigned n = below(4); n > 0; n--) {
        read_on();
    }
}

/* ---- the process ---- */

static void apply(void *ctx, const struct config *c)
{
}

static uint64_t admitted_pools(void *ctx, const struct policy *policy)
{
    return change_overs_admitted(p.change_overs, policy);
}

static bool is_settled(void *ctx)
{
    return !p.api_down && config_apply_is_settled(p.config_apply, ctx);
}

static void each_second(void *ctx)
{
    const struct config *now = config_slot_take(p.slot);

    if (change_overs_look(p.change_overs, &now->policy, is_settled, (void *)(uintptr_t)now)) {
        config_apply_keep_time(p.config_apply);
    }
    config_free(now);
    w.look_n += !p.api_down;
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

static void start(int64_t wall_ms)
{
    static const struct log log; /* nobody listens */
    const struct ledger_limits limits = {{1, 2}, 1000, 1000};
    struct config *file = parse(files[w.file]);
    const struct rules *rules;

    p = (struct process){.relists = 0};
    clock_manual_init(&p.clock, 0, wall_ms);
    p.store = store_new(&limits, &p.clock.clock);
    p.first = config_apply_config_at(file, wall_ms);
    config_free(file);
    assert_int_equal(rules_new(&(struct ingest){p.store, &p.first->policy, &log, NULL}, 1, NULL, NULL, &rules, NULL),
                     0);
    p.policies = policy_set_new(rules);
    p.slot = config_slot_new(config_ref(p.first), NULL, wall_ms);
    p.metrics = catalog_metrics_new();
    p.change_overs = change_overs_new(&(struct change_overs_options){
        .store = p.store, .clock = &p.clock.clock, .log = &log, .list = list_commands, .order = order_command});
    p.config_apply = config_apply_new(&(struct config_apply_options){.policies = p.policies,
                                                                     .slot = p.slot,
                                                                     .metrics = p.metrics,
                                                                     .clock = &p.clock.clock,
                                                                     .log = &log,
                                                                     .apply = apply,
                                                                     .admitted_pools = admitted_pools,
                                                                     .relist = relist});
    p.window_scheduler = window_scheduler_new(&(struct window_scheduler_options){.config_apply = p.config_apply,
                                                                                 .slot = p.slot,
                                                                                 .clock = &p.clock.clock,
                                                                                 .log = &log,
                                                                                 .each_second = each_second});
    for (int i = 0; i < POOLS; i++) {
        p.held[i] = true;
        p.wanted[i] = below(2) ? NODE_POOL_OPEN : NODE_POOL_CLOSED;
    }
    say(LEDGER_NODES_BEGIN, "");
    for (int i = 0; i < NODES; i++) {
        see_node(rules, i);
    }
    say(LEDGER_NODES_END, "");
    say(LEDGER_PODS_BEGIN, "");
    for (int i = 0; i < PODS_MAX; i++) {
        struct model_pod *pod = &w.pods[i];

        pod->lives = pod->lives && (!pod->reserved || below(2)); /* its Binding has landed, or never will */
        pod->reserved = false;
        if (pod->lives) {
            pod->seen_at = w.look_n;
            see_pod(pod, true);
        }
    }
    say(LEDGER_PODS_END, "");
}

static void end(void)
{
    assert_null(store_check(p.store));
    rules_put(p.lists);
    window_scheduler_free(p.window_scheduler);
    config_apply_free(p.config_apply);
    change_overs_free(p.change_overs);
    policy_set_free(p.policies);
    config_slot_free(p.slot);
    config_free(p.first);
    store_free(p.store);
    metrics_free(p.metrics);
}

/* Its children die with it. */
static void restart(void)
{
    const int64_t wall_ms = p.clock.wall_ms;

    end();
    start(wall_ms);
}

static void tick(int64_t after_ms)
{
    p.clock.wall_ms += after_ms;
    p.clock.mono_ns += (after_ms > 0 ? after_ms : 1) * NS_PER_MS;
    window_scheduler_tick(p.window_scheduler);
}

/* ---- what users do ---- */

static bool reserve(struct model_pod *pod)
{
    const struct rules *rules = policy_set_take(p.policies);
    const struct pod object = object_of(pod, false);
    struct demand asks; /* the same by all files */
    const struct store_looked looked = {store_transition(p.store), &asks};
    struct store_reservation r;
    struct arena a;
    enum store_reserve_result result;

    arena_init(&a, 1 << 20);
    assert_true(dialect_demand(rules->placement.policy, &object, &a, &asks));
    result = store_reserve(p.store, &a, str_of(pod->uid), STR("ns"), str_of(pod->uid), str_of(node_names[pod->node]),
                           STR("decision"), &rules->placement.plans, &looked, &r, NULL);
    assert_true(result == STORE_RESERVED || (result == STORE_NO_FIT && r.verdict == VERDICT_CLOSED));
    arena_fini(&a);
    rules_put(rules);
    return result == STORE_RESERVED;
}

static struct model_pod *new_pod(void)
{
    for (int i = 0; i < PODS_MAX; i++) {
        struct model_pod *pod = &w.pods[i];

        if (!pod->lives) {
            *pod = (struct model_pod){.node = (int)below(NODES), .seen_at = w.look_n};
            snprintf(pod->uid, sizeof(pod->uid), "u%u", ++w.uid_n);
            return pod;
        }
    }
    return NULL;
}

static bool holds(const struct model_pod *pod, int pool)
{
    return pod->lives && pool_of[pod->node] == pool;
}

/* Pods of other pools (of those that came past fgpu only if it has known them for longer than a list takes), and the
 * state of their machines: what must be so before a pool opens. */
static void check_may_open(int pool)
{
    for (int other = 0; other < POOLS; other++) {
        for (int i = 0; other != pool && i < PODS_MAX; i++) {
            if (holds(&w.pods[i], other) && (!w.pods[i].foreign || w.look_n - w.pods[i].seen_at > FOREIGN_SEEN_LOOKS)) {
                fail_msg("%s opens while %s is on %s", pool_names[pool], w.pods[i].uid, node_names[w.pods[i].node]);
            }
        }
    }
}

static void check_machines(int pool)
{
    for (int i = 0; i < POOLS; i++) {
        if (w.machines[i] != (i == pool ? MACHINES_RUNNING : MACHINES_SUSPENDED)) {
            fail_msg("%s takes pods while the machines of %s are %d", pool_names[pool], pool_names[i], w.machines[i]);
        }
    }
}

static void check_own_pods(void)
{
    bool used[POOLS] = {false};

    for (int i = 0; i < PODS_MAX; i++) {
        used[pool_of[w.pods[i].node]] |= w.pods[i].lives && !w.pods[i].foreign;
    }
    assert_true(used[DAY] + used[NIGHT] + used[WEEKEND] <= 1);
}

static bool takes_pods(int node)
{
    struct model_pod probe = {.node = node};
    bool takes;

    snprintf(probe.uid, sizeof(probe.uid), "p%u", ++w.uid_n);
    see_pod(&probe, false);
    takes = reserve(&probe);
    if (takes) {
        say(LEDGER_RELEASE, probe.uid);
    }
    say(LEDGER_POD_GONE, probe.uid);
    return takes;
}

/* Asks every node. */
static void check_nodes(void)
{
    bool open[POOLS] = {false};

    for (int i = 0; i < NODES; i++) {
        open[pool_of[i]] |= takes_pods(i);
    }
    assert_true(open[DAY] + open[NIGHT] + open[WEEKEND] <= 1);
    for (int i = 0; i < POOLS; i++) {
        if (open[i]) {
            check_machines(i);
        }
        if (open[i] && !w.opened[i]) {
            check_may_open(i);
            w.opened_n++;
        }
        w.opened[i] = open[i];
    }
}

/* What fgpu says of itself, for the counts of what was seen. */
static enum change_over_step step(void)
{
    const struct change_over_status *all = NULL;
    enum change_over_step is = CHANGE_OVER_CLOSING;
    struct arena a;

    arena_init(&a, 1 << 20);
    if (change_overs_list(p.change_overs, &a, &all) > 0) {
        is = all[0].step;
        w.waited_n += is == CHANGE_OVER_WAITING && all[0].shown_n > 0;
        w.conflict_n += is == CHANGE_OVER_CONFLICT;
        w.failed_n += all[0].failed.n > 0;
        assert_true(all[0].pod_n == 0 || is == CHANGE_OVER_WAITING);
        for (int i = 0; i < POOLS; i++) { /* also what another group has ordered */
            assert_true(p.held[i] || (is != CHANGE_OVER_CLOSING && is != CHANGE_OVER_WAITING));
        }
    }
    arena_fini(&a);
    return is;
}

/* By libc, and by what the files say. -1: none. */
static int pool_by_the_wall(int64_t wall_ms)
{
    time_t t = (time_t)(wall_ms / 1000);
    struct tm tm;
    bool night, weekend;

    assert_non_null(localtime_r(&t, &tm));
    night = tm.tm_hour >= 20 || tm.tm_hour < 8;
    weekend = tm.tm_wday == 0 || tm.tm_wday == 6;
    if (weekend) {
        return night && w.file == 1 ? -1 : WEEKEND;
    }
    return night ? NIGHT : DAY;
}

/* Around it the clock then goes back and forth. */
static int64_t to_the_next_change(void)
{
    int64_t at_ms = p.clock.wall_ms / 3600000 * 3600000;

    do {
        at_ms += 3600000;
    } while (pool_by_the_wall(at_ms) == pool_by_the_wall(at_ms - 1));
    return at_ms - p.clock.wall_ms;
}

static struct model_pod *some_living_pod(void)
{
    struct model_pod *pod = &w.pods[below(PODS_MAX)];

    for (int i = 0; i < PODS_MAX && !pod->lives; i++) {
        pod = &w.pods[(pod - w.pods + 1) % PODS_MAX];
    }
    return pod;
}

static void something_happens(void)
{
    static const int64_t jumps_ms[] = {600000, 3600000, 12 * 3600000, -3600000};
    static const int64_t ticks_ms[] = {1000, 1000, 1000, 0, -1000};
    struct model_pod *pod = some_living_pod();
    const int i = (int)below(POOLS);

    switch (below(22)) {
    case 0:
        if (below(16) == 0) {
            tick(to_the_next_change());
        } else if (below(16) == 0) {
            tick(jumps_ms[below(ARRAY_LEN(jumps_ms))]);
        }
        break;
    case 1:
    case 2:
        if ((pod = new_pod()) != NULL) {
            see_pod(pod, false);
            pod->lives = pod->reserved = reserve(pod);
            if (!pod->lives) {
                say(LEDGER_POD_GONE, pod->uid);
            }
        }
        break;
    case 3:
        if (pod->lives && pod->reserved && !p.api_down) {
            pod->reserved = false;
            pod->lives = below(3) > 0;
            say(pod->lives ? LEDGER_CONFIRM : LEDGER_RELEASE, pod->uid);
        }
        break;
    case 4:
        if (pod->lives && !pod->reserved && !p.api_down && below(2)) {
            pod->lives = false;
            say(LEDGER_POD_GONE, pod->uid);
        }
        break;
    case 5:
    case 6:
        begin_command(i);
        break;
    case 7:
    case 8:
        end_command(i, below(5) > 0);
        break;
    case 9:
        if (below(8) == 0 && !p.api_down && (pod = new_pod()) != NULL) { /* somebody binds it past fgpu */
            pod->lives = pod->foreign = true;
            see_pod(pod, true);
        }
        break;
    case 10:
        p.api_down = below(10) == 0;
        break;
    case 11:
        if (below(8) == 0) {
            restart();
        } else if (below(8) == 0) {
            w.file = below(ARRAY_LEN(files));
            config_apply_offer(p.config_apply, parse(files[w.file]));
        }
        break;
    case 12:
    case 13:
    case 14:
    case 15:
    case 16:
        tick(ticks_ms[below(ARRAY_LEN(ticks_ms))]);
        break;
    default:
        read_on();
        break;
    }
}

/* Pods end, commands work, the API server answers: then what should be open is, and nothing else. */
static void check_that_it_ends(void)
{
    int want;

    p.api_down = false;
    for (int i = 0; i < PODS_MAX; i++) {
        if (w.pods[i].lives) {
            say(w.pods[i].reserved ? LEDGER_RELEASE : LEDGER_POD_GONE, w.pods[i].uid);
            w.pods[i] = (struct model_pod){.lives = false};
        }
    }
    for (int round = 0; round < 12; round++) {
        tick(round == 0 ? 600000 : 1000); /* no change is near */
        for (int i = 0; i < 4 * NODES; i++) {
            read_on();
        }
        for (int i = 0; i < POOLS; i++) {
            end_command(i, true);
            begin_command(i);
            end_command(i, true);
        }
        check_nodes();
    }
    want = pool_by_the_wall(p.clock.wall_ms);
    for (int i = 0; i < POOLS; i++) {
        assert_int_equal(w.opened[i], i == want);
    }
    assert_int_equal(step(), want < 0 ? CHANGE_OVER_CONFLICT : CHANGE_OVER_OPEN);
}

static void random__windows_pods_commands_restarts__one_pool_at_a_time_and_it_ends(void **state)
{
    const char *seeds = getenv("FGPU_CHANGE_OVER_SEEDS");
    const unsigned long n = seeds != NULL ? strtoul(seeds, NULL, 10) : 20;
    unsigned opened_n = 0, waited_n = 0, conflict_n = 0, failed_n = 0;

    for (unsigned long seed = 1; seed <= n; seed++) {
        /* Weeks in which the clocks change, too. */
        static const int64_t days_s[] = {1774483200 /* 2026-03-26 */, 1792627200 /* 2026-10-22 */, 1780617600};

        w = (struct cluster_model){.look_n = 1000};
        rng_init(&w.rng, seed);
        w.file = below(ARRAY_LEN(files));
        start((days_s[below(3)] + below(5 * 86400)) * 1000);
        for (int i = 0; i < 3000; i++) {
            something_happens();
            check_own_pods();
            (void)step();
            if (i % 3 == 0) {
                check_nodes();
            }
        }
        check_that_it_ends();
        end();
        opened_n += w.opened_n;
        waited_n += w.waited_n;
        conflict_n += w.conflict_n;
        failed_n += w.failed_n;
    }
    /* Nothing is proved where nothing happens. */
    assert_true(opened_n > 2 * n && waited_n > n && conflict_n > 0 && failed_n > n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random__windows_pods_commands_restarts__one_pool_at_a_time_and_it_ends),
    };

    if (setenv("TZ", "Europe/Berlin", 1) != 0) {
        return 1;
    }
    tzset();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
