#include "extender/explain.h"

#include "base/bug.h"
#include "base/suggest.h"
#include "extender/explain_internal.h"

#include <stdlib.h>

static int too_large(struct err *reterr)
{
    return err_set(reterr, ERR_LIMIT, "the cluster does not fit the memory of this request");
}

/* ---- by name ---- */

/* At most so many characters of a name are compared with others. */
enum { NEAR_NAME_BYTES = 64 };

struct search {
    struct arena *a;
    struct explanation *e;
    struct str uid;
};

/* The name of a workload stands before that of its pods. */
static bool is_near(struct str wanted, struct str name)
{
    if (wanted.n == 0) {
        return false;
    }
    return str_starts(name, wanted) || str_starts(wanted, name) ||
           (wanted.n <= NEAR_NAME_BYTES && name.n <= NEAR_NAME_BYTES && suggest(wanted, &name, 1) != NULL);
}

static void see(void *ctx, struct str uid, struct str namespace_, struct str name)
{
    struct search *s = ctx;
    struct explanation *e = s->e;
    bool same_space = str_eq(namespace_, e->namespace_), same_name = str_eq(name, e->name);

    if (same_space && same_name) {
        s->uid = arena_str(s->a, uid);
    } else if (s->uid.n == 0 && e->near_n < EXPLAIN_NEAR_NAMES &&
               (same_name || (same_space && is_near(e->name, name)))) {
        e->near_names[e->near_n++] = arena_printf(s->a, "%.*s/%.*s", STR_ARG(namespace_), STR_ARG(name));
    }
}

/* ---- a pod that waits ---- */

/* All nodes as filter judges them. */
static int judge_all(const struct placement_context *c, struct arena *a, struct explanation *ret,
                     struct explain_choice *choice, struct err *reterr)
{
    const struct str *names = store_node_names(c->store, a, &ret->node_n);
    struct store_pack_answer *answer = &choice->answer;
    struct pack_key *buffer;
    int rc;

    if (names == NULL) {
        return too_large(reterr);
    }
    rc = store_pack(c->store, a, &ret->pod.pod, &c->plans, NULL, 0, names, ret->node_n, answer, reterr);
    if (rc != 0) {
        return rc;
    }
    ret->node_n = answer->n;
    ret->generation = answer->generation;
    buffer = ARENA_ARRAY(a, answer->n + 1, struct pack_key);
    choice->names = ARENA_ARRAY(a, answer->n + 1, struct str);
    choice->open = ARENA_ARRAY(a, answer->n + 1, bool);
    if (buffer == NULL || choice->names == NULL || choice->open == NULL) {
        return too_large(reterr);
    }
    (void)pack_rank(answer->results, answer->n, 0, buffer);
    for (size_t i = 0; i < answer->n; i++) {
        choice->names[i] = answer->results[i].name;
        ret->counts[answer->results[i].verdict]++;
    }
    store_open_to(c->store, ret->pod.pod.uid, &ret->waiting.asked, choice->names, answer->n, choice->open);
    return 0;
}

static bool take_fitting(struct arena *a, const struct explain_choice *choice, size_t node_max, struct explanation *ret)
{
    struct str *fitting = ARENA_ARRAY(a, node_max + 1, struct str);

    for (size_t i = 0; fitting != NULL && i < ret->counts[VERDICT_FITS]; i++) {
        if (choice->open[i]) {
            ret->open_fit_n++;
            ret->in_doubt_n += choice->answer.results[i].demoted == PACK_IN_DOUBT;
            if (ret->fitting_n < node_max) {
                fitting[ret->fitting_n++] = choice->names[i];
            }
        }
    }
    ret->fitting = fitting;
    return fitting != NULL;
}

static int by_name(const void *a, const void *b)
{
    const struct pack_result *x = a, *y = b;

    return str_cmp(x->name, y->name);
}

static enum verdict verdict_of(const struct store_pack_answer *sorted, struct str name)
{
    const struct pack_result key = {.name = name};
    const struct pack_result *r = bsearch(&key, sorted->results, sorted->n, sizeof(key), by_name);

    return r != NULL ? r->verdict : VERDICT_NODE_UNKNOWN;
}

