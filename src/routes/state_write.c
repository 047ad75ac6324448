/* What stands in /state: its nodes and the lists behind them, each part from its part of the copy. */
#include "routes/state_internal.h"

#include "base/bug.h"
#include "core/dialects/dialect.h"
#include "core/inventory/inventory.h"
#include "model/qos.h"

#include <stdlib.h>

/* ---- words ---- */

static const char *allocation_state(const struct snapshot_pod *p)
{
    if (p->state == LEDGER_FOREIGN) {
        return "foreign";
    }
    if (p->conflict) {
        return "conflict";
    }
    if (p->deleting) {
        return "terminating";
    }
    return p->state == LEDGER_RESERVED ? "reserved" : "bound";
}

const char *state_gpu_conflict(const struct snapshot_device *d)
{
    if (d->mem_charged_mib > d->mem_cap_mib) {
        return "more memory is charged than the GPU has; it takes no new pods";
    }
    if (d->milli_charged > d->milli_cap) {
        return "more compute is charged than the GPU has; it takes no new pods";
    }
    if (d->slot_charged > d->slot_cap) {
        return "more containers are charged than may share the GPU; it takes no new pods";
    }
    return d->lost ? "the node no longer lists this GPU; it stays until its pods are gone" : NULL;
}

/* ---- small parts ---- */

static void write_amount_parts(struct json_writer *w, int64_t capacity, int64_t charged)
{
    json_write_kv_i64(w, "capacity", capacity);
    json_write_kv_i64(w, "charged", charged);
    json_write_kv_i64(w, "free", capacity - charged);
}

void state_write_amount(struct json_writer *w, const char *key, int64_t capacity, int64_t charged)
{
    json_write_kv_object_begin(w, key);
    write_amount_parts(w, capacity, charged);
    json_write_object_end(w);
}

void state_write_time(struct json_writer *w, const char *key, int64_t wall_ms)
{
    char text[CLOCK_RFC3339_MAX];

    json_write_kv_cstr(w, key, wall_ms == 0 ? "" : clock_rfc3339(wall_ms, text));
}

void state_write_text(struct json_writer *w, const char *key, const char *text)
{
    json_write_kv_str(w, key, str_of(text)); /* NULL is "" */
}

void state_write_positive(struct json_writer *w, const char *key, int64_t v)
{
    if (v > 0) {
        json_write_kv_i64(w, key, v);
    }
}

void state_write_if(struct json_writer *w, const char *key, bool yes)
{
    if (yes) {
        json_write_kv_bool(w, key, true);
    }
}

/* Most have the default, and allocations are many. */
static void write_qos(struct json_writer *w, enum qos q)
{
    if (q != QOS_FIXED_SHARE) {
        json_write_kv_cstr(w, "qos", qos_name(q));
    }
}

void state_write_pod_name(struct json_writer *w, const struct snapshot_pod *p)
{
    json_write_kv_str(w, "namespace", p->namespace_);
    json_write_kv_str(w, "pod", p->name);
    json_write_kv_str(w, "uid", p->uid);
}

void state_write_decision(struct json_writer *w, const struct snapshot_pod *p)
{
    state_write_text(w, "state", allocation_state(p));
    state_write_time(w, "since", p->since_ms);
    json_write_kv_str(w, "decision", p->decision_id);
    state_write_text(w, "dialect", p->dialect);
}

/* ---- nodes ---- */

struct held {
    const struct snapshot_pod *pod;
    const struct snapshot_allocation *allocation;
};

int state_compare_pods(const struct snapshot_pod *a, const struct snapshot_pod *b)
{
    int rc = str_cmp(a->namespace_, b->namespace_);

    rc = rc != 0 ? rc : str_cmp(a->name, b->name);
    return rc != 0 ? rc : str_cmp(a->uid, b->uid);
}

static int held_by_name(const void *a, const void *b)
{
    const struct held *x = a, *y = b;
    int rc = state_compare_pods(x->pod, y->pod);

    if (rc == 0 && x->allocation->init != y->allocation->init) {
        rc = x->allocation->init ? -1 : 1;
    }
    return rc != 0 ? rc : str_cmp(x->allocation->container, y->allocation->container);
}

