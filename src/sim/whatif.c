#include "sim/whatif.h"

#include "base/bug.h"
#include "core/snapshot.h"
#include "core/trial.h"
#include "core/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BYTES_MAX ((size_t)2 << 30)

/* ---- one side ---- */

struct side {
    const struct policy *policy;
    struct ledger *ledger;
    struct mirror mirror;
    struct outlook *outlook;
    struct snapshot snapshot;
    struct pack_plans plans;
};

static void side_fini(struct side *s)
{
    mirror_fini(&s->mirror);
    outlook_free(s->outlook);
    ledger_free(s->ledger);
}

static void follow(struct side *s, const struct strategy *for_strategy)
{
    while (!outlook_follow(s->outlook, s->ledger, for_strategy)) {
    }
}

static int look(struct side *s, struct arena *a, struct err *reterr)
{
    int r = pack_plans_init(&s->plans, s->policy, reterr);

    if (r != 0) {
        return r;
    }
    s->outlook = outlook_new();
    follow(s, strategy_find(STR("fgd"))); /* the typical pods, for F */
    while (!mirror_follow(&s->mirror, s->ledger)) {
        mirror_grow(&s->mirror);
    }
    return snapshot_take(s->ledger, a, STR_NULL, STR_NULL, &s->snapshot, reterr);
}

/* ---- reading otherwise ---- */

static const struct inventory *reread_inventory(const struct inventory *inv,
                                                const struct policy *old, const struct policy *new,
                                                struct arena *a)
{
    struct device *devices = ARENA_ARRAY(a, inv->device_n, struct device);
    struct inventory *copy = ARENA_NEW(a, struct inventory);

    if (copy == NULL || devices == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < inv->device_n; i++) {
        int64_t mem =
            inv->devices[i].mem_mib + old->mem_reserve_mib - new->mem_reserve_mib;

        devices[i] = inv->devices[i];
        if (devices[i].mem_mib > 0) { /* else it is not known, before and after */
            devices[i].mem_mib = mem > 0 ? mem : 0;
        }
        if (devices[i].slot_n == old->max_sharers) {
            devices[i].slot_n = new->max_sharers;
        }
    }
    *copy = *inv;
    copy->devices = devices;
    if (copy->overcommit_milli == old->overcommit_milli) {
        copy->overcommit_milli = new->overcommit_milli;
    }
    if (copy->memory_only == old->memory_only) {
        copy->memory_only = new->memory_only;
    }
    if (copy->overcommit_mem_milli == old->overcommit_mem_milli) {
        copy->overcommit_mem_milli = new->overcommit_mem_milli;
    }
    return copy;
}

static int apply_otherwise(struct ledger *l, const struct state_file *state,
                           const struct policy *new, struct arena *a, struct err *reterr)
{
    for (size_t i = 0; i < state->op_n; i++) {
        struct ledger_op op = state->ops[i];
        int r;

        if (op.kind == LEDGER_NODE_DESCRIBED) {
            op.node.inventory = reread_inventory(op.node.inventory, &state->config->policy, new, a);
        } else if (op.kind == LEDGER_TENANTS) {
            op.tenants.items = new->tenants;
            op.tenants.n = new->tenant_n;
        }
        if (a->overflowed) {
            return err_set(reterr, ERR_LIMIT, "the state does not fit its memory");
        }
        r = ledger_apply(l, &op, reterr);
        if (r != 0) {
            return r;
        }
    }
    return 0;
}

/* ---- comparing ---- */

struct held {
    struct str uid;
    int64_t milli, mem_mib;
};

static int by_uid(const void *a, const void *b)
{
    return str_cmp(((const struct held *)a)->uid, ((const struct held *)b)->uid);
}

static void add_held(struct held *h, int64_t milli, int64_t mem_mib)
{
    h->milli += milli;
    h->mem_mib += mem_mib;
}

/* What every pod holds, by uid. */
static struct held *holdings(const struct snapshot *s, struct arena *a)
{
    struct held *all = ARENA_ARRAY(a, s->pod_n + 1, struct held);

