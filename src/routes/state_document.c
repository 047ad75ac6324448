/* The document of /state: an iterator over the ledger, what of it is shown, the order of its text. */
#include "routes/state_internal.h"

#include "base/bug.h"

#include <stdlib.h>
#include <string.h>

/* Elements of the lists behind the nodes that make one piece. */
enum { BATCH = 256 };

#define TENANTS_BYTES_MAX ((size_t)1 << 20)

void state_read_context(struct state_document *d, struct state_context *c)
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

uint64_t state_write_summary(struct state_context *c, struct strbuf *out)
{
    struct state_document d = {.phase = STATE_END};

    state_read_context(&d, c);
    arena_init(&d.list_arena, TENANTS_BYTES_MAX);
    store_head(c->store, &d.list_arena, &d.head);
    BUG_ON(d.list_arena.overflowed); /* a name has at most 63 bytes */
    json_writer_init(&d.w, out);
    state_write_head(&d.w, &d);
    json_write_object_end(&d.w);
    arena_fini(&d.list_arena);
    return d.head.totals.generation;
}

/* ---- the lists behind the nodes ---- */

/* Room for one more item; NULL when the lists have become too long. */
static void *list_grow(struct state_document *d, void *items, size_t n, size_t *cap, size_t size)
{
    if (n < *cap) {
        return items;
    }
    *cap = *cap == 0 ? 16 : *cap * 2;
    if (*cap * size > STATE_LISTS_BYTES_MAX) {
        d->list_arena.overflowed = true;
    }
    return xreallocarray(items, *cap, size);
}

/* The section goes; what stays of the pod is what the lists show. */
static void keep_pod(struct state_document *d, struct pod_list *list, const struct snapshot_pod *p)
{
    struct snapshot_pod copy = *p;

    copy.namespace_ = arena_str(&d->list_arena, p->namespace_);
    copy.name = arena_str(&d->list_arena, p->name);
    copy.uid = arena_str(&d->list_arena, p->uid);
    copy.node_name = arena_str(&d->list_arena, p->node_name);
    copy.decision_id = STR_NULL;
    copy.demand = p->demand == NULL ? NULL : demand_copy_to(p->demand, &d->list_arena);
    list->items = list_grow(d, list->items, list->n, &list->cap, sizeof(*list->items));
    list->items[list->n++] = copy;
}

static void keep_node_conflict(struct state_document *d, const struct node_conflict *c)
{
    struct node_conflict_list *list = &d->node_conflicts;

    list->items = list_grow(d, list->items, list->n, &list->cap, sizeof(*list->items));
    list->items[list->n] = *c;
    list->items[list->n].node = arena_str(&d->list_arena, c->node);
    list->items[list->n++].uuid = arena_str(&d->list_arena, c->uuid);
}

void state_keep_node_conflicts(struct state_document *d, const struct snapshot_node *n)
{
    if (n->plugin_managed_used > n->plugin_managed_cap) {
        keep_node_conflict(
            d, &(struct node_conflict){.node = n->name,
                                       .text = "more whole GPUs are charged than the node's device plugin has"});
    }
    for (size_t i = 0; i < n->device_n; i++) {
        const struct snapshot_device *gpu = &n->devices[i];
        const char *text = state_gpu_conflict(gpu);

        if (text != NULL) {
            keep_node_conflict(
                d, &(struct node_conflict){
                       .is_gpu = true, .node = n->name, .uuid = gpu->uuid, .index = gpu->index, .text = text});
        }
    }
}

static int by_name(const void *a, const void *b)
{
    return state_compare_pods(a, b);
}

static void sort_list(struct pod_list *list)
{
    if (list->n > 1) {
        qsort(list->items, list->n, sizeof(*list->items), by_name);
    }
}

void state_sort_pending(struct state_document *d)
{
    sort_list(&d->pending);
}

/* ---- nodes ---- */

static int by_name_at(const void *a, const void *b)
{
    const struct snapshot_pod *const *x = a, *const *y = b;

    return state_compare_pods(*x, *y);
}

