#include "core/support/cluster_model_demand.h"

#include <string.h>

#define GIB INT64_C(1024)

static const struct str names[] = {{"main", 4}, {"side", 4}, {"init", 4}};

static struct gpu_request random_gpu_request(struct cluster_model *w)
{
    struct gpu_request x = {.count = cluster_model_chance(w, 80) ? 1 : 2, .kind = GPU_REQUEST_MILLI, .phases = 1};
    unsigned kind = cluster_model_below(w, 10);

    if (kind < 4) {
        x.milli = (int32_t)(100 * (1 + cluster_model_below(w, 9)));
        x.kind = x.milli % 300 == 0 ? GPU_REQUEST_FRACTION : GPU_REQUEST_MILLI;
    } else if (kind < 6) {
        x.kind = GPU_REQUEST_BOTH;
        x.milli = (int32_t)(50 * cluster_model_below(w, 15));
        x.mem_mib = GIB * (1 + cluster_model_below(w, 40));
    } else if (kind < 8) {
        x.mem_mib = GIB * (1 + cluster_model_below(w, 30)) + cluster_model_below(w, 7);
        x.kind = x.mem_mib % 2 == 0 ? GPU_REQUEST_PORTION : GPU_REQUEST_MEMORY;
    } else {
        x.kind = GPU_REQUEST_WHOLE;
        x.milli = 1000;
    }
    return x;
}

static void name_gpu_request(struct gpu_request *x, unsigned name, uint64_t phases)
{
    x->container = names[name];
    x->init = name == 2;
    x->position = name == 2 ? 0 : (uint16_t)name;
    x->phases = phases;
}

struct host_request cluster_model_host(struct cluster_model *w)
{
    return (struct host_request){1000 * (int32_t)cluster_model_below(w, 8), 512 * (int32_t)cluster_model_below(w, 8)};
}

const struct demand *cluster_model_no_demand(struct cluster_model *w, struct host_request host)
{
    struct demand *d = ARENA_NEW(&w->arena, struct demand);

    *d = (struct demand){.dialect = "", .host = host};
    return d;
}

/* One container that wants whole devices and a part of one more (decision 0028). */
static bool spans(const struct demand *d)
{
    return d->gpu_request_n == 2 && d->gpu_requests[0].init == d->gpu_requests[1].init &&
           str_eq(d->gpu_requests[0].container, d->gpu_requests[1].container);
}

static void make_spanning(struct cluster_model *w, struct gpu_request *gpu_requests)
{
    uint64_t phases = cluster_model_chance(w, 70) ? 1 : 2;

    gpu_requests[0] =
        (struct gpu_request){.count = cluster_model_chance(w, 80) ? 1 : 2, .kind = GPU_REQUEST_WHOLE, .milli = 1000};
    gpu_requests[1] = (struct gpu_request){
        .count = 1, .kind = GPU_REQUEST_MILLI, .milli = (int32_t)(100 * (1 + cluster_model_below(w, 9)))};
    name_gpu_request(&gpu_requests[0], phases == 1 ? 0 : 2, phases);
    name_gpu_request(&gpu_requests[1], phases == 1 ? 0 : 2, phases);
}

const struct demand *cluster_model_demand(struct cluster_model *w, enum demand_source source)
{
    struct demand *d = ARENA_NEW(&w->arena, struct demand);
    struct gpu_request *gpu_requests = ARENA_ARRAY(&w->arena, 3, struct gpu_request);
    unsigned shape = cluster_model_below(w, 20);

    *d = (struct demand){
        .source = source, .dialect = "native", .host = cluster_model_host(w), .gpu_requests = gpu_requests};
    if (shape == 0) {
        d->defect = DEMAND_FRACTION;
        return d;
    }
    if (shape == 1 && source == DEMAND_FROM_RESOURCES) {
        d->plugin_managed_n = (int32_t)(1 + cluster_model_below(w, 2));
        return d;
    }
    if (shape == 2 && source == DEMAND_FROM_RESOURCES) {
        make_spanning(w, gpu_requests);
        d->gpu_request_n = 2;
        return d;
    }
    for (size_t i = 0; i < 3; i++) {
        gpu_requests[i] = random_gpu_request(w);
    }
    d->gpu_request_n = 1;
    name_gpu_request(&gpu_requests[0], 0, 1);
    if (shape >= 14) { /* two containers, of which the second may be an init container or a sidecar */
        static const uint64_t second[] = {1, 2, 3};
        unsigned how = cluster_model_below(w, 3);

        d->gpu_request_n = 2;
        name_gpu_request(&gpu_requests[1], how == 0 ? 1 : 2, second[how]);
    }
    if (shape >= 18) { /* an init container, and two app containers beside it */
        d->gpu_request_n = 3;
        name_gpu_request(&gpu_requests[1], 1, 1);
        name_gpu_request(&gpu_requests[2], 2, 2);
    }
    if (cluster_model_chance(w, 10)) {
        uint64_t *isolate = ARENA_NEW(&w->arena, uint64_t);

        *isolate = label_pair_hash(STR("app"), STR("loud"));
        d->isolate = isolate;
        d->isolate_n = 1;
    }
    return d;
}

