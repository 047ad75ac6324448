/* A decision over many nodes by one pair of strategies; those by rules: store_plan.c. */
#include "extender/store_sections_internal.h"

#include "base/hash.h"
#include "base/hashmap.h"
#include "core/placement/pack.h"

#include <string.h>

struct plain {
    struct store_sections sections;
    struct pack_params params; /* as asked, with the forecast */
    struct pack_query query;
};

static bool look_ahead(struct store_sections *d, struct store *s)
{
    return store_look_ahead(s, &((struct plain *)d)->params);
}

static void begin_pack_call(struct store_sections *d, const struct ledger_view *v, uint64_t *seen)
{
    struct plain *p = (struct plain *)d;

    pack_query_init(&p->query, v, &p->params, d->question->tentatives, d->question->tentative_n);
    p->query.seen = seen;
}

static size_t judge(struct store_sections *d, struct store *s, const struct ledger_view *v, size_t n,
                    struct store_pack_answer *ret)
{
    struct plain *p = (struct plain *)d;

    p->query.known = (struct score_row){NULL, NULL};
    if (!v->isolates) {
        p->query.known = score_cache_find(s->scores, v->pod.demand, &p->params, v->node_n);
    }
    p->query.work_max = d->at_once ? 0 : FORECAST_WORK_MAX;
    ret->n += pack_some(v, &p->query, d->question->names + d->done, n, ret->results + ret->n);
    return p->query.done;
}

static bool result_has_name(const void *owner, uint32_t value, const void *key)
{
    const struct pack_result *results = owner;
    const struct str *name = key;

    return str_eq(results[value].name, *name);
}

/* Names of known nodes are told apart by their node; of unknown ones, which are few, by their text.
 */
size_t store_drop_unknown_repeats(struct pack_result *results, size_t n)
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

static int pack_plain(struct store *s, struct arena *a, const struct store_question *q,
                      const struct pack_params *params, struct store_pack_answer *ret, struct err *reterr)
{
    static const struct store_sections_ops ops = {look_ahead, begin_pack_call, judge};
    struct plain p = {.sections = {.ops = &ops, .question = q, .section_n = STORE_PACK_SECTION}, .params = *params};
    int rc;

    p.params.forecast = s->forecast;
    p.params.prices = &p.sections.sight.prices;
    rc = store_answer_in_sections(s, a, &p.sections, ret, reterr);
    if (rc == 0 && params->node_strategy->normalise != NULL) {
        params->node_strategy->normalise(ret->results, ret->n);
    }
    if (rc == 0 && p.query.unknown_n > 1) {
        ret->n = store_drop_unknown_repeats(ret->results, ret->n);
    }
    return rc;
}

int store_pack(struct store *s, struct arena *a, const struct view_pod *pod, const struct pack_plans *plans,
               const struct pack_tentative *tentatives, size_t tentative_n, const struct str *names, size_t name_n,
               struct store_pack_answer *ret, struct err *reterr)
{
    const struct store_question q = {pod, tentatives, tentative_n, names, name_n};
    struct resolved_plan resolved_plan;

    /* Not cleared: each result is written whole. */
    *ret = (struct store_pack_answer){.results = arena_alloc(a, name_n * sizeof(struct pack_result))};
    if (ret->results == NULL) {
        return err_set(reterr, ERR_LIMIT, "the request does not fit its memory");
    }
    resolved_plan_make(&resolved_plan, plans, pod->namespace_, pod->label_hashes, pod->label_n);
    return resolved_plan_is_plain(&resolved_plan)
               ? pack_plain(s, a, &q, &resolved_plan.steps[0].plan->params, ret, reterr)
               : store_pack_planned(s, a, &q, &resolved_plan, ret, reterr);
}
