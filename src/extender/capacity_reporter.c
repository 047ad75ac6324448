#include "extender/capacity_reporter.h"

#include "base/bug.h"
#include "base/sync.h"
#include "core/forecast/forecast.h"
#include "core/ledger/mirror.h"
#include "core/report/capacity_totals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct capacity_reporter {
    struct store *store;
    struct policy_set *policies;
    const struct clock *clock;
    struct mutex lock; /* all below; taken before the store's */
    struct mirror mirror;
    struct forecast *forecast;
    uint64_t rules_generation; /* that the report was made by */
    int64_t made_ns;
    struct capacity_report report;
};

struct capacity_reporter *capacity_reporter_new(struct store *store, struct policy_set *policies,
                                                const struct clock *clock)
{
    struct capacity_reporter *v = xcalloc(1, sizeof(*v));

    v->store = store;
    v->policies = policies;
    v->clock = clock;
    mutex_init(&v->lock, "capacity reporter");
    mirror_init(&v->mirror);
    v->forecast = forecast_new();
    return v;
}

void capacity_reporter_free(struct capacity_reporter *v)
{
    if (v != NULL) {
        mirror_fini(&v->mirror);
        forecast_free(v->forecast);
        mutex_destroy(&v->lock);
        free(v);
    }
}

/* ---- the numbers ---- */

static void count_sizes(const struct mirror *m, const struct policy *p, struct capacity_report *ret)
{
    for (size_t i = 0; i < p->size_n && i < CAPACITY_SIZES_MAX; i++) {
        struct capacity_size *s = &ret->sizes[ret->size_n++];

        snprintf(s->name, sizeof(s->name), "%.*s", STR_ARG(p->sizes[i].name));
        s->more_n = capacity_count(m, p, "fgpu.io/size", p->sizes[i].name);
    }
    for (int i = 0; i < CAPACITY_WHOLE_N; i++) {
        struct capacity_size *s = &ret->sizes[ret->size_n++];
        char count[8];

        s->whole_gpu_n = 1 << i;
        snprintf(count, sizeof(count), "%d", (int)s->whole_gpu_n);
        snprintf(s->name, sizeof(s->name), "%s GPU%s", count, i == 0 ? "" : "s");
        s->more_n = capacity_count(m, p, "fgpu.io/gpu-count", str_of(count));
    }
}

/* ---- when ---- */

static bool is_fresh(const struct capacity_reporter *v, const struct rules *rules)
{
    bool same = store_generation(v->store) == v->report.generation && rules->generation == v->rules_generation;

    return v->report.known && (same || clock_mono_ns(v->clock) - v->made_ns < CAPACITY_INTERVAL_MS * NS_PER_MS);
}

static void make(struct capacity_reporter *v, const struct rules *rules)
{
    struct capacity_report report = {.known = true, .at_ms = clock_wall_ms(v->clock)};
    struct capacity_totals found;

    store_mirror(v->store, &v->mirror);
    store_forecast(v->store, v->forecast, strategy_find(STR("fgd"))); /* its typical pods */
    capacity_totals_take(&v->mirror, v->forecast, &found);
    report.generation = v->mirror.generation;
    report.node_n = found.node_n;
    report.idle_milli = found.idle_milli;
    report.fragmented_milli = found.fragmented_milli;
    report.typical_n = found.typical_n;
    report.largest_milli = found.largest_milli;
    report.largest_mem_mib = found.largest_mem_mib;
    report.empty_gpu_n = found.empty_gpu_n;
    snprintf(report.empty_node, sizeof(report.empty_node), "%.*s", STR_ARG(found.empty_node));
    count_sizes(&v->mirror, rules->placement.policy, &report);
    v->report = report;
    v->rules_generation = rules->generation;
    v->made_ns = clock_mono_ns(v->clock);
}

void capacity_reporter_read(struct capacity_reporter *v, struct capacity_report *ret)
{
    const struct rules *rules;

    mutex_lock(&v->lock);
    rules = policy_set_take(v->policies);
    if (store_is_synced(v->store) && !is_fresh(v, rules)) {
        make(v, rules);
    }
    rules_put(rules);
    *ret = v->report;
    mutex_unlock(&v->lock);
}
