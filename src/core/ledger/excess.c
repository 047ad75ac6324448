/* Over-committed devices and their causes. */
#include "core/ledger/excess.h"

#include "base/bug.h"
#include "core/ledger/device_table.h"
#include "core/ledger/numbers.h"
#include "core/ledger/overcommit.h"
#include "core/ledger/pod_table.h"
#include "core/ledger/state.h"

#include <stdlib.h>

const char *excess_cause_name(enum excess_cause c)
{
    static const char *const names[EXCESS_CAUSE_N] = {"capacity", "unproven", "raised", "recorded", "reserved"};
    unsigned bit = (unsigned)__builtin_ctz(c);

    BUG_ON(bit >= EXCESS_CAUSE_N);
    return names[bit];
}

/* ---- grants ---- */

void ledger_grant_keep(struct ledger *l, struct pod_entry *p)
{
    const struct node_entry *n = &l->nodes[p->node];

    free(p->first_grants);
    p->first_grants = NULL;
    p->first_grant_n = 0;
    if (p->ref_n == 0 || p->charge_n == 0) {
        return; /* kubelet picks: nothing particular was granted */
    }
    p->first_grants = xcalloc(p->charge_n, sizeof(*p->first_grants));
    for (size_t i = 0; i < p->charge_n; i++) {
        p->first_grants[p->first_grant_n++] =
            (struct pod_floor){n->devices[p->charges[i].ordinal].ref, p->charges[i].charge};
    }
}

static const struct pod_floor *grant_on(const struct pod_entry *p, struct device_ref device)
{
    for (size_t i = 0; i < p->first_grant_n; i++) {
        if (device_ref_equal(p->first_grants[i].ref, device)) {
            return &p->first_grants[i];
        }
    }
    return NULL;
}

/* Where only one side knows the UUID, the recorded index decides, and after a renumbering another device may
 * have it. */
static bool joined_by_index(const struct pod_entry *p, struct device_ref device)
{
    for (size_t i = 0; i < p->ref_n; i++) {
        if (device_ref_equal(p->refs[i], device) && p->refs[i].uuid_hash != device.uuid_hash) {
            return true;
        }
    }
    return false;
}

/* Nobody can prove that the pod is on this very device. */
static bool is_unproven(const struct ledger *l, const struct node_entry *n, const struct pod_entry *p,
                        struct device_ref device)
{
    struct placement at;

    return ledger_is_counted(&l->rows[p->node], p->demand) || !ledger_pod_placement(n, p, &at) ||
           joined_by_index(p, device);
}

static bool takes_more(const struct charge *now, const struct charge *granted)
{
    return now->milli > granted->milli || now->mem_mib > granted->mem_mib || now->slots > granted->slots;
}

static unsigned causes_of_pod(const struct ledger *l, const struct node_entry *n, const struct pod_entry *p,
                              const struct pod_charge *c)
{
    struct device_ref device = n->devices[c->ordinal].ref;
    const struct pod_floor *granted = grant_on(p, device);

    if (!(p->contested && granted != NULL)) { /* otherwise it was given that device here, whatever its record says */
        if (is_unproven(l, n, p, device)) {
            return EXCESS_UNPROVEN;
        }
        if (!p->reserved_here || granted == NULL) {
            return EXCESS_RECORDED;
        }
    }
    return takes_more(&c->charge, &granted->charge) ? EXCESS_RAISED : 0;
}

static void charge_min(struct charge *c, const struct charge *most)
{
    c->milli = c->milli < most->milli ? c->milli : most->milli;
    c->mem_mib = c->mem_mib < most->mem_mib ? c->mem_mib : most->mem_mib;
    c->slots = c->slots < most->slots ? c->slots : most->slots;
}

bool ledger_grants_exceed(const struct ledger *l, const struct node_entry *n, uint32_t ordinal)
{
    struct device_state alone = ledger_empty_state(n, &n->devices[ordinal]);

    for (uint32_t i = 0; i < n->pod_n; i++) {
        const struct pod_entry *p = &l->pods[n->pods[i]];

        for (size_t j = 0; j < p->charge_n; j++) {
            struct charge c = p->charges[j].charge;
            const struct pod_floor *granted =
                p->charges[j].ordinal == ordinal ? grant_on(p, n->devices[ordinal].ref) : NULL;

            if (granted != NULL && (causes_of_pod(l, n, p, &p->charges[j]) & ~(unsigned)EXCESS_RAISED) == 0) {
                charge_min(&c, &granted->charge);
                device_take(&alone, &c);
            }
        }
    }
    return device_is_overcommitted(&alone);
}

bool ledger_grants_outgrow(const struct ledger *l, const struct node_entry *n, uint32_t ordinal)
{
    struct device_state alone = ledger_empty_state(n, &n->devices[ordinal]);

    for (uint32_t i = 0; i < n->pod_n; i++) {
        const struct pod_floor *granted = grant_on(&l->pods[n->pods[i]], n->devices[ordinal].ref);

        if (granted != NULL) {
            device_take(&alone, &granted->charge);
        }
    }
    return device_is_overcommitted(&alone);
}

/* ---- what is over-committed ---- */

static unsigned causes_of_device(const struct ledger *l, const struct node_entry *n, uint32_t ordinal)
{
    const struct ledger_device *d = &n->devices[ordinal];
    unsigned causes = (d->shrunk ? EXCESS_CAPACITY : 0U) | (d->overbooked ? EXCESS_RESERVED : 0U);

    for (uint32_t i = 0; i < n->pod_n; i++) {
        const struct pod_entry *p = &l->pods[n->pods[i]];

        for (size_t j = 0; j < p->charge_n; j++) {
            causes |= p->charges[j].ordinal == ordinal ? causes_of_pod(l, n, p, &p->charges[j]) : 0U;
        }
    }
    return causes;
}

bool ledger_excess_causes(const struct ledger *l, uint32_t *at, uint32_t max, uint64_t counts[EXCESS_CAUSE_N])
{
    for (uint32_t k = 0; k < max && *at < l->node_n; k++, ++*at) {
        const struct node_entry *n = &l->nodes[*at];

        for (uint32_t i = 0; n->used && i < n->device_n; i++) {
            bool over = device_is_overcommitted(&l->states[l->rows[*at].first_device + i]);
            unsigned causes = over ? causes_of_device(l, n, i) : 0;

            for (unsigned c = 0; c < EXCESS_CAUSE_N; c++) {
                counts[c] += causes >> c & 1;
            }
        }
    }
    return *at < l->node_n;
}
