/* Pods of a document: what each holds of a GPU, and those that stand by themselves, with what they ask for. */
#include "sim/state_file_internal.h"

/* ---- allocations of a GPU ---- */

void state_file_allocation(struct json_reader *r, void *to)
{
    struct file_reader *f = to;
    struct file_hold h = {.pod = {.node = (uint32_t)f->node_n},
                          .kind = GPU_REQUEST_KIND__MAX,
                          .phases = 1,
                          .gpu = (uint32_t)f->gpu_n - 1};

    json_members(r, JSON_MEMBERS(FILE_POD_MEMBERS(&h.pod), {"container", .text = &h.container},
                                 {"init", .flag = &h.init}, {"kind", .read = state_file_kind, .to = &h.kind},
                                 {"phases", .i64 = &h.phases}, {"editable", .flag = &h.editable},
                                 {"record", .text = &h.record}, {"milli", .i64 = &h.milli, .max = ASSIGNMENT_MILLI_MAX},
                                 {"memMib", .i64 = &h.mem_mib, .max = ASSIGNMENT_MEM_MIB_MAX},
                                 {"askedMilli", .i64 = &h.asked_milli, .max = DEVICE_MILLI},
                                 {"askedMemMib", .i64 = &h.asked_mem_mib, .max = DEMAND_MEM_MIB_MAX},
                                 {"qos", .read = state_file_qos, .to = &h.qos}));
    state_file_require(r, h.pod.uid.n > 0, "an allocation without uid");
    state_file_require(r, h.phases != 0, "an allocation in no phase");
    (void)state_file_dialect(r, h.pod.dialect);
    f->holds = state_file_grow(f->holds, &f->hold_n, &f->hold_cap, sizeof(*f->holds));
    f->holds[f->hold_n - 1] = h;
}

void state_file_raised(struct json_reader *r, void *to)
{
    struct file_reader *f = to;
    struct file_raised x = {.gpu = (uint32_t)f->gpu_n - 1};
    struct charge *c = &x.charge;

    json_members(r, JSON_MEMBERS({"uid", .text = &x.uid}, {"milli", .i32 = &c->milli, .max = INT32_MAX},
                                 {"memMib", .i64 = &c->mem_mib, .max = INT64_MAX / 2},
                                 {"slots", .i32 = &c->slots, .max = INT32_MAX}, {"exclusive", .flag = &c->exclusive}));
    f->raised = state_file_grow(f->raised, &f->raised_n, &f->raised_cap, sizeof(*f->raised));
    f->raised[f->raised_n - 1] = x;
}

/* ---- requests ---- */