/* The pods of the section's node that no GPU tells of; NULL at the arena's bound. */
static const struct snapshot_pod **pods_beside_gpus(struct state_document *d, const struct snapshot_node *n,
                                                    size_t *ret_n)
{
    const struct snapshot_pod **beside = ARENA_ARRAY(&d->arena, n->pod_n, const struct snapshot_pod *);

    *ret_n = 0;
    for (size_t i = 0; beside != NULL && i < n->pod_n; i++) {
        const struct snapshot_pod *p = &d->section.pods[n->first_pod + i];

        if (p->plugin_managed_n > 0 || p->demand != NULL) {
            beside[(*ret_n)++] = p;
        }
    }
    if (*ret_n > 1) {
        qsort(beside, *ret_n, sizeof(*beside), by_name_at);
    }
    return beside;
}

/* The iterator has the pods of the asked namespace only; a node is shown when it holds one of them. */
static bool node_is_shown(const struct state_document *d, const struct node_item *item)
{
    bool shown = !d->by_namespace || item->beside_n > 0;

    for (size_t i = 0; i < item->node->device_n && !shown; i++) {
        shown = item->node->devices[i].allocation_n > 0;
    }
    return shown;
}

void state_node_item(struct state_document *d, const struct snapshot_node *n, struct node_item *ret)
{
    *ret = (struct node_item){.node = n, .pods = d->section.pods};
    ret->beside = pods_beside_gpus(d, n, &ret->beside_n);
}

static void show_node(struct state_document *d, const struct snapshot_node *n)
{
    struct node_item item;

    state_node_item(d, n, &item);
    if (node_is_shown(d, &item)) {
        state_keep_node_conflicts(d, n);
        state_write_node(&d->w, &item);
    }
}

/* ---- opening and closing ---- */

struct state_document *state_document_new(struct state_context *c, struct str node, struct str namespace_)
{
    const struct snapshot_iterator_filter filter = {node, namespace_};
    struct state_document *d = xcalloc(1, sizeof(*d));

    arena_init(&d->arena, STATE_KEPT_BYTES_MAX);
    arena_init(&d->list_arena, STATE_LISTS_BYTES_MAX);
    json_writer_init(&d->w, NULL);
    state_read_context(d, c);
    if (node.n == 0 && namespace_.n == 0) {
        d->effective = config_slot_take(c->config);
    }
    d->by_namespace = namespace_.n > 0;
    /* before the ledger, so that no reason is of a later generation than the document */
    d->refusal_n = waiting_refusals(store_waiting(c->store), &d->list_arena, &d->refusals);
    d->iterator = store_iterator_open(c->store, &filter, STATE_KEPT_BYTES_MAX, &d->list_arena, &d->head);
    d->head.incidents = state_incidents_of(d->head.incidents, node, namespace_);
    d->incident = d->head.incidents;
    d->decisions = xcalloc(DECISIONS_KEPT, sizeof(struct decision_note *));
    d->decision_n = decisions_kept(store_decisions(c->store), node, namespace_, d->decisions);
    return d;
}

void state_document_free(struct state_document *d)
{
    if (d != NULL) {
        store_iterator_close(d->iterator);
        config_free(d->effective);
        arena_fini(&d->arena);
        arena_fini(&d->list_arena);
        free(d->conflicts.items);
        free(d->pending.items);
        free(d->node_conflicts.items);
        incidents_free(d->head.incidents);
        for (size_t i = 0; i < d->decision_n; i++) {
            decision_put(d->decisions[i]);
        }
        free(d->decisions);
        free(d);
    }
}

uint64_t state_document_generation(const struct state_document *d)
{
    return d->head.totals.generation;
}

/* ---- the order of the text ---- */

/* Opens the list `key`; NULL: the phase goes on with the list that is open. */
static void begin_list(struct state_document *d, enum state_phase phase, const char *key)
{
    d->phase = phase;
    d->at = 0;
    if (key != NULL) {
        json_write_kv_array_begin(&d->w, key);
    }
}

/* The end of the batch that begins at d->at, in a list of n. */
static size_t batch_end(const struct state_document *d, size_t n)
{
    return n - d->at > BATCH ? d->at + BATCH : n;
}

static void nodes_end(struct state_document *d)
{
    sort_list(&d->conflicts);
    state_sort_pending(d);
    json_write_array_end(&d->w);
    begin_list(d, STATE_POD_CONFLICTS, "conflicts");
}

