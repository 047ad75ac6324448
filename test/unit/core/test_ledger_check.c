/* The ledger's check of itself: a number that is changed from outside is found, and said with the right sentence. */
#include "core/ledger/state.h"
#include "core/support/tested_ledger.h"
#include "support/cmocka.h"

#include <string.h>

/* Some bits of one field are turned round, which is undone by turning them round again. */
struct spoiled {
    const char *says;
    void *at;
    size_t size;
    uint8_t bits; /* of its first byte */
};

#define FIELD(x) &(x), sizeof(x)

static void turn_round(const struct spoiled *s)
{
    uint8_t bytes[8];

    assert_true(s->size <= sizeof(bytes));
    memcpy(bytes, s->at, s->size);
    bytes[0] ^= s->bits;
    memcpy(s->at, bytes, s->size);
}

static void expect_finding(const char *says)
{
    const char *why = ledger_check(fx.l);

    assert_string_equal(why != NULL ? why : "nothing", says);
}

static void expect_findings(const struct spoiled *all, size_t n)
{
    assert_null(ledger_check(fx.l));
    for (size_t i = 0; i < n; i++) {
        turn_round(&all[i]);
        expect_finding(all[i].says);
        turn_round(&all[i]);
        assert_null(ledger_check(fx.l));
    }
}

#define EXPECT_FINDINGS(all) expect_findings((all), sizeof(all) / sizeof((all)[0]))

static struct pod_entry *pod_of(const char *uid)
{
    uint32_t i = ledger_pod_lookup(fx.l, str_of(uid));

    assert_int_not_equal(i, LEDGER_NONE);
    return &fx.l->pods[i];
}

static void observe(const char *uid, struct demand d, const char *node)
{
    const struct ledger_op op = fixture_observation(uid, &d, node, NULL);

    fixture_apply(&fx, &op);
}

/* Bound past fgpu, with a record that says where on GPU-n1-1. */
static void come_by_record(const char *uid, int32_t milli)
{
    const struct demand d = SHARE_OF(milli);
    const struct assignment record = RECORD_OF(uid, "GPU-n1-1", 1, milli, 0);
    const struct ledger_op op = fixture_observation(uid, &d, "n1", &record);

    fixture_apply(&fx, &op);
}

/* n1 and n2 with two GPUs each, tenant "research" of namespace "default", an empty node n3 without GPUs; pods: "waits",
 * "held" and "bound" on n1, "plain" without GPUs on n1 and on n3. */
static int setup(void **state)
{
    const struct str namespaces[] = {STR("default")};
    const struct tenant research = {.name = STR("research"),
                                    .namespaces = namespaces,
                                    .namespace_n = 1,
                                    .gpu_permille = TENANT_UNLIMITED,
                                    .milli = TENANT_UNLIMITED,
                                    .mem_permille = TENANT_UNLIMITED,
                                    .mem_mib = TENANT_UNLIMITED};
    struct demand plain = {.dialect = "", .host = {.cpu_milli = 500, .mem_mib = 64}};
    struct demand held = SHARE_OF(300);

    empty_ledger_setup(state);
    fixture_apply(&fx, &(struct ledger_op){.kind = LEDGER_TENANTS, .tenants = {&research, 1}});
    fx.host = (struct host_capacity){.cpu_milli = 64000, .mem_mib = 512 * GIB};
    fixture_node(&fx, "n1", 2, 80 * GIB);
    fixture_node(&fx, "n2", 2, 80 * GIB);
    fixture_node(&fx, "n3", 0, 0);
    held.host = plain.host;
    observe("waits", SHARE_OF(100), NULL);
    observe("held", held, NULL);
    assert_int_equal(fixture_reserve(&fx, "held", "n1"), 0);
    come_by_record("bound", 500);
    observe("plain-1", plain, "n1");
    observe("plain-3", plain, "n3");
    return 0;
}

