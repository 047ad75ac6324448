/* What differs between the two sides: nodes, charges of pods, tenants. */
#include "sim/whatif_internal.h"

#include "base/bug.h"

#include <stdlib.h>

/* ---- nodes ---- */

static bool same_capacity(const struct snapshot_device *a, const struct snapshot_device *b)
{
    return a->milli_cap == b->milli_cap && a->mem_cap_mib == b->mem_cap_mib && a->slot_cap == b->slot_cap &&
           a->mem_base_mib == b->mem_base_mib && a->profile == b->profile;
}

static bool same_gpu(const struct snapshot_device *a, const struct snapshot_device *b)
{
    return a->uuid.n > 0 && b->uuid.n > 0 ? str_eq(a->uuid, b->uuid) : a->index == b->index;
}

static const struct snapshot_device *find_gpu(const struct snapshot_node *n, const struct snapshot_device *like,
                                              size_t guess)
{
    if (guess < n->device_n && same_gpu(&n->devices[guess], like)) {
        return &n->devices[guess];
    }
    for (size_t i = 0; i < n->device_n; i++) {
        if (same_gpu(&n->devices[i], like)) {
            return &n->devices[i];
        }
    }
    return NULL;
}

static void name_overcommitted(const struct snapshot_node *before, const struct snapshot_node *after,
                               struct whatif *ret)
{
    for (size_t i = 0; i < after->device_n; i++) {
        const struct snapshot_device *now = &after->devices[i], *was = find_gpu(before, now, i);

        if (!now->overcommitted || (was != NULL && was->overcommitted)) {
            continue;
        }
        if (ret->gpu_n < WHATIF_LIST_MAX) {
            ret->gpus[ret->gpu_n] =
                (struct whatif_gpu){arena_str(&ret->arena, after->name), arena_str(&ret->arena, now->uuid), now->index};
        }
        ret->gpu_n++;
    }
}

static bool same_gpus(const struct snapshot_node *a, const struct snapshot_node *b)
{
    bool same = a->device_n == b->device_n && a->plugin_managed_cap == b->plugin_managed_cap;

    for (size_t i = 0; i < a->device_n && same; i++) {
        const struct snapshot_device *other = find_gpu(b, &a->devices[i], i);

        same = other != NULL && same_capacity(&a->devices[i], other);
    }
    return same;
}

static void compare_node(const struct snapshot_node *a, const struct snapshot_node *b, struct whatif *ret)
{
    struct whatif_node n = {
        .gpu_n = {a->device_n, b->device_n}, .closed = {a->closed, b->closed}, .capacity = !same_gpus(a, b)};

    name_overcommitted(a, b, ret);
    ret->reread_n += n.capacity;
    if (!n.capacity && n.closed[BEFORE] == n.closed[AFTER]) {
        return;
    }
    if (ret->changed_n < WHATIF_LIST_MAX) {
        n.name = arena_str(&ret->arena, a->name.n > 0 ? a->name : b->name);
        ret->nodes[ret->changed_n] = n;
    }
    ret->changed_n++;
}

static void count_node(const struct snapshot_node *n, struct whatif *ret, int side)
{
    ret->closed_n[side] += n->closed;
    for (size_t i = 0; i < n->device_n; i++) {
        ret->overcommitted_n[side] += n->devices[i].overcommitted;
    }
}

/* Both by name; a node that is known by its pods alone may be on one side. */
void whatif_compare_nodes(const struct whatif_side *sides, struct whatif *ret)
{
    static const struct snapshot_node none = {.device_n = 0};
    const struct snapshot *x = &sides[BEFORE].snapshot, *y = &sides[AFTER].snapshot;

    ret->gpus = ARENA_ARRAY(&ret->arena, WHATIF_LIST_MAX, struct whatif_gpu);
    ret->nodes = ARENA_ARRAY(&ret->arena, WHATIF_LIST_MAX, struct whatif_node);
    if (ret->gpus == NULL || ret->nodes == NULL) {
        return; /* the arena says so */
    }
    for (size_t i = 0, k = 0; i < x->node_n || k < y->node_n;) {
        int c = i == x->node_n ? 1 : k == y->node_n ? -1 : str_cmp(x->nodes[i].name, y->nodes[k].name);
        const struct snapshot_node *a = c <= 0 ? &x->nodes[i++] : &none, *b = c >= 0 ? &y->nodes[k++] : &none;

        count_node(a, ret, BEFORE);
        count_node(b, ret, AFTER);
        compare_node(a, b, ret);
        ret->node_n++;
    }
    ret->pod_on_closed_n[BEFORE] = x->pod_on_closed_n;
    ret->pod_on_closed_n[AFTER] = y->pod_on_closed_n;
}

