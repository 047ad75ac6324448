/* Each thing that a node is described with, changed alone: it is shown from then on, the audit tells it from what was
 * known, pods that wait are told where it may be room for them, and what is bound there is handed out accordingly. */
#include "base/compiler.h"
#include "core/ledger/audit.h"
#include "core/support/tested_ledger.h"
#include "support/cmocka.h"

#include <string.h>

/* A description that its parts do not leave. */
static struct facts {
    struct device devices[2];
    struct inventory inventory;
    struct ledger_op op;
} facts;

static void facts_begin(void)
{
    facts = (struct facts){.inventory = {.source = INVENTORY_ANNOTATION, .device_n = 2}};
    for (int i = 0; i < 2; i++) {
        facts.devices[i] = (struct device){.uuid = i == 0 ? STR("GPU-0") : STR("GPU-1"),
                                           .index = i,
                                           .minor = i,
                                           .model = STR("A100"),
                                           .mem_mib = 80 * GIB,
                                           .slot_n = 16,
                                           .numa = -1,
                                           .healthy = true,
                                           .gpu_index = -1,
                                           .start = -1};
    }
    facts.inventory.devices = facts.devices;
    facts.op = fixture_description("n", &facts.inventory);
    facts.op.node.host = (struct host_capacity){.cpu_milli = 8000, .mem_mib = 1000};
}

static void expect_device_shown(const struct snapshot_device *d, const struct device *of)
{
    assert_true(str_eq(d->uuid, of->uuid));
    assert_true(str_eq(d->model, of->model));
    assert_int_equal(d->index, of->index);
    assert_int_equal(d->mem_base_mib, of->mem_mib);
    assert_int_equal(d->slot_cap, of->slot_n);
    assert_int_equal(d->healthy, of->healthy);
    assert_int_equal(d->profile, of->profile);
    assert_int_equal(d->slice, of->slice);
}

/* A factor of 0 is that of all nodes. */
static int32_t factor(int32_t milli)
{
    return milli > 0 ? milli : 1000;
}

static void expect_shown(void)
{
    const struct snapshot_node *n = fixture_state(&fx, "n");
    const struct ledger_node_fact *f = &facts.op.node;
    const struct inventory *inv = &facts.inventory;

    assert_true(str_eq(n->uid, f->uid));
    assert_int_equal(n->schedulable, f->schedulable);
    assert_int_equal(n->closed, f->closed);
    assert_ptr_equal(n->note, f->note);
    assert_int_equal(n->source, inv->source);
    assert_int_equal(n->elsewhere, inv->elsewhere);
    assert_int_equal(n->unmeasured, inv->unmeasured);
    assert_int_equal(n->plugin_managed_cap, inv->plugin_managed_n);
    assert_int_equal(n->plugin_managed_per_gpu, inv->plugin_managed_per_gpu > 1 ? inv->plugin_managed_per_gpu : 1);
    assert_int_equal(n->plugin_managed_one, inv->plugin_managed_one);
    assert_int_equal(n->overcommit_milli, factor(inv->overcommit_milli));
    assert_int_equal(n->overcommit_mem_milli, factor(inv->overcommit_mem_milli));
    assert_int_equal(n->memory_only, inv->memory_only);
    assert_int_equal(n->qos, inv->qos);
    assert_int_equal(n->lending, inv->lending);
    assert_int_equal(n->hand_off, inv->hand_off);
    assert_int_equal(n->hand_off_unfit, inv->hand_off_unfit);
    assert_int_equal(n->vendor, inv->vendor);
    assert_int_equal(n->needs_agent, inv->needs_agent);
    assert_int_equal(n->mig_changing, inv->mig_changing);
    assert_int_equal(n->mig_single, inv->mig_single);
    assert_true(str_eq(n->host_group, f->host_group));
    assert_int_equal(n->host_gpu_mem_mib, f->host_gpu_mem_mib);
    assert_int_equal(n->host.cpu_cap_milli, f->host.cpu_milli - f->host_taken.cpu_milli);
    assert_int_equal(n->host.mem_cap_mib, f->host.mem_mib - f->host_taken.mem_mib);
    assert_int_equal(n->device_n, inv->device_n);
    for (size_t i = 0; i < n->device_n; i++) {
        expect_device_shown(&n->devices[i], &inv->devices[i]);
    }
}

