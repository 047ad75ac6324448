/* Which fields an op has: of each struct all that a decision may depend on. A field that is added to one of them is
 * added here; test/unit/extender/test_op_json.c finds those that are not. */
#include "extender/op_json_internal.h"

#include "base/compiler.h"

/* ---- demand ---- */

static const struct op_field request_fields[] = {
    OP_FIELD("container", struct gpu_request, container), OP_FIELD("init", struct gpu_request, init),
    OP_FIELD("position", struct gpu_request, position),   OP_FIELD("count", struct gpu_request, count),
    OP_FIELD("kind", struct gpu_request, kind),           OP_FIELD("milli", struct gpu_request, milli),
    OP_FIELD("memMib", struct gpu_request, mem_mib),      OP_FIELD("phases", struct gpu_request, phases),
    OP_FIELD("profile", struct gpu_request, profile),
};
static const struct op_shape request_shape = OP_SHAPE_CHECKED(struct gpu_request, request_fields, op_check_request);

static const struct op_field pattern_fields[] = {
    OP_FIELD("text", struct device_pattern, text),
    OP_FIELD("exclude", struct device_pattern, exclude),
};
static const struct op_shape pattern_shape = OP_SHAPE(struct device_pattern, pattern_fields);

static const struct op_field host_fields[] = {
    OP_FIELD("cpuMilli", struct host_request, cpu_milli),
    OP_FIELD("memMib", struct host_request, mem_mib),
};
static const struct op_shape host_shape = OP_SHAPE(struct host_request, host_fields);

static const struct op_field demand_fields[] = {
    OP_FIELD("defect", struct demand, defect),
    OP_FIELD("source", struct demand, source),
    OP_FIELD("saysQos", struct demand, says_qos),
    OP_FIELD("nameBytesMost", struct demand, name_bytes_most),
    OP_FIELD("qos", struct demand, qos),
    OP_FIELD_AS("dialect", OP_DIALECT, struct demand, dialect),
    OP_FIELD("pluginManaged", struct demand, plugin_managed_n),
    OP_FIELD("pluginManagedMost", struct demand, plugin_managed_most),
    OP_FIELD("pluginManagedNames", struct demand, plugin_managed_names),
    OP_PART("host", OP_OBJECT, struct demand, host, &host_shape),
    OP_MANY("requests", struct demand, gpu_requests, gpu_request_n, &request_shape),
    OP_MANY("models", struct demand, models, model_n, &pattern_shape),
    OP_MANY("uuids", struct demand, uuids, uuid_n, &pattern_shape),
    OP_MANY("isolate", struct demand, isolate, isolate_n, NULL),
};
const struct op_shape op_shape_demand = OP_SHAPE_CHECKED(struct demand, demand_fields, op_check_demand);

/* ---- records ---- */

static const struct op_field assigned_device_fields[] = {
    OP_FIELD("uuid", struct assigned_device, uuid),       OP_FIELD("index", struct assigned_device, index),
    OP_FIELD("milli", struct assigned_device, milli),     OP_FIELD("memMib", struct assigned_device, mem_mib),
    OP_FIELD("profile", struct assigned_device, profile), OP_FIELD("slice", struct assigned_device, slice),
    OP_FIELD("part", struct assigned_device, part_milli), OP_FIELD("exclusive", struct assigned_device, exclusive),
};
static const struct op_shape assigned_device_shape =
    OP_SHAPE_CHECKED(struct assigned_device, assigned_device_fields, op_check_assigned_device);

static const struct op_field assigned_fields[] = {
    OP_FIELD("name", struct assigned_container, name),
    OP_FIELD("init", struct assigned_container, init),
    OP_FIELD("position", struct assigned_container, position),
    OP_MANY("devices", struct assigned_container, devices, device_n, &assigned_device_shape),
};
static const struct op_shape assigned_shape =
    OP_SHAPE_CHECKED(struct assigned_container, assigned_fields, op_check_assigned);

