/* Planning ahead: the round. What is remembered of shapes of pods stands in shapes.c. */
#include "core/plan/head.h"

#include "base/bug.h"
#include "core/plan/head_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- the sight ---- */

void plan_sight_init(struct plan_sight *s)
{
    ledger_sight_init(&s->cluster);
}

void plan_sight_fini(struct plan_sight *s)
{
    ledger_sight_fini(&s->cluster);
}

void plan_sight_take(struct plan_sight *s, const struct ledger *l, struct plan_held *held, size_t held_n)
{
    ledger_sight_take(&s->cluster, l);
    for (size_t i = 0; i < held_n; i++) {
        struct ledger_pod p;

        held[i].counted = ledger_find_pod(l, held[i].pod->uid, &p) && p.state != LEDGER_PENDING;
    }
}

/* ---- what is kept from round to round ---- */

struct plan_head *plan_head_new(void)
{
    struct plan_head *h = xcalloc(1, sizeof(*h));

    h->scores = score_cache_new();
    hashmap_init(&h->index);
    hashmap_init(&h->held);
    return h;
}

void plan_head_free(struct plan_head *h)
{
    if (h != NULL) {
        score_cache_free(h->scores);
        hashmap_fini(&h->index);
        hashmap_fini(&h->held);
        free(h->known);
        free(h->facts);
        free(h->closed);
        free(h->landed);
        free(h->residuals);
        free(h);
    }
}

static const struct hash_key key = {0x68656164, 0x706c616e};

static bool is_node(const void *owner, uint32_t value, const void *wanted)
{
    const struct mirror *m = owner;
    const struct str *name = wanted;

    return str_eq(m->names[value], *name);
}

static void follow_names(struct plan_head *h, const struct mirror *m)
{
    hashmap_fini(&h->index);
    hashmap_reserve(&h->index, m->node_n);
    for (uint32_t i = 0; i < m->node_n; i++) {
        if (m->names[i].n > 0) {
            hashmap_insert(&h->index, hash_name(key, m->names[i]), i);
        }
    }
    h->names_version = m->names_version;
    h->index_made = true;
    h->known_of = NULL;
}

/* A change of any node gives the table another version, and pointers another place. */
static void follow_facts(struct plan_head *h, const struct mirror *m, const struct node_facts_table *t)
{
    h->known = xreallocarray(h->known, m->node_n + 1, sizeof(const struct node_facts *));
    for (uint32_t i = 0; i < m->node_n; i++) {
        const struct node_facts *f = m->names[i].n > 0 ? node_facts_find(t, m->names[i]) : NULL;

        h->known[i] = f != NULL && !f->shares_gpus ? f : NULL;
    }
    h->known_of = t;
    h->known_version = node_facts_version(t);
}

/* Places of names, and facts by place. */
static void follow(struct plan_head *h, const struct plan_question *q)
{
    const struct mirror *m = q->mirror;

    if (!h->index_made || h->names_version != m->names_version) {
        follow_names(h, m);
    }
    if (h->known_of != q->nodes || h->known_version != node_facts_version(q->nodes)) {
        follow_facts(h, m, q->nodes);
    }
    h->facts = xreallocarray(h->facts, m->node_n + 1, sizeof(const struct node_facts *));
    h->closed = xreallocarray(h->closed, m->node_n + 1, sizeof(*h->closed));
    for (uint32_t i = 0; i < m->node_n; i++) {
        h->facts[i] = m->open[i] ? h->known[i] : NULL;
        h->closed[i] = false;
    }
}

static void begin(struct plan_head *h, const struct plan_question *q)
{
    uint32_t tenant_n = q->sight->cluster.tenancy.tenant_n;

    follow(h, q);
    h->q = q;
    h->landed_n = 0;
    h->shape_n = 0;
    h->work = 0;
    h->residuals = xreallocarray(h->residuals, tenant_n + 1, sizeof(*h->residuals));
    if (tenant_n > 0) {
        memcpy(h->residuals, q->sight->cluster.residuals, tenant_n * sizeof(*h->residuals));
    }
    if (q->forecast != NULL) {
        h->prices = *forecast_prices(q->forecast);
    }
}

/* ---- landing ---- */

static struct holding *residual_of(struct plan_head *h, struct str namespace_)
{
    uint32_t tenant = tenancy_find(&h->q->sight->cluster.tenancy, namespace_);

    return tenant == TENANCY_NONE ? NULL : &h->residuals[tenant];
}

static int64_t less(int64_t left, int64_t taken)
{
    return left == INT64_MAX ? left : left - taken;
}

/* The pod is on the node from now on. */
static void land(struct plan_head *h, const struct waiting_pod *p, uint32_t node, const struct placement *at)
{
    struct mirror *m = h->q->mirror;
    struct node_state *n = &m->nodes[node];
    struct device_state *devices = m->devices + n->first_device;
    struct holding *left = residual_of(h, p->namespace_);

    if (!demand_is_empty(p->demand)) {
        if (left != NULL) {
            struct holding wanted = tenancy_wanted(p->demand, at, n, devices);

            *left = (struct holding){less(left->milli, wanted.milli), less(left->mem_mib, wanted.mem_mib)};
        }
        choice_land(n, devices, p->demand, at);
    } else {
        n->host = host_after(n->host, p->demand->host);
    }
    m->pod_n[node]++;
    mirror_changed(m, node);
    if (h->landed_n == h->landed_cap) {
        h->landed_cap = h->landed_cap == 0 ? 64 : h->landed_cap * 2;
        h->landed = xreallocarray(h->landed, h->landed_cap, sizeof(*h->landed));
    }
    h->landed[h->landed_n++] = node;
}

/* ---- pods that are nominated already ---- */

