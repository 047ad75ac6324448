#include "core/report/capacity_totals.h"

#include "base/bug.h"
#include "core/dialects/dialect.h"
#include "core/forecast/fragmentation.h"
#include "core/report/capacity.h"

static void look_for_holes(const struct mirror *m, uint32_t node, struct capacity_totals *ret)
{
    struct capacity_hole h = capacity_hole(&m->nodes[node], mirror_devices(m, node));

    if (h.milli > ret->largest_milli || (h.milli == ret->largest_milli && h.mem_mib > ret->largest_mem_mib)) {
        ret->largest_milli = h.milli;
        ret->largest_mem_mib = h.mem_mib;
    }
    if (h.empty_n > ret->empty_gpu_n ||
        (h.empty_n > 0 && h.empty_n == ret->empty_gpu_n && str_cmp(m->names[node], ret->empty_node) < 0)) {
        ret->empty_gpu_n = h.empty_n;
        ret->empty_node = m->names[node];
    }
}

void capacity_totals_take(const struct mirror *m, const struct forecast *o, struct capacity_totals *ret)
{
    double sum = 0;

    *ret = (struct capacity_totals){.typical_n = forecast_typical_n(o)};
    for (uint32_t i = 0; i < m->node_n; i++) {
        const struct node_state *n = &m->nodes[i];
        const struct fragmentation_node f = {.devices = mirror_devices(m, i),
                                             .device_n = n->device_n,
                                             .plugin_managed_cap = n->plugin_managed_cap,
                                             .plugin_managed_free = n->plugin_managed_cap - n->plugin_managed_used,
                                             .plugin_managed_per_gpu = n->plugin_managed_per_gpu,
                                             .host = n->host};

        if (m->open[i]) {
            ret->node_n++;
            look_for_holes(m, i, ret);
            ret->idle_milli += fragmentation_idle_milli(&f);
            sum += fragmentation_milli(&f, forecast_typical(o), ret->typical_n);
        }
    }
    ret->fragmented_milli = (int64_t)(sum + 0.5);
}

uint64_t capacity_count(const struct mirror *m, const struct policy *p, const char *key, struct str value)
{
    const struct kv annotation = {str_of(key), value};
    const struct container container = {.name = STR("main")};
    const struct pod pod = {.annotations = {&annotation, 1}, .containers = &container, .container_n = 1};
    struct arena a;
    struct demand d;
    uint64_t n = 0;

    arena_init(&a, 64 << 10);
    BUG_ON(!dialect_demand(p, &pod, &a, &d));
    for (uint32_t i = 0; d.defect == DEMAND_OK && i < m->node_n; i++) {
        n += m->open[i] ? capacity_node(&m->nodes[i], mirror_devices(m, i), &d) : 0;
    }
    arena_fini(&a);
    return n;
}
