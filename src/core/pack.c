#include "core/pack.h"

#include "core/slack.h"

#include <string.h>

enum verdict pack_node(const struct ledger_view *v, const struct node_state *n, const struct pack_params *p,
                       int64_t *ret_score, struct placement *placement)
{
    struct device_state room[DEVICES_PER_NODE_MAX];
    struct placement local;

    return choice_make(p, n, ledger_view_devices(v, n, room), v->allowed_models, v->pod.demand,
                       placement != NULL ? placement : &local, ret_score);
}

static bool place(const struct ledger_view *v, const struct node_state *n, const struct device_state *devices,
                  const struct pack_params *p)
{
    struct placement at;

    return choice_make(p, n, devices, v->allowed_models, v->pod.demand, &at, NULL) == VERDICT_FITS;
}

static bool place_other(const struct node_state *n, const struct device_state *devices, const struct demand *d,
                        const struct pack_params *p, struct placement *ret)
{
    return choice_make(p, n, devices, NULL, d, ret, NULL) == VERDICT_FITS;
}

/* ---- holds ---- */

static bool is_held(const struct pack_query *q, struct str name)
{
    for (size_t i = 0; i < q->hold_n; i++) {
        if (str_eq(q->holds[i].node_name, name)) {
            return true;
        }
    }
    return false;
}

/* Would the demand still fit if every pod held for this node landed there first? A held pod that no longer
 * fits by itself is not coming here and takes nothing. */
static bool fits_beside_holds(const struct ledger_view *v, const struct node_state *n, struct str name,
                              const struct pack_query *q)
{
    struct device_state devices[DEVICES_PER_NODE_MAX], next[DEVICES_PER_NODE_MAX];
    const struct device_state *live = ledger_view_devices(v, n, devices);
    struct node_state node = *n;
    struct placement at;

    if (live != devices && n->device_n > 0) {
        memcpy(devices, live, n->device_n * sizeof(devices[0]));
    }
    for (size_t i = 0; i < q->hold_n; i++) {
        const struct demand *held = q->holds[i].demand;

        if (!str_eq(q->holds[i].node_name, name) ||
            !place_other(&node, devices, held, q->params, &at)) {
            continue;
        }
        node.unsteered_used += held->unsteered_n;
        node.share_pod_n += demand_takes_shares(held);
        choice_take(&node, devices, held, &at, next);
        memcpy(devices, next, node.device_n * sizeof(devices[0]));
    }
    return place(v, &node, devices, q->params);
}

/* ---- many nodes ---- */

static uint64_t bit(size_t i)
{
    return UINT64_C(1) << (i % 64);
}

void pack_query_init(struct pack_query *q, const struct ledger_view *v, const struct pack_params *p,
                     const struct pack_hold *holds, size_t hold_n)
{
    *q = (struct pack_query){.params = p, .holds = holds, .hold_n = hold_n};
    for (size_t i = 0; i < hold_n; i++) {
        uint32_t node = ledger_view_index(v, &holds[i].node_name);

        if (node != LEDGER_VIEW_NONE) {
            q->held[node % PACK_HELD_BITS / 64] |= bit(node);
        }
    }
}

/* Do the pods nominated to this node still fit once this one has landed as planned? A nomination that cannot be kept
 * anyway keeps nobody away. */
static bool keeps_nominations(const struct ledger_view *v, const struct node_state *n,
                              const struct placement *at, const struct pack_params *p)
{
    struct device_state with[DEVICES_PER_NODE_MAX], without[DEVICES_PER_NODE_MAX], next[DEVICES_PER_NODE_MAX];
    struct node_state row_with = *n, row_without = *n;
    const struct demand *d = v->pod.demand;
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
            choice_take(n, without, d, at, with);
            row_with.unsteered_used += d->unsteered_n;
            row_with.share_pod_n += demand_takes_shares(d);
        }
        if (!place_other(&row_without, without, q->demand, p, &there)) {
            continue;
        }
        choice_take(n, without, q->demand, &there, next);
        memcpy(without, next, n->device_n * sizeof(next[0]));
        if (!place_other(&row_with, with, q->demand, p, &there)) {
            return false;
        }
        choice_take(n, with, q->demand, &there, next);
        memcpy(with, next, n->device_n * sizeof(next[0]));
        row_with.unsteered_used += q->demand->unsteered_n;
        row_with.share_pod_n += demand_takes_shares(q->demand);
        row_without.unsteered_used += q->demand->unsteered_n;
        row_without.share_pod_n += demand_takes_shares(q->demand);
    }
    return true;
}

static bool may_be_held(const struct pack_query *q, uint32_t node)
{
    return (q->held[node % PACK_HELD_BITS / 64] & bit(node)) != 0;
}

static bool was_seen(struct pack_query *q, uint32_t node)
{
    uint64_t before;

    if (q->seen == NULL) {
        return false;
    }
    before = q->seen[node / 64];
    q->seen[node / 64] = before | bit(node);
    return (before & bit(node)) != 0;
}

