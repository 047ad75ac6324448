/* How many more fit: closed forms against taking one after another; and the copy they are counted
 * on. */
#include "core/report/capacity.h"

#include "base/rng.h"
#include "core/fit/choice.h"
#include "core/fit/feasibility.h"
#include "core/forecast/forecast.h"
#include "core/ledger/mirror.h"
#include "core/ledger/view.h"
#include "core/report/capacity_totals.h"
#include "core/support/ledger_fixture.h"
#include "core/support/random_demand.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#define CASES 4000
#define SEED 5

/* One pod after another, each on the GPUs that take the most of its kind, which is never worse than
 * another choice. */
static uint64_t count_greedily(const struct node_state *n, const struct device_state *devices,
                               const struct gpu_request *w)
{
    struct device_state now[RANDOM_DEVICES_MAX];
    uint64_t pods = 0;

    memcpy(now, devices, n->device_n * sizeof(*now));
    for (;; pods++) {
        bool used[RANDOM_DEVICES_MAX] = {false};

        for (uint16_t k = 0; k < w->count; k++) {
            uint32_t best_n = 0;
            size_t best = 0;
            struct charge c;

            for (size_t i = 0; i < n->device_n; i++) {
                uint32_t left = 0;
                struct device_state d = now[i];

                c = device_charge(&d, NULL, w);
                for (; !used[i] && device_takes(&d, &c); left++) {
                    device_take(&d, &c);
                }
                if (left > best_n) {
                    best_n = left;
                    best = i;
                }
            }
            if (best_n == 0) {
                return pods;
            }
            used[best] = true;
            c = device_charge(&now[best], NULL, w);
            device_take(&now[best], &c);
        }
    }
}

/* As filter and bind would go on. */
static uint64_t count_by_decisions(const struct node_state *n, const struct device_state *devices,
                                   const struct demand *d)
{
    struct device_state now[RANDOM_DEVICES_MAX], after[RANDOM_DEVICES_MAX];
    struct placement at;
    uint64_t pods = 0;

    memcpy(now, devices, n->device_n * sizeof(*now));
    while (feasibility_place(n, now, NULL, d, strategies[0], &at) == VERDICT_FITS) {
        choice_take(n, now, d, &at, after);
        memcpy(now, after, n->device_n * sizeof(*now));
        pods++;
    }
    return pods;
}

static void node__random_cases__as_one_after_another(void **state)
{
    struct rng r;
    unsigned several = 0, more = 0;

    rng_init(&r, SEED);
    for (int k = 0; k < CASES; k++) {
        struct random_case c;
        uint64_t n, greedy, decided;

        random_case_draw(&r, 1, RANDOM_DEVICES_MAX, &c);
        c.demand.model_n = c.demand.uuid_n = 0;
        c.node.plugin_managed_used = 0;
        n = capacity_node(&c.node, c.devices, &c.demand);
        greedy = count_greedily(&c.node, c.devices, &c.demand.gpu_requests[0]);
        decided = count_by_decisions(&c.node, c.devices, &c.demand);
        if (n != greedy || n < decided || (c.demand.gpu_requests[0].count == 1 && n != decided)) {
            fail_msg("seed %d case %d: %llu, greedy %llu, decisions %llu\n%s", SEED, k, (unsigned long long)n,
                     (unsigned long long)greedy, (unsigned long long)decided, random_case_text(&c));
        }
        several += c.demand.gpu_requests[0].count > 1 && n > 0;
        more += n > 2;
    }
    assert_true(several > 50 && more > 50);
}

static const struct demand *whole(struct gpu_request *w, struct demand *d, uint16_t count)
{
    *d = fixture_whole(w, count);
    return d;
}

static void node__whole_gpus__empty_ones_in_groups(void **state)
{
    struct ledger_fixture fx;
    struct mirror m;
    struct gpu_request w;
    struct demand d, share = SHARE_OF(100);
    struct assignment as = RECORD_OF("d", "GPU-n-0", 0, 100, 8192);

    fixture_init(&fx);
    fixture_node(&fx, "n", 8, 81920);
    fixture_pod(&fx, "p", &share, "n", &as);
    mirror_init(&m);
    assert_false(mirror_follow(&m, fx.l));
    mirror_grow(&m);
    assert_true(mirror_follow(&m, fx.l));
    assert_int_equal(capacity_node(&m.nodes[0], mirror_devices(&m, 0), whole(&w, &d, 1)), 7);
    assert_int_equal(capacity_node(&m.nodes[0], mirror_devices(&m, 0), whole(&w, &d, 2)), 3);
    assert_int_equal(capacity_node(&m.nodes[0], mirror_devices(&m, 0), whole(&w, &d, 8)), 0);
    assert_int_equal(capacity_hole(&m.nodes[0], mirror_devices(&m, 0)).empty_n, 7);
    assert_int_equal(capacity_hole(&m.nodes[0], mirror_devices(&m, 0)).milli, 1000);
    assert_int_equal(capacity_hole(&m.nodes[0], mirror_devices(&m, 0)).mem_mib, 81920);
    mirror_fini(&m);
    fixture_fini(&fx);
}

