/* Ops that were read: every bound by itself, on both sides, and wherever in an op it is. What a trace or a state file
 * says goes into a ledger as it stands. */
#include "extender/op_json_internal.h"

#include "base/compiler.h"
#include "base/strbuf.h"
#include "model/mig.h"
#include "support/cmocka.h"

#include <string.h>

/* Does the check hold of `base_` with another value in one of its fields? */
#define SAYS(check_, base_, field_, value_, right_)                                                                    \
    do {                                                                                                               \
        __typeof__(base_) x_ = (base_);                                                                                \
        x_.field_ = (value_);                                                                                          \
        if ((check_(&x_) == NULL) != (right_)) {                                                                       \
            fail_msg("%s = %s is %s", #field_, #value_, (right_) ? "refused" : "taken");                               \
        }                                                                                                              \
    } while (0)
#define TAKES(check_, base_, field_, value_) SAYS(check_, base_, field_, value_, true)
#define REFUSES(check_, base_, field_, value_) SAYS(check_, base_, field_, value_, false)

static char text[300];

static struct str text_of(size_t n)
{
    return (struct str){text, n};
}

static void request__bounds(void **state)
{
    struct gpu_request r = {.container = text_of(5), .count = 1, .milli = 500, .mem_mib = 1024, .phases = 1};

    assert_null(op_check_request(&r));
    TAKES(op_check_request, r, kind, (enum gpu_request_kind)(GPU_REQUEST_KIND__MAX - 1));
    REFUSES(op_check_request, r, kind, GPU_REQUEST_KIND__MAX);
    REFUSES(op_check_request, r, count, 0);
    TAKES(op_check_request, r, count, 2);
    TAKES(op_check_request, r, milli, 0);
    REFUSES(op_check_request, r, milli, -1);
    TAKES(op_check_request, r, milli, DEVICE_MILLI);
    REFUSES(op_check_request, r, milli, DEVICE_MILLI + 1);
    TAKES(op_check_request, r, mem_mib, 0);
    REFUSES(op_check_request, r, mem_mib, -1);
    TAKES(op_check_request, r, mem_mib, DEMAND_MEM_MIB_MAX);
    REFUSES(op_check_request, r, mem_mib, DEMAND_MEM_MIB_MAX + 1);
    REFUSES(op_check_request, r, phases, 0);
    TAKES(op_check_request, r, phases, UINT64_C(1) << 63);
    TAKES(op_check_request, r, profile, MIG_PROFILE(1, 5));
    REFUSES(op_check_request, r, profile, MIG_PROFILE(0, 5));
    REFUSES(op_check_request, r, profile, DEVICE_IN_MIG_MODE);
    TAKES(op_check_request, r, container, text_of(253));
    REFUSES(op_check_request, r, container, text_of(254));
}

static void demand__bounds(void **state)
{
    struct demand d = {.dialect = "native"}, two = {.dialect = "native", .gpu_request_n = 2},
                  plugin = {.dialect = "native", .plugin_managed_n = 3, .plugin_managed_most = 2};

    assert_null(op_check_demand(&d));
    assert_null(op_check_demand(&two));
    assert_null(op_check_demand(&plugin));
    TAKES(op_check_demand, d, defect, (enum demand_defect)(DEMAND_DEFECT__MAX - 1));
    REFUSES(op_check_demand, d, defect, DEMAND_DEFECT__MAX);
    REFUSES(op_check_demand, two, defect, DEMAND_FRACTION); /* it asks for nothing then */
    REFUSES(op_check_demand, plugin, defect, DEMAND_FRACTION);
    REFUSES(op_check_demand, plugin, gpu_request_n, 1); /* of both */
    TAKES(op_check_demand, d, source, DEMAND_FROM_ANNOTATIONS);
    REFUSES(op_check_demand, d, source, DEMAND_FROM_ANNOTATIONS + 1);
    TAKES(op_check_demand, d, qos, (enum qos)(QOS__MAX - 1));
    REFUSES(op_check_demand, d, qos, QOS__MAX);
    REFUSES(op_check_demand, d, plugin_managed_n, -1);
    TAKES(op_check_demand, plugin, plugin_managed_n, DEMAND_PLUGIN_MANAGED_MAX);
    REFUSES(op_check_demand, plugin, plugin_managed_n, DEMAND_PLUGIN_MANAGED_MAX + 1);
    TAKES(op_check_demand, plugin, plugin_managed_most, 0);
    REFUSES(op_check_demand, plugin, plugin_managed_most, -1);
    TAKES(op_check_demand, plugin, plugin_managed_most, 3);
    REFUSES(op_check_demand, plugin, plugin_managed_most, 4);
    TAKES(op_check_demand, d, host.cpu_milli, 1);
    REFUSES(op_check_demand, d, host.cpu_milli, -1);
    TAKES(op_check_demand, d, host.mem_mib, 1);
    REFUSES(op_check_demand, d, host.mem_mib, -1);
    TAKES(op_check_demand, d, gpu_request_n, DEMAND_GPU_REQUESTS_MAX);
    REFUSES(op_check_demand, d, gpu_request_n, DEMAND_GPU_REQUESTS_MAX + 1);
    TAKES(op_check_demand, d, model_n, DEMAND_PATTERNS_MAX);
    REFUSES(op_check_demand, d, model_n, DEMAND_PATTERNS_MAX + 1);
    TAKES(op_check_demand, d, uuid_n, DEMAND_PATTERNS_MAX);
    REFUSES(op_check_demand, d, uuid_n, DEMAND_PATTERNS_MAX + 1);
    TAKES(op_check_demand, d, isolate_n, DEMAND_ISOLATE_MAX);
    REFUSES(op_check_demand, d, isolate_n, DEMAND_ISOLATE_MAX + 1);
}

static void device__bounds(void **state)
{
    struct device d = {.index = 1, .mem_mib = 1024, .slot_n = 16};

    assert_null(op_check_device(&d));
    TAKES(op_check_device, d, index, 0);
    REFUSES(op_check_device, d, index, -1);
    TAKES(op_check_device, d, mem_mib, 0);
    REFUSES(op_check_device, d, mem_mib, -1);
    TAKES(op_check_device, d, mem_mib, DEMAND_MEM_MIB_MAX);
    REFUSES(op_check_device, d, mem_mib, DEMAND_MEM_MIB_MAX + 1);
    TAKES(op_check_device, d, slot_n, 0);
    REFUSES(op_check_device, d, slot_n, -1);
    TAKES(op_check_device, d, profile, DEVICE_IN_MIG_MODE);
    TAKES(op_check_device, d, profile, MIG_PROFILE(7, 80));
    REFUSES(op_check_device, d, profile, MIG_PROFILE(0, 80));
    TAKES(op_check_device, d, start, -1);
    REFUSES(op_check_device, d, start, -2);
    TAKES(op_check_device, d, start, 7);
    REFUSES(op_check_device, d, start, 8);
    TAKES(op_check_device, d, part_milli, DEVICE_MILLI - 1);
    REFUSES(op_check_device, d, part_milli, DEVICE_MILLI);
    REFUSES(op_check_device, d, part_milli, -1);
}

static void inventory__bounds(void **state)
{
    struct device devices[DEVICES_PER_NODE_MAX + 1] = {{.index = 0}};
    struct inventory i = {.devices = devices, .device_n = 3};

    for (int32_t k = 0; k < (int32_t)ARRAY_LEN(devices); k++) {
        devices[k].index = 2 * k;
    }
    assert_null(op_check_inventory(&i));
    TAKES(op_check_inventory, i, device_n, 0);
    TAKES(op_check_inventory, i, device_n, DEVICES_PER_NODE_MAX);
    REFUSES(op_check_inventory, i, device_n, DEVICES_PER_NODE_MAX + 1);
    TAKES(op_check_inventory, i, source, (enum inventory_source)(INVENTORY_SOURCE__MAX - 1));
    REFUSES(op_check_inventory, i, source, INVENTORY_SOURCE__MAX);
    REFUSES(op_check_inventory, i, plugin_managed_n, -1);
    TAKES(op_check_inventory, i, plugin_managed_n, DEMAND_PLUGIN_MANAGED_MAX);
    REFUSES(op_check_inventory, i, plugin_managed_n, DEMAND_PLUGIN_MANAGED_MAX + 1);
    TAKES(op_check_inventory, i, plugin_managed_per_gpu, 4);
    REFUSES(op_check_inventory, i, plugin_managed_per_gpu, -1);
    TAKES(op_check_inventory, i, memory_only, (enum memory_only_mode)(MEMORY_ONLY__MAX - 1));
    REFUSES(op_check_inventory, i, memory_only, MEMORY_ONLY__MAX);
    REFUSES(op_check_inventory, i, qos, QOS__MAX);
    REFUSES(op_check_inventory, i, lending, LEND__MAX);
    REFUSES(op_check_inventory, i, hand_off, HAND_OFF__MAX);
    REFUSES(op_check_inventory, i, vendor, VENDOR__MAX);
    devices[2].index = devices[1].index; /* each once, in order; of the last one too */
    assert_non_null(op_check_inventory(&i));
    TAKES(op_check_inventory, i, device_n, 2);
    devices[2].index = devices[1].index - 1;
    assert_non_null(op_check_inventory(&i));
    devices[0].index = devices[1].index + 1;
    REFUSES(op_check_inventory, i, device_n, 2);
    TAKES(op_check_inventory, i, device_n, 1);
}

/* 0: none of its own; else more than there is, not less. */
static void inventory__factors(void **state)
{
    static const struct {
        int32_t milli;
        bool right;
    } rows[] = {{-1, false},  {0, true},      {1, false},
                {999, false}, {1000, true},   {ASSIGNMENT_MILLI_MAX, true},
                {1001, true}, {-1000, false}, {ASSIGNMENT_MILLI_MAX + 1, false}};
    struct inventory i = {.device_n = 0};

    for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
        SAYS(op_check_inventory, i, overcommit_milli, rows[k].milli, rows[k].right);
        SAYS(op_check_inventory, i, overcommit_mem_milli, rows[k].milli, rows[k].right);
    }
}

