/* Nodes whose GPUs are virtual ones of a fixed profile, named by a label (K8vGPUSharing). How many
 * there are another source says; the profile says what each of them is. */
#include "core/inventory/internal.h"
#include "core/inventory/vgpu_profile.h"

static const struct str *find_label(const struct node *node, bool *ret_two)
{
    const struct str *a = kv_find(node->labels, STR("vgpu.type"));
    const struct str *b = kv_find(node->labels, STR("virtual.gpu.type"));

    *ret_two = a != NULL && b != NULL && !str_eq(*a, *b);
    return a != NULL ? a : b;
}

bool inventory_has_profile(const struct node *node)
{
    bool two;

    return find_label(node, &two) != NULL;
}

static void apply_to(struct inventory_draft *d, struct device *device, struct str label, int64_t mem_mib)
{
    if (device->part_milli > 0) { /* from here on its own memory, as the profile's is */
        device->mem_mib = device->mem_mib * device->part_milli / DEVICE_MILLI;
    }
    if (device->mem_mib > mem_mib) {
        inventory_add_note(
            d, "the profile of the virtual GPUs has less memory than their inventory says: fgpu uses the profile");
    }
    if (device->mem_mib == 0 || device->mem_mib > mem_mib) {
        device->mem_mib = mem_mib;
    }
    if (device->model.n == 0) {
        device->model = label;
    }
    device->slot_n = 1; /* a slice is not shared again */
    device->slice = device->profile == 0;
}

void inventory_apply_profile(struct inventory_draft *d)
{
    bool two;
    const struct str *label = find_label(d->node, &two);
    int64_t mem_mib;

    if (label == NULL) {
        return;
    }
    if (two || !vgpu_profile_parse(*label, &mem_mib)) {
        d->device_n = 0;
        inventory_add_note(d, two ? "labels vgpu.type and virtual.gpu.type name different profiles"
                                  : "label vgpu.type or virtual.gpu.type is not a known profile such as "
                                    "v100-4q-4GB: fgpu does not guess what these GPUs have");
        return;
    }
    if (d->device_n == 0) {
        inventory_add_note(d, "label vgpu.type or virtual.gpu.type without a number of GPUs in allocatable");
    }
    for (size_t i = 0; i < d->device_n; i++) {
        apply_to(d, &d->devices[i], *label, mem_mib);
    }
}
