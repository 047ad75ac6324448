/* The store: readiness, time, tentative placements. Reservations are in test_placement.c. */
#include "base/bug.h"
#include "core/placement/pack.h"
#include "core/placement/plan.h"
#include "extender/support/tested_store.h"
#include "support/cmocka.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define MS INT64_C(1000000)

static struct clock_manual now;
static const struct demand demand = DEMAND_OF_SHARE(300);

static int setup(void **state)
{
    clock_manual_init(&now, 1000 * MS, 5000);
    store_open(&now.clock);
    return 0;
}

/* ---- readiness ---- */

static void ready__only_when_both_lists_are_complete(void **state)
{
    static const enum ledger_op_kind steps[] = {LEDGER_PODS_BEGIN, LEDGER_PODS_END, LEDGER_NODES_BEGIN};

    for (size_t i = 0; i < 3; i++) {
        apply_bracket(steps[i]);
        assert_false(store_is_synced(store));
        assert_non_null(strstr(store_not_ready(store), "still reading"));
    }
    apply_bracket(LEDGER_NODES_END);
    assert_true(store_is_synced(store));
    assert_null(store_not_ready(store));
    apply_bracket(LEDGER_PODS_BEGIN); /* a later list does not make it unready: the ledger stays what it was */
    assert_true(store_is_ready(store));
}

static void ready__holding_off__until_the_time_has_come(void **state)
{
    apply_bracket(LEDGER_PODS_END);
    apply_bracket(LEDGER_NODES_END);
    store_hold_off(store, now.mono_ns + 6000 * MS);
    assert_non_null(strstr(store_not_ready(store), "earlier bindings"));
    clock_manual_advance_ms(&now, 5999);
    assert_false(store_is_ready(store));
    clock_manual_advance_ms(&now, 1);
    assert_true(store_is_ready(store));
}

static void closed__never_ready_again_and_the_first_reason_stays(void **state)
{
    apply_bracket(LEDGER_PODS_END);
    apply_bracket(LEDGER_NODES_END);
    assert_null(store_closed(store));
    store_close(store, "first");
    store_close(store, "second");
    assert_string_equal(store_closed(store), "first");
    assert_string_equal(store_not_ready(store), "first");
    apply_bracket(LEDGER_PODS_END);
    assert_false(store_is_ready(store));
}

static bool leads_now;

static bool leads(void *ctx)
{
    assert_ptr_equal(ctx, &leads_now);
    return leads_now;
}

/* Several replicas: one that follows, or whose Lease has run out, decides nothing; what it was told first it says. */
static void election__not_the_one_who_decides__not_ready(void **state)
{
    apply_empty_lists();
    store_stand_by(store, "it follows");
    assert_string_equal(store_not_ready(store), "it follows");
    assert_string_equal(store_not_open(store), "it follows");
    store_stand_by(store, NULL);
    assert_null(store_not_ready(store));
    store_follow_election(store, leads, &leads_now);
    leads_now = false;
    assert_non_null(strstr(store_not_ready(store), "its Lease has run out"));
    leads_now = true;
    assert_null(store_not_ready(store));
    store_stand_by(store, "it follows");
    store_close(store, "the end");
    assert_string_equal(store_not_ready(store), "the end");
}

/* Pods without GPUs wait for nothing but the lists; who could take over is ready for all but the hold-off. */
static void awaited__and_held_off__for_gpus_alone(void **state)
{
    apply_empty_lists();
    store_await(store, "it reads something");
    store_hold_off(store, now.mono_ns + 6000 * MS);
    assert_string_equal(store_not_ready(store), "it reads something");
    assert_null(store_not_open(store));
    assert_null(store_not_warm(store));
    store_await(store, NULL);
    assert_non_null(strstr(store_not_ready(store), "earlier bindings"));
    clock_manual_advance_ms(&now, 6000);
    assert_null(store_not_ready(store));
    store_stand_by(store, "it follows");
    assert_true(store_stands_by(store));
    assert_null(store_not_warm(store));
    store_close(store, "the end");
    assert_string_equal(store_not_warm(store), "the end");
    assert_string_equal(store_not_open(store), "the end");
}

/* ---- the ledger behind it ---- */

/* Nodes n0, n1 and so on with a GPU each, more than one section of anything; every third says something. */
enum { MANY = 600 };
static char many_text[MANY][16];
static struct str many[MANY];
static const char note[] = "of the test";

