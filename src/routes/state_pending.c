/* pending[] of /state: a pod that waits, what it asks for, and why no node took it when fgpu was last asked. */
#include "routes/state_internal.h"

static void write_count(struct json_writer *w, const uint64_t *counts, enum verdict v)
{
    json_write_object_begin(w);
    json_write_kv_cstr(w, "reason", verdict_name(v));
    json_write_kv_cstr(w, "text", verdict_text(v));
    json_write_kv_i64(w, "nodes", (int64_t)counts[v]);
    json_write_object_end(w);
}

void state_write_verdicts(struct json_writer *w, const char *key, const uint64_t counts[VERDICT__MAX])
{
    enum verdict order[VERDICT__MAX];
    size_t n = verdicts_by_count(counts, order);

    json_write_kv_array_begin(w, key);
    if (counts[VERDICT_FITS] > 0) {
        write_count(w, counts, VERDICT_FITS);
    }
    for (size_t i = 0; i < n; i++) {
        write_count(w, counts, order[i]);
    }
    json_write_array_end(w);
}

/* Nothing of a pod whose request is not valid (any more): `defect` says why it waits. */
static void write_refusal(struct json_writer *w, const struct snapshot_pod *p, const struct waiting_refusal *r)
{
    if (r == NULL || p->defect != DEMAND_OK) {
        return;
    }
    json_write_kv_object_begin(w, "refused");
    state_write_time(w, "since", r->since_ms);
    state_write_time(w, "last", r->last_ms);
    json_write_kv_i64(w, "generation", (int64_t)r->generation);
    json_write_kv_i64(w, "nodes", (int64_t)r->node_n);
    state_write_verdicts(w, "reasons", r->counts);
    json_write_object_end(w);
}

void state_write_pending(struct json_writer *w, const struct snapshot_pod *p, const struct waiting_refusal *refusal)
{
    json_write_object_begin(w);
    state_write_pod_name(w, p);
    state_write_time(w, "since", p->since_ms);
    state_write_text(w, "dialect", p->dialect);
    state_write_text(w, "defect", p->defect == DEMAND_OK ? NULL : demand_defect_text(p->defect));
    json_write_kv_i64(w, "priority", p->priority);
    write_refusal(w, p, refusal);
    state_write_request(w, p->demand);
    json_write_object_end(w);
}