/* ---- the table ---- */

#define FIELD(x) &(x), sizeof(x)

/* `at` gets the bytes of `value`, which is there as long as the table. `room`: pods that wait are told. */
struct change {
    const char *name;
    void *at;
    size_t size;
    const void *value;
    enum ledger_drift drift;
    bool room;
};

static bool room_is_told(const struct ledger_op *op)
{
    const uint64_t before = ledger_capacity_generation(fx.l);

    fixture_apply(&fx, op);
    return ledger_capacity_generation(fx.l) > before;
}

static void described__one_thing_is_another__shown_audited_and_told(void **state)
{
    struct ledger_node_fact *f = &facts.op.node;
    struct inventory *inv = &facts.inventory;
    struct device *d = &facts.devices[1];
    static const bool yes = true, no;
    static const int32_t cores = 9000, two = 2, three = 3, eight = 8, factor_of_2 = 2000, part = 500;
    static const int64_t less = 40 * GIB, more = 90 * GIB, group_mem = 160 * GIB;
    static const uint64_t bits = 6;
    static const size_t one = 1;
    static const struct str text = STR("another");
    static const char *const note = "a note";
    static const enum qos best_effort = QOS_BEST_EFFORT;
    static const enum lending forbid = LEND_FORBID;
    static const enum hand_off cdi = HAND_OFF_NVIDIA_CDI;
    static const enum gpu_vendor amd = VENDOR_AMD;
    static const enum memory_only_mode free_compute = MEMORY_ONLY_FREE;
    static const enum inventory_source gfd = INVENTORY_GFD;
    static const struct taint taint = {.key = STR("k"), .effect = TAINT_NO_SCHEDULE};
    static const struct taint *const taints = &taint;
    const struct change all[] = {
        {"uid", FIELD(f->uid), &text, DRIFT_NODE_DETAILS, false},
        {"schedulable", FIELD(f->schedulable), &no, DRIFT_NODE_DETAILS, false},
        {"closed", FIELD(f->closed), &yes, DRIFT_NODE_DETAILS, false},
        {"rules", FIELD(f->rules), &bits, DRIFT_NODE_DETAILS, true},
        {"pools", FIELD(f->pools), &bits, DRIFT_NODE_DETAILS, false},
        {"layout of pools", FIELD(f->pools_layout), &bits, DRIFT_NODE_DETAILS, false},
        {"note", FIELD(f->note), &note, DRIFT_NODE_DETAILS, false},
        {"cores", FIELD(f->host.cpu_milli), &cores, DRIFT_NODE_DETAILS, false},
        {"memory", FIELD(f->host.mem_mib), &cores, DRIFT_NODE_DETAILS, false},
        {"host group", FIELD(f->host_group), &text, DRIFT_NODE_DETAILS, false},
        {"memory of the host's GPUs", FIELD(f->host_gpu_mem_mib), &group_mem, DRIFT_NODE_DETAILS, false},
        {"source", FIELD(inv->source), &gfd, DRIFT_NODE_DETAILS, false},
        {"elsewhere", FIELD(inv->elsewhere), &yes, DRIFT_NODE_DETAILS, false},
        {"unmeasured", FIELD(inv->unmeasured), &yes, DRIFT_NODE_DETAILS, false},
        {"GPUs of the plugin", FIELD(inv->plugin_managed_n), &two, DRIFT_NODE_INVENTORY, true},
        {"replicas", FIELD(inv->plugin_managed_per_gpu), &three, DRIFT_NODE_INVENTORY, true},
        {"two replicas", FIELD(inv->plugin_managed_per_gpu), &two, DRIFT_NODE_INVENTORY, true},
        {"names of the plugin", FIELD(inv->plugin_managed_names), &bits, DRIFT_NODE_INVENTORY, true},
        {"one replica a container", FIELD(inv->plugin_managed_one), &yes, DRIFT_NODE_INVENTORY, true},
        {"factor of compute", FIELD(inv->overcommit_milli), &factor_of_2, DRIFT_NODE_INVENTORY, true},
        {"factor of memory", FIELD(inv->overcommit_mem_milli), &factor_of_2, DRIFT_NODE_INVENTORY, true},
        {"memory alone", FIELD(inv->memory_only), &free_compute, DRIFT_NODE_INVENTORY, true},
        {"quality of service", FIELD(inv->qos), &best_effort, DRIFT_NODE_INVENTORY, false},
        {"lending", FIELD(inv->lending), &forbid, DRIFT_NODE_INVENTORY, false},
        {"hand-off", FIELD(inv->hand_off), &cdi, DRIFT_NODE_INVENTORY, false},
        {"unfit hand-off", FIELD(inv->hand_off_unfit), &yes, DRIFT_NODE_INVENTORY, false},
        {"vendor", FIELD(inv->vendor), &amd, DRIFT_NODE_INVENTORY, false},
        {"agent", FIELD(inv->needs_agent), &yes, DRIFT_NODE_INVENTORY, false},
        {"MIG changes", FIELD(inv->mig_changing), &yes, DRIFT_NODE_INVENTORY, false},
        {"MIG single", FIELD(inv->mig_single), &yes, DRIFT_NODE_INVENTORY, true},
        {"number of devices", FIELD(inv->device_n), &one, DRIFT_NODE_INVENTORY, false},
        {"UUID", FIELD(d->uuid), &text, DRIFT_NODE_INVENTORY, true},
        {"index", FIELD(d->index), &three, DRIFT_NODE_INVENTORY, true},
        {"model", FIELD(d->model), &text, DRIFT_NODE_INVENTORY, true},
        {"less memory", FIELD(d->mem_mib), &less, DRIFT_NODE_INVENTORY, true},
        {"more memory", FIELD(d->mem_mib), &more, DRIFT_NODE_INVENTORY, true},
        {"sharers", FIELD(d->slot_n), &eight, DRIFT_NODE_INVENTORY, true},
        {"health", FIELD(d->healthy), &no, DRIFT_NODE_INVENTORY, false},
        {"slice", FIELD(d->slice), &yes, DRIFT_NODE_INVENTORY, true},
        {"part", FIELD(d->part_milli), &part, DRIFT_NODE_INVENTORY, true},
    };
    struct ledger *scratch = ledger_audit_scratch(fx.l);
    uint64_t touched;

    facts_begin();
    assert_true(room_is_told(&facts.op));
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        unsigned char before[32];
        bool told;

        assert_true(all[i].size <= sizeof(before));
        memcpy(before, all[i].at, all[i].size);
        memcpy(all[i].at, all[i].value, all[i].size);
        if (ledger_drift(fx.l, scratch, &facts.op, &touched) != all[i].drift) {
            fail_msg("%s: the audit says %s", all[i].name,
                     ledger_drift_name(ledger_drift(fx.l, scratch, &facts.op, &touched)));
        }
        told = room_is_told(&facts.op);
        if (told != all[i].room) {
            fail_msg("%s: pods that wait are %stold", all[i].name, told ? "" : "not ");
        }
        assert_int_equal(ledger_drift(fx.l, scratch, &facts.op, &touched), DRIFT_NONE);
        expect_shown();
        memcpy(all[i].at, before, all[i].size);
        fixture_apply(&fx, &facts.op);
        assert_int_equal(ledger_drift(fx.l, scratch, &facts.op, &touched), DRIFT_NONE);
        expect_shown();
    }
    f->taints = taints;
    f->taint_n = 1;
    assert_int_equal(ledger_drift(fx.l, scratch, &facts.op, &touched), DRIFT_NODE_DETAILS);
    ledger_free(scratch);
}