static void pods__one_is_not_as_it_is_kept__found(void **state)
{
    struct pod_entry *waits = pod_of("waits"), *held = pod_of("held"), *bound = pod_of("bound");
    const struct spoiled all[] = {
        {"a pod is not found by its UID", bound->text, 1, 1},
        {"a pod is attached to a node although it is pending, or is not although it is bound", FIELD(bound->state),
         LEDGER_BOUND},
        {"a pod is attached to a node although it is pending, or is not although it is bound", FIELD(waits->node), 1},
        {"a pod is not in the list of its node", FIELD(bound->node_slot), 1},
        {"a pod is not in the list of its node", FIELD(bound->node_slot), 0x40},
        {"a pod is not in the list of its node", FIELD(bound->node), 1},
        {"a pod is not in the list of its node", FIELD(bound->node), 0x40},
        {"a pending pod holds devices", FIELD(waits->charge_n), 1},
        {"a pending pod holds devices", FIELD(waits->ref_n), 1},
        {"a reservation names no devices", FIELD(held->ref_n), 1},
    };

    EXPECT_FINDINGS(all);
    assert_int_equal(fixture_name_op(&fx, LEDGER_CONFIRM, "held"), 0);
    expect_findings(&all[9], 1);
}

static void pods__numbers_of_them__are_counted_again(void **state)
{
    struct ledger *l = fx.l;
    const struct spoiled all[] = {
        {"the number of pods is wrong", FIELD(l->pod_used_n), 1},
        {"the number of pods is wrong", FIELD(l->pod_index.used_n), 1},
        {"the number of pods in some state is wrong", FIELD(l->pods_by_state[LEDGER_BOUND]), 1},
        {"the number of pods in some state is wrong", FIELD(l->pods_by_state[LEDGER_PENDING]), 1},
        {"the number of isolating pods is wrong", FIELD(l->isolating_n), 1},
    };
    const uint32_t pods_max = l->limits.pods_max;

    EXPECT_FINDINGS(all);
    l->limits.pods_max = 2;
    expect_finding("the number of pods is wrong");
    l->limits.pods_max = 3;
    assert_null(ledger_check(l));
    l->limits.pods_max = pods_max;
}

static void nodes__numbers_of_them__are_counted_again(void **state)
{
    struct ledger *l = fx.l;
    const struct spoiled all[] = {
        {"the number of nodes is wrong", FIELD(l->node_used_n), 1},
        {"the number of nodes is wrong", FIELD(l->node_index.used_n), 1},
        {"the number of nodes is wrong", FIELD(l->described_n), 1},
        {"the number of nodes is wrong", FIELD(l->unroomed_n), 1},
        {"the number of nodes is wrong", FIELD(l->nodes[0].unroomed), 1},
        {"device states are lost or owned twice", FIELD(l->state_n), 1},
        {"device states are lost or owned twice", FIELD(l->free_extent_n[1]), 1},
    };
    const uint32_t nodes_max = l->limits.nodes_max;

    EXPECT_FINDINGS(all);
    l->limits.nodes_max = 2;
    expect_finding("the number of nodes is wrong");
    l->limits.nodes_max = 3;
    assert_null(ledger_check(l));
    l->limits.nodes_max = nodes_max;
}

static void nodes__one_is_not_as_it_is_kept__found(void **state)
{
    struct ledger *l = fx.l;
    const uint32_t n1 = ledger_node_find(l, STR("n1")), n3 = ledger_node_find(l, STR("n3"));
    const struct spoiled all[] = {
        {"a node is not found by its name", FIELD(l->names[n1].n), 3},
        {"the copy of a node's name says another one", FIELD(l->briefs.briefs[n1].name_n), 3},
        {"the copy of a node's version, or of the order of its name, is another one",
         FIELD(l->briefs.briefs[n1].version), 1},
        {"the copy of a node's version, or of the order of its name, is another one",
         FIELD(l->briefs.briefs[n1].name_order), 1},
        {"a node does not own its device states", FIELD(l->rows[n1].device_n), 1},
        {"a node does not own its device states", FIELD(l->nodes[n1].extent_n), 1},
        {"a node does not own its device states", FIELD(l->rows[n1].first_device), 4},
        {"a node's sums over its pods are wrong", FIELD(l->rows[n1].plugin_managed_used), 1},
        {"a node's sums over its pods are wrong", FIELD(l->rows[n1].share_pod_n), 1},
        {"a node that is gone is among the names", FIELD(l->by_name[0]), 0x40},
        {"the numbers of two nodes are not in the order of their names", FIELD(l->by_name[1]), 1},
        {"the numbers of two nodes are not in the order of their names", FIELD(l->by_name[0]), 1},
        {"a node that must take nothing is open, or the other way round", FIELD(l->nodes[n1].shut), 1},
        {"the number of nodes that take nothing is wrong", FIELD(l->shut_n), 1},
        {"a reservation took more of a physical GPU than its host has", FIELD(l->nodes[n1].group_overbooked), 1},
        {"what other nodes leave of a physical GPU is not what they do not hold", FIELD(l->rows[n1].group_taken), 1},
    };
    const uint32_t order = l->rows[n1].name_order;
    struct node_brief *brief = &l->briefs.briefs[n1];

    EXPECT_FINDINGS(all);
    l->rows[n1].name_order = brief->name_order = l->rows[l->by_name[1]].name_order; /* "n2", the next one */
    expect_finding("the numbers of two nodes are not in the order of their names");
    l->rows[n1].name_order = brief->name_order = order;

    fixture_name_op(&fx, LEDGER_POD_GONE, "plain-3");
    assert_null(ledger_check(l));
    l->nodes[n3].described = false;
    expect_finding("an unknown node without pods is kept");
    l->nodes[n3].described = true;
}