const struct demand *cluster_model_demand_like(struct cluster_model *w, const struct demand *d)
{
    struct demand *copy = ARENA_NEW(&w->arena, struct demand);
    struct gpu_request *gpu_requests = ARENA_ARRAY(&w->arena, d->gpu_request_n, struct gpu_request);

    *copy = *d;
    copy->gpu_requests = gpu_requests;
    for (size_t i = 0; i < d->gpu_request_n; i++) {
        if (spans(d)) {
            gpu_requests[i] = d->gpu_requests[i];
            continue;
        }
        gpu_requests[i] = random_gpu_request(w);
        gpu_requests[i].container = d->gpu_requests[i].container;
        gpu_requests[i].init = d->gpu_requests[i].init;
        gpu_requests[i].position = d->gpu_requests[i].position;
        gpu_requests[i].phases = d->gpu_requests[i].phases;
        gpu_requests[i].count = d->gpu_requests[i].count;
    }
    return copy;
}

/* ---- records ---- */

static void random_devices(struct cluster_model *w, const struct cluster_model_node *n, size_t count,
                           struct assigned_device *ret)
{
    size_t left = count;

    for (size_t i = 0; i < n->inventory.device_n && left > 0; i++) {
        const struct device *d = &n->inventory.devices[i];

        if (cluster_model_below(w, (unsigned)(n->inventory.device_n - i)) < left) {
            *ret++ = (struct assigned_device){.uuid = d->uuid, .index = d->index};
            left--;
        }
    }
}

static const struct assignment *cluster_model_record_spanning(struct cluster_model *w,
                                                              const struct cluster_model_node *n,
                                                              const struct demand *d)
{
    struct assignment *as = ARENA_NEW(&w->arena, struct assignment);
    struct assigned_container *c = ARENA_NEW(&w->arena, struct assigned_container);
    size_t device_n = d->gpu_requests[0].count + 1U;
    struct assigned_device *devices = ARENA_ARRAY(&w->arena, device_n, struct assigned_device);
    size_t rest = cluster_model_below(w, (unsigned)device_n);

    if (device_n > n->inventory.device_n) {
        return NULL;
    }
    random_devices(w, n, device_n, devices);
    for (size_t i = 0; i < device_n; i++) {
        devices[i].milli = i == rest ? d->gpu_requests[1].milli : 1000;
    }
    *c = (struct assigned_container){.name = d->gpu_requests[0].container,
                                     .init = d->gpu_requests[0].init,
                                     .devices = devices,
                                     .device_n = device_n};
    *as = (struct assignment){
        .id = arena_printf(&w->arena, "other-%u", cluster_model_below(w, 1000000)), .containers = c, .container_n = 1};
    return as;
}

const struct assignment *cluster_model_record(struct cluster_model *w, const struct cluster_model_node *n,
                                              const struct demand *d)
{
    struct assignment *as = ARENA_NEW(&w->arena, struct assignment);
    struct assigned_container *containers = ARENA_ARRAY(&w->arena, d->gpu_request_n, struct assigned_container);

    if (spans(d)) {
        return cluster_model_record_spanning(w, n, d);
    }
    for (size_t i = 0; i < d->gpu_request_n; i++) {
        struct assigned_device *devices = ARENA_ARRAY(&w->arena, d->gpu_requests[i].count, struct assigned_device);

        if (d->gpu_requests[i].count > n->inventory.device_n) {
            return NULL;
        }
        random_devices(w, n, d->gpu_requests[i].count, devices);
        containers[i] = (struct assigned_container){.name = d->gpu_requests[i].container,
                                                    .init = d->gpu_requests[i].init,
                                                    .devices = devices,
                                                    .device_n = d->gpu_requests[i].count};
    }
    *as = (struct assignment){.id = arena_printf(&w->arena, "other-%u", cluster_model_below(w, 1000000)),
                              .containers = containers,
                              .container_n = d->gpu_request_n};
    return as;
}

