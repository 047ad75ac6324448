/* Reservations: the authority over who gets which device. */
#include "base/bug.h"
#include "core/fit/feasibility.h"
#include "core/ledger/device_table.h"
#include "core/ledger/node_table.h"
#include "core/ledger/numbers.h"
#include "core/ledger/observe.h"
#include "core/ledger/overcommit.h"
#include "core/ledger/pod_table.h"
#include "core/ledger/reserve.h"
#include "core/ledger/state.h"
#include "core/ledger/tenants.h"

#include <stdlib.h>

/* The search is trusted to find, not to be believed: the placement is checked against the live numbers. */
static bool placement_fits(const struct ledger *l, uint32_t node, const struct demand *d, const struct placement *at)
{
    const struct node_state *row = &l->rows[node];
    const struct device_state *states = &l->states[row->first_device];
    uint64_t used = 0;

    for (size_t w = 0; w < d->gpu_request_n; w++) {
        uint64_t mask = at->gpu_request_devices[w];

        if (__builtin_popcountll(mask) != d->gpu_requests[w].count ||
            (row->device_n < 64 && mask >> row->device_n != 0)) {
            return false;
        }
        used |= mask;
    }
    for (uint32_t i = 0; i < row->device_n; i++) {
        if ((used & (UINT64_C(1) << i)) != 0) {
            struct charge c = placement_charge(d, at, states, i);

            if (!device_takes(&states[i], &c)) {
                return false;
            }
        }
    }
    return true;
}

static bool plugin_managed_fits(const struct node_state *row, const struct demand *d)
{
    return row->share_pod_n == 0 && d->plugin_managed_n <= row->plugin_managed_cap - row->plugin_managed_used;
}

static void keep_refs(const struct ledger *l, struct pod_entry *p, uint32_t node, const struct placement *at)
{
    const struct node_entry *n = &l->nodes[node];

    p->refs = xcalloc(demand_device_n(p->demand) + 1, sizeof(*p->refs));
    p->ref_n = 0;
    for (size_t w = 0; w < p->demand->gpu_request_n; w++) {
        for (uint32_t i = 0; i < n->device_n; i++) {
            if ((at->gpu_request_devices[w] & (UINT64_C(1) << i)) != 0) {
                p->refs[p->ref_n++] = n->devices[i].ref;
            }
        }
    }
}

/* What the record of the reservation will say: until its echo comes the node may mean something else. */
static void keep_promise(const struct ledger *l, struct pod_entry *p)
{
    const struct node_entry *n = &l->nodes[p->node];
    const struct device_state *states = &l->states[l->rows[p->node].first_device];
    const struct demand d = ledger_charged_demand(p);
    size_t at = 0;

    p->promised = xcalloc(p->ref_n + 1, sizeof(*p->promised));
    for (size_t w = 0; w < p->demand->gpu_request_n; w++) {
        for (uint16_t i = 0; i < p->demand->gpu_requests[w].count; i++, at++) {
            uint32_t ordinal = ledger_device_find(n, p, p->refs[at]);

            BUG_ON(ordinal == LEDGER_NONE);
            p->promised[at].charge = device_charge(&states[ordinal], &d, &p->demand->gpu_requests[w]);
            p->promised[at].charge.profile = device_is_instance(&states[ordinal]) ? states[ordinal].profile : 0;
        }
    }
}

/* Does the pod hold a device, be it kubelet's choice, for which other nodes had left no room? */
static bool holds_taken(const struct ledger *l, uint32_t node, const struct pod_entry *p)
{
    const struct node_state *row = &l->rows[node];
    bool taken = p->demand->plugin_managed_n > 0 && row->group_taken;

    for (size_t i = 0; i < p->charge_n; i++) {
        taken = taken || (l->states[row->first_device + p->charges[i].ordinal].flags & DEVICE_GROUP_TAKEN) != 0;
    }
    return taken;
}

