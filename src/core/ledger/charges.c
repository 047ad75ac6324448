/* What a pod takes of its devices, and what a device has that nobody uses: the parts that a node's numbers are made
 * of. */
#include "base/bug.h"
#include "core/ledger/device_table.h"
#include "core/ledger/node_table.h"
#include "core/ledger/numbers.h"
#include "core/ledger/pod_table.h"
#include "model/mig.h"

static int32_t times_factor(int64_t v, int32_t factor_milli, int32_t max)
{
    int64_t scaled;

    if (__builtin_mul_overflow(v, (int64_t)factor_milli, &scaled) || scaled / 1000 > max) {
        return max;
    }
    return (int32_t)(scaled / 1000);
}

struct device_state ledger_empty_state(const struct node_entry *n, const struct ledger_device *d)
{
    struct device_state s = {
        .mem_base_mib = times_factor(d->mem_mib, 1000, INT32_MAX),
        .mem_cap_mib = times_factor(d->mem_mib, n->overcommit_mem_milli, INT32_MAX),
        .milli_cap = times_factor(DEVICE_MILLI, n->overcommit_milli, INT32_MAX),
        .slot_cap = (int16_t)times_factor(d->slot_n, 1000, INT16_MAX),
        .model_id = d->model_id,
        .profile = d->profile,
        .memory_only = (uint8_t)n->memory_only,
        .flags = (uint16_t)((d->healthy ? DEVICE_HEALTHY : 0) | (d->lost ? DEVICE_LOST : 0) |
                            (d->counted ? DEVICE_COUNTED : 0) | (d->slice ? DEVICE_SLICE : 0) |
                            (ledger_is_elsewhere(n) && !d->counted ? DEVICE_ELSEWHERE : 0) |
                            (n->qos == QOS_EQUAL_SHARE ? DEVICE_EQUAL : 0)),
    };

    if (d->profile == DEVICE_IN_MIG_MODE) { /* what there is of it are its instances */
        s.flags |= DEVICE_IN_USE | DEVICE_EXCLUSIVE;
        return s;
    }
    if (d->profile != 0) { /* cut by the hardware: no factor makes it larger */
        s.mem_cap_mib = s.mem_base_mib;
        s.milli_cap = mig_profile_milli(d->profile);
        s.slot_cap = 1;
    } else if (d->slice || d->part_milli > 0) { /* nor this, by the host */
        s.milli_cap = d->part_milli > 0 ? d->part_milli : DEVICE_MILLI;
        s.mem_cap_mib = d->slice ? s.mem_base_mib : (int32_t)((int64_t)s.mem_base_mib * s.milli_cap / DEVICE_MILLI);
    }
    s.mem_free_mib = s.mem_cap_mib;
    s.milli_free = s.milli_cap;
    s.slot_free = s.slot_cap;
    return s;
}

bool ledger_pod_placement(const struct node_entry *n, const struct pod_entry *p, struct placement *ret)
{
    size_t at = 0;

    if (p->refs == NULL) {
        return false;
    }
    for (size_t w = 0; w < p->demand->gpu_request_n; w++) {
        uint64_t mask = 0;

        for (uint16_t i = 0; i < p->demand->gpu_requests[w].count; i++) {
            uint32_t ordinal = ledger_device_find(n, p, p->refs[at++]);

            if (ordinal == LEDGER_NONE || (mask & (UINT64_C(1) << ordinal)) != 0) {
                return false;
            }
            mask |= UINT64_C(1) << ordinal;
        }
        ret->gpu_request_devices[w] = mask;
    }
    return true;
}

void ledger_charge_max(struct charge *c, const struct charge *floor)
{
    c->milli = c->milli > floor->milli ? c->milli : floor->milli;
    c->mem_mib = c->mem_mib > floor->mem_mib ? c->mem_mib : floor->mem_mib;
    c->slots = c->slots > floor->slots ? c->slots : floor->slots;
    c->exclusive = c->exclusive || floor->exclusive;
}

int32_t ledger_devices_at_once(const struct demand *d, int profile)
{
    uint64_t phases = 0;
    int32_t most = 0;

    for (size_t w = 0; w < d->gpu_request_n; w++) {
        phases |= d->gpu_requests[w].phases;
    }
    for (; phases != 0; phases &= phases - 1) {
        int32_t n = 0;

        for (size_t w = 0; w < d->gpu_request_n; w++) {
            const struct gpu_request *r = &d->gpu_requests[w];

            n += (r->phases & phases & -phases) != 0 && (profile < 0 || r->profile == profile) ? r->count : 0;
        }
        most = n > most ? n : most;
    }
    return most;
}

uint8_t ledger_pod_class(const struct node_entry *n, const struct pod_entry *p)
{
    struct placement at;
    int32_t device_n = (int32_t)p->charge_n;
    bool whole = true;

    if (p->demand->plugin_managed_n > 0) {
        return pod_class_of(p->demand->plugin_managed_n, true);
    }
    for (size_t i = 0; i < p->charge_n; i++) {
        const struct charge *c = &p->charges[i].charge;

        whole = whole && c->profile == 0 && (c->exclusive || c->milli >= DEVICE_MILLI);
    }
    /* Charged on every device, it holds no more than it asked for; what a malformed pod asked for nobody knows. */
    if (p->demand->defect == DEMAND_OK && !ledger_pod_placement(n, p, &at)) {
        int32_t wanted = ledger_devices_at_once(p->demand, -1);

        device_n = wanted < device_n ? wanted : device_n;
    }
    return pod_class_of(device_n, whole);
}

void ledger_floor_raise(struct pod_entry *p, struct device_ref ref, const struct charge *c)
{
    for (size_t i = 0; i < p->floor_n; i++) {
        if (p->floors[i].ref.uuid_hash == ref.uuid_hash && p->floors[i].ref.index == ref.index) {
            ledger_charge_max(&p->floors[i].charge, c);
            return;
        }
    }
    if (p->floor_n == POD_FLOORS_MAX) {
        ledger_charge_max(&p->floor_of_all, c); /* no room to say which device: all, so that no charge falls */
        return;
    }
    p->floors = xreallocarray(p->floors, p->floor_n + 1, sizeof(*p->floors));
    p->floors[p->floor_n++] = (struct pod_floor){ref, *c};
}