static void record__bounds(void **state)
{
    struct assigned_device d = {.uuid = text_of(40), .index = 1, .milli = 500, .mem_mib = 1024};
    struct assigned_container c = {.name = text_of(5)};
    struct assignment as = {.id = text_of(36)};

    assert_null(op_check_assigned_device(&d));
    TAKES(op_check_assigned_device, d, index, 0);
    REFUSES(op_check_assigned_device, d, index, -1);
    TAKES(op_check_assigned_device, d, milli, 0);
    REFUSES(op_check_assigned_device, d, milli, -1);
    TAKES(op_check_assigned_device, d, milli, ASSIGNMENT_MILLI_MAX);
    REFUSES(op_check_assigned_device, d, milli, ASSIGNMENT_MILLI_MAX + 1);
    TAKES(op_check_assigned_device, d, mem_mib, 0);
    REFUSES(op_check_assigned_device, d, mem_mib, -1);
    TAKES(op_check_assigned_device, d, mem_mib, ASSIGNMENT_MEM_MIB_MAX);
    REFUSES(op_check_assigned_device, d, mem_mib, (int64_t)ASSIGNMENT_MEM_MIB_MAX + 1);
    TAKES(op_check_assigned_device, d, profile, MIG_PROFILE(1, 5));
    REFUSES(op_check_assigned_device, d, profile, MIG_PROFILE(0, 5));
    REFUSES(op_check_assigned_device, d, profile, DEVICE_IN_MIG_MODE);
    TAKES(op_check_assigned_device, d, part_milli, DEVICE_MILLI - 1);
    REFUSES(op_check_assigned_device, d, part_milli, DEVICE_MILLI);
    REFUSES(op_check_assigned_device, d, part_milli, -1);
    TAKES(op_check_assigned_device, d, uuid, text_of(ASSIGNMENT_UUID_BYTES_MAX));
    REFUSES(op_check_assigned_device, d, uuid, text_of(ASSIGNMENT_UUID_BYTES_MAX + 1));
    assert_null(op_check_assigned(&c));
    TAKES(op_check_assigned, c, device_n, DEVICES_PER_NODE_MAX);
    REFUSES(op_check_assigned, c, device_n, DEVICES_PER_NODE_MAX + 1);
    TAKES(op_check_assigned, c, name, text_of(ASSIGNMENT_NAME_BYTES_MAX));
    REFUSES(op_check_assigned, c, name, text_of(ASSIGNMENT_NAME_BYTES_MAX + 1));
    assert_null(op_check_assignment(&as));
    TAKES(op_check_assignment, as, container_n, ASSIGNMENT_CONTAINERS_MAX);
    REFUSES(op_check_assignment, as, container_n, ASSIGNMENT_CONTAINERS_MAX + 1);
    REFUSES(op_check_assignment, as, qos, QOS__MAX);
    REFUSES(op_check_assignment, as, lending, LEND__MAX);
    REFUSES(op_check_assignment, as, hand_off, HAND_OFF__MAX);
    REFUSES(op_check_assignment, as, vendor, VENDOR__MAX);
    TAKES(op_check_assignment, as, id, text_of(ASSIGNMENT_ID_BYTES_MAX));
    REFUSES(op_check_assignment, as, id, text_of(ASSIGNMENT_ID_BYTES_MAX + 1));
}

