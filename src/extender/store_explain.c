/* Why a decision came out as it did: the best node, the next one, and the parts of their scores.
 *
 * The parts are found when the decision is over and its sections have given the lock back: from what is remembered of
 * the two scores (core/placement/score_terms.h), else by a new judgement of the two nodes. What has changed since would
 * be explained wrongly, so parts are kept only if they are those of the scores that were compared.
 */
#include "extender/store_pack_internal.h"

#include "core/fit/choice.h"
#include "core/placement/pack.h"
#include "extender/decision_words.h"

#include <string.h>

/* What is found out under the lock. */
struct explained {
    struct score_part best[SCORE_PARTS_MAX], next[SCORE_PARTS_MAX];
    size_t best_n, next_n;
    bool holds; /* they are of the scores that were compared */
};

static int64_t sum(const struct score_part *parts, size_t n)
{
    int64_t all = 0;

    for (size_t i = 0; i < n; i++) {
        all += parts[i].value;
    }
    return all;
}

/* What it is looked at by, under the lock. */
struct look {
    const struct ledger_view *v;
    const struct pack_plan *plan;
    struct pack_params params;
    struct score_row known; /* what is remembered of this demand */
    bool unchanged;         /* nothing at all, since the decision began */
};

/* The parts of a new judgement of the node. */
static bool judge_again(const struct look *l, const struct node_state *n, const struct device_state *devices,
                        int64_t *ret_score, struct score_part *ret, size_t *ret_n)
{
    const struct demand *d = l->v->pod.demand;
    struct placement at;

    if (choice_make(&l->params, n, devices, l->v->allowed_models, d, &at, ret_score) != VERDICT_FITS) {
        return false;
    }
    *ret_n = choice_parts(&l->params, n, devices, d, &at, ret);
    return sum(ret, *ret_n) == *ret_score;
}

/* True: the parts are those of the score that `r` has. A normalised score is another number; then nothing at all may
 * have changed. */
static bool explain_node(const struct look *l, const struct pack_result *r, struct score_part *ret, size_t *ret_n)
{
    uint32_t node = ledger_view_index(l->v, &r->name);
    struct device_state buffer[DEVICES_PER_NODE_MAX];
    const struct device_state *devices;
    int64_t score;

    if (node == LEDGER_VIEW_NONE) {
        return false;
    }
    if (l->known.terms != NULL) {
        *ret_n = score_terms_parts(l->known.terms, node, l->params.forecast, l->params.prices, ret);
        if (*ret_n > 0 && sum(ret, *ret_n) == r->score) {
            return true;
        }
    }
    devices = ledger_view_devices(l->v, &l->v->nodes[node], buffer);
    return judge_again(l, &l->v->nodes[node], devices, &score, ret, ret_n) &&
           (score == r->score || (l->unchanged && l->params.node_strategy->normalise != NULL));
}

/* Under the lock. */
static void explain(struct store *s, struct arena *a, const struct view_pod *pod, const struct pack_plan *plan,
                    const struct store_pack_answer *answer, struct explained *ret)
{
    struct look l = {.plan = plan, .params = plan->params};
    struct ledger_view v;

    if (ledger_view_unnominated(s->ledger, a, pod, &v, NULL) != 0) {
        return; /* no room: then without parts */
    }
    l.v = &v;
    l.params.forecast = s->forecast;
    l.params.prices = &answer->prices;
    l.known = store_remembered(s, &v, &l.params);
    l.unchanged = v.generation == answer->generation;
    ret->holds = explain_node(&l, &answer->results[0], ret->best, &ret->best_n) &&
                 explain_node(&l, &answer->results[1], ret->next, &ret->next_n);
}

