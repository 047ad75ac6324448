#include "core/tenancy/tenancy.h"

#include "base/bug.h"
#include "core/fit/feasibility.h"

#include <stdlib.h>
#include <string.h>

void tenancy_init(struct tenancy *t, struct hash_key hash_key)
{
    *t = (struct tenancy){.hash_key = hash_key};
    hashmap_init(&t->space_index);
}

static void free_tenants(struct tenancy *t)
{
    for (uint32_t i = 0; i < t->tenant_n; i++) {
        struct tenant *limits = &t->tenants[i].limits;

        for (size_t j = 0; j < limits->namespace_n; j++) {
            free((char *)(uintptr_t)limits->namespaces[j].p);
        }
        free((struct str *)(uintptr_t)limits->namespaces);
        free((char *)(uintptr_t)limits->name.p);
    }
    free(t->tenants);
    t->tenants = NULL;
    t->tenant_n = 0;
}

void tenancy_fini(struct tenancy *t)
{
    free_tenants(t);
    for (uint32_t i = 0; i < t->space_n; i++) {
        free(t->spaces[i].name);
    }
    free(t->spaces);
    free(t->free_spaces);
    hashmap_fini(&t->space_index);
}

/* ---- amounts ---- */

static struct holding sum(struct holding a, struct holding b)
{
    return (struct holding){a.milli + b.milli, a.mem_mib + b.mem_mib};
}

static struct holding difference(struct holding a, struct holding b)
{
    return (struct holding){a.milli - b.milli, a.mem_mib - b.mem_mib};
}

static bool is_zero(struct holding h)
{
    return h.milli == 0 && h.mem_mib == 0;
}

static bool is_more(struct holding a, struct holding than)
{
    return a.milli > than.milli || a.mem_mib > than.mem_mib;
}

static int64_t part_of(int64_t total, int32_t permille)
{
    return total / 1000 * permille + total % 1000 * permille / 1000;
}

static int64_t limit_of(int64_t absolute, int32_t permille, int64_t total)
{
    return absolute >= 0 ? absolute : permille >= 0 ? part_of(total, permille) : INT64_MAX;
}

struct holding tenancy_limit(const struct tenancy *t, uint32_t tenant)
{
    const struct tenant *l = &t->tenants[tenant].limits;

    return (struct holding){limit_of(l->milli, l->gpu_permille, t->total.milli),
                            limit_of(l->mem_mib, l->mem_permille, t->total.mem_mib)};
}

struct holding tenancy_residual(const struct tenancy *t, uint32_t tenant)
{
    struct holding limit;

    if (tenant == TENANCY_NONE) {
        return (struct holding){INT64_MAX, INT64_MAX};
    }
    limit = tenancy_limit(t, tenant);
    return (struct holding){
        limit.milli == INT64_MAX ? INT64_MAX : limit.milli - t->tenants[tenant].held.milli,
        limit.mem_mib == INT64_MAX ? INT64_MAX : limit.mem_mib - t->tenants[tenant].held.mem_mib,
    };
}

/* ---- namespaces ---- */

static bool space_has_name(const void *owner, uint32_t value, const void *key)
{
    const struct tenancy *t = owner;
    const struct str *name = key;

    return str_eq(t->spaces[value].text, *name);
}

static uint32_t space_find(const struct tenancy *t, struct str namespace_)
{
    return hashmap_find(&t->space_index, hash_str(t->hash_key, namespace_), space_has_name, t, &namespace_);
}

uint32_t tenancy_match(const struct tenancy *t, struct str namespace_)
{
    for (uint32_t i = 0; i < t->tenant_n; i++) {
        const struct tenant *l = &t->tenants[i].limits;

        if (policy_names_namespace(l->namespaces, l->namespace_n, namespace_)) {
            return i;
        }
    }
    return TENANCY_NONE;
}

uint32_t tenancy_find(const struct tenancy *t, struct str namespace_)
{
    uint32_t space = t->tenant_n == 0 ? HASHMAP_NONE : space_find(t, namespace_);

    return space != HASHMAP_NONE ? t->spaces[space].tenant : tenancy_match(t, namespace_);
}

