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
 * else. What depends on other pods is asked afterwards and never remembered (pack_others.c). Under isolation other pods
 * decide what fits, so nothing is remembered at all. Whoever adds such a dependence must add it there.
 *
 * Everything reads one view, which is one generation of the ledger. A decision in several sections takes a new view for
 * each; struct pack_query carries on what was answered. Work is bounded in passes of rollouts (forecast_work()), never
 * by the clock, so that the same question is cut in the same places.
 *
 * Cost: O(names) when all is remembered; a judgement is O(devices) for one GPU request and bounded for several.
 */
#include "core/placement/pack_internal.h"

#include "core/fit/slack.h"

void pack_query_init(struct pack_query *q, const struct ledger_view *v, const struct pack_params *p,
                     const struct pack_tentative *tentatives, size_t tentative_n)
{
    *q = (struct pack_query){.params = p, .tentatives = tentatives, .tentative_n = tentative_n};
    for (size_t i = 0; i < tentative_n; i++) {
        uint32_t node = ledger_view_index(v, &tentatives[i].node_name);

        if (node != LEDGER_VIEW_NONE) {
            q->held[node % PACK_HELD_BITS / 64] |= pack_bit(node);
        }
    }
}

static bool was_seen(struct pack_query *q, uint32_t node)
{
    uint64_t before;

    if (q->seen == NULL) {
        return false;
    }
    before = q->seen[node / 64];
    q->seen[node / 64] = before | pack_bit(node);
    return (before & pack_bit(node)) != 0;
}

/* It was not answered after all. */
static void forget_seen(struct pack_query *q, uint32_t node)
{
    if (q->seen != NULL) {
        q->seen[node / 64] &= ~pack_bit(node);
    }
}

/* What stays the same for all names of one call. */
struct pass {
    const struct ledger_view *v;
    struct pack_query *q;
    struct score_row known;
    uint64_t prices;   /* version of them; 0: not priced */
    uint64_t work_end; /* of forecast_work(); UINT64_MAX: no bound */
    bool is_special;   /* of nodes that fit pack_judge_others() must be asked; */
    bool is_of_few;    /* only of those that may be held or are in doubt, if of any */
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
    p->is_of_few = !v->limits_tenant && !v->slack_matters && v->nomination_n == 0;
    p->is_special = !p->is_of_few || q->tentative_n > 0 || q->in_doubt != NULL;
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
    struct twin alone, *twin = NULL;
    bool known = false;

    if (p->q->twins != NULL && !p->v->flags_devices) {
        twin = twins_at(p->q->twins, p->q->decision, p->v, node, &known);
    }
    if (twin == NULL) {
        twin = &alone;
        known = false;
    }
    if (!known) {
        twin->terms = (struct forecast_terms){.node = node};
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
        pack_judge_others(v, p->q, node, r);
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
 * Looks no further than the nodes of one word of q->seen, and not at nodes that were seen, may be held or are in
 * doubt. */
static size_t take_run_in_word(const struct pass *p, const struct str *names, size_t n, uint32_t node,
                               struct pack_result *ret)
{
    const struct ledger_view *v = p->v;
    const struct score *scores = p->known.scores + node;
    const struct node_brief *briefs = v->briefs + node;
    const unsigned shift = node % 64;
    const struct pack_query *q = p->q;
    uint64_t *seen = q->seen != NULL ? &q->seen[node / 64] : NULL;
    uint64_t in_doubt = q->in_doubt != NULL ? q->in_doubt[node / 64] : 0;
    uint64_t not_these = ((seen != NULL ? *seen : 0) | in_doubt | q->held[node % PACK_HELD_BITS / 64]) >> shift;
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

    if (p->known.scores == NULL || !p->is_of_few) {
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