static void facts__bounds(void **state)
{
    static const struct demand none = {.dialect = ""};
    static const struct inventory nothing;
    struct ledger_pod_fact p = {.uid = text_of(1), .demand = &none};
    struct ledger_node_fact n = {.name = text_of(1), .inventory = &nothing};
    struct ledger_op op = {.kind = LEDGER_TENANTS};

    assert_null(op_check_pod(&p));
    REFUSES(op_check_pod, p, demand, NULL);
    REFUSES(op_check_pod, p, uid, STR_NULL);
    TAKES(op_check_pod, p, record_trust, RECORD_VERIFIED);
    REFUSES(op_check_pod, p, record_trust, RECORD_VERIFIED + 1);
    TAKES(op_check_pod, p, known_n, DEVICES_PER_NODE_MAX);
    REFUSES(op_check_pod, p, known_n, DEVICES_PER_NODE_MAX + 1);
    assert_null(op_check_node(&n));
    REFUSES(op_check_node, n, name, STR_NULL);
    REFUSES(op_check_node, n, inventory, NULL);
    TAKES(op_check_node, n, host.cpu_milli, 1);
    REFUSES(op_check_node, n, host.cpu_milli, -1);
    REFUSES(op_check_node, n, host.mem_mib, -1);
    TAKES(op_check_node, n, host_taken.mem_mib, 1);
    REFUSES(op_check_node, n, host_taken.cpu_milli, -1);
    REFUSES(op_check_node, n, host_taken.mem_mib, -1);
    REFUSES(op_check_node, n, host_gpu_mem_mib, -1);
    TAKES(op_check_node, n, host_gpu_mem_mib, DEMAND_MEM_MIB_MAX);
    REFUSES(op_check_node, n, host_gpu_mem_mib, DEMAND_MEM_MIB_MAX + 1);
    TAKES(op_check_tenants, op, tenants.n, TENANTS_MAX);
    REFUSES(op_check_tenants, op, tenants.n, TENANTS_MAX + 1);
}

