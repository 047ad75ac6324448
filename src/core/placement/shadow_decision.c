#include "core/placement/shadow_decision.h"

#include "base/bug.h"
#include "core/fit/slack.h"
#include "core/forecast/fragmentation.h"
#include "core/forecast/forecast.h"
#include "core/placement/pack.h"

/* ---- choosing ---- */

/* One group of nodes. */
struct group {
    const struct shadow_decision *t;
    struct pack_params params; /* of its first criterion */
    const struct pack_plan *plan;
    struct plan_scores *rows; /* of those that fit, .at: index into the mirror */
    struct pack_result *spare;
    size_t n;
};

static bool passes_tenant(const struct shadow_decision *t, uint32_t node, const struct placement *at)
{
    return t->tenant_residual != NULL &&
           !holding_fits(tenancy_wanted(t->demand, at, &t->mirror->nodes[node], mirror_devices(t->mirror, node)),
                         *t->tenant_residual);
}

/* All criteria judge one placement, because the device strategy alone makes it. */
static void judge(struct group *g, uint32_t node)
{
    const struct shadow_decision *t = g->t;
    struct plan_scores *row = &g->rows[g->n];
    struct pack_params params = g->params;
    struct placement at;

    *row = (struct plan_scores){.at = node};
    for (size_t c = 0; c < g->plan->criterion_n; c++) {
        params.node_strategy = g->plan->criteria[c];
        if (choice_make(&params, &t->mirror->nodes[node], mirror_devices(t->mirror, node), t->allowed_models, t->demand,
                        &at, &row->by[c]) != VERDICT_FITS) {
            return;
        }
    }
    g->n += !passes_tenant(t, node, &at);
}

static uint16_t slack_of(const struct shadow_decision *t, uint32_t node)
{
    return slack_matters(t->demand)
               ? slack_on(&t->mirror->nodes[node], mirror_devices(t->mirror, node), t->allowed_models, t->demand)
               : SLACK_NONE;
}

/* As core/placement/pack.h ranks. */
static bool comes_before(const struct shadow_decision *t, const struct plan_scores *a, const struct plan_scores *b)
{
    uint16_t slack_a = slack_of(t, a->at), slack_b = slack_of(t, b->at);

    if (slack_a != slack_b) {
        return slack_a < slack_b;
    }
    return a->combined > b->combined ||
           (a->combined == b->combined && str_cmp(t->mirror->names[a->at], t->mirror->names[b->at]) < 0);
}

static struct shadow_choice best_of(struct group *g)
{
    const struct shadow_decision *t = g->t;
    const struct plan_scores *best = &g->rows[0];
    struct shadow_choice c = {.fits = g->n > 0};
    enum verdict v;

    if (!c.fits) {
        return c;
    }
    plan_judge(g->plan, g->rows, g->n, g->spare);
    for (size_t i = 1; i < g->n; i++) {
        const struct plan_scores *row = &g->rows[i];

        if (comes_before(t, row, best)) {
            best = row;
        }
    }
    c.node = best->at;
    v = choice_make(&g->params, &t->mirror->nodes[c.node], mirror_devices(t->mirror, c.node), t->allowed_models,
                    t->demand, &c.at, NULL);
    BUG_ON(v != VERDICT_FITS); /* it was looked at */
    return c;
}

struct shadow_choice shadow_choose(const struct shadow_decision *t, const struct resolved_plan *resolved_plan,
                                   const struct forecast *o, struct arena *a)
{
    struct group g = {.t = t,
                      .rows = ARENA_ARRAY(a, t->node_n + 1, struct plan_scores),
                      .spare = ARENA_ARRAY(a, t->node_n + 1, struct pack_result)};
    struct shadow_choice c = {.fits = false};

    if (g.rows == NULL || g.spare == NULL) {
        return c;
    }
    for (size_t step = 0; step < resolved_plan->n && !c.fits;
         step++) { /* earlier groups come first, whatever the scores */
        g.plan = resolved_plan->steps[step].plan;
        g.params = g.plan->params;
        g.params.forecast = o;
        g.n = 0;
        for (size_t i = 0; i < t->node_n; i++) {
            if (resolved_plan_step(resolved_plan, t->mirror->rules[t->nodes[i]]) == step) {
                judge(&g, t->nodes[i]);
            }
        }
        c = best_of(&g);
    }
    return c;
}

/* ---- comparing ---- */

static void devices_after(const struct shadow_decision *t, const struct shadow_choice *c, struct device_state *ret)
{
    choice_take(&t->mirror->nodes[c->node], mirror_devices(t->mirror, c->node), t->demand, &c->at, ret);
}

static bool same_set(const struct device_state *a, const struct device_state *b, size_t n)
{
    bool used[DEVICES_PER_NODE_MAX] = {false};

    for (size_t i = 0; i < n; i++) {
        size_t j = 0;

        while (j < n && (used[j] || !device_equal(&a[i], &b[j]))) {
            j++;
        }
        if (j == n) {
            return false;
        }
        used[j] = true;
    }
    return true;
}

static double fragmentation_of(const struct shadow_decision *t, const struct forecast *o, uint32_t node,
                               const struct device_state *devices, bool with_pod)
{
    struct fragmentation_node f = fragmentation_node_of(&t->mirror->nodes[node], devices);

    if (with_pod) {
        f.plugin_managed_free -= t->demand->plugin_managed_n;
        f.host = host_after(f.host, t->demand->host);
    }
    return fragmentation_milli(&f, forecast_typical(o), forecast_typical_n(o));
}

/* What the pod adds to F. */
static double added(const struct shadow_decision *t, const struct forecast *o, const struct shadow_choice *c,
                    const struct device_state *after)
{
    return fragmentation_of(t, o, c->node, after, true) -
           fragmentation_of(t, o, c->node, mirror_devices(t->mirror, c->node), false);
}

struct shadow_difference shadow_compare(const struct shadow_decision *t, const struct forecast *o,
                                        const struct shadow_choice *a, const struct shadow_choice *b)
{
    struct device_state after_a[DEVICES_PER_NODE_MAX], after_b[DEVICES_PER_NODE_MAX];
    struct shadow_difference d = {.node = a->node != b->node};

    devices_after(t, a, after_a);
    devices_after(t, b, after_b);
    d.devices = !d.node && !same_set(after_a, after_b, t->mirror->nodes[a->node].device_n);
    if (d.node || d.devices) {
        d.frag_milli = added(t, o, b, after_b) - added(t, o, a, after_a);
    }
    return d;
}
