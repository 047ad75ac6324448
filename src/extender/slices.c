#include "extender/slices.h"

#include "base/bug.h"
#include "base/hashmap.h"
#include "base/sync.h"

#include <stdlib.h>
#include <string.h>

static const char NOTE_NODE[] = "ResourceSlices publish the GPUs of this node, so dynamic resource allocation "
                                "assigns them: no shares are placed here";
static const char NOTE_ANYWHERE[] =
    "a ResourceSlice publishes GPUs for nodes chosen by a selector, or for all nodes: no shares are placed on any "
    "node";
static const char NOTE_FORBIDDEN[] = "fgpu may not list resourceslices of resource.k8s.io, so it does not know "
                                     "which GPUs dynamic resource allocation assigns: add list and watch of them "
                                     "to its ClusterRole";
static const char TEXT_AWAITED[] = "fgpu is not ready: it is still reading ResourceSlices from the API server";
static const char TEXT_CLOSED[] = "a ResourceSlice could not be counted; see the log";

/* A slice, with the nodes that it names (a name may come twice), or a node, with the number of times that slices do. */
struct named {
    char *name; /* NULL: not used */
    uint32_t n;
    uint32_t *nodes; /* of a slice: their places in the table of nodes */
    bool anywhere;   /* of a slice */
    bool listed;     /* of a slice: in the list that is being read, or later */
};

struct table {
    struct hash_key key;
    struct hashmap index;
    struct named *items;
    uint32_t item_n, item_cap;
    uint32_t used_n;
};

struct slices {
    struct store *store;
    const struct log *log;
    const struct str *drivers;
    size_t driver_n;
    struct table slices, nodes; /* of the watching thread */
    uint32_t anywhere_n;

    struct mutex lock; /* of the rest */
    struct slices_status status;
};

const char *slices_state_name(enum slices_state s)
{
    static const char *const names[SLICES_STATE__MAX] = {
        [SLICES_OFF] = "off",       [SLICES_READING] = "reading",     [SLICES_SERVED] = "served",
        [SLICES_ABSENT] = "absent", [SLICES_FORBIDDEN] = "forbidden",
    };

    BUG_ON((unsigned)s >= SLICES_STATE__MAX);
    return names[s];
}

/* ---- tables ---- */

static bool has_name(const void *owner, uint32_t value, const void *key)
{
    const struct table *t = owner;
    const struct str *name = key;

    return str_eq(str_of(t->items[value].name), *name);
}

static uint32_t table_find(const struct table *t, struct str name)
{
    return hashmap_find(&t->index, hash_str(t->key, name), has_name, t, &name);
}

static uint32_t free_place(struct table *t)
{
    uint32_t i = 0;

    if (t->used_n < t->item_n) { /* something went: rare, as slices change with drivers and nodes */
        while (t->items[i].name != NULL) {
            i++;
        }
        return i;
    }
    if (t->item_n == t->item_cap) {
        t->item_cap = t->item_cap == 0 ? 64 : t->item_cap * 2;
        t->items = xreallocarray(t->items, t->item_cap, sizeof(*t->items));
    }
    return t->item_n++;
}

static uint32_t table_add(struct table *t, struct str name)
{
    uint32_t i = table_find(t, name);

    if (i == HASHMAP_NONE) {
        i = free_place(t);
        t->items[i] = (struct named){.name = str_dup(name)};
        hashmap_insert(&t->index, hash_str(t->key, name), i);
        t->used_n++;
    }
    return i;
}

static void table_remove(struct table *t, uint32_t i)
{
    struct named *item = &t->items[i];

    hashmap_remove(&t->index, hash_str(t->key, str_of(item->name)), i);
    free(item->name);
    free(item->nodes);
    *item = (struct named){.name = NULL};
    t->used_n--;
}

