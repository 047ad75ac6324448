/* Limits of tenants: what counts, what is refused, when there is room again, and that no order of binds passes a
 * limit. */
#include "core/support/tested_ledger.h"
#include "core/support/simulation.h"

#include "base/compiler.h"
#include "core/ledger/preempt.h"
#include "core/placement/pack.h"
#include "support/cmocka.h"
#include "support/seeds.h"

#include <string.h>
#include <stdio.h>

#define NO TENANT_UNLIMITED
#define LIMITS(gpu_permille_, milli_, mem_permille_, mem_mib_)                                                         \
    .gpu_permille = (gpu_permille_), .milli = (milli_), .mem_permille = (mem_permille_), .mem_mib = (mem_mib_)

static const struct str research[] = {{"default", 7}};
static const struct str teams[] = {{"team-*", 6}, {"lab", 3}};

static void set_tenants(struct ledger *l, const struct tenant *t, size_t n)
{
    struct ledger_op op = {.kind = LEDGER_TENANTS, .tenants = {t, n}};

    assert_int_equal(ledger_apply(l, &op, NULL), 0);
}

/* One tenant of namespace "default". */
static void limit(int32_t milli, int64_t mem_mib)
{
    const struct tenant t = {
        .name = STR("research"), .namespaces = research, .namespace_n = 1, LIMITS(NO, milli, NO, mem_mib)};

    set_tenants(fx.l, &t, 1);
}

static struct ledger_tenant tenant(size_t i)
{
    struct ledger_tenant all[TENANTS_MAX];

    assert_true(i < ledger_tenants(fx.l, all, TENANTS_MAX));
    return all[i];
}

static void expect_held(size_t i, int64_t milli, int64_t mem_mib, size_t pod_n)
{
    struct ledger_tenant t = tenant(i);

    if (t.held.milli != milli || t.held.mem_mib != mem_mib || t.pod_n != pod_n) {
        fail_msg("holds %lld milli, %lld MiB with %zu pods", (long long)t.held.milli, (long long)t.held.mem_mib,
                 t.pod_n);
    }
}

static void pod(const char *uid, const char *namespace_, const struct demand *d, const char *node)
{
    struct ledger_op op = fixture_observation(uid, d, node, NULL);

    op.pod.namespace_ = str_of(namespace_);
    assert_int_equal(ledger_apply(fx.l, &op, NULL), 0);
}

static void share_pods(unsigned n, int32_t milli)
{
    for (unsigned i = 0; i < n; i++) {
        struct demand d = SHARE_OF(milli);
        char uid[16];

        snprintf(uid, sizeof(uid), "p%u", i);
        pod(uid, "default", &d, NULL);
    }
}

/* ---- what is refused ---- */

static void limit__reached_by_reservations__refused_until_one_is_released(void **state)
{
    fixture_node(&fx, "n", 2, 10000);
    limit(800, NO);
    share_pods(3, 400);
    assert_int_equal(fixture_reserve(&fx, "p0", "n"), 0);
    assert_int_equal(fixture_reserve(&fx, "p1", "n"), 0);
    expect_held(0, 800, 8000, 2);
    assert_int_equal(fixture_reserve(&fx, "p2", "n"), VERDICT_TENANT_LIMIT);
    assert_int_equal(fixture_name_op(&fx, LEDGER_CONFIRM, "p0"), 0);
    assert_int_equal(fixture_reserve(&fx, "p2", "n"), VERDICT_TENANT_LIMIT);
    assert_int_equal(fixture_name_op(&fx, LEDGER_RELEASE, "p1"), 0);
    expect_held(0, 400, 4000, 1);
    assert_int_equal(fixture_reserve(&fx, "p2", "n"), 0);
}

static void limit__of_memory__counts_what_the_share_takes_there(void **state)
{
    fixture_node(&fx, "large", 1, 20000);
    fixture_node(&fx, "small", 1, 10000);
    limit(NO, 8000);
    share_pods(1, 500);
    assert_int_equal(fixture_reserve(&fx, "p0", "large"), VERDICT_TENANT_LIMIT);
    assert_int_equal(fixture_reserve(&fx, "p0", "small"), 0);
    expect_held(0, 500, 5000, 1);
}

