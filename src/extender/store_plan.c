/* A decision by rules: groups of nodes with strategies of their own, and several criteria (core/placement/plan.h).
 * Plain ones: store_pack.c. */
#include "extender/store_sections_internal.h"

#include "core/placement/pack.h"

#include <string.h>

enum { SECTION_MIN = 8, SECTION_BEGIN = 64 };

struct planned {
    struct store_sections sections; /* the next section is shorter where the last one had much to compute */
    const struct resolved_plan *resolved_plan;
    struct pack_query *queries; /* one for each step, and: */
    struct pack_params *params; /* as planned, with the forecast */
    uint8_t *step_of;           /* by name */
    struct str *names;          /* of one step */
    struct pack_result *spare;
    struct plan_scores *scores; /* by result */
};

static void begin_plan(struct store_sections *d, const struct ledger_view *v, uint64_t *seen)
{
    struct planned *p = (struct planned *)d;

    for (size_t i = 0; i < p->resolved_plan->n; i++) {
        pack_query_init(&p->queries[i], v, &p->params[i], d->question->tentatives, d->question->tentative_n);
        p->queries[i].seen = seen; /* of all of them: a node belongs to one step */
    }
}

static struct score_row remembered(struct store *s, const struct ledger_view *v, const struct pack_params *params)
{
    return v->isolates ? (struct score_row){NULL, NULL} : score_cache_find(s->scores, v->pod.demand, params, v->node_n);
}

/* The further criteria for `n` results that the first one has judged, from `first` on. */
static void add_criteria(struct store *s, struct planned *p, const struct ledger_view *v, size_t step,
                         const struct pack_result *results, size_t first, size_t n)
{
    const struct pack_plan *plan = p->resolved_plan->steps[step].plan;

    for (size_t i = first; i < first + n; i++) {
        p->scores[i] = (struct plan_scores){.by = {results[i].score}};
    }
    for (size_t c = 1; c < plan->criterion_n; c++) {
        struct pack_params params = p->params[step];
        struct pack_query q;
        size_t fit_n = 0, at = 0;

        params.node_strategy = plan->criteria[c];
        for (size_t i = first; i < first + n; i++) {
            if (results[i].verdict == VERDICT_FITS) {
                p->names[fit_n++] = results[i].name;
            }
        }
        pack_query_init(&q, v, &params, NULL, 0);
        q.known = remembered(s, v, &params);
        if (fit_n > 0) {
            (void)pack_some(v, &q, p->names, fit_n, p->spare);
        }
        for (size_t i = first; i < first + n; i++) {
            if (results[i].verdict == VERDICT_FITS) {
                p->scores[i].by[c] = p->spare[at++].score;
            }
        }
    }
}

static void judge_step(struct store *s, struct planned *p, const struct ledger_view *v, size_t step, size_t n,
                       struct store_pack_answer *ret)
{
    size_t name_n = 0, got;

    for (size_t i = 0; i < n; i++) {
        if (p->step_of[i] == step) {
            p->names[name_n++] = p->sections.question->names[p->sections.done + i];
        }
    }
    if (name_n == 0) {
        return;
    }
    p->queries[step].known = remembered(s, v, &p->params[step]);
    got = pack_some(v, &p->queries[step], p->names, name_n, ret->results + ret->n);
    for (size_t i = 0; i < got; i++) {
        ret->results[ret->n + i].group = (uint8_t)step;
    }
    add_criteria(s, p, v, step, ret->results, ret->n, got);
    ret->n += got;
}

static void sort_into_steps(struct planned *p, const struct ledger_view *v, size_t n)
{
    uint32_t node = LEDGER_VIEW_NONE;

    for (size_t i = 0; i < n; i++) {
        node = ledger_view_index_near(v, &p->sections.question->names[p->sections.done + i], node + 1);
        p->step_of[i] = node == LEDGER_VIEW_NONE
                            ? (uint8_t)(p->resolved_plan->n - 1)
                            : (uint8_t)resolved_plan_step(p->resolved_plan, ledger_view_rules(v, node));
    }
}

