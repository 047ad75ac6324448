/* Nodes whose GPUs are parts of the same physical GPUs: what all of them hold fits the GPU. */
#include "base/rng.h"
#include "core/inventory/host_group.h"
#include "core/ledger/audit.h"
#include "core/ledger/host_group.h"
#include "core/support/ledger_fixture.h"
#include "model/device.h"
#include "support/cmocka.h"
#include "support/seeds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct ledger_fixture f;

static int setup(void **state)
{
    fixture_init(&f);
    return 0;
}

static int teardown(void **state)
{
    fixture_fini(&f);
    return 0;
}

/* `gpu_n` slices of so many GiB, indexes only: the machines do not see the UUIDs of the host. */
struct machine {
    const char *name, *group;
    int gpu_n, gib;
    int64_t said_gib; /* memory of a physical GPU; 0: not said */
    int32_t plugin_managed_n;
    bool shares; /* whole GPUs, not slices */
    const char *uuid;
};

static void describe(const struct machine *m)
{
    struct device devices[8];
    struct inventory inv = {.source = INVENTORY_RESOURCES,
                            .devices = devices,
                            .device_n = (size_t)m->gpu_n,
                            .plugin_managed_n = m->plugin_managed_n};
    struct ledger_op op = fixture_description(m->name, &inv);

    for (int i = 0; i < m->gpu_n; i++) {
        devices[i] = (struct device){.index = i,
                                     .minor = -1,
                                     .uuid = m->uuid != NULL ? str_of(m->uuid) : STR_NULL,
                                     .model = STR("V100"),
                                     .mem_mib = (int64_t)m->gib * GIB,
                                     .slot_n = m->shares ? 16 : 1,
                                     .numa = -1,
                                     .healthy = true,
                                     .slice = !m->shares,
                                     .gpu_index = -1,
                                     .start = -1};
    }
    op.node.host_group = str_of(m->group);
    op.node.host_gpu_mem_mib = m->said_gib * GIB;
    fixture_apply(&f, &op);
}

static enum verdict place(const char *node, const struct demand *d, struct placement *at)
{
    return ledger_place(f.l, str_of(node), STR("default"), d, NULL, 0, fixture_params("binpack"), at);
}

static enum verdict verdict_on(const char *node, const struct demand *d)
{
    struct placement at;

    return place(node, d, &at);
}

static int reserve_at(const char *uid, const char *node, const struct demand *d, const struct placement *at)
{
    const struct ledger_op seen = fixture_observation(uid, d, NULL, NULL);
    const struct ledger_op op = {
        .kind = LEDGER_RESERVE,
        .reserve = {.uid = str_of(uid), .node_name = str_of(node), .decision_id = STR("d"), .placement = at}};

    fixture_apply(&f, &seen);
    return ledger_apply(f.l, &op, NULL);
}

static bool bind(const char *uid, const char *node, const struct demand *d)
{
    struct placement at = {0};

    if (place(node, d, &at) != VERDICT_FITS) {
        return false;
    }
    assert_int_equal(reserve_at(uid, node, d, &at), 0);
    assert_null(ledger_check(f.l));
    return true;
}

static void gone(const char *uid)
{
    const struct ledger_op op = {.kind = LEDGER_POD_GONE, .name = str_of(uid)};

    fixture_apply(&f, &op);
}

/* The host of the day-and-night example: a card of 16 GB. */
static void day_and_night(int64_t said_gib, int32_t plugin_managed_n)
{
    static const char *const names[] = {"day-0", "day-1", "day-2", "day-3"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        describe(&(struct machine){names[i], "host", 1, 4, said_gib, plugin_managed_n, false, NULL});
    }
    describe(&(struct machine){"night", "host", 1, 16, said_gib, plugin_managed_n, false, NULL});
}

