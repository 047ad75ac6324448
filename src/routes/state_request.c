/* What a pod asked for, as /state says it: the demand without names of resources. */
#include "routes/state_internal.h"

#include "base/bug.h"
#include "model/mig.h"
#include "model/qos.h"

#include <stdlib.h>

static void write_gpu_request(struct json_writer *w, const struct gpu_request *gpu_request)
{
    json_write_object_begin(w);
    json_write_kv_str(w, "container", gpu_request->container);
    json_write_kv_bool(w, "init", gpu_request->init);
    json_write_kv_i64(w, "count", gpu_request->count);
    json_write_kv_cstr(w, "kind", gpu_request_kind_name(gpu_request->kind));
    if (gpu_request_kind_has_milli(gpu_request->kind)) {
        json_write_kv_i64(w, "milli", gpu_request->milli);
    }
    if (gpu_request_kind_has_mem(gpu_request->kind) || gpu_request->mem_mib > 0) {
        json_write_kv_i64(w, "memMib", gpu_request->mem_mib);
    }
    if (gpu_request->profile != 0) {
        char text[MIG_PROFILE_BYTES_MAX];

        json_write_kv_cstr(w, "mig", mig_profile_text(gpu_request->profile, text));
    }
    if (gpu_request->phases > 1) {
        json_write_kv_i64(w, "phases", (int64_t)gpu_request->phases);
    }
    json_write_object_end(w);
}

static void write_gpu_requests(struct json_writer *w, const char *key, const struct demand *d)
{
    json_write_kv_array_begin(w, key);
    for (size_t i = 0; i < d->gpu_request_n; i++) {
        write_gpu_request(w, &d->gpu_requests[i]);
    }
    json_write_array_end(w);
}

static void write_patterns(struct json_writer *w, const char *key, const struct device_pattern *p, size_t n)
{
    if (n == 0) {
        return;
    }
    json_write_kv_array_begin(w, key);
    for (size_t i = 0; i < n; i++) {
        json_write_object_begin(w);
        json_write_kv_str(w, "text", p[i].text);
        json_write_kv_bool(w, "exclude", p[i].exclude);
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

void state_write_request(struct json_writer *w, const struct demand *d)
{
    json_write_kv_object_begin(w, "request");
    json_write_kv_bool(w, "editable", d->source == DEMAND_FROM_ANNOTATIONS);
    if (d->defect != DEMAND_OK) {
        json_write_kv_cstr(w, "defect", demand_defect_name(d->defect));
    }
    if (d->says_qos) {
        json_write_kv_cstr(w, "qos", qos_name(d->qos));
    }
    if (d->plugin_managed_n > 0) {
        json_write_kv_i64(w, "wholeGpus", d->plugin_managed_n);
        if (d->plugin_managed_most > 1) {
            json_write_kv_i64(w, "mostInAContainer", d->plugin_managed_most);
        }
    }
    write_gpu_requests(w, "gpuRequests", d);
    write_gpu_requests(w, "wishes", d); /* the older name (decision 0047) */
    write_patterns(w, "models", d->models, d->model_n);
    write_patterns(w, "uuids", d->uuids, d->uuid_n);
    state_write_positive(w, "cpuMilli", d->host.cpu_milli);
    state_write_positive(w, "memMib", d->host.mem_mib);
    state_write_if(w, "isolated", d->isolate_n > 0);
    json_write_object_end(w);
}

/* Pods whose GPUs are not known; those that count everywhere stand in the allocations of every GPU
 * too. */
void state_write_unplaced(struct json_writer *w, const struct node_item *item)
{
    bool open = false;

    for (size_t i = 0; i < item->beside_n; i++) {
        const struct snapshot_pod *p = item->beside[i];

        if (p->demand == NULL) {
            continue;
        }
        if (!open) {
            json_write_kv_array_begin(w, "unplaced");
            open = true;
        }
        json_write_object_begin(w);
        state_write_pod_name(w, p);
        state_write_decision(w, p);
        state_write_request(w, p->demand);
        json_write_object_end(w);
    }
    if (open) {
        json_write_array_end(w);
    }
}

struct raised {
    const struct snapshot_pod *pod;
    const struct charge *charge;
};

static int raised_by_name(const void *a, const void *b)
{
    const struct raised *x = a, *y = b;

    return state_compare_pods(x->pod, y->pod);
}

void state_write_raised(struct json_writer *w, const struct snapshot_pod *pods, const struct snapshot_device *gpu)
{
    struct raised *all = gpu->raised_n == 0 ? NULL : xcalloc(gpu->raised_n, sizeof(*all));

    if (all == NULL) {
        return;
    }
    for (size_t i = 0; i < gpu->raised_n; i++) {
        all[i] = (struct raised){&pods[gpu->raised[i].pod], &gpu->raised[i].charge};
    }
    qsort(all, gpu->raised_n, sizeof(*all), raised_by_name);
    json_write_kv_array_begin(w, "raised");
    for (size_t i = 0; i < gpu->raised_n; i++) {
        json_write_object_begin(w);
        json_write_kv_str(w, "uid", all[i].pod->uid);
        json_write_kv_i64(w, "milli", all[i].charge->milli);
        json_write_kv_i64(w, "memMib", all[i].charge->mem_mib);
        json_write_kv_i64(w, "slots", all[i].charge->slots);
        json_write_kv_bool(w, "exclusive", all[i].charge->exclusive);
        json_write_object_end(w);
    }
    json_write_array_end(w);
    free(all);
}
