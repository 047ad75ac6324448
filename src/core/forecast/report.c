/* What is expected, in numbers that people understand. Reads the forecast and changes nothing: O(classes x shapes). */
#include "core/forecast/internal.h"

static const enum forecast_good goods[] = {
    [SCARCE_HOST] = FORECAST_HOSTS,
    [SCARCE_GANG] = FORECAST_PLACES,
    [SCARCE_SIZE] = FORECAST_SIZE,
};

static int32_t permille(double share)
{
    return (int32_t)(share * 1000 + 0.5);
}

static uint32_t supplier_n(const struct forecast *o, uint32_t class)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < o->shape_n; i++) {
        for (unsigned k = 0; k < o->shapes[i].class_n; k++) {
            n += o->shapes[i].classes[k] == class ? o->shapes[i].node_n : 0;
        }
    }
    return n;
}

static void report_scarce(const struct forecast *o, uint32_t class, struct forecast_scarce *ret)
{
    const struct scarcity *c = &o->classes[class];
    bool sized = c->kind != SCARCE_HOST;

    *ret = (struct forecast_scarce){
        .good = goods[c->kind],
        .plugin_managed = c->plugin_managed,
        .node_n = supplier_n(o, class),
        .count = c->count,
        .milli = sized ? c->milli : 0,
        .mem_mib = sized ? c->mem_mib : 0,
        .share_permille = permille(c->share),
        .supply_milli = o->supply[class],
        .price_permille = (int32_t)((int64_t)o->prices.price[class] * 1000 / FORECAST_MILLI),
    };
}

void forecast_report(const struct forecast *o, struct forecast_report *ret)
{
    ret->known = o->prices.version > 0;
    if (!ret->known) {
        return;
    }
    ret->scarce_cpu = o->prices.scarce_cpu;
    ret->churn = o->prices.churn;
    ret->prior_permille = permille(o->prior_share);
    /* Classes may have been made anew after the prices were: a follow that is not yet at its end. */
    ret->scarce_n = o->prices.basis == o->classes_gen ? o->prices.n : 0;
    for (uint32_t i = 0; i < ret->scarce_n; i++) {
        report_scarce(o, i, &ret->scarce[i]);
    }
}