static void slices__of_one_card__only_as_many_as_it_has_memory(void **state)
{
    const struct demand small = MEMORY_OF(3 * GIB), large = MEMORY_OF(10 * GIB);
    uint64_t room;

    day_and_night(0, 0);
    assert_true(bind("a", "day-0", &small));
    assert_int_equal(verdict_on("night", &large), VERDICT_HOST_GROUP);
    assert_true(bind("b", "day-1", &small));
    assert_true(bind("c", "day-2", &small));
    assert_true(bind("d", "day-3", &small)); /* four of 4 GiB are the card */
    gone("a");
    gone("b");
    room = ledger_capacity_generation(f.l);
    gone("c");
    assert_int_equal(verdict_on("night", &large), VERDICT_HOST_GROUP); /* 4 GiB and 16 GiB are more than 16 */
    gone("d");
    assert_true(ledger_capacity_generation(f.l) > room); /* whoever waits for the night is tried again */
    assert_true(bind("e", "night", &large));
    assert_int_equal(verdict_on("day-0", &small), VERDICT_HOST_GROUP);
}

/* As with `consistency: strict`. Whoever was refused is tried again when the node leaves its group. */
static void groups_are_refused__no_gpu_of_their_nodes(void **state)
{
    const struct ledger_limits limits = {
        .hash_key = {1, 2}, .overcommit_milli = 1000, .overcommit_mem_milli = 1000, .refuses_host_groups = true};
    const struct demand small = MEMORY_OF(3 * GIB), whole = {.dialect = "plugin", .plugin_managed_n = 1};
    uint64_t room;

    fixture_fini(&f);
    fixture_init_limited(&f, &limits);
    describe(&(struct machine){"day-0", "host", 1, 4, 0, 1, false, NULL});
    describe(&(struct machine){"alone", NULL, 1, 4, 0, 1, false, NULL});
    assert_int_equal(verdict_on("day-0", &small), VERDICT_NOT_COVERED);
    assert_int_equal(verdict_on("day-0", &whole), VERDICT_NOT_COVERED);
    assert_int_equal(verdict_on("alone", &small), VERDICT_FITS);
    room = ledger_capacity_generation(f.l);
    describe(&(struct machine){"day-0", NULL, 1, 4, 0, 1, false, NULL});
    assert_true(ledger_capacity_generation(f.l) > room);
    assert_int_equal(verdict_on("day-0", &small), VERDICT_FITS);
    room = ledger_capacity_generation(f.l);
    describe(&(struct machine){"day-0", "host", 1, 4, 0, 1, false, NULL});
    assert_int_equal(verdict_on("day-0", &small), VERDICT_NOT_COVERED);
    assert_true(bind("a", "alone", &small));
}

static void reserve__placement_of_before_another_node_took_the_gpu__refused(void **state)
{
    const struct demand small = MEMORY_OF(3 * GIB), large = MEMORY_OF(10 * GIB);
    struct placement at;

    day_and_night(0, 0);
    assert_int_equal(place("night", &large, &at), VERDICT_FITS);
    assert_true(bind("a", "day-0", &small));
    assert_int_equal(reserve_at("b", "night", &large, &at), -ERR_CONFLICT);
}

static void memory__said_by_the_nodes__counts_whatever_nodes_are_there(void **state)
{
    const struct demand small = MEMORY_OF(3 * GIB);

    describe(&(struct machine){"day-0", "host", 1, 4, 8, 0, false, NULL});
    describe(&(struct machine){"day-1", "host", 1, 4, 8, 0, false, NULL});
    describe(&(struct machine){"day-2", "host", 1, 4, 0, 0, false, NULL});
    assert_true(bind("a", "day-0", &small));
    assert_true(bind("b", "day-1", &small));
    assert_int_equal(verdict_on("day-2", &small), VERDICT_HOST_GROUP);
    describe(&(struct machine){"day-0", "other-host", 1, 4, 8, 0, false, NULL}); /* the label was wrong */
    assert_true(bind("c", "day-2", &small));
}

