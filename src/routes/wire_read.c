/* Reading what kube-scheduler sends. */
#include "routes/wire.h"

#include "base/json_read.h"
#include "kube/objects.h"
#include "model/names.h"

#include <string.h>

static const char ARENA_FULL[] = "the request does not fit its memory";

/* ---- lists in the arena of the reader ---- */

struct list {
    char *items;
    size_t item_size, n, cap;
    size_t expected; /* items, more or less, that the first piece has place for */
};

/* Grows by doubling; what is left behind in the arena is less than what is kept. */
static bool list_grow(struct json_reader *r, struct list *l)
{
    size_t cap = l->cap == 0 ? 8 + l->expected : l->cap * 2;
    char *items = arena_alloc(r->arena, cap * l->item_size);

    if (items == NULL) {
        json_fail(r, ERR_LIMIT, ARENA_FULL);
        return false;
    }
    if (l->n > 0) {
        memcpy(items, l->items, l->n * l->item_size);
    }
    l->items = items;
    l->cap = cap;
    return true;
}

/* The next item, zeroed; NULL: the arena is full, and the reader has failed. */
static void *list_add(struct json_reader *r, struct list *l)
{
    if (l->n == l->cap && !list_grow(r, l)) {
        return NULL;
    }
    return memset(&l->items[l->n++ * l->item_size], 0, l->item_size);
}

static struct str *list_texts(const struct list *l)
{
    return (struct str *)(void *)l->items;
}

static void list_add_text(struct json_reader *r, struct list *l, struct str s)
{
    struct str *item = list_add(r, l);

    if (item != NULL) {
        *item = s;
    }
}

/* ---- the envelope of all verbs ---- */

/* Reads or skips the value of this key, which is not null. */
typedef void read_key_fn(struct json_reader *r, struct str key, void *ctx);

/* An object `type` of extender/v1. Its own keys are taken in any case; those of what is inside are exact. */
static int read_envelope(struct str body, struct arena *a, const char *type, read_key_fn *read_key, void *ctx,
                         struct err *reterr)
{
    struct json_reader *r = arena_alloc(a, sizeof(*r));
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
        if (!json_accept_null(r)) {
            read_key(r, key, ctx);
        }
    }
    return json_read_end(r, reterr) != 0 ? err_wrap(reterr, -ERR_PARSE, "%s", type) : 0;
}

/* ---- ExtenderArgs ---- */

/* What a name takes in the text of a list, more or less: most lists fit at once. */
enum { NAME_BYTES = 16 };

struct args_reader {
    struct extender_args args;
    struct list names, node_names, raw;
    bool has_pod, has_names, has_nodes;
};