static void node__whole_gpus_of_a_plugin__its_numbers(void **state)
{
    struct ledger_fixture fx;
    struct mirror m;
    struct demand share = SHARE_OF(100), two = {.dialect = "native", .plugin_managed_n = 2};

    fixture_init(&fx);
    fixture_node_plugin_managed(&fx, "n", 8, 81920, 8);
    fixture_pod(&fx, "p", &two, "n", NULL);
    mirror_init(&m);
    assert_false(mirror_follow(&m, fx.l));
    mirror_grow(&m);
    assert_true(mirror_follow(&m, fx.l));
    assert_int_equal(capacity_node(&m.nodes[0], mirror_devices(&m, 0), &two), 3);
    assert_int_equal(capacity_node(&m.nodes[0], mirror_devices(&m, 0), &share), 0);
    assert_int_equal(capacity_hole(&m.nodes[0], mirror_devices(&m, 0)).milli, 0);
    mirror_fini(&m);
    fixture_fini(&fx);
}

/* One container more finds room on the GPU with the most compute, of equal ones on that with the most memory. */
static void hole__of_several_gpus__the_largest_that_takes_one_container(void **state)
{
    struct device_state gpus[] = {
        {.milli_cap = 1000,
         .milli_free = 400,
         .mem_cap_mib = 900,
         .mem_free_mib = 300,
         .slot_cap = 4,
         .slot_free = 1,
         .flags = DEVICE_HEALTHY | DEVICE_IN_USE},
        {.milli_cap = 1000,
         .milli_free = 400,
         .mem_cap_mib = 900,
         .mem_free_mib = 500,
         .slot_cap = 4,
         .slot_free = 2,
         .flags = DEVICE_HEALTHY | DEVICE_IN_USE},
        {.milli_cap = 1000,
         .milli_free = 300,
         .mem_cap_mib = 900,
         .mem_free_mib = 900,
         .slot_cap = 4,
         .slot_free = 4,
         .flags = DEVICE_HEALTHY},
        {.milli_cap = 1000,
         .milli_free = 900,
         .mem_cap_mib = 900,
         .mem_free_mib = 900,
         .slot_cap = 4,
         .slot_free = 0,
         .flags = DEVICE_HEALTHY | DEVICE_IN_USE},
    };
    struct node_state n = {.device_n = 4, .flags = NODE_DESCRIBED};
    struct capacity_hole h = capacity_hole(&n, gpus);

    assert_int_equal(h.milli, 400);
    assert_int_equal(h.mem_mib, 500);
    assert_int_equal(h.empty_n, 1);
    gpus[1].slot_free = 0;
    h = capacity_hole(&n, gpus);
    assert_int_equal(h.milli, 400); /* with the last of its places */
    assert_int_equal(h.mem_mib, 300);
    n.plugin_managed_used = 1;
    h = capacity_hole(&n, gpus);
    assert_true(h.milli == 0 && h.mem_mib == 0 && h.empty_n == 0);
}

