#define _GNU_SOURCE /* memmem */
#include "kube/event.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/json_write.h"
#include "base/printable.h"
#include "kube/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct event_words words[EVENT_REASON__MAX] = {
    [EVENT_INVENTORY_INVALID] = {"GPUInventoryInvalid", "ReadInventory", true},
    [EVENT_INVENTORY_RESTORED] = {"GPUInventoryRestored", "ReadInventory", false},
    [EVENT_DEVICE_LOST] = {"GPUDeviceLost", "ReadInventory", true},
    [EVENT_DEVICE_RETURNED] = {"GPUDeviceReturned", "ReadInventory", false},
    [EVENT_DEVICE_UNHEALTHY] = {"GPUDeviceUnhealthy", "ReadInventory", true},
    [EVENT_DEVICE_HEALTHY] = {"GPUDeviceHealthy", "ReadInventory", false},
    [EVENT_NODE_CLOSED] = {"GPUNodeClosed", "SwitchNodePool", false},
    [EVENT_NODE_OPENED] = {"GPUNodeOpened", "SwitchNodePool", false},
    [EVENT_OVERCOMMITTED] = {"GPUOvercommitted", "CheckCapacity", true},
    [EVENT_RECOVERED] = {"GPURecovered", "CheckCapacity", false},
    [EVENT_DOOR_OPEN] = {"GPUDoorOpen", "CheckRuntime", true},
    [EVENT_REQUEST_INVALID] = {"GPURequestInvalid", "ReadRequest", true},
    [EVENT_ASSIGNMENT_MISSING] = {"GPUAssignmentMissing", "ReadAssignment", true},
    [EVENT_ASSIGNMENT_FOREIGN] = {"GPUAssignmentForeign", "ReadAssignment", true},
    [EVENT_DOUBLE_BOOKED] = {"GPUDoubleBooked", "CheckCapacity", true},
    [EVENT_ASSIGNMENT_FORGED] = {"GPUAssignmentIgnored", "ReadAssignment", true},
    [EVENT_ASSIGNMENT_CONFLICT] = {"GPUAssignmentConflict", "ReadAssignment", true},
    [EVENT_RECORD_REFUTED] = {"GPURecordRefuted", "ReadAssignment", true},
    [EVENT_MEMORY_EXCEEDED] = {"GPUMemoryExceeded", "WatchUsage", true},
    [EVENT_PROCESS_KILLED] = {"GPUProcessKilled", "EnforceLimit", true},
    [EVENT_GPU_NOT_HANDED_OVER] = {"GPUNotHandedOver", "HandOver", true},
    [EVENT_GPU_NOT_GRANTED] = {"GPUNotGranted", "HandOver", true},
    [EVENT_PREEMPTION_REFUSED] = {"GPUPreemptionRefused", "Preempt", true},
    [EVENT_POD_WAITS] = {"GPUPodWaits", "Explain", false},
    [EVENT_BIND_RESOLVED] = {"GPUBindingResolved", "Binding", false},
    [EVENT_DRIFT_REPAIRED] = {"GPUDriftRepaired", "Audit", true},
    [EVENT_CONFIG_REJECTED] = {"ConfigRejected", "ReloadConfig", true},
    [EVENT_CONFIG_RELOADED] = {"ConfigReloaded", "ReloadConfig", false},
    [EVENT_WINDOWS_AHEAD] = {"TimeWindowsAhead", "SwitchTimeWindows", false},
    [EVENT_WINDOWS_CHANGED] = {"TimeWindowsChanged", "SwitchTimeWindows", false},
    [EVENT_CHANGE_OVER] = {"NodePoolsChangeOver", "ChangeOverNodePools", false},
    [EVENT_CHANGE_OVER_HELD] = {"NodePoolsChangeOverHeld", "ChangeOverNodePools", true},
    [EVENT_LEDGER_BROKEN] = {"LedgerBroken", "CheckLedger", true},
};

const struct event_words *event_words(enum event_reason r)
{
    BUG_ON((unsigned)r >= EVENT_REASON__MAX);
    return &words[r];
}

/* NULL, or what is wrong with the object a caller names: no API server has such a name or namespace. */
static const char *check_object(const struct event_object *o)
{
    switch (o->kind) {
    case EVENT_OBJECT_POD:
        if (!kube_name_is_label(o->namespace_)) {
            return "not a namespace";
        }
        return kube_name_is_subdomain(o->name) ? NULL : "not the name of a pod";
    case EVENT_OBJECT_NODE:
        return kube_name_is_subdomain(o->name) ? NULL : "not the name of a node";
    case EVENT_OBJECT_NONE:
    case EVENT_OBJECT_SELF:
        break;
    }
    return "no object";
}

/* The namespace an Event about this object lives in: its own, "default" for a node. */
static struct str event_namespace(const struct event_object *regarding)
{
    return regarding->kind == EVENT_OBJECT_NODE ? STR("default") : regarding->namespace_;
}

/* The cut must not end in a dot or a dash: what follows is a label of its own. */
char *event_name(struct str object_name, uint64_t id, char buf[EVENT_NAME_MAX + 1])
{
    size_t n = object_name.n;

    if (n > EVENT_NAME_MAX - 17) {
        n = EVENT_NAME_MAX - 17;
    }
    while (n > 0 && (object_name.p[n - 1] == '.' || object_name.p[n - 1] == '-')) {
        n--;
    }
    snprintf(buf, EVENT_NAME_MAX + 1, "%.*s.%016" PRIx64, (int)n, n > 0 ? object_name.p : "", id);
    return buf;
}

#define EVENT_TIME_MAX 32

