#include "sim/trace.h"

#include "base/bug.h"
#include "base/compiler.h"
#include "model/device.h"
#include "sim/csv.h"

#include <string.h>

void trace_init(struct trace *t)
{
    *t = (struct trace){.node_n = 0};
    arena_init(&t->arena, TRACE_BYTES_MAX);
}

void trace_fini(struct trace *t)
{
    arena_fini(&t->arena);
}

const char *trace_class_name(enum trace_class c)
{
    static const char *const names[TRACE_CLASS__MAX] = {"gpu_less", "shared", "whole", "multi"};

    BUG_ON(c >= TRACE_CLASS__MAX);
    return names[c];
}

static size_t count_lines(struct str s)
{
    size_t n = 1;

    for (size_t i = 0; i < s.n; i++) {
        n += s.p[i] == '\n';
    }
    return n;
}

static int too_many(const char *path, size_t max, struct err *reterr)
{
    return err_set(reterr, ERR_LIMIT, "%s: more than %zu lines", path, max);
}

/* ---- nodes ---- */

/* CSV_NONE: there is none, of those that may be missing. */
struct node_columns {
    size_t name, cpu, mem, gpu, model;
    size_t gpu_mem, memory_only, mig;
};

static bool is_given(const struct csv *c, size_t column)
{
    return column != CSV_NONE && c->fields[column].n > 0;
}

static int node_columns(const struct csv *c, struct node_columns *ret, struct err *reterr)
{
    const char *name = csv_find(c, "sn") != CSV_NONE ? "sn" : "name";
    const struct csv_column wanted[] = {{name, &ret->name},
                                        {"cpu_milli", &ret->cpu},
                                        {"memory_mib", &ret->mem},
                                        {"gpu", &ret->gpu},
                                        {"model", &ret->model}};

    ret->gpu_mem = csv_find(c, "gpu_mem_mib");
    ret->memory_only = csv_find(c, "memory_only");
    ret->mig = csv_find(c, "mig");
    return csv_columns(c, wanted, ARRAY_LEN(wanted), reterr);
}

static int read_memory_only(const struct csv *c, size_t column, enum memory_only_mode *ret, struct err *reterr)
{
    const bool is_free = is_given(c, column) && str_eq_cstr(c->fields[column], "free");

    if (is_given(c, column) && !is_free && !str_eq_cstr(c->fields[column], "share")) {
        return err_set(reterr, ERR_PARSE, "%s:%u: column memory_only: \"%.*s\" is neither share nor free", c->path,
                       c->line, STR_ARG(c->fields[column]));
    }
    *ret = is_free ? MEMORY_ONLY_FREE : MEMORY_ONLY_SHARE;
    return 0;
}

static int read_layout(const struct csv *c, size_t column, struct trace_node *ret, struct err *reterr)
{
    struct err why;

    if (!is_given(c, column) || trace_cut_gpus(ret, c->fields[column], &why) == 0) {
        return 0;
    }
    return err_set(reterr, ERR_INVALID, "%s:%u: column mig: %s", c->path, c->line, why.msg);
}

static int read_node(const struct csv *c, const struct node_columns *k, struct trace_node *ret, struct err *reterr)
{
    int64_t cpu = 0, mem = 0, gpu = 0, gpu_mem = 0;
    int rc = csv_text(c, k->name, "the name of the node", &ret->name, reterr);

    rc = rc != 0 ? rc : csv_number(c, k->cpu, INT32_MAX, "its cores in milli", &cpu, reterr);
    rc = rc != 0 ? rc : csv_number(c, k->mem, INT32_MAX, "its memory in MiB", &mem, reterr);
    rc = rc != 0 ? rc : csv_number(c, k->gpu, DEVICES_PER_NODE_MAX, "how many GPUs it has", &gpu, reterr);
    if (rc == 0 && is_given(c, k->gpu_mem)) {
        rc = csv_number(c, k->gpu_mem, DEMAND_MEM_MIB_MAX, "the memory of each GPU in MiB", &gpu_mem, reterr);
    }
    rc = rc != 0 ? rc : read_memory_only(c, k->memory_only, &ret->memory_only, reterr);
    ret->model = c->fields[k->model];
    ret->cpu_milli = (int32_t)cpu;
    ret->mem_mib = (int32_t)mem;
    ret->gpu_n = (int32_t)gpu;
    ret->gpu_mem_mib = (int32_t)gpu_mem;
    return rc != 0 ? rc : read_layout(c, k->mig, ret, reterr);
}