static void read_defect(struct json_reader *r, void *to)
{
    enum demand_defect *ret = to;
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

/* What is gathered of one pod and its request. */
struct request {
    struct file_pod pod;
    bool there;
    struct gpu_request gpu_requests[DEMAND_GPU_REQUESTS_MAX];
    struct device_pattern models[DEMAND_PATTERNS_MAX], uuids[DEMAND_PATTERNS_MAX];
    struct demand demand; /* of the arrays above */
    bool isolated;
};

static void read_gpu_request(struct json_reader *r, struct request *q)
{
    struct gpu_request w = {.kind = GPU_REQUEST_KIND__MAX};
    int32_t count = 0;
    int64_t phases = 1;

    if (q->demand.gpu_request_n == DEMAND_GPU_REQUESTS_MAX) {
        json_fail(r, ERR_LIMIT, "more than 64 GPU requests of one pod");
        return;
    }
    json_members(r, JSON_MEMBERS({"container", .text = &w.container}, {"init", .flag = &w.init},
                                 {"count", .i32 = &count, .min = 1, .max = DEVICES_PER_NODE_MAX},
                                 {"kind", .read = state_file_kind, .to = &w.kind},
                                 {"milli", .i32 = &w.milli, .max = DEVICE_MILLI},
                                 {"memMib", .i64 = &w.mem_mib, .max = DEMAND_MEM_MIB_MAX}, {"phases", .i64 = &phases},
                                 {"mig", .read = state_file_profile, .to = &w.profile}));
    state_file_require(r, count > 0 && w.kind != GPU_REQUEST_KIND__MAX && phases != 0,
                       "a GPU request without count, kind or phases");
    w.count = (uint16_t)count;
    w.milli = w.kind == GPU_REQUEST_WHOLE ? DEVICE_MILLI : w.milli;
    w.phases = (uint64_t)phases;
    q->gpu_requests[q->demand.gpu_request_n++] = w;
}

/* They stand under their present name, under their older one, or, the same, under both. */
static void read_gpu_requests(struct json_reader *r, void *to)
{
    struct request *q = to;

    if (q->demand.gpu_request_n > 0) {
        json_skip(r);
        return;
    }
    for (json_array_begin(r); json_array_next(r);) {
        read_gpu_request(r, q);
    }
}

static void read_pattern(struct json_reader *r, struct device_pattern *patterns, size_t *n)
{
    struct device_pattern p = {.exclude = false};

    if (*n == DEMAND_PATTERNS_MAX) {
        json_fail(r, ERR_LIMIT, "more than 64 models or UUIDs in one request");
        return;
    }
    json_members(r, JSON_MEMBERS({"text", .text = &p.text}, {"exclude", .flag = &p.exclude}));
    patterns[(*n)++] = p;
}

static void read_model(struct json_reader *r, void *to)
{
    struct request *q = to;

    read_pattern(r, q->models, &q->demand.model_n);
}

static void read_uuid(struct json_reader *r, void *to)
{
    struct request *q = to;

    read_pattern(r, q->uuids, &q->demand.uuid_n);
}

static void read_demand_qos(struct json_reader *r, void *to)
{
    struct demand *d = to;

    d->says_qos = true;
    state_file_qos(r, &d->qos);
}

static void read_request(struct json_reader *r, void *to)
{
    struct request *q = to;
    struct demand *d = &q->demand;
    bool editable = false;

    q->there = true;
    json_members(
        r, JSON_MEMBERS(
               {"editable", .flag = &editable}, {"defect", .read = read_defect, .to = &d->defect},
               {"qos", .read = read_demand_qos, .to = d},
               {"wholeGpus", .i32 = &d->plugin_managed_n, .min = 1, .max = DEMAND_PLUGIN_MANAGED_MAX},
               {"mostInAContainer", .i32 = &d->plugin_managed_most, .min = 2, .max = DEMAND_PLUGIN_MANAGED_MAX},
               {"gpuRequests", .read = read_gpu_requests, .to = q}, {"wishes", .read = read_gpu_requests, .to = q},
               {"models", .element = read_model, .to = q}, {"uuids", .element = read_uuid, .to = q},
               {"cpuMilli", .i32 = &d->host.cpu_milli, .max = INT32_MAX},
               {"memMib", .i32 = &d->host.mem_mib, .max = INT32_MAX}, {"isolated", .flag = &q->isolated}));
    d->source = editable ? DEMAND_FROM_ANNOTATIONS : DEMAND_FROM_RESOURCES;
}

/* ---- pods that stand by themselves ---- */

/* A pod that shows no request asks for `count` GPUs of a plugin and nothing else. */
static void read_pod(struct json_reader *r, struct file_reader *f, uint32_t node)
{
    struct request q = {.pod.node = node};
    struct file_pod *p = &q.pod;
    struct demand *d = &q.demand;
    int32_t whole_n = 0;

    d->gpu_requests = q.gpu_requests;
    d->models = q.models;
    d->uuids = q.uuids;
    json_members(r, JSON_MEMBERS(FILE_POD_MEMBERS(p), {"request", .read = read_request, .to = &q},
                                 {"count", .i32 = &whole_n, .min = 1, .max = DEMAND_PLUGIN_MANAGED_MAX},
                                 {"priority", .i32 = &p->priority}));
    state_file_require(r, p->uid.n > 0 && (q.there || whole_n > 0),
                       "a pod without uid or request: the document is of a version that did not say it");
    if (!q.there) {
        d->plugin_managed_n = whole_n;
    }
    d->dialect = state_file_dialect(r, p->dialect);
    d->name_bytes_most = demand_longest_name(d->gpu_requests, d->gpu_request_n);
    p->demand = demand_copy_to(d, f->arena);
    state_file_require(r, p->demand != NULL, "the document does not fit its memory");
    f->file->isolated_n += q.isolated;
    f->pods = state_file_grow(f->pods, &f->pod_n, &f->pod_cap, sizeof(*f->pods));
    f->pods[f->pod_n - 1] = *p;
}

void state_file_unplaced(struct json_reader *r, void *to)
{
    struct file_reader *f = to;

    read_pod(r, f, (uint32_t)f->node_n);
}

void state_file_pending(struct json_reader *r, void *to)
{
    struct file_reader *f = to;

    f->section = "pending";
    read_pod(r, f, FILE_NONE);
    f->section = json_failed(r) ? f->section : NULL;
}