int ledger_reserve_apply(struct ledger *l, const struct ledger_reserve *r, int64_t at_ms, struct err *reterr)
{
    uint32_t pod = ledger_pod_lookup(l, r->uid);
    uint32_t node = ledger_node_find(l, r->node_name);
    struct pod_entry *p;
    bool fits;

    if (pod == LEDGER_NONE) {
        return err_set(reterr, ERR_NOT_FOUND, "pod is not known");
    }
    if (node == LEDGER_NONE || !l->nodes[node].described) {
        return err_set(reterr, ERR_NOT_FOUND, "node is not known");
    }
    p = &l->pods[pod];
    if (p->state != LEDGER_PENDING) {
        return err_set(reterr, ERR_CONFLICT, "pod already holds GPUs");
    }
    if (p->demand->defect != DEMAND_OK) {
        return err_set(reterr, ERR_INVALID, "%s", demand_defect_text(p->demand->defect));
    }
    if (feasibility_of_node(&l->rows[node], p->demand) != VERDICT_FITS) {
        fits = false;
    } else if (p->demand->plugin_managed_n > 0) {
        fits = plugin_managed_fits(&l->rows[node], p->demand);
    } else {
        fits = (l->rows[node].plugin_managed_used == 0 || !demand_takes_shares(p->demand)) &&
               placement_fits(l, node, p->demand, r->placement);
    }
    if (!fits) {
        return err_set(reterr, ERR_CONFLICT, "the devices are no longer free");
    }
    if (!holding_fits(tenancy_wanted(p->demand, r->placement, &l->rows[node], &l->states[l->rows[node].first_device]),
                      ledger_tenant_residual(l, p->namespace_))) {
        return err_set(reterr, ERR_CONFLICT, "%s", verdict_text(VERDICT_TENANT_LIMIT));
    }
    if (p->demand->plugin_managed_n == 0 && !ledger_is_counted(&l->rows[node], p->demand)) {
        keep_refs(l, p, node, r->placement);
    }
    free(p->decision_id);
    p->decision_id = str_dup(r->decision_id);
    p->reserved_here = true;
    p->rewritten = false;
    p->qos = p->demand->says_qos ? p->demand->qos : l->nodes[node].qos;
    p->touched = l->generation + 1;
    p->conflict = NULL;
    ledger_pod_set_state(l, p, LEDGER_RESERVED, at_ms);
    ledger_pod_attach(l, pod, node);
    l->nodes[node].group_overbooked = l->nodes[node].group_overbooked || holds_taken(l, node, p);
    ledger_grant_keep(l, p);
    if (p->refs != NULL) {
        keep_promise(l, p);
    }
    return 0;
}

int ledger_confirm_apply(struct ledger *l, struct str uid, int64_t at_ms, struct err *reterr)
{
    uint32_t pod = ledger_pod_lookup(l, uid);
    struct pod_entry *p;

    if (pod == LEDGER_NONE) {
        return err_set(reterr, ERR_NOT_FOUND, "pod is not known");
    }
    p = &l->pods[pod];
    p->touched = l->generation + 1;
    if (p->state == LEDGER_RESERVED && p->missed) {
        ledger_pod_end(l, pod);
    } else if (p->state == LEDGER_RESERVED) {
        ledger_pod_set_state(l, p, LEDGER_CONFIRMED, at_ms);
    }
    return 0; /* the watch may have been faster: then there is nothing left to confirm */
}

void ledger_pod_unplace(struct ledger *l, uint32_t pod, int64_t at_ms)
{
    struct pod_entry *p = &l->pods[pod];
    uint32_t node = p->node;

    ledger_pod_detach(l, pod);
    ledger_node_drop_if_empty(l, node);
    ledger_pod_clear_refs(l, p);
    p->reserved_here = false;
    ledger_pod_set_state(l, p, LEDGER_PENDING, at_ms);
    ledger_pod_set_nominated(l, p, str_of(p->renominated));
    if (p->latest != NULL) {
        ledger_pod_set_demand(l, p, p->latest);
        free(p->latest);
        p->latest = NULL;
        if (demand_is_empty(p->demand)) {
            ledger_pod_drop(l, pod);
        }
    }
}

int ledger_release_apply(struct ledger *l, struct str uid, int64_t at_ms, struct err *reterr)
{
    uint32_t pod = ledger_pod_lookup(l, uid);
    struct pod_entry *p;

    if (pod == LEDGER_NONE) {
        return err_set(reterr, ERR_NOT_FOUND, "pod is not known");
    }
    p = &l->pods[pod];
    p->touched = l->generation + 1;
    if (p->contested) { /* now it is proven that somebody else bound it: its record alone counts */
        p->contested = false;
        p->conflict = p->conflict == ledger_conflict_record ? NULL : p->conflict;
        ledger_recompute(l, p->node);
    }
    if (p->state != LEDGER_RESERVED) {
        return 0; /* seen bound meanwhile: facts win over a refusal */
    }
    if (p->missed) {
        ledger_pod_drop(l, pod);
    } else {
        ledger_pod_unplace(l, pod, at_ms);
    }
    return 0;
}

