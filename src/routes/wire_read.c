#include "routes/wire.h"

#include "base/json_read.h"
#include "base/json_write.h"
#include "kube/objects.h"

#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

struct text_list {
    struct str *items;
    size_t n, cap;
    size_t expected;
};

/* What a name takes in the text of a list, more or less: most lists fit at once. */
enum { NAME_BYTES = 16 };

/* Room for one more at least. Grows by doubling; what is left behind in the arena is less than what is kept. */
static bool text_list_grow(struct arena *a, struct text_list *l)
{
    size_t cap = l->cap == 0 ? 64 + l->expected : l->cap * 2;
    struct str *items = arena_alloc(a, cap * sizeof(*items));

    if (items == NULL) {
        return false;
    }
    if (l->n > 0) {
        memcpy(items, l->items, l->n * sizeof(*items));
    }
    l->items = items;
    l->cap = cap;
    return true;
}

static bool text_list_add(struct arena *a, struct text_list *l, struct str s)
{
    if (l->n == l->cap && !text_list_grow(a, l)) {
        return false;
    }
    l->items[l->n++] = s;
    return true;
}

static const char ARENA_FULL[] = "the request does not fit its memory";

static void read_names(struct json_reader *r, struct arena *a, struct text_list *names)
{
    struct str name;

    json_array_begin(r);
    while (json_array_next(r)) {
        if (json_string(r, &name) && !text_list_add(a, names, name)) {
            json_fail(r, ERR_LIMIT, ARENA_FULL);
        }
        if (names->n < names->cap) {
            names->n += json_take_plain_strings(r, names->items + names->n, names->cap - names->n);
        }
    }
}

static bool read_node_name(struct json_reader *r, struct str *ret)
{
    struct str key, inner;

    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (!str_eq(key, STR("metadata"))) {
            json_skip(r);
            continue;
        }
        json_object_begin(r);
        while (json_object_next(r, &inner)) {
            if (str_eq(inner, STR("name"))) {
                json_string(r, ret);
            } else {
                json_skip(r);
            }
        }
    }
    return !json_failed(r);
}

/* Nodes is {"metadata":{},"items":[Node...]}: keeps each node's text and its name. */
static void read_nodes(struct json_reader *r, struct arena *a, struct text_list *raw, struct text_list *names)
{
    struct json_reader *inner = arena_alloc(a, sizeof(*inner));
    struct str key, text;

    if (inner == NULL) {
        json_fail(r, ERR_LIMIT, ARENA_FULL);
        return;
    }
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (!str_eq(key, STR("items")) || json_peek(r) == JSON_NULL) {
            json_skip(r);
            continue;
        }
        json_array_begin(r);
        while (json_array_next(r)) {
            struct str name = STR_NULL;

            r->as_stored = true; /* an object of the API server, of which we read the name (base/json_read.h) */
            bool sound = json_raw(r, &text);
            r->as_stored = false;
            if (!sound) {
                break;
            }
            json_reader_init(inner, text, a);
            inner->as_stored = true;
            if (!read_node_name(inner, &name) || name.n == 0) {
                json_fail(r, ERR_INVALID, "a node without metadata.name");
            } else if (!text_list_add(a, raw, text) || !text_list_add(a, names, name)) {
                json_fail(r, ERR_LIMIT, ARENA_FULL);
            }
        }
    }
}

int wire_read_args(struct str body, struct arena *a, struct extender_args *ret, struct err *reterr)
{
    struct json_reader *r = arena_alloc(a, sizeof(*r));
    struct text_list names = {0}, node_names = {0}, raw = {0};
    struct extender_args args = {0};
    bool has_pod = false, has_names = false, has_nodes = false;
    struct str key;

    if (r == NULL) {
        return err_set(reterr, ERR_LIMIT, "%s", ARENA_FULL);
    }
    json_reader_init(r, body, a);
    json_object_begin(r);
    for (;;) {
        r->fold_keys = true;
        if (!json_object_next(r, &key)) {
            break;
        }
        r->fold_keys = false;
        if (json_accept_null(r)) {
            continue;
        }
        if (str_ieq(key, STR("Pod"))) {
            has_pod = kube_decode_pod(r, &args.pod);
        } else if (str_ieq(key, STR("NodeNames"))) {
            has_names = true;
            names.expected = (r->len - r->at) / NAME_BYTES;
            read_names(r, a, &names);
        } else if (str_ieq(key, STR("Nodes"))) {
            has_nodes = true;
            read_nodes(r, a, &raw, &node_names);
        } else {
            json_skip(r);
        }
    }
    if (json_read_end(r, reterr) != 0) {
        return err_wrap(reterr, -ERR_PARSE, "ExtenderArgs");
    }
    if (!has_pod) {
        return err_set(reterr, ERR_INVALID, "ExtenderArgs: Pod is missing or null");
    }
    if (!has_names && !has_nodes) {
        return err_set(reterr, ERR_INVALID, "ExtenderArgs: NodeNames and Nodes are both missing or null");
    }
    if (!has_names) {
        names = node_names;
    } else {
        raw.n = 0;
    }
    args.names = names.items;
    args.name_n = names.n;
    args.raw_nodes = has_names ? NULL : raw.items;
    *ret = args;
    return 0;
}

