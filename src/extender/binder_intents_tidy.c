/* `consistency: strict` without a bind: what is done after each audit (binder_tidy()), and now and then of nodes in
 * doubt, to which few binds come. A node is looked at as a bind would, by the exchanges of binder_intents_exchange.c,
 * and only once: what cannot be proven now is left to the next time. Nodes come one after the other.
 *
 * An object of a node that is gone is removed in two steps (decision 0111): a write that drops what is dead, as every
 * write does, and if nothing is left, a DELETE of exactly that revision. An object that lists nothing says what none
 * says, so whether the node is really gone is no matter of safety. */
#include "extender/bind_node.h"

#include "base/clock.h"

#include <stdlib.h>

#define LIST_MS 10000
#define REMOVE_MS 2000
#define DELETE_BODY_MAX 512

static void forget_names(struct binder_tidy *t)
{
    while (t->n > 0) {
        free(t->names[--t->n]);
    }
}

void binder_tidy_init(struct binder_tidy *t)
{
    *t = (struct binder_tidy){0};
    strbuf_init(&t->more, INTENT_LIST_PATH_MAX);
}

void binder_tidy_fini(struct binder_tidy *t)
{
    forget_names(t);
    free(t->names);
    strbuf_fini(&t->more);
}

static void add_name(struct binder_tidy *t, struct str name)
{
    if (t->n == t->cap) {
        t->cap = t->cap == 0 ? 8 : 2 * t->cap;
        t->names = xreallocarray(t->names, t->cap, sizeof(*t->names));
    }
    t->names[t->n++] = str_dup(name);
}

/* Something has ended: the binder's thread looks what comes next. */
static void go_on(struct binder *b)
{
    b->tidy.busy = false;
    bind_wake_at(b, clock_mono_ns(b->clock));
}

static void add_doubts(struct binder *b)
{
    for (size_t i = 0; b->nodes != NULL && i < BIND_NODE_BUCKETS; i++) {
        for (struct bind_node *n = b->nodes[i]; n != NULL; n = n->next) {
            if (bind_node_is_in_doubt(n)) {
                add_name(&b->tidy, str_of(n->name));
            }
        }
    }
}

void binder_ask_about_doubts(struct binder *b)
{
    if (!b->tidy.busy && b->tidy.n == 0 && !b->tidy.lists) {
        add_doubts(b);
        go_on(b);
    }
}

void binder_tidy(struct binder *b)
{
    mutex_lock(&b->lock);
    b->tidy.round++;
    forget_names(&b->tidy);
    add_doubts(b);
    for (size_t i = 0; b->nodes != NULL && i < BIND_NODE_BUCKETS; i++) {
        for (struct bind_node *n = b->nodes[i]; n != NULL; n = n->next) {
            n->looking = false;
        }
        bind_node_drop_gone(&b->nodes[i]);
    }
    strbuf_reset(&b->tidy.more);
    b->tidy.lists = b->nodes != NULL && !b->options.rehearses && store_not_ready(b->store) == NULL;
    go_on(b);
    mutex_unlock(&b->lock);
}

void bind_node_end_look(struct bind_node *n)
{
    if (n->looking) {
        n->looking = false;
        go_on(n->binder);
    }
}

/* ---- removing ---- */

/* Without the right all of it rests until the next audit. */
static void rest(struct binder *b, const struct kube_response *response)
{
    forget_names(&b->tidy);
    b->tidy.lists = false;
    if (!b->tidy.refused) {
        b->tidy.refused = true;
        LOG_WARNING(
            b->log,
            "Leases of nodes that are gone stay: fgpu may not list or delete them; apply manifests/strict again",
            LOG_CSTR("objects", b->intent_objects), LOG_CSTR("err", response->outcome.detail));
    }
}

static void removed(void *ctx, const struct kube_response *response)
{
    struct bind_node *n = ctx;

    mutex_lock(&n->binder->lock);
    if (bind_node_is_answered(n, response)) {
        n->read = false; /* whatever the answer, the object says it */
        if (bind_node_has_status(response, 200) || bind_node_has_status(response, 404)) {
            n->binder->tidy.refused = false;
            LOG_INFO(n->binder->log, "Removed the Lease of a node that is gone", LOG_CSTR("node", n->name));
        } else if (bind_node_is_forbidden(response)) {
            rest(n->binder, response);
        }
        bind_node_end_look(n);
        bind_node_advance(n);
    }
    mutex_unlock(&n->binder->lock);
}

