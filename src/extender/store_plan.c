/* A decision by rules: groups of nodes with strategies of their own, and several criteria (core/placement/plan.h). In
 * sections, as store_pack.c, which takes the plain decisions. */
#include "extender/store_internal.h"

#include "core/placement/pack.h"

#include <string.h>

enum { SECTION_MIN = 8, SECTION_BEGIN = 64 };

static int too_large(struct err *reterr)
{
    return err_set(reterr, ERR_LIMIT, "the request does not fit its memory");
}

struct planned {
    const struct store_question *q;
    const struct agenda *agenda;
    struct pack_query *queries; /* one for each step, and: */
    struct pack_params *params; /* as planned, with the outlook */
    struct store_sight sight;
    uint64_t *seen;             /* of all of them: a node belongs to one step */
    uint8_t *step_of;           /* by name */
    struct str *names;          /* of one step */
    struct pack_result *spare;
    struct plan_scores *scores; /* by result */
    uint64_t names_version;
    size_t done;
    size_t section_n; /* names of the next section: fewer where the last one had much to compute */
    unsigned begun_n;
};

static bool begin(struct planned *p, struct arena *a, const struct ledger_view *v, struct store_pack_answer *ret)
{
    p->seen = arena_calloc(a, v->node_n / 64 + 1, sizeof(*p->seen));
    if (p->seen == NULL) {
        return false;
    }
    for (size_t i = 0; i < p->agenda->n; i++) {
        pack_query_init(&p->queries[i], v, &p->params[i], p->q->holds, p->q->hold_n);
        p->queries[i].seen = p->seen;
    }
    p->names_version = v->names_version;
    p->done = 0;
    p->begun_n++;
    ret->n = 0;
    ret->generation = v->generation;
    return true;
}

static struct score_row remembered(struct store *s, const struct ledger_view *v, const struct pack_params *params)
{
    return v->isolates ? (struct score_row){NULL, NULL}
                       : score_cache_find(s->scores, v->pod.demand, params, v->node_n);
}

/* The further criteria for `n` results that the first one has judged, from `first` on. */
static void add_criteria(struct store *s, struct planned *p, const struct ledger_view *v,
                         size_t step, const struct pack_result *results, size_t first, size_t n)
{
    const struct pack_plan *plan = p->agenda->steps[step].plan;

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
            p->names[name_n++] = p->q->names[p->done + i];
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
        node = ledger_view_index_near(v, &p->q->names[p->done + i], node + 1);
        p->step_of[i] = node == LEDGER_VIEW_NONE
                            ? (uint8_t)(p->agenda->n - 1)
                            : (uint8_t)agenda_step(p->agenda, ledger_view_rules(v, node));
    }
}

static bool look_ahead(struct store *s, const struct agenda *agenda)
{
    for (size_t i = 0; i < agenda->n; i++) {
        const struct pack_plan *plan = agenda->steps[i].plan;
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

static int section(struct store *s, struct arena *a, struct planned *p, struct store_pack_answer *ret,
                   struct err *reterr)
{
    struct ledger_view v;
    uint64_t work;
    size_t n;
    int r;

    if (!look_ahead(s, p->agenda)) {
        return 0;
    }
    r = ledger_view(s->ledger, a, p->q->pod, &v, reterr);
    if (r != 0) {
        return r;
    }
    if (p->done == 0 || v.names_version != p->names_version || !store_sight_holds(&p->sight, s)) {
        store_sight_take(&p->sight, s);
        if (!begin(p, a, &v, ret)) {
            return too_large(reterr);
        }
    }
    n = p->q->name_n - p->done;
    if (n > p->section_n && p->begun_n <= STORE_BEGIN_AGAIN_MAX && v.nomination_n == 0) {
        n = p->section_n;
    }
    work = outlook_work(s->outlook);
    sort_into_steps(p, &v, n);
    for (size_t i = 0; i < p->agenda->n; i++) {
        judge_step(s, p, &v, i, n, ret);
    }
    if (outlook_work(s->outlook) - work > OUTLOOK_WORK_MAX) {
        p->section_n = p->section_n / 4 > SECTION_MIN ? p->section_n / 4 : SECTION_MIN;
    } else {
        p->section_n = p->section_n * 2 < STORE_PACK_SECTION ? p->section_n * 2 : STORE_PACK_SECTION;
    }
    p->done += n;
    return 0;
}

/* ---- when all are known ---- */

static void combine(struct planned *p, struct plan_scores *rows, struct store_pack_answer *ret)
{
    for (size_t step = 0; step < p->agenda->n; step++) {
        const struct pack_plan *plan = p->agenda->steps[step].plan;
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

static bool has_room(struct planned *p, struct arena *a, struct plan_scores **ret_rows)
{
    size_t n = p->q->name_n;

    p->queries = ARENA_ARRAY(a, p->agenda->n, struct pack_query);
    p->params = ARENA_ARRAY(a, p->agenda->n, struct pack_params);
    p->step_of = arena_alloc(a, n);
    p->names = arena_alloc(a, n * sizeof(*p->names));
    p->spare = arena_alloc(a, n * sizeof(*p->spare));
    p->scores = arena_alloc(a, n * sizeof(*p->scores));
    *ret_rows = arena_alloc(a, n * sizeof(**ret_rows));
    return !a->overflowed;
}

int store_pack_planned(struct store *s, struct arena *a, const struct store_question *q,
                       const struct agenda *agenda, struct store_pack_answer *ret, struct err *reterr)
{
    struct planned p = {.q = q, .agenda = agenda, .section_n = SECTION_BEGIN};
    struct plan_scores *rows;
    size_t unknown_n = 0;
    int r = 0;

    if (!has_room(&p, a, &rows)) {
        return too_large(reterr);
    }
    for (size_t i = 0; i < agenda->n; i++) {
        p.params[i] = agenda->steps[i].plan->params;
        p.params[i].outlook = s->outlook;
        p.params[i].prices = &p.sight.prices;
    }
    do {
        store_lock(s);
        r = section(s, a, &p, ret, reterr);
        store_unlock(s);
    } while (r == 0 && (p.begun_n == 0 || p.done < q->name_n));
    if (r != 0) {
        return r;
    }
    combine(&p, rows, ret);
    for (size_t i = 0; i < agenda->n; i++) {
        unknown_n += p.queries[i].unknown_n;
    }
    if (unknown_n > 1) {
        ret->n = store_drop_unknown_repeats(ret->results, ret->n);
    }
    return 0;
}