/* Behind the last one of its list stands what was there before. */
static void nodes__list_with_a_pod_that_is_not_there__found(void **state)
{
    struct ledger *l = fx.l;
    struct node_entry *n1 = &l->nodes[ledger_node_find(l, STR("n1"))];

    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "bound"), 0);
    assert_null(ledger_check(l));
    n1->pod_n++;
    expect_finding("a node lists a pod that is elsewhere");
    n1->pod_n--;
    observe("elsewhere", SHARE_OF(500), "n2"); /* at the place of that pod */
    assert_ptr_equal(&l->pods[n1->pods[1]], pod_of("elsewhere"));
    n1->pod_n++;
    expect_finding("a node lists a pod that is elsewhere");
    n1->pod_n--;
}

static void devices__numbers__are_those_of_the_pods(void **state)
{
    struct ledger *l = fx.l;
    const uint32_t n1 = ledger_node_find(l, STR("n1"));
    struct device_state *states = &l->states[l->rows[n1].first_device];
    struct ledger_device *devices = l->nodes[n1].devices;
    const struct spoiled all[] = {
        {"the free amounts of a device are not its capacity less its charges", FIELD(states[0].milli_free), 1},
        {"the free amounts of a device are not its capacity less its charges", FIELD(states[1].mem_free_mib), 1},
        {"a device is within its capacity and said to be over-committed", FIELD(devices[0].shrunk), 1},
        {"a device is within its capacity and said to be over-committed", FIELD(devices[1].overbooked), 1},
    };
    uint32_t model;

    EXPECT_FINDINGS(all);
    model = intern_take(l->models, STR("nobody has it"));
    expect_finding("a model is kept that no device has, or is not kept");
    intern_drop(l->models, model);
    intern_drop(l->models, devices[0].model_id);
    assert_null(ledger_check(l)); /* others have it, too */
    intern_take_again(l->models, devices[0].model_id);
}

/* Another pod came past fgpu to a device that is full by then. */
static void devices__over_committed__whose_doing_is_found(void **state)
{
    struct ledger *l = fx.l;
    const uint32_t n1 = ledger_node_find(l, STR("n1"));
    struct ledger_device *d = &l->nodes[n1].devices[1];
    const struct spoiled overbooked[] = {
        {"a reservation took more of a device than was free", FIELD(d->overbooked), 1},
    };

    come_by_record("more", 900);
    assert_true(device_is_overcommitted(&l->states[l->rows[n1].first_device + 1]));
    EXPECT_FINDINGS(overbooked);
    d->shrunk = true; /* which may be */
    assert_null(ledger_check(l));
    d->shrunk = false;
}

static void cores_and_memory__sums_of_a_node__are_added_again(void **state)
{
    static const char asked[] = "what the pods of a node ask of it is not the sum of what each asks";
    static const char left[] = "cores and memory left are not what the node has less what its pods ask for";
    struct ledger *l = fx.l;
    const uint32_t node = ledger_node_find(l, STR("n1"));
    struct node_entry *n1 = &l->nodes[node];
    struct host_state *h = &l->rows[node].host;
    const struct spoiled all[] = {
        {asked, FIELD(n1->cpu_only_n), 1},
        {asked, FIELD(n1->cpu_only_uncounted_n), 1},
        {asked, FIELD(n1->cpu_only_host.cpu_milli), 1},
        {asked, FIELD(n1->cpu_only_host.mem_mib), 1},
        {asked, FIELD(n1->host_asked.cpu_milli), 1},
        {asked, FIELD(n1->host_asked.mem_mib), 1},
        {left, FIELD(h->cpu_cap_milli), 1},
        {left, FIELD(h->cpu_free_milli), 1},
        {left, FIELD(h->mem_cap_mib), 1},
        {left, FIELD(h->mem_free_mib), 1},
    };

    EXPECT_FINDINGS(all);
}