static void many_nodes(void)
{
    struct device gpu = {.index = 0, .mem_mib = 1000, .slot_n = 16, .healthy = true};
    const struct inventory inventory = {.source = INVENTORY_ANNOTATION, .devices = &gpu, .device_n = 1};
    struct taint taint = {.key = STR("k"), .effect = TAINT_NO_SCHEDULE};

    for (int i = 0; i < MANY; i++) {
        many[i] = (struct str){many_text[i], (size_t)snprintf(many_text[i], sizeof(many_text[i]), "n%d", i)};
        apply((struct ledger_op){.kind = LEDGER_NODE_DESCRIBED,
                                 .node = {.name = many[i],
                                          .schedulable = true,
                                          .inventory = &inventory,
                                          .note = i % 3 == 0 ? note : NULL,
                                          .taints = &taint,
                                          .taint_n = i % 5 == 0}});
    }
}

static void nodes__more_than_a_section__each_once(void **state)
{
    static const char *notes[MANY + 1];
    static bool open[MANY + 1];
    const struct policy policy = {.node_strategy = STR("binpack"), .device_strategy = STR("binpack")};
    const struct view_pod key = {.uid = STR("p"), .namespace_ = STR("d"), .demand = &demand};
    struct store_pack_answer answer;
    struct pack_plans plans;
    unsigned char seen[MANY] = {0};
    const struct str *names;
    struct arena small;
    size_t n;

    many_nodes();
    apply_pod("p", NULL, &demand);
    names = store_node_names(store, &arena, &n);
    assert_int_equal(n, MANY);
    for (size_t i = 0; i < n; i++) {
        uint64_t number;

        assert_true(str_to_u64(str_drop(names[i], 1), MANY - 1, &number));
        assert_int_equal(seen[number]++, 0);
    }
    notes[MANY] = note;
    store_node_notes(store, many, MANY, notes);
    open[MANY] = true;
    store_open_to(store, STR("p"), &(struct node_set){NULL, 0, 0}, many, MANY, open);
    for (size_t i = 0; i < MANY; i++) {
        assert_ptr_equal(notes[i], i % 3 == 0 ? note : NULL);
        assert_int_equal(open[i], i % 5 != 0);
    }
    assert_true(open[MANY] && notes[MANY] == note); /* not beyond them */
    /* Of those that were asked about, while the names are the same. */
    assert_int_equal(pack_plans_init(&plans, &policy, NULL), 0);
    assert_int_equal(store_pack(store, &arena, &key, &plans, NULL, 0, &many[1], 4, &answer, NULL), 0);
    store_open_to(store, STR("p"), &answer.asked, many, MANY, open);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(open[i], i >= 1 && i <= 4);
    }
    answer.asked.names_version++; /* then nothing is known of any */
    store_open_to(store, STR("p"), &answer.asked, many, MANY, open);
    assert_true(open[6] && !open[5]);
    arena_init(&small, 64);
    assert_null(store_node_names(store, &small, &n));
    arena_fini(&small);
}

static unsigned named_n;

static void count_name(void *ctx, struct str uid, struct str namespace_, struct str name)
{
    assert_ptr_equal(ctx, &named_n);
    assert_true(str_eq(uid, name) && str_eq_cstr(namespace_, "d"));
    named_n++;
}

static void pods__more_than_a_section__each_once(void **state)
{
    char uid[16];

    for (int i = 0; i < MANY; i++) {
        snprintf(uid, sizeof(uid), "p%d", i);
        apply_pod(uid, NULL, &demand);
    }
    named_n = 0;
    store_pod_names(store, count_name, &named_n);
    assert_int_equal(named_n, MANY);
}

static void find_pod__copies_what_decisions_see(void **state)
{
    static const uint64_t labels[] = {3, 4};
    struct store_pod p;
    struct arena small;

    apply((struct ledger_op){.kind = LEDGER_POD_OBSERVED,
                             .pod = {.uid = STR("u"),
                                     .namespace_ = STR("d"),
                                     .name = STR("p"),
                                     .priority = -7,
                                     .demand = &demand,
                                     .label_hashes = labels,
                                     .label_n = 2}});
    assert_false(store_find_pod(store, &arena, STR("x"), &p));
    assert_true(store_find_pod(store, &arena, STR("u"), &p));
    assert_true(p.state == LEDGER_PENDING && !p.deleting && p.node_name.n == 0 && p.decision_id.n == 0);
    assert_true(str_eq_cstr(p.name, "p") && str_eq_cstr(p.pod.namespace_, "d") && str_eq_cstr(p.pod.uid, "u"));
    assert_true(p.pod.priority == -7 && p.pod.label_n == 2 && p.pod.label_hashes[0] == 3 && p.pod.label_hashes[1] == 4);
    assert_true(p.pod.demand != &demand && demand_equal(p.pod.demand, &demand));
    arena_init(&small, 16);
    assert_false(store_find_pod(store, &small, STR("u"), &p));
    arena_fini(&small);
}

