#include "node/facts.h"

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
