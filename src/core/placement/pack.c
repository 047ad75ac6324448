/* One decision: which of the named nodes take this demand, and with which score.
 *
 * Names are answered one by one, in four steps of rising cost:
 *   - the remembered score, if the node has the version and the prices that it was made at: a few comparisons;
 *   - the remembered terms of the score, if only prices have changed: a sum (reprice);
 *   - what this decision found for another node in the same state (twins.h): a copy;
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
    bool is_special;   /* of nodes that fit judge_others() must be asked; */
    bool is_held_only; /* only of those that may be held, if of any */
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
    p->is_held_only = !v->limits_tenant && !v->slack_matters && v->nomination_n == 0 && q->in_doubt == NULL;
    p->is_special = !p->is_held_only || q->tentative_n > 0;
}

/* `terms` must be empty. */
static enum verdict choose(const struct pass *p, uint32_t node, int64_t *ret_score, struct forecast_terms *terms)
{
    struct device_state buffer[DEVICES_PER_NODE_MAX];
    const struct ledger_view *v = p->v;
    const struct node_state *n = &v->nodes[node];
    struct placement at;

    return choice_make_terms(p->q->params, n, ledger_view_devices(v, n, buffer), v->allowed_models, v->pod.demand, &at,
                             ret_score, p->keeps_terms ? terms : NULL);
}

static void keep(const struct pass *p, uint32_t node, const struct pack_result *r, const struct forecast_terms *terms)
{
    if (p->known.terms != NULL) {
        score_terms_keep(p->known.terms, node, terms);
    }
    if (p->known.scores != NULL) {
        p->known.scores[node] = (struct score){score_stamp(p->v->nodes[node].version, r->verdict), r->score, p->prices};
    }
}

