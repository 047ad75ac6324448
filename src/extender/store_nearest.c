/* What explanations ask of the store: pods and nodes by name, and what is nearest to taking a pod. */
#include "extender/store_internal.h"

#include <string.h>

#define NAMES_SECTION 256
/* A look at what is nearest needs no more for one section. */
#define SCRATCH_BYTES_MAX ((size_t)16 << 20)

struct waiting *store_waiting(struct store *s)
{
    return s->waiting;
}

int64_t store_wall_ms(const struct store *s)
{
    return clock_wall_ms(s->clock);
}

void store_pod_names(struct store *s, ledger_pod_name_fn *fn, void *ctx)
{
    uint32_t at = 0;
    bool more = true;

    while (more) {
        mutex_lock(&s->lock);
        more = ledger_pod_names(s->ledger, &at, NAMES_SECTION, fn, ctx);
        mutex_unlock(&s->lock);
    }
}

/* ---- nodes ---- */

struct name_list {
    struct arena *a;
    struct str *items;
    size_t n, cap;
};

static void add_name(void *ctx, const struct ledger_audit_entry *e)
{
    struct name_list *l = ctx;

    if (l->n < l->cap) {
        l->items[l->n] = arena_str(l->a, e->id);
        l->n += l->items[l->n].p != NULL;
    }
}

const struct str *store_node_names(struct store *s, struct arena *a, size_t *ret_n)
{
    struct name_list l = {.a = a};
    uint32_t at = 0;
    bool more = true;

    mutex_lock(&s->lock);
    l.cap = ledger_cluster_view(s->ledger).node_n + NAMES_SECTION; /* some may come meanwhile */
    mutex_unlock(&s->lock);
    l.items = ARENA_ARRAY(a, l.cap, struct str);
    while (l.items != NULL && more) {
        more = store_audit_next(s, ledger_audit_nodes, &at, add_name, &l);
    }
    *ret_n = l.n;
    return a->overflowed ? NULL : l.items;
}

/* ---- one pod ---- */

bool store_find_pod(struct store *s, struct arena *a, struct str uid, struct store_pod *ret)
{
    struct ledger_pod p;
    uint64_t *labels = NULL;
    bool known;

    mutex_lock(&s->lock);
    known = ledger_find_pod(s->ledger, uid, &p);
    if (known) {
        labels = ARENA_ARRAY(a, p.label_n + 1, uint64_t);
        if (labels != NULL && p.label_n > 0) {
            memcpy(labels, p.label_hashes, p.label_n * sizeof(*labels));
        }
        *ret = (struct store_pod){
            .pod = {.uid = arena_str(a, uid),
                    .namespace_ = arena_str(a, p.namespace_),
                    .priority = p.priority,
                    .demand = demand_copy_to(p.demand, a),
                    .label_hashes = labels,
                    .label_n = p.label_n},
            .state = p.state,
            .name = arena_str(a, p.name),
            .node_name = arena_str(a, p.node_name),
            .decision_id = arena_str(a, p.decision_id),
            .deleting = p.deleting,
        };
    }
    mutex_unlock(&s->lock);
    return known && !a->overflowed;
}

/* ---- nodes that are open to a pod ---- */

/* Under the lock. */
static bool is_open_to(const struct store *s, struct str uid, const struct node_set *asked, const struct ledger_view *v,
                       struct str name)
{
    uint32_t node = ledger_view_index(v, &name);
    bool is_asked = asked->bits == NULL || asked->names_version != v->names_version ||
                    (node != LEDGER_VIEW_NONE && node_set_has(asked, node));

    return is_asked && ledger_tolerates(s->ledger, name, uid);
}

void store_open_to(struct store *s, struct str uid, const struct node_set *asked, const struct str *names, size_t n,
                   bool *ret)
{
    static const struct demand nothing;
    const struct view_pod nobody = {.demand = &nothing};

    for (size_t i = 0; i < n;) {
        size_t end = n - i < NAMES_SECTION ? n : i + NAMES_SECTION;
        struct ledger_view v;

        mutex_lock(&s->lock);
        BUG_ON(ledger_view_unnominated(s->ledger, NULL, &nobody, &v, NULL) != 0); /* needs no memory without models */
        for (; i < end; i++) {
            ret[i] = is_open_to(s, uid, asked, &v, names[i]);
        }
        mutex_unlock(&s->lock);
    }
}

/* ---- what else is known of the cluster ---- */

