#include "extender/slices.h"

#include "base/bug.h"
#include "base/intern.h"
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

/* A slice that is not used is all zero. */
struct slice {
    uint32_t *nodes; /* that it names, by id; a name may come twice */
    size_t node_n;
    bool used;
    bool anywhere;
    bool listed; /* in the list that is being read, or later */
};

struct slices {
    struct store *store;
    const struct log *log;
    const struct str *drivers;
    size_t driver_n;
    /* Of the watching thread: */
    struct intern *names; /* of slices */
    struct slice *slices; /* by id of the name */
    uint32_t slice_cap;
    struct intern *nodes; /* that slices name, each as often as they do */
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

static uint32_t hold_node(struct slices *s, struct str name)
{
    uint32_t node = intern_take(s->nodes, name);

    if (intern_users(s->nodes, node) == 1) {
        tell_store(s, name, NOTE_NODE);
    }
    return node;
}

static void let_node_go(struct slices *s, uint32_t node)
{
    if (intern_users(s->nodes, node) == 1) {
        tell_store(s, intern_text(s->nodes, node), NULL);
    }
    intern_drop(s->nodes, node);
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
    s->status = (struct slices_status){state, intern_used(s->nodes), note};
    mutex_unlock(&s->lock);
}

static void nodes_changed(struct slices *s)
{
    mutex_lock(&s->lock);
    s->status.node_n = intern_used(s->nodes);
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

static void let_nodes_go(struct slices *s, struct slice *was)
{
    for (size_t i = 0; i < was->node_n; i++) {
        let_node_go(s, was->nodes[i]);
    }
    if (was->anywhere) {
        let_anywhere_go(s);
    }
    free(was->nodes);
}

static struct slice *slice_of(struct slices *s, struct str name)
{
    uint32_t id = intern_find(s->names, name);

    if (id == INTERN_NONE) {
        id = intern_take(s->names, name);
    }
    if (id >= s->slice_cap) {
        const uint32_t cap = s->slice_cap == 0 ? 64 : s->slice_cap * 2; /* ids are given in order */

        s->slices = xreallocarray(s->slices, cap, sizeof(*s->slices));
        memset(s->slices + s->slice_cap, 0, (cap - s->slice_cap) * sizeof(*s->slices));
        s->slice_cap = cap;
    }
    return &s->slices[id];
}

static void forget(struct slices *s, uint32_t id)
{
    let_nodes_go(s, &s->slices[id]);
    s->slices[id] = (struct slice){.used = false};
    intern_drop(s->names, id);
}

/* The new nodes before the old ones go, so that one that is in both is never open. */
static void take_slice(struct slices *s, const struct resource_slice *slice)
{
    struct slice *at = slice_of(s, slice->name), was = *at;

    *at = (struct slice){.nodes = xcalloc(slice->node_n, sizeof(*at->nodes)),
                         .node_n = slice->node_n,
                         .used = true,
                         .anywhere = slice->anywhere,
                         .listed = true};
    for (size_t i = 0; i < slice->node_n; i++) {
        at->nodes[i] = hold_node(s, slice->nodes[i]);
    }
    if (slice->anywhere) {
        hold_anywhere(s);
    }
    let_nodes_go(s, &was);
    nodes_changed(s);
}

static void gone(struct slices *s, struct str name)
{
    uint32_t id = intern_find(s->names, name);

    if (id != INTERN_NONE) {
        forget(s, id);
        nodes_changed(s);
    }
}

/* ---- callbacks ---- */

static void list_begin(void *ctx)
{
    struct slices *s = ctx;

    for (uint32_t i = 0; i < intern_count(s->names); i++) {
        s->slices[i].listed = false;
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
    for (uint32_t i = 0; i < intern_count(s->names); i++) {
        if (s->slices[i].used && !s->slices[i].listed) {
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
              LOG_I64("nodesWithGPUs", intern_used(s->nodes)));
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
    s->names = intern_new(key, UINT32_MAX);
    s->nodes = intern_new(key, UINT32_MAX);
    mutex_init(&s->lock, "slices");
    store_await(store, TEXT_AWAITED);
    return s;
}

void slices_free(struct slices *s)
{
    if (s != NULL) {
        for (uint32_t i = 0; i < intern_count(s->names); i++) {
            free(s->slices[i].nodes);
        }
        free(s->slices);
        intern_free(s->names);
        intern_free(s->nodes);
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