/* Whatever an op contains is looked at: the last element of a list, what a pointer leads to, what lies in it. */
static void op__something_in_it_is_wrong__said(void **state)
{
    struct gpu_request requests[] = {{.count = 1, .phases = 1}, {.count = 1, .phases = 1}};
    const struct demand d = {.dialect = "native", .gpu_requests = requests, .gpu_request_n = 2};
    struct assigned_device assigned[] = {{.milli = 1}, {.milli = 1}};
    struct assigned_container containers[] = {{.devices = assigned, .device_n = 1},
                                              {.devices = assigned, .device_n = 2}};
    const struct assignment as = {.containers = containers, .container_n = 2, .dialect = ""};
    struct device devices[] = {{.index = 0}, {.index = 1}};
    struct inventory inventory = {.devices = devices, .device_n = 2};
    struct ledger_op pod = {.kind = LEDGER_POD_OBSERVED, .pod = {.uid = text_of(1), .demand = &d, .assignment = &as}},
                     node = {.kind = LEDGER_NODE_DESCRIBED, .node = {.name = text_of(1), .inventory = &inventory}};

    assert_null(op_json_check(&pod));
    assert_null(op_json_check(&node));
    assert_null(op_json_check(&(struct ledger_op){.kind = LEDGER_RESERVE}));
    assert_null(op_json_check_demand(&d));
    requests[1].count = 0;
    assert_string_equal(op_json_check(&pod), "no GPU request");
    assert_string_equal(op_json_check_demand(&d), "no GPU request");
    requests[1].count = 1;
    assigned[1].milli = -1;
    assert_string_equal(op_json_check(&pod), "no assigned device");
    containers[1].device_n = 1; /* it is in no list any more */
    assert_null(op_json_check(&pod));
    pod.pod.uid = STR_NULL;
    assert_string_equal(op_json_check(&pod), "no facts of a pod");
    devices[1].part_milli = -1;
    assert_string_equal(op_json_check(&node), "no device");
    inventory.device_n = 1;
    assert_null(op_json_check(&node));
    inventory.vendor = VENDOR__MAX;
    assert_string_equal(op_json_check(&node), "no inventory");
}

