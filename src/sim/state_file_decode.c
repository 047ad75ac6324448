/* The document of /state: its lists, and what was learned. */
#include "sim/state_file_internal.h"

#include "base/bug.h"
#include "core/request/demand_histogram.h"
#include "model/documents.h"

#define MODELS_MAX 32

/* ---- summary.demandHistogram, "mix" of old: what the process had learned of what pods ask for ---- */

/* "A100*,!T4", as the annotation fgpu.io/gpu-model says it. */
static size_t read_models(struct str text, struct device_pattern *ret)
{
    struct str part;
    size_t n = 0;

    while (n < MODELS_MAX && str_split(&text, ',', &part)) {
        bool exclude = str_starts(part, STR("!"));

        ret[n++] = (struct device_pattern){exclude ? str_drop(part, 1) : part, exclude};
    }
    return n;
}

/* As many pods as its weight stands for, one at least. */
static void read_shape(struct json_reader *r, void *to)
{
    const int64_t most = (int64_t)DEMAND_HISTOGRAM_POD * DEMAND_HISTOGRAM_PODS_MAX;
    struct demand_histogram *mix = to;
    struct device_pattern patterns[MODELS_MAX];
    struct gpu_request w = {.kind = GPU_REQUEST_WHOLE, .phases = 1};
    struct demand d = {.dialect = "", .models = patterns, .gpu_requests = &w};
    struct str models = STR_NULL;
    int64_t weight = 0;
    int32_t count = 0;
    bool plugin = false;

    json_members(r,
                 JSON_MEMBERS({"weight", .i64 = &weight, .max = INT64_MAX}, {"count", .i32 = &count, .max = UINT16_MAX},
                              {"plugin", .flag = &plugin}, {"kind", .read = state_file_kind, .to = &w.kind},
                              {"milli", .i32 = &w.milli, .max = DEVICE_MILLI},
                              {"memMib", .i64 = &w.mem_mib, .max = DEMAND_MEM_MIB_MAX},
                              {"cpuMilli", .i32 = &d.host.cpu_milli, .max = INT32_MAX},
                              {"hostMemMib", .i32 = &d.host.mem_mib, .max = INT32_MAX}, {"models", .text = &models}));
    if (json_failed(r)) {
        return;
    }
    w.count = (uint16_t)count;
    w.milli = w.kind == GPU_REQUEST_WHOLE ? DEVICE_MILLI : w.milli;
    d.model_n = read_models(models, patterns);
    d.plugin_managed_n = plugin ? count : 0;
    d.gpu_request_n = !plugin && count > 0;
    for (int64_t left = weight < most ? weight : most; left > 0; left -= DEMAND_HISTOGRAM_POD) {
        demand_histogram_arrived(mix, &d);
    }
}

static void read_shapes(struct json_reader *r, void *to)
{
    struct file_reader *f = to;

    if (f->file->mix != NULL) { /* under its other name */
        json_skip(r);
        return;
    }
    f->file->mix = demand_histogram_new();
    for (json_array_begin(r); json_array_next(r);) {
        read_shape(r, f->file->mix);
    }
    demand_histogram_settle(f->file->mix);
}

/* ---- the document ---- */

static void read_nodes(struct json_reader *r, void *to)
{
    struct file_reader *f = to;

    f->has_nodes = true;
    for (json_array_begin(r); json_array_next(r);) {
        state_file_node(r, f);
    }
}

static void read_pending(struct json_reader *r, void *to)
{
    struct file_reader *f = to;

    f->has_pending = true;
    f->at = 0;
    for (json_array_begin(r); json_array_next(r); f->at++) {
        state_file_pending(r, f);
    }
}

#define SHAPES(f_)                                                                                                     \
    {                                                                                                                  \
        "shapes", .read = read_shapes, .to = (f_)                                                                      \
    }

void state_file_decode(struct file_reader *f)
{
    struct json_reader *r = &f->json;
    struct str version = STR(STATE_API_VERSION), kind = STR_NULL;

    f->gpu_at = -1;
    json_members(
        r, JSON_MEMBERS(
               {"apiVersion", .text = &version}, {"kind", .text = &kind},
               {"metadata", .object = JSON_MEMBERS({"asOf", .read = state_file_time, .to = &f->file->as_of_ms})},
               {"nodes", .read = read_nodes, .to = f}, {"pending", .read = read_pending, .to = f},
               {"summary", .object = JSON_MEMBERS({"demandHistogram", .object = JSON_MEMBERS(SHAPES(f))},
                                                  {"mix", .object = JSON_MEMBERS(SHAPES(f))})},
               {"configuration", .raw = &f->configuration}, {"fileConfiguration", .raw = &f->file_configuration}));
    state_file_require(r, str_eq_cstr(version, STATE_API_VERSION), "apiVersion is not " STATE_API_VERSION);
    state_file_require(r, str_eq_cstr(kind, "State"), "not a document of /state: kind is not State");
    state_file_require(r, f->has_nodes && f->has_pending && f->configuration.n > 0,
                       "not a whole document: save /state without node, namespace and fields");
}
