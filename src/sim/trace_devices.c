/* The GPUs of a machine of the trace, whole or cut into MIG instances. */
#include "sim/trace.h"

#include "base/bug.h"

#define SHARERS_MAX 32767 /* of a device: never what is short */

static int cannot_cut(const struct trace_node *n, struct str profile, const char *why, struct err *reterr)
{
    return err_set(reterr, ERR_INVALID, "\"%.*s\" on a \"%.*s\" of %d MiB: %s", STR_ARG(profile), STR_ARG(n->model),
                   (int)n->gpu_mem_mib, why);
}

int trace_cut_gpus(struct trace_node *n, struct str layout, struct err *reterr)
{
    const struct mig_family *family = mig_family_of(n->model, n->gpu_mem_mib);
    uint16_t occupied = 0;
    struct str rest = layout, part;

    n->instance_n = 0;
    while (str_split(&rest, '|', &part)) {
        const uint16_t profile = mig_profile_parse(part);
        const struct mig_shape *s = family == NULL ? NULL : mig_shape_find(family, profile);
        const int start = s == NULL ? -1 : mig_choose_start(family, s, occupied);

        if (s == NULL) {
            return cannot_cut(n, part, "this model has no such instance", reterr);
        }
        if (start < 0 || n->instance_n == MIG_INSTANCES_MAX) {
            return cannot_cut(n, part, "no room for it beside the instances before it", reterr);
        }
        BUG_ON(!mig_occupy(s, (unsigned)start, &occupied));
        n->instances[n->instance_n++] = (struct trace_instance){profile, (int8_t)start};
    }
    if (n->gpu_n * (1 + n->instance_n) > DEVICES_PER_NODE_MAX) {
        return err_set(reterr, ERR_LIMIT, "%d GPUs and their instances are more than %d devices", (int)n->gpu_n,
                       DEVICES_PER_NODE_MAX);
    }
    return 0;
}

static struct device gpu(const struct trace_node *n, int32_t index)
{
    return (struct device){.index = index,
                           .minor = -1,
                           .model = n->model,
                           .mem_mib = n->gpu_mem_mib,
                           .slot_n = SHARERS_MAX,
                           .numa = -1,
                           .healthy = true,
                           .profile = n->instance_n > 0 ? DEVICE_IN_MIG_MODE : 0};
}

static struct device instance(const struct trace_node *n, int32_t gpu_index, const struct trace_instance *in)
{
    const struct mig_family *family = mig_family_of(n->model, n->gpu_mem_mib);
    struct device d = gpu(n, DEVICE_INSTANCE_INDEX(gpu_index, in->start));

    d.mem_mib = mig_shape_find(family, in->profile)->mem_mib;
    d.slot_n = 1;
    d.profile = in->profile;
    d.gpu_index = gpu_index;
    d.start = in->start;
    return d;
}

/* In the order of their starts, because an inventory is in the order of indexes. */
static size_t add_instances(const struct trace_node *n, int32_t gpu_index, struct device *ret)
{
    size_t count = 0;

    for (int start = 0; start < MIG_SLOTS_MAX; start++) {
        for (unsigned i = 0; i < n->instance_n; i++) {
            if (n->instances[i].start == start) {
                ret[count++] = instance(n, gpu_index, &n->instances[i]);
            }
        }
    }
    return count;
}

size_t trace_devices(const struct trace_node *n, struct device ret[DEVICES_PER_NODE_MAX])
{
    size_t count = 0;

    for (int32_t i = 0; i < n->gpu_n; i++) {
        ret[count++] = gpu(n, i);
    }
    for (int32_t i = 0; i < n->gpu_n && n->instance_n > 0; i++) {
        count += add_instances(n, i, &ret[count]);
    }
    return count;
}
