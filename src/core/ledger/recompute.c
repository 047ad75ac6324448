/* A node's numbers, derived from its inventory and the pods attached to it. */
#include "base/bug.h"
#include "core/fit/feasibility.h"
#include "core/ledger/change.h"
#include "core/ledger/device_table.h"
#include "core/ledger/host_sums.h"
#include "core/ledger/numbers.h"
#include "core/ledger/overcommit.h"
#include "core/ledger/pod_table.h"
#include "core/ledger/records.h"
#include "core/ledger/state.h"
#include "core/ledger/tenants.h"

static void charge_add(struct pod_entry *p, uint32_t ordinal, struct charge c)
{
    p->charges[p->charge_n++] = (struct pod_charge){ordinal, c};
}

static void charges_known(const struct node_entry *n, const struct device_state *states, struct pod_entry *p,
                          const struct placement *at)
{
    uint64_t used = placement_devices(at, p->demand->gpu_request_n);
    const struct demand d = ledger_charged_demand(p);

    for (uint32_t i = 0; i < n->device_n; i++) {
        if ((used & (UINT64_C(1) << i)) != 0) {
            charge_add(p, i, placement_charge(&d, at, states, i));
        }
    }
}

/* On every device, constraints notwithstanding: they are annotations, and say nothing about where a pod
 * that came past us really is. */
static void charges_pessimistic(const struct node_entry *n, const struct device_state *states, struct pod_entry *p)
{
    const struct demand d = ledger_charged_demand(p);
    struct charge c = {0};

    for (uint32_t i = 0; i < n->device_n; i++) {
        if (n->devices[i].profile == DEVICE_IN_MIG_MODE) {
            continue; /* only through its instances */
        }
        if (i == 0 || !device_equal(&states[i], &states[i - 1])) { /* mostly all are the same */
            c = demand_pessimistic_charge(&d, &states[i]);
        }
        charge_add(p, i, c);
    }
}

static struct charge *charge_on(struct pod_entry *p, uint32_t ordinal)
{
    for (size_t i = 0; i < p->charge_n; i++) {
        if (p->charges[i].ordinal == ordinal) {
            return &p->charges[i].charge;
        }
    }
    return NULL;
}

/* Who has a device alone has all of it, also when it has become larger. */
static void raise_charge(struct charge *c, const struct charge *floor, const struct device_state *s)
{
    ledger_charge_max(c, floor);
    if (c->exclusive) {
        ledger_charge_max(c, &(struct charge){.milli = s->milli_cap, .mem_mib = s->mem_cap_mib});
    }
}

/* Rule 3.1.1: what was given away when it was reserved stays so, whatever an unsigned record says. */
static void charge_first_grants(const struct node_entry *n, const struct device_state *states, struct pod_entry *p)
{
    for (size_t i = 0; i < p->first_grant_n; i++) {
        uint32_t ordinal = ledger_device_find(n, p, p->first_grants[i].ref);
        struct charge *c = ordinal == LEDGER_NONE ? NULL : charge_on(p, ordinal);

        if (c == NULL && ordinal != LEDGER_NONE) {
            charge_add(p, ordinal, p->first_grants[i].charge);
            c = &p->charges[p->charge_n - 1].charge;
        }
        if (c != NULL) {
            raise_charge(c, &p->first_grants[i].charge, &states[ordinal]);
        }
    }
}

/* Rule 1: a charge whose request can be edited never falls while the pod lives. A demand from elsewhere (of a
 * pod that cannot be read for the moment) obeys the floors, but leaves none. A floor is of one device, as a record
 * is, even where the index of another would do, too. */
static void apply_floors(const struct node_entry *n, const struct device_state *states, struct pod_entry *p)
{
    bool editable = p->demand->source == DEMAND_FROM_ANNOTATIONS;

    for (size_t j = 0; j < p->floor_n; j++) {
        uint32_t ordinal = ledger_device_find(n, p, p->floors[j].ref);
        struct charge *c = ordinal == LEDGER_NONE ? NULL : charge_on(p, ordinal);

        if (c != NULL) {
            raise_charge(c, &p->floors[j].charge, &states[ordinal]);
        }
    }
    for (size_t i = 0; p->floor_n == POD_FLOORS_MAX && i < p->charge_n; i++) {
        raise_charge(&p->charges[i].charge, &p->floor_of_all, &states[p->charges[i].ordinal]);
    }
    for (size_t i = 0; editable && i < p->charge_n; i++) {
        ledger_floor_raise(p, n->devices[p->charges[i].ordinal].ref, &p->charges[i].charge);
    }
}

