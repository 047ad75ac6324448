#include "node/facts.h"

#include "base/bug.h"
#include "base/compiler.h"

#include <stddef.h>
#include <string.h>

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

static struct str text_at(const void *items, size_t at)
{
    struct str s;

    memcpy(&s, (const char *)items + at, sizeof(s));
    return s;
}

/* items[0..n) and, behind them, the texts that lie in each of them at these offsets. */
static void *copy_with_texts(const void *items, size_t n, size_t size, const size_t *texts, size_t text_n)
{
    size_t bytes = n * size;
    char *copy, *text;

    for (size_t i = 0; i < n * text_n; i++) {
        bytes += text_at(items, i / text_n * size + texts[i % text_n]).n;
    }
    copy = xmalloc(bytes);
    text = copy + n * size;
    if (n > 0) {
        memcpy(copy, items, n * size);
    }
    for (size_t i = 0; i < n * text_n; i++) {
        const size_t at = i / text_n * size + texts[i % text_n];
        const struct str s = str_put(&text, text_at(items, at));

        memcpy(copy + at, &s, sizeof(s));
    }
    return copy;
}

struct device *node_facts_copy_devices(const struct device *devices, size_t n)
{
    static const size_t texts[] = {offsetof(struct device, uuid), offsetof(struct device, model)};

    return copy_with_texts(devices, n, sizeof(*devices), texts, ARRAY_LEN(texts));
}

struct health_ill *node_facts_copy_ill(const struct health_ill *ill, size_t n)
{
    static const size_t text = offsetof(struct health_ill, uuid);

    return copy_with_texts(ill, n, sizeof(*ill), &text, 1);
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