static void gpus__of_other_indexes_and_other_hosts__do_not_matter(void **state)
{
    const struct demand small = MEMORY_OF(3 * GIB), two = WHOLE_GPUS(2);

    describe(&(struct machine){"day", "host", 2, 4, 0, 0, false, NULL});
    describe(&(struct machine){"night", "host", 2, 16, 0, 0, true, NULL});
    describe(&(struct machine){"elsewhere", "other", 1, 16, 0, 0, false, NULL});
    describe(&(struct machine){"alone", "", 1, 16, 0, 0, false, NULL});
    assert_true(bind("a", "day", &small));
    assert_int_equal(verdict_on("night", &two), VERDICT_HOST_GROUP);
    assert_true(bind("b", "night", &small)); /* on its second GPU */
    assert_true(bind("c", "elsewhere", &small));
    assert_true(bind("d", "alone", &small));
}

/* Each machine calls its only slice GPU 0, of whichever card of the host. */
static void index__of_nodes_with_other_numbers_of_gpus__may_be_any_gpu(void **state)
{
    const struct demand small = MEMORY_OF(3 * GIB), large = MEMORY_OF(10 * GIB);

    describe(&(struct machine){"card-0", "host", 1, 4, 16, 0, false, NULL});
    describe(&(struct machine){"card-1", "host", 1, 4, 16, 0, false, NULL});
    describe(&(struct machine){"night", "host", 2, 16, 16, 0, false, NULL});
    assert_true(bind("a", "card-1", &small));
    assert_int_equal(verdict_on("night", &large), VERDICT_HOST_GROUP);
    gone("a");
    assert_true(bind("b", "night", &large));
    assert_int_equal(verdict_on("card-1", &small), VERDICT_HOST_GROUP);
}

static void uuid__the_same_under_other_indexes__one_gpu(void **state)
{
    const struct demand share = SHARE_OF(300);
    struct device devices[2] = {{.index = 0,
                                 .minor = -1,
                                 .uuid = STR("GPU-x"),
                                 .mem_mib = 16 * GIB,
                                 .slot_n = 16,
                                 .numa = -1,
                                 .healthy = true,
                                 .gpu_index = -1,
                                 .start = -1}};
    struct inventory inv = {.source = INVENTORY_ANNOTATION, .devices = devices, .device_n = 1};
    struct ledger_op op = fixture_description("a", &inv);

    op.node.host_group = STR("host");
    fixture_apply(&f, &op);
    devices[0].index = 1;
    op.node.name = STR("b");
    fixture_apply(&f, &op);
    assert_true(bind("p", "a", &share));
    assert_true(bind("q", "a", &share)); /* of what the node has already, its pods share as always */
    assert_int_equal(verdict_on("b", &share), VERDICT_HOST_GROUP);
}

static void plugin__kubelet_picks__any_gpu_of_the_node_may_be_held(void **state)
{
    const struct demand one = {.plugin_managed_n = 1, .plugin_managed_most = 1, .dialect = "native"};

    day_and_night(0, 1);
    assert_true(bind("a", "day-0", &one));
    assert_int_equal(verdict_on("night", &one), VERDICT_HOST_GROUP);
    assert_true(bind("b", "day-1", &one));
    gone("a");
    gone("b");
    assert_true(bind("c", "night", &one));
    assert_int_equal(verdict_on("day-3", &one), VERDICT_HOST_GROUP);
}

static void pods__that_came_past_us__close_the_gpu_until_one_has_gone(void **state)
{
    const struct demand small = MEMORY_OF(3 * GIB), large = MEMORY_OF(10 * GIB);
    struct ledger_op op = fixture_observation("a", &small, "day-0", NULL);

    day_and_night(0, 0);
    fixture_apply(&f, &op);
    op = fixture_observation("b", &large, "night", NULL);
    fixture_apply(&f, &op); /* 20 of 16 GiB: nothing of ours, and no broken invariant */
    assert_int_equal(verdict_on("day-1", &small), VERDICT_HOST_GROUP);
    gone("b");
    assert_int_equal(verdict_on("day-1", &small), VERDICT_FITS);
}

