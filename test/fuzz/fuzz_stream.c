/* Lists and watches from bytes to the ledger. The same bytes cut at any places tell the consumer
 * the same scenario; the scenario keeps the rules of include/kube/reflector.h; and the ledger that was
 * fed by it is sound.
 *
 * Input: one byte (pods or nodes), a byte that seeds the cuts, then bodies of replies, each
 * introduced by a byte that says how its exchange ends and ended by a zero byte.
 */
#include "fuzz.h"

#include "base/rng.h"
#include "extender/feed.h"
#include "kube/reflector.h"
#include "kube/support/render.h"

#include <stdio.h>
#include <string.h>

#define MEMORY (32U << 20)
#define EXCHANGES_MAX 12

enum cut { WHOLE, BYTES, RANDOM };

struct run {
    struct store *store;
    struct policy_set *policies;
    struct feed feed;
    struct reflector_handler to_store;
    struct reflector *reflector;
    struct strbuf scenario;
    struct rng rng; /* of the reflector: the same in all runs */
    struct rng cut_rng;
    int64_t now_ns;
    bool in_list, synced;
};

static void on_list_begin(void *ctx)
{
    struct run *r = ctx;

    FUZZ_CHECK(!r->in_list);
    r->in_list = true;
    strbuf_add_cstr(&r->scenario, "begin\n");
    r->to_store.list_begin(r->to_store.ctx);
}

static void tell(struct run *r, const char *what, const struct kube_object *o)
{
    strbuf_addf(&r->scenario, "%s of %zu bytes\n", what, o->raw.n);
    FUZZ_CHECK((o->pod == NULL) != (o->node == NULL));
    if (o->pod != NULL) {
        FUZZ_CHECK(o->pod->name.n > 0 && o->pod->resource_version.n > 0);
        render_pod(&r->scenario, o->pod);
    } else {
        FUZZ_CHECK(o->node->name.n > 0 && o->node->resource_version.n > 0);
        render_node(&r->scenario, o->node);
    }
}

static void on_object(void *ctx, const struct kube_object *o)
{
    struct run *r = ctx;

    FUZZ_CHECK(r->in_list || r->synced);
    tell(r, "object", o);
    r->to_store.object(r->to_store.ctx, o);
}

static void on_deleted(void *ctx, const struct kube_object *o)
{
    struct run *r = ctx;

    FUZZ_CHECK(!r->in_list && r->synced);
    tell(r, "deleted", o);
    r->to_store.deleted(r->to_store.ctx, o);
}

static void on_unusable(void *ctx, const struct kube_object *o, bool deleted, const struct err *why)
{
    struct run *r = ctx;

    FUZZ_CHECK(why->code != ERR_OK && why->msg[0] != '\0');
    FUZZ_CHECK(!r->in_list || !deleted);
    tell(r, deleted ? "unusable deleted" : "unusable", o);
    r->to_store.unusable(r->to_store.ctx, o, deleted, why);
}

static void on_list_end(void *ctx, bool complete, struct str version)
{
    struct run *r = ctx;

    FUZZ_CHECK(r->in_list && complete == (version.n > 0));
    r->in_list = false;
    strbuf_addf(&r->scenario, "end %d %.*s\n", complete, STR_ARG(version));
    r->to_store.list_end(r->to_store.ctx, complete, version);
}

static void on_bookmark(void *ctx, struct str version)
{
    struct run *r = ctx;

    FUZZ_CHECK(!r->in_list && r->synced && version.n > 0);
    FUZZ_SAME(version, str_of(reflector_stats(r->reflector)->resource_version));
    strbuf_addf(&r->scenario, "bookmark %.*s\n", STR_ARG(version));
    if (r->to_store.bookmark != NULL) {
        r->to_store.bookmark(r->to_store.ctx, version);
    }
}

static void on_synced(void *ctx)
{
    struct run *r = ctx;

    FUZZ_CHECK(!r->in_list && !r->synced);
    r->synced = true;
    strbuf_add_cstr(&r->scenario, "synced\n");
    if (r->to_store.synced != NULL) {
        r->to_store.synced(r->to_store.ctx);
    }
}

static const struct clock *still(void)
{
    static struct clock_manual m;

    clock_manual_init(&m, 1000000000, 1795161600123);
    return &m.clock;
}

static void run_init(struct run *r, enum kube_resource resource, uint64_t cut_seed)
{
    const struct ledger_limits limits = {.hash_key = {5, 6}, .overcommit_milli = 1000, .overcommit_mem_milli = 1000};
    const struct reflector_handler handler = {.list_begin = on_list_begin,
                                              .object = on_object,
                                              .deleted = on_deleted,
                                              .unusable = on_unusable,
                                              .list_end = on_list_end,
                                              .bookmark = on_bookmark,
                                              .synced = on_synced,
                                              .ctx = r};
    struct ingest facts = {.policy = policy_defaults()};
    const struct rules *rules;

    memset(r, 0, sizeof(*r));
    r->now_ns = 1000000000;
    r->store = facts.store = store_new(&limits, still());
    strbuf_init(&r->scenario, MEMORY);
    rng_init(&r->rng, 1);
    rng_init(&r->cut_rng, cut_seed);
    FUZZ_CHECK(rules_new(&facts, 1, NULL, NULL, &rules, NULL) == 0);
    r->policies = policy_set_new(rules);
    feed_init(&r->feed, r->policies, resource);
    r->to_store = feed_handler(&r->feed);
    r->reflector = reflector_new(resource, &handler, &r->rng);
}