static bool look_ahead(struct store_sections *d, struct store *s)
{
    const struct resolved_plan *resolved_plan = ((struct planned *)d)->resolved_plan;

    for (size_t i = 0; i < resolved_plan->n; i++) {
        const struct pack_plan *plan = resolved_plan->steps[i].plan;
        struct pack_params params = plan->params;

        for (size_t c = 0; c < plan->criterion_n; c++) {
            params.node_strategy = plan->criteria[c];
            if (!store_look_ahead(s, &params)) {
                return false;
            }
        }
    }
    return true;
}

static size_t judge(struct store_sections *d, struct store *s, const struct ledger_view *v, size_t n,
                    struct store_pack_answer *ret)
{
    struct planned *p = (struct planned *)d;
    uint64_t work = forecast_work(s->forecast);

    sort_into_steps(p, v, n);
    for (size_t i = 0; i < p->resolved_plan->n; i++) {
        judge_step(s, p, v, i, n, ret);
    }
    if (forecast_work(s->forecast) - work > FORECAST_WORK_MAX) {
        d->section_n = d->section_n / 4 > SECTION_MIN ? d->section_n / 4 : SECTION_MIN;
    } else {
        d->section_n = d->section_n * 2 < STORE_PACK_SECTION ? d->section_n * 2 : STORE_PACK_SECTION;
    }
    return n;
}

/* ---- when all are known ---- */

static void combine(struct planned *p, struct plan_scores *rows, struct store_pack_answer *ret)
{
    for (size_t step = 0; step < p->resolved_plan->n; step++) {
        const struct pack_plan *plan = p->resolved_plan->steps[step].plan;
        size_t n = 0;

        for (size_t i = 0; i < ret->n; i++) {
            if (ret->results[i].group == step && ret->results[i].verdict == VERDICT_FITS) {
                rows[n] = p->scores[i];
                rows[n++].at = (uint32_t)i;
            }
        }
        plan_judge(plan, rows, n, p->spare);
        for (size_t i = 0; i < n; i++) {
            ret->results[rows[i].at].score = rows[i].combined;
        }
    }
}

static bool has_buffer(struct planned *p, struct arena *a, struct plan_scores **ret_rows)
{
    size_t n = p->sections.question->name_n;

    p->queries = ARENA_ARRAY(a, p->resolved_plan->n, struct pack_query);
    p->params = ARENA_ARRAY(a, p->resolved_plan->n, struct pack_params);
    p->step_of = arena_alloc(a, n);
    p->names = arena_alloc(a, n * sizeof(*p->names));
    p->spare = arena_alloc(a, n * sizeof(*p->spare));
    p->scores = arena_alloc(a, n * sizeof(*p->scores));
    *ret_rows = arena_alloc(a, n * sizeof(**ret_rows));
    return !a->overflowed;
}

int store_pack_planned(struct store *s, struct arena *a, const struct store_question *q,
                       const struct resolved_plan *resolved_plan, struct store_pack_answer *ret, struct err *reterr)
{
    static const struct store_sections_ops ops = {look_ahead, begin_plan, judge};
    struct planned p = {.sections = {.ops = &ops, .question = q, .section_n = SECTION_BEGIN},
                        .resolved_plan = resolved_plan};
    struct plan_scores *rows;
    size_t unknown_n = 0;
    int rc;

    if (!has_buffer(&p, a, &rows)) {
        return err_set(reterr, ERR_LIMIT, "the request does not fit its memory");
    }
    for (size_t i = 0; i < resolved_plan->n; i++) {
        p.params[i] = resolved_plan->steps[i].plan->params;
        p.params[i].forecast = s->forecast;
        p.params[i].prices = &p.sections.sight.prices;
    }
    rc = store_answer_in_sections(s, a, &p.sections, ret, reterr);
    if (rc != 0) {
        return rc;
    }
    combine(&p, rows, ret);
    for (size_t i = 0; i < resolved_plan->n; i++) {
        unknown_n += p.queries[i].unknown_n;
    }
    if (unknown_n > 1) {
        ret->n = store_drop_unknown_repeats(ret->results, ret->n);
    }
    return 0;
}
