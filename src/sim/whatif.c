#include "sim/whatif_internal.h"

#include "base/bug.h"

#include <stdio.h>
#include <string.h>

#define ARENA_BYTES_MAX ((size_t)2 << 30)

/* ---- one side ---- */

static void side_fini(struct whatif_side *s)
{
    mirror_fini(&s->mirror);
    forecast_free(s->forecast);
    ledger_free(s->own);
}

void whatif_look_ahead(struct whatif_side *s, const struct strategy *for_strategy)
{
    while (!forecast_follow(s->forecast, ledger_cluster_view(s->ledger), for_strategy)) {
    }
}

static int bring_forecast_up(struct whatif_side *s, const struct demand_histogram *mix, struct arena *a,
                             struct err *reterr)
{
    int rc = pack_plans_init(&s->plans, s->policy, reterr);

    if (rc != 0) {
        return rc;
    }
    s->forecast = forecast_new();
    if (mix != NULL) {
        forecast_give_demand_histogram(s->forecast, mix);
    }
    whatif_look_ahead(s, strategy_find(STR("fgd"))); /* the typical pods, for F */
    while (!mirror_follow(&s->mirror, s->ledger)) {
        mirror_grow(&s->mirror);
    }
    return snapshot_take(s->ledger, a, STR_NULL, STR_NULL, &s->snapshot, reterr);
}

/* ---- sizes ---- */

static struct whatif_size *size_named(struct whatif *w, struct str name)
{
    for (size_t i = 0; i < w->size_n; i++) {
        if (str_eq_cstr(name, w->sizes[i].name)) {
            return &w->sizes[i];
        }
    }
    if (w->size_n == WHATIF_SIZES_MAX) {
        return NULL;
    }
    w->sizes[w->size_n] = (struct whatif_size){.before = -1, .after = -1};
    snprintf(w->sizes[w->size_n].name, sizeof(w->sizes[0].name), "%.*s", STR_ARG(name));
    return &w->sizes[w->size_n++];
}

static void count_size(struct whatif *w, const struct whatif_side *s, bool after, const char *key, struct str value,
                       struct str shown)
{
    struct whatif_size *size = size_named(w, shown);

    if (size != NULL) {
        *(after ? &size->after : &size->before) = (int64_t)capacity_count(&s->mirror, s->policy, key, value);
    }
}

static void count_sizes(struct whatif *w, const struct whatif_side *s, bool after)
{
    for (size_t i = 0; i < s->policy->size_n; i++) {
        count_size(w, s, after, "fgpu.io/size", s->policy->sizes[i].name, s->policy->sizes[i].name);
    }
    for (int k = 1; k <= 8; k *= 2) {
        char count[12], name[24];

        snprintf(count, sizeof(count), "%d", k);
        snprintf(name, sizeof(name), "%s GPU%s", count, k == 1 ? "" : "s");
        count_size(w, s, after, "fgpu.io/gpu-count", str_of(count), str_of(name));
    }
}

/* ---- all of it ---- */

static int make_ledgers(const struct whatif_question *q, struct whatif_side *sides, struct arena *a, struct err *reterr)
{
    int rc = 0;

    for (int i = 0; i < 2 && rc == 0; i++) {
        if (q->state != NULL) {
            rc = whatif_reread(q->state, sides[i].policy, a, &sides[i].own, reterr);
        }
        sides[i].ledger = q->state != NULL ? sides[i].own : q->ledgers[i];
    }
    return rc;
}

static int compare(const struct whatif_question *q, struct whatif_side *sides, struct whatif *w, struct err *reterr)
{
    int rc = make_ledgers(q, sides, &w->arena, reterr);

    for (int i = 0; i < 2 && rc == 0; i++) {
        rc = bring_forecast_up(&sides[i], q->mix, &w->arena, reterr);
    }
    if (rc != 0) {
        return rc;
    }
    whatif_compare_nodes(sides, w);
    whatif_compare_pods(sides, w);
    whatif_compare_tenants(sides, w);
    for (int i = 0; i < 2; i++) {
        capacity_totals_take(&sides[i].mirror, sides[i].forecast, &w->capacity_totals[i]);
        w->capacity_totals[i].empty_node = arena_str(&w->arena, w->capacity_totals[i].empty_node);
        count_sizes(w, &sides[i], i == AFTER);
    }
    rc = whatif_compare_pending(sides, w, reterr);
    return rc != 0 || !w->arena.overflowed ? rc : err_set(reterr, ERR_LIMIT, "the state does not fit its memory");
}

int whatif_run(const struct whatif_question *q, struct whatif *ret, struct err *reterr)
{
    struct whatif_side sides[2] = {{.policy = &q->before->policy}, {.policy = &q->after->policy}};
    int rc;

    BUG_ON((q->state == NULL) != (q->ledgers[BEFORE] != NULL && q->ledgers[AFTER] != NULL));
    memset(ret, 0, sizeof(*ret));
    arena_init(&ret->arena, ARENA_BYTES_MAX);
    config_diff(q->before, q->after, &ret->diff);
    whatif_forget_flags(&ret->diff, q->after);
    whatif_note_unjudged(q, ret);
    for (int i = 0; i < 2; i++) {
        mirror_init(&sides[i].mirror);
    }
    rc = compare(q, sides, ret, reterr);
    for (int i = 0; i < 2; i++) {
        side_fini(&sides[i]);
    }
    if (rc != 0) {
        whatif_fini(ret);
    }
    return rc;
}

void whatif_fini(struct whatif *w)
{
    config_diff_fini(&w->diff);
    arena_fini(&w->arena);
}

bool whatif_is_worse(const struct whatif *w)
{
    for (size_t i = 0; i < w->tenant_n; i++) {
        if (whatif_tenant_is_over(&w->tenants[i], AFTER) && !whatif_tenant_is_over(&w->tenants[i], BEFORE)) {
            return true;
        }
    }
    return w->gpu_n > 0;
}