/* Who has counted what GPUs are worth counts again where memory alone takes another part of them. */
static void described__memory_alone_takes_another_part__the_gpus_are_others(void **state)
{
    uint64_t before;

    facts_begin();
    fixture_apply(&fx, &facts.op);
    before = ledger_cluster_view(fx.l).gpus_version;
    fixture_apply(&fx, &facts.op);
    assert_int_equal(ledger_cluster_view(fx.l).gpus_version, before);
    facts.inventory.memory_only = MEMORY_ONLY_FREE;
    fixture_apply(&fx, &facts.op);
    assert_int_not_equal(ledger_cluster_view(fx.l).gpus_version, before);
}

/* Its object is gone, and a pod keeps it: nothing that was said of it holds any more. */
static void gone__node_with_a_pod__nothing_that_it_was_described_with(void **state)
{
    const struct demand d = {.dialect = "native", .plugin_managed_n = 1, .plugin_managed_most = 1};
    const struct snapshot_node *n;
    struct inventory *inv = &facts.inventory;

    facts_begin();
    facts.op.node.closed = true;
    facts.op.node.note = "a note";
    inv->elsewhere = inv->unmeasured = inv->plugin_managed_one = inv->hand_off_unfit = true;
    inv->needs_agent = inv->mig_changing = inv->mig_single = true;
    inv->plugin_managed_n = 8;
    inv->plugin_managed_per_gpu = 4;
    inv->plugin_managed_names = 3;
    fixture_apply(&fx, &facts.op);
    assert_int_equal(fixture_pod(&fx, "stays", &d, "n", NULL), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_NODE_GONE, "n"), 0);
    assert_null(ledger_check(fx.l));
    n = fixture_state(&fx, "n");
    assert_false(n->described || n->schedulable || n->closed || n->elsewhere || n->unmeasured);
    assert_false(n->plugin_managed_one || n->hand_off_unfit || n->needs_agent || n->mig_changing || n->mig_single);
    assert_null(n->note);
    assert_int_equal(n->source, INVENTORY_NONE);
    assert_int_equal(n->plugin_managed_cap, 0);
    assert_int_equal(n->plugin_managed_used, 1);
    assert_int_equal(n->plugin_managed_per_gpu, 1);
    assert_int_equal(n->device_n, 0);
    assert_true(n->host.cpu_cap_milli == 0 && n->host.cpu_free_milli == 0);
    assert_true(n->host.mem_cap_mib == 0 && n->host.mem_free_mib == 0);
    assert_int_equal(ledger_cluster_view(fx.l).nodes[0].plugin_managed_names, 0);
}