int wire_read_bind(struct str body, struct arena *a, struct bind_request *ret, struct err *reterr)
{
    struct json_reader *r = arena_alloc(a, sizeof(*r));
    struct bind_request b = {0};
    struct str key;

    if (r == NULL) {
        return err_set(reterr, ERR_LIMIT, "%s", ARENA_FULL);
    }
    json_reader_init(r, body, a);
    r->fold_keys = true;
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (json_accept_null(r)) {
            continue;
        }
        if (str_ieq(key, STR("PodName"))) {
            json_string(r, &b.pod_name);
        } else if (str_ieq(key, STR("PodNamespace"))) {
            json_string(r, &b.pod_namespace);
        } else if (str_ieq(key, STR("PodUID"))) {
            json_string(r, &b.pod_uid);
        } else if (str_ieq(key, STR("Node"))) {
            json_string(r, &b.node_name);
        } else {
            json_skip(r);
        }
    }
    if (json_read_end(r, reterr) != 0) {
        return err_wrap(reterr, -ERR_PARSE, "ExtenderBindingArgs");
    }
    if (b.pod_name.n == 0 || b.pod_namespace.n == 0 || b.pod_uid.n == 0 || b.node_name.n == 0) {
        return err_set(reterr, ERR_INVALID,
                       "ExtenderBindingArgs: PodName, PodNamespace, PodUID and Node are all required");
    }
    *ret = b;
    return 0;
}

/* ---- writing ---- */

struct filter_writer {
    struct json_writer w;
    const struct extender_args *args;
};

/* The text of a node that came as a whole object. */
static struct str raw_of(const struct extender_args *args, struct str name)
{
    for (size_t i = 0; i < args->name_n; i++) {
        if (str_eq(args->names[i], name)) {
            return args->raw_nodes[i];
        }
    }
    return STR_NULL;
}

/* The first n nodes of the result, in the form in which they came. */
static void write_nodes(struct filter_writer *f, const struct filter_result *result, size_t n)
{
    bool whole = f->args->raw_nodes != NULL;

    if (whole) {
        json_write_kv_object_begin(&f->w, "Nodes");
        json_write_kv_object_begin(&f->w, "metadata");
        json_write_object_end(&f->w);
        json_write_key(&f->w, "items");
    } else {
        json_write_key(&f->w, "NodeNames");
    }
    json_write_array_begin(&f->w);
    for (size_t i = 0; i < n; i++) {
        struct str name = result->results != NULL ? result->results[i].name : result->names[i];

        if (whole) {
            json_write_raw(&f->w, raw_of(f->args, name));
        } else {
            json_write_str(&f->w, name);
        }
    }
    json_write_array_end(&f->w);
    if (whole) {
        json_write_object_end(&f->w);
    }
    json_write_key(&f->w, whole ? "NodeNames" : "Nodes");
    json_write_null(&f->w);
}

/* One of the two maps: those verdicts that an eviction could change, or those it could not. */
static void write_reasons(struct filter_writer *f, const char *key, bool unresolvable,
                          const struct filter_result *result)
{
    json_write_kv_object_begin(&f->w, key);
    for (size_t i = 0; i < result->result_n && result->outcome == FILTER_NONE_FITS; i++) {
        const struct pack_result *p = &result->results[i];

        if (verdict_is_unresolvable(p->verdict) == unresolvable) {
            json_write_key_str(&f->w, p->name);
            json_write_cstr(&f->w, verdict_text(p->verdict));
        }
    }
    for (size_t i = 0; i < result->name_n && unresolvable && result->outcome == FILTER_DEFECT; i++) {
        json_write_key_str(&f->w, result->names[i]);
        json_write_cstr(&f->w, demand_defect_text(result->defect));
    }
    json_write_object_end(&f->w);
}

void wire_write_filter(struct strbuf *out, const struct extender_args *args, const struct filter_result *result)
{
    struct filter_writer f;

    f.args = args;
    json_writer_init(&f.w, out);
    json_write_object_begin(&f.w);
    /* A pod that is none of our business keeps every node. */
    write_nodes(&f, result, result->outcome == FILTER_NOT_OURS ? result->name_n : result->fit_n);
    write_reasons(&f, "FailedNodes", false, result);
    write_reasons(&f, "FailedAndUnresolvableNodes", true, result);
    json_write_kv_cstr(&f.w, "Error", "");
    json_write_object_end(&f.w);
}

void wire_write_filter_error(struct strbuf *out, struct str error)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_write_object_begin(&w);
    json_write_key(&w, "Nodes");
    json_write_null(&w);
    json_write_key(&w, "NodeNames");
    json_write_null(&w);
    json_write_key(&w, "FailedNodes");
    json_write_null(&w);
    json_write_key(&w, "FailedAndUnresolvableNodes");
    json_write_null(&w);
    json_write_kv_str(&w, "Error", error);
    json_write_object_end(&w);
}

void wire_write_priorities(struct strbuf *out, const struct prioritize_result *result)
{
    struct json_writer w;

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

void wire_write_bind(struct strbuf *out, const char *error)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_write_object_begin(&w);
    json_write_kv_cstr(&w, "Error", error != NULL ? error : "");
    json_write_object_end(&w);
}