static void pods_without_gpus__table__found(void **state)
{
    struct cpu_only_pods *t = &fx.l->cpu_only;
    struct node_entry *n1 = &fx.l->nodes[ledger_node_find(fx.l, STR("n1"))];
    struct cpu_only_pod *p = t->slots;

    while (p->node != ledger_node_find(fx.l, STR("n1"))) {
        p++;
    }
    {
        const struct spoiled all[] = {
            {"a pod without GPUs is on a node that is not known", FIELD(p->node), 0x40},
            {"the number of pods without GPUs is wrong", FIELD(t->used_n), 1},
        };

        EXPECT_FINDINGS(all);
    }
    p->id = ~p->id; /* at a slot where nobody looks for that */
    expect_finding("a pod without GPUs is not found by its UID");
    p->id = ~p->id;

    assert_true(p->counted);
    p->counted = false;
    n1->cpu_only_uncounted_n++;
    expect_finding("a pod without GPUs on a node with GPUs is not in the demand histogram");
    fx.l->pods_synced = false; /* they are counted when all is known */
    assert_null(ledger_check(fx.l));
    fx.l->pods_synced = true;
    p->counted = true;
    n1->cpu_only_uncounted_n--;
}

static void tenants__sums__are_added_again(void **state)
{
    struct tenancy *t = &fx.l->tenancy;
    struct pod_entry *bound = pod_of("bound");
    struct tenancy_space *s = &t->spaces[bound->space];
    const struct spoiled all[] = {
        {"a pod is counted in another namespace", FIELD(bound->space), 0x40},
        {"what a pod is counted with is not what it is charged", FIELD(bound->held.milli), 1},
        {"what a pod is counted with is not what it is charged", FIELD(bound->held.mem_mib), 1},
        {"the number of pods of a namespace is wrong", FIELD(s->pod_n), 1},
        {"the sum of a namespace is not that of its pods", FIELD(s->holder_n), 1},
        {"the sum of a namespace is not that of its pods", FIELD(s->held.milli), 1},
        {"the sum of a namespace is not that of its pods", FIELD(s->held.mem_mib), 1},
        {"a namespace is counted for a tenant that does not name it", FIELD(s->tenant), 1},
        {"the sum of what the nodes offer is wrong", FIELD(t->total.milli), 1},
        {"the sum of what the nodes offer is wrong", FIELD(t->total.mem_mib), 1},
        {"the sum of a tenant is not that of its namespaces", FIELD(t->tenants[0].holder_n), 1},
        {"the sum of a tenant is not that of its namespaces", FIELD(t->tenants[0].held.milli), 1},
        {"the sum of a tenant is not that of its namespaces", FIELD(t->tenants[0].held.mem_mib), 1},
    };

    EXPECT_FINDINGS(all);
}

/* A pod for which there is no room, on a node of which nothing was known. */
static void turned_away__nobody_was__no_node_is_shut_for_it(void **state)
{
    struct ledger *l = fx.l;
    const uint32_t n1 = ledger_node_find(l, STR("n1"));

    l->nodes[n1].shut = true;
    l->rows[n1].flags |= NODE_SHUT;
    l->shut_n = 1;
    expect_finding("a node takes nothing for the sake of pods that were turned away, and there are none");
    l->turned_away.before_n = 1;
    assert_null(ledger_check(l));
    l->turned_away.before_n = 0;
    l->turned_away.now_n = 1;
    assert_null(ledger_check(l));
    l->turned_away.now_n = 0;
    l->nodes[n1].shut = false;
    l->rows[n1].flags &= (uint8_t)~NODE_SHUT;
    l->shut_n = 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, ledger_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pods__one_is_not_as_it_is_kept__found),
        TEST(pods__numbers_of_them__are_counted_again),
        TEST(nodes__numbers_of_them__are_counted_again),
        TEST(nodes__one_is_not_as_it_is_kept__found),
        TEST(nodes__list_with_a_pod_that_is_not_there__found),
        TEST(devices__numbers__are_those_of_the_pods),
        TEST(devices__over_committed__whose_doing_is_found),
        TEST(cores_and_memory__sums_of_a_node__are_added_again),
        TEST(pods_without_gpus__table__found),
        TEST(tenants__sums__are_added_again),
        TEST(turned_away__nobody_was__no_node_is_shut_for_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
