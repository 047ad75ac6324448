/* One decision: which of the named nodes take this demand, and with which score.
 *
 * Names are answered one by one, in four steps of rising cost:
 *   - the remembered score, if the node has the version and the prices that it was made at: a few comparisons;
 *   - the remembered terms of the score, if only prices have changed: a sum (reprice);
 *   - what this decision found for another node in the same state (twins.h): a comparison of all its numbers;
 *   - a new judgement by choice_make(): feasibility, choice of devices, strategy (judge).
 * kube-scheduler names thousands of nodes for pod after pod, and one or two of them have changed between two pods. So
 * the loop of pack_some() is made for the first step; the others are kept out of it.
 *
 * What is remembered is a function of the demand's shape, of the node's own numbers and of the prices, and of nothing
 * else. What depends on other pods is asked afterwards and never remembered: limits of the tenant, nominations, pods
 * that are held for the node (judge_others; slack is there, too, because it is cheap). Under isolation other pods
 * decide what fits, so nothing is remembered at all. Whoever adds such a dependence must add it there.
 *
 * Everything reads one view, which is one generation of the ledger. A decision in several sections takes a new view for
 * each; struct pack_query carries on what was answered. Work is bounded in passes of rollouts (forecast_work()), never
 * by the clock, so that the same question is cut in the same places.
 *
 * Cost: O(names) when all is remembered; a judgement is O(devices) for one GPU request and bounded for several.
 */
#include "core/placement/pack.h"

#include "core/fit/slack.h"

#include <string.h>

enum verdict pack_node(const struct ledger_view *v, const struct node_state *n, const struct pack_params *p,
                       int64_t *ret_score, struct placement *placement)
{
    struct device_state buffer[DEVICES_PER_NODE_MAX];
    struct placement local;

    return choice_make(p, n, ledger_view_devices(v, n, buffer), v->allowed_models, v->pod.demand,
                       placement != NULL ? placement : &local, ret_score);
}

/* Does the demand of the view fit? `n` and `devices` may be a state that the ledger does not have. */
static bool place(const struct ledger_view *v, const struct node_state *n, const struct device_state *devices,
                  const struct pack_params *p)
{
    struct placement at;

    return choice_make(p, n, devices, v->allowed_models, v->pod.demand, &at, NULL) == VERDICT_FITS;
}

/* The same for another pod. It was promised this node, so every model is taken to be allowed. */
static bool place_other(const struct node_state *n, const struct device_state *devices, const struct demand *d,
                        const struct pack_params *p, struct placement *ret)
{
    return choice_make(p, n, devices, NULL, d, ret, NULL) == VERDICT_FITS;
}

/* ---- holds ---- */

static bool is_held(const struct pack_query *q, struct str name)
{
    for (size_t i = 0; i < q->tentative_n; i++) {
        if (str_eq(q->tentatives[i].node_name, name)) {
            return true;
        }
    }
    return false;
}

/* Would the demand still fit if every pod held for this node landed there first? They land one after the other, each
 * on the devices that these strategies choose. A held pod that no longer fits is not coming here and takes nothing. */
static bool fits_beside_tentative(const struct ledger_view *v, const struct node_state *n, struct str name,
                                  const struct pack_query *q)
{
    struct device_state devices[DEVICES_PER_NODE_MAX];
    const struct device_state *live = ledger_view_devices(v, n, devices);
    struct node_state node = *n;
    struct placement at;

    if (live != devices && n->device_n > 0) {
        memcpy(devices, live, n->device_n * sizeof(devices[0]));
    }
    for (size_t i = 0; i < q->tentative_n; i++) {
        const struct demand *held = q->tentatives[i].demand;

        if (str_eq(q->tentatives[i].node_name, name) && place_other(&node, devices, held, q->params, &at)) {
            choice_land(&node, devices, held, &at);
        }
    }
    return place(v, &node, devices, q->params);
}

/* ---- many nodes ---- */

static uint64_t bit(size_t i)
{
    return UINT64_C(1) << (i % 64);
}

