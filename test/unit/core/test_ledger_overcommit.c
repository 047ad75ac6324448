/* Over-committed devices are closed to new pods until that is over, and every transition is told
 * once. */
#include "core/ledger/state.h"
#include "core/support/tested_ledger.h"
#include "core/support/simulation.h"
#include "support/cmocka.h"
#include "support/seeds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEDS 1000 /* others: support/seeds.h */
#define STEPS 250

static struct ledger_overcommit news[8];
static size_t news_n; /* in it, held */

static int teardown(void **state)
{
    ledger_drop_overcommits(news, news_n);
    news_n = 0;
    fixture_fini(&fx);
    return 0;
}

static size_t take(void)
{
    ledger_drop_overcommits(news, news_n);
    news_n = ledger_take_overcommits(fx.l, news, 8);
    return news_n;
}

/* The next transition is of device `i` of n1, and the only one. */
static void expect_one(const char *uuid, bool begins)
{
    assert_int_equal(take(), 1);
    assert_true(str_eq_cstr(news[0].node_name, "n1"));
    assert_true(str_eq_cstr(news[0].uuid, uuid));
    assert_int_equal(news[0].begins, begins);
}

/* A pod of somebody else, on one device. */
static void foreign_on(const char *uid, const struct demand *d, const char *uuid, int32_t index, int32_t milli)
{
    struct assignment as = RECORD_OF("other", uuid, index, milli, milli * 80 * GIB / 1000);

    fixture_pod(&fx, uid, d, "n1", &as);
}

static enum verdict verdict_for(const struct demand *d)
{
    struct placement at;

    return ledger_place(fx.l, STR("n1"), STR("default"), d, NULL, 0, fixture_params("tight-fit"), &at);
}

static void bypassed__device_is_closed_until_the_pod_is_gone(void **state)
{
    struct demand large = SHARE_OF(700), tiny = SHARE_OF(1), both = SHARE_OF(1);

    both.gpu_requests =
        &(struct gpu_request){.container = STR("main"), .phases = 1, .count = 2, .kind = GPU_REQUEST_MILLI, .milli = 1};
    foreign_on("a", &large, "GPU-n1-0", 0, 700);
    assert_int_equal(take(), 0);
    assert_int_equal(verdict_for(&both), VERDICT_FITS);
    foreign_on("b", &large, "GPU-n1-0", 0, 700);
    expect_one("GPU-n1-0", true);
    assert_true(fixture_state(&fx, "n1")->devices[0].overcommitted);
    assert_int_equal(fx.snapshot.overcommitted_n, 1);
    assert_int_equal(verdict_for(&both), VERDICT_OVERCOMMITTED);
    assert_int_equal(verdict_for(&tiny), VERDICT_FITS); /* on the other one */
    foreign_on("c", &large, "GPU-n1-1", 1, 700);
    foreign_on("d", &large, "GPU-n1-1", 1, 700);
    expect_one("GPU-n1-1", true);
    assert_int_equal(verdict_for(&tiny), VERDICT_OVERCOMMITTED);
    fixture_pod(&fx, "p", &tiny, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "p", "n1"), VERDICT_OVERCOMMITTED);
    fixture_name_op(&fx, LEDGER_POD_GONE, "b");
    expect_one("GPU-n1-0", false);
    assert_int_equal(fixture_reserve(&fx, "p", "n1"), 0);
}

static void reservation_computed_before__refused_on_a_device_that_is_over_committed_now(void **state)
{
    struct demand large = SHARE_OF(700), tiny = SHARE_OF(1);
    struct placement at;
    struct ledger_op op = {
        .kind = LEDGER_RESERVE,
        .reserve = {.uid = STR("p"), .node_name = STR("n1"), .decision_id = STR("x"), .placement = &at}};

    fixture_pod(&fx, "p", &tiny, NULL, NULL);
    assert_int_equal(ledger_place_pod(fx.l, STR("n1"), STR("p"), fixture_params("tight-fit"), &at), VERDICT_FITS);
    assert_int_equal(at.gpu_request_devices[0], 1);
    foreign_on("a", &large, "GPU-n1-0", 0, 700);
    foreign_on("b", &large, "GPU-n1-0", 0, 700);
    assert_int_equal(ledger_apply(fx.l, &op, NULL), -ERR_CONFLICT);
    at.gpu_request_devices[0] = 2;
    assert_int_equal(ledger_apply(fx.l, &op, NULL), 0);
}

