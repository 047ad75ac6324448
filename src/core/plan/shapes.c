#include "base/bug.h"
#include "core/fit/slack.h"
#include "core/plan/constraints.h"
#include "core/plan/head_internal.h"

#include <stdlib.h>

/* ---- what holds for pods of a shape ---- */

static struct ledger_view view_of(const struct plan_head *h, const struct plan_shape *s)
{
    const struct mirror *m = h->q->mirror;
    const struct waiting_pod *p = s->like;

    return (struct ledger_view){
        .generation = m->generation,
        .names_version = m->names_version,
        .nodes = m->nodes,
        .names = m->names,
        .node_n = m->node_n,
        .devices = m->devices,
        .allowed_models = s->models,
        .pod = {.uid = p->uid,
                .namespace_ = p->namespace_,
                .priority = p->priority,
                .demand = p->demand,
                .label_hashes = p->label_hashes,
                .label_n = p->label_n},
        .tenant_residual = {INT64_MAX, INT64_MAX},
        .slack_matters = h->q->sight->cluster.sliced && slack_matters(p->demand),
    };
}

static struct pack_params params_of(const struct plan_head *h, const struct plan_shape *s, size_t step)
{
    struct pack_params params = s->plan.steps[step].plan->params;

    params.forecast = h->q->forecast;
    params.prices = h->q->forecast != NULL ? &h->prices : NULL;
    return params;
}

static uint8_t *models_of(const struct ledger_sight *sight, const struct demand *d)
{
    uint8_t *models;

    if (d->model_n == 0) {
        return NULL;
    }
    models = xcalloc(sight->model_n + 1, 1);
    for (uint32_t i = 0; i < sight->model_n; i++) {
        models[i] = demand_allows_model(d, sight->models[i]);
    }
    return models;
}

void plan_shape_begin(struct plan_head *h, struct plan_shape *s)
{
    const struct waiting_pod *p = s->like;

    *s = (struct plan_shape){.like = p, .models = models_of(&h->q->sight->cluster, p->demand)};
    resolved_plan_make(&s->plan, h->q->plans, p->namespace_, p->label_hashes, p->label_n);
}

void plan_shape_end(struct plan_shape *s)
{
    free(s->models);
    free(s->results);
    free(s->best.items);
    free(s->scores);
    free(s->rows);
    free(s->spare);
    free(s->takes);
}

bool plan_shape_place(struct plan_head *h, const struct plan_shape *s, uint32_t node, struct placement *ret)
{
    const struct ledger_view v = view_of(h, s);
    const struct pack_params params = params_of(h, s, resolved_plan_step(&s->plan, h->q->mirror->rules[node]));

    return pack_node(&v, &v.nodes[node], &params, NULL, ret) == VERDICT_FITS;
}

void plan_shape_leave_out(struct plan_shape *s, uint32_t node)
{
    s->takes[node] = false;
}

/* ---- judging nodes ---- */

/* Scores are as the strategy gives them, and one decides. */
static bool is_plain(const struct pack_plan *plan)
{
    return plan->criterion_n == 1 && plan->criteria[0]->normalise == NULL;
}

static bool has_landed(const struct mirror *m, uint32_t node)
{
    return m->nodes[node].version == 0;
}

/* Nodes of one step, all of them as the ledger has them or none: of others nothing may be remembered. */
static void judge_alike(struct plan_head *h, struct plan_shape *s, size_t step, uint32_t first, uint32_t n)
{
    const struct ledger_view v = view_of(h, s);
    const struct pack_plan *plan = s->plan.steps[step].plan;
    struct pack_params params = params_of(h, s, step);

    for (size_t c = 0; c < plan->criterion_n; c++) {
        struct pack_result *results = c == 0 ? s->results + first : s->spare;
        struct pack_query q;

        params.node_strategy = plan->criteria[c];
        pack_query_init(&q, &v, &params, NULL, 0);
        if (!has_landed(h->q->mirror, first)) {
            q.known = score_cache_find(h->scores, v.pod.demand, &params, v.node_n);
        }
        (void)pack_range(&v, &q, first, n, results); /* work_max is 0: it answers all */
        for (uint32_t i = 0; i < n; i++) {
            results[i].group = (uint8_t)step;
            if (s->scores != NULL) {
                s->scores[first + i].by[c] = results[i].score;
            }
        }
    }
    h->work += n * plan->criterion_n;
}