void pack_query_init(struct pack_query *q, const struct ledger_view *v, const struct pack_params *p,
                     const struct pack_tentative *tentatives, size_t tentative_n)
{
    *q = (struct pack_query){.params = p, .tentatives = tentatives, .tentative_n = tentative_n};
    for (size_t i = 0; i < tentative_n; i++) {
        uint32_t node = ledger_view_index(v, &tentatives[i].node_name);

        if (node != LEDGER_VIEW_NONE) {
            q->held[node % PACK_HELD_BITS / 64] |= bit(node);
        }
    }
}

/* Do the pods nominated to this node still fit once this one has landed as planned? Two states of the node are carried
 * on side by side, both without the pods that are leaving: one with this pod, one without. A nomination that does
 * not fit even without this pod cannot be kept anyway and keeps nobody away. */
static bool keeps_nominations(const struct ledger_view *v, const struct node_state *n, const struct placement *at,
                              const struct pack_params *p)
{
    struct device_state with[DEVICES_PER_NODE_MAX], without[DEVICES_PER_NODE_MAX];
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
            memcpy(with, q->devices, n->device_n * sizeof(with[0]));
            choice_land(&row_with, with, v->pod.demand, at);
        }
        if (!place_other(&row_without, without, q->demand, p, &there)) {
            continue;
        }
        choice_land(&row_without, without, q->demand, &there);
        if (!place_other(&row_with, with, q->demand, p, &there)) {
            return false;
        }
        choice_land(&row_with, with, q->demand, &there);
    }
    return true;
}

/* A filter by index modulo PACK_HELD_BITS: false is certain, true is not. */
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

/* The remembered score does not say which devices were chosen, so they are chosen again. Only for nodes with a
 * nomination, which are few. */
static bool stands_in_the_way(const struct ledger_view *v, const struct pack_query *q, uint32_t node)
{
    const struct node_state *n = &v->nodes[node];
    struct placement at;
    int64_t score;

    return ledger_view_is_nominated(v, node) && pack_node(v, n, q->params, &score, &at) == VERDICT_FITS &&
           !keeps_nominations(v, n, &at, q->params);
}

/* Some placement on some node would be too much for the pod's tenant: is the one that is chosen here? True: it is. */
static bool passes_tenant(const struct ledger_view *v, const struct pack_query *q, uint32_t node)
{
    const struct node_state *n = &v->nodes[node];
    struct placement at;
    int64_t score;

    return pack_node(v, n, q->params, &score, &at) == VERDICT_FITS &&
           !holding_fits(tenancy_wanted(v->pod.demand, &at, n, &v->devices[n->first_device]), v->tenant_residual);
}

/* Not remembered: nodes with slices are few, and looking at them is cheap. */
static __attribute__((noinline)) uint16_t slack_of(const struct ledger_view *v, uint32_t node)
{
    struct device_state buffer[DEVICES_PER_NODE_MAX];
    const struct node_state *n = &v->nodes[node];

    return slack_on(n, ledger_view_devices(v, n, buffer), v->allowed_models, v->pod.demand);
}

/* What stays the same for all names of one call. */
struct pass {
    const struct ledger_view *v;
    struct pack_query *q;
    struct score_row known;
    uint64_t prices;   /* version of them; 0: not priced */
    uint64_t work_end; /* of forecast_work(); UINT64_MAX: no bound */
    bool is_special;   /* of nodes that fit judge_others() must be asked */
    bool keeps_terms;
};

static void begin_pass(struct pass *p, const struct ledger_view *v, struct pack_query *q)
{
    const struct forecast *o = q->params->forecast;

    p->v = v;
    p->q = q;
    p->known = v->isolates ? (struct score_row){NULL, NULL} : q->known;
    if (q->params->prices == NULL) {
        p->known.terms = NULL;
    }
    p->prices = p->known.terms != NULL ? q->params->prices->version : 0;
    p->work_end = q->work_max > 0 && o != NULL ? forecast_work(o) + q->work_max : UINT64_MAX;
    p->keeps_terms = p->known.terms != NULL && pack_keeps_terms(q->params);
    p->is_special =
        v->limits_tenant || v->slack_matters || v->nomination_n > 0 || q->tentative_n > 0 || q->in_doubt != NULL;
}