/* Until its record is seen, what that says counts as well: a share that was read on a larger GPU may still land (F155).
 */
static bool record_is_on_its_way(const struct pod_entry *p)
{
    return p->state == LEDGER_RESERVED || p->state == LEDGER_CONFIRMED;
}

static void pod_charges(const struct node_entry *n, const struct device_state *states, struct pod_entry *p)
{
    struct placement at;

    p->charge_n = 0;
    if (p->demand->plugin_managed_n > 0 || n->device_n == 0) {
        return;
    }
    p->charges = xreallocarray(p->charges, n->device_n, sizeof(*p->charges));
    if (p->record_parts != NULL) {
        ledger_granted_charges(n, p);
        return;
    }
    if (ledger_pod_placement(n, p, &at)) {
        charges_known(n, states, p, &at);
    } else {
        charges_pessimistic(n, states, p);
    }
    if (p->contested || record_is_on_its_way(p)) {
        charge_first_grants(n, states, p);
    }
    apply_floors(n, states, p);
}

void ledger_recompute(struct ledger *l, uint32_t node)
{
    struct node_entry *n = &l->nodes[node];
    struct node_state *row = &l->rows[node];
    struct device_state *states = &l->states[row->first_device];
    uint64_t taken = 0;

    ledger_change_begin(l, node);
    BUG_ON(n->extent_n != n->device_n);
    ledger_size_granted(l, node);
    row->flags &= (uint8_t)~NODE_SLICED;
    for (uint32_t i = 0; i < n->device_n; i++) {
        states[i] = ledger_empty_state(n, &n->devices[i]);
        row->flags |= ledger_is_slice(&n->devices[i]) ? NODE_SLICED : 0;
    }
    ledger_count_node(l, node);
    for (uint32_t i = 0; i < n->pod_n; i++) {
        struct pod_entry *p = &l->pods[n->pods[i]];

        if (ledger_pod_is_counted(row, p)) {
            continue;
        }
        pod_charges(n, states, p);
        ledger_count_pod(l, p);
        for (size_t j = 0; j < p->charge_n; j++) {
            taken |= UINT64_C(1) << p->charges[j].ordinal;
        }
    }
    if ((row->flags & NODE_MIG_COUNTED) != 0) {
        ledger_charge_counted(l, node, taken);
    }
    /* Charges are computed from capacities alone: taken only now, they do not depend on the order of the pods. */
    ledger_add_up(l, node, NULL, NULL, row, states, &n->host_asked);
    row->version = ledger_next_version(l, node);
    ledger_overcommit_note(l, node);
}

/* ---- what a view adds for one demand ---- */

static void mark_pod(const struct pod_entry *q, struct device_state *states)
{
    for (size_t i = 0; i < q->charge_n; i++) {
        states[q->charges[i].ordinal].flags |= DEVICE_ISOLATED;
    }
}

static struct str uuid_of_gpu(const struct node_entry *n, int32_t index)
{
    for (uint32_t i = 0; i < n->device_n; i++) {
        if (n->devices[i].profile == DEVICE_IN_MIG_MODE && n->devices[i].ref.index == index) {
            return n->devices[i].uuid;
        }
    }
    return STR_NULL;
}

void ledger_mark_denied(const struct ledger *l, uint32_t node, struct device_state *states, struct str namespace_,
                        struct str uid, const struct demand *d, const uint64_t *label_hashes, size_t label_n,
                        ledger_leaves_fn *leaves, const void *ctx)
{
    const struct node_entry *n = &l->nodes[node];

    for (uint32_t i = 0; d->uuid_n > 0 && i < n->device_n; i++) {
        struct str gpu = device_is_instance(&states[i]) ? uuid_of_gpu(n, n->devices[i].gpu_index) : STR_NULL;

        if (n->devices[i].counted || !demand_allows_uuid(d, n->devices[i].uuid, gpu)) {
            states[i].flags |= DEVICE_DENIED; /* nobody knows which one kubelet would pick */
        }
    }
    if (d->isolate_n == 0 && l->isolating_n == 0) {
        return;
    }
    for (uint32_t i = 0; i < n->pod_n; i++) {
        const struct pod_entry *q = &l->pods[n->pods[i]];

        if (!str_eq(q->namespace_, namespace_) || str_eq(q->uid, uid) || (leaves != NULL && leaves(q, ctx))) {
            continue;
        }
        if (label_hashes_match(d->isolate, d->isolate_n, q->labels, q->label_n) ||
            label_hashes_match(q->demand->isolate, q->demand->isolate_n, label_hashes, label_n)) {
            mark_pod(q, states);
        }
    }
}