static void limit__reserve_without_a_search__refused_all_the_same(void **state)
{
    struct placement at;
    struct ledger_op op = {
        .kind = LEDGER_RESERVE,
        .reserve = {.uid = STR("p0"), .node_name = STR("n"), .decision_id = STR("d"), .placement = &at}};
    struct err err;

    fixture_node(&fx, "n", 1, 10000);
    share_pods(1, 400);
    assert_int_equal(ledger_place_pod(fx.l, STR("n"), STR("p0"), fixture_params("binpack"), &at), VERDICT_FITS);
    limit(399, NO);
    assert_int_equal(ledger_apply(fx.l, &op, &err), -ERR_CONFLICT);
    assert_string_equal(err.msg, verdict_text(VERDICT_TENANT_LIMIT));
    limit(400, NO);
    assert_int_equal(ledger_apply(fx.l, &op, NULL), 0);
}

static void limit__of_zero__nothing_that_asks_for_it(void **state)
{
    struct demand d = SHARE_AND_MEMORY_OF(0, 100);

    fixture_node(&fx, "n", 1, 10000);
    limit(0, NO);
    share_pods(1, 1);
    pod("mem", "default", &d, NULL);
    assert_int_equal(fixture_reserve(&fx, "p0", "n"), VERDICT_TENANT_LIMIT);
    assert_int_equal(fixture_reserve(&fx, "mem", "n"), 0); /* it takes no compute */
}

static void limit__whole_gpus_of_a_plugin__count_as_gpus(void **state)
{
    struct demand d = {.dialect = "native", .plugin_managed_n = 2};

    fixture_node_plugin_managed(&fx, "n", 4, 10000, 4);
    limit(3000, NO);
    pod("a", "default", &d, NULL);
    pod("b", "default", &d, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n"), 0);
    expect_held(0, 2000, 20000, 1);
    assert_int_equal(fixture_reserve(&fx, "b", "n"), VERDICT_TENANT_LIMIT);
}

static void limit__other_namespaces__not_theirs(void **state)
{
    static const struct tenant two[] = {
        {.name = STR("a"), .namespaces = teams, .namespace_n = 2, LIMITS(NO, 500, NO, NO)},
        {.name = STR("b"), .namespaces = research, .namespace_n = 1, LIMITS(NO, 1000, NO, NO)},
    };
    struct demand d = SHARE_OF(400);

    fixture_node(&fx, "n", 4, 10000);
    set_tenants(fx.l, two, 2);
    pod("x", "team-x", &d, NULL);
    pod("lab", "lab", &d, NULL);
    pod("free", "team", &d, NULL);
    pod("own", "default", &d, NULL);
    assert_int_equal(fixture_reserve(&fx, "x", "n"), 0);
    assert_int_equal(fixture_reserve(&fx, "lab", "n"), VERDICT_TENANT_LIMIT);
    assert_int_equal(fixture_reserve(&fx, "free", "n"), 0);
    assert_int_equal(fixture_reserve(&fx, "own", "n"), 0);
    expect_held(0, 400, 4000, 1);
    expect_held(1, 400, 4000, 1);
}

static void limit__filter__same_answer_as_bind(void **state)
{
    const struct str names[] = {STR("large"), STR("small"), STR("none")};
    struct score_cache *cache = score_cache_new();
    struct pack_result r[3];
    struct demand d = SHARE_OF(500);

    fixture_node(&fx, "large", 1, 20000);
    fixture_node(&fx, "small", 1, 10000);
    limit(NO, 8000);
    for (int i = 0; i < 2; i++) { /* the second time from memory */
        const struct pack_params *p = fixture_params("binpack");
        struct ledger_view v;
        struct pack_query q;

        assert_int_equal(ledger_view(fx.l, &fx.arena, VIEW_POD("p", &d), &v, NULL), 0);
        pack_query_init(&q, &v, p, NULL, 0);
        q.known = score_cache_find(cache, &d, p, v.node_n);
        assert_int_equal(pack_some(&v, &q, names, 3, r), 3);
        assert_int_equal(r[0].verdict, VERDICT_TENANT_LIMIT);
        assert_int_equal(r[1].verdict, VERDICT_FITS);
        assert_int_equal(r[2].verdict, VERDICT_NODE_UNKNOWN);
    }
    score_cache_free(cache);
}

static void limit__preemption__only_when_the_tenants_own_pods_make_room(void **state)
{
    struct demand d = SHARE_OF(600);
    struct preempt_request r = {.node_name = STR("n"),
                                .uid = STR("new"),
                                .namespace_ = STR("default"),
                                .priority = 5,
                                .demand = &d,
                                .device_strategy = fixture_params("binpack")->device_strategy};
    static const char *const uids[] = {"other", "mine"};
    const struct str *victims;
    size_t n;

    fixture_node(&fx, "n", 2, 10000);
    limit(1000, NO);
    for (size_t first = 0; first < 2; first++) { /* whichever came to the node first */
        pod("other", "elsewhere", &d, NULL);
        pod("mine", "default", &d, NULL);
        assert_int_equal(fixture_reserve(&fx, uids[first], "n"), 0);
        assert_int_equal(fixture_reserve(&fx, uids[1 - first], "n"), 0);
        assert_int_equal(fixture_name_op(&fx, LEDGER_CONFIRM, "other"), 0);
        assert_int_equal(ledger_preempt(fx.l, &fx.arena, &r, &victims, &n),
                         VERDICT_TENANT_LIMIT); /* a reservation is no victim */
        assert_int_equal(fixture_name_op(&fx, LEDGER_CONFIRM, "mine"), 0);
        assert_int_equal(ledger_preempt(fx.l, &fx.arena, &r, &victims, &n), VERDICT_FITS);
        assert_int_equal(n, 1);
        assert_true(str_eq(victims[0], STR("mine")));
        fixture_name_op(&fx, LEDGER_POD_GONE, "mine");
        fixture_name_op(&fx, LEDGER_POD_GONE, "other");
    }
}

/* ---- limits that move ---- */

static void limit__in_percent__follows_the_nodes(void **state)
{
    const struct tenant t = {.name = STR("r"), .namespaces = research, .namespace_n = 1, LIMITS(500, NO, 125, NO)};

    set_tenants(fx.l, &t, 1);
    assert_int_equal(tenant(0).limit.milli, 0);
    fixture_node(&fx, "n", 4, 10000);
    assert_int_equal(tenant(0).limit.milli, 2000);
    assert_int_equal(tenant(0).limit.mem_mib, 5000);
    fixture_node(&fx, "m", 2, 10001);
    assert_int_equal(tenant(0).limit.milli, 3000);
    assert_int_equal(tenant(0).limit.mem_mib, 7500);
    share_pods(1, 400);
    assert_int_equal(fixture_reserve(&fx, "p0", "n"), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_NODE_GONE, "n"), 0); /* the pod stays, charged */
    assert_int_equal(tenant(0).limit.milli, 1000);
    expect_held(0, 400, 4000, 1);
    fixture_node_plugin_managed(&fx, "plugin", 0, 0, 3); /* GPUs that only a plugin knows */
    assert_int_equal(tenant(0).limit.milli, 2500);
}