static void tenants_and_unmeasured_nodes__copied(void **state)
{
    static const struct str ours[] = {STR("d")};
    char name[] = "team";
    const struct tenant t = {.name = str_of(name), .namespaces = ours, .namespace_n = 1, .milli = 1300};
    const struct inventory unmeasured = {.source = INVENTORY_RESOURCES, .unmeasured = true};
    struct ledger_op op = {.kind = LEDGER_NODE_DESCRIBED, .node = {.schedulable = true, .inventory = &unmeasured}};
    struct ledger_tenant tenants[TENANTS_MAX];
    struct str nodes[4];
    struct arena small;

    assert_int_equal(store_tenants(store, &arena, tenants), 0);
    apply((struct ledger_op){.kind = LEDGER_TENANTS, .tenants = {&t, 1}});
    assert_int_equal(store_tenants(store, &arena, tenants), 1);
    assert_true(str_eq_cstr(tenants[0].name, "team"));
    assert_int_equal(tenants[0].limit.milli, 1300);
    apply_node("measured", 1, 1000, true);
    for (int i = 0; i < 3; i++) {
        static const struct str three[] = {STR("a"), STR("b"), STR("c")};

        op.node.name = three[i];
        apply(op);
    }
    assert_int_equal(store_unmeasured(store, &arena, nodes, 4), 3);
    assert_true(str_eq_cstr(nodes[0], "a") && str_eq_cstr(nodes[2], "c"));
    assert_int_equal(store_unmeasured(store, &arena, nodes, 2), 2);
    arena_init(&small, 1);
    assert_int_equal(store_unmeasured(store, &small, nodes, 4), 0);
    assert_int_equal(store_tenants(store, &small, tenants), 0);
    arena_fini(&small);
}

static void apply__stamps_the_wall_time(void **state)
{
    struct snapshot s;

    now.wall_ms = 777;
    apply_pod("a", NULL, &demand);
    assert_int_equal(store_snapshot(store, &arena, STR_NULL, STR_NULL, &s, NULL), 0);
    assert_int_equal(s.pods[0].since_ms, 777);
    now.wall_ms = 888;
    apply_pod("a", "n1", &demand);
    assert_int_equal(store_snapshot(store, &arena, STR_NULL, STR_NULL, &s, NULL), 0);
    assert_int_equal(s.pods[0].since_ms, 888);
}

static void apply__refused_op__is_an_error_and_no_new_generation(void **state)
{
    struct ledger_op confirm = {.kind = LEDGER_CONFIRM, .name = STR("nobody")};
    uint64_t before = store_generation(store);
    struct err err;

    assert_int_equal(store_apply(store, &confirm, &err), -ERR_NOT_FOUND);
    assert_int_equal(store_generation(store), before);
    apply_pod("a", NULL, &demand);
    assert_int_equal(store_generation(store), before + 1);
}

static void node__mentioned_by_a_pod_only__is_not_had(void **state)
{
    apply_pod("a", "n1", &demand);
    assert_false(store_has_node(store, STR("n1"))); /* its object was not seen */
}

/* ---- holds ---- */

static size_t holds(const char *except, const struct pack_tentative **ret)
{
    size_t n;

    assert_int_equal(store_tentatives(store, &arena, str_of(except), ret, &n, &(struct store_promises){0}, NULL), 0);
    return n;
}

static void hold__until_its_time_is_over(void **state)
{
    const struct pack_tentative *h;

    store_tentative(store, STR("a"), STR("n1"), &demand, 3000);
    clock_manual_advance_ms(&now, 2999);
    assert_int_equal(holds("x", &h), 1);
    assert_true(str_eq_cstr(h[0].node_name, "n1"));
    assert_int_equal(h[0].demand->gpu_request_n, 1);
    assert_int_equal(h[0].demand->gpu_requests[0].milli, 300);
    clock_manual_advance_ms(&now, 1);
    assert_int_equal(holds("x", &h), 0);
}

static void hold__ones_own__does_not_count_against_oneself(void **state)
{
    const struct pack_tentative *h;

    store_tentative(store, STR("a"), STR("n1"), &demand, 3000);
    store_tentative(store, STR("b"), STR("n2"), &demand, 3000);
    assert_int_equal(holds("a", &h), 1);
    assert_true(str_eq_cstr(h[0].node_name, "n2"));
}

static void hold__again_for_the_same_pod__moves(void **state)
{
    const struct pack_tentative *h;

    store_tentative(store, STR("a"), STR("n1"), &demand, 3000);
    clock_manual_advance_ms(&now, 2000);
    store_tentative(store, STR("a"), STR("n2"), &demand, 3000);
    clock_manual_advance_ms(&now, 2000);
    assert_int_equal(holds("x", &h), 1);
    assert_true(str_eq_cstr(h[0].node_name, "n2"));
}