static void run_fini(struct run *r)
{
    reflector_free(r->reflector);
    feed_fini(&r->feed);
    policy_set_free(r->policies);
    store_free(r->store);
    strbuf_fini(&r->scenario);
}

static int feed_all(struct run *r, struct str bytes, enum cut cut)
{
    struct err err;
    int rc = 0;

    while (bytes.n > 0 && rc == 0) {
        size_t n = cut == WHOLE ? bytes.n : cut == BYTES ? 1 : 1 + rng_below(&r->cut_rng, bytes.n);

        rc = reflector_feed(r->reflector, r->now_ns, (struct str){bytes.p, n}, &err);
        bytes = str_drop(bytes, n);
    }
    if (rc != 0) {
        strbuf_addf(&r->scenario, "refused %d %s\n", rc, err.msg);
    }
    return rc;
}

static struct kube_outcome outcome_of(uint8_t how)
{
    static const int statuses[] = {200, 200, 200, 400, 401, 403, 404, 410, 429, 500, 503, 504};
    struct kube_outcome o = {.kind = KUBE_ANSWERED, .maybe_sent = true, .retry_after_ms = KUBE_NO_RETRY_AFTER};

    if (how < 128) {
        o.http_status = statuses[how % ARRAY_LEN(statuses)];
        o.retry_after_ms = (how & 64) != 0 ? 1000 * how : KUBE_NO_RETRY_AFTER;
    } else {
        o.kind = (enum kube_outcome_kind)(how % KUBE_CANCELLED); /* a cancelled one changes nothing */
        o.http_status = o.kind == KUBE_ANSWERED || (how & 64) != 0 ? 200 : 0;
        o.maybe_sent = o.kind != KUBE_NOT_SENT;
    }
    return o;
}

static void exchange(struct run *r, struct str body, uint8_t how, enum cut cut)
{
    struct kube_outcome o = outcome_of(how);
    struct reflector_step step;

    reflector_next(r->reflector, r->now_ns, &step);
    if (step.action == REFLECTOR_WAIT) {
        FUZZ_CHECK(step.wait_until_ns > r->now_ns);
        r->now_ns = step.wait_until_ns;
        reflector_next(r->reflector, r->now_ns, &step);
    }
    FUZZ_CHECK(step.action != REFLECTOR_WAIT && step.silence_ms > 0);
    FUZZ_CHECK(step.action == REFLECTOR_LIST || r->synced || strstr(step.path, "sendInitialEvents=true") != NULL);
    strbuf_addf(&r->scenario, "%s\n", step.path);
    if (o.http_status == 200 && feed_all(r, body, cut) != 0) {
        o.kind = KUBE_ABORTED;
    }
    r->now_ns += 1000000 * (int64_t)how * how; /* what ends at once counts as failed */
    reflector_done(r->reflector, r->now_ns, &o);
    if (cut == WHOLE) {
        FUZZ_SOUND(store_check(r->store));
    }
}

static void play(struct run *r, struct fuzz_input in, enum cut cut)
{
    for (int i = 0; i < EXCHANGES_MAX && in.n > 0; i++) {
        uint8_t how = fuzz_u8(&in);

        exchange(r, fuzz_until(&in, '\0'), how, cut);
    }
    const struct reflector_stats *s = reflector_stats(r->reflector);

    strbuf_addf(&r->scenario, "cursor %s, %s; %u events, %u items, %u unusable\n", s->resource_version, s->last_error,
                (unsigned)s->event_n, (unsigned)s->item_n, (unsigned)s->unusable_n);
    FUZZ_CHECK(!r->scenario.overflowed && s->synced == r->synced);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct run whole, other;
    struct fuzz_input in = {data, size};
    enum kube_resource resource = fuzz_below(&in, KUBE_RESOURCE__MAX);
    uint8_t seed = fuzz_u8(&in);

    run_init(&whole, resource, 0);
    run_init(&other, resource, seed);
    play(&whole, in, WHOLE);
    play(&other, in, seed % 3 == 0 ? BYTES : RANDOM);
    FUZZ_SAME(strbuf_view(&whole.scenario), strbuf_view(&other.scenario));
    FUZZ_CHECK(store_generation(whole.store) == store_generation(other.store));
    run_fini(&other);
    run_fini(&whole);
    return 0;
}