/* It was not answered after all. */
static void forget_seen(struct pack_query *q, uint32_t node)
{
    if (q->seen != NULL) {
        q->seen[node / 64] &= ~bit(node);
    }
}

static bool has_nomination(const struct ledger_view *v, uint32_t node)
{
    for (size_t i = 0; i < v->nomination_n; i++) {
        if (v->nominations[i].node == node) {
            return true;
        }
    }
    return false;
}

/* What is remembered speaks of the node alone. */
static bool stands_in_the_way(const struct ledger_view *v, const struct pack_query *q, uint32_t node)
{
    const struct node_state *n = &v->nodes[node];
    struct placement at;
    int64_t score;

    return has_nomination(v, node) && pack_node(v, n, q->params, &score, &at) == VERDICT_FITS &&
           !keeps_nominations(v, n, &at, q->params);
}

/* Some placement on some node would be too much for the pod's tenant: is the one that is chosen here? */
static bool passes_tenant(const struct ledger_view *v, const struct pack_query *q, uint32_t node)
{
    const struct node_state *n = &v->nodes[node];
    struct placement at;
    int64_t score;

    return pack_node(v, n, q->params, &score, &at) == VERDICT_FITS &&
           !holding_fits(tenancy_wanted(v->pod.demand, &at, n, &v->devices[n->first_device]),
                         v->tenant_room);
}

/* Not remembered: nodes with slices are few, and looking at them is cheap. */
static __attribute__((noinline)) uint16_t slack_of(const struct ledger_view *v, uint32_t node)
{
    struct device_state room[DEVICES_PER_NODE_MAX];
    const struct node_state *n = &v->nodes[node];

    return slack_on(n, ledger_view_devices(v, n, room), v->allowed_models, v->pod.demand);
}

/* Not inlined, so that the loop over what is remembered stays small. */
static __attribute__((noinline)) void judge(const struct ledger_view *v, const struct pack_query *q, uint32_t node,
                                            const struct score_row *known, struct pack_result *r)
{
    struct device_state room[DEVICES_PER_NODE_MAX];
    const struct node_state *n = &v->nodes[node];
    struct outlook_terms *terms = known->terms != NULL ? &known->terms[node] : NULL;
    struct placement at;

    if (terms != NULL) {
        terms->node = node;
        terms->n = 0;
    }
    r->verdict =
        choice_make_terms(q->params, n, ledger_view_devices(v, n, room), v->allowed_models, v->pod.demand, &at,
                          &r->score, terms != NULL && pack_keeps_terms(q->params) ? terms : NULL);
    if (known->scores != NULL) {
        known->scores[node] = (struct score){score_stamp(n->version, r->verdict), r->score,
                                             q->params->prices != NULL ? q->params->prices->version : 0};
    }
}

/* The score of a node that fits at today's prices; false: it must be judged again. */
static __attribute__((noinline)) bool reprice(const struct pack_query *q, uint32_t node, struct score *score,
                                              const struct outlook_terms *terms)
{
    const struct outlook *o = q->params->outlook;
    const struct outlook_prices *prices = q->params->prices;

    if (outlook_prices_hold(o, prices, node, score->prices)) {
        return true;
    }
    if (!outlook_gain_again(o, prices, terms, &score->score)) {
        return false;
    }
    score->prices = prices->version;
    return true;
}

size_t pack_some(const struct ledger_view *v, struct pack_query *q, const struct str *names, size_t name_n,
                 struct pack_result *ret)
{
    const struct score_row known = v->isolates ? (struct score_row){NULL, NULL} : q->known;
    struct score *const scores = known.scores;
    struct outlook_terms *const terms = q->params->prices != NULL ? known.terms : NULL;
    const uint64_t prices = terms != NULL ? q->params->prices->version : 0;
    const struct node_state *const nodes = v->nodes;
    const bool any_held = q->hold_n > 0;
    const uint64_t work_end =
        q->work_max > 0 && q->params->outlook != NULL ? outlook_work(q->params->outlook) + q->work_max : UINT64_MAX;
    uint32_t node = LEDGER_VIEW_NONE;
    struct pack_result *r = ret;
    size_t i;