static void write_allocation(struct json_writer *w, const struct held *h)
{
    json_write_object_begin(w);
    state_write_pod_name(w, h->pod);
    json_write_kv_str(w, "container", h->allocation->container);
    json_write_kv_bool(w, "init", h->allocation->init);
    json_write_kv_i64(w, "milli", h->allocation->milli);
    json_write_kv_i64(w, "memMib", h->allocation->mem_mib);
    state_write_positive(w, "askedMilli", h->allocation->asked_milli);
    state_write_positive(w, "askedMemMib", h->allocation->asked_mem_mib);
    if (h->allocation->kind != GPU_REQUEST_KIND__MAX) {
        json_write_kv_cstr(w, "kind", gpu_request_kind_name(h->allocation->kind));
    }
    write_qos(w, h->pod->qos);
    if (h->allocation->phases > 1) {
        json_write_kv_i64(w, "phases", (int64_t)h->allocation->phases);
    }
    state_write_if(w, "editable", h->pod->source == DEMAND_FROM_ANNOTATIONS);
    if (h->pod->granted) {
        json_write_kv_cstr(w, "record", record_trust_name(h->pod->record));
    }
    state_write_decision(w, h->pod);
    json_write_object_end(w);
}

static void write_allocations(struct json_writer *w, const struct snapshot_pod *pods, const struct snapshot_device *gpu)
{
    struct held few[DEVICES_PER_NODE_MAX];
    struct held *all = gpu->allocation_n <= ARRAY_LEN(few) ? few : xcalloc(gpu->allocation_n, sizeof(*all));

    for (size_t i = 0; i < gpu->allocation_n; i++) {
        all[i] = (struct held){&pods[gpu->allocations[i].pod], &gpu->allocations[i]};
    }
    qsort(all, gpu->allocation_n, sizeof(*all), held_by_name);
    json_write_kv_array_begin(w, "allocations");
    for (size_t i = 0; i < gpu->allocation_n; i++) {
        write_allocation(w, &all[i]);
    }
    json_write_array_end(w);
    if (all != few) {
        free(all);
    }
}

static void write_gpu(struct json_writer *w, const struct snapshot_pod *pods, const struct snapshot_device *gpu)
{
    json_write_object_begin(w);
    json_write_kv_str(w, "uuid", gpu->uuid);
    json_write_kv_i64(w, "index", gpu->index);
    json_write_kv_str(w, "model", gpu->model);
    json_write_kv_bool(w, "healthy", gpu->healthy);
    json_write_kv_bool(w, "lost", gpu->lost);
    json_write_kv_bool(w, "exclusive", gpu->exclusive);
    json_write_kv_bool(w, "overCommitted", gpu->overcommitted);
    state_write_if(w, "groupTaken", gpu->group_taken);
    state_write_amount(w, "milli", gpu->milli_cap, gpu->milli_charged);
    state_write_amount(w, "memMib", gpu->mem_cap_mib, gpu->mem_charged_mib);
    state_write_amount(w, "slots", gpu->slot_cap, gpu->slot_charged);
    json_write_kv_i64(w, "baseMemMib", gpu->mem_base_mib);
    state_write_if(w, "slice", gpu->slice);
    state_write_gpu_mig(w, gpu);
    write_allocations(w, pods, gpu);
    state_write_raised(w, pods, gpu);
    json_write_object_end(w);
}

/* What one replica or unit is a part of; whether it gets that much is the plugin's affair. Of GPUs of several sizes the
 * smallest counts. */
static void write_unit(struct json_writer *w, const struct snapshot_node *n)
{
    int64_t mem_mib = INT64_MAX;

    if (n->plugin_managed_per_gpu <= 1) {
        return;
    }
    json_write_kv_i64(w, "unitsPerGpu", n->plugin_managed_per_gpu);
    json_write_kv_object_begin(w, "unit");
    json_write_kv_i64(w, "milli", DEVICE_MILLI / n->plugin_managed_per_gpu);
    for (size_t i = 0; i < n->device_n; i++) {
        mem_mib = n->devices[i].mem_base_mib < mem_mib ? n->devices[i].mem_base_mib : mem_mib;
    }
    if (n->device_n > 0 && mem_mib > 0) {
        json_write_kv_i64(w, "memMib", mem_mib / n->plugin_managed_per_gpu);
    }
    json_write_object_end(w);
    state_write_if(w, "oneToAContainer", n->plugin_managed_one);
}

/* GPUs, replicas or units that the node's own plugin hands out, and the pods that are charged for them. */
static void write_whole(struct json_writer *w, const struct node_item *item)
{
    const struct snapshot_node *n = item->node;

    if (n->plugin_managed_cap == 0 && n->plugin_managed_used == 0) {
        return;
    }
    json_write_kv_object_begin(w, "wholeGpus");
    write_amount_parts(w, n->plugin_managed_cap, n->plugin_managed_used);
    json_write_kv_cstr(w, "picks", "kubelet");
    write_unit(w, n);
    json_write_kv_array_begin(w, "allocations");
    for (size_t i = 0; i < item->beside_n; i++) {
        const struct snapshot_pod *p = item->beside[i];

        if (p->plugin_managed_n > 0) {
            json_write_object_begin(w);
            state_write_pod_name(w, p);
            json_write_kv_i64(w, "count", p->plugin_managed_n);
            state_write_decision(w, p);
            json_write_object_end(w);
        }
    }
    json_write_array_end(w);
    json_write_object_end(w);
}

