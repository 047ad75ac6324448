#include "cmd/rightsize_show.h"

#include "base/json_write.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- as a table ---- */

static void add_amounts(struct strbuf *out, int64_t milli, int64_t mem_mib)
{
    char text[64], milli_text[32] = "?", mem_text[32] = "?";

    if (milli != RIGHTSIZE_UNKNOWN) {
        snprintf(milli_text, sizeof(milli_text), "%" PRId64, milli);
    }
    if (mem_mib != RIGHTSIZE_UNKNOWN) {
        snprintf(mem_text, sizeof(mem_text), "%" PRId64, mem_mib);
    }
    snprintf(text, sizeof(text), "%s/%s", milli_text, mem_text);
    strbuf_addf(out, " %14s", text);
}

static void add_proposal(struct strbuf *out, const struct rightsize_workload *w)
{
    if (w->verdict != RIGHTSIZE_SMALLER && w->verdict != RIGHTSIZE_LARGER) {
        strbuf_addf(out, " %14s", "-");
        return;
    }
    add_amounts(out, w->milli, w->mem_mib);
    if (w->size.n > 0) {
        strbuf_addf(out, "  %.*s", STR_ARG(w->size));
    }
}

static void table_workloads(const struct rightsize_view *v, struct strbuf *out)
{
    strbuf_addf(out, "%-44s %5s %9s %7s %14s %14s %-10s %14s  %s\n", "WORKLOAD (CONTAINER)", "PODS", "SECONDS", "LOOKS",
                "GIVEN", "PEAK", "VERDICT", "PROPOSAL", "SIZE");
    for (size_t i = 0; i < v->n; i++) {
        const struct rightsize_workload *w = &v->workloads[i];
        char name[512];

        snprintf(name, sizeof(name), "%.*s/%.*s (%.*s)", STR_ARG(w->namespace_), STR_ARG(w->name),
                 STR_ARG(w->container));
        strbuf_addf(out, "%-44s %5zu %9" PRId64 " %7" PRId64, name, w->pods, w->seconds, w->looks);
        add_amounts(out, w->given_milli, w->given_mem_mib);
        add_amounts(out, w->peak_milli, w->peak_mem_mib);
        strbuf_addf(out, " %-10s", rightsize_verdict_name(w->verdict));
        add_proposal(out, w);
        strbuf_add_char(out, '\n');
    }
    strbuf_add_cstr(out, "Amounts are milli/MiB of one GPU.\n");
}

static bool is_untouched(const struct rightsize_use *u, const struct rightsize_view *v)
{
    return !u->ended && u->watched && !u->touched && u->seconds >= v->least_seconds;
}

static bool is_unwatched(const struct rightsize_document *d)
{
    return d->newest && !d->watched;
}

static void table_unwatched(const struct rightsize_view *v, struct strbuf *out)
{
    for (const struct rightsize_document *d = v->read->documents; d != NULL; d = d->next) {
        if (is_unwatched(d)) {
            strbuf_addf(out,
                        "Not watched    %.*s: its fgpu-node does not look what containers use; start it with "
                        "--usage-interval 10s\n",
                        STR_ARG(d->node));
        }
    }
}

static void table_uses(const struct rightsize_view *v, struct strbuf *out)
{
    for (const struct rightsize_use *u = v->read->uses; u != NULL; u = u->next) {
        if (is_untouched(u, v)) {
            strbuf_addf(out,
                        "Never touched  %.*s/%.*s (%.*s) on %.*s: GPU %.*s, %" PRId64 " milli, %" PRId64
                        " MiB, seen for %" PRId64 " s\n",
                        STR_ARG(u->namespace_), STR_ARG(u->pod), STR_ARG(u->container), STR_ARG(u->from->node),
                        STR_ARG(u->gpu), u->milli, u->mem_mib, u->seconds);
        }
        if (u->crowding_seconds > 0) {
            strbuf_addf(out,
                        "Crowding       %.*s/%.*s (%.*s) on %.*s: GPU %.*s, above its share of %" PRId64
                        " milli while others lacked theirs, for %" PRId64 " s\n",
                        STR_ARG(u->namespace_), STR_ARG(u->pod), STR_ARG(u->container), STR_ARG(u->from->node),
                        STR_ARG(u->gpu), u->milli, u->crowding_seconds);
        }
    }
    for (const struct rightsize_idle *g = v->read->idle; g != NULL; g = g->next) {
        strbuf_addf(out, "Idle           GPU %.*s on %.*s: %.*s, %" PRId64 " MiB\n", STR_ARG(g->gpu),
                    STR_ARG(g->from->node), STR_ARG(g->model), g->mem_mib);
    }
}

