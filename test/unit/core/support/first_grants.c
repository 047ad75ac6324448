#include "core/support/first_grants.h"

#include "base/bug.h"

#include <stdio.h>
#include <string.h>

void first_grants_init(struct first_grants *g, int32_t factor_milli, int32_t factor_mem_milli)
{
    memset(g, 0, sizeof(*g));
    g->factor_milli = factor_milli;
    g->factor_mem_milli = factor_mem_milli;
}

static size_t device_of(struct first_grants *g, struct str node, struct str uuid)
{
    for (size_t i = 0; i < g->device_n; i++) {
        if (str_eq_cstr(node, g->devices[i].node) && str_eq_cstr(uuid, g->devices[i].uuid)) {
            return i;
        }
    }
    BUG_ON(g->device_n == FIRST_GRANTS_DEVICES_MAX || node.n >= sizeof(g->devices[0].node) ||
           uuid.n >= sizeof(g->devices[0].uuid));
    snprintf(g->devices[g->device_n].node, sizeof(g->devices[0].node), "%.*s", STR_ARG(node));
    snprintf(g->devices[g->device_n].uuid, sizeof(g->devices[0].uuid), "%.*s", STR_ARG(uuid));
    return g->device_n++;
}

void first_grants_describe(struct first_grants *g, struct str node, const struct inventory *inv)
{
    for (size_t i = 0; i < inv->device_n; i++) {
        const struct device *d = &inv->devices[i];
        size_t k;

        if (d->uuid.n > 0) {
            k = device_of(g, node, d->uuid);
            g->devices[k].milli = d->part_milli > 0 ? d->part_milli : 1000 * g->factor_milli / 1000;
            g->devices[k].mem_mib = d->mem_mib * (d->part_milli > 0 ? d->part_milli : g->factor_mem_milli) / 1000;
            g->devices[k].slots = d->slot_n;
            g->devices[k].memory_only = inv->memory_only;
        }
    }
}

/* A container may want whole devices and a part of one more: then nobody says here which is which. */
static bool wants_alone(const struct demand *d, const struct assigned_container *c)
{
    bool alone = true;

    for (size_t w = 0; w < d->gpu_request_n; w++) {
        alone = alone && (!str_eq(d->gpu_requests[w].container, c->name) || d->gpu_requests[w].init != c->init ||
                          d->gpu_requests[w].kind == GPU_REQUEST_WHOLE);
    }
    return alone;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* What the pod takes of one device at the same time, at least. */
static void add_grant(struct first_grants *g, unsigned pod, size_t device, const struct demand *d,
                      const struct assignment *as)
{
    int64_t milli = 0, mem_mib = 0, slots = 0, init_milli = 0, init_mem_mib = 0;
    bool alone = false, held = false;

    for (size_t i = 0; i < as->container_n; i++) {
        const struct assigned_container *c = &as->containers[i];

        for (size_t k = 0; k < c->device_n; k++) {
            if (!str_eq_cstr(c->devices[k].uuid, g->devices[device].uuid)) {
                continue;
            }
            held = true;
            alone = alone || wants_alone(d, c);
            if (c->init) {
                init_milli = larger(init_milli, c->devices[k].milli);
                init_mem_mib = larger(init_mem_mib, c->devices[k].mem_mib);
            } else {
                milli += c->devices[k].milli;
                mem_mib += c->devices[k].mem_mib;
                slots++;
            }
        }
    }
    if (held) {
        BUG_ON(g->grant_n == FIRST_GRANTS_MAX);
        g->grants[g->grant_n].pod = pod;
        g->grants[g->grant_n].device = device;
        g->grants[g->grant_n].milli = larger(milli, init_milli);
        g->grants[g->grant_n].mem_mib = larger(mem_mib, init_mem_mib);
        g->grants[g->grant_n].of_milli = g->devices[device].milli;
        g->grants[g->grant_n].of_mem_mib = g->devices[device].mem_mib;
        g->grants[g->grant_n].of_memory_only = g->devices[device].memory_only;
        g->grants[g->grant_n].slots = larger(slots, 1);
        g->grants[g->grant_n++].alone = alone;
    }
}

static const char *wrong_with(const struct first_grants *g, size_t device)
{
    int64_t milli = 0, mem_mib = 0, slots = 0;
    size_t holder_n = 0;
    bool alone = false;

    for (size_t i = 0; i < g->grant_n; i++) {
        if (g->grants[i].device == device) {
            /* a part of a device is more or less of it once the device is described with another size, or rule */
            bool same = g->grants[i].of_milli == g->devices[device].milli &&
                        g->grants[i].of_mem_mib == g->devices[device].mem_mib &&
                        g->grants[i].of_memory_only == g->devices[device].memory_only;

            milli += same ? g->grants[i].milli : 0;
            mem_mib += same ? g->grants[i].mem_mib : 0;
            slots += g->grants[i].slots;
            alone = alone || g->grants[i].alone;
            holder_n++;
        }
    }
    if (alone && holder_n > 1) {
        return "a device that one pod was granted alone was granted to another, too";
    }
    return milli > g->devices[device].milli       ? "more compute of a device was granted than it has"
           : mem_mib > g->devices[device].mem_mib ? "more memory of a device was granted than it has"
           : slots > g->devices[device].slots     ? "a device was granted to more sharers than it has"
                                                  : NULL;
}

const char *first_grants_give(struct first_grants *g, unsigned pod, struct str node, const struct demand *d,
                              const struct assignment *as)
{
    const char *wrong = NULL;

    first_grants_end(g, pod);
    for (size_t i = 0; i < g->device_n; i++) {
        size_t before = g->grant_n;

        if (!str_eq_cstr(node, g->devices[i].node)) {
            continue;
        }
        add_grant(g, pod, i, d, as);
        if (g->grant_n > before && wrong == NULL) {
            wrong = wrong_with(g, i);
        }
    }
    return wrong;
}

void first_grants_end(struct first_grants *g, unsigned pod)
{
    size_t kept = 0;

    for (size_t i = 0; i < g->grant_n; i++) {
        if (g->grants[i].pod != pod) {
            g->grants[kept++] = g->grants[i];
        }
    }
    g->grant_n = kept;
}
