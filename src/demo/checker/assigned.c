#include "demo/checker/assigned_internal.h"

#include "base/bug.h"
#include "base/quantity.h"
#include "demo/doc_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool amount(const cJSON *v, int64_t max, int64_t *ret)
{
    if (!cJSON_IsNumber(v) || v->valuedouble < 0 || v->valuedouble > (double)max ||
        v->valuedouble != (double)(int64_t)v->valuedouble) {
        return false;
    }
    *ret = (int64_t)v->valuedouble;
    return true;
}

static const char *read_device(const cJSON *d, struct assigned *as)
{
    int64_t index;
    if (!amount(doc_field(d, "index"), 65535, &index)) {
        return "index is not a small whole number";
    }
    if (!amount(doc_field(d, "milli"), 1000, &as->milli)) {
        return "milli is not within 0..1000";
    }
    if (!amount(doc_field(d, "memMib"), (int64_t)1 << 40, &as->mem_mib)) {
        return "memMib is not a whole number";
    }
    as->index = (int32_t)index;
    snprintf(as->uuid, sizeof(as->uuid), "%s", doc_text(d, "uuid"));
    return NULL;
}

static const char *read_container(const cJSON *c, struct assigned_list *l)
{
    const cJSON *devices = doc_field(c, "devices"), *d;
    if (!cJSON_IsArray(devices) || doc_text(c, "name")[0] == '\0') {
        return "a container without name or devices";
    }
    cJSON_ArrayForEach(d, devices)
    {
        struct assigned as = {.init = cJSON_IsTrue(doc_field(c, "init"))};
        snprintf(as.container, sizeof(as.container), "%s", doc_text(c, "name"));
        const char *why = read_device(d, &as);
        if (why) {
            return why;
        }
        l->items = xreallocarray(l->items, l->n + 1, sizeof(*l->items));
        l->items[l->n++] = as;
    }
    return NULL;
}

const char *assigned_read(const cJSON *pod, struct assigned_list *ret)
{
    const cJSON *annotation = doc_field(doc_at(pod, "metadata.annotations"), "fgpu.io/assignment"), *c;
    struct assigned_list l = {0};
    if (!annotation) {
        *ret = l;
        return NULL;
    }
    const char *why = "not JSON of version 1 with a list of containers";
    cJSON *doc = doc_parse(str_of(cJSON_GetStringValue(annotation)));
    const cJSON *version = doc_field(doc, "v"), *containers = doc_field(doc, "containers");
    if (cJSON_IsNumber(version) && version->valueint == 1 && cJSON_IsArray(containers)) {
        why = NULL;
        cJSON_ArrayForEach(c, containers)
        {
            why = why ? why : read_container(c, &l);
        }
    }
    cJSON_Delete(doc);
    if (why) {
        assigned_fini(&l);
        return why;
    }
    *ret = l;
    return NULL;
}

void assigned_fini(struct assigned_list *l)
{
    free(l->items);
    *l = (struct assigned_list){0};
}

/* The whole number in limits[key]; 0 when absent or not a quantity (then fgpu refuses the pod
 * anyway). */
static int64_t limit(const cJSON *container, const char *key)
{
    struct quantity q;
    const char *text = cJSON_GetStringValue(doc_field(doc_at(container, "resources.limits"), key));
    return text && quantity_parse(str_of(text), &q) == QUANTITY_OK ? quantity_value(q) : 0;
}

/* What a size means only the configuration knows; but it is never nothing. */
static bool names_size(const cJSON *container)
{
    static const char prefix[] = "fgpu.io/size.";
    const cJSON *l;

    cJSON_ArrayForEach(l, doc_at(container, "resources.limits"))
    {
        if (strncmp(l->string, prefix, sizeof(prefix) - 1) == 0 && limit(container, l->string) > 0) {
            return true;
        }
    }
    return false;
}

static bool sized_container_short(const cJSON *c, bool init, const struct assigned_list *l, char *buf, size_t size)
{
    for (size_t i = 0; i < l->n; i++) {
        if (l->items[i].init == init && strcmp(l->items[i].container, doc_text(c, "name")) == 0) {
            return false;
        }
    }
    snprintf(buf, size, "container %s asks for a size and has no device", doc_text(c, "name"));
    return true;
}

static bool container_short(const cJSON *c, bool init, const struct assigned_list *l, char *buf, size_t size)
{
    if (names_size(c)) {
        return sized_container_short(c, init, l, buf, size);
    }

    int64_t milli = limit(c, "fgpu.io/gpu-milli"), mem = limit(c, "fgpu.io/gpu-memory-mib");
    int64_t count = limit(c, "fgpu.io/gpu-count"), have = 0;
    if (milli == 0 && mem == 0 && count == 0) {
        return false;
    }
    if (milli > 1000 && count == 0) { /* k x 1000: k whole devices */
        count = milli / 1000;
    }
    if (milli > 1000 || (milli == 0 && mem == 0)) {
        milli = 1000;
    }
    count = count > 0 ? count : 1;
    for (size_t i = 0; i < l->n; i++) {
        const struct assigned *as = &l->items[i];
        have += as->init == init && strcmp(as->container, doc_text(c, "name")) == 0 && as->milli >= milli &&
                as->mem_mib >= mem;
    }
    if (have != count) {
        snprintf(buf, size, "container %s asks for %lld x (%lld milli, %lld MiB) and has %lld such devices",
                 doc_text(c, "name"), (long long)count, (long long)milli, (long long)mem, (long long)have);
        return true;
    }
    return false;
}

static bool asks_by_annotation(const cJSON *pod)
{
    static const char *const keys[] = {"fgpu.io/gpu-fraction", "fgpu.io/gpu-memory", "fgpu.io/gpu-count",
                                       "fgpu.io/size"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (doc_field(doc_at(pod, "metadata.annotations"), keys[i])) {
            return true;
        }
    }
    return false;
}

bool assigned_short(const cJSON *pod, const struct assigned_list *l, char *buf, size_t size)
{
    const cJSON *c;
    if (l->n == 0 && asks_by_annotation(pod)) {
        snprintf(buf, size, "asks for GPUs by annotation and has no assignment");
        return true;
    }
    cJSON_ArrayForEach(c, doc_at(pod, "spec.initContainers"))
    {
        if (container_short(c, true, l, buf, size)) {
            return true;
        }
    }
    cJSON_ArrayForEach(c, doc_at(pod, "spec.containers"))
    {
        if (container_short(c, false, l, buf, size)) {
            return true;
        }
    }
    return false;
}