static void write_host_amount(struct json_writer *w, const char *key, int32_t capacity, int32_t free)
{
    if (capacity > 0) {
        json_write_kv_object_begin(w, key);
        json_write_kv_i64(w, "capacity", capacity);
        json_write_kv_i64(w, "free", free);
        json_write_object_end(w);
    }
}

/* Cores and memory of the machine; what is not known is left out. */
static void write_host(struct json_writer *w, const struct host_state *h)
{
    if (h->cpu_cap_milli == 0 && h->mem_cap_mib == 0) {
        return;
    }
    json_write_kv_object_begin(w, "host");
    write_host_amount(w, "cpuMilli", h->cpu_cap_milli, h->cpu_free_milli);
    write_host_amount(w, "memMib", h->mem_cap_mib, h->mem_free_mib);
    json_write_object_end(w);
}

void state_write_node(struct json_writer *w, const struct node_item *item)
{
    const struct snapshot_node *n = item->node;

    json_write_object_begin(w);
    json_write_kv_str(w, "name", n->name);
    json_write_kv_str(w, "uid", n->uid);
    json_write_kv_bool(w, "described", n->described);
    json_write_kv_bool(w, "schedulable", n->schedulable);
    json_write_kv_bool(w, "closed", n->closed);
    state_write_if(w, "elsewhere", n->elsewhere);
    state_write_if(w, "unmeasured", n->unmeasured);
    json_write_kv_array_begin(w, "dialects");
    if (n->source != INVENTORY_NONE) {
        /* whichever dialect read it: other programs know it by this name */
        json_write_cstr(w, dialect_native.name);
    }
    json_write_array_end(w);
    state_write_text(w, "source", inventory_source_name(n->source));
    state_write_text(w, "note", n->note);
    json_write_kv_object_begin(w, "overCommitMilli");
    json_write_kv_i64(w, "compute", n->overcommit_milli);
    json_write_kv_i64(w, "memory", n->overcommit_mem_milli);
    json_write_object_end(w);
    json_write_kv_cstr(w, "memoryOnly", n->memory_only == MEMORY_ONLY_FREE ? "free" : "share");
    write_qos(w, n->qos);
    if (n->lending != LEND_ALLOW) {
        json_write_kv_bool(w, "lendsIdleCompute", false);
    }
    json_write_kv_cstr(w, "handOff", hand_off_name(n->hand_off));
    state_write_if(w, "handOffUnfit", n->hand_off_unfit);
    state_write_if(w, "needsAgent", n->needs_agent);
    if (n->vendor != VENDOR_NVIDIA) {
        json_write_kv_cstr(w, "vendor", gpu_vendor_name(n->vendor));
    }
    state_write_node_mig(w, n);
    if (n->host_group.n > 0) {
        json_write_kv_object_begin(w, "hostGroup");
        json_write_kv_str(w, "name", n->host_group);
        state_write_positive(w, "gpuMemMib", n->host_gpu_mem_mib);
        json_write_object_end(w);
    }
    write_host(w, &n->host);
    write_whole(w, item);
    json_write_kv_array_begin(w, "gpus");
    for (size_t i = 0; i < n->device_n; i++) {
        write_gpu(w, item->pods, &n->devices[i]);
    }
    json_write_array_end(w);
    state_write_unplaced(w, item);
    json_write_object_end(w);
}

/* ---- lists behind the nodes ---- */

void state_write_pod_conflict(struct json_writer *w, const struct snapshot_pod *p)
{
    json_write_object_begin(w);
    json_write_kv_cstr(w, "kind", "pod");
    state_write_pod_name(w, p);
    json_write_kv_str(w, "node", p->node_name);
    state_write_text(w, "text", p->conflict_text);
    json_write_object_end(w);
}

void state_write_node_conflict(struct json_writer *w, const struct node_conflict *c)
{
    json_write_object_begin(w);
    json_write_kv_cstr(w, "kind", c->is_gpu ? "gpu" : "node");
    json_write_kv_str(w, "node", c->node);
    if (c->is_gpu) {
        json_write_kv_str(w, "uuid", c->uuid);
        json_write_kv_i64(w, "index", c->index);
    }
    json_write_kv_cstr(w, "text", c->text);
    json_write_object_end(w);
}