/* What choice_make_terms() says of this node, or has said of another one in the same state. `terms` are of both. */
static void choose(const struct pass *p, uint32_t node, struct pack_result *r, struct forecast_terms *terms)
{
    struct device_state buffer[DEVICES_PER_NODE_MAX];
    const struct ledger_view *v = p->v;
    const struct node_state *n = &v->nodes[node];
    struct twin *twin = NULL;
    struct placement at;
    bool known = false;

    if (p->q->twins != NULL && !v->flags_devices) {
        twin = twins_at(p->q->twins, p->q->decision, v, node, &known);
    }
    if (known) {
        r->verdict = twin->verdict;
        r->score = twin->score;
        *terms = twin->terms;
        terms->node = node;
        return;
    }
    *terms = (struct forecast_terms){.node = node};
    r->verdict = choice_make_terms(p->q->params, n, ledger_view_devices(v, n, buffer), v->allowed_models, v->pod.demand,
                                   &at, &r->score, p->keeps_terms ? terms : NULL);
    if (twin != NULL) {
        twin->verdict = r->verdict;
        twin->score = r->score;
        twin->terms = *terms;
    }
}

static void judge(const struct pass *p, uint32_t node, struct pack_result *r)
{
    struct forecast_terms terms;

    choose(p, node, r, &terms);
    if (p->known.terms != NULL) {
        score_terms_keep(p->known.terms, node, &terms);
    }
    if (p->known.scores != NULL) {
        p->known.scores[node] = (struct score){score_stamp(p->v->nodes[node].version, r->verdict), r->score, p->prices};
    }
}

/* The score of a node that fits at today's prices; false: it must be judged again. */
static bool reprice(const struct pass *p, uint32_t node, struct score *score)
{
    const struct forecast *o = p->q->params->forecast;
    const struct forecast_prices *prices = p->q->params->prices;

    if (forecast_prices_hold(o, prices, node, score->prices)) {
        return true;
    }
    if (!score_terms_gain(p->known.terms, node, o, prices, &score->score)) {
        return false;
    }
    score->prices = prices->version;
    return true;
}

/* A node whose score is not at hand. False: enough has been done for one call, and this name is not answered; it is no
 * longer marked as seen, so that the next call answers it. The first name of a call is always answered, because the
 * bound is above the work done before it. Not inlined, so that the loop over what is remembered stays small. */
static __attribute__((noinline)) bool look(const struct pass *p, uint32_t node, struct pack_result *r)
{
    struct score *score = p->known.scores != NULL ? &p->known.scores[node] : NULL;

    if (p->work_end != UINT64_MAX && forecast_work(p->q->params->forecast) >= p->work_end) {
        forget_seen(p->q, node);
        return false;
    }
    if (score != NULL && score->stamp == score_stamp(p->v->nodes[node].version, VERDICT_FITS) &&
        p->known.terms != NULL && reprice(p, node, score)) {
        r->verdict = VERDICT_FITS;
        r->score = score->score;
    } else {
        judge(p, node, r);
    }
    return true;
}

/* What depends on others than this node and this pod, and is not remembered: of one that would fit. */
static __attribute__((noinline)) void judge_others(const struct ledger_view *v, const struct pack_query *q,
                                                   uint32_t node, struct pack_result *r)
{
    if (v->limits_tenant && passes_tenant(v, q, node)) {
        r->verdict = VERDICT_TENANT_LIMIT;
    }
    if (v->slack_matters && r->verdict == VERDICT_FITS) {
        r->slack = slack_of(v, node);
    }
    if (v->nomination_n > 0 && r->verdict == VERDICT_FITS && stands_in_the_way(v, q, node)) {
        r->verdict = VERDICT_NOMINATED;
    }
    if (q->tentative_n > 0 && r->verdict == VERDICT_FITS && may_be_held(q, node) && is_held(q, r->name)) {
        r->demoted = fits_beside_tentative(v, &v->nodes[node], r->name, q) ? PACK_NOT_DEMOTED : PACK_PROMISED;
    }
    if (q->in_doubt != NULL && r->verdict == VERDICT_FITS && (q->in_doubt[node / 64] & bit(node)) != 0) {
        r->demoted = PACK_IN_DOUBT;
    }
}

