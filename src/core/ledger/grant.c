/* Signed records: what they say becomes demand, devices and amounts of their pod. */
#include "base/bug.h"
#include "core/ledger/pod_table.h"
#include "core/ledger/records.h"
#include "core/ledger/state.h"

#include <stdlib.h>

bool ledger_fact_grants(const struct ledger_pod_fact *f)
{
    bool names = f->record_trust != RECORD_UNSIGNED && f->assignment != NULL && f->assignment->container_n > 0;

    for (size_t i = 0; names && i < f->assignment->container_n; i++) {
        names = f->assignment->containers[i].device_n > 0; /* fgpu writes no container without */
    }
    return names;
}

static struct charge granted_charge(const struct assigned_device *dev)
{
    return (struct charge){.milli = dev->milli,
                           .slots = 1,
                           .mem_mib = dev->mem_mib,
                           .exclusive = dev->exclusive || dev->profile != 0,
                           .profile = dev->profile};
}

/* Does the request still say as many devices of such a kind, container by container? */
static bool grants_as_asked(const struct demand *d, const struct assignment *as)
{
    struct record_reader reader = {.demand = d, .assignment = as};
    const struct assigned_device *dev;
    bool same = d->defect == DEMAND_OK && ledger_matches_record(d, as);

    while (same && (dev = ledger_record_next(&reader)) != NULL) {
        const struct gpu_request *w = &d->gpu_requests[reader.w];

        same = dev->profile == w->profile || (w->profile == 0 && w->kind != GPU_REQUEST_WHOLE);
    }
    return same;
}

static struct gpu_request gpu_request_of_record(const struct assigned_container *c)
{
    struct gpu_request w = {.container = c->name,
                            .init = c->init,
                            .count = (uint16_t)c->device_n,
                            .kind = GPU_REQUEST_WHOLE,
                            .profile = c->devices[0].profile};

    for (size_t i = 0; i < c->device_n; i++) {
        const struct assigned_device *dev = &c->devices[i];

        w.kind = dev->exclusive || dev->profile != 0 ? w.kind : GPU_REQUEST_BOTH;
        w.milli = dev->milli > w.milli ? dev->milli : w.milli;
        w.mem_mib = dev->mem_mib > w.mem_mib ? dev->mem_mib : w.mem_mib;
    }
    if (w.kind == GPU_REQUEST_WHOLE) {
        w.milli = DEVICE_MILLI;
        w.mem_mib = 0;
    } else {
        w.profile = 0;
    }
    return w;
}

static struct gpu_request *gpu_request_of_init(struct gpu_request *gpu_requests, size_t n, struct str name)
{
    for (size_t i = 0; i < n; i++) {
        if (gpu_requests[i].init && str_eq(gpu_requests[i].container, name)) {
            return &gpu_requests[i];
        }
    }
    return NULL;
}

/* As core/request/demand.h says. Nobody can edit the order of the containers of a pod. */
static void phases_of_spec(const struct ledger_pod_fact *f, struct gpu_request *gpu_requests, size_t n)
{
    unsigned phase_n = 1;

    for (size_t i = 0; i < n; i++) {
        gpu_requests[i].phases =
            gpu_requests[i].init ? INT64_MAX : 1; /* beside all others, unless the spec says when */
    }
    for (size_t i = 0; i < f->init_container_n; i++) {
        struct gpu_request *w = gpu_request_of_init(gpu_requests, n, f->init_containers[i].name);
        uint64_t phase = 1;

        if (w == NULL) {
            continue;
        }
        w->position = (uint16_t)i;
        if (!f->init_containers[i].sidecar && phase_n < DEMAND_PHASES_MAX) {
            phase = UINT64_C(1) << phase_n++;
        }
        w->phases = phase;
        for (size_t k = 0; k < i && phase != 1; k++) {
            struct gpu_request *before = gpu_request_of_init(gpu_requests, n, f->init_containers[k].name);

            if (before != NULL && f->init_containers[k].sidecar) {
                before->phases |= phase;
            }
        }
    }
}

/* The demand that a signed record implies, with the constraints that are asked for today. GPU requests go to
 * `gpu_requests` (DEMAND_GPU_REQUESTS_MAX). */
static struct demand demand_of_grant(const struct ledger_pod_fact *f, struct gpu_request *gpu_requests)
{
    const struct demand *asked = f->demand;
    bool nothing = demand_is_empty(asked);
    struct demand d = {.source = asked->source, .dialect = asked->dialect, .host = asked->host};
    size_t n = 0;

