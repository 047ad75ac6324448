#include "routes/ops.h"

#include "base/bug.h"
#include "base/build_info.h"
#include "base/json_write.h"
#include "obs/catalog.h"
#include "routes/audit.h"
#include "routes/page.h"

#include <string.h>

/* The build may say these; a date of its own making would make every build different. */
#ifndef FGPU_BUILD_DATE
#define FGPU_BUILD_DATE ""
#endif
#ifndef FGPU_GIT_TREE_STATE
#define FGPU_GIT_TREE_STATE ""
#endif

/* As Go names machines, because that is what readers of /version know. */
#if defined(__x86_64__)
#define MACHINE "amd64"
#elif defined(__aarch64__)
#define MACHINE "arm64"
#elif defined(__riscv) && __riscv_xlen == 64
#define MACHINE "riscv64"
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define MACHINE "ppc64le"
#elif defined(__s390x__)
#define MACHINE "s390x"
#else
#error "name this machine"
#endif

#define MIB_BYTES (INT64_C(1) << 20)

/* ---- /version ---- */

/* With the keys of kube-apiserver's: what the build did not say is "". */
static enum httpd_action handle_version(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    struct str rest = str_drop(STR(FGPU_VERSION), 1); /* without the "v" */
    struct str major = STR_NULL, minor = STR_NULL;
    struct json_writer w;

    (void)ctx;
    (void)req;
    str_split(&rest, '.', &major);
    str_split(&rest, '.', &minor);
    json_writer_init(&w, &resp->body);
    json_write_object_begin(&w);
    json_write_kv_str(&w, "major", major);
    json_write_kv_str(&w, "minor", minor);
    json_write_kv_cstr(&w, "gitVersion", FGPU_VERSION);
    json_write_kv_cstr(&w, "gitCommit", build_commit);
    json_write_kv_cstr(&w, "gitTreeState", FGPU_GIT_TREE_STATE);
    json_write_kv_cstr(&w, "buildDate", FGPU_BUILD_DATE);
    json_write_kv_cstr(&w, "compiler", BUILD_COMPILER);
    json_write_kv_cstr(&w, "platform", "linux/" MACHINE);
    json_write_object_end(&w);
    return HTTPD_REPLY;
}

/* ---- /metrics ---- */

static void collect_pods(const struct snapshot *s, struct metrics *m)
{
    for (size_t i = 0; i < LEDGER_POD_STATE__MAX; i++) {
        const char *state = ledger_pod_state_name((enum ledger_pod_state)i);

        metric_set(METRIC(m, FGPU_LEDGER_PODS, state), (int64_t)s->pods_by_state[i]);
    }
}

static void collect_incidents(const struct snapshot *s, struct metrics *m)
{
    for (size_t i = 0; i < INCIDENT_KIND__MAX; i++) {
        const char *kind = incident_kind_name((enum incident_kind)i);

        metric_set(METRIC(m, FGPU_INCIDENTS, kind), (int64_t)s->incidents[i].now_n);
        metric_set(METRIC(m, FGPU_INCIDENTS_TOTAL, kind), (int64_t)s->incidents[i].begun_n);
    }
}

void ops_collect_ledger(void *store, struct metrics *m)
{
    struct snapshot s;

    store_totals(store, &s);
    metric_set(METRIC(m, FGPU_LEDGER_GENERATION), (int64_t)s.generation);
    metric_set(METRIC(m, FGPU_LEDGER_NODES), (int64_t)s.node_n);
    metric_set(METRIC(m, FGPU_LEDGER_DEVICES), (int64_t)s.device_n);
    collect_pods(&s, m);
    metric_set(METRIC(m, FGPU_GPU_MILLI, "capacity"), s.milli_cap);
    metric_set(METRIC(m, FGPU_GPU_MILLI, "charged"), s.milli_charged);
    metric_set(METRIC(m, FGPU_GPU_MEMORY_BYTES, "capacity"), s.mem_cap_mib * MIB_BYTES);
    metric_set(METRIC(m, FGPU_GPU_MEMORY_BYTES, "charged"), s.mem_charged_mib * MIB_BYTES);
    metric_set(METRIC(m, FGPU_CLOSED_NODES), (int64_t)s.closed_n);
    metric_set(METRIC(m, FGPU_CLOSED_NODE_PODS), (int64_t)s.pod_on_closed_n);
    metric_set(METRIC(m, FGPU_PODS_TURNED_AWAY_TOTAL), (int64_t)s.turned_away_total_n);
    metric_set(METRIC(m, FGPU_UNCOUNTED_NODES), (int64_t)s.uncounted_n);
    metric_set(METRIC(m, FGPU_OVERCOMMITTED_DEVICES), (int64_t)s.overcommitted_n);
    collect_incidents(&s, m);
}