    for (size_t i = 0; all != NULL && i < s->pod_n; i++) {
        all[i].uid = s->pods[i].uid;
    }
    for (size_t i = 0; all != NULL && i < s->node_n; i++) {
        for (size_t d = 0; d < s->nodes[i].device_n; d++) {
            const struct snapshot_device *gpu = &s->nodes[i].devices[d];

            for (size_t k = 0; k < gpu->allocation_n; k++) {
                add_held(&all[gpu->allocations[k].pod], gpu->allocations[k].milli,
                         gpu->allocations[k].mem_mib);
            }
            for (size_t k = 0; k < gpu->raised_n; k++) {
                add_held(&all[gpu->raised[k].pod], gpu->raised[k].charge.milli,
                         gpu->raised[k].charge.mem_mib);
            }
        }
    }
    if (all != NULL) {
        qsort(all, s->pod_n, sizeof(*all), by_uid);
    }
    return all;
}

static bool same_capacity(const struct snapshot_device *a, const struct snapshot_device *b)
{
    return a->milli_cap == b->milli_cap && a->mem_cap_mib == b->mem_cap_mib &&
           a->slot_cap == b->slot_cap && a->mem_base_mib == b->mem_base_mib;
}

/* The same nodes in the same order, and on them the same GPUs. */
static void compare_nodes(const struct side *b, const struct side *n, struct whatif *ret)
{
    BUG_ON(b->snapshot.node_n != n->snapshot.node_n);
    ret->node_n = b->snapshot.node_n;
    ret->gpus = ARENA_ARRAY(&ret->arena, WHATIF_GPUS_MAX, struct whatif_gpu);
    for (size_t i = 0; ret->gpus != NULL && i < ret->node_n; i++) {
        const struct snapshot_node *x = &b->snapshot.nodes[i], *y = &n->snapshot.nodes[i];
        bool same = x->device_n == y->device_n;

        BUG_ON(!same); /* which GPUs there are is not read otherwise */
        for (size_t d = 0; d < x->device_n; d++) {
            same = same && same_capacity(&x->devices[d], &y->devices[d]);
            ret->overcommitted_before += x->devices[d].overcommitted;
            ret->overcommitted_after += y->devices[d].overcommitted;
            if (!y->devices[d].overcommitted || x->devices[d].overcommitted) {
                continue;
            }
            if (ret->gpu_n < WHATIF_GPUS_MAX) {
                ret->gpus[ret->gpu_n] = (struct whatif_gpu){
                    arena_str(&ret->arena, y->name), arena_str(&ret->arena, y->devices[d].uuid),
                    y->devices[d].index};
            }
            ret->gpu_n++;
        }
        ret->reread_n += !same;
    }
}

static void compare_pods(const struct side *b, const struct side *n, struct whatif *ret)
{
    const struct held *x = holdings(&b->snapshot, &ret->arena),
                      *y = holdings(&n->snapshot, &ret->arena);

    BUG_ON(b->snapshot.pod_n != n->snapshot.pod_n);
    for (size_t i = 0; x != NULL && y != NULL && i < b->snapshot.pod_n; i++) {
        ret->recharged_n += x[i].milli != y[i].milli || x[i].mem_mib != y[i].mem_mib;
    }
}

/* ---- sizes ---- */

static struct whatif_size *size_named(struct whatif *w, struct str name)
{
    for (size_t i = 0; i < w->size_n; i++) {
        if (str_eq_cstr(name, w->sizes[i].name)) {
            return &w->sizes[i];
        }
    }
    if (w->size_n == WHATIF_SIZES_MAX) {
        return NULL;
    }
    w->sizes[w->size_n] = (struct whatif_size){.before = -1, .after = -1};
    snprintf(w->sizes[w->size_n].name, sizeof(w->sizes[0].name), "%.*s", STR_ARG(name));
    return &w->sizes[w->size_n++];
}