/* ---- numbers as they are read ---- */

static void number__of_each_width__in_its_range(void **state)
{
#define NODE(before_, behind_) LEDGER_NODE_DESCRIBED, before_, behind_
    static const struct {
        enum ledger_op_kind kind;
        const char *before, *behind, *values[2], *beyond[2];
    } rows[] = {
        {NODE("{\"inventory\":{\"devices\":[{\"start\":", "}]}}"), {"-128", "127"}, {"-129", "128"}},
        {LEDGER_POD_OBSERVED, "{\"demand\":{\"nameBytesMost\":", "}}", {"0", "255"}, {"-1", "256"}},
        {NODE("{\"inventory\":{\"devices\":[{\"profile\":", "}]}}"), {"0", "65535"}, {"-1", "65536"}},
        {NODE("{\"inventory\":{\"devices\":[{\"slots\":", "}]}}"),
         {"-2147483648", "2147483647"},
         {"-2147483649", "2147483648"}},
        {NODE("{\"inventory\":{\"source\":", "}}"), {"0", "4294967295"}, {"-1", "4294967296"}},
        {NODE("{\"hostGpuMemMib\":", "}"),
         {"-9223372036854775808", "9223372036854775807"},
         {"-9223372036854775809", "9223372036854775808"}},
        {NODE("{\"rules\":", "}"),
         {"-9223372036854775808", "9223372036854775807"},
         {"-9223372036854775809", "9223372036854775808"}},
    };
    static struct json_reader reader;
    struct arena arena;

    arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (size_t k = 0; k < 4; k++) {
            const char *value = k < 2 ? rows[i].values[k] : rows[i].beyond[k - 2];
            struct ledger_op op = {.kind = rows[i].kind};
            struct err err = {.code = ERR_OK};

            json_reader_init(&reader, arena_printf(&arena, "%s%s%s", rows[i].before, value, rows[i].behind), &arena);
            op_json_read(&reader, &arena, &op);
            if ((json_read_end(&reader, &err) == 0) != (k < 2)) {
                fail_msg("%s%s: %s", rows[i].before, value, err.msg);
            }
        }
    }
    arena_fini(&arena);
}