static void limit__lowered__nobody_leaves_and_nobody_comes(void **state)
{
    fixture_node(&fx, "n", 2, 10000);
    share_pods(3, 400);
    assert_int_equal(fixture_reserve(&fx, "p0", "n"), 0);
    assert_int_equal(fixture_reserve(&fx, "p1", "n"), 0);
    limit(300, NO);
    expect_held(0, 800, 8000, 2);
    assert_int_equal(tenant(0).limit.milli, 300);
    assert_int_equal(fixture_pod_state(&fx, "p1"), LEDGER_RESERVED);
    assert_int_equal(fixture_reserve(&fx, "p2", "n"), VERDICT_TENANT_LIMIT);
    assert_int_equal(fixture_name_op(&fx, LEDGER_CONFIRM, "p1"), 0); /* what was promised is kept */
    set_tenants(fx.l, NULL, 0);
    assert_int_equal(fixture_reserve(&fx, "p2", "n"), 0);
}

static void foreign_pod__counts_on_every_gpu_until_its_devices_are_known(void **state)
{
    struct assignment as = RECORD_OF("d", "GPU-n-0", 0, 400, 4000);
    struct demand d = SHARE_OF(400);
    uint64_t capacity;

    fixture_node(&fx, "n", 4, 10000);
    limit(1000, NO);
    assert_int_equal(fixture_pod(&fx, "foreign", &d, "n", NULL), 0);
    expect_held(0, 1600, 16000, 1);
    capacity = ledger_capacity_generation(fx.l);
    assert_int_equal(fixture_pod(&fx, "foreign", &d, "n", &as), 0);
    expect_held(0, 400, 4000, 1);
    assert_int_equal(ledger_capacity_generation(fx.l), ledger_generation(fx.l));
    assert_true(ledger_capacity_generation(fx.l) > capacity);
}

/* ---- room ---- */