/* What each of several criteria said of a node. */
static size_t criteria_of(const struct pack_plan *plan, const struct store_pack_answer *answer, struct str name,
                          struct score_part *ret)
{
    for (size_t i = 0; i < answer->scored_n; i++) {
        if (!str_eq(answer->scored[i], name)) {
            continue;
        }
        for (size_t c = 0; c < plan->criterion_n; c++) {
            ret[c] = (struct score_part){
                .kind = SCORE_PART_CRITERION, .which = (uint8_t)c, .value = answer->scores[i].by[c]};
        }
        return plan->criterion_n;
    }
    return 0;
}

/* The parts of the two scores, or the criteria; returns how many. */
static size_t find_parts(struct store *s, struct arena *a, const struct view_pod *pod, const struct pack_plan *plan,
                         const struct store_pack_answer *answer, struct reason_part ret[REASON_PARTS_MAX])
{
    struct explained e;

    e.holds = plan->criterion_n > 1;
    if (e.holds) {
        e.best_n = criteria_of(plan, answer, answer->results[0].name, e.best);
        e.next_n = criteria_of(plan, answer, answer->results[1].name, e.next);
    } else if (plan->criteria[0]->score_parts != NULL) {
        mutex_lock(&s->lock);
        explain(s, a, pod, plan, answer, &e);
        mutex_unlock(&s->lock);
    }
    return e.holds ? reason_parts(e.best, e.best_n, e.next, e.next_n, ret) : 0;
}

/* A chain has no score but the place in the order: those of the criterion that decided stand for it. */
static void take_scores(struct decision_note *d, const struct reason_part *parts, size_t part_n)
{
    for (size_t i = 0; i < part_n && d->criterion_n > 1 && d->weights_milli[0] == 0; i++) {
        d->decided_by = parts[i].of.which;
        d->best_score = parts[i].best;
        d->next_score = parts[i].next;
        if (parts[i].best != parts[i].next) {
            return;
        }
    }
}

/* 1 + the place of its rule; 0: of none. */
static uint32_t rule_of(const struct pack_plans *plans, const struct pack_plan *plan)
{
    for (size_t i = 0; i < plans->rule_n; i++) {
        if (&plans->rules[i].plan == plan) {
            return (uint32_t)i + 1;
        }
    }
    return 0;
}

struct decision_note *store_explain(struct store *s, struct arena *a, const struct view_pod *pod, struct str pod_name,
                                    const struct pack_plans *plans, const struct store_pack_answer *answer,
                                    size_t fit_n)
{
    struct decision_note d = {.uid = pod->uid, .namespace_ = pod->namespace_, .name = pod_name};
    const struct pack_result *best = &answer->results[0], *next = fit_n > 1 ? &answer->results[1] : NULL;
    struct reason_part parts[REASON_PARTS_MAX];
    struct resolved_plan resolved;
    const struct pack_plan *plan;
    char rule_text[PACKING_RULE_WORDS_MAX];
    size_t part_n = 0;

    resolved_plan_make(&resolved, plans, pod->namespace_, pod->label_hashes, pod->label_n);
    plan = resolved.steps[best->group].plan;
    d.ranked_n = (uint32_t)fit_n;
    d.rule = rule_of(plans, plan);
    if (d.rule > 0) {
        d.rule_text =
            str_of(packing_rule_words(plans->rules[d.rule - 1].from, d.rule - 1, rule_text, sizeof(rule_text)));
    }
    d.criterion_n = (uint32_t)plan->criterion_n;
    memcpy(d.criteria, plan->criteria, sizeof(d.criteria));
    memcpy(d.weights_milli, plan->weights_milli, sizeof(d.weights_milli));
    d.best = best->name;
    d.reason = pack_reason(best, next);
    if (next != NULL) {
        d.next = next->name;
        d.best_score = best->score;
        d.next_score = next->score;
    }
    if (d.reason == PACK_BY_SCORE) {
        part_n = find_parts(s, a, pod, plan, answer, parts);
        take_scores(&d, parts, part_n);
    }
    return decision_new(&d, parts, part_n);
}

struct decisions *store_decisions(struct store *s)
{
    return s->decisions;
}
