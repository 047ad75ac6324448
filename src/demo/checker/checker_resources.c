/* What kubelet would count: limits against allocatable, whoever bound the pod. */
#include "demo/checker/checker_internal.h"

#include "base/bug.h"
#include "base/quantity.h"
#include "demo/doc_internal.h"

#include <stdio.h>
#include <string.h>

static int64_t whole_units(const cJSON *text)
{
    struct quantity q;

    return cJSON_IsString(text) && quantity_parse(str_of(text->valuestring), &q) == QUANTITY_OK ? quantity_value(q) : 0;
}

static bool is_extended(const char *name)
{
    return strchr(name, '/') != NULL && strstr(name, "kubernetes.io/") == NULL;
}

/* Of NVIDIA's plugin, shared or not: the names whose devices kubelet picks. */
static bool is_whole_gpu(const char *name)
{
    return strcmp(name, "nvidia.com/gpu") == 0 || strcmp(name, "nvidia.com/gpu.shared") == 0;
}

void checker_read_resources(struct checker_node *n, const cJSON *node)
{
    const cJSON *allocatable = doc_at(node, "status.allocatable"), *q;
    int size = cJSON_GetArraySize(allocatable);

    n->resources = xcalloc(size > 0 ? (size_t)size : 1, sizeof(*n->resources));
    cJSON_ArrayForEach(q, allocatable)
    {
        if (is_extended(q->string)) {
            struct checker_resource *r = &n->resources[n->resource_n++];

            snprintf(r->name, sizeof(r->name), "%s", q->string);
            r->amount = whole_units(q);
            n->unpicked_of += is_whole_gpu(q->string) ? r->amount : 0;
        }
    }
}

static int64_t limit_of(const cJSON *container, const char *name)
{
    return whole_units(doc_field(doc_at(container, "resources.limits"), name));
}

/* As kubelet sums: all containers and sidecars together, or one init container if that is more. */
static int64_t peak_of(const cJSON *pod, const char *name)
{
    int64_t together = 0, peak = 0;
    const cJSON *c;

    cJSON_ArrayForEach(c, doc_at(pod, "spec.initContainers"))
    {
        int64_t now = together + limit_of(c, name);

        peak = now > peak ? now : peak;
        together = strcmp(doc_text(c, "restartPolicy"), "Always") == 0 ? now : together;
    }
    cJSON_ArrayForEach(c, doc_at(pod, "spec.containers"))
    {
        together += limit_of(c, name);
    }
    return together > peak ? together : peak;
}

void checker_take_resources(struct checker_node *n, const cJSON *pod, bool picked)
{
    for (size_t i = 0; i < n->resource_n; i++) {
        struct checker_resource *r = &n->resources[i];
        int64_t amount = peak_of(pod, r->name);

        r->used += amount;
        n->unpicked += is_whole_gpu(r->name) && !picked ? amount : 0;
    }
    n->picked_n += picked ? 1 : 0;
}

void checker_judge_resources(struct checker_report *r, const struct checker_node *n)
{
    for (size_t i = 0; i < n->resource_n; i++) {
        const struct checker_resource *q = &n->resources[i];

        if (q->used > q->amount) {
            r->overcommit_n++;
            checker_violation(r, "node %s: %lld of %lld %s", n->name, (long long)q->used, (long long)q->amount,
                              q->name);
        }
    }
    if (n->unpicked > 0 && n->picked_n > 0) {
        checker_violation(r, "node %s: kubelet picks GPUs for %lld beside those that fgpu picked", n->name,
                          (long long)n->unpicked);
    }
}
