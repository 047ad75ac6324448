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

enum progress {
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

    struct str *left; /* with a filter by change: names that are not shown any more, held */
    size_t left_n;
    bool left_unknown; /* it cannot be said which */

    uint32_t *order; /* the slots of what is shown, by name */
    size_t order_n, order_at;
    uint32_t node_n; /* slots at the opening */
    uint8_t *progress;
    const struct snapshot **copies;

    uint32_t pod_n, pod_at;       /* slots at the opening; the next to look at */
    uint64_t *pods_done;          /* a bit per slot: changed since, or not there at the opening */
    uint64_t pending_left;        /* pods that were pending at the opening, neither shown nor kept */
    struct snapshot_pod *pending; /* kept */
    size_t pending_n, pending_cap;
    bool pending_shown;
};

/* ---- opening and closing ---- */

static void link_iterator(struct ledger *l, struct snapshot_iterator *it)
{
    it->next = l->iterators;
    if (l->iterators != NULL) {
        l->iterators->prev = it;
    }
    l->iterators = it;
}

static bool node_is_due(const struct ledger *l, const struct snapshot_iterator_filter *filter, uint32_t node)
{
    return snapshot_shows_node(l, node) && (filter->node_name.n == 0 || str_eq(filter->node_name, l->names[node])) &&
           (!filter->changed || l->nodes[node].shown_change > filter->since);
}

/* Names that were shown at `since`, perhaps, and are not now. */
static void list_left(const struct ledger *l, uint64_t since, struct snapshot_iterator *it)
{
    uint64_t kept = l->node_left_n < NODES_LEFT_MAX ? l->node_left_n : NODES_LEFT_MAX;

    it->left_unknown = l->node_left_n > kept && l->node_left[l->node_left_n % NODES_LEFT_MAX].at > since;
    it->left = xcalloc((size_t)l->node_used_n + kept + 1, sizeof(*it->left));
    for (uint64_t i = l->node_left_n - kept; i < l->node_left_n; i++) {
        const struct node_left *left = &l->node_left[i % NODES_LEFT_MAX];

        if (left->at > since && ledger_node_find(l, left->name) == LEDGER_NONE) {
            it->left[it->left_n++] = shared_text_take(left->name);
        }
    }
    for (uint32_t i = 0; i < l->node_n; i++) {
        if (l->nodes[i].used && l->nodes[i].shown_change > since && !snapshot_shows_node(l, i)) {
            it->left[it->left_n++] = shared_text_take(l->names[i]);
        }
    }
}

static void list_nodes(const struct ledger *l, const struct snapshot_iterator_filter *filter,
                       struct snapshot_iterator *it)
{
    it->order = xcalloc((size_t)l->node_used_n + 1, sizeof(*it->order));
    it->progress = xcalloc((size_t)l->node_n + 1, sizeof(*it->progress));
    it->copies = xcalloc((size_t)l->node_n + 1, sizeof(*it->copies));
    it->node_n = l->node_n;
    for (uint32_t i = 0; i < l->node_n; i++) {
        it->progress[i] = node_is_due(l, filter, i) ? DUE : DONE;
    }
    for (uint32_t i = 0; i < l->node_used_n; i++) {
        if (it->progress[l->by_name[i]] == DUE) {
            it->order[it->order_n++] = l->by_name[i];
        }
    }
}

struct snapshot_iterator *snapshot_iterator_open(struct ledger *l, const struct snapshot_iterator_filter *filter,
                                                 size_t max_bytes, struct snapshot *ret_totals)
{
    struct snapshot_iterator *it = xcalloc(1, sizeof(*it));

    arena_init(&it->kept, max_bytes);
    it->namespace_ = arena_str(&it->kept, filter->namespace_);
    it->torn = it->kept.overflowed;
    it->version = l->version;
    snapshot_totals(l, ret_totals);
    list_nodes(l, filter, it);
    if (filter->changed) {
        list_left(l, filter->since, it);
    }
    if (filter->node_name.n == 0 && !filter->nodes_only) { /* pending pods are on no node */
        it->pod_n = l->pod_n;
        it->pods_done = xcalloc((size_t)l->pod_n / 64 + 1, sizeof(*it->pods_done));
        it->pending_left = ret_totals->pods_by_state[LEDGER_PENDING];
    }
    link_iterator(l, it);
    return it;
}

