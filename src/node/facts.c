#include "node/facts.h"

#include "base/bug.h"

bool node_facts_means(const struct assigned_device *recorded, const struct device *device)
{
    return recorded->uuid.n > 0 ? str_eq(recorded->uuid, device->uuid) : recorded->index == device->index;
}

const struct device *node_facts_device(const struct node_facts *node, const struct assigned_device *recorded)
{
    for (size_t i = 0; i < node->device_n; i++) {
        if (node_facts_means(recorded, &node->devices[i])) {
            return &node->devices[i];
        }
    }
    return NULL;
}

const struct health_verdict *node_facts_illness(const struct node_facts *node, struct str uuid)
{
    for (size_t i = 0; i < node->ill_n; i++) {
        if (str_eq(node->ill[i].uuid, uuid)) {
            return &node->ill[i].verdict;
        }
    }
    return NULL;
}

struct device *node_facts_copy_devices(const struct device *devices, size_t n)
{
    struct device *copy;
    size_t bytes = 0;
    char *text;

    for (size_t i = 0; i < n; i++) {
        bytes += devices[i].uuid.n + devices[i].model.n;
    }
    copy = xmalloc(n * sizeof(*copy) + bytes);
    text = (char *)(copy + n);
    for (size_t i = 0; i < n; i++) {
        copy[i] = devices[i];
        copy[i].uuid = str_put(&text, devices[i].uuid);
        copy[i].model = str_put(&text, devices[i].model);
    }
    return copy;
}

struct health_ill *node_facts_copy_ill(const struct health_ill *ill, size_t n)
{
    struct health_ill *copy;
    size_t bytes = 0;
    char *text;

    for (size_t i = 0; i < n; i++) {
        bytes += ill[i].uuid.n;
    }
    copy = xmalloc(n * sizeof(*copy) + bytes);
    text = (char *)(copy + n);
    for (size_t i = 0; i < n; i++) {
        copy[i] = ill[i];
        copy[i].uuid = str_put(&text, ill[i].uuid);
    }
    return copy;
}

struct gpu_nodes node_facts_nodes(const struct node_facts *node, const struct assigned_device *recorded, size_t n,
                                  bool *ret_all)
{
    struct gpu_nodes nodes = {.everything = false};
    bool all = true;

    for (size_t i = 0; i < n; i++) {
        const struct device *d = node_facts_device(node, &recorded[i]);

        if (d != NULL && d->minor >= 0) {
            gpu_nodes_open(&nodes, GPU_NODES_MAJOR, d->minor);
        } else {
            all = false;
        }
    }
    if (ret_all != NULL) {
        *ret_all = all;
    }
    return nodes;
}
