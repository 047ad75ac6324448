/* Iterators: reading the ledger of one generation while it changes. */
#include "core/ledger/snapshot_iterator.h"

#include "base/bug.h"
#include "core/ledger/node_table.h"
#include "core/ledger/pod_table.h"
#include "core/ledger/snapshot_internal.h"
#include "core/ledger/state.h"
#include "core/ledger/snapshot_iterators.h"

#include <stdlib.h>

/* What costs about as much as copying one node. */
enum { PODS_A_NODE = 4, POD_SLOTS_A_NODE = 64 };

enum status {
    DUE,  /* as it was at the opening, and not shown yet */
    KEPT, /* changed since: `copies` has it as it was */
    DONE, /* shown, or not there at the opening */
};

struct snapshot_iterator {
    struct snapshot_iterator *prev, *next; /* of the ledger's open iterators */
    uint64_t version;                      /* ledger.version at the opening */
    struct str namespace_;
    struct arena kept; /* what the reader has not come to, as it was; the filter's text */
    bool torn;

    uint32_t *order; /* the slots of what is shown, by name */
    size_t order_n, order_at;
    uint32_t node_n; /* slots at the opening */
    uint8_t *statuses;
    const struct snapshot **copies;

    uint32_t pod_n, pod_at;       /* slots at the opening; the next to look at */
    uint64_t *pods_done;          /* a bit per slot: changed since, or not there at the opening */
    uint64_t pending_left;        /* pods that were pending at the opening, neither shown nor kept */
    struct snapshot_pod *pending; /* kept */
    size_t pending_n, pending_cap;
    bool pending_shown;
};

/* ---- opening and closing ---- */

static void link_walk(struct ledger *l, struct snapshot_iterator *w)
{
    w->next = l->walks;
    if (l->walks != NULL) {
        l->walks->prev = w;
    }
    l->walks = w;
}

static void list_nodes(const struct ledger *l, const struct snapshot_iterator_filter *filter,
                       struct snapshot_iterator *w)
{
    w->order = xcalloc((size_t)l->node_used_n + 1, sizeof(*w->order));
    w->statuses = xcalloc((size_t)l->node_n + 1, sizeof(*w->statuses));
    w->copies = xcalloc((size_t)l->node_n + 1, sizeof(*w->copies));
    w->node_n = l->node_n;
    for (uint32_t i = 0; i < l->node_n; i++) {
        bool shown = snapshot_shows_node(l, i) && (filter->node_name.n == 0 || str_eq(filter->node_name, l->names[i]));

        w->statuses[i] = shown ? DUE : DONE;
    }
    for (uint32_t i = 0; i < l->node_used_n; i++) {
        if (w->statuses[l->by_name[i]] == DUE) {
            w->order[w->order_n++] = l->by_name[i];
        }
    }
}

struct snapshot_iterator *snapshot_iterator_open(struct ledger *l, const struct snapshot_iterator_filter *filter,
                                                 size_t max_bytes, struct snapshot *ret_totals)
{
    struct snapshot_iterator *w = xcalloc(1, sizeof(*w));

    arena_init(&w->kept, max_bytes);
    w->namespace_ = arena_str(&w->kept, filter->namespace_);
    w->torn = w->kept.overflowed;
    w->version = l->version;
    snapshot_totals(l, ret_totals);
    list_nodes(l, filter, w);
    if (filter->node_name.n == 0) { /* pending pods are on no node */
        w->pod_n = l->pod_n;
        w->pods_done = xcalloc((size_t)l->pod_n / 64 + 1, sizeof(*w->pods_done));
        w->pending_left = ret_totals->pods_by_state[LEDGER_PENDING];
    }
    link_walk(l, w);
    return w;
}

void snapshot_iterator_close(struct ledger *l, struct snapshot_iterator *w)
{
    if (w->prev != NULL) {
        w->prev->next = w->next;
    } else {
        BUG_ON(l->walks != w);
        l->walks = w->next;
    }
    if (w->next != NULL) {
        w->next->prev = w->prev;
    }
    w->prev = w->next = NULL;
}

void snapshot_iterator_free(struct snapshot_iterator *w)
{
    if (w == NULL) {
        return;
    }
    arena_fini(&w->kept);
    free(w->order);
    free(w->statuses);
    free(w->copies);
    free(w->pods_done);
    free(w->pending);
    free(w);
}

size_t snapshot_iterator_kept_bytes(const struct snapshot_iterator *w)
{
    return w->kept.used_bytes + w->pending_cap * sizeof(*w->pending);
}