static void table_fini(struct table *t)
{
    for (uint32_t i = 0; i < t->item_n; i++) {
        free(t->items[i].name);
        free(t->items[i].nodes);
    }
    free(t->items);
    hashmap_fini(&t->index);
}

/* ---- what the ledger hears ---- */

static void tell_store(struct slices *s, struct str node, const char *note)
{
    struct ledger_op op = {.kind = LEDGER_SLICES, .slices = {node, note}};
    struct err why;

    if (store_apply(s->store, &op, &why) != 0) {
        LOG_ERROR(s->log, "Cannot count a ResourceSlice; every request is refused until the next start",
                  LOG_STR("node", node), LOG_CSTR("err", why.msg));
        store_close(s->store, TEXT_CLOSED);
    } else if (node.n > 0) {
        LOG_V(s->log, 2,
              note != NULL ? "ResourceSlices publish GPUs of a node; it takes no shares"
                           : "ResourceSlices publish no GPUs of a node any more; it may take shares",
              LOG_STR("node", node));
    } else if (note != NULL) {
        LOG_WARNING(s->log,
                    "A ResourceSlice publishes GPUs for nodes chosen by a selector, or for all; no node takes shares");
    }
}

static void hold_node(struct slices *s, uint32_t node)
{
    if (s->nodes.items[node].n++ == 0) {
        tell_store(s, str_of(s->nodes.items[node].name), NOTE_NODE);
    }
}

static void let_node_go(struct slices *s, uint32_t node)
{
    if (--s->nodes.items[node].n == 0) {
        tell_store(s, str_of(s->nodes.items[node].name), NULL);
        table_remove(&s->nodes, node);
    }
}

static void hold_anywhere(struct slices *s)
{
    if (s->anywhere_n++ == 0) {
        tell_store(s, STR_NULL, NOTE_ANYWHERE);
    }
}

static void let_anywhere_go(struct slices *s)
{
    if (--s->anywhere_n == 0) {
        tell_store(s, STR_NULL, NULL);
    }
}

static void set_state(struct slices *s, enum slices_state state, const char *note)
{
    mutex_lock(&s->lock);
    s->status = (struct slices_status){state, s->nodes.used_n, note};
    mutex_unlock(&s->lock);
}

static void nodes_changed(struct slices *s)
{
    mutex_lock(&s->lock);
    s->status.node_n = s->nodes.used_n;
    mutex_unlock(&s->lock);
}

/* ---- slices ---- */

static bool is_of_gpus(const struct slices *s, struct str driver)
{
    bool ours = driver.n == 0; /* could not be read */

    for (size_t i = 0; i < s->driver_n && !ours; i++) {
        ours = str_eq(s->drivers[i], driver);
    }
    return ours;
}

static void let_nodes_go(struct slices *s, const struct named *was)
{
    for (uint32_t i = 0; i < was->n; i++) {
        let_node_go(s, was->nodes[i]);
    }
    if (was->anywhere) {
        let_anywhere_go(s);
    }
}

static void forget(struct slices *s, uint32_t at)
{
    let_nodes_go(s, &s->slices.items[at]);
    table_remove(&s->slices, at);
}

/* The new nodes before the old ones go, so that one that is in both is never open. */
static void take_slice(struct slices *s, const struct resource_slice *slice)
{
    uint32_t at = table_add(&s->slices, slice->name);
    struct named was = s->slices.items[at];
    uint32_t *nodes = xcalloc(slice->node_n + 1, sizeof(*nodes));

    for (size_t i = 0; i < slice->node_n; i++) {
        nodes[i] = table_add(&s->nodes, slice->nodes[i]);
        hold_node(s, nodes[i]);
    }
    if (slice->anywhere) {
        hold_anywhere(s);
    }
    s->slices.items[at] = (struct named){was.name, (uint32_t)slice->node_n, nodes, slice->anywhere, true};
    let_nodes_go(s, &was);
    free(was.nodes);
    nodes_changed(s);
}

