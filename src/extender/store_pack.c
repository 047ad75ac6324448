/* A decision over many nodes, in sections short enough for writers to wait. */
#include "extender/store_internal.h"

#include "base/hash.h"
#include "base/hashmap.h"
#include "core/placement/pack.h"

#include <string.h>

static int too_large(struct err *reterr)
{
    return err_set(reterr, ERR_LIMIT, "the request does not fit its memory");
}

struct call {
    const struct view_pod *pod;
    struct pack_params params; /* as asked, with the outlook */
    struct store_sight sight;
    const struct pack_hold *holds;
    size_t hold_n;
    const struct str *names;
    size_t name_n;
    size_t done;      /* names answered */
    unsigned begun_n; /* times begun */
    struct pack_query query;
    uint64_t names_version;
};

/* Under the lock: from the first name, with the names as the ledger knows them now. */
static bool begin(struct store_pack_answer *ret, struct call *c, struct arena *a,
                  const struct ledger_view *v)
{
    uint64_t *seen = arena_calloc(a, v->node_n / 64 + 1, sizeof(*seen));

    if (seen == NULL) {
        return false;
    }
    pack_query_init(&c->query, v, &c->params, c->holds, c->hold_n);
    c->query.seen = seen;
    c->names_version = v->names_version;
    c->done = 0;
    c->begun_n++;
    ret->n = 0;
    ret->generation = v->generation;
    return true;
}

/* Under the lock: the next names. A node that came or went since the first ones means to begin
 * anew: the indexes stand for other names, and one of them could be answered twice or not at all.
 * So does another outlook.
 */
static int section(struct store *s, struct arena *a, struct call *c, struct store_pack_answer *ret,
                   struct err *reterr)
{
    struct ledger_view v;
    size_t n;
    int r;

    if (!store_look_ahead(s, &c->params)) {
        return 0;
    }
    r = ledger_view(s->ledger, a, c->pod, &v, reterr);
    if (r != 0) {
        return r;
    }
    if (c->done == 0 || v.names_version != c->names_version || !store_sight_holds(&c->sight, s)) {
        store_sight_take(&c->sight, s);
        if (!begin(ret, c, a, &v)) {
            return too_large(reterr);
        }
    }
    c->query.known = (struct score_row){NULL, NULL};
    if (!v.isolates) {
        c->query.known = score_cache_find(s->scores, c->pod->demand, &c->params, v.node_n);
    }
    n = c->name_n - c->done;
    /* Finding nominations costs a pass over the pods: once is enough. */
    if (n > STORE_PACK_SECTION && c->begun_n <= STORE_BEGIN_AGAIN_MAX && v.nomination_n == 0) {
        n = STORE_PACK_SECTION;
    }
    if (n > 0) { /* a caller may ask about no node at all: then there is no array either */
        c->query.work_max = c->begun_n <= STORE_BEGIN_AGAIN_MAX && v.nomination_n == 0 ? OUTLOOK_WORK_MAX : 0;
        ret->n += pack_some(&v, &c->query, c->names + c->done, n, ret->results + ret->n);
        c->done += c->query.done;
    }
    return 0;
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
    const struct hash_key key = {0x66677075,
                                 0x6e6f6465}; /* one call long: nobody can learn it and profit */
    struct hashmap seen;
    size_t kept = 0;

    hashmap_init(&seen);
    for (size_t i = 0; i < n; i++) {
        if (results[i].verdict == VERDICT_NODE_UNKNOWN) {
            uint64_t hash = hash_str(key, results[i].name);

            if (hashmap_find(&seen, hash, result_has_name, results, &results[i].name) !=
                HASHMAP_NONE) {
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

int store_pack(struct store *s, struct arena *a, const struct view_pod *pod,
               const struct pack_plans *plans, const struct pack_hold *holds, size_t hold_n,
               const struct str *names, size_t name_n, struct store_pack_answer *ret,
               struct err *reterr)
{
    const struct pack_params *params;
    struct agenda agenda;
    struct call c = {.pod = pod,
                     .holds = holds,
                     .hold_n = hold_n,
                     .names = names,
                     .name_n = name_n};
    int r = 0;

    /* Not cleared: each result is written whole. */
    *ret =
        (struct store_pack_answer){.results = arena_alloc(a, name_n * sizeof(struct pack_result))};
    if (ret->results == NULL) {
        return too_large(reterr);
    }
    agenda_make(&agenda, plans, pod->namespace_, pod->label_hashes, pod->label_n);
    if (!agenda_is_plain(&agenda)) {
        const struct store_question q = {pod, holds, hold_n, names, name_n};

        return store_pack_planned(s, a, &q, &agenda, ret, reterr);
    }
    params = &agenda.steps[0].plan->params;
    c.params = *params;
    c.params.outlook = s->outlook;
    c.params.prices = &c.sight.prices;
    do {
        store_lock(s);
        r = section(s, a, &c, ret, reterr);
        store_unlock(s);
    } while (r == 0 && (c.begun_n == 0 || c.done < name_n));
    if (r == 0 && params->node_strategy->normalise != NULL) {
        params->node_strategy->normalise(ret->results, ret->n);
    }
    if (r == 0 && c.query.unknown_n > 1) {
        ret->n = store_drop_unknown_repeats(ret->results, ret->n);
    }
    return r;
}