/* ---- before a change ---- */

/* Copies the first `n` of `nodes`; false when the arena overflowed. */
static bool take_nodes(const struct ledger *l, struct arena *a, struct str namespace_, const uint32_t *nodes, size_t n,
                       struct snapshot *ret)
{
    struct snapshot_taker t = {.l = l, .a = a, .namespace_ = namespace_};
    struct snapshot_node *copies = arena_alloc(a, n * sizeof(*copies));
    size_t most = 0;

    for (size_t i = 0; i < n; i++) {
        most += l->nodes[nodes[i]].pod_n;
    }
    t.pods = arena_alloc(a, most * sizeof(*t.pods));
    for (size_t i = 0; i < n && !a->overflowed; i++) {
        snapshot_take_node(&t, nodes[i], &copies[i]);
    }
    *ret = (struct snapshot){.nodes = copies, .node_n = n, .pods = t.pods, .pod_n = t.pod_n};
    return !a->overflowed;
}

static void keep_node(const struct ledger *l, struct snapshot_iterator *w, uint32_t node)
{
    struct snapshot *copy;

    if (w->torn || node >= w->node_n || w->statuses[node] != DUE) {
        return;
    }
    copy = ARENA_NEW(&w->kept, struct snapshot);
    if (copy == NULL || !take_nodes(l, &w->kept, w->namespace_, &node, 1, copy)) {
        w->torn = true;
        return;
    }
    w->copies[node] = copy;
    w->statuses[node] = KEPT;
}

static bool pod_is_due(const struct snapshot_iterator *w, uint32_t pod)
{
    return pod >= w->pod_at && pod < w->pod_n && (w->pods_done[pod / 64] >> pod % 64 & 1) == 0;
}

static void keep_pod(const struct ledger *l, struct snapshot_iterator *w, uint32_t pod)
{
    const struct pod_entry *p = &l->pods[pod];
    struct snapshot_taker t = {.l = l, .a = &w->kept, .namespace_ = w->namespace_};

    if (w->torn || !pod_is_due(w, pod)) {
        return;
    }
    w->pods_done[pod / 64] |= UINT64_C(1) << pod % 64;
    if (p->state != LEDGER_PENDING) {
        return;
    }
    w->pending_left--;
    if (!snapshot_wants(&t, p)) {
        return;
    }
    if (w->pending_n == w->pending_cap) {
        w->pending_cap = w->pending_cap == 0 ? 16 : w->pending_cap * 2;
        w->pending = xreallocarray(w->pending, w->pending_cap, sizeof(*w->pending));
    }
    t.pods = w->pending + w->pending_n++;
    snapshot_take_pod(&t, p);
    w->torn = w->kept.overflowed || snapshot_iterator_kept_bytes(w) > w->kept.max_bytes;
}

void ledger_walks_node_changes(struct ledger *l, uint32_t node)
{
    for (struct snapshot_iterator *w = l->walks; w != NULL && node != LEDGER_NONE; w = w->next) {
        keep_node(l, w, node);
    }
}

void ledger_walks_pod_changes(struct ledger *l, uint32_t pod)
{
    for (struct snapshot_iterator *w = l->walks; w != NULL && pod != LEDGER_NONE; w = w->next) {
        keep_pod(l, w, pod);
    }
    if (l->walks != NULL && pod != LEDGER_NONE) {
        ledger_walks_node_changes(l, l->pods[pod].node);
    }
}

void ledger_walks_pod_born(struct ledger *l, uint32_t pod)
{
    for (struct snapshot_iterator *w = l->walks; w != NULL; w = w->next) {
        if (pod_is_due(w, pod)) {
            w->pods_done[pod / 64] |= UINT64_C(1) << pod % 64;
        }
    }
}