static void foreign_without_record__every_device__each_told(void **state)
{
    struct demand large = SHARE_OF(600);

    fixture_pod(&fx, "a", &large, "n1", NULL);
    fixture_pod(&fx, "b", &large, "n1", NULL);
    assert_int_equal(take(), 2);
    assert_true(news[0].begins && news[1].begins);
    /* Taken off and put back within one op: no news. */
    fixture_pod(&fx, "b", &large, "n1", NULL);
    fixture_pod(&fx, "b", &large, "n1", NULL);
    assert_int_equal(take(), 0);
    /* Its devices become known: the other one is free of it. */
    foreign_on("b", &large, "GPU-n1-1", 1, 600);
    expect_one("GPU-n1-0", false);
}

static void inventory_shrinks_and_grows__told(void **state)
{
    struct demand d = SHARE_AND_MEMORY_OF(500, 60 * GIB);
    struct assignment as = RECORD_OF("x", "GPU-n1-1", 1, 500, 60 * GIB);

    fixture_pod(&fx, "a", &d, "n1", &as);
    fixture_node(&fx, "n1", 2, 40 * GIB);
    expect_one("GPU-n1-1", true);
    fixture_node(&fx, "n1", 2, 40 * GIB);
    assert_int_equal(take(), 0);
    fixture_node(&fx, "n1", 2, 80 * GIB);
    expect_one("GPU-n1-1", false);
}

static void node_gone__over_with_its_devices(void **state)
{
    struct demand large = SHARE_OF(600);

    fixture_pod(&fx, "a", &large, "n1", NULL);
    fixture_pod(&fx, "b", &large, "n1", NULL);
    assert_int_equal(take(), 2);
    fixture_name_op(&fx, LEDGER_NODE_GONE, "n1");
    assert_int_equal(take(), 2);
    assert_false(news[0].begins || news[1].begins);
    fixture_node(&fx, "n1", 2, 80 * GIB);
    assert_int_equal(take(), 2);
    assert_true(news[0].begins && news[1].begins);
}

static void many_transitions__taken_in_parts(void **state)
{
    struct demand large = SHARE_OF(600);

    fixture_node(&fx, "n2", 11, 80 * GIB);
    fixture_pod(&fx, "a", &large, "n2", NULL);
    fixture_pod(&fx, "b", &large, "n2", NULL);
    assert_int_equal(take(), 8);
    assert_int_equal(news[7].index, 7);
    assert_int_equal(take(), 3);
    assert_int_equal(news[2].index, 10);
    assert_int_equal(take(), 0);
}

/* ---- random clusters ---- */

static struct {
    char node[16], uuid[24];
    int32_t index;
} told[256];
static unsigned told_n;
static unsigned begun_n;

static void hear(const struct simulation *s, const struct ledger_overcommit *o)
{
    unsigned i = 0;

    /* a device keeps its UUID when it is renumbered */
    while (i < told_n && !(str_eq_cstr(o->node_name, told[i].node) && str_eq_cstr(o->uuid, told[i].uuid) &&
                           (o->uuid.n > 0 || o->index == told[i].index))) {
        i++;
    }
    if (o->begins != (i == told_n)) {
        simulation_fail(s, o->begins ? "begins twice" : "ends but never began", o->uuid);
    }
    if (o->begins) {
        snprintf(told[told_n].node, sizeof(told[0].node), "%.*s", STR_ARG(o->node_name));
        snprintf(told[told_n].uuid, sizeof(told[0].uuid), "%.*s", STR_ARG(o->uuid));
        told[told_n++].index = o->index;
        begun_n++;
    } else {
        told[i] = told[--told_n];
    }
}

/* A record with no amounts makes a pod that takes nothing of its devices: beside it, who has one alone still has all.
 */
static bool takes_something(const struct charge *c)
{
    return c->milli > 0 || c->mem_mib > 0 || c->exclusive;
}