static const struct op_field assignment_fields[] = {
    OP_FIELD("decision", struct assignment, id),
    OP_MANY("containers", struct assignment, containers, container_n, &assigned_shape),
    OP_FIELD("qos", struct assignment, qos),
    OP_FIELD("lending", struct assignment, lending),
    OP_FIELD("handOff", struct assignment, hand_off),
    OP_FIELD("vendor", struct assignment, vendor),
    OP_FIELD("needsAgent", struct assignment, needs_agent),
    OP_FIELD_AS("dialect", OP_DIALECT, struct assignment, dialect),
    OP_FIELD("sigKey", struct assignment, sig_key),
};
const struct op_shape op_shape_assignment = OP_SHAPE_CHECKED(struct assignment, assignment_fields, op_check_assignment);

/* ---- nodes ---- */

static const struct op_field device_fields[] = {
    OP_FIELD("uuid", struct device, uuid),       OP_FIELD("index", struct device, index),
    OP_FIELD("minor", struct device, minor),     OP_FIELD("model", struct device, model),
    OP_FIELD("memMib", struct device, mem_mib),  OP_FIELD("slots", struct device, slot_n),
    OP_FIELD("numa", struct device, numa),       OP_FIELD("healthy", struct device, healthy),
    OP_FIELD("profile", struct device, profile), OP_FIELD("gpuIndex", struct device, gpu_index),
    OP_FIELD("start", struct device, start),     OP_FIELD("counted", struct device, counted),
    OP_FIELD("slice", struct device, slice),     OP_FIELD("part", struct device, part_milli),
};
static const struct op_shape device_shape = OP_SHAPE_CHECKED(struct device, device_fields, op_check_device);

static const struct op_field inventory_fields[] = {
    OP_FIELD("source", struct inventory, source),
    OP_MANY("devices", struct inventory, devices, device_n, &device_shape),
    OP_FIELD("pluginManaged", struct inventory, plugin_managed_n),
    OP_FIELD("pluginManagedPerGpu", struct inventory, plugin_managed_per_gpu),
    OP_FIELD("pluginManagedNames", struct inventory, plugin_managed_names),
    OP_FIELD("pluginManagedOne", struct inventory, plugin_managed_one),
    OP_FIELD("overcommitMilli", struct inventory, overcommit_milli),
    OP_FIELD("overcommitMemMilli", struct inventory, overcommit_mem_milli),
    OP_FIELD("memoryOnly", struct inventory, memory_only),
    OP_FIELD("qos", struct inventory, qos),
    OP_FIELD("lending", struct inventory, lending),
    OP_FIELD("handOff", struct inventory, hand_off),
    OP_FIELD("handOffUnfit", struct inventory, hand_off_unfit),
    OP_FIELD("vendor", struct inventory, vendor),
    OP_FIELD("needsAgent", struct inventory, needs_agent),
    OP_FIELD("migChanging", struct inventory, mig_changing),
    OP_FIELD("migSingle", struct inventory, mig_single),
    OP_FIELD("elsewhere", struct inventory, elsewhere),
    OP_FIELD("unmeasured", struct inventory, unmeasured),
};
static const struct op_shape inventory_shape = OP_SHAPE_CHECKED(struct inventory, inventory_fields, op_check_inventory);

static const struct op_field capacity_fields[] = {
    OP_FIELD("cpuMilli", struct host_capacity, cpu_milli),
    OP_FIELD("memMib", struct host_capacity, mem_mib),
};
static const struct op_shape capacity_shape = OP_SHAPE(struct host_capacity, capacity_fields);

static const struct op_field taint_fields[] = {
    OP_FIELD("key", struct taint, key),
    OP_FIELD("value", struct taint, value),
    OP_FIELD("effect", struct taint, effect),
};
static const struct op_shape taint_shape = OP_SHAPE(struct taint, taint_fields);

