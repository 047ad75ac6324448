/* Nodes, copied: the pods of a node in their order, then its devices with what each pod holds of them. */
#include "base/bug.h"
#include "core/fit/feasibility.h"
#include "core/ledger/device_table.h"
#include "core/ledger/node_table.h"
#include "core/ledger/numbers.h"
#include "core/ledger/pod_table.h"
#include "core/ledger/snapshot_internal.h"
#include "core/ledger/state.h"
#include "core/ledger/turned_away.h"
#include "model/mig.h"

#include <stdlib.h>

/* What the pods of one node hold, in their order, and how much of it is on which device. */
struct placed {
    uint32_t ordinal;
    struct snapshot_allocation allocation;
};

struct placed_raised {
    uint32_t ordinal;
    struct snapshot_raised raised;
};

struct placing {
    struct placed *items;
    struct placed_raised *raised;
    size_t n, raised_n, max; /* room for `max` of either */
    size_t per_device[DEVICES_PER_NODE_MAX], raised_per_device[DEVICES_PER_NODE_MAX];
};

static void put(struct placing *to, uint32_t ordinal, const struct snapshot_allocation *a)
{
    BUG_ON(to->n == to->max);
    to->items[to->n++] = (struct placed){ordinal, *a};
    to->per_device[ordinal]++;
}

static bool same_charge(const struct charge *a, const struct charge *b)
{
    return a->milli == b->milli && a->mem_mib == b->mem_mib && a->slots == b->slots && a->exclusive == b->exclusive;
}

/* `at` NULL: nobody knows its devices. */
static void put_raised(const struct snapshot_taker *t, const struct pod_entry *p, const struct placement *at,
                       const struct device_state *states, struct placing *to)
{
    const struct demand d = ledger_charged_demand(p);

    for (size_t i = 0; i < p->charge_n && p->record_parts == NULL; i++) {
        const struct pod_charge *c = &p->charges[i];
        struct charge asked = at != NULL ? placement_charge(&d, at, states, c->ordinal)
                                         : demand_pessimistic_charge(&d, &states[c->ordinal]);

        if (!same_charge(&asked, &c->charge)) {
            BUG_ON(to->raised_n == to->max);
            to->raised[to->raised_n++] = (struct placed_raised){c->ordinal, {(uint32_t)t->pod_n - 1, c->charge}};
            to->raised_per_device[c->ordinal]++;
        }
    }
}

/* What the GPU request says, where its charge does not tell. Memory that stands alone says that no milli were asked
 * for. */
static void set_asked(const struct gpu_request *w, const struct charge *c, struct snapshot_allocation *ret)
{
    bool milli = gpu_request_kind_has_milli(w->kind) && w->milli != c->milli;
    bool mem = gpu_request_kind_has_mem(w->kind) && w->mem_mib != c->mem_mib;

    ret->asked_milli = gpu_request_kind_has_milli(w->kind) && (milli || mem) ? w->milli : 0;
    ret->asked_mem_mib = gpu_request_kind_has_mem(w->kind) && (milli || mem) ? w->mem_mib : 0;
}

static enum gpu_request_kind kind_of_grant(const struct charge *c)
{
    return c->exclusive      ? GPU_REQUEST_WHOLE
           : c->mem_mib == 0 ? GPU_REQUEST_MILLI
           : c->milli == 0   ? GPU_REQUEST_MEMORY
                             : GPU_REQUEST_BOTH;
}

/* What the record gives to one container. What was asked for is shown in the words of the GPU request, unless that says
 * something else today. */
static void put_granted(const struct node_entry *n, const struct pod_entry *p, size_t w, size_t *first,
                        const struct device_state *states, struct snapshot_allocation a, struct placing *to)
{
    const struct demand d = ledger_charged_demand(p);
    const struct gpu_request *gpu_request = &p->demand->gpu_requests[w];

    for (uint16_t i = 0; i < gpu_request->count; i++, ++*first) {
        const struct charge *c = &p->record_parts[*first].charge;
        uint32_t ordinal = ledger_device_find(n, p, p->refs[*first]);
        struct charge today;

        BUG_ON(ordinal == LEDGER_NONE);
        today = device_charge(&states[ordinal], &d, gpu_request);
        a.milli = c->milli;
        a.mem_mib = c->mem_mib;
        if (same_charge(c, &today)) {
            a.kind = gpu_request->kind;
            set_asked(gpu_request, &today, &a);
        } else {
            a.kind = kind_of_grant(c);
            a.asked_milli = 0;
            a.asked_mem_mib = 0;
        }
        put(to, ordinal, &a);
    }
}