/* The lists take what they need of a section as it comes. */
void state_keep_pods(struct state_document *d)
{
    for (size_t i = 0; i < d->section.pod_n; i++) {
        const struct snapshot_pod *p = &d->section.pods[i];

        if (p->conflict) {
            keep_pod(d, &d->conflicts, p);
        }
        if (p->state == LEDGER_PENDING) {
            keep_pod(d, &d->pending, p);
        }
    }
}

static enum state_step next_node(struct state_document *d)
{
    enum snapshot_iterator_step step;

    if (d->section_at < d->section.node_n) {
        show_node(d, &d->section.nodes[d->section_at++]);
        return d->arena.overflowed || d->list_arena.overflowed ? STATE_TORN : STATE_MORE;
    }
    arena_reset(&d->arena);
    d->section_at = 0;
    step = store_iterator_next(d->iterator, &d->arena, &d->section);
    if (step == SNAPSHOT_ITERATOR_TORN) {
        return STATE_TORN;
    }
    state_keep_pods(d);
    if (step == SNAPSHOT_ITERATOR_END) {
        nodes_end(d);
    }
    return STATE_MORE;
}

static void next_pod_conflicts(struct state_document *d)
{
    for (size_t end = batch_end(d, d->conflicts.n); d->at < end; d->at++) {
        state_write_pod_conflict(&d->w, &d->conflicts.items[d->at]);
    }
    if (d->at == d->conflicts.n) {
        begin_list(d, STATE_NODE_CONFLICTS, NULL); /* one list with the pods' */
    }
}

static void next_node_conflicts(struct state_document *d)
{
    for (size_t end = batch_end(d, d->node_conflicts.n); d->at < end; d->at++) {
        state_write_node_conflict(&d->w, &d->node_conflicts.items[d->at]);
    }
    if (d->at == d->node_conflicts.n) {
        json_write_array_end(&d->w);
        begin_list(d, STATE_INCIDENTS, "incidents");
    }
}

static void next_incidents(struct state_document *d)
{
    for (size_t n = 0; d->incident != NULL && n < BATCH; n++) {
        state_write_incident(&d->w, d->incident);
        d->incident = d->incident->next;
    }
    if (d->incident == NULL) {
        json_write_array_end(&d->w);
        begin_list(d, STATE_PENDING, "pending");
    }
}

static void next_pending(struct state_document *d)
{
    for (size_t end = batch_end(d, d->pending.n); d->at < end; d->at++) {
        const struct snapshot_pod *p = &d->pending.items[d->at];

        state_write_pending(&d->w, p, waiting_refusal_of(d->refusals, d->refusal_n, p->uid));
    }
    if (d->at == d->pending.n) {
        json_write_array_end(&d->w);
        begin_list(d, STATE_DECISIONS, "decisions");
    }
}

static void next_decisions(struct state_document *d)
{
    for (size_t end = batch_end(d, d->decision_n); d->at < end; d->at++) {
        state_write_reason(&d->w, d->decisions[d->at]);
    }
    if (d->at == d->decision_n) {
        json_write_array_end(&d->w);
        state_write_configuration(&d->w, d);
        json_write_object_end(&d->w);
        d->phase = STATE_END;
    }
}

enum state_step state_document_next(struct state_document *d, struct strbuf *out)
{
    d->w.out = out;
    switch (d->phase) {
    case STATE_HEAD:
        state_write_head(&d->w, d);
        begin_list(d, STATE_NODES, "nodes");
        return STATE_MORE;
    case STATE_NODES:
        return next_node(d);
    case STATE_POD_CONFLICTS:
        next_pod_conflicts(d);
        return STATE_MORE;
    case STATE_NODE_CONFLICTS:
        next_node_conflicts(d);
        return STATE_MORE;
    case STATE_INCIDENTS:
        next_incidents(d);
        return STATE_MORE;
    case STATE_PENDING:
        next_pending(d);
        return STATE_MORE;
    case STATE_DECISIONS:
        next_decisions(d);
        return STATE_MORE;
    case STATE_END:
        return STATE_COMPLETE;
    }
    BUG("unknown phase of a document");
}