/* What a pod without a record holds went with the devices of its node; the pod may still run. */
/* It holds nothing as long as it has no pods; with one nobody knows what that has. */
static void node__without_devices__closes_the_others_while_it_has_pods(void **state)
{
    struct demand d = MEMORY_OF(GIB);

    describe(&(struct machine){"day", "host", 1, 4, 0, 0, false, NULL});
    describe(&(struct machine){"bare", "host", 0, 0, 0, 0, false, NULL});
    assert_int_equal(verdict_on("day", &d), VERDICT_FITS);
    assert_int_equal(fixture_pod(&f, "past us", &d, "bare", NULL), 0);
    assert_int_equal(verdict_on("day", &d), VERDICT_HOST_GROUP);
    gone("past us");
    assert_int_equal(verdict_on("day", &d), VERDICT_FITS);
}

static void node__has_gone_with_pods_on_it__any_gpu_may_be_held(void **state)
{
    const struct demand small = MEMORY_OF(3 * GIB), large = MEMORY_OF(10 * GIB);
    const struct ledger_op past_us = fixture_observation("b", &small, "day", NULL);
    struct ledger_op op = {.kind = LEDGER_NODE_GONE, .name = STR("day")};
    struct placement at;

    describe(&(struct machine){"day", "host", 2, 4, 16, 0, false, NULL});
    describe(&(struct machine){"night", "host", 2, 16, 16, 0, false, NULL});
    assert_true(bind("a", "day", &small));
    assert_int_equal(place("night", &large, &at), VERDICT_FITS); /* the other card */
    fixture_apply(&f, &past_us);
    assert_int_equal(verdict_on("night", &large), VERDICT_HOST_GROUP);
    fixture_apply(&f, &op);
    assert_null(ledger_check(f.l));
    assert_int_equal(verdict_on("day", &small), VERDICT_NODE_UNKNOWN);
    assert_int_equal(verdict_on("night", &large), VERDICT_HOST_GROUP);
    gone("b");
    gone("a");
    assert_int_equal(verdict_on("night", &large), VERDICT_FITS);
}

/* Which node is the one too many depends on their order, and that is another one after a restart. */
static void group__has_too_many_nodes__none_takes_anything_until_one_has_gone(void **state)
{
    const struct demand small = MEMORY_OF(3 * GIB), large = MEMORY_OF(10 * GIB);
    const struct ledger_op held = fixture_observation("p", &large, "last", NULL);
    struct ledger_op op = {.kind = LEDGER_NODE_GONE};
    char names[HOST_GROUP_NODES_MAX + 1][16];

    for (unsigned i = 0; i < HOST_GROUP_NODES_MAX; i++) {
        snprintf(names[i], sizeof(names[i]), "n%u", i);
        describe(&(struct machine){names[i], "host", 1, 4, 16, 0, false, NULL});
    }
    describe(&(struct machine){"last", "host", 1, 16, 16, 0, false, NULL});
    fixture_apply(&f, &held);
    describe(&(struct machine){"beyond", "host", 1, 16, 16, 0, false, NULL});
    assert_null(ledger_check(f.l));
    assert_int_equal(verdict_on(names[1], &small), VERDICT_HOST_GROUP);
    op.name = str_of(names[0]);
    fixture_apply(&f, &op);
    op.name = STR("beyond");
    fixture_apply(&f, &op);
    assert_int_equal(verdict_on(names[1], &small), VERDICT_HOST_GROUP); /* the card of 16 GiB is held by `last` */
    gone("p");
    assert_int_equal(verdict_on(names[1], &small), VERDICT_FITS);
    assert_null(ledger_check(f.l));
}

/* ---- against an oracle that remembers who was given what ---- */

enum { SEEDS = 60, STEPS = 400, NODES = 6, PODS = 12, GPUS = 2 };

struct told {
    int node; /* -1: none */
    uint64_t devices;
};

struct world {
    struct machine machines[NODES];
    bool there[NODES];
    struct told pods[PODS];
};

/* Memory of physical GPU `gpu` of `group` that is given away: each device that somebody has, once and whole. */
static int given_gib(const struct world *w, const char *group, int gpu)
{
    int sum = 0;

    for (int n = 0; n < NODES; n++) {
        bool held = false;

        for (int p = 0; p < PODS; p++) {
            held = held || (w->pods[p].node == n && (w->pods[p].devices >> gpu & 1) != 0);
        }
        sum += held && strcmp(w->machines[n].group, group) == 0 && gpu < w->machines[n].gpu_n ? w->machines[n].gib : 0;
    }
    return sum;
}