static void count_sizes(struct whatif *w, const struct side *s, bool after)
{
    for (size_t i = 0; i < s->policy->size_n; i++) {
        struct whatif_size *size = size_named(w, s->policy->sizes[i].name);

        if (size != NULL) {
            *(after ? &size->after : &size->before) = (int64_t)survey_count(
                &s->mirror, s->policy, "fgpu.io/size", s->policy->sizes[i].name);
        }
    }
    for (int k = 1; k <= 8; k *= 2) {
        char count[12], name[24];
        struct whatif_size *size;

        snprintf(count, sizeof(count), "%d", k);
        snprintf(name, sizeof(name), "%s GPU%s", count, k == 1 ? "" : "s");
        size = size_named(w, str_of(name));
        if (size != NULL) {
            *(after ? &size->after : &size->before) =
                (int64_t)survey_count(&s->mirror, s->policy, "fgpu.io/gpu-count", str_of(count));
        }
    }
}

/* ---- pending pods ---- */

static int choose(struct side *s, struct arena *a, const struct snapshot_pod *p,
                  struct str *ret, struct err *reterr)
{
    const struct view_pod pod = {
        .uid = p->uid, .namespace_ = p->namespace_, .priority = p->priority, .demand = p->demand};
    struct trial t = {.mirror = &s->mirror, .demand = p->demand};
    uint32_t *nodes = ARENA_ARRAY(a, s->mirror.node_n + 1, uint32_t);
    const struct strategy *by[AGENDA_STRATEGIES_MAX];
    struct agenda agenda;
    struct ledger_view v;
    struct trial_choice c;
    int r = ledger_view(s->ledger, a, &pod, &v, reterr);

    if (r != 0 || nodes == NULL) {
        return r != 0 ? r : err_set(reterr, ERR_LIMIT, "the state does not fit its memory");
    }
    for (uint32_t i = 0; i < s->mirror.node_n; i++) {
        if (s->mirror.open[i]) {
            nodes[t.node_n++] = i;
        }
    }
    t.nodes = nodes;
    t.allowed_models = v.allowed_models;
    t.tenant_room = v.limits_tenant ? &v.tenant_room : NULL;
    agenda_make(&agenda, &s->plans, p->namespace_, NULL, 0);
    for (size_t i = agenda_strategies(&agenda, by); i > 0; i--) {
        follow(s, by[i - 1]);
    }
    c = trial_choose(&t, &agenda, s->outlook, a);
    *ret = c.fits ? s->mirror.names[c.node] : STR_NULL;
    return 0;
}

static const struct snapshot_pod *find_pod(const struct snapshot *s, struct str uid)
{
    for (size_t i = 0; i < s->pod_n; i++) {
        if (str_eq(s->pods[i].uid, uid)) {
            return &s->pods[i];
        }
    }
    BUG("a pod of one side is not on the other");
}

static int choose_both(struct side *b, struct side *n, const struct snapshot_pod *p,
                       struct whatif *ret, struct err *reterr)
{
    struct whatif_pod *out = &ret->pending[ret->pending_n++];
    struct str before = STR_NULL, after = STR_NULL;
    struct arena scratch;
    int r;

    arena_init(&scratch, 64 << 20);
    r = choose(b, &scratch, p, &before, reterr);
    if (r == 0) {
        r = choose(n, &scratch, find_pod(&n->snapshot, p->uid), &after, reterr);
    }
    *out =
        (struct whatif_pod){arena_str(&ret->arena, p->namespace_), arena_str(&ret->arena, p->name),
                            arena_str(&ret->arena, before), arena_str(&ret->arena, after)};
    arena_fini(&scratch);
    return r;
}

static int compare_pending(struct side *b, struct side *n, struct whatif *ret,
                           struct err *reterr)
{
    int r = 0;

    ret->pending = ARENA_ARRAY(&ret->arena, WHATIF_PENDING_MAX, struct whatif_pod);
    for (size_t i = 0; r == 0 && ret->pending != NULL && i < b->snapshot.pod_n; i++) {
        const struct snapshot_pod *p = &b->snapshot.pods[i];

        ret->pod_n += p->state != LEDGER_PENDING;
        if (p->state == LEDGER_PENDING && p->defect == DEMAND_OK &&
            ret->pending_n < WHATIF_PENDING_MAX) {
            r = choose_both(b, n, p, ret, reterr);
        }
    }
    return r;
}