static uint32_t space_slot(struct tenancy *t)
{
    if (t->free_space_n > 0) {
        return t->free_spaces[--t->free_space_n];
    }
    if (t->space_n == t->space_cap) {
        t->space_cap = t->space_cap == 0 ? 16 : t->space_cap * 2;
        t->spaces = xreallocarray(t->spaces, t->space_cap, sizeof(*t->spaces));
        t->free_spaces = xreallocarray(t->free_spaces, t->space_cap, sizeof(*t->free_spaces));
    }
    return t->space_n++;
}

uint32_t tenancy_enter(struct tenancy *t, struct str namespace_)
{
    uint32_t i = space_find(t, namespace_);

    if (i == HASHMAP_NONE) {
        char *name = str_dup(namespace_);

        i = space_slot(t);
        t->spaces[i] =
            (struct tenancy_space){.name = name, .text = {name, namespace_.n}, .tenant = tenancy_match(t, namespace_)};
        hashmap_insert(&t->space_index, hash_str(t->hash_key, namespace_), i);
    }
    t->spaces[i].pod_n++;
    return i;
}

void tenancy_leave(struct tenancy *t, uint32_t space)
{
    struct tenancy_space *s = &t->spaces[space];

    BUG_ON(s->pod_n == 0);
    if (--s->pod_n > 0) {
        return;
    }
    BUG_ON(!is_zero(s->held));
    hashmap_remove(&t->space_index, hash_str(t->hash_key, s->text), space);
    free(s->name);
    *s = (struct tenancy_space){.name = NULL};
    t->free_spaces[t->free_space_n++] = space;
}

/* ---- changes ---- */

/* What it had at the end of the last op. Meanwhile the total may have changed already. */
static void touch(struct tenancy *t, struct tenancy_tenant *x)
{
    struct holding now = t->total;

    if (!x->touched) {
        x->touched = true;
        t->total = t->total_before;
        x->residual_before = tenancy_residual(t, (uint32_t)(x - t->tenants));
        t->total = now;
    }
}

void tenancy_hold(struct tenancy *t, uint32_t space, struct holding before, struct holding now)
{
    struct tenancy_space *s = &t->spaces[space];
    struct holding change = difference(now, before);
    struct tenancy_tenant *x;

    if (is_zero(before) && is_zero(now)) {
        return;
    }
    s->held = sum(s->held, change);
    s->holder_n += is_zero(before);
    s->holder_n -= is_zero(now);
    if (s->tenant != TENANCY_NONE) {
        x = &t->tenants[s->tenant];
        touch(t, x);
        x->held = sum(x->held, change);
        x->holder_n += is_zero(before);
        x->holder_n -= is_zero(now);
    }
}

void tenancy_offer(struct tenancy *t, struct holding before, struct holding now)
{
    t->total = sum(t->total, difference(now, before));
}

bool tenancy_follow(struct tenancy *t)
{
    bool all = is_more(t->total, t->total_before);
    bool more = false;

    for (uint32_t i = 0; i < t->tenant_n; i++) {
        struct tenancy_tenant *x = &t->tenants[i];

        if (all) {
            touch(t, x);
        }
        if (x->touched) {
            more = more || is_more(tenancy_residual(t, i), x->residual_before);
            x->touched = false;
        }
    }
    t->total_before = t->total;
    return more;
}

static struct tenant limits_copy(const struct tenant *from)
{
    struct str *patterns = xcalloc(from->namespace_n + 1, sizeof(*patterns));
    struct tenant copy = *from;

    for (size_t i = 0; i < from->namespace_n; i++) {
        patterns[i] = (struct str){str_dup(from->namespaces[i]), from->namespaces[i].n};
    }
    copy.name = (struct str){str_dup(from->name), from->name.n};
    copy.namespaces = patterns;
    return copy;
}