    if (asked->defect == DEMAND_OK) {
        d = *asked;
        d.plugin_managed_n = d.plugin_managed_most = 0;
        d.plugin_managed_names = 0;
    }
    if (nothing) {
        d.source = DEMAND_FROM_ANNOTATIONS;
        d.dialect = "native";
    }
    for (size_t i = 0; i < f->assignment->container_n && n < DEMAND_GPU_REQUESTS_MAX; i++) {
        gpu_requests[n] = gpu_request_of_record(&f->assignment->containers[i]);
        gpu_requests[n].position = (uint16_t)n;
        n++;
    }
    phases_of_spec(f, gpu_requests, n);
    d.gpu_requests = gpu_requests;
    d.gpu_request_n = n;
    return d;
}

static struct record_part *granted_of_record(const struct demand *d, const struct assignment *as, size_t n)
{
    struct record_reader reader = {.demand = d, .assignment = as};
    const struct assigned_device *dev;
    struct record_part *all;
    size_t bytes = 0, at = 0;
    char *text;

    for (size_t i = 0; i < as->container_n; i++) {
        for (size_t k = 0; k < as->containers[i].device_n; k++) {
            bytes += as->containers[i].devices[k].uuid.n;
        }
    }
    all = xmalloc(n * sizeof(*all) + bytes);
    text = (char *)(all + n);
    for (; (dev = ledger_record_next(&reader)) != NULL; at++) {
        all[at] = (struct record_part){granted_charge(dev), str_put(&text, dev->uuid)};
    }
    BUG_ON(at != n);
    return all;
}

struct record_part *ledger_granted_copy(const struct pod_entry *p)
{
    struct record_part *copy;
    size_t bytes = 0;
    char *text;

    if (p->record_parts == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < p->ref_n; i++) {
        bytes += p->record_parts[i].uuid.n;
    }
    copy = xmalloc(p->ref_n * sizeof(*copy) + bytes);
    text = (char *)(copy + p->ref_n);
    for (size_t i = 0; i < p->ref_n; i++) {
        copy[i] = (struct record_part){p->record_parts[i].charge, str_put(&text, p->record_parts[i].uuid)};
    }
    return copy;
}

void ledger_grant(struct ledger *l, struct pod_entry *p, const struct ledger_pod_fact *f)
{
    struct gpu_request gpu_requests[DEMAND_GPU_REQUESTS_MAX];
    struct demand recorded;
    const struct demand *d = f->demand;

    if (!grants_as_asked(d, f->assignment)) {
        recorded = demand_of_grant(f, gpu_requests);
        d = &recorded;
    }
    ledger_pod_free_devices(p);
    free(p->floors);
    p->floors = NULL;
    p->floor_n = 0;
    p->floor_of_all = (struct charge){0};
    p->contested = false;
    p->refs = ledger_refs_of_record(l, d, f->assignment, &p->ref_n);
    BUG_ON(p->refs == NULL || p->ref_n == 0);
    p->record_parts = granted_of_record(d, f->assignment, p->ref_n);
    ledger_pod_set_demand(l, p, d);
    p->qos = f->assignment->qos;
}

/* Devices and amounts, as `parts` has them. */
static bool same_devices(const struct ledger *l, const struct pod_entry *p, const struct assignment *as,
                         const struct record_part *parts)
{
    struct record_reader reader = {.demand = p->demand, .assignment = as};
    const struct assigned_device *dev;
    struct device_ref *refs;
    size_t n = 0;
    bool same;

    if (p->refs == NULL || p->decision_id == NULL || !str_eq(as->id, str_of(p->decision_id)) || as->qos != p->qos) {
        return false;
    }
    refs = ledger_refs_of_record(l, p->demand, as, &n);
    same = refs != NULL && n == p->ref_n;
    for (size_t at = 0; same && (dev = ledger_record_next(&reader)) != NULL; at++) {
        const struct charge got = granted_charge(dev);

        same = refs[at].uuid_hash == p->refs[at].uuid_hash && refs[at].index == p->refs[at].index &&
               charge_equal(&got, &parts[at].charge);
    }
    free(refs);
    return same;
}

bool ledger_record_is_granted(const struct ledger *l, const struct pod_entry *p, const struct assignment *as)
{
    return as != NULL && p->record_parts != NULL && same_devices(l, p, as, p->record_parts);
}

bool ledger_record_is_promised(const struct ledger *l, const struct pod_entry *p, const struct assignment *as)
{
    return as != NULL && p->promised != NULL && same_devices(l, p, as, p->promised);
}