static void room__of_a_tenant__said_when_it_grows_and_only_then(void **state)
{
    struct demand d = SHARE_OF(400);
    uint64_t capacity;

    fixture_node(&fx, "n", 2, 10000);
    limit(400, NO);
    share_pods(2, 400);
    assert_int_equal(fixture_reserve(&fx, "p0", "n"), 0);
    capacity = ledger_capacity_generation(fx.l);
    assert_int_equal(fixture_reserve(&fx, "p1", "n"), VERDICT_TENANT_LIMIT);
    assert_int_equal(fixture_name_op(&fx, LEDGER_CONFIRM, "p0"), 0);
    assert_int_equal(fixture_pod(&fx, "p1", &d, NULL, NULL), 0);
    assert_int_equal(ledger_capacity_generation(fx.l), capacity);
    limit(800, NO);
    assert_int_equal(ledger_capacity_generation(fx.l), ledger_generation(fx.l));
    assert_int_equal(fixture_reserve(&fx, "p1", "n"), 0);
    capacity = ledger_capacity_generation(fx.l);
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "p1"), 0);
    assert_true(ledger_capacity_generation(fx.l) > capacity);
}

/* Of compute, of memory, of one while there is less of the other; and not when neither is more. */
static void room__what_is_held_changes__said_when_more_of_anything_is_left(void **state)
{
    static const struct {
        struct holding held;
        bool said;
    } rows[] = {{{500, 2000}, false}, {{500, 1000}, true}, {{400, 1000}, true},  {{400, 2000}, false},
                {{500, 1000}, true},  {{400, 3000}, true}, {{400, 3000}, false}, {{0, 0}, true}};
    const struct tenant t = {
        .name = STR("research"), .namespaces = research, .namespace_n = 1, LIMITS(NO, 1000, NO, 4000)};
    struct holding before = {0};
    struct tenancy tenancy;
    uint32_t space;

    tenancy_init(&tenancy, (struct hash_key){1, 2});
    tenancy_set(&tenancy, &t, 1);
    space = tenancy_enter(&tenancy, STR("default"));
    (void)tenancy_follow(&tenancy);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        tenancy_hold(&tenancy, space, before, rows[i].held);
        before = rows[i].held;
        assert_int_equal(tenancy_follow(&tenancy), rows[i].said);
    }
    tenancy_leave(&tenancy, space);
    tenancy_fini(&tenancy);
}

/* A part of all there is: more when there is more, and told once. */
static void room__there_is_more_of_all__said_of_a_limit_in_percent_and_once(void **state)
{
    static const struct {
        struct holding all;
        bool said;
    } rows[] = {{{1000, 1000}, true},  {{1000, 1000}, false}, {{2000, 1000}, true},  {{2000, 1000}, false},
                {{1500, 1000}, false}, {{1500, 1000}, false}, {{1500, 2000}, false}, /* of which it may have all */
                {{1600, 2000}, true}};
    const struct tenant t = {
        .name = STR("research"), .namespaces = research, .namespace_n = 1, LIMITS(500, NO, NO, NO)};
    struct holding before = {0};
    struct tenancy tenancy;

    tenancy_init(&tenancy, (struct hash_key){1, 2});
    tenancy_set(&tenancy, &t, 1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        tenancy_offer(&tenancy, before, rows[i].all);
        before = rows[i].all;
        assert_int_equal(tenancy_follow(&tenancy), rows[i].said);
    }
    tenancy_fini(&tenancy);
}

/* Half of a GPU that has half the memory is less memory: the tenant has room, though the node has none more. */
static void room__gpus_became_smaller__the_tenants_grew(void **state)
{
    struct demand half = SHARE_OF(500);
    uint64_t capacity;

    fixture_node(&fx, "n", 1, 10000);
    limit(NO, 5000);
    share_pods(1, 500);
    assert_int_equal(fixture_reserve(&fx, "p0", "n"), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_CONFIRM, "p0"), 0);
    pod("p0", "default", &half, "n"); /* without a signed record */
    capacity = ledger_capacity_generation(fx.l);
    fixture_node(&fx, "n", 1, 5000);
    expect_held(0, 500, 2500, 1);
    assert_true(ledger_capacity_generation(fx.l) > capacity);
}

/* ---- a demand's bound ---- */

