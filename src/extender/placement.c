#include "extender/placement.h"

#include "base/hash.h"
#include "base/hashmap.h"
#include "core/dialects/dialect.h"
#include "extender/store_trace.h"

static bool is_shadow(struct str name)
{
    return name.n > 0 && !str_eq_cstr(name, POLICY_NO_SHADOW);
}

static uint64_t fold_text(uint64_t h, struct str s)
{
    const struct hash_key key = {0x74726961, 0x6c}; /* the configuration is the admin's */

    return hash_fold(h ^ hash_name(key, s), UINT64_C(0x9e3779b97f4a7c15));
}

static uint64_t fold_pairs(uint64_t h, struct kv_list pairs)
{
    for (size_t i = 0; i < pairs.n; i++) {
        h = fold_text(fold_text(h, pairs.items[i].key), pairs.items[i].value);
    }
    return h + pairs.n;
}

static uint64_t fold_criteria(uint64_t h, struct str first, const struct criteria *c)
{
    h = fold_text(h, first);
    for (size_t i = 0; i < c->n; i++) {
        h = fold_text(h, c->names[i]) + (uint64_t)c->weights_milli[i];
    }
    return h + c->n;
}

static uint64_t shadow_key(const struct policy *p)
{
    uint64_t h = fold_criteria(1, p->node_strategy, &p->node_criteria);

    h = fold_text(fold_text(h, p->device_strategy), p->shadow_node_strategy);
    h = fold_text(h, p->shadow_device_strategy);
    for (size_t i = 0; i < p->rule_n; i++) {
        const struct packing_rule *r = &p->rules[i];

        for (size_t k = 0; k < r->namespace_n; k++) {
            h = fold_text(h, r->namespaces[k]);
        }
        h = fold_pairs(fold_pairs(h + r->namespace_n, r->pod_selector), r->node_selector);
        h = fold_text(fold_criteria(h, r->node_strategy, &r->node_criteria), r->device_strategy);
    }
    return h;
}

/* The policy as it would be with the shadow strategies in the packing section. One of the two is enough; the other
 * is then that in use. Rules stay, and what they leave out follows. */
static int shadow_init(struct placement_context *c, struct err *reterr)
{
    struct str node = c->policy->shadow_node_strategy, device = c->policy->shadow_device_strategy;
    struct policy with = *c->policy;

    c->has_shadow = is_shadow(node) || is_shadow(device);
    c->shadow_key = shadow_key(c->policy);
    if (is_shadow(node)) {
        with.node_strategy = node;
        with.node_criteria.n = 0;
    }
    with.device_strategy = is_shadow(device) ? device : with.device_strategy;
    return c->has_shadow ? pack_plans_init(&c->shadow, &with, reterr) : 0;
}

int placement_context_init(struct placement_context *c, struct store *store, const struct policy *policy,
                           struct err *reterr)
{
    int rc;

    c->store = store;
    c->policy = policy;
    rc = pack_plans_init(&c->plans, policy, reterr);
    return rc != 0 ? rc : shadow_init(c, reterr);
}

static int too_large(struct err *reterr)
{
    return err_set(reterr, ERR_LIMIT, "the request does not fit its memory");
}

/* The pod as decisions see it, read once for all of a call; an error while it cannot be decided about. */
static int read_pod(const struct placement_context *c, struct arena *a, const struct pod *pod, struct view_pod *ret,
                    struct err *reterr)
{
    struct demand *demand = ARENA_NEW(a, struct demand);
    const char *not_ready;

    *ret =
        (struct view_pod){.uid = pod->uid, .namespace_ = pod->namespace_, .priority = pod->priority, .demand = demand};
    if (demand == NULL || !dialect_demand(c->policy, pod, a, demand) ||
        !dialect_label_hashes(pod, a, &ret->label_hashes, &ret->label_n)) {
        return too_large(reterr);
    }
    not_ready = demand_is_empty(demand) ? store_not_open(c->store) : store_not_ready(c->store);
    return not_ready != NULL ? err_set(reterr, ERR_UNAVAILABLE, "%s", not_ready) : 0;
}

/* One decision: demand, tentatives, a verdict and a score per name. Leaves ret->results NULL when the pod asks for
 * nothing or is malformed. */
static int decide(const struct placement_context *c, struct arena *a, const struct pod *pod, const struct str *names,
                  size_t name_n, struct view_pod *ret_pod, struct store_pack_answer *ret, struct err *reterr)
{
    const struct pack_tentative *tentatives;
    struct store_promises when;
    size_t tentative_n;
    int rc = read_pod(c, a, pod, ret_pod, reterr);

    *ret = (struct store_pack_answer){0};
    if (rc != 0 || demand_is_empty(ret_pod->demand) || ret_pod->demand->defect != DEMAND_OK) {
        return rc;
    }
    rc = store_tentatives(c->store, a, pod->uid, &tentatives, &tentative_n, &when, reterr);
    if (rc == 0) {
        rc = store_pack(c->store, a, ret_pod, &c->plans, tentatives, tentative_n, names, name_n, ret, reterr);
        ret->promises = when;
    }
    return rc;
}