/* No demand, however small, is given a device that is over-committed; one that is held alone by one
 * of several is; and what was told, added up, is what there is. */
static void watch_over(struct simulation *s)
{
    struct ledger_overcommit o;
    unsigned over_n = 0;

    while (ledger_take_overcommits(s->l, &o, 1) == 1) {
        hear(s, &o);
        ledger_drop_overcommits(&o, 1);
    }
    for (uint32_t i = 0; i < s->l->node_n; i++) {
        const struct node_entry *n = &s->l->nodes[i];
        const struct device_state *states = &s->l->states[s->l->rows[i].first_device];
        struct gpu_request w = {.container = STR("main"), .phases = 1, .count = 1, .kind = GPU_REQUEST_BOTH};
        struct demand d = {.dialect = "native", .gpu_requests = &w, .gpu_request_n = 1};
        struct placement at;

        if (!n->used) {
            continue;
        }
        for (uint32_t j = 0; j < n->device_n; j++) {
            bool over = device_is_overcommitted(&states[j]);
            unsigned holders = 0;

            for (uint32_t k = 0; k < n->pod_n; k++) {
                const struct pod_entry *p = &s->l->pods[n->pods[k]];

                for (size_t c = 0; c < p->charge_n; c++) {
                    holders += p->charges[c].ordinal == j && takes_something(&p->charges[c].charge);
                }
            }
            over_n += over;
            if (over != n->devices[j].overcommitted) {
                simulation_fail(s, "a transition was missed", s->l->names[i]);
            }
            if (!over && holders > 1 && (states[j].flags & DEVICE_EXCLUSIVE) != 0) {
                simulation_fail(s, "held alone, by two, and not over-committed", s->l->names[i]);
            }
        }
        w.milli = (int32_t)cluster_model_below(&s->w, 2);
        w.count = (uint16_t)(1 + cluster_model_below(&s->w, 2));
        if (ledger_place(s->l, s->l->names[i], STR("ns"), &d, NULL, 0, fixture_params("spread"), &at) == VERDICT_FITS) {
            for (uint32_t j = 0; j < n->device_n; j++) {
                if ((at.gpu_request_devices[0] >> j & 1) != 0 && device_is_overcommitted(&states[j])) {
                    simulation_fail(s, "a placement on an over-committed device", s->l->names[i]);
                }
            }
        }
    }
    if (over_n != told_n) {
        simulation_fail(s, "told another number than there is", STR_NULL);
    }
}

/* A node with one GPU, and what else `inv` says. */
static void describe(const char *name, struct inventory inv)
{
    const struct device d = {.uuid = str_of(name), .mem_mib = 80 * GIB, .slot_n = 16, .healthy = true};
    const struct ledger_op op = fixture_description(name, &inv);

    inv.source = INVENTORY_ANNOTATION;
    inv.devices = &d;
    inv.device_n = 1;
    fixture_apply(&fx, &op);
}

static void describe_with_factors(int32_t milli, int32_t mem_milli)
{
    describe("f", (struct inventory){.overcommit_milli = milli, .overcommit_mem_milli = mem_milli});
}

static void describe_memory_only(const char *name, enum memory_only_mode mode)
{
    describe(name, (struct inventory){.memory_only = mode});
}

/* GPU requests for memory alone, bound without a signed record: what they take of the compute is what the node says,
 * now; but what an editable one was charged stays. */
