/* Typical pods: which, in which order, with which probability. */
#include "base/rng.h"
#include "core/forecast/forecast.h"
#include "core/ledger/ledger.h"
#include "core/request/demand_histogram.h"
#include "core/support/ledger_fixture.h"
#include "support/cmocka.h"

#include <stdio.h>

static const struct strategy seer = {.name = "seer", .looks_ahead = true};

static void arrive(struct demand_histogram *m, int32_t cpu, int32_t mem, uint16_t count, int32_t milli, int times)
{
    struct gpu_request w = {.count = count, .kind = GPU_REQUEST_MILLI, .milli = milli, .phases = 1};
    struct demand d = {.host = {cpu, mem}, .gpu_request_n = count > 0, .gpu_requests = &w};

    for (int i = 0; i < times; i++) {
        demand_histogram_arrived(m, &d);
    }
    demand_histogram_settle(m);
}

static void typical__pods__are_the_frequent_ones_without_memory(void **state)
{
    struct ledger_fixture f;
    struct forecast *o = forecast_new();
    struct demand_histogram *m = demand_histogram_new();
    const struct forecast_typical *t;

    fixture_init(&f);
    arrive(m, 1000, 1, 1, 500, 20);
    arrive(m, 1000, 2, 1, 500, 20);
    arrive(m, 4000, 1, 0, 0, 30);
    arrive(m, 1000, 1, 8, 1000, 12);
    arrive(m, 2000, 1, 8, 1000, 12);
    arrive(m, 3000, 1, 1, 100, 6); /* not needed to cover 95 of 100 */
    forecast_give_demand_histogram(o, m);
    assert_true(forecast_follow(o, ledger_cluster_view(f.l), &seer));
    assert_int_equal(forecast_typical_n(o), 5);
    t = forecast_typical(o);
    assert_true(t[0].milli == 500 && t[0].count == 1 && t[0].cpu_milli == 1000);
    assert_true(t[1].count == 0 && t[1].cpu_milli == 4000);
    assert_true(t[2].cpu_milli == 2000 && t[2].count == 8);
    assert_true(t[3].cpu_milli == 1000 && t[3].count == 8);
    assert_true(t[0].probability == 40.0 / 100);
    forecast_free(o);
    demand_histogram_free(m);
    fixture_fini(&f);
}

static void typical__enough_covered__leaves_the_rest_out(void **state)
{
    struct ledger_fixture f;
    struct forecast *o = forecast_new();
    struct demand_histogram *m = demand_histogram_new();

    fixture_init(&f);
    arrive(m, 1000, 1, 1, 500, 95);
    arrive(m, 1000, 1, 1, 200, 5);
    forecast_give_demand_histogram(o, m);
    assert_true(forecast_follow(o, ledger_cluster_view(f.l), &seer));
    assert_int_equal(forecast_typical_n(o), 1);
    assert_true(forecast_typical(o)[0].probability == 1.0);
    forecast_free(o);
    demand_histogram_free(m);
    fixture_fini(&f);
}

static void typical__unchanged__keeps_its_version(void **state)
{
    struct ledger_fixture f;
    struct forecast *o = forecast_new();
    struct demand_histogram *m = demand_histogram_new();
    uint64_t version;

    fixture_init(&f);
    arrive(m, 1000, 1, 1, 500, 95);
    forecast_give_demand_histogram(o, m);
    assert_true(forecast_follow(o, ledger_cluster_view(f.l), &seer));
    version = forecast_typical_version(o);
    assert_true(forecast_follow(o, ledger_cluster_view(f.l), &seer));
    assert_int_equal(forecast_typical_version(o), version);
    arrive(m, 1000, 1, 1, 200, 95);
    assert_true(forecast_follow(o, ledger_cluster_view(f.l), &seer));
    assert_int_not_equal(forecast_typical_version(o), version);
    assert_int_equal(forecast_typical_n(o), 2);
    forecast_free(o);
    demand_histogram_free(m);
    fixture_fini(&f);
}

static void typical__strategy_that_does_not_look_ahead__costs_nothing(void **state)
{
    struct ledger_fixture f;
    struct forecast *o = forecast_new();
    const struct strategy plain = {.name = "plain"};

    fixture_init(&f);
    assert_true(forecast_follow(o, ledger_cluster_view(f.l), &plain));
    assert_int_equal(forecast_typical_version(o), 0);
    forecast_free(o);
    fixture_fini(&f);
}

/* ---- shapes of nodes ---- */

enum { MANY_MACHINES = 1000, FEW_MACHINES = 200 };

/* No two nodes are alike in cores and memory, and all have one free GPU. */
static void unlike_machines(struct node_state *nodes, struct device_state *devices)
{
    for (uint32_t i = 0; i < MANY_MACHINES; i++) {
        nodes[i] = (struct node_state){
            .name_order = i, .first_device = i, .device_n = 1, .flags = NODE_DESCRIBED, .version = i + 1};
        nodes[i].host.cpu_cap_milli = nodes[i].host.cpu_free_milli = 64000 + 600 * (int32_t)(i % 100);
        nodes[i].host.mem_cap_mib = nodes[i].host.mem_free_mib = 65536 + 1200 * (int32_t)(i / 100);
        devices[i] = (struct device_state){.milli_free = 1000,
                                           .milli_cap = 1000,
                                           .mem_free_mib = 16384,
                                           .mem_cap_mib = 16384,
                                           .mem_base_mib = 16384,
                                           .slot_free = 10,
                                           .slot_cap = 10,
                                           .flags = DEVICE_HEALTHY};
    }
}