static void judge(struct plan_head *h, struct plan_shape *s, uint32_t first, uint32_t n)
{
    const struct mirror *m = h->q->mirror;

    for (uint32_t i = first; i < first + n;) {
        size_t step = resolved_plan_step(&s->plan, m->rules[i]);
        uint32_t from = i;

        do {
            i++;
        } while (i < first + n && has_landed(m, i) == has_landed(m, from) &&
                 resolved_plan_step(&s->plan, m->rules[i]) == step);
        judge_alike(h, s, step, from, i - from);
    }
}

/* ---- shapes ---- */

static bool may_have(const struct plan_head *h, const struct plan_shape *s, uint32_t node)
{
    const struct mirror *m = h->q->mirror;

    return s->takes[node] && s->results[node].verdict == VERDICT_FITS &&
           host_room(h->facts[node], &m->nodes[node].host, m->pod_n[node], s->like->demand->host);
}

static void offer(struct plan_shape *s, uint32_t node)
{
    key_heap_push(&s->best, (struct pack_key){pack_merit_of(&s->results[node]), node});
}

/* Somebody has landed there. What was taken of a node is not given back in a round, so where there is no room there
 * will be none. */
static void judge_again(struct plan_head *h, struct plan_shape *s, uint32_t node)
{
    const struct pack_result before = s->results[node];

    judge(h, s, node, 1);
    if (s->scores == NULL && may_have(h, s, node) &&
        (before.verdict != VERDICT_FITS || pack_merit_of(&before) != pack_merit_of(&s->results[node]))) {
        offer(s, node);
    }
}

static bool same_plan(const struct resolved_plan *a, const struct plan_head *h, const struct waiting_pod *p)
{
    struct resolved_plan b;
    bool same;

    resolved_plan_make(&b, h->q->plans, p->namespace_, p->label_hashes, p->label_n);
    same = a->n == b.n;
    for (size_t i = 0; same && i < b.n; i++) {
        same = a->steps[i].plan == b.steps[i].plan && a->steps[i].node_bit == b.steps[i].node_bit;
    }
    return same;
}

static void allocate(struct plan_shape *s, uint32_t node_n)
{
    bool plain = true;

    for (size_t i = 0; i < s->plan.n; i++) {
        plain = plain && is_plain(s->plan.steps[i].plan);
    }
    s->results = xreallocarray(NULL, node_n + 1, sizeof(*s->results));
    s->takes = xcalloc(node_n + 1, sizeof(*s->takes));
    if (!plain) {
        s->scores = xcalloc(node_n + 1, sizeof(*s->scores));
        s->rows = xcalloc(node_n + 1, sizeof(*s->rows));
        s->spare = xcalloc(node_n + 1, sizeof(*s->spare));
    }
}

static struct plan_shape *add(struct plan_head *h, const struct waiting_pod *p)
{
    uint32_t node_n = h->q->mirror->node_n;
    struct plan_shape *s;

    if (h->shape_n == PLAN_SHAPES_MAX) {
        return NULL;
    }
    s = &h->shapes[h->shape_n++];
    s->like = p;
    plan_shape_begin(h, s);
    allocate(s, node_n);
    for (uint32_t i = 0; i < node_n; i++) {
        s->takes[i] = h->facts[i] != NULL && !h->closed[i] && node_takes(p, h->facts[i]);
    }
    if (node_n > 0) {
        judge(h, s, 0, node_n);
    }
    s->judged_n = h->landed_n;
    for (uint32_t i = 0; s->scores == NULL && i < node_n; i++) {
        if (may_have(h, s, i)) {
            offer(s, i);
        }
    }
    return s;
}