void tenancy_set(struct tenancy *t, const struct tenant *tenants, size_t n)
{
    free_tenants(t);
    t->tenants = xcalloc(n + 1, sizeof(*t->tenants));
    t->tenant_n = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        t->tenants[i].limits = limits_copy(&tenants[i]);
    }
    for (uint32_t i = 0; i < t->space_n; i++) {
        struct tenancy_space *s = &t->spaces[i];

        if (s->name != NULL) {
            s->tenant = tenancy_match(t, s->text);
        }
        if (s->name != NULL && s->tenant != TENANCY_NONE) {
            t->tenants[s->tenant].held = sum(t->tenants[s->tenant].held, s->held);
            t->tenants[s->tenant].holder_n += s->holder_n;
        }
    }
}

/* ---- what is counted ---- */

struct holding tenancy_unit(const struct device_state *devices, uint32_t device_n)
{
    struct holding unit = {DEVICE_MILLI, 0}; /* also where MIG instances are all that is known */

    for (uint32_t i = 0; i < device_n; i++) {
        int32_t mem_mib = device_is_part(&devices[i]) ? devices[i].mem_base_mib : devices[i].mem_cap_mib;

        unit.milli = unit.milli > devices[i].milli_cap ? unit.milli : devices[i].milli_cap;
        unit.mem_mib = unit.mem_mib > mem_mib ? unit.mem_mib : mem_mib;
    }
    return unit;
}

static struct holding times(struct holding unit, int64_t n)
{
    return (struct holding){unit.milli * n, unit.mem_mib * n};
}

struct holding tenancy_plugin(const struct node_state *n, const struct device_state *devices, int32_t unit_n)
{
    struct holding all = times(tenancy_unit(devices, n->device_n), unit_n);
    int32_t per_gpu = n->plugin_managed_per_gpu > 1 ? n->plugin_managed_per_gpu : 1;

    return (struct holding){all.milli / per_gpu, all.mem_mib / per_gpu};
}

struct holding tenancy_node_total(const struct node_state *n, const struct device_state *devices)
{
    struct holding plugin = tenancy_plugin(n, devices, n->plugin_managed_cap);
    struct holding all = {0};

    for (uint32_t i = 0; i < n->device_n; i++) {
        if (devices[i].profile != DEVICE_IN_MIG_MODE) { /* that is offered by its instances */
            all = sum(all, (struct holding){devices[i].milli_cap, devices[i].mem_cap_mib});
        }
    }
    /* The same GPUs, seen twice. */
    all.milli = all.milli > plugin.milli ? all.milli : plugin.milli;
    all.mem_mib = all.mem_mib > plugin.mem_mib ? all.mem_mib : plugin.mem_mib;
    return all;
}

struct holding tenancy_wanted(const struct demand *d, const struct placement *at, const struct node_state *n,
                              const struct device_state *devices)
{
    struct holding all = {0};

    if (d->plugin_managed_n > 0) {
        return tenancy_plugin(n, devices, d->plugin_managed_n);
    }
    for (uint64_t used = placement_devices(at, d->gpu_request_n); used != 0; used &= used - 1) {
        struct charge c = placement_charge(d, at, devices, (size_t)__builtin_ctzll(used));

        all = sum(all, (struct holding){c.milli, c.mem_mib});
    }
    return all;
}

struct holding tenancy_wanted_at_most(const struct demand *d, struct holding largest, bool may_be_all)
{
    struct holding all = times(largest, d->plugin_managed_n);

    for (size_t i = 0; i < d->gpu_request_n; i++) {
        const struct gpu_request *w = &d->gpu_requests[i];
        struct holding one = {w->milli, w->mem_mib};

        if (w->kind == GPU_REQUEST_WHOLE) {
            one = largest;
        } else if (!gpu_request_kind_has_milli(w->kind) || (w->kind == GPU_REQUEST_BOTH && w->milli == 0)) {
            one = largest; /* on a device small enough for it, or on a MIG instance, which it takes whole */
        } else if (!gpu_request_kind_has_mem(w->kind)) {
            one.mem_mib = largest.mem_mib;
        }
        if (may_be_all || (d->says_qos && d->qos == QOS_EQUAL_SHARE)) { /* the even part of one may be all of it */
            one.milli = one.milli > largest.milli ? one.milli : largest.milli;
            one.mem_mib = one.mem_mib > largest.mem_mib ? one.mem_mib : largest.mem_mib;
        }
        all = sum(all, times(one, w->count));
    }
    return all;
}
