/* The document of /state: one copy of the ledger, what of it is shown, the order of its text. */
#include "routes/state_internal.h"

#include "base/bug.h"

#include <stdlib.h>

/* Elements of the lists behind the nodes that make one piece. */
enum { BATCH = 256 };

#define TENANTS_BYTES_MAX ((size_t)1 << 20)

static void read_context(struct state_document *d, struct state_context *c)
{
    d->context = c;
    config_slot_status(c->config, &d->config);
    d->as_of_ms = clock_wall_ms(c->clock);
    d->ready = c->is_ready != NULL ? c->is_ready(c->ctx) : store_is_ready(c->store);
    d->leader = c->is_leader == NULL || c->is_leader(c->ctx);
    if (c->cursors != NULL) {
        c->cursors(c->ctx, &d->cursors);
    }
}

static bool read_tenants(struct state_document *d, struct state_context *c)
{
    struct ledger_tenant *tenants = ARENA_ARRAY(&d->arena, TENANTS_MAX, struct ledger_tenant);

    if (tenants != NULL) {
        d->tenants = tenants;
        d->tenant_n = store_tenants(c->store, &d->arena, tenants);
    }
    return !d->arena.overflowed;
}

uint64_t state_write_summary(struct state_context *c, struct strbuf *out)
{
    struct state_document d = {.phase = STATE_END};

    read_context(&d, c);
    store_totals(c->store, &d.snapshot);
    arena_init(&d.arena, TENANTS_BYTES_MAX);
    BUG_ON(!read_tenants(&d, c)); /* a name has at most 63 bytes */
    d.described_n = d.snapshot.node_n;
    json_writer_init(&d.w, out);
    state_write_head(&d.w, &d);
    json_write_object_end(&d.w);
    arena_fini(&d.arena);
    return d.snapshot.generation;
}

/* ---- what is shown ---- */

static int by_name(const void *a, const void *b)
{
    const struct snapshot_pod *const *x = a, *const *y = b;

    return state_compare_pods(*x, *y);
}

static int by_node(const void *a, const void *b)
{
    const struct snapshot_pod *const *x = a, *const *y = b;
    int r = str_cmp((*x)->node_name, (*y)->node_name);

    return r != 0 ? r : state_compare_pods(*x, *y);
}

static bool stands_beside_gpus(const struct snapshot_pod *p)
{
    return (p->unsteered_n > 0 || p->demand != NULL) && p->state != LEDGER_PENDING;
}

static bool has_conflict(const struct snapshot_pod *p)
{
    return p->conflict;
}

static bool is_pending(const struct snapshot_pod *p)
{
    return p->state == LEDGER_PENDING;
}

static bool pick_pods(struct state_document *d, bool (*pick)(const struct snapshot_pod *p),
                      int (*compare)(const void *a, const void *b), struct pod_list *ret)
{
    size_t n = 0;

    for (size_t i = 0; i < d->snapshot.pod_n; i++) {
        n += pick(&d->snapshot.pods[i]);
    }
    ret->items = ARENA_ARRAY(&d->arena, n + 1, const struct snapshot_pod *);
    if (ret->items == NULL) {
        return false;
    }
    for (size_t i = 0; i < d->snapshot.pod_n; i++) {
        if (pick(&d->snapshot.pods[i])) {
            ret->items[ret->n++] = &d->snapshot.pods[i];
        }
    }
    qsort(ret->items, ret->n, sizeof(const struct snapshot_pod *), compare);
    return true;
}

/* The copy has the pods of the asked namespace only; a node is shown when it holds one of them. */
static bool node_is_shown(const struct node_item *item, struct str namespace_)
{
    bool shown = namespace_.n == 0 || item->beside_n > 0;

    for (size_t i = 0; i < item->node->device_n && !shown; i++) {
        shown = item->node->devices[i].allocation_n > 0;
    }
    return shown;
}

/* Nodes and `beside` are both in the order of node names. */
static bool pick_nodes(struct state_document *d, const struct pod_list *beside,
                       struct str namespace_)
{
    size_t at = 0;

    d->nodes = ARENA_ARRAY(&d->arena, d->snapshot.node_n + 1, struct node_item);
    for (size_t i = 0; d->nodes != NULL && i < d->snapshot.node_n; i++) {
        struct node_item item = {.node = &d->snapshot.nodes[i]};

        while (at < beside->n && str_cmp(beside->items[at]->node_name, item.node->name) < 0) {
            at++;
        }
        item.beside = beside->items + at;
        while (at < beside->n && str_eq(beside->items[at]->node_name, item.node->name)) {
            at++;
            item.beside_n++;
        }
        if (node_is_shown(&item, namespace_)) {
            d->nodes[d->node_n++] = item;
        }
    }
    return d->nodes != NULL;
}

