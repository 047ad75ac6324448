/* A decision over many nodes, in sections short enough for writers to wait. */
#include "extender/store_pack_internal.h"

#include "base/hash.h"
#include "base/hashmap.h"

/* A decision that had to begin again so often, because nodes come and go without end, takes one long section. */
enum { BEGIN_AGAIN_MAX = 8 };

static bool look_ahead(const struct store_decision *d, struct store *s)
{
    for (size_t i = 0; i < d->strategy_n; i++) {
        if (!forecast_follow(s->forecast, ledger_cluster_view(s->ledger), d->strategies[i])) {
            return false;
        }
    }
    return true;
}

/* The forecast is as it was when the decision began. */
static bool sight_holds(const struct store_decision *d, const struct store *s)
{
    return forecast_prices(s->forecast)->basis == d->prices.basis &&
           forecast_typical_version(s->forecast) == d->typical_version;
}

static int too_large(struct err *reterr)
{
    return err_set(reterr, ERR_LIMIT, "the request does not fit its memory");
}

static int begin_decision(struct store_decision *d, struct store *s, struct arena *a, const struct ledger_view *v,
                          struct store_pack_answer *ret, struct err *reterr)
{
    uint64_t *seen = arena_calloc(a, v->node_n / 64 + 1, sizeof(*seen));
    const uint64_t *in_doubt;

    if (seen == NULL || !store_doubt_bits(s, a, v, &in_doubt)) {
        return too_large(reterr);
    }
    d->prices = *forecast_prices(s->forecast);
    d->typical_version = forecast_typical_version(s->forecast);
    d->names_version = v->names_version;
    d->done = 0;
    d->begun_n++;
    ret->n = 0;
    ret->generation = v->generation;
    ret->judged_at = s->recorder != NULL ? recorder_next(s->recorder) : 0;
    ret->asked = (struct node_set){seen, v->node_n / 64 + 1, v->names_version};
    for (size_t i = 0; i < d->plan->n; i++) {
        pack_query_init(&d->queries[i], v, &d->params[i], d->tentatives, d->tentative_n);
        d->queries[i].in_doubt = in_doubt;
        d->queries[i].seen = seen; /* of all of them: a node belongs to one step */
        d->queries[i].twins = s->twins;
        d->queries[i].decision = twins_begin(s->twins); /* one for each step, because of its strategies */
    }
    return 0;
}

struct score_row store_remembered(struct store *s, const struct ledger_view *v, const struct pack_params *params)
{
    return v->isolates ? (struct score_row){NULL, NULL} : score_cache_find(s->scores, v->pod.demand, params, v->node_n);
}

static void judge_plain(struct store_decision *d, struct store *s, const struct ledger_view *v, size_t n,
                        struct store_pack_answer *ret)
{
    struct pack_query *q = d->queries;

    q->known = store_remembered(s, v, d->params);
    q->work_max = d->at_once ? 0 : FORECAST_WORK_MAX;
    ret->n += pack_some(v, q, d->names + d->done, n, ret->results + ret->n);
    d->done += q->done;
}

/* Under the lock: the next names. A node that came or went since the first ones means to begin anew: the indexes stand
 * for other names, and one of them could be answered twice or not at all. So does another forecast. */
static int judge_section(struct store_decision *d, struct store *s, struct arena *a, struct store_pack_answer *ret,
                         struct err *reterr)
{
    struct ledger_view v;
    size_t n;
    int rc;

    if (!look_ahead(d, s)) {
        return 0;
    }
    rc = ledger_view(s->ledger, a, d->pod, &v, reterr);
    if (rc == 0 && (d->done == 0 || v.names_version != d->names_version || !sight_holds(d, s))) {
        rc = begin_decision(d, s, a, &v, ret, reterr);
    }
    if (rc != 0) {
        return rc;
    }
    d->at_once = d->begun_n > BEGIN_AGAIN_MAX || v.nomination_n > 0;
    n = d->name_n - d->done;
    if (n > d->section_n && !d->at_once) {
        n = d->section_n;
    }
    if (n == 0) { /* a caller may ask about no node at all: then there is no array either */
        return 0;
    }
    if (d->by_rules == NULL) {
        judge_plain(d, s, &v, n, ret);
    } else {
        store_plan_judge(d, s, &v, n, ret);
    }
    return 0;
}

