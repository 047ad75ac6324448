/* `fgpu whatif -o json`. */
#include "cmd/whatif_show.h"

#include "base/clock.h"
#include "base/json_write.h"

static const char *const sides[] = {"before", "after"};

static void list_begin(struct json_writer *w, const char *key)
{
    json_write_key(w, key);
    json_write_array_begin(w);
}

static size_t listed(size_t n)
{
    return n < WHATIF_LIST_MAX ? n : WHATIF_LIST_MAX;
}

static void write_windows(struct json_writer *w, const struct whatif_shown *s)
{
    char at[CLOCK_RFC3339_MAX];

    json_write_kv_cstr(w, "at", clock_rfc3339(s->at_ms, at));
    json_write_key(w, "timeWindows");
    json_write_object_begin(w);
    for (int side = 0; side < 2; side++) {
        const struct config *c = s->configs[side];

        list_begin(w, sides[side]);
        for (size_t i = 0; i < c->window_n; i++) {
            if ((c->open >> i & 1) != 0) {
                json_write_str(w, c->windows[i].name);
            }
        }
        json_write_array_end(w);
    }
    json_write_object_end(w);
}

static void write_changes(struct json_writer *w, const struct whatif *x)
{
    list_begin(w, "changes");
    for (size_t i = 0; i < x->diff.n; i++) {
        const struct config_change *c = &x->diff.changes[i];

        json_write_object_begin(w);
        json_write_kv_str(w, "key", c->key);
        json_write_kv_str(w, "before", c->before);
        json_write_kv_str(w, "after", c->after);
        json_write_kv_cstr(w, "applies", config_reload_text(c->reload));
        json_write_object_end(w);
    }
    json_write_array_end(w);
    list_begin(w, "notJudged");
    for (size_t i = 0; i < x->unjudged_n; i++) {
        json_write_object_begin(w);
        json_write_kv_str(w, "key", x->unjudged[i].key);
        json_write_kv_cstr(w, "because", x->unjudged[i].because);
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

static void write_side(struct json_writer *w, const struct whatif *x, int side)
{
    const struct capacity_totals *s = &x->capacity_totals[side];

    json_write_key(w, sides[side]);
    json_write_object_begin(w);
    json_write_kv_i64(w, "pods", (int64_t)x->pod_n[side]);
    json_write_kv_i64(w, "podsOnEveryGpu", (int64_t)x->foreign_n[side]);
    json_write_kv_i64(w, "requestsNotUnderstood", (int64_t)x->defect_n[side]);
    json_write_kv_i64(w, "closedNodes", (int64_t)x->closed_n[side]);
    json_write_kv_i64(w, "podsOnClosedNodes", (int64_t)x->pod_on_closed_n[side]);
    json_write_kv_i64(w, "overCommittedGpus", (int64_t)x->overcommitted_n[side]);
    json_write_kv_i64(w, "idleMilli", s->idle_milli);
    json_write_kv_i64(w, "fragmentedMilli", s->fragmented_milli);
    json_write_kv_i64(w, "typicalPods", (int64_t)s->typical_n);
    json_write_kv_i64(w, "largestFreeMilli", s->largest_milli);
    json_write_kv_i64(w, "largestFreeMemMib", s->largest_mem_mib);
    json_write_kv_i64(w, "mostEmptyGpus", s->empty_gpu_n);
    json_write_object_end(w);
}

static void write_count(struct json_writer *w, const char *key, int64_t n, bool known)
{
    json_write_key(w, key);
    if (known) {
        json_write_i64(w, n);
    } else {
        json_write_null(w);
    }
}

static void write_holding(struct json_writer *w, const char *key, struct holding h, bool there)
{
    json_write_key(w, key);
    json_write_object_begin(w);
    write_count(w, "milli", h.milli, there && h.milli != INT64_MAX);
    write_count(w, "memMib", h.mem_mib, there && h.mem_mib != INT64_MAX);
    json_write_object_end(w);
}

static void write_nodes(struct json_writer *w, const struct whatif *x)
{
    list_begin(w, "nodesChanged");
    for (size_t i = 0; i < listed(x->changed_n); i++) {
        const struct whatif_node *n = &x->nodes[i];

        json_write_object_begin(w);
        json_write_kv_str(w, "node", n->name);
        for (int side = 0; side < 2; side++) {
            json_write_key(w, sides[side]);
            json_write_object_begin(w);
            json_write_kv_i64(w, "gpus", (int64_t)n->gpu_n[side]);
            json_write_kv_bool(w, "closed", n->closed[side]);
            json_write_object_end(w);
        }
        json_write_kv_bool(w, "otherCapacity", n->capacity);
        json_write_object_end(w);
    }
    json_write_array_end(w);
    list_begin(w, "overCommitted");
    for (size_t i = 0; i < listed(x->gpu_n); i++) {
        json_write_object_begin(w);
        json_write_kv_str(w, "node", x->gpus[i].node);
        json_write_kv_str(w, "uuid", x->gpus[i].uuid);
        json_write_kv_i64(w, "index", x->gpus[i].index);
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

static void write_charges(struct json_writer *w, const struct whatif *x)
{
    list_begin(w, "chargedOtherwise");
    for (size_t i = 0; i < listed(x->recharged_n); i++) {
        const struct whatif_charge *c = &x->charges[i];

        json_write_object_begin(w);
        json_write_kv_str(w, "namespace", c->namespace_);
        json_write_kv_str(w, "pod", c->name);
        json_write_kv_str(w, "node", c->node);
        for (int side = 0; side < 2; side++) {
            write_holding(w, sides[side], c->held[side], c->there[side]);
        }
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

static void write_tenants(struct json_writer *w, const struct whatif *x)
{
    list_begin(w, "tenants");
    for (size_t i = 0; i < x->tenant_n; i++) {
        const struct whatif_tenant *t = &x->tenants[i];

        json_write_object_begin(w);
        json_write_kv_str(w, "name", t->name);
        for (int side = 0; side < 2; side++) {
            json_write_key(w, sides[side]);
            if (!t->there[side]) {
                json_write_null(w);
                continue;
            }
            json_write_object_begin(w);
            write_holding(w, "charged", t->held[side], true);
            write_holding(w, "limit", t->limit[side], true);
            json_write_kv_bool(w, "overLimit", whatif_tenant_is_over(t, side));
            json_write_object_end(w);
        }
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

static void write_place(struct json_writer *w, const char *key, enum whatif_place place, struct str node)
{
    static const char *const why[] = {[WHATIF_NOWHERE] = "nowhere",
                                      [WHATIF_NO_GPU] = "asks for no GPU",
                                      [WHATIF_DEFECT] = "request not understood",
                                      [WHATIF_UNKNOWN] = "not judged"};

    json_write_key(w, key);
    json_write_object_begin(w);
    json_write_kv_str(w, "node", node);
    json_write_kv_cstr(w, "why", place == WHATIF_NODE ? "" : why[place]);
    json_write_object_end(w);
}

static void write_rest(struct json_writer *w, const struct whatif *x)
{
    list_begin(w, "moreFit");
    for (size_t i = 0; i < x->size_n; i++) {
        json_write_object_begin(w);
        json_write_kv_cstr(w, "size", x->sizes[i].name);
        write_count(w, "before", x->sizes[i].before, x->sizes[i].before >= 0);
        write_count(w, "after", x->sizes[i].after, x->sizes[i].after >= 0);
        json_write_object_end(w);
    }
    json_write_array_end(w);
    list_begin(w, "pending");
    for (size_t i = 0; i < listed(x->pending_n); i++) {
        const struct whatif_pod *p = &x->pending[i];

        json_write_object_begin(w);
        json_write_kv_str(w, "namespace", p->namespace_);
        json_write_kv_str(w, "pod", p->name);
        for (int side = 0; side < 2; side++) {
            write_place(w, sides[side], p->place[side], p->node[side]);
        }
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

void whatif_show_json(const struct whatif_shown *s, struct strbuf *out)
{
    const struct whatif *x = s->result;
    struct json_writer w;

    json_writer_init(&w, out);
    json_write_object_begin(&w);
    write_windows(&w, s);
    write_changes(&w, x);
    json_write_kv_i64(&w, "nodes", (int64_t)x->node_n);
    json_write_kv_i64(&w, "nodesReadOtherwise", (int64_t)x->reread_n);
    json_write_kv_i64(&w, "podsChargedOtherwise", (int64_t)x->recharged_n);
    for (int side = 0; side < 2; side++) {
        write_side(&w, x, side);
    }
    write_nodes(&w, x);
    write_charges(&w, x);
    write_tenants(&w, x);
    write_rest(&w, x);
    json_write_object_end(&w);
    strbuf_add_char(out, '\n');
}
