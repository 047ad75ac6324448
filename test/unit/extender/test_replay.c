/* What a store records is made again by a replay, whatever happened; and what does not fit is found. */
#include "extender/replay.h"

#include "base/rng.h"
#include "base/strbuf.h"
#include "extender/placement.h"
#include "extender/store_trace.h"
#include "extender/support/tested_store.h"
#include "support/cmocka.h"
#include "support/seeds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES 6
#define PODS 40
#define MS INT64_C(1000000)

static struct clock_manual now;
static struct policy policy;
static struct placement_context context;
static struct ledger *scratch;
static char node_names[NODES][8], uids[PODS][8];
static uint64_t binds, ok_n;
static const struct demand share = DEMAND_OF_SHARE(250);

static void begin(const struct policy *p)
{
    clock_manual_init(&now, 1000 * MS, 5000);
    store_open(&now.clock);
    store_record(store, 4 << 20);
    store_record_configuration(store, 0, "hash", STR("{\"a\":1}"));
    policy = *p;
    assert_int_equal(placement_context_init(&context, store, &policy, NULL), 0);
    apply_empty_lists();
    scratch = store_audit_scratch(store);
    binds = 0;
}

static void end(void)
{
    ledger_free(scratch);
    store_check_and_free();
}

/* As GET /v1/trace gives it. */
static void trace_text(struct strbuf *out)
{
    struct store_trace t;
    char buf[1000];
    size_t n;

    assert_true(store_trace_open(store, &t));
    strbuf_addf(out, "{\"apiVersion\":\"%s\",\"first\":%" PRIu64 ",\"next\":%" PRIu64 ",\"complete\":%s}\n",
                TRACE_API_VERSION, t.first, t.next, t.first == 1 ? "true" : "false");
    do {
        assert_true(store_trace_read(store, &t, buf, sizeof(buf), &n));
        strbuf_add(out, buf, n);
    } while (n > 0);
    store_trace_close(&t);
    strbuf_add_cstr(out, "{\"type\":\"end\"}\n");
    assert_false(out->overflowed);
}

/* ---- the replay ---- */

static struct {
    unsigned n;
    uint64_t seq;
    char text[2 * REPLAY_WORDS_MAX + 64];
} found;

static int policy_of(void *ctx, struct str configuration, const struct policy **ret, struct err *reterr)
{
    *ret = &policy;
    return str_eq(configuration, STR("{\"a\":1}")) ? 0 : err_set(reterr, ERR_INVALID, "another configuration");
}

static bool differs(void *ctx, const struct replay_difference *d)
{
    if (found.n++ == 0) {
        found.seq = d->seq;
        snprintf(found.text, sizeof(found.text), "line %" PRIu64 ", %s: %s; now %s", d->seq, d->what, d->recorded,
                 d->now);
    }
    return false;
}

static int replay(const struct strbuf *document, struct replay_report *ret, struct err *reterr)
{
    const struct replay_options o = {.policy = policy_of, .differs = differs};

    memset(&found, 0, sizeof(found));
    return replay_run(strbuf_view(document), &o, ret, reterr);
}

static void assert_same(uint64_t filter_n)
{
    struct replay_report report;
    struct strbuf document;
    struct err err = {.msg = ""};

    strbuf_init(&document, 16 << 20);
    trace_text(&document);
    if (replay(&document, &report, &err) != 0 || found.n > 0) {
        fail_msg("%s%s", err.msg, found.text);
    }
    assert_int_equal(report.verbs[REPLAY_FILTER].again_n, filter_n);
    assert_int_equal(report.verbs[REPLAY_BIND].again_n, binds);
    strbuf_fini(&document);
}

/* ---- what happens ---- */

static struct pod pod_of(size_t i, struct container *c, struct kv *limit, char amount[16], unsigned milli)
{
    snprintf(uids[i], sizeof(uids[i]), "p%zu", i);
    snprintf(amount, 16, "%u", milli);
    *limit = (struct kv){STR("fgpu.io/gpu-milli"), str_of(amount)};
    *c = (struct container){.name = STR("main"), .limits = {limit, 1}};
    return (struct pod){
        .uid = str_of(uids[i]), .name = str_of(uids[i]), .namespace_ = STR("d"), .containers = c, .container_n = 1};
}

/* A filter call over all nodes and one that nobody knows. */
static void ask(const struct pod *pod)
{
    struct str names[NODES + 1];
    struct filter_result result;

    for (size_t i = 0; i < NODES; i++) {
        names[i] = str_of(node_names[i]);
    }
    names[NODES] = STR("stranger");
    assert_int_equal(placement_filter(&context, &arena, pod, names, NODES + 1, &result, NULL), 0);
}

static void bind(size_t pod, const char *node)
{
    struct store_reservation reservation;
    char id[24];
    enum store_reserve_result r;

    snprintf(id, sizeof(id), "%016" PRIx64, binds);
    r = store_reserve(store, &arena, str_of(uids[pod]), STR("d"), str_of(uids[pod]), str_of(node), str_of(id),
                      &context.plans, &reservation, NULL);
    binds += r == STORE_RESERVED || r == STORE_NO_FIT;
}

static void describe(struct rng *rng, size_t i)
{
    snprintf(node_names[i], sizeof(node_names[i]), "n%zu", i);
    apply_node(node_names[i], 1 + (int)rng_below(rng, 3), 40000, rng_below(rng, 8) > 0);
}

