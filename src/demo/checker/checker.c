#include "demo/checker/checker.h"

#include "base/bug.h"
#include "demo/apiserver/apiserver.h"
#include "demo/checker/assigned_internal.h"
#include "demo/checker/checker_internal.h"
#include "demo/doc_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void checker_violation(struct checker_report *r, const char *fmt, ...)
{
    if (r->violation_n++ == 0) {
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(r->first_violation, sizeof(r->first_violation), fmt, ap);
        va_end(ap);
    }
}

static int64_t whole(const cJSON *v)
{
    return cJSON_IsNumber(v) ? (int64_t)v->valuedouble : 0;
}

static int by_index(const void *a, const void *b)
{
    const struct checker_device *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

static int64_t slices_of(const char *profile)
{
    return profile[0] >= '1' && profile[0] <= '9' ? profile[0] - '0' : 0;
}

/* The places behind the GPUs are 1024 + 8 * (index of the GPU) + start, as in fgpu.io/assignment. */
static void read_instance(struct checker_node *n, const struct checker_device *gpu, const cJSON *in)
{
    struct checker_device *d = &n->devices[n->device_n++];
    int64_t slices = slices_of(doc_text(in, "profile")), of = strstr(gpu->model, "A30") ? 4 : 7;
    int64_t mem = whole(doc_field(in, "memMib"));

    *d = (struct checker_device){.index = (int32_t)(1024 + 8 * gpu->index + whole(doc_field(in, "start"))),
                                 .mem_mib = mem > 0 ? mem : gpu->mem_mib,
                                 .milli = 1000 * slices / of,
                                 .slot_n = 1,
                                 .healthy = !cJSON_IsFalse(doc_field(in, "healthy"))};
    snprintf(d->uuid, sizeof(d->uuid), "%s", doc_text(in, "uuid"));
    snprintf(d->model, sizeof(d->model), "%.63s", doc_text(in, "profile"));
}

static void read_devices(struct checker_node *n, const cJSON *gpus)
{
    const cJSON *g, *in;
    int size = 0;
    cJSON_ArrayForEach(g, gpus)
    {
        size += 1 + cJSON_GetArraySize(doc_field(g, "mig"));
    }
    n->devices = xcalloc(size > 0 ? (size_t)size : 1, sizeof(*n->devices));
    cJSON_ArrayForEach(g, gpus)
    {
        struct checker_device *d = &n->devices[n->device_n++];
        const cJSON *slots = doc_field(g, "slots"), *mig = doc_field(g, "mig");
        snprintf(d->uuid, sizeof(d->uuid), "%s", doc_text(g, "uuid"));
        snprintf(d->model, sizeof(d->model), "%s", doc_text(g, "model"));
        d->index = (int32_t)whole(doc_field(g, "index"));
        d->mem_mib = whole(doc_field(g, "memMib"));
        d->milli = 1000;
        d->slot_n = cJSON_IsNumber(slots) ? (int32_t)whole(slots) : INT32_MAX;
        d->healthy = !cJSON_IsFalse(doc_field(g, "healthy"));
        if (cJSON_IsArray(mig)) {
            d->cut = true;
            cJSON_ArrayForEach(in, mig)
            {
                read_instance(n, d, in);
            }
            d->milli = d->slot_n = 0; /* the memory is left for people to read */
        }
    }
    qsort(n->devices, n->device_n, sizeof(*n->devices), by_index);
}

static void add_node(void *ctx, const cJSON *object)
{
    struct checker_report *r = ctx;
    if ((r->node_n & (r->node_n - 1)) == 0) { /* grow at powers of two */
        r->nodes = xreallocarray(r->nodes, r->node_n ? r->node_n * 2 : 1, sizeof(*r->nodes));
    }
    struct checker_node *n = &r->nodes[r->node_n++];
    *n = (struct checker_node){.readable = false};
    snprintf(n->name, sizeof(n->name), "%s", doc_text(object, "metadata.name"));

    const cJSON *annotations = doc_at(object, "metadata.annotations");
    const cJSON *text = doc_field(annotations, CHECKER_HARDWARE_KEY);
    text = text ? text : doc_field(annotations, "fgpu.io/gpus");
    cJSON *inventory = doc_parse(str_of(cJSON_GetStringValue(text)));
    const cJSON *gpus = doc_field(inventory, "gpus");
    n->readable = cJSON_IsArray(gpus);
    read_devices(n, gpus);
    checker_read_resources(n, object);
    cJSON_Delete(inventory);
}

static int by_name(const void *key, const void *node)
{
    return strcmp(key, ((const struct checker_node *)node)->name);
}

/* By UUID where the record has one, else by index. */
static struct checker_device *find_device(const struct checker_node *n, const struct assigned *as)
{
    for (size_t i = 0; i < n->device_n; i++) {
        struct checker_device *d = &n->devices[i];
        if (as->uuid[0] ? strcmp(as->uuid, d->uuid) == 0 : as->index == d->index) {
            return d;
        }
    }
    return NULL;
}

struct load {
    int64_t milli, mem_mib;
    int32_t sharers;
};

static void add_load(struct load *to, const struct assigned *as)
{
    to->milli += as->milli;
    to->mem_mib += as->mem_mib;
    to->sharers++;
}

static void raise_to(struct load *peak, const struct load *l)
{
    peak->milli = l->milli > peak->milli ? l->milli : peak->milli;
    peak->mem_mib = l->mem_mib > peak->mem_mib ? l->mem_mib : peak->mem_mib;
    peak->sharers = l->sharers > peak->sharers ? l->sharers : peak->sharers;
}

/* What the pod holds of device d at its worst moment: init containers run one after the other
 * beside the sidecars started before them, the others all together beside all sidecars. */
static struct load pod_load(const struct assigned_list *list, const struct checker_node *n,
                            const struct checker_device *d, const cJSON *pod)
{
    struct load sidecars = {0}, peak = {0};
    const cJSON *c;
    cJSON_ArrayForEach(c, doc_at(pod, "spec.initContainers"))
    {
        bool sidecar = strcmp(doc_text(c, "restartPolicy"), "Always") == 0;
        struct load now = sidecars;
        for (size_t i = 0; i < list->n; i++) {
            const struct assigned *as = &list->items[i];
            if (as->init && strcmp(as->container, doc_text(c, "name")) == 0 && find_device(n, as) == d) {
                add_load(&now, as);
            }
        }
        raise_to(&peak, &now);
        if (sidecar) {
            sidecars = now;
        }
    }
    for (size_t i = 0; i < list->n; i++) {
        if (!list->items[i].init && find_device(n, &list->items[i]) == d) {
            add_load(&sidecars, &list->items[i]);
        }
    }
    raise_to(&peak, &sidecars);
    return peak;
}

static bool named_before(const struct assigned_list *list, size_t at)
{
    const struct assigned *b = &list->items[at];
    for (size_t i = 0; i < at; i++) {
        const struct assigned *a = &list->items[i];
        if (a->init == b->init && a->index == b->index && strcmp(a->uuid, b->uuid) == 0 &&
            strcmp(a->container, b->container) == 0) {
            return true;
        }
    }
    return false;
}

static void charge(struct checker_report *r, struct checker_node *n, const cJSON *pod, const struct assigned_list *list)
{
    const char *name = doc_text(pod, "metadata.name");
    for (size_t i = 0; i < list->n; i++) {
        if (!find_device(n, &list->items[i])) {
            checker_violation(r, "pod %s: assigned device %s (index %d) is not on node %s", name, list->items[i].uuid,
                              list->items[i].index, n->name);
        }
        if (named_before(list, i)) {
            checker_violation(r, "pod %s: container %s has device %s twice", name, list->items[i].container,
                              list->items[i].uuid);
        }
    }
    for (size_t i = 0; i < n->device_n; i++) {
        struct checker_device *d = &n->devices[i];
        struct load l = pod_load(list, n, d, pod);
        d->milli_used += l.milli;
        d->mem_used_mib += l.mem_mib;
        d->sharer_n += l.sharers;
    }
}

static void check_bound(struct checker_report *r, const cJSON *pod)
{
    const char *name = doc_text(pod, "metadata.name"), *node = doc_text(pod, "spec.nodeName");
    struct checker_node *n = r->node_n == 0 ? NULL : bsearch(node, r->nodes, r->node_n, sizeof(*r->nodes), by_name);
    struct assigned_list list;
    const char *why = assigned_read(pod, &list);
    char less[160];
    if (why) {
        checker_violation(r, "pod %s: assignment: %s", name, why);
        return;
    }
    if (n) {
        checker_take_resources(n, pod, list.n > 0);
    }
    if (list.n > 0 && !n) {
        checker_violation(r, "pod %s: assigned devices on node %s, which does not exist", name, node);
    } else if (n) {
        charge(r, n, pod, &list);
    }
    if (assigned_short(pod, &list, less, sizeof(less))) {
        checker_violation(r, "pod %s: %s", name, less);
    }
    assigned_fini(&list);
}

static void add_pod(void *ctx, const cJSON *pod)
{
    struct checker_report *r = ctx;
    const char *phase = doc_text(pod, "status.phase");
    if (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0) {
        return;
    }
    r->terminating_n += doc_text(pod, "metadata.deletionTimestamp")[0] != '\0';
    if (doc_text(pod, "spec.nodeName")[0] == '\0') {
        r->pending_n++;
        return;
    }
    r->bound_n++;
    check_bound(r, pod);
}

static void check_device(struct checker_report *r, const struct checker_node *n, const struct checker_device *d)
{
    int64_t milli = d->milli - d->milli_used, mem = d->mem_mib - d->mem_used_mib;
    if (milli < 0 || mem < 0 || d->sharer_n > d->slot_n) {
        r->overcommit_n++;
        checker_violation(r, "node %s gpu %d: %lld of %lld milli, %lld of %lld MiB, %d of %d sharers", n->name,
                          d->index, (long long)d->milli_used, (long long)d->milli, (long long)d->mem_used_mib,
                          (long long)d->mem_mib, d->sharer_n, d->slot_n);
    }
    if (d->cut) {
        return;
    }
    r->device_n++;
    r->milli_capacity += d->milli;
    r->milli_used += d->milli_used;
    r->mem_capacity_mib += d->mem_mib;
    r->mem_used_mib += d->mem_used_mib;
    r->empty_device_n += d->sharer_n == 0;
    r->largest_hole_milli = milli > r->largest_hole_milli ? milli : r->largest_hole_milli;
    r->largest_hole_mib = mem > r->largest_hole_mib ? mem : r->largest_hole_mib;
}

void checker_run(struct apiserver *a, struct checker_report *ret)
{
    struct checker_report r = {0};
    apiserver_each(a, APISERVER_NODES, add_node, &r);
    r.rv = apiserver_each(a, APISERVER_PODS, add_pod, &r);
    for (size_t i = 0; i < r.node_n; i++) {
        if (!r.nodes[i].readable) {
            checker_violation(&r, "node %s: annotation fgpu.io/gpus cannot be read", r.nodes[i].name);
        }
        checker_judge_resources(&r, &r.nodes[i]);
        for (size_t d = 0; d < r.nodes[i].device_n; d++) {
            check_device(&r, &r.nodes[i], &r.nodes[i].devices[d]);
        }
    }
    *ret = r;
}

void checker_report_fini(struct checker_report *r)
{
    for (size_t i = 0; i < r->node_n; i++) {
        free(r->nodes[i].devices);
        free(r->nodes[i].resources);
    }
    free(r->nodes);
    *r = (struct checker_report){0};
}

/* "2", or of an instance its GPU and its start: "0/4". */
static int index_text(int32_t index, char *buf, size_t size)
{
    return index < 1024 ? snprintf(buf, size, "%d", index)
                        : snprintf(buf, size, "%d/%d", (index - 1024) / 8, index % 8);
}

static bool index_seen(const struct assigned_list *list, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (list->items[i].index == list->items[at].index) {
            return true;
        }
    }
    return false;
}

void checker_devices_text(const cJSON *pod, char *buf, size_t size)
{
    struct assigned_list list;
    size_t at = 0;
    buf[0] = '\0';
    if (assigned_read(pod, &list)) {
        return;
    }
    for (size_t i = 0; i < list.n; i++) {
        char text[24];
        index_text(list.items[i].index, text, sizeof(text));
        if (!index_seen(&list, i) && at < size) {
            int n = snprintf(buf + at, size - at, "%s%s", at > 0 ? "," : "gpu ", text);
            at += n > 0 ? (size_t)n : 0;
        }
    }
    assigned_fini(&list);
}