static void wanted_at_most__any_placement__is_not_above_it(void **state)
{
    struct device_state states[3] = {{.milli_cap = 1000, .mem_cap_mib = 40000, .mem_base_mib = 20000},
                                     {.milli_cap = 1500, .mem_cap_mib = 10000, .mem_base_mib = 10000},
                                     {.milli_cap = 1000}};
    struct gpu_request kinds[] = {{.kind = GPU_REQUEST_BOTH, .milli = 300, .mem_mib = 7, .count = 1, .phases = 1},
                                  {.kind = GPU_REQUEST_MILLI, .milli = 300, .count = 1, .phases = 1},
                                  {.kind = GPU_REQUEST_MEMORY, .mem_mib = 500, .count = 1, .phases = 1},
                                  {.kind = GPU_REQUEST_FRACTION, .milli = 300, .count = 1, .phases = 1},
                                  {.kind = GPU_REQUEST_PORTION, .mem_mib = 500, .count = 1, .phases = 1},
                                  {.kind = GPU_REQUEST_WHOLE, .milli = 1000, .count = 1, .phases = 1}};
    const struct node_state node = {.device_n = 3};
    struct holding largest = tenancy_unit(states, 3);
    static const unsigned more[] = {0, DEVICE_EQUAL, DEVICE_SLICE};

    assert_int_equal(largest.milli, 1500);
    assert_int_equal(largest.mem_mib, 40000);
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct demand d = {.gpu_requests = &kinds[k], .gpu_request_n = 1};

        for (unsigned i = 0; i < 3; i++) {
            struct placement at = {.gpu_request_devices = {UINT64_C(1) << i}};
            struct holding wanted = tenancy_wanted(&d, &at, &node, states);

            assert_true(holding_fits(wanted, tenancy_wanted_at_most(&d, largest, false)));
        }
        for (unsigned i = 0; i < 3 * ARRAY_LEN(more) * 2; i++) {
            struct placement at = {.gpu_request_devices = {UINT64_C(1) << i % 3}};
            struct device_state s[3];

            memcpy(s, states, sizeof(s));
            s[i % 3].flags = (uint16_t)more[i / 6];
            s[i % 3].slot_cap = 1;
            d.says_qos = i % 2 == 1;
            d.qos = QOS_EQUAL_SHARE;
            assert_true(holding_fits(tenancy_wanted(&d, &at, &node, s), tenancy_wanted_at_most(&d, largest, true)));
            if (more[i / 6] == 0) {
                assert_true(
                    holding_fits(tenancy_wanted(&d, &at, &node, s), tenancy_wanted_at_most(&d, largest, false)));
            }
        }
    }
}

static void plugin__replicas_and_units__their_part_of_a_gpu(void **state)
{
    const struct device_state states[2] = {{.milli_cap = 1000, .mem_cap_mib = 24576},
                                           {.milli_cap = 1000, .mem_cap_mib = 24576}};
    const struct node_state sliced = {.device_n = 2, .plugin_managed_cap = 40, .plugin_managed_per_gpu = 20},
                            whole = {.device_n = 2, .plugin_managed_cap = 2, .plugin_managed_per_gpu = 1};
    const struct demand four = {.plugin_managed_n = 4};
    struct holding wanted = tenancy_wanted(&four, NULL, &sliced, states);

    assert_int_equal(wanted.milli, 200);
    assert_int_equal(wanted.mem_mib, 4915); /* of 24576 */
    assert_int_equal(tenancy_node_total(&sliced, states).milli, 2000);
    assert_int_equal(tenancy_node_total(&whole, states).milli, 2000);
    assert_int_equal(tenancy_plugin(&whole, states, 2).mem_mib, 49152);
}

/* ---- any order of binds ---- */

struct watcher {
    struct simulation *s;
    struct holding held[2];
    unsigned refused_n, grown_n;
};
static struct watcher watcher;

static const struct str others[] = {{"oth*", 4}};

/* After every op: who grew by a reservation is within the limit. Bound past fgpu, edited or on changed nodes,
 * pods may be charged more, which is why other ops are left out. */
static void watch(struct simulation *s)
{
    struct ledger_tenant t[2];

    assert_int_equal(ledger_tenants(s->l, t, 2), 2);
    for (size_t i = 0; i < 2; i++) {
        struct holding held = t[i].held, before = watcher.held[i];

        /* Of what it has too much already a pod may take nothing at all: on a GPU whose memory nobody knows. */
        if (s->reserved_n > watcher.grown_n && ((held.milli > before.milli && held.milli > t[i].limit.milli) ||
                                                (held.mem_mib > before.mem_mib && held.mem_mib > t[i].limit.mem_mib))) {
            simulation_fail(s, "a reservation took a tenant above its limit", t[i].name);
        }
        watcher.held[i] = held;
        watcher.refused_n += t[i].limit.milli - t[i].held.milli < 300;
    }
    watcher.grown_n = s->reserved_n;
}

