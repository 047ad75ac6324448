/* A decision by rules: groups of nodes with strategies of their own, and several criteria (core/placement/plan.h). */
#include "extender/store_pack_internal.h"

enum { SECTION_MIN = 8, SECTION_BEGIN = 64 };

/* Each with a place for every name. */
struct plan_buffers {
    uint8_t *step_of;
    struct str *names; /* of one step */
    struct pack_result *spare;
    struct plan_scores *scores; /* by result */
    struct plan_scores *rows;
};

bool store_plan_prepare(struct store_decision *d, struct arena *a)
{
    struct plan_buffers *b = ARENA_NEW(a, struct plan_buffers);

    if (b == NULL) {
        return false;
    }
    b->step_of = arena_alloc(a, d->name_n);
    b->names = arena_alloc(a, d->name_n * sizeof(*b->names));
    b->spare = arena_alloc(a, d->name_n * sizeof(*b->spare));
    b->scores = arena_alloc(a, d->name_n * sizeof(*b->scores));
    b->rows = arena_alloc(a, d->name_n * sizeof(*b->rows));
    d->by_rules = b;
    d->section_n = SECTION_BEGIN; /* shorter where the last one had much to compute */
    return !a->overflowed;
}

/* The further criteria for `n` results that the first one has judged, from `first` on. */
static void add_criteria(struct store *s, struct store_decision *d, const struct ledger_view *v, size_t step,
                         const struct pack_result *results, size_t first, size_t n)
{
    const struct pack_plan *plan = d->plan->steps[step].plan;
    struct plan_buffers *b = d->by_rules;

    for (size_t i = first; i < first + n; i++) {
        b->scores[i] = (struct plan_scores){.by = {results[i].score}};
    }
    for (size_t c = 1; c < plan->criterion_n; c++) {
        struct pack_params params = d->params[step];
        struct pack_query q;
        size_t fit_n = 0, at = 0;

        params.node_strategy = plan->criteria[c];
        for (size_t i = first; i < first + n; i++) {
            if (results[i].verdict == VERDICT_FITS) {
                b->names[fit_n++] = results[i].name;
            }
        }
        pack_query_init(&q, v, &params, NULL, 0);
        q.known = store_remembered(s, v, &params);
        if (fit_n > 0) {
            (void)pack_some(v, &q, b->names, fit_n, b->spare);
        }
        for (size_t i = first; i < first + n; i++) {
            if (results[i].verdict == VERDICT_FITS) {
                b->scores[i].by[c] = b->spare[at++].score;
            }
        }
    }
}

static void judge_step(struct store *s, struct store_decision *d, const struct ledger_view *v, size_t step, size_t n,
                       struct store_pack_answer *ret)
{
    struct plan_buffers *b = d->by_rules;
    size_t name_n = 0, got;

    for (size_t i = 0; i < n; i++) {
        if (b->step_of[i] == step) {
            b->names[name_n++] = d->names[d->done + i];
        }
    }
    if (name_n == 0) {
        return;
    }
    d->queries[step].known = store_remembered(s, v, &d->params[step]);
    got = pack_some(v, &d->queries[step], b->names, name_n, ret->results + ret->n);
    for (size_t i = 0; i < got; i++) {
        ret->results[ret->n + i].group = (uint8_t)step;
    }
    add_criteria(s, d, v, step, ret->results, ret->n, got);
    ret->n += got;
}

static void sort_into_steps(struct store_decision *d, const struct ledger_view *v, size_t n)
{
    uint32_t node = LEDGER_VIEW_NONE;

    for (size_t i = 0; i < n; i++) {
        node = ledger_view_index_near(v, &d->names[d->done + i], node + 1);
        d->by_rules->step_of[i] = node == LEDGER_VIEW_NONE
                                      ? (uint8_t)(d->plan->n - 1)
                                      : (uint8_t)resolved_plan_step(d->plan, ledger_view_rules(v, node));
    }
}

void store_plan_judge(struct store_decision *d, struct store *s, const struct ledger_view *v, size_t n,
                      struct store_pack_answer *ret)
{
    uint64_t work = forecast_work(s->forecast);

    sort_into_steps(d, v, n);
    for (size_t i = 0; i < d->plan->n; i++) {
        judge_step(s, d, v, i, n, ret);
    }
    d->done += n;
    if (forecast_work(s->forecast) - work > FORECAST_WORK_MAX) {
        d->section_n = d->section_n / 4 > SECTION_MIN ? d->section_n / 4 : SECTION_MIN;
    } else {
        d->section_n = d->section_n * 2 < STORE_PACK_SECTION ? d->section_n * 2 : STORE_PACK_SECTION;
    }
}

void store_plan_combine(struct store_decision *d, struct store_pack_answer *ret)
{
    struct plan_buffers *b = d->by_rules;

    for (size_t step = 0; step < d->plan->n; step++) {
        const struct pack_plan *plan = d->plan->steps[step].plan;
        size_t n = 0;

        for (size_t i = 0; i < ret->n; i++) {
            if (ret->results[i].group == step && ret->results[i].verdict == VERDICT_FITS) {
                b->rows[n] = b->scores[i];
                b->rows[n++].at = (uint32_t)i;
            }
        }
        plan_judge(plan, b->rows, n, b->spare);
        for (size_t i = 0; i < n; i++) {
            ret->results[b->rows[i].at].score = b->rows[i].combined;
            b->scores[b->rows[i].at] = b->rows[i];
        }
    }
    for (size_t i = 0; i < ret->n; i++) {
        b->names[i] = ret->results[i].name;
    }
    ret->scores = b->scores;
    ret->scored = b->names;
    ret->scored_n = ret->n;
}