/* An audit has read the pod unbound; or as it is. */
static void repair(size_t pod, const struct demand *d)
{
    struct ledger_op op = {
        .kind = LEDGER_POD_OBSERVED,
        .pod = {.uid = str_of(uids[pod]), .namespace_ = STR("d"), .name = str_of(uids[pod]), .demand = d}};
    enum ledger_drift drift;
    uint64_t touched;

    if (store_drift(store, scratch, &op, &touched) != DRIFT_NONE) {
        assert_int_equal(store_repair(store, scratch, &op, touched, &drift, NULL), 0);
    }
}

static uint64_t act(struct rng *rng)
{
    const size_t i = rng_below(rng, PODS);
    struct container c;
    struct kv limit;
    struct ledger_op op;
    char amount[16];
    const struct pod pod = pod_of(i, &c, &limit, amount, 100 + 50 * (unsigned)(i % 16));
    const struct ingest by = {store, &policy, NULL, NULL};

    now.mono_ns += (int64_t)rng_below(rng, 900) * MS;
    switch (rng_below(rng, 8)) {
    case 0:
        describe(rng, rng_below(rng, NODES));
        break;
    case 1:
        op = (struct ledger_op){.kind = LEDGER_CONFIRM, .name = str_of(uids[i])};
        ok_n += store_apply(store, &op, NULL) == 0; /* fails mostly: that is recorded, too */
        break;
    case 2:
        apply((struct ledger_op){.kind = LEDGER_POD_GONE, .name = str_of(uids[i])});
        break;
    case 3:
        apply_pod(uids[i], rng_below(rng, 2) == 0 ? node_names[i % NODES] : NULL, &share);
        break;
    case 4:
        repair(i, &share);
        break;
    case 5:
        bind(i, node_names[rng_below(rng, NODES)]);
        break;
    default:
        assert_int_equal(ingest_pod(&by, &arena, &pod, NULL), 0);
        ask(&pod);
        bind(i, node_names[rng_below(rng, NODES)]);
        return 1;
    }
    return 0;
}

static void random_lives__every_decision_again(void **state)
{
    static const char *const named[] = {"rsp", "fgd", "tight-fit", "binpack", "spread"};
    const struct seeds seeds = seeds_of_test(1, 25);

    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct policy p = *policy_defaults();
        uint64_t filter_n = 0;
        struct rng rng;

        p.node_strategy = p.device_strategy = str_of(named[seed % 5]);
        rng_init(&rng, seed);
        begin(&p);
        for (size_t i = 0; i < NODES; i++) {
            describe(&rng, i);
        }
        for (size_t i = 0; i < PODS; i++) {
            snprintf(uids[i], sizeof(uids[i]), "p%zu", i);
        }
        for (int i = 0; i < 300; i++) {
            filter_n += act(&rng);
        }
        assert_same(filter_n);
        end();
    }
}

/* The state of the cluster went back: a pod is gone from its node, and there again without one. Two ops, two lines. */
static void audit_repairs__as_it_was(void **state)
{
    begin(policy_defaults());
    apply_node("n0", 1, 40000, true);
    snprintf(uids[0], sizeof(uids[0]), "p0");
    apply_pod("p0", "n0", &share);
    assert_int_equal(milli_charged(), 250);
    repair(0, &share);
    assert_int_equal(milli_charged(), 0);
    assert_same(0);
    end();
}

static void no_known_node_is_asked_about__as_it_was(void **state)
{
    struct container c;
    struct kv limit;
    char amount[16];
    const struct pod pod = pod_of(0, &c, &limit, amount, 100);

    begin(policy_defaults());
    for (size_t i = 0; i < NODES; i++) {
        snprintf(node_names[i], sizeof(node_names[i]), "x%zu", i);
    }
    ask(&pod);
    assert_same(1);
    end();
}

/* One character of one line is another one: either that is found, or it does not matter to any decision. What never
 * happens is a crash, or a difference in an earlier line. */
static void spoiled_at_random__no_crash_and_no_earlier_difference(void **state)
{
    const struct seeds seeds = seeds_of_test(1, 1); /* one */
    struct replay_report report;
    struct strbuf document, spoiled;
    struct err err;
    struct rng rng;
    unsigned found_n = 0;

    rng_init(&rng, seeds.first);
    begin(policy_defaults());
    for (size_t i = 0; i < NODES; i++) {
        describe(&rng, i);
    }
    for (size_t i = 0; i < PODS; i++) {
        snprintf(uids[i], sizeof(uids[i]), "p%zu", i);
    }
    for (int i = 0; i < 60; i++) {
        (void)act(&rng);
    }
    strbuf_init(&document, 4 << 20);
    strbuf_init(&spoiled, 4 << 20);
    trace_text(&document);
    for (int i = 0; i < 300; i++) {
        const size_t at = rng_below(&rng, document.n);
        uint64_t line = 0;

        strbuf_reset(&spoiled);
        strbuf_add_str(&spoiled, strbuf_view(&document));
        for (size_t k = 0; k < at; k++) {
            line += document.p[k] == '\n';
        }
        spoiled.p[at] = (char)('0' + rng_below(&rng, 10));
        if (replay(&spoiled, &report, &err) != 0) {
            found_n++;
        } else if (found.n > 0) {
            found_n++;
            assert_true(found.seq >= line); /* the line after the head is number 1 */
        }
    }
    assert_true(found_n > 150);
    strbuf_fini(&document);
    strbuf_fini(&spoiled);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_lives__every_decision_again),
        cmocka_unit_test(audit_repairs__as_it_was),
        cmocka_unit_test(no_known_node_is_asked_about__as_it_was),
        cmocka_unit_test(spoiled_at_random__no_crash_and_no_earlier_difference),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
