#include "extender/support/tested_store.h"

#include "extender/policy_set.h"
#include "support/cmocka.h"

struct store *store;
struct arena arena;

void store_open(const struct clock *clock)
{
    const struct ledger_limits limits = {{1, 2}, 1000, 1000};

    store = store_new(&limits, clock);
    arena_init(&arena, 64 << 20);
}

void store_check_and_free(void)
{
    assert_null(store_check(store));
    store_free(store);
    arena_fini(&arena);
}

int store_teardown(void **state)
{
    (void)state;
    store_check_and_free();
    return 0;
}

void apply(struct ledger_op op)
{
    assert_int_equal(store_apply(store, &op, NULL), 0);
}

void apply_bracket(enum ledger_op_kind kind)
{
    apply((struct ledger_op){.kind = kind});
}

void apply_empty_lists(void)
{
    apply_bracket(LEDGER_NODES_BEGIN);
    apply_bracket(LEDGER_NODES_END);
    apply_bracket(LEDGER_PODS_BEGIN);
    apply_bracket(LEDGER_PODS_END);
}

void apply_node(const char *name, int gpu_n, int64_t mem_mib, bool schedulable)
{
    struct device devices[DEVICES_PER_NODE_MAX];
    const struct inventory inventory = {.source = INVENTORY_ANNOTATION, .devices = devices, .device_n = (size_t)gpu_n};

    for (int i = 0; i < gpu_n; i++) {
        devices[i] =
            (struct device){.index = i, .model = STR("A100"), .mem_mib = mem_mib, .slot_n = 16, .healthy = true};
    }
    apply((struct ledger_op){.kind = LEDGER_NODE_DESCRIBED,
                             .node = {.name = str_of(name), .schedulable = schedulable, .inventory = &inventory}});
}

void apply_pod(const char *uid, const char *node, const struct demand *d)
{
    apply((struct ledger_op){
        .kind = LEDGER_POD_OBSERVED,
        .pod = {
            .uid = str_of(uid), .namespace_ = STR("d"), .name = str_of(uid), .node_name = str_of(node), .demand = d}});
}

void ingest_two_gpus(const struct ingest *by, struct str name)
{
    const struct kv annotation = {STR("fgpu.io/gpus"), STR(TWO_GPUS)};
    const struct node n = {.name = name, .uid = name, .annotations = {&annotation, 1}};

    assert_int_equal(ingest_node(by, &arena, &n, NULL), 0);
}

int64_t milli_charged(void)
{
    struct snapshot s;

    store_totals(store, &s);
    return s.milli_charged;
}

const struct rules *rules_of(const struct policy *policy, uint64_t generation)
{
    const struct ingest facts = {.store = store, .policy = policy};
    const struct rules *r;

    assert_int_equal(rules_new(&facts, generation, NULL, NULL, &r, NULL), 0);
    return r;
}
