/* How much of each scarce good a room supplies (packing.md 5.1: scarcity classes). */
#include "base/bug.h"
#include "core/outlook_internal.h"

/* The devices of a room in columns, compared four at a time. */
enum { LANES = 4 };
typedef int32_t lanes __attribute__((vector_size(LANES * sizeof(int32_t))));

_Static_assert(DEVICES_PER_NODE_MAX % LANES == 0, "whole vectors");

struct columns {
    unsigned n; /* vectors; what is behind the devices has less than any class asks for */
    lanes milli[DEVICES_PER_NODE_MAX / LANES];
    lanes mem_mib[DEVICES_PER_NODE_MAX / LANES]; /* what is unknown is more than any class asks for */
};

static void columns_of(const struct room *r, struct columns *ret)
{
    unsigned i = 0;

    ret->n = (r->device_n + LANES - 1U) / LANES;
    for (; i < r->device_n; i++) {
        ret->milli[i / LANES][i % LANES] = r->devices[i].milli;
        ret->mem_mib[i / LANES][i % LANES] = r->devices[i].mem_mib;
    }
    for (; i % LANES != 0; i++) {
        ret->milli[i / LANES][i % LANES] = ret->mem_mib[i / LANES][i % LANES] = INT32_MIN;
    }
}

static int32_t devices_with(const struct columns *v, int32_t milli, int32_t mem_mib)
{
    lanes n = {0};

    for (unsigned i = 0; i < v->n; i++) {
        n -= (v->milli[i] >= milli) & (v->mem_mib[i] >= mem_mib); /* -1 where it holds */
    }
    return n[0] + n[1] + n[2] + n[3];
}

static int32_t idle(const struct room *r)
{
    int32_t sum = 0;

    for (unsigned i = 0; i < r->device_n; i++) {
        /* Compute of a device without memory left is nobody's. */
        sum += r->devices[i].mem_mib > 0 ? r->devices[i].milli : 0;
    }
    return sum;
}

/* The least of n and of how often `have` is enough for `each`; most often that is n, which takes no
 * division. */
static int32_t times(int32_t n, int32_t have, int32_t each)
{
    return have == INT32_MAX || each <= 0 || (int64_t)n * each <= have ? n : have / each;
}

static int32_t places(const struct room *r, const struct columns *v, const struct scarcity *c)
{
    int32_t n = devices_with(v, c->milli, c->mem_mib);

    n = n < c->count ? 0 : n / c->count;
    return times(times(n, r->cpu_milli, c->cpu_milli), r->mem_mib, c->host_mem_mib);
}

static int32_t of_size(const struct room *r, const struct columns *v, const struct scarcity *c)
{
    int32_t n = c->mean_milli * devices_with(v, c->milli, c->mem_mib);
    int64_t by_cpu;

    if (r->cpu_milli == INT32_MAX || c->cpu_milli <= 0) {
        return n;
    }
    by_cpu = (int64_t)c->mean_milli * r->cpu_milli;
    return by_cpu < (int64_t)n * c->cpu_milli ? (int32_t)(by_cpu / c->cpu_milli) : n;
}

static int32_t supply_of(const struct room *r, const struct columns *v, const struct scarcity *c,
                         int32_t idle_milli)
{
    if (c->kind == SCARCE_SIZE ? (r->kinds & ROOM_SHARES) == 0
                               : (r->kinds & (c->unsteered ? ROOM_PLUGIN : ROOM_SHARES)) == 0) {
        return 0;
    }
    switch (c->kind) {
    case SCARCE_HOST:
        return idle_milli;
    case SCARCE_GANG:
        return c->count * c->milli * places(r, v, c);
    case SCARCE_SIZE:
        return of_size(r, v, c);
    }
    BUG("no such kind of scarcity");
}

void outlook_supply(const struct outlook *o, const struct room *r, int32_t *ret)
{
    const struct node_shape *s = &o->shapes[r->shape];
    int32_t idle_milli = idle(r);
    struct columns v;

    columns_of(r, &v);
    for (unsigned i = 0; i < s->class_n; i++) {
        ret[i] = supply_of(r, &v, &o->classes[s->classes[i]], idle_milli);
    }
}