/* ---- when all are judged ---- */

static bool result_has_name(const void *owner, uint32_t value, const void *key)
{
    const struct pack_result *results = owner;
    const struct str *name = key;

    return str_eq(results[value].name, *name);
}

/* Names of known nodes are told apart by their node; of unknown ones, which are few, by their text. Returns how many
 * results stay. */
static size_t drop_unknown_repeats(struct pack_result *results, size_t n)
{
    const struct hash_key key = {0x66677075, 0x6e6f6465}; /* one call long: nobody can learn it and profit */
    struct hashmap seen;
    size_t kept = 0;

    hashmap_init(&seen);
    for (size_t i = 0; i < n; i++) {
        if (results[i].verdict == VERDICT_NODE_UNKNOWN) {
            uint64_t hash = hash_str(key, results[i].name);

            if (hashmap_find(&seen, hash, result_has_name, results, &results[i].name) != HASHMAP_NONE) {
                continue;
            }
            hashmap_insert(&seen, hash, (uint32_t)kept);
        }
        if (kept != i) {
            results[kept] = results[i];
        }
        kept++;
    }
    hashmap_fini(&seen);
    return kept;
}

static void finish(struct store_decision *d, struct store_pack_answer *ret)
{
    const struct strategy *strategy = d->params[0].node_strategy;
    size_t unknown_n = 0;

    if (d->by_rules != NULL) {
        store_plan_combine(d, ret);
    } else if (strategy->normalise != NULL) {
        strategy->normalise(ret->results, ret->n);
    }
    ret->prices = d->prices;
    for (size_t i = 0; i < d->plan->n; i++) {
        unknown_n += d->queries[i].unknown_n;
    }
    if (unknown_n > 1) {
        ret->n = drop_unknown_repeats(ret->results, ret->n);
    }
}

/* False: the arena is full. */
static bool prepare(struct store_decision *d, struct store *s, struct arena *a)
{
    d->queries = ARENA_ARRAY(a, d->plan->n, struct pack_query);
    d->params = ARENA_ARRAY(a, d->plan->n, struct pack_params);
    if (d->queries == NULL || d->params == NULL) {
        return false;
    }
    for (size_t i = 0; i < d->plan->n; i++) {
        d->params[i] = d->plan->steps[i].plan->params;
        d->params[i].forecast = s->forecast;
        d->params[i].prices = &d->prices;
    }
    d->strategy_n = resolved_plan_strategies(d->plan, d->strategies);
    return resolved_plan_is_plain(d->plan) || store_plan_prepare(d, a);
}

int store_pack(struct store *s, struct arena *a, const struct view_pod *pod, const struct pack_plans *plans,
               const struct pack_tentative *tentatives, size_t tentative_n, const struct str *names, size_t name_n,
               struct store_pack_answer *ret, struct err *reterr)
{
    struct resolved_plan plan;
    struct store_decision d = {.pod = pod,
                               .tentatives = tentatives,
                               .tentative_n = tentative_n,
                               .names = names,
                               .name_n = name_n,
                               .plan = &plan,
                               .section_n = STORE_PACK_SECTION};
    int rc;

    resolved_plan_make(&plan, plans, pod->namespace_, pod->label_hashes, pod->label_n);
    /* Not cleared: each result is written whole. */
    *ret = (struct store_pack_answer){.results = arena_alloc(a, name_n * sizeof(struct pack_result))};
    if (ret->results == NULL || !prepare(&d, s, a)) {
        return too_large(reterr);
    }
    do {
        mutex_lock(&s->lock);
        rc = judge_section(&d, s, a, ret, reterr);
        ret->moved = ledger_generation(s->ledger) != ret->generation;
        mutex_unlock(&s->lock);
    } while (rc == 0 && (d.begun_n == 0 || d.done < name_n));
    if (rc == 0) {
        finish(&d, ret);
    }
    return rc;
}