/* Of which any GPU of node `n` may be a part, because the nodes see different numbers of GPUs; or GPU `gpu` of both. */
static int given_beside_gib(const struct world *w, int n, int gpu)
{
    int sum = 0;

    for (int other = 0; other < NODES; other++) {
        const struct machine *m = &w->machines[other];
        uint64_t held = 0;

        for (int p = 0; p < PODS; p++) {
            held |= w->pods[p].node == other ? w->pods[p].devices : 0;
        }
        for (int g = 0; g < m->gpu_n && strcmp(m->group, w->machines[n].group) == 0; g++) {
            bool same = other == n || m->gpu_n == w->machines[n].gpu_n ? g == gpu : true;

            sum += same && (held >> g & 1) != 0 ? m->gib : 0;
        }
    }
    return sum;
}

static void check_world(const struct world *w, uint64_t seed, int step)
{
    static const char *const groups[] = {"h0", "h1"};
    const char *why = ledger_check(f.l);

    if (why != NULL) {
        fail_msg("seed %llu, step %d: %s", (unsigned long long)seed, step, why);
    }
    for (size_t g = 0; g < ARRAY_LEN(groups); g++) {
        for (int gpu = 0; gpu < GPUS; gpu++) {
            if (given_gib(w, groups[g], gpu) > 16) {
                fail_msg("seed %llu, step %d: %d of 16 GiB are given away", (unsigned long long)seed, step,
                         given_gib(w, groups[g], gpu));
            }
        }
    }
}

static const char *const node_names[NODES] = {"n0", "n1", "n2", "n3", "n4", "n5"};
static const char *const uids[PODS] = {"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11"};

static void one_step(struct world *w, struct rng *r)
{
    const int n = (int)(rng_below(r, NODES)), p = (int)(rng_below(r, PODS));
    struct gpu_request request;
    const struct demand d = fixture_memory(&request, (int64_t)(1 + rng_below(r, 16)) * GIB);
    struct placement at;

    if (rng_below(r, 20) == 0) { /* the node is described again, and nothing has changed */
        describe(&w->machines[n]);
    }
    if (w->pods[p].node >= 0) {
        gone(uids[p]);
        w->pods[p].node = -1;
    } else if (place(node_names[n], &d, &at) == VERDICT_FITS) {
        assert_int_equal(reserve_at(uids[p], node_names[n], &d, &at), 0);
        w->pods[p] = (struct told){n, at.gpu_request_devices[0]};
    }
}

/* Never more than there is; and never a refusal for the sake of other nodes where the oracle sees room. */
static void any_order__of_pods_on_two_hosts__no_card_is_given_twice(void **state)
{
    const struct seeds seeds = seeds_of_test(1, SEEDS);

    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        static const int sizes[] = {4, 8, 16};
        struct world w = {0};
        struct rng r;

        fixture_fini(&f);
        fixture_init(&f);
        rng_init(&r, seed);
        for (int i = 0; i < NODES; i++) {
            w.machines[i] = (struct machine){node_names[i],
                                             rng_below(&r, 2) ? "h0" : "h1",
                                             1 + (int)(rng_below(&r, GPUS)),
                                             sizes[rng_below(&r, ARRAY_LEN(sizes))],
                                             16,
                                             0,
                                             rng_below(&r, 2) == 0,
                                             NULL};
            describe(&w.machines[i]);
        }
        for (int i = 0; i < PODS; i++) {
            w.pods[i].node = -1;
        }
        for (int step = 0; step < STEPS; step++) {
            one_step(&w, &r);
            check_world(&w, seed, step);
        }
        for (int n = 0; n < NODES; n++) {
            const struct demand little = MEMORY_OF(1);
            bool room = false;

            for (int gpu = 0; gpu < w.machines[n].gpu_n; gpu++) {
                room = room || given_beside_gib(&w, n, gpu) + w.machines[n].gib <= 16;
            }
            assert_false(room && verdict_on(node_names[n], &little) == VERDICT_HOST_GROUP);
        }
    }
}

