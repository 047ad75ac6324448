#include "core/ledger/view.h"

#include "core/fit/slack.h"
#include "core/ledger/node_table.h"
#include "core/ledger/numbers.h"
#include "core/ledger/state.h"
#include "core/ledger/tenants.h"

#include <string.h>

static bool is_terminating(const struct pod_entry *p, const void *ctx)
{
    (void)ctx;
    return p->deleting;
}

/* Who is evicted for a nominated pod is terminating, so what it will find is the node without those. */
static bool add_nomination(const struct ledger *l, struct arena *a, const struct pod_entry *q, uint32_t node,
                           struct view_nomination *ret)
{
    struct device_state *states = arena_alloc(a, DEVICES_PER_NODE_MAX * sizeof(*states));
    const struct demand *d = demand_amounts(q->demand, a);

    if (states == NULL || d == NULL) {
        return false;
    }
    *ret = (struct view_nomination){.node = node, .demand = d, .devices = states};
    ledger_without(l, node, is_terminating, NULL, &ret->row, states);
    return true;
}

static bool add_nominations(const struct ledger *l, struct arena *a, const struct view_pod *pod, struct ledger_view *v)
{
    struct view_nomination *all;
    uint32_t left = l->nominated_n;

    if (l->nominated_n == 0) {
        return true;
    }
    all = arena_alloc(a, l->nominated_n * sizeof(*all));
    for (uint32_t i = 0; i < l->pod_n && left > 0 && all != NULL; i++) {
        const struct pod_entry *q = &l->pods[i];
        uint32_t node;

        if (!q->used || q->nominated == NULL) {
            continue;
        }
        left--;
        if (q->priority < pod->priority || str_eq(q->uid, pod->uid) || q->demand->defect != DEMAND_OK) {
            continue;
        }
        node = ledger_node_find(l, str_of(q->nominated));
        if (node != LEDGER_NONE && !add_nomination(l, a, q, node, &all[v->nomination_n++])) {
            return false;
        }
    }
    v->nominations = all;
    return all != NULL;
}

static int too_large(struct err *reterr)
{
    return err_set(reterr, ERR_LIMIT, "the request does not fit its memory");
}

int ledger_view_unnominated(const struct ledger *l, struct arena *a, const struct view_pod *pod,
                            struct ledger_view *ret, struct err *reterr)
{
    const struct demand *d = pod->demand;
    uint8_t *models = d->model_n == 0 ? NULL : arena_alloc(a, intern_count(l->models) + 1);
    struct ledger_view v = {
        .generation = l->generation,
        .names_version = l->names_version,
        .version = l->version,
        .ledger = l,
        .nodes = l->rows,
        .names = l->names,
        .briefs = l->briefs.briefs,
        .name_text = l->briefs.text,
        .node_n = l->node_n,
        .devices = l->states,
        .pod = *pod,
        .isolates = d->isolate_n > 0 || l->isolating_n > 0,
    };

    if (d->model_n > 0 && models == NULL) {
        return too_large(reterr);
    }
    v.tenant_residual = ledger_tenant_residual(l, pod->namespace_);
    v.limits_tenant = ledger_may_pass_tenant(l, d, v.tenant_residual);
    v.allowed_models = models_allowed(l->models, d, models);
    v.slack_matters = l->sliced && slack_matters(d);
    v.flags_devices = v.isolates || d->uuid_n > 0;
    *ret = v;
    return 0;
}

int ledger_view(const struct ledger *l, struct arena *a, const struct view_pod *pod, struct ledger_view *ret,
                struct err *reterr)
{
    int rc = ledger_view_unnominated(l, a, pod, ret, reterr);

    return rc == 0 && !add_nominations(l, a, pod, ret) ? too_large(reterr) : rc;
}

static inline bool node_is_named(const void *owner, uint32_t value, const void *key)
{
    const struct ledger_view *v = owner;

    return ledger_view_is_named(v, &v->briefs[value], key);
}

uint32_t ledger_view_index(const struct ledger_view *v, const struct str *node_name)
{
    const struct ledger *l = v->ledger;
    uint64_t hash = hash_name(l->limits.hash_key, *node_name);

    _Static_assert(LEDGER_VIEW_NONE == HASHMAP_NONE, "found or not");
    return node_name->n == 0 ? LEDGER_VIEW_NONE : hashmap_probe(&l->node_index, hash, node_is_named, v, node_name);
}

uint32_t ledger_view_index_from(const struct ledger_view *v, const struct str *node_name, uint32_t guess)
{
    for (uint32_t i = guess; i < v->node_n && i - guess < LEDGER_VIEW_NEAR; i++) {
        if (ledger_view_is_named(v, &v->briefs[i], node_name)) {
            return i;
        }
    }
    return ledger_view_index(v, node_name);
}

static bool is_probably(const void *owner, uint32_t value, const void *key)
{
    (void)owner, (void)value, (void)key;
    return true; /* the hash is the same */
}

/* Each step begins for all names what the next step reads. */
void ledger_view_guess(const struct ledger_view *v, const struct str *names, size_t n, uint32_t *ret)
{
    const struct hashmap *index = &v->ledger->node_index;
    uint64_t hashes[LEDGER_VIEW_GUESSES];

    for (size_t i = 0; i < n; i++) {
        hashes[i] = hash_name(v->ledger->limits.hash_key, names[i]);
        hashmap_fetch(index, hashes[i]);
    }
    for (size_t i = 0; i < n; i++) {
        ret[i] = hashmap_probe(index, hashes[i], is_probably, NULL, NULL);
        if (ret[i] != LEDGER_VIEW_NONE) {
            __builtin_prefetch(&v->briefs[ret[i]]);
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (ret[i] != LEDGER_VIEW_NONE) {
            __builtin_prefetch(v->name_text + v->briefs[ret[i]].name_at);
        }
    }
}

const struct node_state *ledger_view_find(const struct ledger_view *v, struct str node_name)
{
    uint32_t i = ledger_view_index(v, &node_name);

    return i == LEDGER_VIEW_NONE ? NULL : &v->nodes[i];
}

const struct device_state *ledger_view_devices(const struct ledger_view *v, const struct node_state *n,
                                               struct device_state buffer[DEVICES_PER_NODE_MAX])
{
    const struct device_state *live = &v->devices[n->first_device];

    if (!v->flags_devices || n->device_n == 0) {
        return live;
    }
    memcpy(buffer, live, n->device_n * sizeof(*buffer));
    ledger_mark_denied(v->ledger, (uint32_t)(n - v->nodes), buffer, v->pod.namespace_, v->pod.uid, v->pod.demand,
                       v->pod.label_hashes, v->pod.label_n, NULL, NULL);
    return buffer;
}

bool ledger_view_is_nominated(const struct ledger_view *v, uint32_t node)
{
    for (size_t i = 0; i < v->nomination_n; i++) {
        if (v->nominations[i].node == node) {
            return true;
        }
    }
    return false;
}

uint64_t ledger_view_rules(const struct ledger_view *v, uint32_t node)
{
    return v->ledger->nodes[node].rules;
}
