#include "cmd_node/node_state.h"

#include "base/build_info.h"
#include "base/clock.h"
#include "base/json_write.h"
#include "model/documents.h"

static int64_t mib_of(int64_t bytes)
{
    return bytes >> 20;
}

/* ---- use ---- */

/* What is unknown is left out. */
static void write_amount(struct json_writer *w, const char *key, const struct usage_amount *a, int64_t (*of)(int64_t))
{
    json_write_kv_object_begin(w, key);
    if (a->now != USAGE_UNKNOWN) {
        json_write_kv_i64(w, "now", of(a->now));
    }
    if (a->peak != USAGE_UNKNOWN) {
        json_write_kv_i64(w, "peak", of(a->peak));
        json_write_kv_i64(w, "mean", of(a->mean));
    }
    json_write_object_end(w);
}

static int64_t as_it_is(int64_t value)
{
    return value;
}

static void write_usage(struct json_writer *w, const struct usage_row *r)
{
    json_write_kv_object_begin(w, "usage");
    json_write_kv_i64(w, "observedSeconds", (r->seen_ns - r->since_ns) / NS_PER_S);
    json_write_kv_i64(w, "looks", r->look_n);
    json_write_kv_bool(w, "touched", r->touched);
    json_write_kv_i64(w, "processes", (int64_t)r->process_n);
    write_amount(w, "memMib", &r->mem_bytes, mib_of);
    write_amount(w, "milli", &r->milli, as_it_is);
    if (r->over_since_ns != USAGE_UNKNOWN) {
        json_write_kv_i64(w, "overSeconds", (r->seen_ns - r->over_since_ns) / NS_PER_S);
        json_write_kv_i64(w, "largestPid", r->largest.pid);
    }
    json_write_kv_bool(w, "crowding", r->crowding);
    json_write_kv_i64(w, "crowdingSeconds", r->crowding_ns / NS_PER_S);
    json_write_object_end(w);
}

/* ---- GPUs ---- */

static void write_hold(struct json_writer *w, const struct node_state *s, const struct view_hold *h)
{
    const struct usage_row *r = s->usage != NULL ? usage_of(s->usage, h->container_id, h->gpu) : NULL;

    json_write_object_begin(w);
    json_write_kv_str(w, "namespace", h->namespace_);
    json_write_kv_str(w, "pod", h->pod);
    json_write_kv_str(w, "uid", h->pod_uid);
    json_write_kv_str(w, "container", h->container);
    json_write_kv_str(w, "id", h->container_id);
    json_write_kv_i64(w, "milli", h->milli);
    json_write_kv_i64(w, "memMib", h->mem_mib);
    json_write_kv_bool(w, "alone", h->alone);
    if (r != NULL) {
        write_usage(w, r);
    }
    json_write_object_end(w);
}

static void write_holds(struct json_writer *w, const struct node_state *s, struct str gpu)
{
    json_write_kv_array_begin(w, "containers");
    for (size_t i = 0; i < s->view.hold_n; i++) {
        if (str_eq(s->view.holds[i].gpu, gpu)) {
            write_hold(w, s, &s->view.holds[i]);
        }
    }
    json_write_array_end(w);
}

static void write_gpu(struct json_writer *w, const struct node_state *s, const struct view_gpu *g)
{
    const struct device *d = &g->device;

    json_write_object_begin(w);
    json_write_kv_str(w, "uuid", d->uuid);
    json_write_kv_i64(w, "index", d->index);
    json_write_kv_i64(w, "minor", d->minor);
    json_write_kv_str(w, "model", d->model);
    json_write_kv_i64(w, "memMib", d->mem_mib);
    json_write_kv_bool(w, "mig", d->profile == DEVICE_IN_MIG_MODE);
    json_write_kv_bool(w, "instance", d->profile != 0 && d->profile != DEVICE_IN_MIG_MODE);
    json_write_kv_bool(w, "healthy", d->healthy);
    json_write_kv_object_begin(w, "held");
    json_write_kv_i64(w, "milli", g->held.milli);
    json_write_kv_i64(w, "memMib", g->held.mem_mib);
    json_write_kv_i64(w, "sharers", g->held.sharers);
    json_write_kv_bool(w, "alone", g->held.alone);
    json_write_kv_bool(w, "closed", g->held.closed);
    json_write_object_end(w);
    json_write_kv_bool(w, "over", g->over);
    write_holds(w, s, d->uuid);
    json_write_object_end(w);
}

