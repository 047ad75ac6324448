/* Writing what kube-scheduler reads. */
#include "routes/wire.h"

#include "base/json_write.h"

#include <string.h>

/* ---- ExtenderFilterResult ---- */

/* The text of a node that came as a whole object. The search begins at *at, behind the one that was found last: nodes
 * that are all given back are found at once. */
static struct str raw_of(const struct extender_args *args, struct str name, size_t *at)
{
    for (size_t i = 0; i < args->name_n; i++, ++*at) {
        *at = *at < args->name_n ? *at : 0;
        if (str_eq(args->names[*at], name)) {
            return args->raw_nodes[(*at)++];
        }
    }
    return STR_NULL;
}

/* The first n nodes of the result, in the form in which they came. */
static void write_nodes(struct json_writer *w, const struct extender_args *args, const struct filter_result *result,
                        size_t n)
{
    bool whole = args->raw_nodes != NULL;
    size_t at = 0;

    if (whole) {
        json_write_kv_object_begin(w, "Nodes");
        json_write_kv_object_begin(w, "metadata");
        json_write_object_end(w);
    }
    json_write_kv_array_begin(w, whole ? "items" : "NodeNames");
    for (size_t i = 0; i < n; i++) {
        struct str name = result->results != NULL ? result->results[i].name : result->names[i];

        if (whole) {
            json_write_raw(w, raw_of(args, name, &at));
        } else {
            json_write_str(w, name);
        }
    }
    json_write_array_end(w);
    if (whole) {
        json_write_object_end(w);
    }
    json_write_kv_cstr(w, whole ? "NodeNames" : "Nodes", NULL);
}

/* One of the two maps: those verdicts that an eviction could change, or those it could not. */
static void write_reasons(struct json_writer *w, const char *key, bool unresolvable, const struct filter_result *result)
{
    json_write_kv_object_begin(w, key);
    for (size_t i = 0; i < result->result_n && result->outcome == FILTER_NONE_FITS; i++) {
        const struct pack_result *p = &result->results[i];

        if (verdict_is_unresolvable(p->verdict) == unresolvable) {
            json_write_key_str(w, p->name);
            json_write_cstr(w, verdict_text(p->verdict));
        }
    }
    for (size_t i = 0; i < result->name_n && unresolvable && result->outcome == FILTER_DEFECT; i++) {
        json_write_key_str(w, result->names[i]);
        json_write_cstr(w, demand_defect_text(result->defect));
    }
    json_write_object_end(w);
}

void wire_write_filter(struct strbuf *out, const struct extender_args *args, const struct filter_result *result)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_write_object_begin(&w);
    /* A pod that is none of our business keeps every node. */
    write_nodes(&w, args, result, result->outcome == FILTER_NOT_OURS ? result->name_n : result->fit_n);
    write_reasons(&w, "FailedNodes", false, result);
    write_reasons(&w, "FailedAndUnresolvableNodes", true, result);
    json_write_kv_cstr(&w, "Error", "");
    json_write_object_end(&w);
}

void wire_write_filter_error(struct strbuf *out, struct str error)
{
    static const char *const no[] = {"Nodes", "NodeNames", "FailedNodes", "FailedAndUnresolvableNodes"};
    struct json_writer w;

    json_writer_init(&w, out);
    json_write_object_begin(&w);
    for (size_t i = 0; i < ARRAY_LEN(no); i++) {
        json_write_kv_cstr(&w, no[i], NULL);
    }
    json_write_kv_str(&w, "Error", error);
    json_write_object_end(&w);
}

/* ---- the other verbs ---- */

static inline char *put(char *to, struct str s)
{
    if (s.n > 0) {
        memcpy(to, s.p, s.n);
    }
    return to + s.n;
}

/* As long as most names are: two moves of eight bytes, which may overlap, in place of a call. */
static inline char *put_name(char *to, struct str s)
{
    if (s.n < 8 || s.n > 16) {
        return put(to, s);
    }
    memcpy(to, s.p, 8);
    memcpy(to + s.n - 8, s.p + s.n - 8, 8);
    return to + s.n;
}

/* The same bytes as the writer's, for thousands of nodes in one piece. False: some name or number is not so simple, and
 * nothing was written. Each name is looked at where it is copied, while it is at hand. */
static bool write_plain_priorities(struct strbuf *out, const struct prioritize_result *result)
{
    const struct str begin = STR("{\"Host\":\""), middle = STR("\",\"Score\":"), end = STR("},");
    size_t bytes = 2, each = begin.n + middle.n + end.n + 2; /* points are 0 to 10 */
    char *first, *to;

    for (size_t i = 0; i < result->n; i++) {
        bytes += result->ranked[i].name.n + each;
    }
    first = to = strbuf_reserve(out, bytes);
    if (to == NULL) {
        return true; /* it has overflowed, as by the writer */
    }
    *to++ = '[';
    for (size_t i = 0; i < result->n; i++) {
        const struct str name = result->ranked[i].name;
        const int32_t points = result->points[i];

        if (points < 0 || points > 10 || !json_is_plain(name)) {
            return false;
        }
        to = put(to, begin);
        to = put_name(to, name);
        to = put(to, middle);
        if (points == 10) {
            *to++ = '1';
        }
        *to++ = "0123456789"[points % 10];
        to = put(to, end);
    }
    to -= result->n > 0; /* the last comma */
    *to++ = ']';
    strbuf_commit(out, (size_t)(to - first));
    return true;
}

void wire_write_priorities(struct strbuf *out, const struct prioritize_result *result)
{
    struct json_writer w;

    if (write_plain_priorities(out, result)) {
        return;
    }
    json_writer_init(&w, out);
    json_write_array_begin(&w);
    for (size_t i = 0; i < result->n; i++) {
        json_write_object_begin(&w);
        json_write_kv_str(&w, "Host", result->ranked[i].name);
        json_write_kv_i64(&w, "Score", result->points[i]);
        json_write_object_end(&w);
    }
    json_write_array_end(&w);
}

void wire_write_preemption(struct strbuf *out, const struct preempt_node *nodes, size_t n)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_write_object_begin(&w);
    json_write_kv_object_begin(&w, "NodeNameToMetaVictims");
    for (size_t i = 0; i < n; i++) {
        json_write_key_str(&w, nodes[i].name);
        json_write_object_begin(&w);
        json_write_kv_array_begin(&w, "Pods");
        for (size_t j = 0; j < nodes[i].victim_n; j++) {
            json_write_object_begin(&w);
            json_write_kv_str(&w, "UID", nodes[i].victims[j]);
            json_write_object_end(&w);
        }
        json_write_array_end(&w);
        json_write_kv_i64(&w, "NumPDBViolations", nodes[i].pdb_violations);
        json_write_object_end(&w);
    }
    json_write_object_end(&w);
    json_write_object_end(&w);
}

static void write_binding_result(struct strbuf *out, const char *error)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_write_object_begin(&w);
    json_write_kv_cstr(&w, "Error", error);
    json_write_object_end(&w);
}

void wire_write_bound(struct strbuf *out)
{
    write_binding_result(out, "");
}

void wire_write_not_bound(struct strbuf *out, const char *error)
{
    write_binding_result(out, error == NULL || error[0] == '\0' ? "not bound, for an unknown reason" : error);
}