static void unhold__ends_it_and_does_not_mind_when_there_is_none(void **state)
{
    const struct pack_tentative *h;

    store_tentative_end(store, STR("a"));
    store_tentative(store, STR("a"), STR("n1"), &demand, 3000);
    store_tentative(store, STR("b"), STR("n1"), &demand, 3000);
    store_tentative_end(store, STR("a"));
    store_tentative_end(store, STR("a"));
    assert_int_equal(holds("x", &h), 1);
}

static void hold__more_than_there_is_room__oldest_goes(void **state)
{
    const struct pack_tentative *h;
    char node[16];

    for (int i = 0; i < STORE_TENTATIVES_MAX + 5; i++) {
        char uid[16];

        snprintf(uid, sizeof(uid), "u%d", i);
        snprintf(node, sizeof(node), "n%d", i);
        store_tentative(store, str_of(uid), str_of(node), &demand, 3000);
    }
    assert_int_equal(holds("x", &h), STORE_TENTATIVES_MAX);
    for (size_t i = 0; i < STORE_TENTATIVES_MAX; i++) {
        assert_false(str_eq_cstr(h[i].node_name, "n4"));
    }
    assert_int_equal(holds("u5", &h), STORE_TENTATIVES_MAX - 1);
}

static void holds__arena_too_small__is_an_error(void **state)
{
    struct arena small;
    const struct pack_tentative *h;
    size_t n;

    store_tentative(store, STR("a"), STR("n1"), &demand, 3000);
    arena_init(&small, 64);
    assert_int_equal(store_tentatives(store, &small, STR("x"), &h, &n, &(struct store_promises){0}, NULL), -ERR_LIMIT);
    arena_fini(&small);
    arena_init(&small, STORE_TENTATIVES_MAX * sizeof(struct pack_tentative) + 32);
    assert_int_equal(store_tentatives(store, &small, STR("x"), &h, &n, &(struct store_promises){0}, NULL), -ERR_LIMIT);
    arena_fini(&small);
}

/* ---- from many threads ---- */

static void *everything(void *arg)
{
    const char *uid = arg;
    struct arena a;

    arena_init(&a, 16 << 20);
    for (int i = 0; i < 200; i++) {
        const struct pack_tentative *h;
        struct snapshot s;
        struct view_pod key = {.uid = str_of(uid), .namespace_ = STR("d"), .demand = &demand};
        const struct policy policy = {.node_strategy = STR("binpack"), .device_strategy = STR("binpack")};
        struct pack_plans plans;
        struct store_pack_answer answer;
        size_t n;

        BUG_ON(pack_plans_init(&plans, &policy, NULL) != 0);
        apply_pod(uid, i % 2 == 0 ? NULL : "n1", &demand);
        store_tentative(store, str_of(uid), STR("n1"), &demand, 3000);
        BUG_ON(store_tentatives(store, &a, str_of(uid), &h, &n, &(struct store_promises){0}, NULL) != 0);
        BUG_ON(store_pack(store, &a, &key, &plans, h, n, &(struct str){"n1", 2}, 1, &answer, NULL) != 0);
        BUG_ON(answer.n != 1);
        BUG_ON(store_snapshot(store, &a, STR_NULL, STR_NULL, &s, NULL) != 0);
        store_totals(store, &s);
        store_tentative_end(store, str_of(uid));
        arena_reset(&a);
    }
    arena_fini(&a);
    return NULL;
}

static void threads__every_call_at_once__invariants_hold(void **state)
{
    static char uids[8][16];
    pthread_t threads[8];

    for (int i = 0; i < 8; i++) {
        snprintf(uids[i], sizeof(uids[i]), "t%d", i);
        assert_int_equal(pthread_create(&threads[i], NULL, everything, uids[i]), 0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_null(store_check(store));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, store_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(ready__only_when_both_lists_are_complete),
        T(ready__holding_off__until_the_time_has_come),
        T(closed__never_ready_again_and_the_first_reason_stays),
        T(election__not_the_one_who_decides__not_ready),
        T(awaited__and_held_off__for_gpus_alone),
        T(nodes__more_than_a_section__each_once),
        T(pods__more_than_a_section__each_once),
        T(find_pod__copies_what_decisions_see),
        T(tenants_and_unmeasured_nodes__copied),
        T(apply__stamps_the_wall_time),
        T(apply__refused_op__is_an_error_and_no_new_generation),
        T(node__mentioned_by_a_pod_only__is_not_had),
        T(hold__until_its_time_is_over),
        T(hold__ones_own__does_not_count_against_oneself),
        T(hold__again_for_the_same_pod__moves),
        T(unhold__ends_it_and_does_not_mind_when_there_is_none),
        T(hold__more_than_there_is_room__oldest_goes),
        T(holds__arena_too_small__is_an_error),
        T(threads__every_call_at_once__invariants_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