/* Of each width it is the bytes of the number that are written, and no others. */
static void number__of_each_width__beside_its_neighbours(void **state)
{
    static const char a_node[] =
        "{\"inventory\":{\"devices\":[{\"start\":-1,\"counted\":true,\"profile\":4101,\"healthy\":true,\"index\":3,"
        "\"memMib\":81920,\"slots\":16,\"numa\":-1,\"part\":5}],\"source\":2},\"rules\":-1,\"pools\":7}";
    static struct json_reader reader;
    struct ledger_op op = {.kind = LEDGER_NODE_DESCRIBED};
    const struct device *d;
    struct arena arena;

    arena_init(&arena, 1 << 20);
    json_reader_init(&reader, str_of(a_node), &arena);
    op_json_read(&reader, &arena, &op);
    assert_int_equal(json_read_end(&reader, NULL), 0);
    assert_non_null(op.node.inventory);
    assert_int_equal(op.node.inventory->device_n, 1);
    d = &op.node.inventory->devices[0];
    assert_true(d->start == -1 && d->counted && d->profile == 4101 && d->healthy && d->index == 3 && !d->slice);
    assert_true(d->mem_mib == 81920 && d->slot_n == 16 && d->numa == -1 && d->part_milli == 5 && d->minor == 0);
    assert_true(op.node.inventory->source == (enum inventory_source)2 && op.node.rules == UINT64_MAX);
    assert_true(op.node.pools == 7 && op.node.pools_layout == 0);
    arena_fini(&arena);
}

/* ---- parts of decisions ---- */

static void demand_and_record__written_as_they_are_read(void **state)
{
    struct gpu_request r = {.container = STR("c"), .count = 2, .kind = GPU_REQUEST_MILLI, .milli = 300, .phases = 1};
    const struct demand d = {.dialect = "native", .gpu_requests = &r, .gpu_request_n = 1, .host = {1500, 64}};
    const struct assigned_device device = {.uuid = STR("GPU-0"), .milli = 300};
    const struct assigned_container c = {.name = STR("c"), .devices = &device, .device_n = 1};
    const struct assignment as = {.id = STR("x"), .containers = &c, .container_n = 1};
    static struct json_reader reader;
    struct json_writer w;
    struct demand again;
    struct strbuf b;
    struct arena arena;

    arena_init(&arena, 1 << 20);
    strbuf_init(&b, 4096);
    json_writer_init(&w, &b);
    op_json_write_demand(&w, &d);
    json_reader_init(&reader, strbuf_view(&b), &arena);
    op_json_read_demand(&reader, &arena, &again);
    assert_int_equal(json_read_end(&reader, NULL), 0);
    assert_true(demand_equal(&d, &again) && again.host.cpu_milli == 1500 && again.host.mem_mib == 64);
    assert_null(op_json_check_demand(&again));
    strbuf_reset(&b);
    json_writer_init(&w, &b);
    op_json_write_assignment(&w, &as);
    assert_string_equal(b.p, "{\"decision\":\"x\",\"containers\":[{\"name\":\"c\",\"devices\":[{\"uuid\":"
                             "\"GPU-0\",\"milli\":300}]}]}");
    strbuf_fini(&b);
    strbuf_init(&b, 8); /* too small: its writer overflows, and nothing else happens */
    json_writer_init(&w, &b);
    op_json_write_demand(&w, &d);
    assert_true(b.overflowed);
    strbuf_fini(&b);
    arena_fini(&arena);
}

static int setup(void **state)
{
    memset(text, 'x', sizeof(text));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(request__bounds),
        cmocka_unit_test(demand__bounds),
        cmocka_unit_test(device__bounds),
        cmocka_unit_test(inventory__bounds),
        cmocka_unit_test(inventory__factors),
        cmocka_unit_test(record__bounds),
        cmocka_unit_test(facts__bounds),
        cmocka_unit_test(op__something_in_it_is_wrong__said),
        cmocka_unit_test(number__of_each_width__in_its_range),
        cmocka_unit_test(number__of_each_width__beside_its_neighbours),
        cmocka_unit_test(demand_and_record__written_as_they_are_read),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