/* "2026-11-20T08:38:00.463000Z": a MicroTime has six digits after the point, no more and no fewer. */
static char *event_time(int64_t wall_ms, char buf[EVENT_TIME_MAX])
{
    char millis[CLOCK_RFC3339_MAX];

    clock_rfc3339(wall_ms, millis);
    snprintf(buf, EVENT_TIME_MAX, "%.23s000Z", millis);
    return buf;
}

/* A byte that is not UTF-8 becomes U+FFFD in JSON, which has three. */
static struct str cut(struct str s, size_t max_bytes)
{
    struct str rest = s;
    size_t bytes = 0;

    while (rest.n > 0) {
        size_t n = printable_char_len(rest);

        bytes += n == 1 && (unsigned char)rest.p[0] >= 0x80 ? 3 : n;
        if (bytes > max_bytes) {
            break;
        }
        rest = str_drop(rest, n);
    }
    return (struct str){s.p, s.n - rest.n};
}

static void write_object(struct json_writer *w, const char *key, const struct event_object *o)
{
    json_write_key(w, key);
    json_write_object_begin(w);
    json_write_kv_cstr(w, "apiVersion", "v1");
    json_write_kv_cstr(w, "kind", o->kind == EVENT_OBJECT_POD ? "Pod" : "Node");
    if (o->kind == EVENT_OBJECT_POD) {
        json_write_kv_str(w, "namespace", o->namespace_);
    }
    json_write_kv_str(w, "name", o->name);
    if (o->uid.n > 0) {
        json_write_kv_str(w, "uid", o->uid);
    }
    json_write_object_end(w);
}

static int check(const struct event_object *o, struct err *reterr)
{
    const char *why = check_object(o);

    return why == NULL ? 0 : err_set(reterr, ERR_INVALID, "%s: \"%.*s\"", why, STR_ARG(o->name));
}

int event_post(const struct event *e, const char *name, const struct event_source *source, int64_t at_ms,
               struct strbuf *path, struct strbuf *body, struct err *reterr)
{
    const struct event_words *w = event_words(e->reason);
    struct str namespace_ = event_namespace(&e->regarding);
    char time[EVENT_TIME_MAX];
    struct json_writer j;
    int rc = check(&e->regarding, reterr);

    if (rc == 0 && e->related.kind != EVENT_OBJECT_NONE) {
        rc = check(&e->related, reterr);
    }
    if (rc != 0) {
        return rc;
    }
    strbuf_add_cstr(path, "/apis/events.k8s.io/v1/namespaces/");
    kube_url_escape(path, namespace_);
    strbuf_add_cstr(path, "/events");
    json_writer_init(&j, body);
    json_write_object_begin(&j);
    json_write_kv_cstr(&j, "apiVersion", "events.k8s.io/v1");
    json_write_kv_cstr(&j, "kind", "Event");
    json_write_key(&j, "metadata");
    json_write_object_begin(&j);
    json_write_kv_cstr(&j, "name", name);
    json_write_kv_str(&j, "namespace", namespace_);
    json_write_object_end(&j);
    json_write_kv_cstr(&j, "eventTime", event_time(at_ms, time));
    json_write_kv_cstr(&j, "reportingController", source->controller);
    json_write_kv_str(&j, "reportingInstance", cut(str_of(source->instance), EVENT_WORD_MAX));
    json_write_kv_cstr(&j, "action", w->action);
    json_write_kv_cstr(&j, "reason", w->reason);
    json_write_kv_cstr(&j, "type", w->warning ? "Warning" : "Normal");
    json_write_kv_str(&j, "note", cut(e->note, EVENT_NOTE_MAX));
    write_object(&j, "regarding", &e->regarding);
    if (e->related.kind != EVENT_OBJECT_NONE) {
        write_object(&j, "related", &e->related);
    }
    json_write_object_end(&j);
    return path->overflowed || body->overflowed ? err_set(reterr, ERR_LIMIT, "no room for an Event") : 0;
}

void event_patch(uint32_t count, int64_t last_ms, struct strbuf *body)
{
    char time[EVENT_TIME_MAX];
    struct json_writer j;

    BUG_ON(count < 2);
    json_writer_init(&j, body);
    json_write_object_begin(&j);
    json_write_key(&j, "series");
    json_write_object_begin(&j);
    json_write_kv_i64(&j, "count", count);
    json_write_kv_cstr(&j, "lastObservedTime", event_time(last_ms, time));
    json_write_object_end(&j);
    json_write_object_end(&j);
}

/* ---- replies ---- */

static bool contains(struct str s, struct str part)
{
    return s.n > 0 && memmem(s.p, s.n, part.p, part.n) != NULL;
}

/* apiserver's admission answers 403 too: NamespaceLifecycle with this cause, ResourceQuota with
 * these words. */
static bool concerns_one_namespace(struct str body)
{
    return contains(body, STR("NamespaceTerminating")) || contains(body, STR("because it is being terminated")) ||
           contains(body, STR("exceeded quota"));
}

struct event_answer event_classify(const struct kube_outcome *outcome, struct str body)
{
    struct event_answer a = {EVENT_REPLY_RETRY, 0};
    int status = outcome->http_status;

    if (outcome->kind != KUBE_ANSWERED) {
        return a;
    }
    if (status == 200 || status == 201 || status == 202 || status == 409) {
        a.reply = EVENT_REPLY_ACCEPTED;
    } else if (status == 404) {
        a.reply = EVENT_REPLY_GONE;
    } else if (status == 403) {
        a.reply = concerns_one_namespace(body) ? EVENT_REPLY_REJECTED : EVENT_REPLY_FORBIDDEN;
    } else if (status >= 400 && status < 500 && status != 401 && status != 408 && status != 429) {
        a.reply = EVENT_REPLY_REJECTED;
    } else if (outcome->retry_after_ms > 0) {
        a.retry_after_ms = outcome->retry_after_ms;
    }
    return a;
}
