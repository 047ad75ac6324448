#include "routes/explain_internal.h"

#include "base/bug.h"
#include "routes/state_internal.h"

/* Judging every node of the largest cluster takes less. */
#define ARENA_BYTES_MAX ((size_t)256 << 20)

/* ---- query ---- */

struct query {
    struct str namespace_, name;
    uint64_t node_max;
};

static int read_pod(struct str text, struct query *ret, struct err *reterr)
{
    struct str rest = text;

    if (ret->name.n > 0) {
        return err_set(reterr, ERR_INVALID, "pod is given twice");
    }
    if (!str_split(&rest, '/', &ret->namespace_) || ret->namespace_.n == 0 || rest.n == 0) {
        return err_set(reterr, ERR_INVALID, "pod must be NAMESPACE/NAME");
    }
    ret->name = rest;
    return 0;
}

static int query_read(const struct httpd_request *req, struct query *ret, struct err *reterr)
{
    struct str name, value;
    size_t at = 0;
    int rc = 0;

    *ret = (struct query){.node_max = EXPLAIN_NODES_DEFAULT};
    while (rc == 0 && httpd_request_query_next(req, &at, &name, &value)) {
        if (str_eq(name, STR("pod"))) {
            rc = read_pod(value, ret, reterr);
        } else if (!str_eq(name, STR("nodes"))) {
            rc = err_set(reterr, ERR_INVALID, "unknown parameter \"%.*s\"; use pod or nodes",
                         (int)(name.n < 64 ? name.n : 64), name.p != NULL ? name.p : "");
        } else if (!str_to_u64(value, EXPLAIN_NODES_MAX, &ret->node_max) || ret->node_max == 0) {
            rc = err_set(reterr, ERR_INVALID, "nodes must be a number from 1 to %d", EXPLAIN_NODES_MAX);
        }
    }
    if (rc == 0 && ret->name.n == 0) {
        rc = err_set(reterr, ERR_INVALID, "which pod? Use ?pod=NAMESPACE/NAME");
    }
    return rc;
}

/* ---- the document ---- */

static const char *outcome_name(enum explain_kind k)
{
    switch (k) {
    case EXPLAIN_UNKNOWN:
        return "unknown";
    case EXPLAIN_INVALID:
        return "invalid";
    case EXPLAIN_WAITING:
        return "waiting";
    case EXPLAIN_PLACED:
        return "placed";
    }
    BUG("unknown kind");
}

static void write_pod(struct json_writer *w, const struct explanation *e)
{
    bool known = e->kind != EXPLAIN_UNKNOWN;

    json_write_kv_object_begin(w, "pod");
    json_write_kv_str(w, "namespace", e->namespace_);
    json_write_kv_str(w, "pod", e->name);
    json_write_kv_str(w, "uid", known ? e->pod.pod.uid : STR(""));
    json_write_kv_cstr(w, "state", known ? ledger_pod_state_name(e->pod.state) : "");
    json_write_kv_str(w, "node", known ? e->pod.node_name : STR(""));
    state_write_if(w, "terminating", known && e->pod.deleting);
    if (known) {
        state_write_request(w, e->pod.pod.demand);
    }
    json_write_object_end(w);
}

static void write_lacks(struct json_writer *w, const struct explanation *e, const struct nearest *n)
{
    if (n->lacks.missing_n == 0) {
        return;
    }
    json_write_kv_object_begin(w, "lacks");
    json_write_kv_str(w, "container", e->pod.pod.demand->gpu_requests[n->lacks.gpu_request].container);
    json_write_kv_i64(w, "gpus", n->lacks.missing_n);
    json_write_kv_array_begin(w, "nearest");
    for (uint32_t i = 0; i < n->lacks.device_n; i++) {
        const struct shortfall_device *d = &n->lacks.devices[i];

        json_write_object_begin(w);
        json_write_kv_str(w, "uuid", n->uuids[i]);
        json_write_kv_i64(w, "index", n->indexes[i]);
        json_write_kv_str(w, "model", n->models[i]);
        state_write_positive(w, "milli", d->milli);
        state_write_positive(w, "memMib", d->mem_mib);
        state_write_positive(w, "tooSmallMib", d->too_small_mib);
        state_write_positive(w, "sharers", d->slots);
        state_write_if(w, "held", d->held);
        json_write_object_end(w);
    }
    json_write_array_end(w);
    json_write_object_end(w);
}

