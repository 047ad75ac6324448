#include "core/pack.h"

#include "base/bug.h"
#include "core/feasibility.h"

#include <stdlib.h>
#include <string.h>

static enum verdict place(const struct ledger_view *v, const struct node_state *n,
                          const struct device_state *devices, const struct demand *d,
                          const struct pack_params *p, struct placement *ret)
{
    return feasibility_place(n, devices, v->allowed_models, d, p->device_strategy, ret);
}

/* The devices of `n` after the placement, into `after`. */
static void take(const struct node_state *n, const struct device_state *before, const struct demand *d,
                 const struct placement *at, struct device_state *after)
{
    uint64_t used = 0;

    memcpy(after, before, n->device_n * sizeof(*after));
    for (size_t w = 0; w < d->wish_n; w++) {
        used |= at->wish_devices[w];
    }
    while (used != 0) {
        unsigned i = (unsigned)__builtin_ctzll(used);
        struct charge c = placement_charge(d, at, before, i);

        device_take(&after[i], &c);
        used &= used - 1;
    }
}

enum verdict pack_node(const struct ledger_view *v, const struct node_state *n, const struct demand *d,
                       const struct pack_params *p, int64_t *ret_score, struct placement *placement)
{
    struct device_state after[DEVICES_PER_NODE_MAX];
    const struct device_state *before = &v->devices[n->first_device];
    struct placement local;
    struct placement *at = placement != NULL ? placement : &local;
    enum verdict verdict = place(v, n, before, d, p, at);

    if (verdict == VERDICT_FITS) {
        take(n, before, d, at, after);
        *ret_score = p->node_strategy->node_score(
            &(struct strategy_node){.before = before,
                                    .after = after,
                                    .device_n = n->device_n,
                                    .unsteered_cap = n->unsteered_cap,
                                    .unsteered_free =
                                        n->unsteered_cap - n->unsteered_used - d->unsteered_n});
    }
    return verdict;
}

/* Would the demand still fit if every pod held for this node landed there first? A held pod that no longer
 * fits by itself is not coming here and takes nothing. */
static bool fits_beside_holds(const struct ledger_view *v, const struct node_state *n,
                              const struct demand *d, const struct pack_params *p,
                              const struct pack_hold *holds, size_t hold_n)
{
    struct device_state devices[DEVICES_PER_NODE_MAX];
    struct device_state next[DEVICES_PER_NODE_MAX];
    struct node_state node = *n;
    struct placement at;
    struct str name = v->names[n - v->nodes];

    memcpy(devices, &v->devices[n->first_device], n->device_n * sizeof(devices[0]));
    for (size_t i = 0; i < hold_n; i++) {
        const struct demand *held = holds[i].demand;

        if (!str_eq(holds[i].node_name, name) ||
            feasibility_place(&node, devices, NULL, held, p->device_strategy, &at) != VERDICT_FITS) {
            continue;
        }
        node.unsteered_used += held->unsteered_n;
        node.share_pod_n += held->unsteered_n == 0;
        take(&node, devices, held, &at, next);
        memcpy(devices, next, node.device_n * sizeof(devices[0]));
    }
    return place(v, &node, devices, d, p, &at) == VERDICT_FITS;
}

static bool is_held(const struct pack_hold *holds, size_t hold_n, struct str name)
{
    for (size_t i = 0; i < hold_n; i++) {
        if (str_eq(holds[i].node_name, name)) {
            return true;
        }
    }
    return false;
}

/* Do the pods nominated to this node still fit once this one has landed as planned? A nomination that cannot be kept
 * anyway keeps nobody away. */
static bool keeps_nominations(const struct ledger_view *v, const struct node_state *n, const struct demand *d,
                              const struct placement *at, const struct pack_params *p)
{
    struct device_state with[DEVICES_PER_NODE_MAX], without[DEVICES_PER_NODE_MAX], next[DEVICES_PER_NODE_MAX];
    struct node_state row_with = *n, row_without = *n;
    bool begun = false;

    for (size_t i = 0; i < v->nomination_n; i++) {
        const struct view_nomination *q = &v->nominations[i];
        struct placement there;

        if (q->node != (uint32_t)(n - v->nodes)) {
            continue;
        }
        if (!begun) {
            begun = true;
            row_without = row_with = q->row;
            memcpy(without, q->devices, n->device_n * sizeof(without[0]));
            take(n, without, d, at, with);
            row_with.unsteered_used += d->unsteered_n;
            row_with.share_pod_n += d->unsteered_n == 0;
        }
        if (feasibility_place(&row_without, without, NULL, q->demand, p->device_strategy, &there) != VERDICT_FITS) {
            continue;
        }
        take(n, without, q->demand, &there, next);
        memcpy(without, next, n->device_n * sizeof(next[0]));
        if (feasibility_place(&row_with, with, NULL, q->demand, p->device_strategy, &there) != VERDICT_FITS) {
            return false;
        }
        take(n, with, q->demand, &there, next);
        memcpy(with, next, n->device_n * sizeof(next[0]));
        row_with.unsteered_used += q->demand->unsteered_n;
        row_with.share_pod_n += q->demand->unsteered_n == 0;
        row_without.unsteered_used += q->demand->unsteered_n;
        row_without.share_pod_n += q->demand->unsteered_n == 0;
    }
    return true;
}

