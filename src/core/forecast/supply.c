/* How much of each scarce good a residual supplies, in milli (packing.md 5.1: scarcity classes).
 *
 * The supply is bounded by what runs out first: devices, cores or memory. It is a function of the residual and of the
 * class alone, so it is remembered with the value of the residual, and the supply of the cluster is a sum over its
 * nodes. O(classes of the shape x devices).
 */
#include "base/bug.h"
#include "core/forecast/internal.h"

/* Memory that is unknown is more than any class asks for. */
static int32_t devices_with(const struct residual *r, int32_t milli, int32_t mem_mib)
{
    int32_t n = 0;

    for (unsigned i = 0; i < r->device_n; i++) {
        n += (r->devices[i].milli >= milli) & (r->devices[i].mem_mib >= mem_mib);
    }
    return n;
}

/* How many pods of the class would fit at once, if all were as the class says. An estimate, not a packing: a
 * device serves one pod, and devices, cores and memory are asked one after the other. */
static int32_t places(const struct residual *r, const struct scarcity *c)
{
    int32_t n = devices_with(r, c->milli, c->mem_mib);

    n = n < c->count ? 0 : n / c->count;
    return residual_times(residual_times(n, r->cpu_milli, c->cpu_milli), r->mem_mib, c->host_mem_mib);
}

/* Devices with enough free, each counted with the mean of the pods that need the size; no more than cores are
 * there for. */
static int32_t of_size(const struct residual *r, const struct scarcity *c)
{
    int32_t n = c->mean_milli * devices_with(r, c->milli, c->mem_mib);
    int64_t by_cpu;

    if (r->cpu_milli == INT32_MAX || c->cpu_milli <= 0) {
        return n;
    }
    by_cpu = (int64_t)c->mean_milli * r->cpu_milli;
    return by_cpu < (int64_t)n * c->cpu_milli ? (int32_t)(by_cpu / c->cpu_milli) : n;
}

static int32_t supply_of(const struct residual *r, const struct scarcity *c, int32_t idle_milli)
{
    if (c->kind == SCARCE_SIZE ? (r->kinds & RESIDUAL_SHARES) == 0
                               : (r->kinds & (c->plugin_managed ? RESIDUAL_PLUGIN : RESIDUAL_SHARES)) == 0) {
        return 0;
    }
    switch (c->kind) {
    case SCARCE_HOST:
        return idle_milli;
    case SCARCE_GANG:
        return c->count * c->mean_milli * places(r, c);
    case SCARCE_SIZE:
        return of_size(r, c);
    }
    BUG("no such kind of scarcity");
}

void forecast_supply(const struct forecast *o, const struct residual *r, int32_t idle_milli, int32_t *ret)
{
    const struct node_shape *s = &o->shapes[r->shape];

    for (unsigned i = 0; i < s->class_n; i++) {
        ret[i] = supply_of(r, &o->classes[s->classes[i]], idle_milli);
    }
}

void forecast_supplies_list(struct forecast *o)
{
    o->supply_n = 0;
    for (uint32_t i = 0; i < o->shape_n; i++) {
        struct node_shape *s = &o->shapes[i];

        s->class_n = 0;
        s->class_set = 0;
        for (uint32_t k = 0; k < o->class_n; k++) {
            const struct scarcity *c = &o->classes[k];

            if (c->kind == SCARCE_SIZE ? s->device_n > 0 : shape_set_has(&c->hosts, i)) {
                s->classes[s->class_n++] = (uint8_t)k;
                s->class_set |= UINT64_C(1) << k;
            }
        }
        o->supply_n = s->class_n > o->supply_n ? s->class_n : o->supply_n;
    }
}