/* Neither the nodes nor their devices say how large the card is: whoever has a part of it may have all. */
static void memory__said_by_nobody__one_device_at_a_time(void **state)
{
    const struct demand whole = WHOLE_GPUS(1);

    describe(&(struct machine){"day", "host", 1, 0, 0, 0, true, NULL});
    describe(&(struct machine){"night", "host", 1, 0, 0, 0, true, NULL});
    assert_true(bind("a", "day", &whole));
    assert_int_equal(verdict_on("night", &whole), VERDICT_HOST_GROUP);
    gone("a");
    assert_true(bind("b", "night", &whole));
    assert_int_equal(verdict_on("day", &whole), VERDICT_HOST_GROUP);
}

static void labels__of_a_node__group_and_memory(void **state)
{
    const struct kv labels[] = {{STR("fgpu.io/host-group"), STR("host-1")},
                                {STR("fgpu.io/host-gpu-memory"), STR("16Gi")}};
    const struct kv odd[] = {{STR("fgpu.io/host-group"), STR("host-1")},
                             {STR("fgpu.io/host-gpu-memory"), STR("large")}};
    struct node node = {.labels = {labels, 2}};
    struct host_group g = host_group_of_node(&node);

    assert_true(str_eq_cstr(g.name, "host-1") && g.mem_mib == 16 * GIB && !g.is_odd);
    node.labels.items = odd;
    g = host_group_of_node(&node);
    assert_true(str_eq_cstr(g.name, "host-1") && g.mem_mib == 0 && g.is_odd);
    node.labels = (struct kv_list){0};
    g = host_group_of_node(&node);
    assert_true(g.name.n == 0 && g.mem_mib == 0 && !g.is_odd);
}

static void labels__memory_of_a_gpu__whole_bytes_and_at_least_a_mib(void **state)
{
    static const struct {
        const char *text;
        int64_t mem_mib; /* 0: odd */
    } rows[] = {{"1Mi", 1},
                {"1048576", 1},
                {"1048575", 0},
                {"2097151", 1},
                {"0", 0},
                {"-16Gi", 0},
                {"2147483647Mi", INT32_MAX},
                {"2147483648Mi", 0},
                {"1048576500m", 0},
                {"", 0}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct kv label = {STR("fgpu.io/host-gpu-memory"), str_of(rows[i].text)};
        const struct node node = {.labels = {&label, 1}};
        const struct host_group g = host_group_of_node(&node);

        if (g.mem_mib != rows[i].mem_mib || g.is_odd != (rows[i].mem_mib == 0)) {
            fail_msg("\"%s\" is %lld", rows[i].text, (long long)g.mem_mib);
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(slices__of_one_card__only_as_many_as_it_has_memory),
        TEST(groups_are_refused__no_gpu_of_their_nodes),
        TEST(reserve__placement_of_before_another_node_took_the_gpu__refused),
        TEST(memory__said_by_the_nodes__counts_whatever_nodes_are_there),
        TEST(gpus__of_other_indexes_and_other_hosts__do_not_matter),
        TEST(index__of_nodes_with_other_numbers_of_gpus__may_be_any_gpu),
        TEST(uuid__the_same_under_other_indexes__one_gpu),
        TEST(plugin__kubelet_picks__any_gpu_of_the_node_may_be_held),
        TEST(pods__that_came_past_us__close_the_gpu_until_one_has_gone),
        TEST(node__without_devices__closes_the_others_while_it_has_pods),
        TEST(node__has_gone_with_pods_on_it__any_gpu_may_be_held),
        TEST(group__has_too_many_nodes__none_takes_anything_until_one_has_gone),
        TEST(any_order__of_pods_on_two_hosts__no_card_is_given_twice),
        TEST(memory__said_by_nobody__one_device_at_a_time),
        TEST(labels__of_a_node__group_and_memory),
        cmocka_unit_test(labels__memory_of_a_gpu__whole_bytes_and_at_least_a_mib),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
