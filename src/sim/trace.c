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

struct node_columns {
    size_t name, cpu, mem, gpu, model;
};

static int node_columns(const struct csv *c, struct node_columns *ret, struct err *reterr)
{
    const char *name = csv_find(c, "sn") != CSV_NONE ? "sn" : "name";
    const struct csv_column wanted[] = {{name, &ret->name},
                                        {"cpu_milli", &ret->cpu},
                                        {"memory_mib", &ret->mem},
                                        {"gpu", &ret->gpu},
                                        {"model", &ret->model}};

    return csv_columns(c, wanted, ARRAY_LEN(wanted), reterr);
}

static int read_node(const struct csv *c, const struct node_columns *k, struct trace_node *ret, struct err *reterr)
{
    int64_t cpu = 0, mem = 0, gpu = 0;
    int rc = csv_text(c, k->name, "the name of the node", &ret->name, reterr);

    rc = rc != 0 ? rc : csv_number(c, k->cpu, INT32_MAX, "its cores in milli", &cpu, reterr);
    rc = rc != 0 ? rc : csv_number(c, k->mem, INT32_MAX, "its memory in MiB", &mem, reterr);
    rc = rc != 0 ? rc : csv_number(c, k->gpu, DEVICES_PER_NODE_MAX, "how many GPUs it has", &gpu, reterr);
    ret->model = c->fields[k->model];
    ret->cpu_milli = (int32_t)cpu;
    ret->mem_mib = (int32_t)mem;
    ret->gpu_n = (int32_t)gpu;
    return rc;
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
    size_t name, cpu, mem, num, milli, spec; /* spec: CSV_NONE: there is none */
};

static int pod_columns(const struct csv *c, struct pod_columns *ret, struct err *reterr)
{
    const struct csv_column wanted[] = {{"name", &ret->name},
                                        {"cpu_milli", &ret->cpu},
                                        {"memory_mib", &ret->mem},
                                        {"num_gpu", &ret->num},
                                        {"gpu_milli", &ret->milli}};

    ret->spec = csv_find(c, "gpu_spec");
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

/* The demand that fgpu would read from such a pod: parts by milli, whole GPUs alone. */
static int add_demand(struct trace *t, const struct csv *c, const struct pod_columns *k, struct trace_pod *p,
                      struct host_request host, int32_t gpu_n, struct err *reterr)
{
    struct demand *d = ARENA_NEW(&t->arena, struct demand);
    struct gpu_request *w = ARENA_NEW(&t->arena, struct gpu_request);

    if (d == NULL || w == NULL) {
        return err_set(reterr, ERR_LIMIT, "%s: too large", c->path);
    }
    *d = (struct demand){.source = DEMAND_FROM_RESOURCES, .dialect = gpu_n > 0 ? "native" : "", .host = host};
    p->demand = d;
    if (gpu_n == 0) {
        p->class = TRACE_GPULESS;
        return 0;
    }
    *w = (struct gpu_request){.container = STR("main"),
                              .count = (uint16_t)gpu_n,
                              .kind = p->milli == DEVICE_MILLI ? GPU_REQUEST_WHOLE : GPU_REQUEST_MILLI,
                              .milli = p->milli,
                              .phases = 1};
    d->gpu_requests = w;
    d->gpu_request_n = 1;
    p->class = gpu_n > 1 ? TRACE_MULTI : p->milli < DEVICE_MILLI ? TRACE_SHARED : TRACE_WHOLE;
    if (k->spec != CSV_NONE && !add_models(&t->arena, c->fields[k->spec], d)) {
        return err_set(reterr, ERR_LIMIT, "%s:%u: column gpu_spec: more than %d models", c->path, c->line,
                       DEMAND_PATTERNS_MAX);
    }
    return 0;
}

static int read_pod(struct trace *t, const struct csv *c, const struct pod_columns *k, struct trace_pod *ret,
                    struct err *reterr)
{
    int64_t cpu = 0, mem = 0, num = 0, milli = 0;
    int rc = csv_text(c, k->name, "the name of the pod", &ret->name, reterr);

    rc = rc != 0 ? rc : csv_number(c, k->cpu, INT32_MAX, "the cores it asks for in milli", &cpu, reterr);
    rc = rc != 0 ? rc : csv_number(c, k->mem, INT32_MAX, "the memory it asks for in MiB", &mem, reterr);
    rc = rc != 0 ? rc : csv_number(c, k->num, DEVICES_PER_NODE_MAX, "how many GPUs it asks for", &num, reterr);
    rc = rc != 0 ? rc
                 : csv_number(c, k->milli, DEVICE_MILLI, "what it takes of each GPU in thousandths", &milli, reterr);
    if (rc != 0) {
        return rc;
    }
    if (num > 0 && milli == 0) {
        return err_set(reterr, ERR_INVALID,
                       "%s:%u: column gpu_milli is 0, but num_gpu is %lld; write 1 to 1000, or num_gpu 0", c->path,
                       c->line, (long long)num);
    }
    ret->milli = num > 0 ? (int32_t)milli : 0;
    ret->gpu_milli = num * ret->milli;
    return add_demand(t, c, k, ret, (struct host_request){(int32_t)cpu, (int32_t)mem}, (int32_t)num, reterr);
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