static void read_names(struct json_reader *r, struct list *names)
{
    struct str name;

    names->expected = (r->len - r->at) / NAME_BYTES;
    json_array_begin(r);
    while (json_array_next(r)) {
        if (json_string(r, &name)) {
            list_add_text(r, names, name);
        }
        if (names->n < names->cap) {
            names->n += json_take_plain_strings(r, list_texts(names) + names->n, names->cap - names->n);
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

/* One object of the API server, of which we read the name (base/json_read.h): keeps its text, too. */
static void read_node(struct json_reader *r, struct json_reader *inner, struct args_reader *to)
{
    struct str text, name = STR_NULL;
    bool sound;

    r->as_stored = true;
    sound = json_raw(r, &text);
    r->as_stored = false;
    if (!sound) {
        return;
    }
    json_reader_init(inner, text, r->arena);
    inner->as_stored = true;
    if (!read_node_name(inner, &name) || name.n == 0) {
        json_fail(r, ERR_INVALID, "a node without metadata.name");
        return;
    }
    list_add_text(r, &to->raw, text);
    list_add_text(r, &to->node_names, name);
}

/* Nodes is {"metadata":{},"items":[Node...]}. */
static void read_nodes(struct json_reader *r, struct args_reader *to)
{
    struct json_reader *inner = arena_alloc(r->arena, sizeof(*inner));
    struct str key;

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
            read_node(r, inner, to);
        }
    }
}

static void read_args_key(struct json_reader *r, struct str key, void *ctx)
{
    struct args_reader *to = ctx;

    if (str_ieq(key, STR("Pod"))) {
        to->has_pod = kube_decode_pod(r, &to->args.pod);
    } else if (str_ieq(key, STR("NodeNames"))) {
        to->has_names = true;
        read_names(r, &to->names);
    } else if (str_ieq(key, STR("Nodes"))) {
        to->has_nodes = true;
        read_nodes(r, to);
    } else {
        json_skip(r);
    }
}

int wire_read_args(struct str body, struct arena *a, struct extender_args *ret, struct err *reterr)
{
    struct args_reader to = {.names.item_size = sizeof(struct str),
                             .node_names.item_size = sizeof(struct str),
                             .raw.item_size = sizeof(struct str)};
    const struct list *names;
    int rc = read_envelope(body, a, "ExtenderArgs", read_args_key, &to, reterr);

    if (rc != 0) {
        return rc;
    }
    if (!to.has_pod) {
        return err_set(reterr, ERR_INVALID, "ExtenderArgs: Pod is missing or null");
    }
    if (!to.has_names && !to.has_nodes) {
        return err_set(reterr, ERR_INVALID, "ExtenderArgs: NodeNames and Nodes are both missing or null");
    }
    names = to.has_names ? &to.names : &to.node_names;
    *ret = to.args;
    ret->names = list_texts(names);
    ret->name_n = names->n;
    ret->raw_nodes = to.has_names ? NULL : list_texts(&to.raw);
    return 0;
}

/* ---- ExtenderPreemptionArgs ---- */

struct preemption_reader {
    struct preemption_args args;
    struct list nodes; /* of struct preempt_node */
    bool has_pod;
};

/* {"UID":"..."} */
static void read_meta_pod(struct json_reader *r, struct str *ret)
{
    struct str key;

    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_ieq(key, STR("UID"))) {
            json_string(r, ret);
        } else {
            json_skip(r);
        }
    }
}

static void read_pods(struct json_reader *r, bool whole, struct preempt_node *node)
{
    struct list uids = {.item_size = sizeof(struct str)};

    json_array_begin(r);
    while (json_array_next(r)) {
        struct str uid = STR_NULL;
        struct pod pod = {0};

        if (!whole) {
            read_meta_pod(r, &uid);
        } else if (kube_decode_pod(r, &pod)) {
            uid = pod.uid;
        }
        if (!json_failed(r) && uid.n == 0) {
            json_fail(r, ERR_INVALID, "a victim without a uid");
        }
        list_add_text(r, &uids, uid);
    }
    node->victims = list_texts(&uids);
    node->victim_n = uids.n;
}

/* {"Pods":[...],"NumPDBViolations":0}; null is a node without victims. */
static void read_victims(struct json_reader *r, bool whole, struct preempt_node *node)
{
    struct str key;

    if (json_accept_null(r)) {
        return;
    }
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (json_accept_null(r)) {
            continue;
        }
        if (str_ieq(key, STR("Pods"))) {
            read_pods(r, whole, node);
        } else if (str_ieq(key, STR("NumPDBViolations"))) {
            json_i64(r, &node->pdb_violations);
        } else {
            json_skip(r);
        }
    }
}

static void read_map(struct json_reader *r, bool whole, struct list *nodes)
{
    struct str name;

    json_object_begin(r);
    while (json_object_next(r, &name)) {
        struct preempt_node *node = list_add(r, nodes);

        if (node == NULL) {
            return;
        }
        node->name = name;
        read_victims(r, whole, node);
    }
}

