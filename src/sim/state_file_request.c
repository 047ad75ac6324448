/* Pods of the document that stand by themselves, and what they ask for. */
#include "sim/state_file_internal.h"

#include <string.h>

static void read_defect(struct json_reader *r, enum demand_defect *ret)
{
    struct str text = STR_NULL;

    json_string(r, &text);
    for (int i = DEMAND_OK + 1; !json_failed(r) && i < DEMAND_DEFECT__MAX; i++) {
        if (str_eq_cstr(text, demand_defect_name((enum demand_defect)i))) {
            *ret = (enum demand_defect)i;
            return;
        }
    }
    json_fail(r, ERR_INVALID, "a defect that this version does not know");
}

static void read_gpu_request(struct file_reader *f, struct gpu_request *w)
{
    struct json_reader *r = &f->json;
    int64_t count = 0, milli = 0, phases = 1;
    struct str key;

    *w = (struct gpu_request){.kind = GPU_REQUEST_KIND__MAX};
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq_cstr(key, "container")) {
            json_string(r, &w->container);
        } else if (str_eq_cstr(key, "init")) {
            json_bool(r, &w->init);
        } else if (str_eq_cstr(key, "count")) {
            state_file_i64(r, 1, DEVICES_PER_NODE_MAX, &count);
        } else if (str_eq_cstr(key, "kind")) {
            state_file_kind(r, &w->kind);
        } else if (str_eq_cstr(key, "milli")) {
            state_file_i64(r, 0, DEVICE_MILLI, &milli);
        } else if (str_eq_cstr(key, "memMib")) {
            state_file_i64(r, 0, DEMAND_MEM_MIB_MAX, &w->mem_mib);
        } else if (str_eq_cstr(key, "phases")) {
            json_i64(r, &phases);
        } else if (str_eq_cstr(key, "mig")) {
            state_file_profile(r, &w->profile);
        } else {
            json_skip(r);
        }
    }
    if (!json_failed(r) && (count == 0 || w->kind == GPU_REQUEST_KIND__MAX || phases == 0)) {
        json_fail(r, ERR_INVALID, "a GPU request without count, kind or phases");
    }
    w->count = (uint16_t)count;
    w->milli = w->kind == GPU_REQUEST_WHOLE ? DEVICE_MILLI : (int32_t)milli;
    w->phases = (uint64_t)phases;
}

/* A copy in the arena of what was read. */
static const void *kept(struct file_reader *f, const void *items, size_t bytes)
{
    void *copy = arena_alloc(f->arena, bytes);

    if (copy == NULL) {
        json_fail(&f->json, ERR_LIMIT, "the document does not fit its memory");
        return NULL;
    }
    return memcpy(copy, items, bytes);
}

static void read_gpu_requests(struct file_reader *f, struct demand *d)
{
    struct gpu_request gpu_requests[DEMAND_GPU_REQUESTS_MAX];

    json_array_begin(&f->json);
    while (json_array_next(&f->json)) {
        if (d->gpu_request_n == DEMAND_GPU_REQUESTS_MAX) {
            json_fail(&f->json, ERR_LIMIT, "more than 64 GPU requests of one pod");
            return;
        }
        read_gpu_request(f, &gpu_requests[d->gpu_request_n++]);
    }
    d->gpu_requests = kept(f, gpu_requests, d->gpu_request_n * sizeof(*gpu_requests));
}

static const struct device_pattern *read_patterns(struct file_reader *f, size_t *ret_n)
{
    struct device_pattern patterns[DEMAND_PATTERNS_MAX] = {0};
    struct json_reader *r = &f->json;
    struct str key;

    json_array_begin(r);
    while (json_array_next(r)) {
        if (*ret_n == DEMAND_PATTERNS_MAX) {
            json_fail(r, ERR_LIMIT, "more than 64 models or UUIDs in one request");
            return NULL;
        }
        json_object_begin(r);
        while (json_object_next(r, &key)) {
            if (str_eq_cstr(key, "text")) {
                json_string(r, &patterns[*ret_n].text);
            } else if (str_eq_cstr(key, "exclude")) {
                json_bool(r, &patterns[*ret_n].exclude);
            } else {
                json_skip(r);
            }
        }
        ++*ret_n;
    }
    return kept(f, patterns, *ret_n * sizeof(*patterns));
}

