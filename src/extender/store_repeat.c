/* How many pods of one kind fit on nodes as they are: copies, section by section, and the rest without the lock. */
#include "extender/store_internal.h"

#include "core/ledger/node_copy.h"
#include "core/placement/pack.h"
#include "core/placement/repeat.h"

#include <stdlib.h>

/* A view of one section needs no more. */
#define SCRATCH_BYTES_MAX ((size_t)16 << 20)

struct copied {
    struct node_copy at;
    const struct strategy *device_strategy; /* NULL: the node is gone */
    bool group_begun;                       /* another node of its host group has taken pods */
};

struct section {
    struct copied nodes[STORE_REPEAT_SECTION];
    struct repeat repeat;
    struct str *groups; /* host groups of which a node has taken pods */
    size_t group_n;
};

static bool has_begun(const struct section *s, struct str group)
{
    for (size_t i = 0; i < s->group_n && group.n > 0; i++) {
        if (str_eq(s->groups[i], group)) {
            return true;
        }
    }
    return false;
}

/* Under the lock: which devices the first pod would get. */
static void name_devices(struct store *s, struct arena *a, const struct ledger_view *v, uint32_t node,
                         const struct pack_plan *plan, const struct forecast_prices *prices,
                         struct store_repeat_answer *ret)
{
    const struct demand *d = v->pod.demand;
    struct pack_params params = plan->params;
    struct device_name *names;
    struct placement at;

    params.forecast = s->forecast;
    params.prices = prices;
    if (pack_node(v, &v->nodes[node], &params, NULL, &at) != VERDICT_FITS) {
        return;
    }
    names = ARENA_ARRAY(a, DEVICES_PER_NODE_MAX, struct device_name);
    for (uint64_t left = placement_devices(&at, d->gpu_request_n); names != NULL && left != 0; left &= left - 1) {
        struct device_name n = ledger_device_name(v, node, (unsigned)__builtin_ctzll(left));

        names[ret->device_n++] = (struct device_name){arena_str(a, n.uuid), arena_str(a, n.model), n.index};
    }
    ret->devices = names;
}

/* Under the lock. */
static void copy_some(struct store *s, struct arena *a, const struct ledger_view *v, const struct resolved_plan *plan,
                      const struct store_repeat_question *q, size_t from, size_t n, struct section *c,
                      struct store_repeat_answer *ret)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t node = ledger_view_index(v, &q->names[from + i]);
        const struct pack_plan *by;

        c->nodes[i].device_strategy = NULL;
        if (node == LEDGER_VIEW_NONE) {
            continue;
        }
        by = plan->steps[resolved_plan_step(plan, ledger_view_rules(v, node))].plan;
        ledger_copy_node(v, node, &c->nodes[i].at);
        c->nodes[i].at.host_group = arena_str(a, c->nodes[i].at.host_group); /* the name may be gone without the lock */
        c->nodes[i].device_strategy = by->params.device_strategy;
        if (from + i == 0) {
            name_devices(s, a, v, node, by, q->prices, ret);
        }
    }
}

/* What another node of the group has taken may be a part of the same physical GPU: only what pods hold already is
 * certain. */
static void leave_certain(struct node_copy *n)
{
    n->node.group_taken = true;
    for (uint16_t i = 0; i < n->node.device_n; i++) {
        if ((n->devices[i].flags & DEVICE_IN_USE) == 0) {
            n->devices[i].flags |= DEVICE_GROUP_TAKEN;
        }
    }
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Without the lock. */
static enum verdict fill(struct section *c, struct copied *n, uint64_t left, struct store_repeat_answer *ret)
{
    enum verdict next;
    uint64_t placed;

    if (n->device_strategy == NULL) {
        return VERDICT_NODE_UNKNOWN;
    }
    if (has_begun(c, n->at.host_group)) {
        leave_certain(&n->at);
        ret->at_least = true;
    }
    placed = repeat_on(&c->repeat, &n->at.node, n->at.devices, n->device_strategy,
                       n->at.nominated ? least(left, 1) : left, &next);
    ret->fitting += placed;
    if (placed > 0 && n->at.host_group.n > 0) {
        c->groups[c->group_n++] = n->at.host_group;
    }
    if (n->at.nominated && placed > 0 && placed < left) { /* filter has seen to it that one does no harm there */
        ret->at_least = true;
        return VERDICT_NOMINATED;
    }
    return next;
}

static int too_large(struct err *reterr)
{
    return err_set(reterr, ERR_LIMIT, "the request does not fit its memory");
}

int store_repeat(struct store *s, struct arena *a, const struct store_repeat_question *q,
                 struct store_repeat_answer *ret, struct err *reterr)
{
    struct section *c = arena_calloc(a, 1, sizeof(*c));
    struct resolved_plan plan;
    struct arena scratch;
    int rc = 0;

    *ret = (struct store_repeat_answer){.next = arena_calloc(a, q->name_n + 1, sizeof(enum verdict))};
    if (c != NULL) {
        c->groups = ARENA_ARRAY(a, q->name_n + 1, struct str);
    }
    if (ret->next == NULL || c == NULL || c->groups == NULL) {
        return too_large(reterr);
    }
    resolved_plan_make(&plan, q->plans, q->pod->namespace_, q->pod->label_hashes, q->pod->label_n);
    c->repeat = (struct repeat){.demand = q->pod->demand, .work_left = q->work};
    arena_init(&scratch, SCRATCH_BYTES_MAX);
    for (size_t i = 0; rc == 0 && i < q->name_n && ret->fitting < q->max && c->repeat.work_left > 0;) {
        size_t n = q->name_n - i < STORE_REPEAT_SECTION ? q->name_n - i : STORE_REPEAT_SECTION;
        struct ledger_view v;

        arena_reset(&scratch);
        mutex_lock(&s->lock);
        rc = ledger_view(s->ledger, &scratch, q->pod, &v, reterr);
        if (rc == 0 && i == 0) {
            c->repeat.residual = v.tenant_residual;
        }
        if (rc == 0) {
            copy_some(s, a, &v, &plan, q, i, n, c, ret);
        }
        mutex_unlock(&s->lock);
        c->repeat.allowed_models = rc == 0 ? v.allowed_models : NULL; /* in `scratch` */
        for (size_t k = 0; rc == 0 && k < n && ret->fitting < q->max; k++) {
            ret->next[i + k] = fill(c, &c->nodes[k], q->max - ret->fitting, ret);
        }
        i += n;
    }
    arena_fini(&scratch);
    ret->at_least = ret->fitting < q->max && (ret->at_least || c->repeat.work_left == 0);
    return rc != 0 || !a->overflowed ? rc : too_large(reterr);
}