static void record(const struct placement_context *c, const char *verb, const struct view_pod *asking,
                   struct str pod_name, const struct store_pack_answer *answer, size_t fit_n)
{
    store_record_decision(c->store,
                          &(struct store_decided){verb, asking, pod_name, answer, fit_n, c->plans.generation});
}

static void make_tentative(const struct placement_context *c, const struct pod *pod, struct str node_name,
                           const struct demand *d)
{
    if (c->policy->tentative_ms > 0) {
        store_tentative(c->store, pod->uid, node_name, d, c->policy->tentative_ms);
    }
}

static bool is_name(const void *owner, uint32_t value, const void *key)
{
    const struct str *names = owner, *name = key;

    return str_eq(names[value], *name);
}

/* A name sent twice would be answered twice: keeps the first. For the answers that need no ledger. */
static bool without_repeats(struct arena *a, const struct str *names, size_t name_n, const struct str **ret,
                            size_t *ret_n)
{
    const struct hash_key key = {0x66677075, 0x6e6f6465}; /* one call long: nobody can learn it and profit */
    struct str *kept = ARENA_ARRAY(a, name_n, struct str);
    struct hashmap seen;
    size_t n = 0;

    if (kept == NULL) {
        return false;
    }
    hashmap_init(&seen);
    hashmap_reserve(&seen, (uint32_t)name_n);
    for (size_t i = 0; i < name_n; i++) {
        uint64_t hash = hash_str(key, names[i]);

        if (hashmap_find(&seen, hash, is_name, kept, &names[i]) == HASHMAP_NONE) {
            hashmap_insert(&seen, hash, (uint32_t)n);
            kept[n++] = names[i];
        }
    }
    hashmap_fini(&seen);
    *ret = kept;
    *ret_n = n;
    return true;
}

/* The best in front, in order: `limit` of them (0: all), or as many as fit; *ret_fit_n is how many fit. The second one
 * is in order, too, because store_explain() wants it. */
static int rank(struct arena *a, const struct store_pack_answer *answer, size_t limit, size_t *ret_n, size_t *ret_fit_n,
                struct err *reterr)
{
    size_t max = limit > 0 && limit < answer->n ? limit : answer->n;
    size_t ordered = limit == 1 ? 2 : limit;
    struct pack_key *buffer = ARENA_ARRAY(a, max < ordered ? ordered : max, struct pack_key);

    if (buffer == NULL) {
        return too_large(reterr);
    }
    *ret_fit_n = pack_rank(answer->results, answer->n, ordered, buffer);
    *ret_n = *ret_fit_n < max ? *ret_fit_n : max;
    return 0;
}

/* What filter knows of the decision. Where it answers several nodes, prioritize has the last word. */
static void consider(const struct placement_context *c, struct arena *a, const struct pod *pod,
                     const struct view_pod *asking, const struct store_pack_answer *answer, size_t answered_n,
                     size_t fit_n)
{
    const struct decision_note d = {.uid = pod->uid, .namespace_ = pod->namespace_, .name = pod->name};
    struct decision_note *fresh = answered_n == 1
                                      ? store_explain(c->store, a, asking, pod->name, &c->plans, answer, fit_n)
                                      : decision_new(&d, NULL, 0);

    fresh->asked_n = (uint32_t)answer->n;
    fresh->fit_n = (uint32_t)fit_n;
    decisions_consider(store_decisions(c->store), fresh);
}

/* What is remembered of a pod that waits. */
static void note_asked(const struct placement_context *c, const struct pod *pod, const struct store_pack_answer *answer,
                       size_t fit_n)
{
    uint64_t counts[VERDICT__MAX] = {0};

    for (size_t i = 0; fit_n == 0 && i < answer->n; i++) {
        counts[answer->results[i].verdict]++;
    }
    waiting_asked(store_waiting(c->store), pod,
                  &(struct waiting_answer){answer->n, fit_n, answer->generation, counts, answer->asked},
                  store_wall_ms(c->store));
}

int placement_filter(const struct placement_context *c, struct arena *a, const struct pod *pod, const struct str *names,
                     size_t name_n, struct filter_result *ret, struct err *reterr)
{
    struct view_pod asking;
    struct store_pack_answer answer;
    size_t fit_n = 0;
    int rc = decide(c, a, pod, names, name_n, &asking, &answer, reterr);

    if (rc != 0) {
        return rc;
    }
    /* A new filter call for this pod proves that its previous attempt is over (contract.md 3.1). */
    store_tentative_end(c->store, pod->uid);
    *ret = (struct filter_result){
        .outcome = FILTER_NOT_OURS, .pod = asking, .defect = asking.demand->defect, .generation = answer.generation};
    if (answer.results == NULL) {
        ret->outcome = ret->defect != DEMAND_OK ? FILTER_DEFECT : FILTER_NOT_OURS;
        return without_repeats(a, names, name_n, &ret->names, &ret->name_n) ? 0 : too_large(reterr);
    }
    ret->results = answer.results;
    ret->result_n = answer.n;
    ret->asked = answer.asked;
    rc = rank(a, &answer, (size_t)c->policy->candidates, &ret->fit_n, &fit_n, reterr);
    if (rc != 0) {
        return rc;
    }
    ret->outcome = ret->fit_n > 0 ? FILTER_SOME_FIT : FILTER_NONE_FITS;
    note_asked(c, pod, &answer, fit_n);
    record(c, "filter", &asking, pod->name, &answer, fit_n);
    if (fit_n > 0) {
        consider(c, a, pod, &asking, &answer, ret->fit_n, fit_n);
    }
    if (ret->fit_n == 1) {
        /* kube-scheduler skips prioritize when one node is left (contract.md 2.3). */
        make_tentative(c, pod, answer.results[0].name, asking.demand);
    }
    return 0;
}

