#include "routes/audit.h"

#include "base/clock.h"
#include "routes/state_internal.h"

#define REPORT_BYTES_MAX ((size_t)64 * 1024)

static void write_incidents(struct json_writer *w, const struct audit_report *r)
{
    json_write_kv_i64(w, "incidentCount", (int64_t)r->incident_n);
    json_write_kv_array_begin(w, "incidents");
    for (size_t i = 0; i < r->described_n; i++) {
        json_write_object_begin(w);
        json_write_kv_cstr(w, "kind", incident_kind_name(r->incidents[i].kind));
        state_write_time(w, "since", r->incidents[i].since_ms);
        json_write_kv_cstr(w, "text", r->incidents[i].what);
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

static void write_excess(struct json_writer *w, const struct audit_report *r)
{
    json_write_kv_object_begin(w, "overCommittedByCause");
    for (unsigned i = 0; i < EXCESS_CAUSE_N; i++) {
        if (r->excess[i] > 0) {
            json_write_kv_i64(w, excess_cause_name((enum excess_cause)(1U << i)), (int64_t)r->excess[i]);
        }
    }
    json_write_object_end(w);
}

void audit_write(struct json_writer *w, const struct audit_report *r)
{
    json_write_object_begin(w);
    json_write_kv_i64(w, "runs", (int64_t)r->run_n);
    json_write_kv_cstr(w, "result", audit_result_name(r->result));
    state_write_time(w, "startedAt", r->started_ms);
    state_write_time(w, "endedAt", r->ended_ms);
    state_write_time(w, "lastSuccessAt", r->success_ms);
    json_write_kv_i64(w, "durationMs", r->duration_ns / NS_PER_MS);
    json_write_kv_i64(w, "pods", (int64_t)r->pod_n);
    json_write_kv_i64(w, "nodes", (int64_t)r->node_n);
    json_write_kv_i64(w, "lookedAtAgain", (int64_t)r->suspect_n);
    json_write_kv_i64(w, "undecided", (int64_t)r->unsettled_n);
    json_write_kv_i64(w, "drift", (int64_t)r->drift_n);
    json_write_kv_object_begin(w, "driftByCause");
    for (int i = DRIFT_NONE + 1; i < DRIFT__MAX; i++) {
        if (r->drift[i] > 0) {
            json_write_kv_i64(w, ledger_drift_name((enum ledger_drift)i), (int64_t)r->drift[i]);
        }
    }
    json_write_object_end(w);
    write_incidents(w, r);
    write_excess(w, r);
    json_write_kv_str(w, "error", str_of(r->invariant != NULL ? r->invariant : r->error));
    json_write_object_end(w);
}

static void answer_audit(void *ctx, const struct audit_report *r, bool stopped)
{
    struct httpd_request *req = ctx;
    struct httpd_response resp;
    struct json_writer w;

    httpd_response_init(&resp, REPORT_BYTES_MAX);
    if (stopped) {
        httpd_response_text(&resp, 503, "fgpu is stopping\n");
    } else {
        json_writer_init(&w, &resp.body);
        audit_write(&w, r);
    }
    httpd_resume(req, &resp);
}

enum httpd_action audit_handle(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    (void)resp;
    audit_request(ctx, answer_audit, req);
    return HTTPD_SUSPENDED;
}