void store_node_notes(struct store *s, const struct str *names, size_t n, const char **ret)
{
    for (size_t i = 0; i < n;) {
        size_t end = n - i < NAMES_SECTION ? n : i + NAMES_SECTION;

        mutex_lock(&s->lock);
        for (; i < end; i++) {
            ret[i] = ledger_node_note(s->ledger, names[i]);
        }
        mutex_unlock(&s->lock);
    }
}

struct str *store_models(struct store *s, struct arena *a, size_t *ret_n)
{
    const struct intern *models;
    struct str *list;

    *ret_n = 0;
    mutex_lock(&s->lock);
    models = ledger_cluster_view(s->ledger).models;
    list = ARENA_ARRAY(a, intern_used(models) + 1, struct str);
    for (uint32_t i = 0; list != NULL && i < intern_count(models); i++) {
        struct str model = intern_text(models, i);

        if (model.n > 0) {
            list[(*ret_n)++] = arena_str(a, model);
        }
    }
    mutex_unlock(&s->lock);
    return a->overflowed ? NULL : list;
}

/* ---- the nearest nodes ---- */

static struct str kept(struct arena *a, struct str s)
{
    return s.n == 0 ? STR("") : arena_str(a, s);
}

/* What it points at goes into the arena. */
static void keep(struct arena *a, struct nearest *n)
{
    n->node_name = kept(a, n->node_name);
    for (uint32_t i = 0; i < n->lacks.device_n; i++) {
        n->uuids[i] = kept(a, n->uuids[i]);
        n->models[i] = kept(a, n->models[i]);
    }
    for (size_t i = 0; i < n->cost.pod_n; i++) {
        n->leaving[i].namespace_ = kept(a, n->leaving[i].namespace_);
        n->leaving[i].name = kept(a, n->leaving[i].name);
        n->leaving[i].uid = kept(a, n->leaving[i].uid);
    }
}

struct best {
    struct nearest *items;
    size_t n, max;
};

/* Puts it into its place, if it has one among the nearest. */
static void consider(struct best *b, struct arena *a, struct nearest *n)
{
    size_t at;

    if (b->n == b->max && nearest_compare(n, &b->items[b->n - 1]) >= 0) {
        return;
    }
    keep(a, n);
    at = b->n < b->max ? b->n++ : b->n - 1;
    for (; at > 0 && nearest_compare(n, &b->items[at - 1]) < 0; at--) {
        b->items[at] = b->items[at - 1];
    }
    b->items[at] = *n;
}

/* Under the lock. */
static void look(struct store *s, const struct ledger_view *v, const struct resolved_plan *plan, struct str name,
                 struct arena *a, struct arena *scratch, struct best *b)
{
    uint32_t node = ledger_view_index(v, &name);
    const struct nearest_cost *than = b->n == b->max ? &b->items[b->n - 1].cost : NULL;
    struct nearest n;

    if (node != LEDGER_VIEW_NONE && !a->overflowed) {
        const struct pack_plan *p = plan->steps[resolved_plan_step(plan, ledger_node_rules(s->ledger, name))].plan;

        ledger_nearest(v, node, p->params.device_strategy, than, scratch, &n);
        consider(b, a, &n);
    }
}

size_t store_nearest(struct store *s, struct arena *a, const struct view_pod *pod, const struct pack_plans *plans,
                     const struct str *names, size_t name_n, struct nearest *ret, size_t max)
{
    struct best best = {.items = ret, .max = max};
    struct resolved_plan plan;
    struct arena scratch;

    arena_init(&scratch, SCRATCH_BYTES_MAX);
    resolved_plan_make(&plan, plans, pod->namespace_, pod->label_hashes, pod->label_n);
    for (size_t i = 0; i < name_n && max > 0;) {
        struct ledger_view v;
        size_t end = name_n - i < STORE_NEAREST_SECTION ? name_n : i + STORE_NEAREST_SECTION;
        bool ok;

        arena_reset(&scratch);
        mutex_lock(&s->lock);
        ok = ledger_view(s->ledger, &scratch, pod, &v, NULL) == 0;
        for (; ok && i < end; i++) {
            look(s, &v, &plan, names[i], a, &scratch, &best);
        }
        mutex_unlock(&s->lock);
        i = end;
    }
    arena_fini(&scratch);
    return best.n;
}

bool store_tenant_of(struct store *s, struct arena *a, struct str namespace_, struct ledger_tenant *ret)
{
    bool has;

    mutex_lock(&s->lock);
    has = ledger_tenant_of(s->ledger, namespace_, ret);
    if (has) {
        ret->name = arena_str(a, ret->name);
    }
    mutex_unlock(&s->lock);
    return has;
}