static void read_preemption_key(struct json_reader *r, struct str key, void *ctx)
{
    struct preemption_reader *to = ctx;

    if (str_ieq(key, STR("Pod"))) {
        to->has_pod = kube_decode_pod(r, &to->args.pod);
    } else if (str_ieq(key, STR("NodeNameToMetaVictims"))) {
        read_map(r, false, &to->nodes);
    } else if (str_ieq(key, STR("NodeNameToVictims"))) {
        read_map(r, true, &to->nodes);
    } else {
        json_skip(r);
    }
}

int wire_read_preemption(struct str body, struct arena *a, struct preemption_args *ret, struct err *reterr)
{
    struct preemption_reader to = {.nodes.item_size = sizeof(struct preempt_node)};
    int rc = read_envelope(body, a, "ExtenderPreemptionArgs", read_preemption_key, &to, reterr);

    if (rc != 0) {
        return rc;
    }
    if (!to.has_pod) {
        return err_set(reterr, ERR_INVALID, "ExtenderPreemptionArgs: Pod is missing or null");
    }
    *ret = to.args;
    ret->nodes = (struct preempt_node *)(void *)to.nodes.items;
    ret->node_n = to.nodes.n;
    return 0;
}

/* ---- ExtenderBindingArgs ---- */

static void read_bind_key(struct json_reader *r, struct str key, void *ctx)
{
    struct bind_request *to = ctx;

    if (str_ieq(key, STR("PodName"))) {
        json_string(r, &to->pod_name);
    } else if (str_ieq(key, STR("PodNamespace"))) {
        json_string(r, &to->pod_namespace);
    } else if (str_ieq(key, STR("PodUID"))) {
        json_string(r, &to->pod_uid);
    } else if (str_ieq(key, STR("Node"))) {
        json_string(r, &to->node_name);
    } else {
        json_skip(r);
    }
}

#define SUBDOMAIN_RULE                                                                                                 \
    "lower-case letters, digits, '-' and '.', a letter or digit at both ends of each part, at most 253 bytes"
#define LABEL_RULE "lower-case letters, digits and '-', a letter or digit at both ends, at most 63 bytes"

/* Nothing can have this name. */
static int refuse_name(const char *key, struct str name, const char *of, const char *rule, struct err *reterr)
{
    enum { SHOWN = 64 };
    const struct str shown = {name.p, name.n < SHOWN ? name.n : SHOWN};

    return err_set(reterr, ERR_INVALID, "ExtenderBindingArgs: %s \"%.*s%s\" cannot be the name of a %s: %s", key,
                   STR_ARG(shown), shown.n < name.n ? "..." : "", of, rule);
}

static int check_names(const struct bind_request *r, struct err *reterr)
{
    if (!kube_name_is_subdomain(r->pod_name)) {
        return refuse_name("PodName", r->pod_name, "pod", SUBDOMAIN_RULE, reterr);
    }
    if (!kube_name_is_label(r->pod_namespace)) {
        return refuse_name("PodNamespace", r->pod_namespace, "namespace", LABEL_RULE, reterr);
    }
    return kube_name_is_subdomain(r->node_name) ? 0 : refuse_name("Node", r->node_name, "node", SUBDOMAIN_RULE, reterr);
}

int wire_read_bind(struct str body, struct arena *a, struct bind_request *ret, struct err *reterr)
{
    struct bind_request to = {0};
    int rc = read_envelope(body, a, "ExtenderBindingArgs", read_bind_key, &to, reterr);

    if (rc != 0) {
        return rc;
    }
    if (to.pod_name.n == 0 || to.pod_namespace.n == 0 || to.pod_uid.n == 0 || to.node_name.n == 0) {
        return err_set(reterr, ERR_INVALID,
                       "ExtenderBindingArgs: PodName, PodNamespace, PodUID and Node are all required");
    }
    rc = check_names(&to, reterr);
    if (rc == 0) {
        *ret = to;
    }
    return rc;
}