static void memory_only_of_a_node__changed_under_its_pods__charges_follow_but_no_editable_falls(void **state)
{
    struct gpu_request w = {
        .container = STR("main"), .count = 1, .kind = GPU_REQUEST_MEMORY, .mem_mib = 20 * GIB, .phases = 1};
    struct demand firm = {.dialect = "native", .gpu_request_n = 1, .gpu_requests = &w}, editable = firm;
    const struct snapshot_node *n;
    uint64_t capacity;

    editable.source = DEMAND_FROM_ANNOTATIONS;
    describe_memory_only("f", MEMORY_ONLY_FREE);
    describe_memory_only("s", MEMORY_ONLY_SHARE);
    for (int i = 0; i < 4; i++) {
        const char *const names[] = {"a", "b", "c", "d"}, *const node = i < 2 ? "f" : "s";
        const struct demand *d = i % 2 == 0 ? &firm : &editable;

        assert_int_equal(fixture_pod(&fx, names[i], d, NULL, NULL), 0);
        assert_int_equal(fixture_reserve(&fx, names[i], node), 0);
        assert_int_equal(fixture_name_op(&fx, LEDGER_CONFIRM, names[i]), 0);
        assert_int_equal(fixture_pod(&fx, names[i], d, node, NULL), 0);
    }
    assert_int_equal(fixture_milli_free(&fx, "f", 0), 1000);
    assert_int_equal(fixture_milli_free(&fx, "s", 0), 500);
    describe_memory_only("f", MEMORY_ONLY_SHARE);
    describe_memory_only("s", MEMORY_ONLY_FREE);
    assert_int_equal(fixture_milli_free(&fx, "f", 0), 500);
    assert_int_equal(fixture_milli_free(&fx, "s", 0), 750);
    n = fixture_state(&fx, "s");
    assert_int_equal(n->memory_only, MEMORY_ONLY_FREE);
    capacity = ledger_capacity_generation(fx.l);
    describe_memory_only("f", MEMORY_ONLY_FREE);
    assert_true(ledger_capacity_generation(fx.l) > capacity);
    assert_int_equal(fixture_milli_free(&fx, "f", 0), 750);
}

static void factors_of_a_node__lowered_under_its_pods__closed_until_raised(void **state)
{
    struct demand d = SHARE_AND_MEMORY_OF(700, 50 * GIB);
    uint64_t capacity;

    assert_int_equal(fixture_pod(&fx, "a", &d, NULL, NULL), 0);
    assert_int_equal(fixture_pod(&fx, "b", &d, NULL, NULL), 0);
    assert_int_equal(fixture_pod(&fx, "c", &d, NULL, NULL), 0);
    describe_with_factors(2000, 1500);
    assert_int_equal(fixture_reserve(&fx, "a", "f"), 0);
    assert_int_equal(fixture_reserve(&fx, "b", "f"), 0);
    assert_int_equal(fixture_milli_free(&fx, "f", 0), 600);
    assert_int_equal(fixture_mem_free(&fx, "f", 0), 20 * GIB);
    assert_int_equal(fixture_reserve(&fx, "c", "n1"), 0); /* other nodes: the factors of all */
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 300);
    describe_with_factors(0, 1500);
    assert_int_equal(fixture_milli_free(&fx, "f", 0), -400);
    assert_null(ledger_check(fx.l)); /* nobody's fault */
    assert_int_equal(take(), 1);
    assert_true(news[0].begins);
    capacity = ledger_capacity_generation(fx.l);
    describe_with_factors(1400, 1500);
    assert_int_equal(fixture_milli_free(&fx, "f", 0), 0);
    assert_true(ledger_capacity_generation(fx.l) > capacity);
    assert_int_equal(take(), 1);
    assert_false(news[0].begins);
}

static void random__any_scenario__closed_while_over_committed_and_told_once(void **state)
{
    const struct seeds seeds = seeds_of_test(1, SEEDS);

    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct simulation *s = simulation_new(seed);

        told_n = 0;
        s->after = watch_over;
        for (unsigned i = 0; i < STEPS; i++) {
            simulation_step(s);
        }
        simulation_settle(s, true);
        simulation_free(s);
    }
    assert_true(seeds.n < SEEDS || begun_n > 5 * seeds.n);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, two_gpus_setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bypassed__device_is_closed_until_the_pod_is_gone),
        TEST(reservation_computed_before__refused_on_a_device_that_is_over_committed_now),
        TEST(foreign_without_record__every_device__each_told),
        TEST(inventory_shrinks_and_grows__told),
        TEST(node_gone__over_with_its_devices),
        TEST(many_transitions__taken_in_parts),
        TEST(memory_only_of_a_node__changed_under_its_pods__charges_follow_but_no_editable_falls),
        TEST(factors_of_a_node__lowered_under_its_pods__closed_until_raised),
        cmocka_unit_test(random__any_scenario__closed_while_over_committed_and_told_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