/* None of the open nodes takes it: which come nearest. */
static bool look_closely(const struct placement_context *c, struct arena *a, struct explain_choice *choice,
                         size_t node_max, struct explanation *ret)
{
    struct nearest *nodes = ARENA_ARRAY(a, node_max + 1, struct nearest);
    enum verdict *verdicts = ARENA_ARRAY(a, node_max + 1, enum verdict);
    size_t n = 0;

    if (nodes == NULL || verdicts == NULL) {
        return false;
    }
    for (size_t i = ret->counts[VERDICT_FITS]; i < choice->answer.n; i++) {
        if (choice->open[i]) {
            choice->names[n++] = choice->names[i];
        }
    }
    ret->shown_n = store_nearest(c->store, a, &ret->pod.pod, &c->plans, choice->names, n, nodes, node_max);
    qsort(choice->answer.results, choice->answer.n, sizeof(*choice->answer.results), by_name);
    for (size_t i = 0; i < ret->shown_n; i++) {
        verdicts[i] = verdict_of(&choice->answer, nodes[i].node_name);
        if (verdicts[i] == VERDICT_TOO_FEW_GPUS) {
            nodes[i].lacks.device_n = 0; /* nobody's end would help: what its GPUs lack now would mislead */
        }
    }
    ret->nodes = nodes;
    ret->verdicts = verdicts;
    return true;
}

int explain_waiting(const struct placement_context *c, struct arena *a, size_t node_max, struct explanation *ret,
                    struct explain_choice *choice, struct err *reterr)
{
    int rc;
    bool ok;

    ret->not_ready = store_not_ready(c->store);
    ret->has_tenant = store_tenant_of(c->store, a, ret->namespace_, &ret->tenant);
    rc = judge_all(c, a, ret, choice, reterr);
    if (rc != 0) {
        return rc;
    }
    ok = explain_hints(c, a, &choice->answer, ret) && take_fitting(a, choice, node_max, ret) &&
         (ret->open_fit_n > 0 || look_closely(c, a, choice, node_max, ret));
    return ok && !a->overflowed ? 0 : too_large(reterr);
}

/* ---- a pod that has its place ---- */

static int place(struct store *s, struct arena *a, struct explanation *ret, struct err *reterr)
{
    struct decision_note **kept = xcalloc(DECISIONS_KEPT, sizeof(struct decision_note *));
    size_t n = decisions_kept(store_decisions(s), STR_NULL, ret->namespace_, kept);

    for (size_t i = 0; i < n; i++) {
        if (ret->decision == NULL && str_eq(kept[i]->uid, ret->pod.pod.uid)) {
            ret->decision = kept[i];
        } else {
            decision_put(kept[i]);
        }
    }
    free(kept);
    return store_snapshot(s, a, ret->pod.node_name, STR_NULL, &ret->snapshot, reterr);
}

static enum explain_kind kind_of(const struct store_pod *p)
{
    if (p->state != LEDGER_PENDING) {
        return EXPLAIN_PLACED;
    }
    return p->pod.demand->defect != DEMAND_OK ? EXPLAIN_INVALID : EXPLAIN_WAITING;
}

int explain_pod(const struct placement_context *c, struct arena *a, struct str namespace_, struct str name,
                size_t node_max, struct explanation *ret, struct err *reterr)
{
    struct search search = {.a = a, .e = ret};
    struct explain_choice choice;

    *ret = (struct explanation){.namespace_ = namespace_, .name = name};
    if (!store_is_synced(c->store)) {
        return err_set(reterr, ERR_UNAVAILABLE, "pods and nodes have not been read yet");
    }
    ret->generation = store_generation(c->store);
    store_pod_names(c->store, see, &search);
    if (search.uid.n == 0 || !store_find_pod(c->store, a, search.uid, &ret->pod)) {
        return a->overflowed ? too_large(reterr) : 0; /* EXPLAIN_UNKNOWN */
    }
    ret->near_n = 0;
    ret->kind = kind_of(&ret->pod);
    if (ret->kind != EXPLAIN_PLACED) {
        waiting_find(store_waiting(c->store), a, search.uid, &ret->waiting);
    }
    switch (ret->kind) {
    case EXPLAIN_WAITING:
        return explain_waiting(c, a, node_max, ret, &choice, reterr);
    case EXPLAIN_PLACED:
        return place(c->store, a, ret, reterr);
    case EXPLAIN_INVALID:
        return explain_sizes(c->policy, a, ret) ? 0 : too_large(reterr);
    case EXPLAIN_UNKNOWN:
        break;
    }
    return 0;
}

void explain_end(struct explanation *e)
{
    decision_put(e->decision);
    e->decision = NULL;
}