static uint64_t count_described(const struct snapshot *s)
{
    uint64_t n = 0;

    for (size_t i = 0; i < s->node_n; i++) {
        n += s->nodes[i].described;
    }
    return n;
}

static int fill(struct state_document *d, struct state_context *c, struct str node,
                struct str namespace_, struct err *reterr)
{
    struct pod_list beside = {0};
    struct snapshot totals = {0};
    int r;

    if (node.n > 0) { /* the copy has one node then; the summary is still about all */
        store_totals(c->store, &totals);
    }
    r = store_snapshot(c->store, &d->arena, node, namespace_, &d->snapshot, reterr);
    if (r != 0) {
        return r;
    }
    d->described_n = node.n > 0 ? totals.node_n : count_described(&d->snapshot);
    if (!read_tenants(d, c) || !pick_pods(d, stands_beside_gpus, by_node, &beside) ||
        !pick_nodes(d, &beside, namespace_) ||
        !pick_pods(d, has_conflict, by_name, &d->conflicts) ||
        !pick_pods(d, is_pending, by_name, &d->pending)) {
        return err_set(reterr, ERR_LIMIT, "the state does not fit its memory; ask for one node");
    }
    return 0;
}

int state_document_new(struct state_context *c, struct str node, struct str namespace_,
                       struct state_document **ret, struct err *reterr)
{
    struct state_document *d = xcalloc(1, sizeof(*d));
    int r;

    arena_init(&d->arena, STATE_COPY_BYTES_MAX);
    json_writer_init(&d->w, NULL);
    read_context(d, c);
    if (node.n == 0 && namespace_.n == 0) {
        d->effective = config_slot_take(c->config);
    }
    r = fill(d, c, node, namespace_, reterr);
    if (r != 0) {
        state_document_free(d);
        return r;
    }
    *ret = d;
    return 0;
}

void state_document_free(struct state_document *d)
{
    if (d != NULL) {
        config_free(d->effective);
        arena_fini(&d->arena);
        free(d);
    }
}

uint64_t state_document_generation(const struct state_document *d)
{
    return d->snapshot.generation;
}

/* ---- the order of the text ---- */

/* Opens the list `key`; NULL: the phase goes on with the list that is open. */
static void begin_list(struct state_document *d, enum state_phase phase, const char *key)
{
    d->phase = phase;
    d->at = 0;
    if (key != NULL) {
        json_write_key(&d->w, key);
        json_write_array_begin(&d->w);
    }
}

/* The end of the batch that begins at d->at, in a list of n. */
static size_t batch_end(const struct state_document *d, size_t n)
{
    return n - d->at > BATCH ? d->at + BATCH : n;
}

static void next_node(struct state_document *d)
{
    if (d->at < d->node_n) {
        state_write_node(&d->w, d, &d->nodes[d->at++]);
        return;
    }
    json_write_array_end(&d->w);
    begin_list(d, STATE_POD_CONFLICTS, "conflicts");
}

static void next_pod_conflicts(struct state_document *d)
{
    for (size_t end = batch_end(d, d->conflicts.n); d->at < end; d->at++) {
        state_write_pod_conflict(&d->w, d->conflicts.items[d->at]);
    }
    if (d->at == d->conflicts.n) {
        begin_list(d, STATE_NODE_CONFLICTS, NULL); /* one list with the pods' */
    }
}

static void next_node_conflicts(struct state_document *d)
{
    for (size_t end = batch_end(d, d->node_n); d->at < end; d->at++) {
        state_write_node_conflicts(&d->w, d->nodes[d->at].node);
    }
    if (d->at == d->node_n) {
        json_write_array_end(&d->w);
        begin_list(d, STATE_PENDING, "pending");
    }
}

static void next_pending(struct state_document *d)
{
    for (size_t end = batch_end(d, d->pending.n); d->at < end; d->at++) {
        state_write_pending(&d->w, d->pending.items[d->at]);
    }
    if (d->at == d->pending.n) {
        json_write_array_end(&d->w);
        state_write_configuration(&d->w, d);
        json_write_object_end(&d->w);
        d->phase = STATE_END;
    }
}

bool state_document_next(struct state_document *d, struct strbuf *out)
{
    d->w.out = out;
    switch (d->phase) {
    case STATE_HEAD:
        state_write_head(&d->w, d);
        begin_list(d, STATE_NODES, "nodes");
        return true;
    case STATE_NODES:
        next_node(d);
        return true;
    case STATE_POD_CONFLICTS:
        next_pod_conflicts(d);
        return true;
    case STATE_NODE_CONFLICTS:
        next_node_conflicts(d);
        return true;
    case STATE_PENDING:
        next_pending(d);
        return true;
    case STATE_END:
        return false;
    }
    BUG("unknown phase of a document");
}