void pack_nodes(const struct ledger_view *v, const struct demand *d, const struct pack_params *p,
                const struct pack_hold *holds, size_t hold_n, const struct str *names, size_t name_n,
                struct pack_result *ret)
{
    for (size_t i = 0; i < name_n; i++) {
        const struct node_state *n = ledger_view_find(v, names[i]);
        struct pack_result *r = &ret[i];
        struct placement at;

        *r = (struct pack_result){.name = names[i], .verdict = VERDICT_NODE_UNKNOWN};
        if (n == NULL) {
            continue;
        }
        r->verdict = pack_node(v, n, d, p, &r->score, &at);
        if (r->verdict == VERDICT_FITS && v->nomination_n > 0 && !keeps_nominations(v, n, d, &at, p)) {
            r->verdict = VERDICT_NOMINATED;
        }
        if (r->verdict == VERDICT_FITS && is_held(holds, hold_n, names[i])) {
            r->demoted = !fits_beside_holds(v, n, d, p, holds, hold_n);
        }
    }
}

/* Total order: smaller is better. Names are unique in a request, so ties end there. */
static int compare(const struct pack_result *a, const struct pack_result *b)
{
    if ((a->verdict == VERDICT_FITS) != (b->verdict == VERDICT_FITS)) {
        return a->verdict == VERDICT_FITS ? -1 : 1;
    }
    if (a->demoted != b->demoted) {
        return a->demoted ? 1 : -1;
    }
    if (a->score != b->score) {
        return a->score > b->score ? -1 : 1;
    }
    return str_cmp(a->name, b->name);
}

static int compare_void(const void *a, const void *b)
{
    return compare(a, b);
}

/* Moves item i of a max-heap (worst on top) down to its place. */
static void sift_down(struct pack_result *heap, size_t n, size_t i)
{
    for (;;) {
        size_t worst = i, left = 2 * i + 1, right = 2 * i + 2;
        struct pack_result t;

        if (left < n && compare(&heap[left], &heap[worst]) > 0) {
            worst = left;
        }
        if (right < n && compare(&heap[right], &heap[worst]) > 0) {
            worst = right;
        }
        if (worst == i) {
            return;
        }
        t = heap[i];
        heap[i] = heap[worst];
        heap[worst] = t;
        i = worst;
    }
}

size_t pack_rank(struct pack_result *results, size_t n, size_t limit)
{
    size_t fit = 0;

    for (size_t i = 0; i < n; i++) {
        fit += results[i].verdict == VERDICT_FITS;
    }
    if (limit == 0 || limit >= n) {
        qsort(results, n, sizeof(*results), compare_void);
        return fit;
    }
    /* The best `limit` in a heap with the worst of them on top: one pass, almost no moves. */
    for (size_t i = limit / 2; i-- > 0;) {
        sift_down(results, limit, i);
    }
    for (size_t i = limit; i < n; i++) {
        if (compare(&results[i], &results[0]) < 0) {
            struct pack_result t = results[0];

            results[0] = results[i];
            results[i] = t;
            sift_down(results, limit, 0);
        }
    }
    qsort(results, limit, sizeof(*results), compare_void);
    return fit;
}

static bool same_merit(const struct pack_result *a, const struct pack_result *b)
{
    return a->verdict == b->verdict && a->demoted == b->demoted && a->score == b->score;
}

void pack_points(const struct pack_result *ranked, size_t n, int32_t *ret_points)
{
    for (size_t i = 0; i < n; i++) {
        if (ranked[i].verdict != VERDICT_FITS) {
            ret_points[i] = 0;
        } else if (i == 0) {
            ret_points[i] = 10;
        } else if (i > 1 && same_merit(&ranked[i], &ranked[i - 1])) {
            ret_points[i] = ret_points[i - 1];
        } else {
            ret_points[i] = (int32_t)(9 - 10 * (i - 1) / (n - 1));
        }
    }
}