/* ---- all of it ---- */

/* What `fgpu serve` takes from flags; a document does not tell flags from files. */
static bool may_be_a_flag(struct str key)
{
    static const char *const keys[] = {"serving.verbsAddress", "serving.opsAddress",
                                       "serving.healthAddress", "serving.tls.certFile",
                                       "serving.tls.keyFile", "serving.tls.clientCAFile",
                                       "logging.verbosity", "logging.format"};
    bool found = false;

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        found = found || str_eq_cstr(key, keys[i]);
    }
    return found;
}

static bool is_given(const struct config *c, struct str key)
{
    struct strbuf origin;
    bool given;

    strbuf_init(&origin, 1 << 16);
    config_origin_text(c, key, &origin);
    given = !str_eq_cstr(strbuf_view(&origin), "default");
    strbuf_fini(&origin);
    return given;
}

static void forget_flags(struct config_diff *d, const struct config *next)
{
    size_t n = 0;

    for (size_t i = 0; i < d->n; i++) {
        if (!may_be_a_flag(d->changes[i].key) || is_given(next, d->changes[i].key)) {
            d->changes[n++] = d->changes[i];
        }
    }
    d->n = n;
}

static void note_unjudged(struct whatif *w)
{
    static const char *const sections[] = {"resources",         "sizes",     "nodeTemplates",
                                           "devices.overrides", "nodePools", "timeWindows"};
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
        bool differs = false;

        for (size_t k = 0; k < w->diff.n; k++) {
            struct str key = w->diff.changes[k].key;

            differs =
                differs || (str_starts(key, str_of(sections[i])) &&
                            (key.n == strlen(sections[i]) || key.p[strlen(sections[i])] == '.'));
        }
        if (differs) {
            w->unjudged[n++] = sections[i];
        }
    }
}

static int run(const struct state_file *state, struct side *b, struct side *n, struct whatif *w,
               struct err *reterr)
{
    const struct ledger_limits limits = {.hash_key = state->limits.hash_key,
                                         .overcommit_milli = n->policy->overcommit_milli,
                                         .overcommit_mem_milli =
                                             n->policy->overcommit_mem_milli};
    int r = state_file_ledger(state, &b->ledger, reterr);

    n->ledger = ledger_new(&limits);
    r = r != 0 ? r : apply_otherwise(n->ledger, state, n->policy, &w->arena, reterr);
    r = r != 0 ? r : look(b, &w->arena, reterr);
    r = r != 0 ? r : look(n, &w->arena, reterr);
    if (r != 0) {
        return r;
    }
    compare_nodes(b, n, w);
    compare_pods(b, n, w);
    survey_take(&b->mirror, b->outlook, &w->before);
    survey_take(&n->mirror, n->outlook, &w->after);
    w->before.empty_node = arena_str(&w->arena, w->before.empty_node);
    w->after.empty_node = arena_str(&w->arena, w->after.empty_node);
    count_sizes(w, b, false);
    count_sizes(w, n, true);
    r = compare_pending(b, n, w, reterr);
    return r != 0 || !w->arena.overflowed
               ? r
               : err_set(reterr, ERR_LIMIT, "the state does not fit its memory");
}

int whatif_run(const struct state_file *state, const struct config *next, struct whatif *ret,
               struct err *reterr)
{
    struct side before = {.policy = &state->config->policy}, after = {.policy = &next->policy};
    int r;

    memset(ret, 0, sizeof(*ret));
    arena_init(&ret->arena, ARENA_BYTES_MAX);
    config_diff(state->config, next, &ret->diff);
    forget_flags(&ret->diff, next);
    note_unjudged(ret);
    mirror_init(&before.mirror);
    mirror_init(&after.mirror);
    r = run(state, &before, &after, ret, reterr);
    side_fini(&before);
    side_fini(&after);
    if (r != 0) {
        whatif_fini(ret);
    }
    return r;
}

void whatif_fini(struct whatif *w)
{
    config_diff_fini(&w->diff);
    arena_fini(&w->arena);
}