static void put_pod(const struct snapshot_taker *t, const struct node_entry *n, const struct pod_entry *p,
                    const struct device_state *states, struct placing *to)
{
    struct placement at;
    struct snapshot_allocation a = {.pod = (uint32_t)t->pod_n - 1, .kind = GPU_REQUEST_KIND__MAX};
    bool known = !ledger_pod_is_counted(&t->l->rows[p->node], p) && ledger_pod_placement(n, p, &at);
    const struct demand d = ledger_charged_demand(p);
    size_t first = 0;

    put_raised(t, p, known ? &at : NULL, states, to);
    if (!known) {
        for (size_t i = 0; i < p->charge_n; i++) {
            a.milli = p->charges[i].charge.milli;
            a.mem_mib = p->charges[i].charge.mem_mib;
            put(to, p->charges[i].ordinal, &a);
        }
        return;
    }
    for (size_t w = 0; w < p->demand->gpu_request_n; w++) {
        const struct gpu_request *gpu_request = &p->demand->gpu_requests[w];

        a.container = at.gpu_request_devices[w] == 0 ? STR_NULL : arena_str(t->a, gpu_request->container);
        a.init = gpu_request->init;
        a.phases = gpu_request->phases;
        if (p->record_parts != NULL) {
            put_granted(n, p, w, &first, states, a, to);
            continue;
        }
        a.kind = gpu_request->kind;
        for (uint64_t left = at.gpu_request_devices[w]; left != 0; left &= left - 1) {
            unsigned i = (unsigned)__builtin_ctzll(left);
            struct charge c = device_charge(&states[i], &d, gpu_request);

            a.milli = c.milli;
            a.mem_mib = c.mem_mib;
            set_asked(gpu_request, &c, &a);
            put(to, i, &a);
        }
    }
}

/* What is left of a GPU in MIG mode is nothing, and so is what there is of it: only what somebody holds of the whole is
 * to be seen. The map of its slots is drawn from its instances, those that are gone left out. */
static void take_mig(const struct ledger *l, const struct node_entry *n, const struct ledger_device *d,
                     struct snapshot_device *ret)
{
    ret->milli_charged -= ret->milli_cap;
    ret->mem_charged_mib -= ret->mem_cap_mib;
    ret->slot_charged -= ret->slot_cap;
    ret->milli_cap = ret->slot_cap = 0;
    ret->mem_cap_mib = 0;
    ret->exclusive = false;
    ret->mig_family = mig_family_of(intern_text(l->models, d->model_id), d->mem_mib);
    for (uint32_t i = 0; i < n->device_n; i++) {
        const struct ledger_device *in = &n->devices[i];
        const struct mig_shape *s = ret->mig_family == NULL ? NULL : mig_shape_find(ret->mig_family, in->profile);

        if (s != NULL && !in->lost && in->gpu_index == d->ref.index && in->start >= 0) {
            ret->mig_occupied |= mig_extent(s, (unsigned)in->start);
        }
    }
}