void ledger_walks_op_comes(struct ledger *l, const struct ledger_op *op)
{
    if (l->walks == NULL) {
        return;
    }
    switch (op->kind) {
    case LEDGER_NODE_DESCRIBED:
        ledger_walks_node_changes(l, ledger_node_find(l, op->node.name));
        return;
    case LEDGER_SLICES:
        ledger_walks_node_changes(l, ledger_node_find(l, op->slices.name));
        return;
    case LEDGER_NODE_GONE:
        ledger_walks_node_changes(l, ledger_node_find(l, op->name));
        return;
    case LEDGER_POD_OBSERVED:
        ledger_walks_pod_changes(l, ledger_pod_lookup(l, op->pod.uid));
        if (op->pod.node_name.n > 0) {
            ledger_walks_node_changes(l, ledger_node_find(l, op->pod.node_name));
        }
        return;
    case LEDGER_RESERVE:
        ledger_walks_pod_changes(l, ledger_pod_lookup(l, op->reserve.uid));
        ledger_walks_node_changes(l, ledger_node_find(l, op->reserve.node_name));
        return;
    case LEDGER_RECORD_JUDGED:
        ledger_walks_pod_changes(l, ledger_pod_lookup(l, op->judged.uid));
        return;
    case LEDGER_POD_GONE:
    case LEDGER_CONFIRM:
    case LEDGER_RELEASE:
        ledger_walks_pod_changes(l, ledger_pod_lookup(l, op->name));
        return;
    case LEDGER_PODS_BEGIN: /* changes nothing that is shown */
    case LEDGER_NODES_BEGIN:
    case LEDGER_TENANTS:
    case LEDGER_PODS_END: /* say it for each pod or node that goes */
    case LEDGER_NODES_END:
        return;
    case LEDGER_OP__MAX:
        break;
    }
    BUG("unknown ledger op");
}

/* ---- reading ---- */

/* The next nodes that are as they were. */
static bool next_nodes(const struct ledger *l, struct snapshot_iterator *w, size_t max_nodes, struct arena *a,
                       struct snapshot *ret)
{
    const uint32_t *first = &w->order[w->order_at];
    size_t n = 0, pods = 0;

    if (w->statuses[first[0]] == KEPT) {
        *ret = *w->copies[first[0]];
        w->statuses[first[0]] = DONE;
        w->order_at++;
        return true;
    }
    while (n < max_nodes && pods < PODS_A_NODE * max_nodes && w->order_at + n < w->order_n &&
           w->statuses[first[n]] == DUE) {
        /* An op that changes numbers without having said so would show as another moment. */
        BUG_ON(l->rows[first[n]].version > w->version);
        pods += l->nodes[first[n]].pod_n;
        w->statuses[first[n]] = DONE;
        n++;
    }
    BUG_ON(n == 0);
    w->order_at += n;
    return take_nodes(l, a, w->namespace_, first, n, ret);
}

/* The pods that are still pending among the next slots. */
static bool next_pending(const struct ledger *l, struct snapshot_iterator *w, size_t slots, struct arena *a,
                         struct snapshot *ret)
{
    struct snapshot_taker t = {.l = l, .a = a, .namespace_ = w->namespace_};
    uint32_t end = w->pod_n - w->pod_at > slots ? w->pod_at + (uint32_t)slots : w->pod_n;
    size_t room = w->pending_left < slots ? (size_t)w->pending_left : slots;

    t.pods = arena_alloc(a, room * sizeof(*t.pods));
    for (uint32_t i = w->pod_at; i < end && !a->overflowed; i++) {
        const struct pod_entry *p = &l->pods[i];

        if (!pod_is_due(w, i) || !p->used || p->state != LEDGER_PENDING) {
            continue;
        }
        w->pending_left--;
        if (snapshot_wants(&t, p)) {
            snapshot_take_pod(&t, p);
        }
    }
    w->pod_at = end;
    *ret = (struct snapshot){.pods = t.pods, .pod_n = t.pod_n};
    return !a->overflowed;
}

enum snapshot_iterator_step snapshot_iterator_next(struct ledger *l, struct snapshot_iterator *w, size_t max_nodes,
                                                   struct arena *a, struct snapshot *ret)
{
    bool ok = true;

    *ret = (struct snapshot){0};
    if (w->torn) {
        return SNAPSHOT_ITERATOR_TORN;
    }
    if (w->order_at < w->order_n) {
        ok = next_nodes(l, w, max_nodes, a, ret);
    } else if (w->pending_left > 0) {
        BUG_ON(w->pod_at == w->pod_n);
        ok = next_pending(l, w, POD_SLOTS_A_NODE * max_nodes, a, ret);
    } else if (!w->pending_shown) { /* nothing is added to them any more */
        w->pending_shown = true;
        w->pod_at = w->pod_n;
        *ret = (struct snapshot){.pods = w->pending, .pod_n = w->pending_n};
    } else {
        return SNAPSHOT_ITERATOR_END;
    }
    w->torn = !ok;
    return ok ? SNAPSHOT_ITERATOR_MORE : SNAPSHOT_ITERATOR_TORN;
}
