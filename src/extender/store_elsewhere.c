/* Where else a pod would fit: a walk over the nodes that nothing is known of, in short sections. */
#include "core/placement/pack.h"
#include "extender/store_internal.h"

#include <stdlib.h>
#include <string.h>

/* What one section of judgements needs, at most. */
#define ARENA_BYTES_MAX ((size_t)64 << 20)

static bool has(const struct store_tried *t, uint32_t node)
{
    return (t->bits[node / 64] >> node % 64 & 1) != 0;
}

static void put(struct store_tried *t, uint32_t node)
{
    t->bits[node / 64] |= UINT64_C(1) << node % 64;
}

/* ---- following ---- */

static void forget_all(struct store_tried *t, const struct ledger_view *v)
{
    free(t->bits);
    t->word_n = v->node_n / 64 + 1;
    t->bits = xcalloc(t->word_n, sizeof(*t->bits));
    t->names_version = v->names_version;
}

/* The next nodes from *at on; false: those were the last. */
static bool forget_gained(const struct store *s, struct store_tried *t, uint32_t node_n, uint64_t since, uint32_t *at)
{
    uint32_t end = node_n - *at < STORE_TRIED_SECTION ? node_n : *at + STORE_TRIED_SECTION;

    for (; *at < end; (*at)++) {
        if (ledger_node_gained_since(s->ledger, *at, since)) {
            t->bits[*at / 64] &= ~(UINT64_C(1) << *at % 64);
        }
    }
    return *at < node_n;
}

/* Under the lock: the ledger without anybody who asks. */
static struct ledger_view plain_view(const struct store *s)
{
    static const struct demand nothing;
    const struct view_pod nobody = {.demand = &nothing};
    struct ledger_view v;

    BUG_ON(ledger_view_unnominated(s->ledger, NULL, &nobody, &v, NULL) != 0); /* needs no memory without models */
    return v;
}

void store_tried_follow(struct store *s, struct store_tried *t)
{
    const uint64_t since = t->version;
    uint32_t at = 0;
    bool more = true;

    while (more) {
        struct ledger_view v;

        mutex_lock(&s->lock);
        v = plain_view(s);
        if (t->bits == NULL || t->names_version != v.names_version) {
            forget_all(t, &v);
            t->version = v.version;
            more = false;
        } else {
            /* What changes behind this walk has a greater version than it began with. */
            t->version = at == 0 ? v.version : t->version;
            more = forget_gained(s, t, v.node_n, since, &at);
        }
        mutex_unlock(&s->lock);
    }
}

/* ---- looking ---- */

struct walk {
    struct store *s;
    struct arena arena; /* of one section */
    const struct view_pod *pod;
    struct store_tried *t;
    bool all;
    uint32_t at;
    bool node_alone; /* whether a node takes the pod is a matter of the node's own numbers */
    bool names_changed;
    size_t fit_n;
    uint32_t nodes[STORE_PACK_SECTION];
    struct str names[STORE_PACK_SECTION];
    size_t n;
};

static bool may_have_gpus(const struct node_state *n)
{
    return (n->flags & NODE_DESCRIBED) != 0 && (n->device_n > 0 || n->plugin_managed_cap > 0);
}

/* Under the lock: the next nodes to be judged. */
static int gather(struct walk *w, struct err *reterr)
{
    struct ledger_view v;
    int rc = ledger_view(w->s->ledger, &w->arena, w->pod, &v, reterr);

    w->n = 0;
    if (rc != 0) {
        return rc;
    }
    w->names_changed = v.names_version != w->t->names_version;
    w->node_alone = !v.isolates && !v.limits_tenant && v.nomination_n == 0;
    for (; !w->names_changed && w->at < v.node_n && w->n < STORE_PACK_SECTION; w->at++) {
        if (!has(w->t, w->at) && may_have_gpus(&v.nodes[w->at])) {
            w->nodes[w->n] = w->at;
            w->names[w->n++] = arena_str(&w->arena, v.names[w->at]);
        }
    }
    return w->arena.overflowed ? err_set(reterr, ERR_LIMIT, "the names of nodes do not fit their memory") : 0;
}

/* Of those that take the pod, what their taints say. */
static void weigh(struct walk *w, const struct store_pack_answer *answer)
{
    static const struct node_set anyone;
    struct str fitting[STORE_PACK_SECTION];
    uint32_t fitting_nodes[STORE_PACK_SECTION];
    bool open[STORE_PACK_SECTION];
    size_t n = 0;

    for (size_t i = 0; i < answer->n; i++) {
        if (answer->results[i].verdict == VERDICT_FITS) {
            fitting_nodes[n] = w->nodes[i];
            fitting[n++] = answer->results[i].name;
        } else if (w->node_alone) {
            put(w->t, w->nodes[i]);
        }
    }
    store_open_to(w->s, w->pod->uid, &anyone, fitting, n, open);
    for (size_t i = 0; i < n; i++) {
        w->fit_n += open[i];
        if (open[i] && w->all) {
            put(w->t, fitting_nodes[i]);
        }
    }
}

static int judge(struct walk *w, const struct pack_plans *plans, struct err *reterr)
{
    struct store_pack_answer answer;
    int rc = store_pack(w->s, &w->arena, w->pod, plans, NULL, 0, w->names, w->n, &answer, reterr);

    if (rc != 0) {
        return rc;
    }
    /* One answer for each name, in their order, while the ledger knows them all. */
    w->names_changed = answer.n != w->n || answer.asked.names_version != w->t->names_version;
    if (!w->names_changed) {
        weigh(w, &answer);
    }
    return 0;
}

int store_fits_elsewhere(struct store *s, const struct view_pod *pod, const struct pack_plans *plans,
                         struct store_tried *t, bool all, size_t *ret_n, struct err *reterr)
{
    struct walk w = {.s = s, .pod = pod, .t = t, .all = all};
    int rc = 0;

    arena_init(&w.arena, ARENA_BYTES_MAX);
    do {
        arena_reset(&w.arena);
        mutex_lock(&s->lock);
        rc = gather(&w, reterr);
        mutex_unlock(&s->lock);
        if (rc == 0 && w.n > 0) {
            rc = judge(&w, plans, reterr);
        }
    } while (rc == 0 && w.n > 0 && !w.names_changed && (all || w.fit_n == 0));
    arena_fini(&w.arena);
    *ret_n = w.names_changed ? 1 : w.fit_n;
    return rc;
}