static void read_request_key(struct file_reader *f, struct str key, struct demand *d)
{
    struct json_reader *r = &f->json;
    int64_t n = 0;
    bool yes = false;

    if (str_eq_cstr(key, "editable")) {
        json_bool(r, &yes);
        d->source = yes ? DEMAND_FROM_ANNOTATIONS : DEMAND_FROM_RESOURCES;
    } else if (str_eq_cstr(key, "defect")) {
        read_defect(r, &d->defect);
    } else if (str_eq_cstr(key, "qos")) {
        d->says_qos = true;
        state_file_qos(r, &d->qos);
    } else if (str_eq_cstr(key, "wholeGpus")) {
        state_file_i64(r, 1, DEMAND_PLUGIN_MANAGED_MAX, &n);
        d->plugin_managed_n = (int32_t)n;
    } else if (str_eq_cstr(key, "mostInAContainer")) {
        state_file_i64(r, 2, DEMAND_PLUGIN_MANAGED_MAX, &n);
        d->plugin_managed_most = (int32_t)n;
    } else if (str_eq_cstr(key, "gpuRequests") ||
               (str_eq_cstr(key, "wishes") && d->gpu_request_n == 0)) { /* the older name (decision 0047) */
        read_gpu_requests(f, d);
    } else if (str_eq_cstr(key, "models")) {
        d->models = read_patterns(f, &d->model_n);
    } else if (str_eq_cstr(key, "uuids")) {
        d->uuids = read_patterns(f, &d->uuid_n);
    } else if (str_eq_cstr(key, "cpuMilli")) {
        state_file_i64(r, 0, INT32_MAX, &n);
        d->host.cpu_milli = (int32_t)n;
    } else if (str_eq_cstr(key, "memMib")) {
        state_file_i64(r, 0, INT32_MAX, &n);
        d->host.mem_mib = (int32_t)n;
    } else if (str_eq_cstr(key, "isolated")) {
        json_bool(r, &yes);
        f->file->isolated_n += yes;
    } else {
        json_skip(r);
    }
}

static struct demand *new_demand(struct file_reader *f)
{
    struct demand *d = ARENA_NEW(f->arena, struct demand);

    if (d == NULL) {
        json_fail(&f->json, ERR_LIMIT, "the document does not fit its memory");
        return NULL;
    }
    d->dialect = "";
    return d;
}

static void read_request(struct file_reader *f, struct file_pod *pod)
{
    struct json_reader *r = &f->json;
    struct str key;

    pod->demand = new_demand(f);
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (pod->demand == NULL) {
            json_skip(r);
        } else {
            read_request_key(f, key, pod->demand);
        }
    }
}

void state_file_decode_pod(struct file_reader *f, uint32_t node)
{
    struct file_pod pod = {.node = node, .dialect = ""};
    struct json_reader *r = &f->json;
    int64_t whole_n = 0, priority = 0;
    struct str key;

    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq_cstr(key, "request")) {
            read_request(f, &pod);
        } else if (str_eq_cstr(key, "count")) {
            state_file_i64(r, 1, DEMAND_PLUGIN_MANAGED_MAX, &whole_n);
        } else if (str_eq_cstr(key, "priority")) {
            state_file_i64(r, INT32_MIN, INT32_MAX, &priority);
        } else if (!state_file_pod_key(f, key, &pod)) {
            json_skip(r);
        }
    }
    if (!json_failed(r) && pod.demand == NULL && whole_n > 0) {
        pod.demand = new_demand(f);
        if (pod.demand != NULL) {
            pod.demand->plugin_managed_n = (int32_t)whole_n;
        }
    }
    if (!json_failed(r) && (pod.uid.n == 0 || pod.demand == NULL)) {
        json_fail(r, ERR_INVALID, "a pod without uid or request: the document is of a version that did not say it");
    }
    if (pod.demand != NULL) {
        pod.demand->dialect = pod.dialect;
    }
    pod.priority = (int32_t)priority;
    f->pods = state_file_grow(f->pods, &f->pod_n, &f->pod_cap, sizeof(*f->pods));
    f->pods[f->pod_n - 1] = pod;
}