    for (i = 0; i < name_n; i++) {
        node = ledger_view_index_near(v, &names[i], node + 1);
        r->name = names[i];
        r->demoted = false;
        r->group = 0;
        r->slack = SLACK_NONE;
        r->score = 0;
        if (node == LEDGER_VIEW_NONE) {
            r->verdict = VERDICT_NODE_UNKNOWN;
            q->unknown_n++;
            r++;
            continue;
        }
        if (was_seen(q, node)) {
            continue;
        }
        if (scores != NULL && scores[node].stamp >> 8 == nodes[node].version &&
            (terms == NULL || (enum verdict)(scores[node].stamp & 0xff) != VERDICT_FITS ||
             scores[node].prices == prices || reprice(q, node, &scores[node], &terms[node]))) {
            r->verdict = (enum verdict)(scores[node].stamp & 0xff);
            r->score = scores[node].score;
        } else if (work_end != UINT64_MAX && outlook_work(q->params->outlook) >= work_end) {
            forget_seen(q, node);
            break;
        } else {
            judge(v, q, node, &known, r);
        }
        if (v->limits_tenant && r->verdict == VERDICT_FITS && passes_tenant(v, q, node)) {
            r->verdict = VERDICT_TENANT_LIMIT;
        }
        if (v->slack_matters && r->verdict == VERDICT_FITS) {
            r->slack = slack_of(v, node);
        }
        if (v->nomination_n > 0 && r->verdict == VERDICT_FITS && stands_in_the_way(v, q, node)) {
            r->verdict = VERDICT_NOMINATED;
        }
        if (any_held && r->verdict == VERDICT_FITS && may_be_held(q, node) && is_held(q, names[i])) {
            r->demoted = !fits_beside_holds(v, &nodes[node], names[i], q);
        }
        r++;
    }
    q->done = i;
    return (size_t)(r - ret);
}

void pack_nodes(const struct ledger_view *v, const struct pack_params *p, const struct pack_hold *holds,
                size_t hold_n, const struct str *names, size_t name_n, struct pack_result *ret)
{
    struct pack_query q;

    pack_query_init(&q, v, p, holds, hold_n);
    name_n = pack_some(v, &q, names, name_n, ret);
    if (p->node_strategy->normalise != NULL) {
        p->node_strategy->normalise(ret, name_n);
    }
}

/* ---- ranking ---- */

/* Of two that fit, smaller is better. Total: names are unique in a request, so ties end there. */
static inline __attribute__((always_inline)) int compare(const struct pack_result *a, const struct pack_result *b,
                                                         bool grouped)
{
    if (a->demoted != b->demoted) {
        return a->demoted ? 1 : -1;
    }
    if (grouped && a->group != b->group) {
        return a->group < b->group ? -1 : 1;
    }
    if (a->slack != b->slack) {
        return a->slack < b->slack ? -1 : 1;
    }
    if (a->score != b->score) {
        return a->score > b->score ? -1 : 1;
    }
    return str_cmp(a->name, b->name);
}

/* Puts `item` into a max-heap (worst on top) whose place i is free. */
static inline __attribute__((always_inline)) void sift_down(struct pack_result *heap, size_t n, size_t i,
                                                            struct pack_result item, bool grouped)
{
    for (;;) {
        size_t worst = 2 * i + 1;

        if (worst + 1 < n && compare(&heap[worst + 1], &heap[worst], grouped) > 0) {
            worst++;
        }
        if (worst >= n || compare(&heap[worst], &item, grouped) <= 0) {
            heap[i] = item;
            return;
        }
        heap[i] = heap[worst];
        i = worst;
    }
}

/* Cheaply, for most of those that are. */
static inline bool is_clearly_worse(const struct pack_result *r, const struct pack_result *than, bool grouped)
{
    return !than->demoted && (!grouped || r->group == than->group) &&
           (r->slack > than->slack || (r->slack == than->slack && r->score < than->score));
}

/* What fits to the front; returns how many. */
static size_t partition(struct pack_result *results, size_t n)
{
    size_t fit = 0;

    for (size_t i = 0; i < n; i++) {
        if (results[i].verdict == VERDICT_FITS) {
            if (i != fit) {
                struct pack_result t = results[fit];

                results[fit] = results[i];
                results[i] = t;
            }
            fit++;
        }
    }
    return fit;
}

/* Twice in the program: most decisions have one group, and need not look. */
static inline __attribute__((always_inline)) size_t rank(struct pack_result *results, size_t n, size_t limit,
                                                         bool grouped)
{
    size_t fit = partition(results, n);
    size_t wanted = limit > 0 && limit < fit ? limit : fit;

    /* The best `wanted` in a heap with the worst of them on top: one pass, few moves. */
    for (size_t i = wanted / 2; i-- > 0;) {
        sift_down(results, wanted, i, results[i], grouped);
    }
    for (size_t i = wanted; i < fit; i++) {
        if (!is_clearly_worse(&results[i], &results[0], grouped) && compare(&results[i], &results[0], grouped) < 0) {
            struct pack_result better = results[i];

            results[i] = results[0];
            sift_down(results, wanted, 0, better, grouped);
        }
    }
    /* The worst to the end, until the best is in front. */
    for (size_t left = wanted; left-- > 1;) {
        struct pack_result last = results[left];

        results[left] = results[0];
        sift_down(results, left, 0, last, grouped);
    }
    return fit;
}

size_t pack_rank(struct pack_result *results, size_t n, size_t limit)
{
    return rank(results, n, limit, false);
}

size_t pack_rank_groups(struct pack_result *results, size_t n, size_t limit)
{
    return rank(results, n, limit, true);
}

static bool same_merit(const struct pack_result *a, const struct pack_result *b)
{
    return a->verdict == b->verdict && a->demoted == b->demoted && a->group == b->group && a->slack == b->slack &&
           a->score == b->score;
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
