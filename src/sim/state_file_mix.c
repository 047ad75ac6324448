/* summary.demandHistogram of /state: what the process had learned of what pods ask for. */
#include "sim/state_file_internal.h"

#include "core/request/demand_histogram.h"

#define MODELS_MAX 32

struct shape {
    struct demand demand;
    struct gpu_request gpu_request;
    struct device_pattern models[MODELS_MAX];
    int64_t weight;
    bool plugin;
};

/* "A100*,!T4", as the annotation fgpu.io/gpu-model says it. */
static void read_models(struct shape *s, struct str text)
{
    struct str rest = text, part;

    s->demand.models = s->models;
    while (s->demand.model_n < MODELS_MAX && str_split(&rest, ',', &part)) {
        bool exclude = str_starts(part, STR("!"));

        s->models[s->demand.model_n++] =
            (struct device_pattern){exclude ? (struct str){part.p + 1, part.n - 1} : part, exclude};
    }
}

static void read_shape_key(struct json_reader *r, struct str key, struct shape *s)
{
    int64_t v = 0;
    struct str text = STR_NULL;

    if (str_eq_cstr(key, "weight")) {
        state_file_i64(r, 0, INT64_MAX, &s->weight);
    } else if (str_eq_cstr(key, "count") && state_file_i64(r, 0, UINT16_MAX, &v)) {
        s->gpu_request.count = (uint16_t)v;
    } else if (str_eq_cstr(key, "plugin")) {
        json_bool(r, &s->plugin);
    } else if (str_eq_cstr(key, "kind")) {
        state_file_kind(r, &s->gpu_request.kind);
    } else if (str_eq_cstr(key, "milli") && state_file_i64(r, 0, DEVICE_MILLI, &v)) {
        s->gpu_request.milli = (int32_t)v;
    } else if (str_eq_cstr(key, "memMib")) {
        state_file_i64(r, 0, DEMAND_MEM_MIB_MAX, &s->gpu_request.mem_mib);
    } else if (str_eq_cstr(key, "cpuMilli") && state_file_i64(r, 0, INT32_MAX, &v)) {
        s->demand.host.cpu_milli = (int32_t)v;
    } else if (str_eq_cstr(key, "hostMemMib") && state_file_i64(r, 0, INT32_MAX, &v)) {
        s->demand.host.mem_mib = (int32_t)v;
    } else if (str_eq_cstr(key, "models") && json_string(r, &text)) {
        read_models(s, text);
    } else if (!json_failed(r)) { /* a number that is wrong is not to be skipped */
        json_skip(r);
    }
}

/* As many pods as its weight stands for, one at least. */
static void read_shape(struct file_reader *f)
{
    struct shape s = {.demand = {.dialect = ""}, .gpu_request = {.kind = GPU_REQUEST_WHOLE, .phases = 1}};
    struct str key;

    json_object_begin(&f->json);
    while (json_object_next(&f->json, &key)) {
        read_shape_key(&f->json, key, &s);
    }
    if (json_failed(&f->json)) {
        return;
    }
    s.demand.plugin_managed_n = s.plugin ? s.gpu_request.count : 0;
    s.demand.gpu_requests = &s.gpu_request;
    s.demand.gpu_request_n = !s.plugin && s.gpu_request.count > 0;
    if (s.gpu_request.kind == GPU_REQUEST_WHOLE) {
        s.gpu_request.milli = DEVICE_MILLI;
    }
    s.weight = s.weight < (int64_t)DEMAND_HISTOGRAM_POD * DEMAND_HISTOGRAM_PODS_MAX
                   ? s.weight
                   : (int64_t)DEMAND_HISTOGRAM_POD * DEMAND_HISTOGRAM_PODS_MAX;
    for (int64_t left = s.weight; left > 0; left -= DEMAND_HISTOGRAM_POD) {
        demand_histogram_arrived(f->file->mix, &s.demand);
    }
}

static void read_mix(struct file_reader *f)
{
    struct str key;

    json_object_begin(&f->json);
    while (json_object_next(&f->json, &key)) {
        if (!str_eq_cstr(key, "shapes")) {
            json_skip(&f->json);
            continue;
        }
        if (f->file->mix == NULL) {
            f->file->mix = demand_histogram_new();
        }
        for (json_array_begin(&f->json); json_array_next(&f->json);) {
            read_shape(f);
        }
        demand_histogram_settle(f->file->mix);
    }
}

void state_file_decode_summary(struct file_reader *f)
{
    struct str key;

    f->section = "summary";
    json_object_begin(&f->json);
    while (json_object_next(&f->json, &key)) {
        if (str_eq_cstr(key, "demandHistogram") ||
            (str_eq_cstr(key, "mix") && f->file->mix == NULL)) { /* the older name (decision 0047) */
            read_mix(f);
        } else {
            json_skip(&f->json);
        }
    }
}