void snapshot_iterator_close(struct ledger *l, struct snapshot_iterator *it)
{
    if (it->prev != NULL) {
        it->prev->next = it->next;
    } else {
        BUG_ON(l->iterators != it);
        l->iterators = it->next;
    }
    if (it->next != NULL) {
        it->next->prev = it->prev;
    }
    it->prev = it->next = NULL;
}

void snapshot_iterator_free(struct snapshot_iterator *it)
{
    if (it == NULL) {
        return;
    }
    arena_fini(&it->kept);
    for (size_t i = 0; i < it->left_n; i++) {
        shared_text_drop(it->left[i]);
    }
    free(it->left);
    free(it->order);
    free(it->progress);
    free(it->copies);
    free(it->pods_done);
    free(it->pending);
    free(it);
}

bool snapshot_iterator_left(const struct snapshot_iterator *it, const struct str **ret, size_t *ret_n)
{
    *ret = it->left;
    *ret_n = it->left_n;
    return !it->left_unknown;
}

size_t snapshot_iterator_kept_bytes(const struct snapshot_iterator *it)
{
    return it->kept.used_bytes + it->pending_cap * sizeof(*it->pending);
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

static void keep_node(const struct ledger *l, struct snapshot_iterator *it, uint32_t node)
{
    struct snapshot *copy;

    if (it->torn || node >= it->node_n || it->progress[node] != DUE) {
        return;
    }
    copy = ARENA_NEW(&it->kept, struct snapshot);
    if (copy == NULL || !take_nodes(l, &it->kept, it->namespace_, &node, 1, copy)) {
        it->torn = true;
        return;
    }
    it->copies[node] = copy;
    it->progress[node] = KEPT;
}

static bool pod_is_due(const struct snapshot_iterator *it, uint32_t pod)
{
    return pod >= it->pod_at && pod < it->pod_n && (it->pods_done[pod / 64] >> pod % 64 & 1) == 0;
}

static void keep_pod(const struct ledger *l, struct snapshot_iterator *it, uint32_t pod)
{
    const struct pod_entry *p = &l->pods[pod];
    struct snapshot_taker t = {.l = l, .a = &it->kept, .namespace_ = it->namespace_};

    if (it->torn || !pod_is_due(it, pod)) {
        return;
    }
    it->pods_done[pod / 64] |= UINT64_C(1) << pod % 64;
    if (p->state != LEDGER_PENDING) {
        return;
    }
    it->pending_left--;
    if (!snapshot_wants(&t, p)) {
        return;
    }
    if (it->pending_n == it->pending_cap) {
        it->pending_cap = it->pending_cap == 0 ? 16 : it->pending_cap * 2;
        it->pending = xreallocarray(it->pending, it->pending_cap, sizeof(*it->pending));
    }
    t.pods = it->pending + it->pending_n++;
    snapshot_take_pod(&t, p);
    it->torn = it->kept.overflowed || snapshot_iterator_kept_bytes(it) > it->kept.max_bytes;
}

void ledger_iterators_node_changes(struct ledger *l, uint32_t node)
{
    if (node == LEDGER_NONE) {
        return;
    }
    l->nodes[node].shown_change = l->generation + 1;
    for (struct snapshot_iterator *it = l->iterators; it != NULL; it = it->next) {
        keep_node(l, it, node);
    }
}

void ledger_iterators_pod_changes(struct ledger *l, uint32_t pod)
{
    for (struct snapshot_iterator *it = l->iterators; it != NULL && pod != LEDGER_NONE; it = it->next) {
        keep_pod(l, it, pod);
    }
    if (pod != LEDGER_NONE) {
        ledger_iterators_node_changes(l, l->pods[pod].node);
    }
}

void ledger_iterators_pod_born(struct ledger *l, uint32_t pod)
{
    for (struct snapshot_iterator *it = l->iterators; it != NULL; it = it->next) {
        if (pod_is_due(it, pod)) {
            it->pods_done[pod / 64] |= UINT64_C(1) << pod % 64;
        }
    }
}

void ledger_iterators_op_comes(struct ledger *l, const struct ledger_op *op)
{
    switch (op->kind) {
    case LEDGER_NODE_DESCRIBED:
        ledger_iterators_node_changes(l, ledger_node_find(l, op->node.name));
        return;
    case LEDGER_SLICES:
        ledger_iterators_node_changes(l, ledger_node_find(l, op->slices.name));
        return;
    case LEDGER_NODE_GONE:
        ledger_iterators_node_changes(l, ledger_node_find(l, op->name));
        return;
    case LEDGER_POD_OBSERVED:
        ledger_iterators_pod_changes(l, ledger_pod_lookup(l, op->pod.uid));
        if (op->pod.node_name.n > 0) {
            ledger_iterators_node_changes(l, ledger_node_find(l, op->pod.node_name));
        }
        return;
    case LEDGER_RESERVE:
        ledger_iterators_pod_changes(l, ledger_pod_lookup(l, op->reserve.uid));
        ledger_iterators_node_changes(l, ledger_node_find(l, op->reserve.node_name));
        return;
    case LEDGER_RECORD_JUDGED:
        ledger_iterators_pod_changes(l, ledger_pod_lookup(l, op->judged.uid));
        return;
    case LEDGER_POD_GONE:
    case LEDGER_CONFIRM:
    case LEDGER_RELEASE:
        ledger_iterators_pod_changes(l, ledger_pod_lookup(l, op->name));
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
static bool next_nodes(const struct ledger *l, struct snapshot_iterator *it, size_t max_nodes, struct arena *a,
                       struct snapshot *ret)
{
    const uint32_t *first = &it->order[it->order_at];
    size_t n = 0, pods = 0;

    if (it->progress[first[0]] == KEPT) {
        *ret = *it->copies[first[0]];
        it->progress[first[0]] = DONE;
        it->order_at++;
        return true;
    }
    while (n < max_nodes && pods < PODS_A_NODE * max_nodes && it->order_at + n < it->order_n &&
           it->progress[first[n]] == DUE) {
        /* An op that changes numbers without having said so would show as another moment. */
        BUG_ON(l->rows[first[n]].version > it->version);
        pods += l->nodes[first[n]].pod_n;
        it->progress[first[n]] = DONE;
        n++;
    }
    BUG_ON(n == 0);
    it->order_at += n;
    return take_nodes(l, a, it->namespace_, first, n, ret);
}

/* The pods that are still pending among the next slots. */
static bool next_pending(const struct ledger *l, struct snapshot_iterator *it, size_t slots, struct arena *a,
                         struct snapshot *ret)
{
    struct snapshot_taker t = {.l = l, .a = a, .namespace_ = it->namespace_};
    uint32_t end = it->pod_n - it->pod_at > slots ? it->pod_at + (uint32_t)slots : it->pod_n;
    size_t most = it->pending_left < slots ? (size_t)it->pending_left : slots;

    t.pods = arena_alloc(a, most * sizeof(*t.pods));
    for (uint32_t i = it->pod_at; i < end && !a->overflowed; i++) {
        const struct pod_entry *p = &l->pods[i];

        if (!pod_is_due(it, i) || !p->used || p->state != LEDGER_PENDING) {
            continue;
        }
        it->pending_left--;
        if (snapshot_wants(&t, p)) {
            snapshot_take_pod(&t, p);
        }
    }
    it->pod_at = end;
    *ret = (struct snapshot){.pods = t.pods, .pod_n = t.pod_n};
    return !a->overflowed;
}

enum snapshot_iterator_step snapshot_iterator_next(struct ledger *l, struct snapshot_iterator *it, size_t max_nodes,
                                                   struct arena *a, struct snapshot *ret)
{
    bool ok = true;

    *ret = (struct snapshot){0};
    if (it->torn) {
        return SNAPSHOT_ITERATOR_TORN;
    }
    if (it->order_at < it->order_n) {
        ok = next_nodes(l, it, max_nodes, a, ret);
    } else if (it->pending_left > 0) {
        BUG_ON(it->pod_at == it->pod_n);
        ok = next_pending(l, it, POD_SLOTS_A_NODE * max_nodes, a, ret);
    } else if (!it->pending_shown) { /* nothing is added to them any more */
        it->pending_shown = true;
        it->pod_at = it->pod_n;
        *ret = (struct snapshot){.pods = it->pending, .pod_n = it->pending_n};
    } else {
        return SNAPSHOT_ITERATOR_END;
    }
    it->torn = !ok;
    return ok ? SNAPSHOT_ITERATOR_MORE : SNAPSHOT_ITERATOR_TORN;
}
