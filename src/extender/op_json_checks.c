/* What may stand in an op that was read: ranges that whoever makes ops keeps, and the ledger relies on. */
#include "extender/op_json_internal.h"

#include "model/mig.h"

static bool is_profile(uint16_t profile)
{
    return profile == 0 || profile == DEVICE_IN_MIG_MODE ||
           (mig_profile_slices(profile) >= 1 && mig_profile_slices(profile) <= 8 && mig_profile_milli(profile) > 0);
}

static bool is_mem_mib(int64_t mem_mib)
{
    return mem_mib >= 0 && mem_mib <= DEMAND_MEM_MIB_MAX;
}

static const char *said(bool right, const char *why)
{
    return right ? NULL : why;
}

const char *op_check_request(const void *at)
{
    const struct gpu_request *w = at;

    return said(w->kind < GPU_REQUEST_KIND__MAX && w->count >= 1 && w->milli >= 0 && w->milli <= DEVICE_MILLI &&
                    is_mem_mib(w->mem_mib) && w->phases != 0 && w->profile != DEVICE_IN_MIG_MODE &&
                    is_profile(w->profile) && w->container.n <= 253,
                "no GPU request");
}

const char *op_check_demand(const void *at)
{
    const struct demand *d = at;

    return said(d->defect < DEMAND_DEFECT__MAX && d->source <= DEMAND_FROM_ANNOTATIONS && d->qos < QOS__MAX &&
                    d->plugin_managed_n >= 0 && d->plugin_managed_n <= DEMAND_PLUGIN_MANAGED_MAX &&
                    d->plugin_managed_most >= 0 && d->plugin_managed_most <= d->plugin_managed_n &&
                    d->host.cpu_milli >= 0 && d->host.mem_mib >= 0 && d->gpu_request_n <= DEMAND_GPU_REQUESTS_MAX &&
                    d->model_n <= DEMAND_PATTERNS_MAX && d->uuid_n <= DEMAND_PATTERNS_MAX &&
                    d->isolate_n <= DEMAND_ISOLATE_MAX &&
                    (d->defect == DEMAND_OK || (d->gpu_request_n == 0 && d->plugin_managed_n == 0)) &&
                    (d->plugin_managed_n == 0 || d->gpu_request_n == 0),
                "no demand");
}

const char *op_check_device(const void *at)
{
    const struct device *d = at;

    return said(d->index >= 0 && is_mem_mib(d->mem_mib) && d->slot_n >= 0 && is_profile(d->profile) && d->start >= -1 &&
                    d->start <= 7 && d->part_milli >= 0 && d->part_milli < DEVICE_MILLI,
                "no device");
}

static bool is_factor(int32_t milli)
{
    return milli == 0 || (milli >= 1000 && milli <= ASSIGNMENT_MILLI_MAX);
}

const char *op_check_inventory(const void *at)
{
    const struct inventory *i = at;
    bool right = i->device_n <= DEVICES_PER_NODE_MAX;

    for (size_t k = 1; right && k < i->device_n; k++) {
        right = i->devices[k - 1].index < i->devices[k].index;
    }
    return said(right && i->source < INVENTORY_SOURCE__MAX && i->plugin_managed_n >= 0 &&
                    i->plugin_managed_n <= DEMAND_PLUGIN_MANAGED_MAX && i->plugin_managed_per_gpu >= 0 &&
                    is_factor(i->overcommit_milli) && is_factor(i->overcommit_mem_milli) &&
                    i->memory_only < MEMORY_ONLY__MAX && i->qos < QOS__MAX && i->lending < LEND__MAX &&
                    i->hand_off < HAND_OFF__MAX && i->vendor < VENDOR__MAX,
                "no inventory");
}

const char *op_check_assigned_device(const void *at)
{
    const struct assigned_device *d = at;

    return said(d->index >= 0 && d->milli >= 0 && d->milli <= ASSIGNMENT_MILLI_MAX && d->mem_mib >= 0 &&
                    d->mem_mib <= ASSIGNMENT_MEM_MIB_MAX && d->profile != DEVICE_IN_MIG_MODE &&
                    is_profile(d->profile) && d->part_milli >= 0 && d->part_milli < DEVICE_MILLI &&
                    d->uuid.n <= ASSIGNMENT_UUID_BYTES_MAX,
                "no assigned device");
}

const char *op_check_assigned(const void *at)
{
    const struct assigned_container *c = at;

    return said(c->device_n <= DEVICES_PER_NODE_MAX && c->name.n <= ASSIGNMENT_NAME_BYTES_MAX, "no assigned container");
}

const char *op_check_assignment(const void *at)
{
    const struct assignment *as = at;

    return said(as->container_n <= ASSIGNMENT_CONTAINERS_MAX && as->qos < QOS__MAX && as->lending < LEND__MAX &&
                    as->hand_off < HAND_OFF__MAX && as->vendor < VENDOR__MAX && as->id.n <= ASSIGNMENT_ID_BYTES_MAX,
                "no record");
}

const char *op_check_known(const void *at)
{
    const struct ledger_known_charge *k = at;

    return said(k->index >= 0 && k->charge.milli >= 0 && k->charge.milli <= ASSIGNMENT_MILLI_MAX &&
                    k->charge.slots >= 0 && k->charge.slots <= ASSIGNMENT_CONTAINERS_MAX &&
                    is_mem_mib(k->charge.mem_mib) && is_profile(k->charge.profile),
                "no charge");
}

const char *op_check_pod(const void *at)
{
    const struct ledger_pod_fact *f = at;

    return said(f->demand != NULL && f->uid.n > 0 && f->record_trust <= RECORD_VERIFIED &&
                    f->known_n <= DEVICES_PER_NODE_MAX,
                "no facts of a pod");
}

const char *op_check_node(const void *at)
{
    const struct ledger_node_fact *f = at;

    return said(f->name.n > 0 && f->inventory != NULL && f->host.cpu_milli >= 0 && f->host.mem_mib >= 0 &&
                    f->host_taken.cpu_milli >= 0 && f->host_taken.mem_mib >= 0 && f->host_gpu_mem_mib >= 0 &&
                    f->host_gpu_mem_mib <= DEMAND_MEM_MIB_MAX,
                "no facts of a node");
}

const char *op_check_tenants(const void *at)
{
    const struct ledger_op *op = at;

    return said(op->tenants.n <= TENANTS_MAX, "too many tenants");
}