static void remove_object(struct bind_node *n)
{
    struct kube_request request = {
        .method = "DELETE", .deadline_ms = REMOVE_MS, .verb = "delete", .resource = "leases"};
    struct strbuf path, body;

    strbuf_init(&path, INTENT_PATH_MAX);
    strbuf_init(&body, DELETE_BODY_MAX);
    intent_object_path(str_of(n->binder->intent_objects), str_of(n->name), &path);
    intent_object_delete_body(&n->object, &body);
    request.path = path.p;
    request.body = strbuf_view(&body);
    (void)bind_node_submit(n, &request, removed);
    strbuf_fini(&path);
    strbuf_fini(&body);
}

void bind_node_looked_at(struct bind_node *n)
{
    if (!n->looking) {
        return;
    }
    if (n->object.revision[0] == '\0' || bind_node_is_waited_for(n) ||
        store_has_node(n->binder->store, str_of(n->name))) {
        bind_node_end_look(n);
    } else if (n->held.n == 0) {
        remove_object(n);
    } else if (!bind_node_write_none(n)) {
        bind_node_end_look(n); /* its pods are not gone yet */
    }
}

/* ---- which nodes ---- */

/* A page of the list, on its way. */
struct lease_page {
    struct binder *binder;
    uint64_t round;
    struct binder_tidy found;
};

static void page_free(struct lease_page *p)
{
    binder_tidy_fini(&p->found);
    free(p);
}

static void found(void *ctx, struct str node)
{
    struct lease_page *p = ctx;

    if (!store_has_node(p->binder->store, node)) {
        add_name(&p->found, node);
    }
}

static void take_page(struct binder_tidy *t, const struct lease_page *p)
{
    for (size_t i = 0; i < p->found.n; i++) {
        add_name(t, str_of(p->found.names[i]));
    }
    strbuf_add_str(&t->more, strbuf_view(&p->found.more));
    t->lists = t->more.n > 0 && !t->more.overflowed;
}

static void listed(void *ctx, const struct kube_response *response)
{
    struct lease_page *p = ctx;
    struct binder *b = p->binder;
    struct err why = {0};

    if (bind_node_has_status(response, 200) &&
        intent_object_list_read(str_of(b->intent_objects), response->body, found, p, &p->found.more, &why) != 0) {
        LOG_WARNING(b->log, "Cannot read the list of the Leases of nodes", LOG_CSTR("err", why.msg));
    }
    mutex_lock(&b->lock);
    if (!b->stopping && p->round == b->tidy.round) {
        take_page(&b->tidy, p);
        if (bind_node_is_forbidden(response)) {
            rest(b, response);
        }
        go_on(b);
    }
    mutex_unlock(&b->lock);
    page_free(p);
}

static void list(struct binder *b)
{
    struct kube_request request = {.method = "GET",
                                   .deadline_ms = LIST_MS,
                                   .response_bytes_max = INTENT_LIST_BYTES_MAX,
                                   .verb = "list",
                                   .resource = "leases"};
    struct lease_page *p = xcalloc(1, sizeof(*p));
    struct strbuf path;

    p->binder = b;
    p->round = b->tidy.round;
    binder_tidy_init(&p->found);
    strbuf_init(&path, INTENT_LIST_PATH_MAX);
    intent_object_list_path(str_of(b->intent_objects), strbuf_view(&b->tidy.more), &path);
    strbuf_reset(&b->tidy.more);
    b->tidy.lists = false;
    request.path = path.p;
    b->tidy.busy = kube_client_submit(b->client, &request, listed, p, NULL) == 0;
    if (!b->tidy.busy) {
        page_free(p);
    }
    strbuf_fini(&path);
}

static void look_at(struct binder *b, struct str name)
{
    struct bind_node *n = bind_node_of(b, name);

    b->tidy.busy = true;
    n->looking = true;
    n->again_ns = INT64_MIN;
    bind_node_advance(n);
}

void binder_tidy_turn(struct binder *b)
{
    struct binder_tidy *t = &b->tidy;
    char *name;

    if (t->busy || b->closed || b->stopping) {
        return;
    }
    if (t->n > 0) {
        name = t->names[--t->n];
        look_at(b, str_of(name));
        free(name);
    } else if (t->lists) {
        list(b);
    }
}