const struct assignment *cluster_model_record_copy(struct cluster_model *w, const struct assignment *as)
{
    struct assignment *copy = ARENA_NEW(&w->arena, struct assignment);
    struct assigned_container *containers = ARENA_ARRAY(&w->arena, as->container_n, struct assigned_container);

    *copy = (struct assignment){arena_str(&w->arena, as->id), containers, as->container_n};
    for (size_t i = 0; i < as->container_n; i++) {
        const struct assigned_container *c = &as->containers[i];
        struct assigned_device *devices = ARENA_ARRAY(&w->arena, c->device_n, struct assigned_device);

        containers[i] = *c;
        containers[i].name = arena_str(&w->arena, c->name);
        containers[i].devices = devices;
        for (size_t j = 0; j < c->device_n; j++) {
            devices[j] = c->devices[j];
            devices[j].uuid = arena_str(&w->arena, c->devices[j].uuid);
        }
    }
    return copy;
}

bool cluster_model_same_device(const struct assigned_device *a, const struct device *d)
{
    return a->uuid.n > 0 && d->uuid.n > 0 ? str_eq(a->uuid, d->uuid) : a->index == d->index;
}

/* ---- the oracle ---- */

int32_t cluster_model_capacity_milli(const struct device *d, struct cluster_model_factors f)
{
    return d->part_milli > 0 ? d->part_milli : f.milli;
}

/* Design.md section 5, one row of the table per kind. */
static struct charge amounts(const struct gpu_request *x, const struct device *d, struct cluster_model_factors f,
                             enum memory_only_mode memory_only)
{
    /* A part has nothing that would be a whole GPU: that would be all of the GPU that it is a part of. */
    int32_t milli_cap = d->part_milli > 0 ? 1000 : f.milli;
    int64_t mem_cap_mib = d->part_milli > 0 ? d->mem_mib : d->mem_mib * f.mem_milli / 1000;

    switch (x->kind) {
    case GPU_REQUEST_MILLI:
        return (struct charge){x->milli, 1, d->mem_mib * x->milli / 1000, false};
    case GPU_REQUEST_MEMORY: {
        int64_t milli = d->mem_mib == 0 ? 1000 : 1000 * x->mem_mib / d->mem_mib;

        milli = milli < 1 ? 1 : milli > 1000 ? 1000 : milli;
        milli = memory_only == MEMORY_ONLY_FREE ? 0 : milli;
        return (struct charge){(int32_t)milli, 1, x->mem_mib, false};
    }
    case GPU_REQUEST_FRACTION: {
        int64_t mem = d->mem_mib / 100 * 100 * x->milli / 1000;

        return (struct charge){memory_only == MEMORY_ONLY_FREE && mem > 0 ? 0 : x->milli, 1, mem, false};
    }
    case GPU_REQUEST_PORTION: {
        int64_t seen = d->mem_mib / 100 * 100;
        int32_t milli = 10;

        while (milli < 1000 && seen * milli < 1000 * x->mem_mib) {
            milli += 10;
        }
        return (struct charge){memory_only == MEMORY_ONLY_FREE ? 0 : milli, 1, x->mem_mib, false};
    }
    case GPU_REQUEST_WHOLE:
        return (struct charge){milli_cap, 1, mem_cap_mib, true};
    case GPU_REQUEST_BOTH:
    case GPU_REQUEST_KIND__MAX:
        break;
    }
    return (struct charge){x->milli, 1, x->mem_mib, false};
}

static const struct assigned_container *container_of(const struct assignment *as, const struct gpu_request *x)
{
    for (size_t i = 0; i < as->container_n; i++) {
        if (as->containers[i].init == x->init && str_eq(as->containers[i].name, x->container)) {
            return &as->containers[i];
        }
    }
    return NULL;
}

