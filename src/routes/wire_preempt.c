#include "routes/wire_preempt.h"

#include "base/json_read.h"
#include "base/json_write.h"
#include "kube/objects.h"

#include <string.h>

static const char ARENA_FULL[] = "the request does not fit its memory";

/* ---- reading ---- */

struct list {
    char *items;
    size_t item_size, n, cap;
};

/* The next item, zeroed; NULL when the arena is full. */
static void *list_add(struct arena *a, struct list *l)
{
    if (l->n == l->cap) {
        size_t cap = l->cap == 0 ? 8 : l->cap * 2;
        char *items = arena_alloc(a, cap * l->item_size);

        if (items == NULL) {
            return NULL;
        }
        if (l->n > 0) {
            memcpy(items, l->items, l->n * l->item_size);
        }
        l->items = items;
        l->cap = cap;
    }
    return memset(&l->items[l->n++ * l->item_size], 0, l->item_size);
}

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

static void read_pods(struct json_reader *r, struct arena *a, bool whole, struct preempt_node *node)
{
    struct list uids = {.item_size = sizeof(struct str)};

    json_array_begin(r);
    while (json_array_next(r)) {
        struct str *uid = list_add(a, &uids);
        struct pod pod = {0};

        if (uid == NULL) {
            json_fail(r, ERR_LIMIT, ARENA_FULL);
        } else if (!whole) {
            read_meta_pod(r, uid);
        } else if (kube_decode_pod(r, &pod)) {
            *uid = pod.uid;
        }
        if (uid != NULL && !json_failed(r) && uid->n == 0) {
            json_fail(r, ERR_INVALID, "a victim without a uid");
        }
    }
    node->victims = (const struct str *)(const void *)uids.items;
    node->victim_n = uids.n;
}

/* {"Pods":[...],"NumPDBViolations":0}; null is a node without victims. */
static void read_victims(struct json_reader *r, struct arena *a, bool whole, struct preempt_node *node)
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
            read_pods(r, a, whole, node);
        } else if (str_ieq(key, STR("NumPDBViolations"))) {
            json_i64(r, &node->pdb_violations);
        } else {
            json_skip(r);
        }
    }
}

static void read_map(struct json_reader *r, struct arena *a, bool whole, struct list *nodes)
{
    struct str name;

    json_object_begin(r);
    while (json_object_next(r, &name)) {
        struct preempt_node *node = list_add(a, nodes);

        if (node == NULL) {
            json_fail(r, ERR_LIMIT, ARENA_FULL);
            return;
        }
        node->name = name;
        read_victims(r, a, whole, node);
    }
}

int wire_read_preemption(struct str body, struct arena *a, struct preemption_args *ret, struct err *reterr)
{
    struct json_reader *r = arena_alloc(a, sizeof(*r));
    struct list nodes = {.item_size = sizeof(struct preempt_node)};
    struct preemption_args args = {0};
    bool has_pod = false;
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
        } else if (str_ieq(key, STR("NodeNameToMetaVictims"))) {
            read_map(r, a, false, &nodes);
        } else if (str_ieq(key, STR("NodeNameToVictims"))) {
            read_map(r, a, true, &nodes);
        } else {
            json_skip(r);
        }
    }
    if (json_read_end(r, reterr) != 0) {
        return err_wrap(reterr, -ERR_PARSE, "ExtenderPreemptionArgs");
    }
    if (!has_pod) {
        return err_set(reterr, ERR_INVALID, "ExtenderPreemptionArgs: Pod is missing or null");
    }
    args.nodes = (struct preempt_node *)(void *)nodes.items;
    args.node_n = nodes.n;
    *ret = args;
    return 0;
}

/* ---- writing ---- */

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