static void take_device(const struct snapshot_taker *t, const struct node_entry *n, const struct ledger_device *d,
                        const struct device_state *s, struct snapshot_device *ret)
{
    /* mostly all are of one model */
    bool as_before = d != n->devices && d->model_id == d[-1].model_id;
    struct str model = as_before ? ret[-1].model : arena_str(t->a, intern_text(t->l->models, d->model_id));

    *ret = (struct snapshot_device){
        .uuid = arena_str(t->a, ledger_device_uuid(t->l, n, d)),
        .index = d->ref.index,
        .model = model,
        .profile = d->profile,
        .start = d->start,
        .counted = d->counted,
        .slice = d->slice,
        .gpu_index = d->gpu_index,
        .healthy = d->healthy,
        .lost = d->lost,
        .exclusive = (s->flags & DEVICE_EXCLUSIVE) != 0,
        .overcommitted = device_is_overcommitted(s),
        .group_taken = (s->flags & DEVICE_GROUP_TAKEN) != 0,
        .milli_cap = s->milli_cap,
        .milli_charged = s->milli_cap - s->milli_free,
        .mem_base_mib = s->mem_base_mib,
        .mem_cap_mib = s->mem_cap_mib,
        .mem_charged_mib = (int64_t)s->mem_cap_mib - s->mem_free_mib,
        .slot_cap = s->slot_cap,
        .slot_charged = s->slot_cap - s->slot_free,
    };
    if (d->profile == DEVICE_IN_MIG_MODE) {
        take_mig(t->l, n, d, ret);
    }
}

/* Sorts what was placed by device, each keeping the order of the pods. */
static struct snapshot_device *take_devices(const struct snapshot_taker *t, uint32_t node, const struct placing *placed)
{
    const struct ledger *l = t->l;
    const struct node_entry *n = &l->nodes[node];
    struct snapshot_device *devices = arena_alloc(t->a, n->device_n * sizeof(*devices));
    struct snapshot_allocation *all = arena_alloc(t->a, placed->n * sizeof(*all));
    struct snapshot_raised *raised = arena_alloc(t->a, placed->raised_n * sizeof(*raised));
    struct snapshot_allocation *to[DEVICES_PER_NODE_MAX];
    struct snapshot_raised *raised_to[DEVICES_PER_NODE_MAX];

    if (devices == NULL || all == NULL || raised == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < n->device_n; i++) {
        take_device(t, n, &n->devices[i], &l->states[l->rows[node].first_device + i], &devices[i]);
        devices[i].allocations = to[i] = all;
        devices[i].allocation_n = placed->per_device[i];
        all += placed->per_device[i];
        devices[i].raised = raised_to[i] = raised;
        devices[i].raised_n = placed->raised_per_device[i];
        raised += placed->raised_per_device[i];
    }
    for (size_t i = 0; i < placed->n; i++) {
        *to[placed->items[i].ordinal]++ = placed->items[i].allocation;
    }
    for (size_t i = 0; i < placed->raised_n; i++) {
        *raised_to[placed->raised[i].ordinal]++ = placed->raised[i].raised;
    }
    return devices;
}

static void take_pods(struct snapshot_taker *t, uint32_t node, struct placing *placed)
{
    const struct ledger *l = t->l;
    const struct node_entry *n = &l->nodes[node];

    for (uint32_t i = 0; i < n->pod_n && !t->a->overflowed; i++) {
        const struct pod_entry *p = &l->pods[n->pods[i]];

        if (snapshot_wants(t, p)) {
            snapshot_take_pod(t, p);
            put_pod(t, n, p, &l->states[l->rows[node].first_device], placed);
        }
    }
}

/* No pod is placed on more devices than it names, or is charged on. */
static size_t placed_max(const struct ledger *l, const struct node_entry *n)
{
    size_t most = 0;

    for (uint32_t i = 0; i < n->pod_n; i++) {
        const struct pod_entry *p = &l->pods[n->pods[i]];

        most += p->ref_n > p->charge_n ? p->ref_n : p->charge_n;
    }
    return most;
}

/* NULL: the arena is full. */
static const struct snapshot_device *take_pods_and_devices(struct snapshot_taker *t, uint32_t node)
{
    enum { FEW = 64 };
    struct placed few[FEW];
    struct placed_raised few_raised[FEW];
    struct placing placed = {.items = few, .raised = few_raised, .max = FEW};
    size_t most = placed_max(t->l, &t->l->nodes[node]);
    const struct snapshot_device *devices;

    if (most > FEW) {
        placed.items = xcalloc(most, sizeof(*placed.items));
        placed.raised = xcalloc(most, sizeof(*placed.raised));
        placed.max = most;
    }
    take_pods(t, node, &placed);
    devices = take_devices(t, node, &placed);
    if (placed.items != few) {
        free(placed.items);
        free(placed.raised);
    }
    return devices;
}