/* The largest hole of all nodes, and of those with the most empty GPUs the first by its name. */
static void totals__several_nodes__largest_hole_and_emptiest_node(void **state)
{
    struct forecast *forecast = forecast_new();
    struct demand share = SHARE_AND_MEMORY_OF(100, 100), all = WHOLE_GPUS(2);
    struct capacity_totals t;
    struct ledger_fixture fx;
    struct mirror m;

    fixture_init(&fx);
    mirror_init(&m);
    fixture_node(&fx, "c", 2, 1000);
    fixture_node(&fx, "a", 2, 1000);
    fixture_node(&fx, "b", 2, 2000);
    fixture_node(&fx, "d", 1, 3000);
    for (size_t step = 0; step < 4; step++) {
        while (!mirror_follow(&m, fx.l)) {
            mirror_grow(&m);
        }
        capacity_totals_take(&m, forecast, &t);
        assert_int_equal(t.typical_n, 0);
        assert_int_equal(t.node_n, step < 3 ? 4 : 6);
        assert_int_equal(t.fragmented_milli, 0); /* nobody is expected */
        if (step == 0) {
            assert_int_equal(t.largest_milli, 1000);
            assert_int_equal(t.largest_mem_mib, 3000);
            assert_int_equal(t.empty_gpu_n, 2);
            assert_true(str_eq_cstr(t.empty_node, "a"));
            fixture_pod(&fx, "p", &share, "a", NULL); /* on both */
            fixture_pod(&fx, "q", &share, "d", NULL);
        } else if (step == 1) {
            assert_int_equal(t.largest_milli, 1000);
            assert_int_equal(t.largest_mem_mib, 2000);
            assert_true(str_eq_cstr(t.empty_node, "b"));
            fixture_pod(&fx, "r", &all, "b", NULL);
            fixture_pod(&fx, "s", &all, "c", NULL);
        } else if (step == 2) {
            assert_int_equal(t.largest_milli, 900);
            assert_int_equal(t.largest_mem_mib, 2900);
            assert_int_equal(t.empty_gpu_n, 0);
            assert_int_equal(t.empty_node.n, 0);
            fixture_node(&fx, "f", 1, 100);
            fixture_node(&fx, "e", 1, 100);
        } else {
            assert_int_equal(t.empty_gpu_n, 1);
            assert_true(str_eq_cstr(t.empty_node, "e"));
        }
    }
    mirror_fini(&m);
    fixture_fini(&fx);
    forecast_free(forecast);
}

static void assert_equal_numbers(const struct ledger_fixture *fx, const struct mirror *m)
{
    struct ledger_view v;
    struct arena a;
    struct demand d = SHARE_OF(1);

    arena_init(&a, 1 << 20);
    assert_int_equal(ledger_view(fx->l, &a, VIEW_POD("x", &d), &v, NULL), 0);
    assert_int_equal(m->node_n, v.node_n);
    for (uint32_t i = 0; i < v.node_n; i++) {
        assert_true(str_eq(m->names[i], v.names[i]));
        assert_memory_equal(&m->nodes[i], &v.nodes[i], sizeof(v.nodes[i]));
        if (v.nodes[i].device_n > 0) {
            assert_memory_equal(mirror_devices(m, i), v.devices + v.nodes[i].first_device,
                                v.nodes[i].device_n * sizeof(*v.devices));
        }
    }
    arena_fini(&a);
}

static void mirror__follows_changes__equal_to_the_ledger(void **state)
{
    struct ledger_fixture fx;
    struct mirror m;
    struct rng r;

    rng_init(&r, SEED);
    fixture_init(&fx);
    mirror_init(&m);
    for (int step = 0; step < 400; step++) {
        char node[16], uid[16];
        struct demand d = SHARE_OF(1 + (int32_t)rng_below(&r, 400));
        unsigned at = (unsigned)rng_below(&r, 12);

        snprintf(node, sizeof(node), "n%u", at);
        snprintf(uid, sizeof(uid), "u%u", (unsigned)rng_below(&r, 30));
        switch (rng_below(&r, 6)) {
        case 0:
            fixture_node(&fx, node, 1 + (int)rng_below(&r, 5), 1000 * (1 + (int64_t)rng_below(&r, 3)));
            break;
        case 1:
            fixture_name_op(&fx, LEDGER_NODE_GONE, node);
            break;
        case 2:
            fixture_name_op(&fx, LEDGER_POD_GONE, uid);
            break;
        default:
            fixture_pod(&fx, uid, &d, NULL, NULL);
            (void)fixture_reserve(&fx, uid, node);
            break;
        }
        if (rng_below(&r, 3) == 0) {
            if (!mirror_follow(&m, fx.l)) {
                mirror_grow(&m);
                assert_true(mirror_follow(&m, fx.l));
            }
            assert_equal_numbers(&fx, &m);
        }
    }
    assert_true(m.node_n > 5);
    mirror_fini(&m);
    fixture_fini(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node__random_cases__as_one_after_another),
        cmocka_unit_test(node__whole_gpus__empty_ones_in_groups),
        cmocka_unit_test(node__whole_gpus_of_a_plugin__its_numbers),
        cmocka_unit_test(hole__of_several_gpus__the_largest_that_takes_one_container),
        cmocka_unit_test(totals__several_nodes__largest_hole_and_emptiest_node),
        cmocka_unit_test(mirror__follows_changes__equal_to_the_ledger),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