struct plan_shape *plan_shape_of(struct plan_head *h, const struct waiting_pod *p)
{
    for (uint32_t i = 0; i < h->shape_n; i++) {
        struct plan_shape *s = &h->shapes[i];

        if (demand_equal(s->like->demand, p->demand) && constraints_equal(s->like, p) && same_plan(&s->plan, h, p)) {
            for (; s->judged_n < h->landed_n; s->judged_n++) {
                judge_again(h, s, h->landed[s->judged_n]);
            }
            return s;
        }
    }
    return add(h, p);
}

/* ---- the best node ---- */

static bool is_among(uint32_t node, const uint32_t *some, size_t n)
{
    size_t i = 0;

    while (i < n && some[i] != node) {
        i++;
    }
    return i < n;
}

/* The top of the heap, after what no longer holds; those that are to be left out are put back. */
static bool best_of_heap(struct plan_head *h, struct plan_shape *s, const uint32_t *without, size_t without_n,
                         uint32_t *ret)
{
    struct pack_key left_out[PLAN_WITHOUT_MAX];
    size_t left_out_n = 0;
    bool found = false;

    while (!found && s->best.n > 0) {
        struct pack_key top = s->best.items[0];

        *ret = (uint32_t)top.at;
        h->work++;
        if (!may_have(h, s, *ret) || pack_merit_of(&s->results[*ret]) != top.merit) {
            key_heap_pop(&s->best);
        } else if (is_among(*ret, without, without_n)) {
            BUG_ON(left_out_n == PLAN_WITHOUT_MAX); /* two entries of one node differ in merit, so one was popped */
            left_out[left_out_n++] = top;
            key_heap_pop(&s->best);
        } else {
            found = true;
        }
    }
    while (left_out_n > 0) {
        key_heap_push(&s->best, left_out[--left_out_n]);
    }
    return found;
}

/* ---- several criteria ---- */

struct best {
    bool any;
    uint32_t node;
    pack_merit merit;
};

static void consider(struct best *b, uint32_t node, struct pack_result r, int64_t score)
{
    pack_merit merit;

    r.score = score;
    merit = pack_merit_of(&r);
    if (!b->any || merit < b->merit) {
        *b = (struct best){true, node, merit};
    }
}

/* plan_judge() wants to see all of a group that fits. */
static void best_of_step(struct plan_head *h, struct plan_shape *s, size_t step, const uint32_t *without,
                         size_t without_n, struct best *b)
{
    const uint32_t node_n = h->q->mirror->node_n;
    size_t n = 0;

    for (uint32_t node = 0; node < node_n; node++) {
        if (s->results[node].group == step && may_have(h, s, node)) {
            s->rows[n] = s->scores[node];
            s->rows[n++].at = node;
        }
    }
    h->work += node_n;
    plan_judge(s->plan.steps[step].plan, s->rows, n, s->spare);
    for (size_t i = 0; i < n; i++) {
        uint32_t node = s->rows[i].at;

        if (!is_among(node, without, without_n)) {
            consider(b, node, s->results[node], s->rows[i].combined);
        }
    }
}

bool plan_shape_best(struct plan_head *h, struct plan_shape *s, const uint32_t *without, size_t without_n,
                     uint32_t *ret)
{
    struct best b = {.any = false};

    if (s->scores == NULL) {
        return best_of_heap(h, s, without, without_n, ret);
    }
    for (size_t step = 0; step < s->plan.n && !b.any; step++) { /* an earlier group comes first, whatever the scores */
        best_of_step(h, s, step, without, without_n, &b);
    }
    *ret = b.node;
    return b.any;
}