static void write_leaving(struct json_writer *w, const struct nearest *n)
{
    json_write_kv_array_begin(w, "fitsIfEnded");
    for (size_t i = 0; i < n->cost.pod_n; i++) {
        const struct nearest_pod *p = &n->leaving[i];

        json_write_object_begin(w);
        json_write_kv_str(w, "namespace", p->namespace_);
        json_write_kv_str(w, "pod", p->name);
        json_write_kv_str(w, "uid", p->uid);
        json_write_kv_i64(w, "milli", p->milli);
        json_write_kv_i64(w, "memMib", p->mem_mib);
        state_write_if(w, "terminating", p->deleting);
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

static void write_strings(struct json_writer *w, const char *key, const struct str *items, size_t n)
{
    json_write_kv_array_begin(w, key);
    for (size_t i = 0; i < n; i++) {
        json_write_str(w, items[i]);
    }
    json_write_array_end(w);
}

void explain_write_nearest(struct json_writer *w, const struct explanation *e)
{
    char text[EXPLAIN_SENTENCE_MAX];

    json_write_kv_array_begin(w, "nearest");
    for (size_t i = 0; i < e->shown_n; i++) {
        const struct nearest *n = &e->nodes[i];

        json_write_object_begin(w);
        json_write_kv_str(w, "node", n->node_name);
        json_write_kv_cstr(w, "reason", verdict_name(e->verdicts[i]));
        json_write_kv_cstr(w, "reasonText", verdict_text(e->verdicts[i]));
        json_write_kv_cstr(w, "text", explain_node_sentence(n, text, sizeof(text)));
        state_write_if(w, "untolerated", n->untolerated);
        write_lacks(w, e, n);
        write_leaving(w, n);
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

static void write_scheduler(struct json_writer *w, const struct explanation *e)
{
    const struct waiting_note *n = &e->waiting;
    struct str own[EXPLAIN_REASONS_MAX];
    size_t own_n = explain_scheduler_reasons(n->message, own);
    char text[EXPLAIN_SENTENCE_MAX];

    if (!n->known) {
        return;
    }
    json_write_kv_object_begin(w, "scheduler");
    json_write_kv_str(w, "name", n->scheduler_name);
    json_write_kv_str(w, "message", n->message);
    json_write_kv_array_begin(w, "ownReasons");
    for (size_t i = 0; i < own_n; i++) {
        json_write_str(w, own[i]);
    }
    json_write_array_end(w);
    json_write_kv_i64(w, "asked", n->asked_n);
    if (n->asked_n > 0) {
        state_write_time(w, "lastAsked", n->asked_ms);
        json_write_kv_i64(w, "lastNodes", n->node_n);
        json_write_kv_i64(w, "lastFitting", n->fit_n);
    } else {
        json_write_kv_cstr(w, "notAsked", explain_unasked_sentence(n, text, sizeof(text)));
    }
    json_write_object_end(w);
}

/* ---- of a pod that has its place ---- */

static void write_allocations(struct json_writer *w, const struct explanation *e)
{
    json_write_kv_array_begin(w, "allocations");
    for (size_t i = 0; i < e->snapshot.node_n; i++) {
        const struct snapshot_node *n = &e->snapshot.nodes[i];

        for (size_t g = 0; g < n->device_n; g++) {
            const struct snapshot_device *d = &n->devices[g];

            for (size_t k = 0; k < d->allocation_n; k++) {
                const struct snapshot_allocation *at = &d->allocations[k];

                if (!str_eq(e->snapshot.pods[at->pod].uid, e->pod.pod.uid)) {
                    continue;
                }
                json_write_object_begin(w);
                json_write_kv_str(w, "uuid", d->uuid);
                json_write_kv_i64(w, "index", d->index);
                json_write_kv_str(w, "model", d->model);
                json_write_kv_str(w, "container", at->container);
                json_write_kv_i64(w, "milli", at->milli);
                json_write_kv_i64(w, "memMib", at->mem_mib);
                json_write_object_end(w);
            }
        }
    }
    json_write_array_end(w);
}

static void write_placed(struct json_writer *w, const struct explanation *e)
{
    json_write_kv_str(w, "recordId", e->pod.decision_id);
    write_allocations(w, e);
    if (e->decision != NULL) {
        json_write_key(w, "decision");
        state_write_reason(w, e->decision);
    }
}

static void write_hints(struct json_writer *w, const struct explanation *e)
{
    json_write_kv_array_begin(w, "notes");
    for (size_t i = 0; i < e->note_n; i++) {
        json_write_object_begin(w);
        json_write_kv_cstr(w, "text", e->notes[i].text);
        json_write_kv_i64(w, "nodes", (int64_t)e->notes[i].node_n);
        json_write_kv_str(w, "example", e->notes[i].node);
        json_write_object_end(w);
    }
    json_write_array_end(w);
    if (e->model_n > 0) {
        write_strings(w, "models", e->models, e->model_n);
    }
}

void explain_write_invalid(struct json_writer *w, const struct explanation *e)
{
    json_write_kv_str(w, "asWritten", e->pod.pod.demand->as_written);
    if (e->size_n > 0) {
        write_strings(w, "sizes", e->sizes, e->size_n);
    }
}

static void write_document(struct json_writer *w, const struct explain_context *c, const struct explanation *e)
{
    char text[EXPLAIN_SENTENCE_MAX];

    json_write_object_begin(w);
    json_write_kv_cstr(w, "apiVersion", EXPLAIN_API_VERSION);
    json_write_kv_cstr(w, "kind", "Explanation");
    json_write_kv_object_begin(w, "metadata");
    json_write_kv_i64(w, "generation", (int64_t)e->generation);
    state_write_time(w, "asOf", clock_wall_ms(c->clock));
    json_write_object_end(w);
    json_write_kv_cstr(w, "outcome", outcome_name(e->kind));
    json_write_kv_cstr(w, "text", explain_sentence(e, text, sizeof(text)));
    write_pod(w, e);
    if (e->kind == EXPLAIN_WAITING) {
        json_write_kv_i64(w, "nodeCount", (int64_t)e->node_n);
        state_write_verdicts(w, "reasons", e->counts);
        write_strings(w, "fitting", e->fitting, e->fitting_n);
        state_write_positive(w, "inDoubt", (int64_t)e->in_doubt_n);
        explain_write_nearest(w, e);
        write_hints(w, e);
        write_scheduler(w, e);
    } else if (e->kind == EXPLAIN_PLACED) {
        write_placed(w, e);
    } else if (e->kind == EXPLAIN_INVALID) {
        explain_write_invalid(w, e);
    } else {
        write_strings(w, "nearNames", e->near_names, e->near_n);
    }
    json_write_object_end(w);
}

/* ---- the answer ---- */

static enum httpd_action answer(struct explain_context *c, const struct query *q, struct httpd_response *resp)
{
    const struct rules *rules = policy_set_take(c->policies);
    struct explanation e;
    struct arena a;
    struct err err;
    int rc;

    arena_init(&a, ARENA_BYTES_MAX);
    rc = explain_pod(&rules->placement, &a, q->namespace_, q->name, q->node_max, &e, &err);
    if (rc == 0) {
        struct json_writer w;

        json_writer_init(&w, &resp->body);
        write_document(&w, c, &e);
        BUG_ON(!httpd_response_header(resp, "Cache-Control", STR("no-store")));
    }
    explain_end(&e);
    arena_fini(&a);
    rules_put(rules);
    return rc == 0 ? HTTPD_REPLY : state_refuse(resp, 503, &err);
}

enum httpd_action explain_handle(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    struct explain_context *c = ctx;
    enum httpd_action action;
    struct query q;
    struct err err;

    if (query_read(req, &q, &err) != 0) {
        return state_refuse(resp, 400, &err);
    }
    if (!state_take_place(&c->reader_n, EXPLAIN_READERS_MAX, "explanations are already being made; try again", resp)) {
        return HTTPD_REPLY;
    }
    action = answer(c, &q, resp);
    atomic_fetch_sub(&c->reader_n, 1);
    return action;
}