/* ---- what the Binding says of it ---- */

static void described__settings_of_the_node__go_into_the_record(void **state)
{
    struct assignment record;
    struct demand d = SHARE_OF(100);

    facts_begin();
    facts.inventory.lending = LEND_FORBID;
    facts.inventory.hand_off = HAND_OFF_NVIDIA_CDI;
    facts.inventory.vendor = VENDOR_AMD;
    facts.inventory.qos = QOS_BEST_EFFORT;
    facts.inventory.needs_agent = true;
    fixture_apply(&fx, &facts.op);
    assert_int_equal(fixture_pod(&fx, "p", &d, NULL, NULL), 0);
    assert_int_equal(fixture_reserve(&fx, "p", "n"), 0);
    assert_int_equal(ledger_assignment(fx.l, STR("p"), &fx.arena, &record, NULL), 0);
    assert_int_equal(record.lending, LEND_FORBID);
    assert_int_equal(record.hand_off, HAND_OFF_NVIDIA_CDI);
    assert_int_equal(record.vendor, VENDOR_AMD);
    assert_int_equal(record.qos, QOS_BEST_EFFORT);
    assert_true(record.needs_agent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EMPTY_LEDGER_TEST(described__one_thing_is_another__shown_audited_and_told),
        EMPTY_LEDGER_TEST(described__memory_alone_takes_another_part__the_gpus_are_others),
        EMPTY_LEDGER_TEST(gone__node_with_a_pod__nothing_that_it_was_described_with),
        EMPTY_LEDGER_TEST(described__settings_of_the_node__go_into_the_record),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