static void gone(struct slices *s, struct str name)
{
    uint32_t at = table_find(&s->slices, name);

    if (at != HASHMAP_NONE) {
        forget(s, at);
        nodes_changed(s);
    }
}

/* ---- callbacks ---- */

static void list_begin(void *ctx)
{
    struct slices *s = ctx;

    for (uint32_t i = 0; i < s->slices.item_n; i++) {
        s->slices.items[i].listed = false;
    }
}

static void object(void *ctx, const struct kube_object *o)
{
    struct slices *s = ctx;

    if (is_of_gpus(s, o->slice->driver)) {
        take_slice(s, o->slice);
    } else {
        gone(s, o->slice->name);
    }
}

static void deleted(void *ctx, const struct kube_object *o)
{
    gone(ctx, o->slice->name);
}

static void unusable(void *ctx, const struct kube_object *o, bool is_gone, const struct err *why)
{
    struct slices *s = ctx;

    if (is_gone) {
        gone(s, o->slice->name);
        return;
    }
    LOG_WARNING(s->log, "A ResourceSlice cannot be read; it counts for the most that it could be",
                LOG_STR("name", o->slice->name), LOG_CSTR("err", why->msg));
    object(s, o);
}

static void forget_unlisted(struct slices *s)
{
    for (uint32_t i = 0; i < s->slices.item_n; i++) {
        if (s->slices.items[i].name != NULL && !s->slices.items[i].listed) {
            forget(s, i);
        }
    }
}

static void list_end(void *ctx, bool complete, struct str resource_version)
{
    struct slices *s = ctx;

    if (complete) {
        forget_unlisted(s);
        set_state(s, SLICES_SERVED, NULL);
        LOG_V(s->log, 2, "Listed", LOG_CSTR("resource", "resourceslices"), LOG_STR("resourceVersion", resource_version),
              LOG_I64("nodesWithGPUs", s->nodes.used_n));
        store_await(s->store, NULL);
    }
}

static void refused(void *ctx, int http_status)
{
    struct slices *s = ctx;
    struct slices_status before;

    slices_status(s, &before);
    if (http_status == 404) {
        list_begin(s);
        forget_unlisted(s);
        set_state(s, SLICES_ABSENT, NULL);
    } else {
        if (before.state != SLICES_FORBIDDEN) {
            LOG_WARNING(s->log, NOTE_FORBIDDEN, LOG_I64("httpStatus", http_status));
        }
        set_state(s, SLICES_FORBIDDEN, NOTE_FORBIDDEN);
    }
    store_await(s->store, NULL);
}

struct reflector_handler slices_handler(struct slices *s)
{
    return (struct reflector_handler){
        .list_begin = list_begin,
        .object = object,
        .deleted = deleted,
        .unusable = unusable,
        .list_end = list_end,
        .refused = refused,
        .ctx = s,
    };
}

/* ---- life ---- */

struct slices *slices_new(struct store *store, const struct log *log, const struct str *drivers, size_t driver_n,
                          struct hash_key key)
{
    struct slices *s = xcalloc(1, sizeof(*s));

    *s = (struct slices){
        .store = store, .log = log, .drivers = drivers, .driver_n = driver_n, .status = {.state = SLICES_READING}};
    s->slices.key = s->nodes.key = key;
    hashmap_init(&s->slices.index);
    hashmap_init(&s->nodes.index);
    mutex_init(&s->lock, "slices");
    store_await(store, TEXT_AWAITED);
    return s;
}

void slices_free(struct slices *s)
{
    if (s != NULL) {
        table_fini(&s->slices);
        table_fini(&s->nodes);
        mutex_destroy(&s->lock);
        free(s);
    }
}

void slices_status(struct slices *s, struct slices_status *ret)
{
    *ret = (struct slices_status){.state = SLICES_OFF};
    if (s != NULL) {
        mutex_lock(&s->lock);
        *ret = s->status;
        mutex_unlock(&s->lock);
    }
}