static bool is_uid(const void *owner, uint32_t value, const void *wanted)
{
    const struct plan_held *held = owner;
    const struct str *uid = wanted;

    return str_eq(held[value].pod->uid, *uid);
}

static bool is_held(const struct plan_head *h, const struct waiting_pod *p)
{
    return hashmap_find(&h->held, hash_str(key, p->uid), is_uid, h->q->held, &p->uid) != HASHMAP_NONE;
}

/* Other pods or single GPUs decide about such a one, and a mirror does not know which. */
static bool is_beyond_us(const struct plan_head *h, const struct demand *d)
{
    return d->defect != DEMAND_OK || d->isolate_n > 0 || d->uuid_n > 0 || h->q->sight->cluster.isolates;
}

static bool fits_there(struct plan_head *h, const struct waiting_pod *p, uint32_t node, struct placement *ret)
{
    const struct mirror *m = h->q->mirror;
    struct plan_shape shape = {.like = p};
    bool fits = false;

    if (h->facts[node] == NULL || !node_takes(p, h->facts[node]) ||
        !host_room(h->facts[node], &m->nodes[node].host, m->pod_n[node], p->demand->host)) {
        return false;
    }
    if (demand_is_empty(p->demand)) {
        return true;
    }
    if (!is_beyond_us(h, p->demand)) {
        plan_shape_begin(h, &shape);
        fits = plan_shape_place(h, &shape, node, ret);
        plan_shape_end(&shape);
    }
    return fits;
}

static void land_held(struct plan_head *h)
{
    const struct plan_question *q = h->q;

    hashmap_fini(&h->held);
    for (size_t i = 0; i < q->held_n; i++) {
        struct plan_held *x = &q->held[i];
        struct placement at;
        uint32_t node;

        if (!is_held(h, x->pod)) {
            hashmap_insert(&h->held, hash_str(key, x->pod->uid), (uint32_t)i);
        }
        x->fits = x->counted;
        node = x->counted ? HASHMAP_NONE
                          : hashmap_find(&h->index, hash_name(key, x->node_name), is_node, q->mirror, &x->node_name);
        if (node == HASHMAP_NONE) {
            continue;
        }
        x->fits = fits_there(h, x->pod, node, &at);
        if (x->fits) {
            land(h, x->pod, node, &at);
        } else {
            h->closed[node] = true;
        }
    }
}

/* ---- pods that are to be nominated ---- */

enum choice { CHOICE_MADE, CHOICE_NONE, CHOICE_DIFFERS };

/* A node with its GPUs, within what is left to the tenant. */
static enum choice choose(struct plan_head *h, struct plan_shape *s, const struct waiting_pod *p, uint32_t *ret_node,
                          struct placement *ret_at)
{
    const struct mirror *m = h->q->mirror;
    const struct holding *left = residual_of(h, p->namespace_);
    uint32_t passed[PLAN_WITHOUT_MAX]; /* nodes that would take it above its tenant's limit */
    size_t passed_n = 0;

    while (plan_shape_best(h, s, passed, passed_n, ret_node)) {
        const struct node_state *n = &m->nodes[*ret_node];

        if (!plan_shape_place(h, s, *ret_node, ret_at)) { /* it was judged in this state */
            plan_shape_leave_out(s, *ret_node);
            return CHOICE_DIFFERS;
        }
        if (left == NULL || holding_fits(tenancy_wanted(p->demand, ret_at, n, mirror_devices(m, *ret_node)), *left)) {
            return CHOICE_MADE;
        }
        if (passed_n == PLAN_WITHOUT_MAX) {
            break;
        }
        passed[passed_n++] = *ret_node;
    }
    return CHOICE_NONE;
}

static enum plan_obstacle obstacle_of(const struct plan_head *h, const struct waiting_pod *p)
{
    return p->obstacle == PLAN_ELIGIBLE && h->q->sight->cluster.isolates ? PLAN_OTHER_PODS : p->obstacle;
}

/* False: there are too many shapes. */
static bool plan_one(struct plan_head *h, const struct waiting_pod *p, bool in_front, struct plan_answer *ret)
{
    struct plan_shape *s = plan_shape_of(h, p);
    struct placement at;
    uint32_t node;

    if (s == NULL) {
        return false;
    }
    switch (choose(h, s, p, &node, &at)) {
    case CHOICE_MADE:
        land(h, p, node, &at);
        if (!in_front) {
            ret->chosen[ret->chosen_n++] = (struct plan_choice){p, h->q->mirror->names[node]};
        }
        break;
    case CHOICE_NONE:
        ret->unfit_n++;
        break;
    case CHOICE_DIFFERS:
        ret->differ_n++;
        break;
    }
    return true;
}

void plan_head(struct plan_head *h, const struct plan_question *q, struct plan_answer *ret)
{
    *ret = (struct plan_answer){.chosen = ret->chosen};
    if (!q->sight->cluster.synced) {
        return;
    }
    begin(h, q);
    land_held(h);
    for (size_t i = 0; i < q->pod_n && ret->chosen_n < q->max && (q->work_max == 0 || h->work < q->work_max); i++) {
        const struct waiting_pod *p = q->pods[i];
        enum plan_obstacle o = obstacle_of(h, p);
        bool tried = o == PLAN_ELIGIBLE && !is_held(h, p);

        if (tried && !plan_one(h, p, i < q->front_n, ret)) {
            break;
        }
        ret->obstacle_n[o] += o != PLAN_ELIGIBLE || tried;
        ret->looked_n++;
    }
    for (uint32_t i = 0; i < h->shape_n; i++) {
        plan_shape_end(&h->shapes[i]);
    }
    h->shape_n = 0;
    h->q = NULL;
}