void rightsize_table(const struct rightsize_view *v, struct strbuf *out)
{
    table_workloads(v, out);
    table_unwatched(v, out);
    table_uses(v, out);
}

/* ---- as JSON ---- */

static void json_amounts(struct json_writer *w, const char *key, int64_t milli, int64_t mem_mib)
{
    json_write_kv_object_begin(w, key);
    if (milli != RIGHTSIZE_UNKNOWN) {
        json_write_kv_i64(w, "milli", milli);
    }
    if (mem_mib != RIGHTSIZE_UNKNOWN) {
        json_write_kv_i64(w, "memMib", mem_mib);
    }
}

static void json_workload(struct json_writer *w, const struct rightsize_workload *x)
{
    json_write_object_begin(w);
    json_write_kv_str(w, "namespace", x->namespace_);
    json_write_kv_str(w, "workload", x->name);
    json_write_kv_str(w, "container", x->container);
    json_write_kv_i64(w, "pods", (int64_t)x->pods);
    json_write_kv_i64(w, "running", (int64_t)x->running);
    json_write_kv_i64(w, "seconds", x->seconds);
    json_write_kv_i64(w, "looks", x->looks);
    json_amounts(w, "given", x->given_milli, x->given_mem_mib);
    json_write_object_end(w);
    json_amounts(w, "peak", x->peak_milli, x->peak_mem_mib);
    json_write_object_end(w);
    json_amounts(w, "mean", x->mean_milli, x->mean_mem_mib);
    json_write_object_end(w);
    json_write_kv_cstr(w, "verdict", rightsize_verdict_name(x->verdict));
    if (x->verdict == RIGHTSIZE_SMALLER || x->verdict == RIGHTSIZE_LARGER) {
        json_amounts(w, "proposal", x->milli, x->mem_mib);
        if (x->size.n > 0) {
            json_write_kv_str(w, "size", x->size);
        }
        json_write_object_end(w);
    }
    json_write_object_end(w);
}

static void json_use(struct json_writer *w, const struct rightsize_use *u)
{
    json_write_object_begin(w);
    json_write_kv_str(w, "node", u->from->node);
    json_write_kv_str(w, "gpu", u->gpu);
    json_write_kv_str(w, "namespace", u->namespace_);
    json_write_kv_str(w, "pod", u->pod);
    json_write_kv_str(w, "container", u->container);
    json_write_kv_i64(w, "milli", u->milli);
    json_write_kv_i64(w, "memMib", u->mem_mib);
    json_write_kv_i64(w, "seconds", u->seconds);
    json_write_kv_i64(w, "crowdingSeconds", u->crowding_seconds);
    json_write_object_end(w);
}

static void json_lists(struct json_writer *w, const struct rightsize_view *v)
{
    json_write_kv_array_begin(w, "notWatched");
    for (const struct rightsize_document *d = v->read->documents; d != NULL; d = d->next) {
        if (is_unwatched(d)) {
            json_write_str(w, d->node);
        }
    }
    json_write_array_end(w);
    json_write_kv_array_begin(w, "untouched");
    for (const struct rightsize_use *u = v->read->uses; u != NULL; u = u->next) {
        if (is_untouched(u, v)) {
            json_use(w, u);
        }
    }
    json_write_array_end(w);
    json_write_kv_array_begin(w, "crowding");
    for (const struct rightsize_use *u = v->read->uses; u != NULL; u = u->next) {
        if (u->crowding_seconds > 0) {
            json_use(w, u);
        }
    }
    json_write_array_end(w);
    json_write_kv_array_begin(w, "idle");
    for (const struct rightsize_idle *g = v->read->idle; g != NULL; g = g->next) {
        json_write_object_begin(w);
        json_write_kv_str(w, "node", g->from->node);
        json_write_kv_str(w, "gpu", g->gpu);
        json_write_kv_str(w, "model", g->model);
        json_write_kv_i64(w, "memMib", g->mem_mib);
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

void rightsize_json(const struct rightsize_view *v, struct strbuf *out)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_write_object_begin(&w);
    json_write_kv_cstr(&w, "kind", "Rightsize");
    json_write_kv_bool(&w, "complete", v->complete);
    json_write_kv_i64(&w, "marginPercent", v->margin_percent);
    json_write_kv_i64(&w, "leastSeconds", v->least_seconds);
    json_write_kv_array_begin(&w, "workloads");
    for (size_t i = 0; i < v->n; i++) {
        json_workload(&w, &v->workloads[i]);
    }
    json_write_array_end(&w);
    json_lists(&w, v);
    json_write_object_end(&w);
}
