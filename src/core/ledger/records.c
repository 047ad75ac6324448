/* Assignment records, as read back from pods: which devices, and, of unsigned ones, what was taken of them at
 * least. */
#include "base/bug.h"
#include "core/ledger/device_table.h"
#include "core/ledger/numbers.h"
#include "core/ledger/records.h"
#include "core/ledger/state.h"

#include <stdlib.h>

_Static_assert(ASSIGNMENT_CONTAINERS_MAX == DEMAND_GPU_REQUESTS_MAX, "every demand that is reserved can be recorded");

/* The container that the GPU request is of; NULL: the record does not have it. */
static const struct assigned_container *assigned_to(const struct assignment *as, const struct gpu_request *w)
{
    for (size_t i = 0; i < as->container_n; i++) {
        if (as->containers[i].init == w->init && str_eq(as->containers[i].name, w->container)) {
            return &as->containers[i];
        }
    }
    return NULL;
}

/* Does GPU request `w` share its container with a neighbour? */
static bool has_twin(const struct demand *d, size_t w)
{
    return (w > 0 && gpu_request_goes_on(&d->gpu_requests[w - 1], &d->gpu_requests[w])) ||
           (w + 1 < d->gpu_request_n && gpu_request_goes_on(&d->gpu_requests[w], &d->gpu_requests[w + 1]));
}

/* The next device of the container, from `*at` on, that answers to GPU request `w`; NULL: there is no other. */
static const struct assigned_device *next_device(const struct demand *d, size_t w, const struct assigned_container *c,
                                                 size_t *at)
{
    for (; *at < c->device_n; ++*at) {
        if (!has_twin(d, w) || gpu_request_is_of_milli(&d->gpu_requests[w], c->devices[*at].milli)) {
            return &c->devices[(*at)++];
        }
    }
    return NULL;
}

bool ledger_matches_record(const struct demand *d, const struct assignment *as)
{
    size_t container_n = 0;

    for (size_t w = 0; w < d->gpu_request_n; w++) {
        const struct assigned_container *c = assigned_to(as, &d->gpu_requests[w]);
        size_t n = 0;

        for (size_t at = 0; c != NULL && next_device(d, w, c, &at) != NULL;) {
            n++;
        }
        if (c == NULL || n != d->gpu_requests[w].count) {
            return false;
        }
        container_n += w == 0 || !gpu_request_goes_on(&d->gpu_requests[w - 1], &d->gpu_requests[w]);
    }
    return container_n == as->container_n;
}

const struct assigned_device *ledger_record_next(struct record_reader *r)
{
    for (; r->w < r->demand->gpu_request_n; r->w++) {
        const struct assigned_device *dev;

        if (r->container == NULL) {
            r->container = assigned_to(r->assignment, &r->demand->gpu_requests[r->w]);
            r->at = 0;
            BUG_ON(r->container == NULL);
        }
        dev = next_device(r->demand, r->w, r->container, &r->at);
        if (dev != NULL) {
            return dev;
        }
        r->container = NULL;
    }
    return NULL;
}

struct device_ref *ledger_refs_of_record(const struct ledger *l, const struct demand *d, const struct assignment *as,
                                         size_t *ret_n)
{
    struct record_reader reader = {.demand = d, .assignment = as};
    const struct assigned_device *dev;
    struct device_ref *refs;

    if (as == NULL || d->defect != DEMAND_OK || !ledger_matches_record(d, as)) {
        return NULL;
    }
    refs = xcalloc(demand_device_n(d) + 1, sizeof(*refs));
    for (*ret_n = 0; (dev = ledger_record_next(&reader)) != NULL; ++*ret_n) {
        refs[*ret_n] = ledger_device_ref(l, dev->uuid, dev->index);
    }
    return refs;
}

/* What the record gives to the containers of one phase, summed up per device. No node has more devices than
 * that: further ones are somebody's invention. */
struct phase_charges {
    struct device_ref refs[DEVICES_PER_NODE_MAX];
    struct charge sums[DEVICES_PER_NODE_MAX];
    size_t n;
};

static void phase_add(struct phase_charges *f, struct device_ref ref, const struct assigned_device *d)
{
    size_t i = 0;

    while (i < f->n && !device_ref_equal(f->refs[i], ref)) {
        i++;
    }
    if (i == DEVICES_PER_NODE_MAX) {
        return;
    }
    if (i == f->n) {
        f->refs[f->n++] = ref;
        f->sums[i] = (struct charge){0};
    }
    f->sums[i].milli += d->milli;
    f->sums[i].mem_mib += d->mem_mib;
    f->sums[i].slots++;
}