#define NODE(name_, member) OP_FIELD(name_, struct ledger_node_fact, member)
static const struct op_field node_fields[] = {
    NODE("name", name),
    NODE("uid", uid),
    NODE("unreadable", unreadable),
    NODE("schedulable", schedulable),
    NODE("closed", closed),
    OP_PART("inventory", OP_POINTER, struct ledger_node_fact, inventory, &inventory_shape),
    NODE("rules", rules),
    NODE("pools", pools),
    NODE("poolsLayout", pools_layout),
    NODE("note", note),
    OP_PART("host", OP_OBJECT, struct ledger_node_fact, host, &capacity_shape),
    OP_PART("hostTaken", OP_OBJECT, struct ledger_node_fact, host_taken, &host_shape),
    NODE("hostGroup", host_group),
    NODE("hostGpuMemMib", host_gpu_mem_mib),
    OP_MANY("taints", struct ledger_node_fact, taints, taint_n, &taint_shape),
};
static const struct op_shape node_shape = OP_SHAPE_CHECKED(struct ledger_node_fact, node_fields, op_check_node);

/* ---- pods ---- */

static const struct op_field container_fields[] = {
    OP_FIELD("name", struct container, name),
    OP_FIELD("sidecar", struct container, sidecar),
};
static const struct op_shape container_shape = OP_SHAPE(struct container, container_fields);

static const struct op_field toleration_fields[] = {
    OP_FIELD("key", struct toleration, key),
    OP_FIELD("value", struct toleration, value),
    OP_FIELD("operator", struct toleration, operator_),
    OP_FIELD("effect", struct toleration, effect),
};
static const struct op_shape toleration_shape = OP_SHAPE(struct toleration, toleration_fields);

static const struct op_field charge_fields[] = {
    OP_FIELD("milli", struct charge, milli),     OP_FIELD("slots", struct charge, slots),
    OP_FIELD("memMib", struct charge, mem_mib),  OP_FIELD("exclusive", struct charge, exclusive),
    OP_FIELD("profile", struct charge, profile),
};
static const struct op_shape charge_shape = OP_SHAPE(struct charge, charge_fields);

static const struct op_field known_fields[] = {
    OP_FIELD("uuid", struct ledger_known_charge, uuid),
    OP_FIELD("index", struct ledger_known_charge, index),
    OP_PART("charge", OP_OBJECT, struct ledger_known_charge, charge, &charge_shape),
};
static const struct op_shape known_shape = OP_SHAPE_CHECKED(struct ledger_known_charge, known_fields, op_check_known);

#define POD(name_, member) OP_FIELD(name_, struct ledger_pod_fact, member)
static const struct op_field pod_fields[] = {
    POD("uid", uid),
    POD("namespace", namespace_),
    POD("name", name),
    POD("node", node_name),
    POD("nominatedNode", nominated_node),
    POD("version", version),
    POD("deleting", deleting),
    POD("read", read),
    POD("createdMs", created_ms),
    POD("claimsRecord", claims_record),
    POD("priority", priority),
    OP_PART("demand", OP_POINTER, struct ledger_pod_fact, demand, &op_shape_demand),
    OP_PART("assignment", OP_POINTER, struct ledger_pod_fact, assignment, &op_shape_assignment),
    POD("recordTrust", record_trust),
    OP_FIELD_AS("proof", OP_DIGEST, struct ledger_pod_fact, proof),
    OP_MANY("initContainers", struct ledger_pod_fact, init_containers, init_container_n, &container_shape),
    OP_MANY("labels", struct ledger_pod_fact, label_hashes, label_n, NULL),
    POD("annotationBytes", annotation_bytes),
    OP_MANY("tolerations", struct ledger_pod_fact, tolerations, toleration_n, &toleration_shape),
    OP_MANY("known", struct ledger_pod_fact, known, known_n, &known_shape),
};
static const struct op_shape pod_shape = OP_SHAPE_CHECKED(struct ledger_pod_fact, pod_fields, op_check_pod);