/* How many devices of the node the record names for this GPU request; *ret_here: device `i` is among them. */
static size_t devices_named(const struct assigned_container *c, const struct cluster_model_node *n, size_t i,
                            bool *ret_here)
{
    size_t named = 0;

    *ret_here = false;
    for (size_t k = 0; k < n->inventory.device_n; k++) {
        for (size_t j = 0; j < c->device_n; j++) {
            if (cluster_model_same_device(&c->devices[j], &n->inventory.devices[k])) {
                named++;
                *ret_here = *ret_here || k == i;
                break;
            }
        }
    }
    return named;
}

/* The device with less than a GPU's compute is that of the rest. */
static bool spanning_here(const struct cluster_model_pod *p, const struct cluster_model_node *n, size_t i,
                          uint64_t *ret)
{
    const struct demand *d = p->demand;
    const struct assigned_container *c = container_of(p->record, &d->gpu_requests[0]);
    size_t rest_n = 0;
    bool here;

    *ret = 0;
    if (c == NULL || p->record->container_n != 1 || c->device_n != d->gpu_requests[0].count + 1U ||
        devices_named(c, n, i, &here) != c->device_n) {
        return false;
    }
    for (size_t k = 0; k < c->device_n; k++) {
        rest_n += c->devices[k].milli < 1000;
        if (cluster_model_same_device(&c->devices[k], &n->inventory.devices[i])) {
            *ret = c->devices[k].milli < 1000 ? 2 : 1;
        }
    }
    return rest_n == 1;
}

/* Which GPU requests are on device `i`, a bit each; false when the record does not say it of all. */
static bool gpu_requests_here(const struct cluster_model_pod *p, const struct cluster_model_node *n, size_t i,
                              uint64_t *ret)
{
    const struct demand *d = p->demand;

    if (p->record == NULL || d->defect != DEMAND_OK) {
        return false;
    }
    if (spans(d)) {
        return spanning_here(p, n, i, ret);
    }
    if (p->record->container_n != d->gpu_request_n) {
        return false;
    }
    *ret = 0;
    for (size_t x = 0; x < d->gpu_request_n; x++) {
        const struct assigned_container *c = container_of(p->record, &d->gpu_requests[x]);
        bool here;

        if (c == NULL || c->device_n != d->gpu_requests[x].count || devices_named(c, n, i, &here) != c->device_n) {
            return false;
        }
        *ret |= (uint64_t)here << x;
    }
    return true;
}

struct charge cluster_model_charge(const struct cluster_model_pod *p, const struct cluster_model_node *n, size_t i,
                                   struct cluster_model_factors f)
{
    const struct device *device = &n->inventory.devices[i];
    struct charge whole = {f.milli, 1, device->mem_mib * f.mem_milli / 1000, true};
    struct charge part = {device->part_milli, 1, device->mem_mib * device->part_milli / 1000, true};
    struct charge peak = {0};
    uint64_t here = UINT64_MAX;
    bool known = gpu_requests_here(p, n, i, &here);

    whole = device->part_milli > 0 ? part : whole;
    if (p->demand->defect != DEMAND_OK) {
        return whole;
    }
    for (unsigned phase = 0; phase < 3; phase++) {
        struct charge sum = {0};

        for (size_t x = 0; x < p->demand->gpu_request_n; x++) {
            const struct gpu_request *gpu_request = &p->demand->gpu_requests[x];
            struct charge c = amounts(gpu_request, device, f, n->inventory.memory_only);

            if ((here >> x & 1) != 0 && (gpu_request->phases >> phase & 1) != 0) {
                sum.milli += c.milli;
                sum.slots += c.slots;
                sum.mem_mib += c.mem_mib;
                sum.exclusive = sum.exclusive || c.exclusive;
            }
        }
        peak.milli = sum.milli > peak.milli ? sum.milli : peak.milli;
        peak.slots = sum.slots > peak.slots ? sum.slots : peak.slots;
        peak.mem_mib = sum.mem_mib > peak.mem_mib ? sum.mem_mib : peak.mem_mib;
        peak.exclusive = peak.exclusive || sum.exclusive;
    }
    if (!known && peak.exclusive) {
        whole.slots = peak.slots;
        return whole;
    }
    return peak;
}