static void set_tenant(struct metrics *m, const char *name, struct holding limit, struct holding held)
{
    metric_set(METRIC(m, FGPU_TENANT_MILLI, name, "limit"), limit.milli);
    metric_set(METRIC(m, FGPU_TENANT_MILLI, name, "charged"), held.milli);
    metric_set(METRIC(m, FGPU_TENANT_MEMORY_BYTES, name, "limit"), limit.mem_mib * MIB_BYTES);
    metric_set(METRIC(m, FGPU_TENANT_MEMORY_BYTES, name, "charged"), held.mem_mib * MIB_BYTES);
}

void ops_collect_tenants(void *ops, struct metrics *m)
{
    struct ledger_tenant tenants[TENANTS_MAX];
    struct ops *o = ops;
    struct snapshot all;
    struct arena a;

    arena_init(&a, sizeof(o->tenants) * 2);
    store_totals(o->state.store, &all);
    for (size_t i = 0; i < o->tenant_n; i++) {
        set_tenant(m, o->tenants[i].name, (struct holding){0}, (struct holding){0});
    }
    o->tenant_n = store_tenants(o->state.store, &a, tenants);
    for (size_t i = 0; i < o->tenant_n; i++) {
        struct holding limit = tenants[i].limit;

        limit.milli = limit.milli == INT64_MAX ? all.milli_cap : limit.milli;
        limit.mem_mib = limit.mem_mib == INT64_MAX ? all.mem_cap_mib : limit.mem_mib;
        BUG_ON(tenants[i].name.n >= TENANT_NAME_MAX);
        memcpy(o->tenants[i].name, tenants[i].name.p, tenants[i].name.n);
        o->tenants[i].name[tenants[i].name.n] = '\0';
        set_tenant(m, o->tenants[i].name, limit, tenants[i].held);
    }
    arena_fini(&a);
}

static void collect_shadow(struct shadow *s, struct metrics *m)
{
    struct shadow_report r;

    shadow_read(s, &r);
    metric_set(METRIC(m, FGPU_CANDIDATE_DECISIONS, "same"),
               (int64_t)(r.compared_n - r.other_node_n - r.other_device_n));
    metric_set(METRIC(m, FGPU_CANDIDATE_DECISIONS, "other_gpus"), (int64_t)r.other_device_n);
    metric_set(METRIC(m, FGPU_CANDIDATE_DECISIONS, "other_node"), (int64_t)r.other_node_n);
    metric_set(METRIC(m, FGPU_CANDIDATE_DECISIONS, "not_compared"), (int64_t)(r.decision_n - r.compared_n));
    metric_set(METRIC(m, FGPU_CANDIDATE_FRAGMENTATION_MILLI), r.frag_umilli / 1000);
}

void ops_collect_capacity(void *ops, struct metrics *m)
{
    struct ops *o = ops;
    struct capacity_report *r = &o->capacity;

    for (size_t i = 0; i < r->size_n; i++) { /* a size may be gone from the configuration */
        metric_set(METRIC(m, FGPU_MORE_FIT, r->sizes[i].name), 0);
    }
    if (o->state.shadow != NULL) {
        collect_shadow(o->state.shadow, m);
    }
    capacity_reporter_read(o->state.capacity_reporter, r);
    metric_set(METRIC(m, FGPU_FRAGMENTATION_RATIO), capacity_permille(r));
    metric_set(METRIC(m, FGPU_IDLE_MILLI), r->idle_milli);
    metric_set(METRIC(m, FGPU_LARGEST_FREE_MILLI), r->largest_milli);
    metric_set(METRIC(m, FGPU_LARGEST_FREE_MEMORY_BYTES), r->largest_mem_mib * MIB_BYTES);
    metric_set(METRIC(m, FGPU_MOST_EMPTY_GPUS), r->empty_gpu_n);
    for (size_t i = 0; i < r->size_n; i++) {
        metric_set(METRIC(m, FGPU_MORE_FIT, r->sizes[i].name), (int64_t)r->sizes[i].more_n);
    }
}