bool ledger_chose_devices(const struct ledger *l, struct str uid)
{
    uint32_t pod = ledger_pod_lookup(l, uid);

    return pod != LEDGER_NONE && l->pods[pod].ref_n > 0;
}

/* Adds the devices of GPU requests `w` and, where its container goes on, of the next one, in the order of the node. */
static size_t devices_of(const struct ledger *l, const struct pod_entry *p, const struct placement *at, size_t w,
                         size_t gpu_request_n, struct arena *a, struct assigned_device *ret)
{
    const struct node_entry *n = &l->nodes[p->node];
    const struct device_state *states = &l->states[l->rows[p->node].first_device];
    const struct demand d = ledger_charged_demand(p);
    size_t found_n = 0;

    for (uint32_t i = 0; i < n->device_n; i++) {
        for (size_t k = w; k < w + gpu_request_n; k++) {
            struct charge c;

            if ((at->gpu_request_devices[k] & (UINT64_C(1) << i)) == 0) {
                continue;
            }
            c = device_charge(&states[i], &d, &p->demand->gpu_requests[k]);
            ret[found_n++] = (struct assigned_device){
                .uuid = arena_str(a, n->devices[i].uuid),
                .index = n->devices[i].ref.index,
                .milli = c.milli,
                .mem_mib = c.mem_mib,
                .profile = device_is_instance(&states[i]) ? states[i].profile : 0,
                .slice = (states[i].flags & DEVICE_SLICE) != 0,
                .part_milli = device_is_part(&states[i]) ? states[i].milli_cap : 0,
                .exclusive = c.exclusive && !device_is_instance(&states[i]),
            };
        }
    }
    return found_n;
}

int ledger_assignment(const struct ledger *l, struct str uid, struct arena *a, struct assignment *ret,
                      struct err *reterr)
{
    uint32_t pod = ledger_pod_lookup(l, uid);
    const struct pod_entry *p;
    struct placement at;
    struct assigned_container *containers;
    size_t n_out = 0;

    if (pod == LEDGER_NONE || l->pods[pod].node == LEDGER_NONE || l->pods[pod].ref_n == 0) {
        return err_set(reterr, ERR_NOT_FOUND, "pod holds no devices");
    }
    p = &l->pods[pod];
    if (!ledger_pod_placement(&l->nodes[p->node], p, &at)) {
        return err_set(reterr, ERR_NOT_FOUND, "the pod's devices left the node");
    }
    containers = ARENA_ARRAY(a, p->demand->gpu_request_n, struct assigned_container);
    for (int init = 1; containers != NULL && init >= 0; init--) {
        for (size_t w = 0, gpu_request_n; w < p->demand->gpu_request_n; w += gpu_request_n) {
            const struct gpu_request *gpu_request = &p->demand->gpu_requests[w];
            struct assigned_device *devices;
            size_t device_n = gpu_request->count;

            for (gpu_request_n = 1; w + gpu_request_n < p->demand->gpu_request_n &&
                                    gpu_request_goes_on(gpu_request, &gpu_request[gpu_request_n]);
                 gpu_request_n++) {
                device_n += gpu_request[gpu_request_n].count;
            }
            if (gpu_request->init != (init == 1)) {
                continue;
            }
            devices = ARENA_ARRAY(a, device_n, struct assigned_device);
            containers[n_out++] = (struct assigned_container){
                .name = arena_str(a, gpu_request->container),
                .init = gpu_request->init,
                .position = gpu_request->position,
                .devices = devices,
                .device_n = devices == NULL ? 0 : devices_of(l, p, &at, w, gpu_request_n, a, devices),
            };
        }
    }
    *ret = (struct assignment){.id = arena_str(a, str_of(p->decision_id)),
                               .containers = containers,
                               .container_n = n_out,
                               .qos = p->qos,
                               .lending = l->nodes[p->node].lending,
                               .hand_off = l->nodes[p->node].hand_off,
                               .vendor = l->nodes[p->node].vendor,
                               .needs_agent = l->nodes[p->node].needs_agent,
                               .dialect = p->demand->dialect};
    return a->overflowed ? err_set(reterr, ERR_LIMIT, "assignment is too large") : 0;
}