/* By itself, or as another node in the same state, of which this decision knows already. */
static void judge(const struct pass *p, uint32_t node, struct pack_result *r)
{
    struct forecast_terms own = {.node = node};
    struct twin *twin = NULL;
    bool known = false;

    if (p->q->twins != NULL && !p->v->flags_devices) {
        twin = twins_at(p->q->twins, p->q->decision, p->v, node, &known);
    }
    if (twin == NULL) {
        r->verdict = choose(p, node, &r->score, &own);
        keep(p, node, r, &own);
        return;
    }
    if (!known) {
        twin->terms = own;
        twin->score = 0;
        twin->verdict = choose(p, node, &twin->score, &twin->terms);
    }
    r->verdict = twin->verdict;
    r->score = twin->score;
    keep(p, node, r, &twin->terms);
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

/* All about a known node, of this version, but its name and the order of that. False: as look(). */
static inline bool answer(const struct pass *p, const struct score *scores, uint32_t node, uint64_t version,
                          struct pack_result *r)
{
    const struct ledger_view *v = p->v;

    if (scores != NULL && is_at_hand(&scores[node], version, p->prices)) {
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

        const struct node_state *node = &v->nodes[first + i];

        ret[i] = (struct pack_result){.name = name, .slack = SLACK_NONE, .verdict = VERDICT_NODE_UNKNOWN};
        ret[i].name_order = name.n > 0 ? node->name_order : 0;
        if (name.n > 0 && !answer(&pass, pass.known.scores, first + i, node->version, &ret[i])) {
            break;
        }
    }
    q->done = i;
    return i;
}

/* Names that are those of the nodes from `node` on, one after the other, and of which all is at hand: as most are.
 * Looks no further than the nodes of one word of q->seen, and not at nodes that were seen or may be held. */
static size_t take_run_in_word(const struct pass *p, const struct str *names, size_t n, uint32_t node,
                               struct pack_result *ret)
{
    const struct ledger_view *v = p->v;
    const struct score *scores = p->known.scores + node;
    const struct node_brief *briefs = v->briefs + node;
    const unsigned shift = node % 64;
    uint64_t *seen = p->q->seen != NULL ? &p->q->seen[node / 64] : NULL;
    uint64_t not_these = ((seen != NULL ? *seen : 0) | p->q->held[node % PACK_HELD_BITS / 64]) >> shift;
    size_t max = not_these != 0 ? (unsigned)__builtin_ctzll(not_these) : 64 - shift, i;

    max = max < n ? max : n;
    max = max < v->node_n - node ? max : v->node_n - node;
    for (i = 0; i < max; i++) {
        if (!ledger_view_is_named(v, &briefs[i], &names[i]) || !is_at_hand(&scores[i], briefs[i].version, p->prices)) {
            break;
        }
        ret[i] = (struct pack_result){.name = names[i],
                                      .name_order = briefs[i].name_order,
                                      .slack = SLACK_NONE,
                                      .verdict = (enum verdict)(scores[i].stamp & 0xff),
                                      .score = scores[i].score};
    }
    if (seen != NULL && i > 0) {
        *seen |= UINT64_MAX >> (64 - i) << shift;
    }
    return i;
}

/* The same over any number of words. */
static size_t take_run(const struct pass *p, const struct str *names, size_t n, uint32_t node, struct pack_result *ret)
{
    size_t taken = 0, more;

    if (p->known.scores == NULL || !p->is_held_only) {
        return 0;
    }
    do {
        uint32_t at = node + (uint32_t)taken;

        more = at < p->v->node_n ? take_run_in_word(p, names + taken, n - taken, at, ret + taken) : 0;
        taken += more;
    } while (more > 0 && (node + taken) % 64 == 0 && taken < n);
    return taken;
}

/* Names come in the order of the ledger, or in the caller's own: kube-scheduler may have read the nodes in any. Then
 * each name would wait for memory several times, and so a block of them is guessed at once. */
struct guesses {
    uint32_t at[LEDGER_VIEW_GUESSES];
    size_t begin;      /* of the block; the first name that it is about */
    uint32_t astray_n; /* of the last block: not where the one before them let expect */
    bool made;
};

static __attribute__((noinline)) void guess_block(struct guesses *g, const struct pass *p, const struct str *names,
                                                  size_t i, size_t name_n)
{
    size_t n = name_n - i < LEDGER_VIEW_GUESSES ? name_n - i : LEDGER_VIEW_GUESSES;

    g->begin = i;
    g->made = g->astray_n > LEDGER_VIEW_GUESSES / 4;
    g->astray_n = 0;
    if (!g->made) {
        return;
    }
    ledger_view_guess(p->v, names + i, n, g->at);
    for (size_t k = 0; k < n && p->known.scores != NULL; k++) {
        if (g->at[k] != LEDGER_VIEW_NONE) {
            __builtin_prefetch(&p->known.scores[g->at[k]]);
        }
    }
}

/* One name, wherever its node is. *ret_answered: `r` was written. False: as look(). */
static bool take_one(const struct pass *p, const struct str *name, uint32_t guess, uint32_t *ret_node,
                     struct pack_result *r, bool *ret_answered)
{
    const struct ledger_view *v = p->v;
    uint32_t node = ledger_view_index_near(v, name, guess);

    *ret_node = node;
    *r = (struct pack_result){.name = *name, .slack = SLACK_NONE, .verdict = VERDICT_NODE_UNKNOWN};
    *ret_answered = true;
    if (node == LEDGER_VIEW_NONE) {
        p->q->unknown_n++;
        return true;
    }
    *ret_answered = !was_seen(p->q, node);
    r->name_order = v->briefs[node].name_order;
    return !*ret_answered || answer(p, p->known.scores, node, v->briefs[node].version, r);
}

size_t pack_some(const struct ledger_view *v, struct pack_query *q, const struct str *names, size_t name_n,
                 struct pack_result *ret)
{
    uint32_t node = LEDGER_VIEW_NONE, before;
    struct guesses guesses = {.made = false};
    struct pack_result *r = ret;
    struct pass pass;
    size_t i = 0, run;
    bool answered;

    begin_pass(&pass, v, q);
    while (i < name_n) {
        if (i - guesses.begin >= LEDGER_VIEW_GUESSES) {
            guess_block(&guesses, &pass, names, i, name_n);
        }
        if (!guesses.made) {
            run = take_run(&pass, names + i, name_n - i, node + 1, r); /* LEDGER_VIEW_NONE + 1 is 0 */
            i += run;
            r += run;
            node += (uint32_t)run;
            if (i == name_n) {
                break;
            }
        }
        before = node;
        if (!take_one(&pass, &names[i], guesses.made ? guesses.at[i - guesses.begin] : before + 1, &node, r,
                      &answered)) {
            break;
        }
        guesses.astray_n += node - before - 1 > LEDGER_VIEW_NEAR;
        r += answered;
        i++;
    }
    q->done = i;
    return (size_t)(r - ret);
}