/* What the record says was taken: a lower bound of the charge of a pod whose request is in annotations
 * (rule 1). Record and demand match one to one, and `refs` follows their devices. */
static void floors_of_record(struct pod_entry *p, const struct assignment *as, const struct demand *d,
                             const struct device_ref *refs)
{
    uint64_t phases = 0;

    for (size_t w = 0; w < d->gpu_request_n; w++) {
        phases |= d->gpu_requests[w].phases;
    }
    for (; phases != 0; phases &= phases - 1) {
        struct record_reader reader = {.demand = d, .assignment = as};
        const struct assigned_device *dev;
        struct phase_charges f = {.n = 0};

        for (size_t at = 0; (dev = ledger_record_next(&reader)) != NULL; at++) {
            if ((d->gpu_requests[reader.w].phases & phases & -phases) != 0) {
                phase_add(&f, refs[at], dev);
            }
        }
        for (size_t i = 0; i < f.n; i++) {
            ledger_floor_raise(p, f.refs[i], &f.sums[i]);
        }
    }
}

/* The demand that a record alone implies, for a bound pod whose request annotations are gone or spoilt.
 * GPU requests go to `gpu_requests` (DEMAND_GPU_REQUESTS_MAX). */
static struct demand demand_of_record(const struct assignment *as, struct gpu_request *gpu_requests)
{
    struct demand d = {.source = DEMAND_FROM_ANNOTATIONS, .dialect = "native", .gpu_requests = gpu_requests};

    for (size_t i = 0; i < as->container_n && d.gpu_request_n < DEMAND_GPU_REQUESTS_MAX; i++) {
        const struct assigned_container *c = &as->containers[i];
        struct gpu_request *w = &gpu_requests[d.gpu_request_n];

        if (c->device_n == 0) {
            continue;
        }
        *w = (struct gpu_request){.container = c->name,
                                  .init = c->init,
                                  .count = (uint16_t)c->device_n,
                                  .kind = GPU_REQUEST_BOTH,
                                  .phases = 1};
        for (size_t j = 0; j < c->device_n; j++) {
            w->milli = c->devices[j].milli > w->milli ? c->devices[j].milli : w->milli;
            w->mem_mib = c->devices[j].mem_mib > w->mem_mib ? c->devices[j].mem_mib : w->mem_mib;
        }
        d.gpu_request_n++;
    }
    return d;
}

bool ledger_record_is_ours(const struct ledger *l, const struct pod_entry *p, const struct assignment *as)
{
    struct device_ref *refs;
    size_t n = 0;
    bool same;

    if (as == NULL || p->decision_id == NULL || !str_eq(as->id, str_of(p->decision_id))) {
        return false;
    }
    refs = ledger_refs_of_record(l, p->demand, as, &n);
    same = refs != NULL && n == p->ref_n;
    for (size_t i = 0; same && i < n; i++) {
        same = device_ref_equal(refs[i], p->refs[i]);
    }
    free(refs);
    return same;
}

const struct demand *ledger_read_record(const struct ledger *l, struct pod_entry *p, const struct demand *d,
                                        const struct assignment *as, struct gpu_request *gpu_requests,
                                        struct demand *recorded)
{
    bool lost = demand_is_empty(d) || d->defect != DEMAND_OK;
    struct device_ref *refs = ledger_refs_of_record(l, d, as, &p->ref_n);
    size_t n = 0;

    p->refs = refs;
    if (as == NULL || (d->source != DEMAND_FROM_ANNOTATIONS && !demand_is_empty(d))) {
        return d;
    }
    if (refs != NULL) {
        floors_of_record(p, as, d, refs);
        return d;
    }
    *recorded = demand_of_record(as, gpu_requests);
    recorded->host = d->host;
    refs = recorded->gpu_request_n > 0 ? ledger_refs_of_record(l, recorded, as, &n) : NULL;
    if (refs == NULL) {
        return d;
    }
    floors_of_record(p, as, recorded, refs);
    if (!lost) { /* both count: the request on every device, the record on its own */
        free(refs);
        return d;
    }
    p->refs = refs;
    p->ref_n = n;
    return recorded;
}