int trace_read_nodes(struct trace *t, const char *path, struct err *reterr)
{
    struct node_columns k;
    struct trace_node *nodes;
    struct csv c;
    struct str text;
    size_t n = 0;
    int rc = csv_read_file(path, TRACE_BYTES_MAX, &t->arena, &text, reterr);

    rc = rc != 0 ? rc : csv_begin(&c, path, text, reterr);
    rc = rc != 0 ? rc : node_columns(&c, &k, reterr);
    if (rc != 0) {
        return rc;
    }
    nodes = ARENA_ARRAY(&t->arena, count_lines(text), struct trace_node);
    if (nodes == NULL || count_lines(text) > TRACE_NODES_MAX + 1) {
        return too_many(path, TRACE_NODES_MAX, reterr);
    }
    t->capacity_milli = 0;
    while ((rc = csv_next(&c, reterr)) > 0) {
        rc = read_node(&c, &k, &nodes[n], reterr);
        if (rc != 0) {
            return rc;
        }
        t->capacity_milli += nodes[n++].gpu_n * INT64_C(1000);
    }
    t->nodes = nodes;
    t->node_n = n;
    if (rc == 0 && t->capacity_milli == 0) {
        return err_set(reterr, ERR_INVALID, "%s: no node has a GPU; nothing can be packed", path);
    }
    return rc;
}

/* ---- pods ---- */

struct pod_columns {
    size_t name, cpu, mem, num, milli;
    size_t spec, gpu_mem, profile, counts; /* CSV_NONE: there is none */
};

static int pod_columns(const struct csv *c, struct pod_columns *ret, struct err *reterr)
{
    const struct csv_column wanted[] = {{"name", &ret->name},
                                        {"cpu_milli", &ret->cpu},
                                        {"memory_mib", &ret->mem},
                                        {"num_gpu", &ret->num},
                                        {"gpu_milli", &ret->milli}};

    ret->spec = csv_find(c, "gpu_spec");
    ret->gpu_mem = csv_find(c, "gpu_mem_mib");
    ret->profile = csv_find(c, "mig_profile");
    ret->counts = csv_find(c, "counts_milli");
    return csv_columns(c, wanted, ARRAY_LEN(wanted), reterr);
}

static bool add_models(struct arena *a, struct str spec, struct demand *d)
{
    struct device_pattern *models;
    struct str rest = spec, part;

    if (spec.n == 0) {
        return true;
    }
    models = ARENA_ARRAY(a, DEMAND_PATTERNS_MAX, struct device_pattern);
    while (models != NULL && str_split(&rest, '|', &part)) {
        if (d->model_n == DEMAND_PATTERNS_MAX) {
            return false;
        }
        models[d->model_n++] = (struct device_pattern){.text = part};
    }
    d->models = models;
    return models != NULL;
}

/* What of its GPUs the row asks for, as far as it is said. */
static int read_amounts(const struct csv *c, const struct pod_columns *k, struct gpu_request *ret, struct err *reterr)
{
    int64_t num = 0, milli = 0, mem = 0;
    int rc = csv_number(c, k->num, DEVICES_PER_NODE_MAX, "how many GPUs it asks for", &num, reterr);

    rc = rc != 0 ? rc
                 : csv_number(c, k->milli, DEVICE_MILLI, "what it takes of each GPU in thousandths", &milli, reterr);
    if (rc == 0 && is_given(c, k->gpu_mem)) {
        rc = csv_number(c, k->gpu_mem, DEMAND_MEM_MIB_MAX, "what it takes of the memory of each GPU in MiB", &mem,
                        reterr);
    }
    *ret = (struct gpu_request){
        .container = STR("main"), .count = (uint16_t)num, .milli = (int32_t)milli, .mem_mib = mem, .phases = 1};
    if (rc == 0 && is_given(c, k->profile)) {
        ret->profile = mig_profile_parse(c->fields[k->profile]);
        if (ret->profile == MIG_NO_PROFILE || milli > 0 || mem > 0) {
            return err_set(reterr, ERR_INVALID,
                           "%s:%u: column mig_profile: write a profile as 1g.10gb, and gpu_milli and gpu_mem_mib 0",
                           c->path, c->line);
        }
    }
    return rc;
}

/* As fgpu reads such a pod: parts by milli, whole GPUs alone. */
static enum gpu_request_kind kind_of(const struct gpu_request *w)
{
    if (w->profile != 0) {
        return GPU_REQUEST_WHOLE;
    }
    if (w->mem_mib > 0) {
        return w->milli > 0 ? GPU_REQUEST_BOTH : GPU_REQUEST_MEMORY;
    }
    return w->milli == DEVICE_MILLI ? GPU_REQUEST_WHOLE : GPU_REQUEST_MILLI;
}