void snapshot_take_node(struct snapshot_taker *t, uint32_t node, struct snapshot_node *ret)
{
    const struct ledger *l = t->l;
    const struct node_entry *n = &l->nodes[node];
    const struct snapshot_device *devices;
    size_t first = t->pod_n;

    t->node_name = arena_str(t->a, l->names[node]);
    devices = take_pods_and_devices(t, node);
    *ret = (struct snapshot_node){
        .name = t->node_name,
        .uid = arena_str(t->a, str_of(n->uid)),
        .described = n->described,
        .schedulable = n->schedulable,
        .closed = n->closed,
        .source = n->source,
        .note = ledger_note_of(l, n),
        .elsewhere = n->described && ledger_is_elsewhere(n),
        .unmeasured = n->unmeasured,
        .mig_changing = (l->rows[node].flags & NODE_MIG_CHANGING) != 0,
        .mig_counted = (l->rows[node].flags & NODE_MIG_COUNTED) != 0,
        .mig_single = (l->rows[node].flags & NODE_MIG_SINGLE) != 0,
        .plugin_managed_cap = l->rows[node].plugin_managed_cap,
        .plugin_managed_used = l->rows[node].plugin_managed_used,
        .plugin_managed_per_gpu = l->rows[node].plugin_managed_per_gpu,
        .plugin_managed_one = (l->rows[node].flags & NODE_ONE_UNIT) != 0,
        .overcommit_milli = n->overcommit_milli,
        .overcommit_mem_milli = n->overcommit_mem_milli,
        .memory_only = n->memory_only,
        .qos = n->qos,
        .lending = n->lending,
        .hand_off = n->hand_off,
        .hand_off_unfit = l->rows[node].hand_off == HAND_OFF__MAX,
        .vendor = n->vendor,
        .needs_agent = n->described && n->needs_agent,
        .host_group = arena_str(t->a, n->host_group),
        .host_gpu_mem_mib = n->group_mem_mib,
        .host = l->rows[node].host,
        .devices = devices,
        .device_n = n->device_n,
        .first_pod = first,
        .pod_n = t->pod_n - first,
    };
}

static int by_name(const void *a, const void *b)
{
    const struct snapshot_node *x = a, *y = b;

    return str_cmp(x->name, y->name);
}

int snapshot_take(const struct ledger *l, struct arena *a, struct str node_name, struct str namespace_,
                  struct snapshot *ret, struct err *reterr)
{
    struct snapshot_taker t = {.l = l, .a = a, .namespace_ = namespace_};
    struct snapshot_node *nodes = ARENA_ARRAY(a, (size_t)l->node_used_n + 1, struct snapshot_node);
    size_t node_n = 0;

    t.pods = ARENA_ARRAY(a, (size_t)l->pod_used_n + 1, struct snapshot_pod);
    snapshot_totals(l, ret);
    for (uint32_t i = 0; !a->overflowed && i < l->node_n; i++) {
        if (snapshot_shows_node(l, i) && (node_name.n == 0 || str_eq(node_name, l->names[i]))) {
            snapshot_take_node(&t, i, &nodes[node_n++]);
        }
    }
    for (uint32_t i = 0; !a->overflowed && node_name.n == 0 && i < l->pod_n; i++) {
        if (l->pods[i].used && l->pods[i].node == LEDGER_NONE && snapshot_wants(&t, &l->pods[i])) {
            snapshot_take_pod(&t, &l->pods[i]);
        }
    }
    if (a->overflowed) {
        return err_set(reterr, ERR_LIMIT, "a full snapshot does not fit; ask for one node or namespace");
    }
    qsort(nodes, node_n, sizeof(*nodes), by_name);
    ret->nodes = nodes;
    ret->node_n = node_n;
    ret->pods = t.pods;
    ret->pod_n = t.pod_n;
    return 0;
}