/* GPUs that containers hold and that the node does not have (any more). */
static bool is_known(const struct node_view *v, struct str gpu)
{
    for (size_t i = 0; i < v->gpu_n; i++) {
        if (str_eq(v->gpus[i].device.uuid, gpu)) {
            return true;
        }
    }
    return false;
}

static void write_lost(struct json_writer *w, const struct node_state *s)
{
    json_write_kv_array_begin(w, "lost");
    for (size_t i = 0; i < s->view.hold_n; i++) {
        const struct view_hold *h = &s->view.holds[i];

        if (!is_known(&s->view, h->gpu)) {
            json_write_object_begin(w);
            json_write_kv_str(w, "gpu", h->gpu);
            json_write_kv_str(w, "namespace", h->namespace_);
            json_write_kv_str(w, "pod", h->pod);
            json_write_kv_str(w, "uid", h->pod_uid);
            json_write_kv_str(w, "container", h->container);
            json_write_object_end(w);
        }
    }
    json_write_array_end(w);
}

/* ---- those that have ended ---- */

static void write_ended(struct json_writer *w, const struct node_state *s)
{
    json_write_kv_array_begin(w, "ended");
    for (size_t i = 0; s->usage != NULL && i < usage_ended_n(s->usage); i++) {
        const struct usage_row *r = usage_ended_at(s->usage, i);

        json_write_object_begin(w);
        json_write_kv_str(w, "gpu", r->holder.gpu);
        json_write_kv_str(w, "namespace", r->holder.namespace_);
        json_write_kv_str(w, "pod", r->holder.pod);
        json_write_kv_str(w, "uid", r->holder.pod_uid);
        json_write_kv_str(w, "container", r->holder.container);
        json_write_kv_str(w, "id", r->holder.container_id);
        json_write_kv_i64(w, "milli", r->holder.milli);
        json_write_kv_i64(w, "memMib", mib_of(r->holder.mem_bytes));
        json_write_kv_bool(w, "alone", r->holder.alone);
        json_write_kv_i64(w, "agoSeconds", (s->mono_ns - r->seen_ns) / NS_PER_S);
        write_usage(w, r);
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

void node_state_write(const struct node_state *s, struct strbuf *out)
{
    char at[CLOCK_RFC3339_MAX];
    struct json_writer w;

    json_writer_init(&w, out);
    json_write_object_begin(&w);
    json_write_kv_cstr(&w, "apiVersion", NODE_STATE_API_VERSION);
    json_write_kv_cstr(&w, "kind", "NodeState");
    json_write_kv_object_begin(&w, "metadata");
    json_write_kv_cstr(&w, "node", s->node);
    json_write_kv_cstr(&w, "asOf", clock_rfc3339(s->wall_ms, at));
    json_write_kv_cstr(&w, "version", FGPU_VERSION);
    json_write_object_end(&w);
    json_write_kv_bool(&w, "driver", s->driver);
    json_write_kv_object_begin(&w, "runtime");
    json_write_kv_str(&w, "name", s->view.runtime);
    json_write_kv_str(&w, "version", s->view.runtime_version);
    json_write_kv_bool(&w, "connected", s->connected);
    json_write_object_end(&w);
    json_write_kv_object_begin(&w, "limits");
    json_write_kv_str(&w, "kind", s->view.limits);
    json_write_kv_str(&w, "notByDriver", s->view.not_by_driver);
    json_write_object_end(&w);
    json_write_kv_object_begin(&w, "watch");
    json_write_kv_bool(&w, "on", s->usage != NULL);
    json_write_kv_i64(&w, "intervalSeconds", s->interval_ms / 1000);
    json_write_kv_cstr(&w, "onExceed", s->kill ? "kill" : "report");
    json_write_object_end(&w);
    json_write_kv_array_begin(&w, "gpus");
    for (size_t i = 0; i < s->view.gpu_n; i++) {
        write_gpu(&w, s, &s->view.gpus[i]);
    }
    json_write_array_end(&w);
    write_lost(&w, s);
    write_ended(&w, s);
    json_write_object_end(&w);
}