/* ---- pods ---- */

struct held {
    const struct snapshot_pod *pod;
    struct holding sum;
    bool there;
};

static int by_uid(const void *a, const void *b)
{
    return str_cmp(((const struct held *)a)->pod->uid, ((const struct held *)b)->pod->uid);
}

/* What every pod is charged, by uid. */
static struct held *holdings(const struct whatif_side *side, struct arena *a)
{
    const struct snapshot *s = &side->snapshot;
    struct held *all = ARENA_ARRAY(a, s->pod_n + 1, struct held);

    for (size_t i = 0; all != NULL && i < s->pod_n; i++) {
        struct ledger_pod p;
        bool known = ledger_find_pod(side->ledger, s->pods[i].uid, &p);

        BUG_ON(!known); /* the snapshot is of this ledger */
        all[i] = (struct held){&s->pods[i], p.held, p.state != LEDGER_PENDING};
    }
    if (all != NULL) {
        qsort(all, s->pod_n, sizeof(*all), by_uid);
    }
    return all;
}

static void compare_pod(const struct held *a, const struct held *b, struct whatif *ret)
{
    const struct snapshot_pod *p = b->there ? b->pod : a->pod;

    if ((!a->there && !b->there) ||
        (a->there == b->there && a->sum.milli == b->sum.milli && a->sum.mem_mib == b->sum.mem_mib)) {
        return;
    }
    if (ret->recharged_n < WHATIF_LIST_MAX) {
        ret->charges[ret->recharged_n] = (struct whatif_charge){arena_str(&ret->arena, p->namespace_),
                                                                arena_str(&ret->arena, p->name),
                                                                arena_str(&ret->arena, p->node_name),
                                                                {a->there, b->there},
                                                                {a->sum, b->sum}};
    }
    ret->recharged_n++;
}

void whatif_compare_pods(const struct whatif_side *sides, struct whatif *ret)
{
    static const struct held none = {.there = false};
    const struct snapshot *s[2] = {&sides[BEFORE].snapshot, &sides[AFTER].snapshot};
    const struct held *x = holdings(&sides[BEFORE], &ret->arena), *y = holdings(&sides[AFTER], &ret->arena);

    ret->charges = ARENA_ARRAY(&ret->arena, WHATIF_LIST_MAX, struct whatif_charge);
    if (x == NULL || y == NULL || ret->charges == NULL) {
        return;
    }
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < s[side]->pod_n; i++) {
            ret->pod_n[side] += s[side]->pods[i].state != LEDGER_PENDING;
            ret->defect_n[side] += s[side]->pods[i].defect != DEMAND_OK;
        }
        ret->foreign_n[side] = s[side]->pods_by_state[LEDGER_FOREIGN];
    }
    for (size_t i = 0, k = 0; i < s[BEFORE]->pod_n || k < s[AFTER]->pod_n;) {
        int c = i == s[BEFORE]->pod_n ? 1 : k == s[AFTER]->pod_n ? -1 : str_cmp(x[i].pod->uid, y[k].pod->uid);
        const struct held *a = c <= 0 ? &x[i++] : &none, *b = c >= 0 ? &y[k++] : &none;

        compare_pod(a, b, ret);
    }
}

/* ---- tenants ---- */

static struct whatif_tenant *tenant_named(struct whatif *w, struct str name)
{
    for (size_t i = 0; i < w->tenant_n; i++) {
        if (str_eq(w->tenants[i].name, name)) {
            return &w->tenants[i];
        }
    }
    w->tenants[w->tenant_n] = (struct whatif_tenant){.name = arena_str(&w->arena, name)};
    return &w->tenants[w->tenant_n++];
}

void whatif_compare_tenants(const struct whatif_side *sides, struct whatif *ret)
{
    struct ledger_tenant *all = ARENA_ARRAY(&ret->arena, TENANTS_MAX, struct ledger_tenant);

    ret->tenants = ARENA_ARRAY(&ret->arena, (size_t)2 * TENANTS_MAX, struct whatif_tenant);
    for (int side = 0; side < 2 && all != NULL && ret->tenants != NULL; side++) {
        size_t n = ledger_tenants(sides[side].ledger, all, TENANTS_MAX);

        for (size_t i = 0; i < n; i++) {
            struct whatif_tenant *t = tenant_named(ret, all[i].name);

            t->there[side] = true;
            t->held[side] = all[i].held;
            t->limit[side] = all[i].limit;
        }
    }
}