/* ---- the rest ---- */

static const struct op_field judged_fields[] = {
    OP_FIELD("uid", struct ledger_judged, uid),
    OP_FIELD_AS("proof", OP_DIGEST, struct ledger_judged, proof),
    OP_FIELD("valid", struct ledger_judged, valid),
    OP_FIELD("keyGone", struct ledger_judged, key_gone),
};
static const struct op_shape judged_shape = OP_SHAPE(struct ledger_judged, judged_fields);

/* The next four lie in the op itself. */
static const struct op_field list_fields[] = {
    OP_FIELD("reread", struct ledger_op, list.reread),
    OP_FIELD("version", struct ledger_op, list.version),
};
static const struct op_shape list_shape = OP_SHAPE(struct ledger_op, list_fields);

static const struct op_field text_fields[] = {
    OP_FIELD_AS("text", OP_STR, struct str, p),
};
static const struct op_shape text_shape = OP_SHAPE(struct str, text_fields);

static const struct op_field tenant_fields[] = {
    OP_FIELD("name", struct tenant, name),
    OP_MANY("namespaces", struct tenant, namespaces, namespace_n, &text_shape),
    OP_FIELD("gpuPermille", struct tenant, gpu_permille),
    OP_FIELD("milli", struct tenant, milli),
    OP_FIELD("memPermille", struct tenant, mem_permille),
    OP_FIELD("memMib", struct tenant, mem_mib),
};
static const struct op_shape tenant_shape = OP_SHAPE(struct tenant, tenant_fields);

static const struct op_field tenants_fields[] = {
    OP_MANY("items", struct ledger_op, tenants.items, tenants.n, &tenant_shape),
};
static const struct op_shape tenants_shape = OP_SHAPE_CHECKED(struct ledger_op, tenants_fields, op_check_tenants);

static const struct op_field slices_fields[] = {
    OP_FIELD("name", struct ledger_op, slices.name),
    OP_FIELD("note", struct ledger_op, slices.note),
};
static const struct op_shape slices_shape = OP_SHAPE(struct ledger_op, slices_fields);

static const struct op_field name_fields[] = {
    OP_FIELD("name", struct ledger_op, name),
};
static const struct op_shape name_shape = OP_SHAPE(struct ledger_op, name_fields);

/* ---- the kinds ---- */

#define IN_OP(member) offsetof(struct ledger_op, member)
static const struct op_kind kinds[LEDGER_OP__MAX] = {
    [LEDGER_NODE_DESCRIBED] = {"nodeDescribed", "facts", IN_OP(node), &node_shape},
    [LEDGER_NODE_GONE] = {"nodeGone", "gone", 0, &name_shape},
    [LEDGER_POD_OBSERVED] = {"podObserved", "facts", IN_OP(pod), &pod_shape},
    [LEDGER_POD_GONE] = {"podGone", "gone", 0, &name_shape},
    [LEDGER_RESERVE] = {"reserve", NULL, 0, NULL},
    [LEDGER_CONFIRM] = {"confirm", "of", 0, &name_shape},
    [LEDGER_RELEASE] = {"release", "of", 0, &name_shape},
    [LEDGER_PODS_BEGIN] = {"podsBegin", "list", 0, &list_shape},
    [LEDGER_PODS_END] = {"podsEnd", NULL, 0, NULL},
    [LEDGER_NODES_BEGIN] = {"nodesBegin", NULL, 0, NULL},
    [LEDGER_NODES_END] = {"nodesEnd", NULL, 0, NULL},
    [LEDGER_TENANTS] = {"tenants", "tenants", 0, &tenants_shape},
    [LEDGER_RECORD_JUDGED] = {"recordJudged", "judged", IN_OP(judged), &judged_shape},
    [LEDGER_SLICES] = {"slices", "slices", 0, &slices_shape},
};

const struct op_kind *op_kind_of(enum ledger_op_kind k)
{
    return &kinds[k];
}
