/* What the ledger tells tenancy, and asks of it. */
#include "base/bug.h"
#include "core/ledger/state.h"
#include "core/ledger/tenants.h"

#include <stdlib.h>

static struct holding held_by(const struct ledger *l, const struct pod_entry *p)
{
    struct holding h = {0};

    if (p->node != LEDGER_NONE && p->demand->plugin_managed_n > 0) {
        const struct node_state *row = &l->rows[p->node];

        h = tenancy_plugin(row, &l->states[row->first_device], p->demand->plugin_managed_n);
    }
    for (size_t i = 0; p->node != LEDGER_NONE && i < p->charge_n; i++) {
        h.milli += p->charges[i].charge.milli;
        h.mem_mib += p->charges[i].charge.mem_mib;
    }
    return h;
}

static struct holding offered_by(const struct ledger *l, uint32_t node)
{
    const struct node_state *row = &l->rows[node];

    if (!l->nodes[node].described) {
        return (struct holding){0};
    }
    return tenancy_node_total(row, &l->states[row->first_device]);
}

void ledger_count_pod(struct ledger *l, struct pod_entry *p)
{
    struct holding now = held_by(l, p);

    tenancy_hold(&l->tenancy, p->space, p->held, now);
    p->held = now;
}

void ledger_count_node(struct ledger *l, uint32_t node)
{
    const struct node_state *row = &l->rows[node];
    struct node_entry *n = &l->nodes[node];
    struct holding now = offered_by(l, node), unit;

    tenancy_offer(&l->tenancy, n->offered, now);
    n->offered = now;
    unit = tenancy_unit(&l->states[row->first_device], row->device_n);
    l->largest.milli = l->largest.milli > unit.milli ? l->largest.milli : unit.milli;
    l->largest.mem_mib = l->largest.mem_mib > unit.mem_mib ? l->largest.mem_mib : unit.mem_mib;
}

struct holding ledger_tenant_residual(const struct ledger *l, struct str namespace_)
{
    return tenancy_residual(&l->tenancy, tenancy_find(&l->tenancy, namespace_));
}

bool ledger_may_pass_tenant(const struct ledger *l, const struct demand *d, struct holding residual)
{
    return !holding_fits(tenancy_wanted_at_most(d, l->largest, l->charges_more), residual);
}

static struct ledger_tenant tenant_at(const struct ledger *l, uint32_t i)
{
    const struct tenancy_tenant *t = &l->tenancy.tenants[i];

    return (struct ledger_tenant){
        .name = t->limits.name, .pod_n = t->holder_n, .held = t->held, .limit = tenancy_limit(&l->tenancy, i)};
}

size_t ledger_tenants(const struct ledger *l, struct ledger_tenant *ret, size_t max)
{
    size_t n = l->tenancy.tenant_n < max ? l->tenancy.tenant_n : max;

    for (size_t i = 0; i < n; i++) {
        ret[i] = tenant_at(l, (uint32_t)i);
    }
    return n;
}

bool ledger_tenant_of(const struct ledger *l, struct str namespace_, struct ledger_tenant *ret)
{
    uint32_t i = tenancy_find(&l->tenancy, namespace_);

    if (i != TENANCY_NONE) {
        *ret = tenant_at(l, i);
    }
    return i != TENANCY_NONE;
}

/* ---- the same from scratch ---- */

static bool is_equal(struct holding a, struct holding b)
{
    return a.milli == b.milli && a.mem_mib == b.mem_mib;
}

/* What the pods of each namespace hold, or NULL with *ret_why. */
static struct tenancy_space *sums_of_pods(const struct ledger *l, const char **ret_why)
{
    struct tenancy_space *sums = xcalloc(l->tenancy.space_n + 1, sizeof(*sums));

    for (uint32_t i = 0; i < l->pod_n && *ret_why == NULL; i++) {
        const struct pod_entry *p = &l->pods[i];
        struct tenancy_space *s;

        if (!p->used) {
            continue;
        }
        if (p->space >= l->tenancy.space_n || !str_eq(l->tenancy.spaces[p->space].text, p->namespace_)) {
            *ret_why = "a pod is counted in another namespace";
            break;
        }
        if (!is_equal(p->held, held_by(l, p))) {
            *ret_why = "what a pod is counted with is not what it is charged";
        }
        s = &sums[p->space];
        s->pod_n++;
        s->holder_n += p->held.milli != 0 || p->held.mem_mib != 0;
        s->held.milli += p->held.milli;
        s->held.mem_mib += p->held.mem_mib;
    }
    return sums;
}

static const char *check_spaces(const struct tenancy *t, const struct tenancy_space *sums)
{
    for (uint32_t i = 0; i < t->space_n; i++) {
        const struct tenancy_space *s = &t->spaces[i];

        if (s->pod_n != sums[i].pod_n || (s->pod_n == 0) != (s->name == NULL)) {
            return "the number of pods of a namespace is wrong";
        }
        if (s->holder_n != sums[i].holder_n || !is_equal(s->held, sums[i].held)) {
            return "the sum of a namespace is not that of its pods";
        }
        if (s->name != NULL && tenancy_match(t, s->text) != s->tenant) {
            return "a namespace is counted for a tenant that does not name it";
        }
    }
    return NULL;
}

static const char *check_tenants(const struct tenancy *t)
{
    for (uint32_t i = 0; i < t->tenant_n; i++) {
        struct holding held = {0};
        uint32_t holder_n = 0;

        for (uint32_t j = 0; j < t->space_n; j++) {
            const struct tenancy_space *s = &t->spaces[j];

            if (s->name != NULL && s->tenant == i) {
                held.milli += s->held.milli;
                held.mem_mib += s->held.mem_mib;
                holder_n += s->holder_n;
            }
        }
        if (holder_n != t->tenants[i].holder_n || !is_equal(held, t->tenants[i].held)) {
            return "the sum of a tenant is not that of its namespaces";
        }
    }
    return NULL;
}

const char *ledger_check_tenancy(const struct ledger *l)
{
    struct holding total = {0};
    const char *why = NULL;
    struct tenancy_space *sums = sums_of_pods(l, &why);

    if (why == NULL) {
        why = check_spaces(&l->tenancy, sums);
    }
    free(sums);
    for (uint32_t i = 0; i < l->node_n; i++) {
        if (l->nodes[i].used) {
            struct holding offered = offered_by(l, i);

            total.milli += offered.milli;
            total.mem_mib += offered.mem_mib;
        }
    }
    if (why == NULL && !is_equal(total, l->tenancy.total)) {
        why = "the sum of what the nodes offer is wrong";
    }
    return why != NULL ? why : check_tenants(&l->tenancy);
}