static int without_merit(struct arena *a, const struct str *names, size_t name_n, struct store_pack_answer *ret,
                         struct err *reterr)
{
    if (!without_repeats(a, names, name_n, &names, &ret->n)) {
        return too_large(reterr);
    }
    ret->results = ARENA_ARRAY(a, ret->n, struct pack_result);
    for (size_t i = 0; ret->results != NULL && i < ret->n; i++) {
        ret->results[i] = (struct pack_result){.name = names[i], .verdict = VERDICT_NO_GPU};
    }
    return ret->results != NULL ? 0 : too_large(reterr);
}

int placement_prioritize(const struct placement_context *c, struct arena *a, const struct pod *pod,
                         const struct str *names, size_t name_n, struct prioritize_result *ret, struct err *reterr)
{
    struct view_pod asking;
    struct store_pack_answer answer;
    int32_t *points;
    size_t ranked_n = 0, fit_n = 0;
    int rc = decide(c, a, pod, names, name_n, &asking, &answer, reterr);

    if (rc == 0 && answer.results == NULL) {
        rc = without_merit(a, names, name_n, &answer, reterr);
    }
    if (rc != 0) {
        return rc;
    }
    points = ARENA_ARRAY(a, answer.n, int32_t);
    if (points == NULL) {
        return too_large(reterr);
    }
    rc = rank(a, &answer, 0, &ranked_n, &fit_n, reterr);
    if (rc != 0) {
        return rc;
    }
    pack_points(answer.results, answer.n, points);
    if (asking.demand->defect == DEMAND_OK && !demand_is_empty(asking.demand)) {
        record(c, "prioritize", &asking, pod->name, &answer, fit_n);
    }
    if (fit_n > 0) {
        make_tentative(c, pod, answer.results[0].name, asking.demand);
        decisions_consider(store_decisions(c->store),
                           store_explain(c->store, a, &asking, pod->name, &c->plans, &answer, fit_n));
    }
    *ret = (struct prioritize_result){answer.results, points, answer.n};
    return 0;
}

/* VERDICT_FITS: nothing was refused. */
static enum verdict most_frequent(const size_t n[VERDICT__MAX])
{
    enum verdict most = VERDICT_FITS;

    for (size_t v = 0; v < VERDICT__MAX; v++) {
        most = n[v] > n[most] ? (enum verdict)v : most;
    }
    return most;
}

/* Bind refuses a node in doubt, so pods would be evicted there for a place that cannot be used yet. One that nobody can
 * do without stays: a doubt passes (decision 0112). */
static size_t without_doubtful(struct store *s, struct preempt_node *nodes, size_t n)
{
    size_t sure_n = 0;

    for (size_t i = 0; i < n; i++) {
        if (!store_is_in_doubt(s, nodes[i].name)) {
            nodes[sure_n++] = nodes[i];
        }
    }
    return sure_n > 0 ? sure_n : n;
}

int placement_preempt(const struct placement_context *c, struct arena *a, const struct pod *pod,
                      struct preempt_node *nodes, size_t n, size_t *ret_n, enum verdict *ret_why, struct err *reterr)
{
    size_t refused_by[VERDICT__MAX] = {0};
    struct view_pod asking;
    int rc = read_pod(c, a, pod, &asking, reterr);
    size_t kept = 0;

    for (size_t i = 0; rc == 0 && i < n && asking.demand->defect == DEMAND_OK; i++) {
        struct preempt_node node = nodes[i];
        const struct preempt_request r = {.node_name = node.name,
                                          .uid = asking.uid,
                                          .namespace_ = asking.namespace_,
                                          .priority = asking.priority,
                                          .demand = asking.demand,
                                          .label_hashes = asking.label_hashes,
                                          .label_n = asking.label_n,
                                          .device_strategy = c->plans.rest.params.device_strategy,
                                          .victims = node.victims,
                                          .victim_n = node.victim_n};

        enum verdict v = demand_is_empty(asking.demand) ? VERDICT_FITS
                                                        : store_preempt(c->store, a, &r, &node.victims, &node.victim_n);

        refused_by[v]++;
        if (v == VERDICT_FITS) {
            nodes[kept++] = node;
        }
    }
    if (rc == 0 && a->overflowed) {
        return too_large(reterr);
    }
    *ret_n = rc == 0 && !demand_is_empty(asking.demand) ? without_doubtful(c->store, nodes, kept) : kept;
    *ret_why = kept == 0 ? most_frequent(refused_by) : VERDICT_FITS;
    return rc;
}