static enum httpd_action handle_metrics(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    struct ops *o = ctx;

    (void)req;
    resp->content_type = METRICS_CONTENT_TYPE;
    metrics_render(o->metrics, &resp->body);
    return HTTPD_REPLY;
}

/* ---- /audit ---- */

static enum httpd_action handle_audit(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    const struct ops *o = ctx;

    if (o->state.audit == NULL) {
        httpd_response_text(resp, 404, "nothing to audit here\n");
        return HTTPD_REPLY;
    }
    return audit_handle(o->state.audit, req, resp);
}

/* ---- /configz and the index ---- */

static enum httpd_action handle_configz(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    const struct ops *o = ctx;
    struct json_writer w;

    (void)req;
    json_writer_init(&w, &resp->body);
    config_slot_write(o->config, &w);
    return HTTPD_REPLY;
}

static enum httpd_action handle_index(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    static const char text[] = "fgpu " FGPU_VERSION "\n"
                               "\n"
                               "/          the web page, in a browser; its files are below /ui/\n"
                               "/state     which pod holds which part of which GPU: JSON;\n"
                               "           ?node=NAME, ?namespace=NAME, ?fields=summary\n"
                               "/v1/explain?pod=NAMESPACE/NAME\n"
                               "           why a pod waits, or why it is where it is: JSON\n"
                               "/v1/trace  what changed and what was decided, from the flight recorder: JSON lines\n"
                               "/v1/stream what changes in /state, as server-sent events; "
                               "?generation=N&startedAt=T of the /state that was read\n"
                               "/v1/history\n"
                               "           use, fragmentation and waiting pods over time: JSON\n"
                               "/v1/whatif POST {\"limits\":{\"fgpu.io/gpu-milli\":\"500\"},\"count\":10}: "
                               "how many such pods\n"
                               "           would fit now: JSON\n"
                               "/metrics   counters and gauges for Prometheus\n"
                               "/configz   the configuration in effect, where each value comes from, the last "
                               "reload: JSON\n"
                               "/version   version and build: JSON\n"
                               "/readyz    is fgpu ready? ?verbose says why not; likewise /livez and /healthz\n"
                               "/audit     POST: compares the ledger with the API server now; answers with "
                               "what it found\n";

    if (page_is_wanted(req)) {
        return page_handle_index(ctx, req, resp);
    }
    httpd_response_text(resp, 200, text);
    BUG_ON(!httpd_response_header(resp, "Vary", STR("Accept")));
    return HTTPD_REPLY;
}

void ops_routes(struct ops *o, struct httpd_route routes[OPS_ROUTES])
{
    const struct httpd_route table[OPS_ROUTES] = {
        {.method = "GET", .path = "/state", .handle = state_handle, .ctx = &o->state},
        {.method = "GET", .path = "/v1/explain", .handle = explain_handle, .ctx = &o->explain},
        {.method = "GET", .path = "/v1/trace", .handle = trace_handle, .ctx = &o->trace},
        {.method = "GET", .path = "/v1/stream", .handle = stream_handle, .ctx = &o->stream},
        {.method = "GET", .path = "/v1/history", .handle = history_handle, .ctx = &o->history},
        {.method = "POST",
         .path = "/v1/whatif",
         .handle = whatif_handle,
         .ctx = &o->whatif,
         .flags = HTTPD_ROUTE_JSON,
         .body_max_bytes = WHATIF_BODY_MAX},
        {.method = "GET", .path = PAGE_PREFIX, .handle = page_handle, .flags = HTTPD_ROUTE_PREFIX | HTTPD_ROUTE_PUBLIC},
        {.method = "GET", .path = "/metrics", .handle = handle_metrics, .ctx = o},
        {.method = "GET", .path = "/configz", .handle = handle_configz, .ctx = o},
        {.method = "GET", .path = "/version", .handle = handle_version, .ctx = o},
        {.method = "POST", .path = "/audit", .handle = handle_audit, .ctx = o},
        {.method = "GET", .path = "/", .handle = handle_index, .ctx = o},
    };

    for (size_t i = 0; i < OPS_ROUTES; i++) {
        routes[i] = table[i];
    }
}

void ops_metrics_route(struct ops *o, struct httpd_route *ret)
{
    *ret = (struct httpd_route){.method = "GET", .path = "/metrics", .handle = handle_metrics, .ctx = o};
}
