#include "core/report/demand_histogram.h"

#include "base/order.h"

#include <string.h>

/* The order must not depend on the order in which pods came: replicas and restarts show the same. */
static int compare(const struct demand_histogram_shape *a, const struct demand_histogram_shape *b)
{
    const uint64_t keys[][2] = {
        {b->weight, a->weight},
        {b->count, a->count},
        {(uint64_t)b->milli, (uint64_t)a->milli},
        {(uint64_t)b->mem_mib, (uint64_t)a->mem_mib},
        {(uint64_t)b->host.cpu_milli, (uint64_t)a->host.cpu_milli},
        {(uint64_t)b->host.mem_mib, (uint64_t)a->host.mem_mib},
        {b->plugin_managed, a->plugin_managed},
        {b->kind, a->kind},
        {b->model_n, a->model_n},
    };
    int c = 0;

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (keys[i][0] != keys[i][1]) {
            return ORDER(keys[i][0], keys[i][1]);
        }
    }
    for (size_t i = 0; i < a->model_n && c == 0; i++) {
        c = str_cmp(a->models[i].text, b->models[i].text);
        c = c != 0 ? c : b->models[i].exclude - a->models[i].exclude;
    }
    return c;
}

static void write_models(const struct demand_histogram_shape *s, struct demand_histogram_report_shape *ret)
{
    size_t n = 0;

    for (size_t i = 0; i < s->model_n && !ret->models_cut; i++) {
        const struct device_pattern *p = &s->models[i];

        if (n + (i > 0) + p->exclude + p->text.n >= sizeof(ret->models)) {
            ret->models_cut = true;
            break;
        }
        if (i > 0) {
            ret->models[n++] = ',';
        }
        if (p->exclude) {
            ret->models[n++] = '!';
        }
        if (p->text.n > 0) {
            memcpy(ret->models + n, p->text.p, p->text.n);
            n += p->text.n;
        }
    }
    ret->models[n] = '\0';
}

static void copy(const struct demand_histogram_shape *s, struct demand_histogram_report_shape *ret)
{
    *ret = (struct demand_histogram_report_shape){.host = s->host,
                                                  .count = s->count,
                                                  .plugin_managed = s->plugin_managed,
                                                  .kind = s->kind,
                                                  .milli = s->milli,
                                                  .mem_mib = s->mem_mib,
                                                  .weight = s->weight};
    write_models(s, ret);
}

/* Keeps the first DEMAND_HISTOGRAM_REPORT_SHAPES_MAX of all that are inserted, in order. */
static size_t insert(const struct demand_histogram_shape **top, size_t n, const struct demand_histogram_shape *s)
{
    size_t at = n;

    while (at > 0 && compare(s, top[at - 1]) < 0) {
        at--;
    }
    if (at == DEMAND_HISTOGRAM_REPORT_SHAPES_MAX) {
        return n;
    }
    n += n < DEMAND_HISTOGRAM_REPORT_SHAPES_MAX;
    memmove(&top[at + 1], &top[at], (n - 1 - at) * sizeof(*top));
    top[at] = s;
    return n;
}

void demand_histogram_report_take(const struct demand_histogram *m, struct demand_histogram_report *ret)
{
    const struct demand_histogram_shape *top[DEMAND_HISTOGRAM_REPORT_SHAPES_MAX] = {NULL};

    ret->arrived_n = demand_histogram_arrived_n(m);
    ret->departed_n = demand_histogram_departed_n(m);
    ret->churn = demand_histogram_churn(m);
    ret->weight = 0;
    ret->shape_n = ret->top_n = 0;
    for (size_t i = 0; i < demand_histogram_shape_n(m); i++) {
        const struct demand_histogram_shape *s = demand_histogram_shape(m, i);

        if (s->weight > 0) {
            ret->weight += s->weight;
            ret->shape_n++;
            ret->top_n = insert(top, ret->top_n, s);
        }
    }
    for (size_t i = 0; i < ret->top_n; i++) {
        copy(top[i], &ret->top[i]);
    }
}