static void shapes__more_than_are_kept_once_nodes_are_counted__all_are_counted_anew(void **state)
{
    static struct node_state nodes[MANY_MACHINES];
    static struct device_state devices[MANY_MACHINES];
    struct intern *models = intern_new((struct hash_key){1, 2}, 8);
    struct demand_histogram *m = demand_histogram_new();
    struct forecast *grown = forecast_new(), *fresh = forecast_new();
    const struct strategy *rsp = fixture_params("rsp")->node_strategy;
    struct cluster_view c = {.nodes = nodes,
                             .devices = devices,
                             .models = models,
                             .demand_histogram = m,
                             .version = 1,
                             .names_version = 1,
                             .gpus_version = 1};

    unlike_machines(nodes, devices);
    arrive(m, 1000, 1, 1, 500, 100);
    c.node_n = FEW_MACHINES;
    while (!forecast_follow(grown, c, rsp)) {
    }
    c.node_n = MANY_MACHINES;
    c.version = c.names_version = 2;
    while (!forecast_follow(grown, c, rsp)) {
    }
    while (!forecast_follow(fresh, c, rsp)) {
    }
    assert_int_equal(forecast_prices(grown)->n, forecast_prices(fresh)->n);
    assert_memory_equal(forecast_prices(grown)->price, forecast_prices(fresh)->price,
                        sizeof(forecast_prices(fresh)->price));
    forecast_free(grown);
    forecast_free(fresh);
    demand_histogram_free(m);
    intern_free(models);
}

/* ---- nodes that come, change and go ---- */

enum { CHURN_NODES = 200, CHURN_ROUNDS = 400 };

static void change_one(struct ledger_fixture *f, struct rng *r)
{
    struct demand d = SHARE_OF(100 + 100 * (int32_t)rng_below(r, 9));
    const int i = (int)rng_below(r, CHURN_NODES);
    char name[32], uid[16];

    snprintf(name, sizeof(name), "node-%03d", i);
    snprintf(uid, sizeof(uid), "pod-%03d", (int)rng_below(r, CHURN_NODES));
    switch (rng_below(r, 5)) {
    case 0:
        f->host = (struct host_capacity){.cpu_milli = 16000 << rng_below(r, 3), .mem_mib = 65536};
        fixture_node(f, name, 1 + (int)rng_below(r, 4), 16 * GIB);
        break;
    case 1:
        fixture_name_op(f, LEDGER_NODE_GONE, name);
        break;
    case 2:
        fixture_name_op(f, LEDGER_POD_GONE, uid);
        break;
    default:
        fixture_pod(f, uid, &d, NULL, NULL);
        if (!fixture_knows_pod(f, uid) || fixture_pod_state(f, uid) != LEDGER_PENDING) {
            break;
        }
        (void)fixture_reserve(f, uid, name);
    }
}

static void follow_all(struct forecast *o, struct cluster_view c)
{
    const struct strategy *rsp = fixture_params("rsp")->node_strategy;

    while (!forecast_follow(o, c, rsp)) {
    }
}

static void expect_same_prices(const struct forecast *one, const struct forecast *other)
{
    const struct forecast_prices *a = forecast_prices(one), *b = forecast_prices(other);

    assert_true(a->n > 0 && a->n == b->n && a->scarce_cpu == b->scarce_cpu);
    assert_memory_equal(a->price, b->price, sizeof(b->price));
}

/* Changes are told one by one while they are few, and looked for where they are many: nothing may be missed. */
static void follow__few_and_many_changes_and_nodes_that_go__as_one_that_looks_at_all_and_one_that_begins(void **state)
{
    struct demand_histogram *m = demand_histogram_new();
    struct forecast *told = forecast_new(), *looking = forecast_new();
    struct ledger_fixture f;
    struct rng r;

    fixture_init(&f);
    rng_init(&r, 22);
    arrive(m, 1000, 1, 1, 500, 60);
    arrive(m, 2000, 1, 1, 200, 30);
    arrive(m, 4000, 1, 2, 1000, 20);
    forecast_give_demand_histogram(told, m);
    forecast_give_demand_histogram(looking, m);
    for (int round = 0; round < CHURN_ROUNDS; round++) {
        struct forecast *fresh = forecast_new();
        struct cluster_view c;

        for (uint64_t n = round % 4 == 0 ? 60 + rng_below(&r, 80) : rng_below(&r, 4); n > 0; n--) {
            change_one(&f, &r);
        }
        forecast_give_demand_histogram(fresh, m);
        c = ledger_cluster_view(f.l);
        follow_all(told, c);
        c.changed = NULL;
        follow_all(looking, c);
        follow_all(fresh, c);
        expect_same_prices(told, looking);
        expect_same_prices(told, fresh);
        forecast_free(fresh);
    }
    forecast_free(told);
    forecast_free(looking);
    demand_histogram_free(m);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follow__few_and_many_changes_and_nodes_that_go__as_one_that_looks_at_all_and_one_that_begins),
        cmocka_unit_test(typical__pods__are_the_frequent_ones_without_memory),
        cmocka_unit_test(typical__enough_covered__leaves_the_rest_out),
        cmocka_unit_test(typical__unchanged__keeps_its_version),
        cmocka_unit_test(typical__strategy_that_does_not_look_ahead__costs_nothing),
        cmocka_unit_test(shapes__more_than_are_kept_once_nodes_are_counted__all_are_counted_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