/* Is the remembered score one of the node as it is, at today's prices where it follows them? A refusal has no price: it
 * stays until the node changes. */
static inline bool is_at_hand(const struct score *score, uint64_t version, uint64_t prices)
{
    return score->stamp >> 8 == version && (score->prices == prices || (score->stamp & 0xff) != VERDICT_FITS);
}

/* All about a known node but its name. False: as look(). */
static inline bool answer(const struct pass *p, const struct score *scores, uint32_t node, struct pack_result *r)
{
    const struct ledger_view *v = p->v;

    r->name_order = v->nodes[node].name_order;
    if (scores != NULL && is_at_hand(&scores[node], v->nodes[node].version, p->prices)) {
        r->verdict = (enum verdict)(scores[node].stamp & 0xff);
        r->score = scores[node].score;
    } else if (!look(p, node, r)) {
        return false;
    }
    if (p->is_special && r->verdict == VERDICT_FITS) {
        judge_others(v, p->q, node, r);
    }
    return true;
}

size_t pack_range(const struct ledger_view *v, struct pack_query *q, uint32_t first, uint32_t n,
                  struct pack_result *ret)
{
    struct pass pass;
    uint32_t i;

    begin_pass(&pass, v, q);
    for (i = 0; i < n; i++) {
        struct str name = v->names[first + i];

        ret[i] = (struct pack_result){.name = name, .slack = SLACK_NONE, .verdict = VERDICT_NODE_UNKNOWN};
        if (name.n > 0 && !answer(&pass, pass.known.scores, first + i, &ret[i])) {
            break;
        }
    }
    q->done = i;
    return i;
}

/* Names come in the order of the ledger, or in the caller's own: kube-scheduler may have read the nodes in any. Then
 * each name would wait for memory five times, and so a block of them is guessed at once. */
struct guesses {
    uint32_t at[LEDGER_VIEW_GUESSES];
    uint32_t astray_n; /* of the last block: not where the one before them let expect */
    bool made;
};

static __attribute__((noinline)) void guess_block(struct guesses *g, const struct pass *p, const struct str *names,
                                                  size_t n)
{
    g->made = g->astray_n > LEDGER_VIEW_GUESSES / 4;
    g->astray_n = 0;
    if (!g->made) {
        return;
    }
    n = n < LEDGER_VIEW_GUESSES ? n : LEDGER_VIEW_GUESSES;
    ledger_view_guess(p->v, names, n, g->at);
    for (size_t i = 0; i < n; i++) {
        if (g->at[i] != LEDGER_VIEW_NONE) {
            __builtin_prefetch(&p->v->nodes[g->at[i]].version);
            __builtin_prefetch(&p->v->nodes[g->at[i]].name_order);
            if (p->known.scores != NULL) {
                __builtin_prefetch(&p->known.scores[g->at[i]]);
            }
        }
    }
}

size_t pack_some(const struct ledger_view *v, struct pack_query *q, const struct str *names, size_t name_n,
                 struct pack_result *ret)
{
    uint32_t node = LEDGER_VIEW_NONE, before;
    struct guesses guesses = {.made = false};
    struct pack_result *r = ret;
    struct pass pass;
    const struct score *scores;
    size_t i;

    begin_pass(&pass, v, q);
    scores = pass.known.scores;
    for (i = 0; i < name_n; i++) {
        if (i % LEDGER_VIEW_GUESSES == 0) {
            guess_block(&guesses, &pass, names + i, name_n - i);
        }
        before = node; /* LEDGER_VIEW_NONE + 1 is 0 */
        node = ledger_view_index_near(v, &names[i], guesses.made ? guesses.at[i % LEDGER_VIEW_GUESSES] : before + 1);
        guesses.astray_n += node - before - 1 > LEDGER_VIEW_NEAR;
        *r = (struct pack_result){.name = names[i], .slack = SLACK_NONE, .verdict = VERDICT_NODE_UNKNOWN};
        if (node == LEDGER_VIEW_NONE) {
            q->unknown_n++;
            r++;
            continue;
        }
        if (was_seen(q, node)) {
            continue;
        }
        if (!answer(&pass, scores, node, r)) {
            break;
        }
        r++;
    }
    q->done = i;
    return (size_t)(r - ret);
}