static void random__any_interleaving_of_binds__no_reservation_passes_a_limit(void **state)
{
    watcher = (struct watcher){0};
    enum { SEEDS = 60 };
    const struct seeds seeds = seeds_of_test(5000, SEEDS);
    unsigned reserved = 0;

    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct simulation *s = simulation_new(seed);

        watcher.grown_n = 0;
        s->after = watch;
        for (unsigned i = 0; i < 300; i++) {
            if (i % 50 == 0) { /* limits go up and down while binds are under way */
                const struct tenant two[] = {
                    {.name = STR("d"),
                     .namespaces = research,
                     .namespace_n = 1,
                     LIMITS((int32_t)(seed % 7 + i / 50 * 5) * 20, NO, NO, NO)},
                    {.name = STR("o"),
                     .namespaces = others,
                     .namespace_n = 1,
                     LIMITS(NO, (int32_t)((seed + i) % 11) * 300, NO, 40000)},
                };

                set_tenants(s->l, two, 2);
            }
            simulation_step(s);
        }
        reserved += s->reserved_n;
        simulation_free(s);
    }
    assert_true(seeds.n < SEEDS || reserved > 300);
    assert_true(seeds.n < SEEDS || watcher.refused_n > 300); /* the limits were near enough to matter */
}

/* Any name may come, and its tables grow with those that are there at one time alone. */
static void namespaces__come_and_go__their_places_are_used_again(void **state)
{
    const struct holding none = {0}, some = {300, 1000};
    struct tenancy t;
    char name[16];

    tenancy_init(&t, (struct hash_key){1, 2});
    tenancy_set(
        &t, &(struct tenant){.name = STR("all"), .namespaces = &STR("*"), .namespace_n = 1, LIMITS(NO, 5000, NO, NO)},
        1);
    for (int i = 0; i < 1000; i++) {
        uint32_t at[3];

        for (int k = 0; k < 3; k++) {
            int n = snprintf(name, sizeof(name), "ns-%d-%d", i, k);

            at[k] = tenancy_enter(&t, (struct str){name, (size_t)n});
            assert_int_equal(tenancy_enter(&t, (struct str){name, (size_t)n}), at[k]);
            tenancy_hold(&t, at[k], none, some);
        }
        assert_int_equal(t.tenants[0].held.milli, 900);
        assert_int_equal(t.tenants[0].holder_n, 3);
        for (int k = 0; k < 3; k++) {
            tenancy_hold(&t, at[k], some, none);
            tenancy_leave(&t, at[k]);
            tenancy_leave(&t, at[k]);
        }
    }
    assert_int_equal(t.space_n, 3);
    assert_int_equal(t.free_space_n, 3);
    assert_int_equal(t.tenants[0].held.milli, 0);
    tenancy_fini(&t);
}

int main(void)
{
#define TEST(name_) EMPTY_LEDGER_TEST(name_)
    const struct CMUnitTest tests[] = {
        TEST(limit__reached_by_reservations__refused_until_one_is_released),
        TEST(limit__of_memory__counts_what_the_share_takes_there),
        TEST(limit__reserve_without_a_search__refused_all_the_same),
        TEST(limit__of_zero__nothing_that_asks_for_it),
        TEST(limit__whole_gpus_of_a_plugin__count_as_gpus),
        TEST(limit__other_namespaces__not_theirs),
        TEST(limit__filter__same_answer_as_bind),
        TEST(limit__preemption__only_when_the_tenants_own_pods_make_room),
        TEST(limit__in_percent__follows_the_nodes),
        TEST(limit__lowered__nobody_leaves_and_nobody_comes),
        TEST(foreign_pod__counts_on_every_gpu_until_its_devices_are_known),
        TEST(room__of_a_tenant__said_when_it_grows_and_only_then),
        TEST(room__what_is_held_changes__said_when_more_of_anything_is_left),
        TEST(room__there_is_more_of_all__said_of_a_limit_in_percent_and_once),
        TEST(room__gpus_became_smaller__the_tenants_grew),
        cmocka_unit_test(namespaces__come_and_go__their_places_are_used_again),
        cmocka_unit_test(plugin__replicas_and_units__their_part_of_a_gpu),
        cmocka_unit_test(wanted_at_most__any_placement__is_not_above_it),
        cmocka_unit_test(random__any_interleaving_of_binds__no_reservation_passes_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