static enum trace_class class_of(const struct gpu_request *w)
{
    if (w->count == 0) {
        return TRACE_GPULESS;
    }
    return w->count > 1 ? TRACE_MULTI : w->milli < DEVICE_MILLI ? TRACE_SHARED : TRACE_WHOLE;
}

static int add_demand(struct trace *t, const struct csv *c, const struct pod_columns *k, struct trace_pod *p,
                      struct host_request host, const struct gpu_request *asked, struct err *reterr)
{
    struct demand *d = ARENA_NEW(&t->arena, struct demand);
    struct gpu_request *w = ARENA_NEW(&t->arena, struct gpu_request);

    if (d == NULL || w == NULL) {
        return err_set(reterr, ERR_LIMIT, "%s: too large", c->path);
    }
    *d = (struct demand){.source = DEMAND_FROM_RESOURCES, .dialect = asked->count > 0 ? "native" : "", .host = host};
    p->demand = d;
    p->class = class_of(asked);
    if (asked->count == 0) {
        return 0;
    }
    *w = *asked;
    w->kind = kind_of(asked);
    d->gpu_requests = w;
    d->gpu_request_n = 1;
    if (k->spec != CSV_NONE && !add_models(&t->arena, c->fields[k->spec], d)) {
        return err_set(reterr, ERR_LIMIT, "%s:%u: column gpu_spec: more than %d models", c->path, c->line,
                       DEMAND_PATTERNS_MAX);
    }
    return 0;
}

static int read_weight(const struct csv *c, const struct pod_columns *k, const struct gpu_request *w,
                       struct trace_pod *ret, struct err *reterr)
{
    const int64_t max = DEVICES_PER_NODE_MAX * INT64_C(1000);

    if (w->count == 0) {
        ret->milli = 0;
        ret->gpu_milli = 0;
        return 0;
    }
    ret->milli = w->profile != 0 ? mig_profile_milli(w->profile) : w->milli;
    ret->gpu_milli = (int64_t)w->count * ret->milli;
    if (is_given(c, k->counts)) {
        int rc = csv_number(c, k->counts, max, "what it counts for in thousandths of a GPU", &ret->gpu_milli, reterr);

        ret->milli = (int32_t)(ret->gpu_milli / w->count);
        return rc;
    }
    return 0;
}

static int read_pod(struct trace *t, const struct csv *c, const struct pod_columns *k, struct trace_pod *ret,
                    struct err *reterr)
{
    struct gpu_request asked = {.count = 0};
    int64_t cpu = 0, mem = 0;
    int rc = csv_text(c, k->name, "the name of the pod", &ret->name, reterr);

    rc = rc != 0 ? rc : csv_number(c, k->cpu, INT32_MAX, "the cores it asks for in milli", &cpu, reterr);
    rc = rc != 0 ? rc : csv_number(c, k->mem, INT32_MAX, "the memory it asks for in MiB", &mem, reterr);
    rc = rc != 0 ? rc : read_amounts(c, k, &asked, reterr);
    rc = rc != 0 ? rc : read_weight(c, k, &asked, ret, reterr);
    if (rc != 0) {
        return rc;
    }
    if (asked.count > 0 && asked.milli == 0 && asked.mem_mib == 0 && asked.profile == 0) {
        return err_set(reterr, ERR_INVALID,
                       "%s:%u: column gpu_milli is 0, but num_gpu is %u; write 1 to 1000, or num_gpu 0, or the memory "
                       "(gpu_mem_mib) or the instances (mig_profile) that it wants",
                       c->path, c->line, (unsigned)asked.count);
    }
    return add_demand(t, c, k, ret, (struct host_request){(int32_t)cpu, (int32_t)mem}, &asked, reterr);
}

int trace_read_pods(struct trace *t, const char *path, struct err *reterr)
{
    struct pod_columns k;
    struct csv c;
    struct str text;
    int rc = csv_read_file(path, TRACE_BYTES_MAX, &t->arena, &text, reterr);

    rc = rc != 0 ? rc : csv_begin(&c, path, text, reterr);
    rc = rc != 0 ? rc : pod_columns(&c, &k, reterr);
    if (rc != 0) {
        return rc;
    }
    t->pods = ARENA_ARRAY(&t->arena, count_lines(text), struct trace_pod);
    if (t->pods == NULL || count_lines(text) > TRACE_PODS_MAX + 1) {
        return too_many(path, TRACE_PODS_MAX, reterr);
    }
    t->pod_n = 0;
    while ((rc = csv_next(&c, reterr)) > 0) {
        rc = read_pod(t, &c, &k, &t->pods[t->pod_n++], reterr);
        if (rc != 0) {
            return rc;
        }
    }
    return rc != 0 || t->pod_n > 0 ? rc : err_set(reterr, ERR_INVALID, "%s: no pods", path);
}
