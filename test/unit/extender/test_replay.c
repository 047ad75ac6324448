/* What a store records is made again by a replay, whatever happened; and what does not fit is found. */
#include "extender/replay.h"

#include "base/compiler.h"
#include "base/rng.h"
#include "extender/support/tested_trace.h"
#include "support/cmocka.h"
#include "support/seeds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS INT64_C(1000000)

static struct ledger *scratch;
static uint64_t ok_n;
static const struct demand share = DEMAND_OF_SHARE(250), most = DEMAND_OF_SHARE(900);

static void begin(const struct policy *p)
{
    traced_begin(p);
    scratch = store_audit_scratch(store);
}

static void end(void)
{
    ledger_free(scratch);
    traced_end();
}

static void assert_same(uint64_t filter_n)
{
    struct replay_report report;
    struct strbuf document;
    struct err err = {.msg = ""};

    strbuf_init(&document, DOCUMENT_BYTES_MAX);
    trace_text(&document);
    if (replay(&document, &report, &err) != 0 || found.n > 0) {
        fail_msg("%s%s", err.msg, found.text);
    }
    assert_int_equal(report.verbs[REPLAY_FILTER].again_n, filter_n);
    assert_int_equal(report.verbs[REPLAY_BIND].again_n, binds);
    strbuf_fini(&document);
}

/* ---- what happens ---- */

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
    const struct ingest by = {store, context.policy, NULL, NULL};

    trace_clock.mono_ns += (int64_t)rng_below(rng, 900) * MS;
    switch (rng_below(rng, 9)) {
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
        traced_bind(i, node_names[rng_below(rng, NODES)]);
        break;
    case 6:
        store_doubt(store, str_of(node_names[rng_below(rng, NODES)]), rng_below(rng, 2) == 0);
        break;
    default:
        assert_int_equal(ingest_pod(&by, &arena, &pod, NULL), 0);
        traced_ask(&pod);
        traced_bind(i, node_names[rng_below(rng, NODES)]);
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
    traced_ask(&pod);
    assert_same(1);
    end();
}

/* The devices were chosen, and taken back, because the record did not fit the memory of the request. */
static void F179_reservation__does_not_fit_its_memory__as_it_was(void **state)
{
    struct store_reservation reservation;
    struct container c;
    struct kv limit;
    char amount[16];
    const struct pod pod = pod_of(0, &c, &limit, amount, 100);
    struct arena small;

    begin(policy_defaults());
    apply_node("n0", 1, 40000, true);
    assert_int_equal(ingest_pod(&(struct ingest){store, context.policy, NULL, NULL}, &arena, &pod, NULL), 0);
    arena_init(&small, 64);
    assert_int_equal(store_reserve(store, &small, STR("p0"), STR("d"), STR("p0"), STR("n0"), STR("0123456789abcdef"),
                                   &context.plans, NULL, &reservation, NULL),
                     STORE_FAILED);
    arena_fini(&small);
    binds++;
    assert_int_equal(milli_charged(), 0);
    traced_bind(0, "n0");
    assert_int_equal(milli_charged(), 100);
    assert_same(0);
    end();
}

static struct str best_for(const struct pod *pod)
{
    struct str name[] = {STR("n0"), STR("n1")};
    struct filter_result result;

    assert_int_equal(placement_filter(&context, &arena, pod, name, 2, &result, NULL), 0);
    assert_true(result.fit_n == 1 && result.results[0].verdict == VERDICT_FITS); /* one candidate */
    return result.results[0].name;
}

/* In doubt it is named only where nothing else fits, and a replay sees that as it was. */
static void node_is_in_doubt__comes_last_then_and_in_the_replay(void **state)
{
    struct policy p = *policy_defaults();
    struct strbuf document, other;
    struct replay_report report;
    struct container c;
    struct kv limit;
    char amount[16];
    const struct pod pod = pod_of(0, &c, &limit, amount, 200);

    p.candidates = 1;
    begin(&p);
    apply_node("n0", 1, 40000, true);
    apply_node("n1", 1, 40000, true);
    assert_true(str_eq(best_for(&pod), STR("n0")));
    store_doubt(store, STR("n0"), true);
    store_doubt(store, STR("n0"), true); /* no news */
    store_doubt(store, STR("unknown"), true);
    assert_true(store_is_in_doubt(store, STR("n0")) && !store_is_in_doubt(store, STR("n1")));
    assert_true(str_eq(best_for(&pod), STR("n1")));
    apply_pod("full", "n1", &most);
    assert_true(str_eq(best_for(&pod), STR("n0")));
    apply((struct ledger_op){.kind = LEDGER_POD_GONE, .name = STR("full")});
    store_doubt(store, STR("n0"), false);
    assert_true(str_eq(best_for(&pod), STR("n0")));
    assert_same(4);

    strbuf_init(&document, DOCUMENT_BYTES_MAX);
    trace_text(&document);
    altered(&document, "doubt", 0, "\"node\":", "\"n1\"", &other);
    assert_int_equal(replay(&other, &report, NULL), 0);
    assert_non_null(strstr(found.text, "filter: 2 of 2 nodes fit; n1 is the best"));
    assert_non_null(strstr(found.text, "now 2 of 2 nodes fit; n0 is the best"));
    strbuf_fini(&other);
    strbuf_fini(&document);
    end();
}

/* ---- what differs, in words ---- */

static void decision_is_another__said_in_words(void **state)
{
    static const struct {
        const char *type;
        unsigned n;
        const char *key, *to, *text; /* `text`: how what is said begins */
    } rows[] = {
        {"filter", 0, "\"fit\":", "1",
         "line 9, filter: 1 of 2 nodes fit; n0 is the best (score 5000), then n1 (2500); now 2 of 2 nodes fit; "
         "n0 is the best (score 5000), then n1 (2500)"},
        {"filter", 0, "\"nodes\":", "3",
         "line 9, filter: 2 of 3 nodes fit; n0 is the best (score 5000), then n1 (2500); now 2 of 2 nodes fit; "
         "n0 is the best (score 5000), then n1 (2500)"},
        {"filter", 0, "\"digest\":", "7",
         "line 9, filter: 2 of 2 nodes fit; n0 is the best (score 5000), then n1 (2500); now 2 of 2 nodes fit; "
         "n0 is the best (score 5000), then n1 (2500); another node is judged otherwise (digest "},
        {"filter", 0, "\"best\":{\"node\":", "\"n9\"",
         "line 9, filter: 2 of 2 nodes fit; n9 is the best (score 5000), then n1 (2500); now 2 of 2 nodes fit; "
         "n0 is the best (score 5000), then n1 (2500)"},
        {"filter", 0, "\"next\":{\"node\":", "\"n9\"",
         "line 9, filter: 2 of 2 nodes fit; n0 is the best (score 5000), then n9 (2500); now 2 of 2 nodes fit; "
         "n0 is the best (score 5000), then n1 (2500)"},
        {"filter", 2, "\"fit\":", "0",
         "line 15, filter: 0 of 2 nodes fit; n1 is the best (score 11500); now 1 of 2 nodes fit; n1 is the best "
         "(score 11500)"},
        {"filter", 0, "\"config\":", "9", "line number 9: it has no configuration of generation 9"},
        {"filter", 0, "\"asked\":", "\"0-7\"", "line number 9: these are no places of nodes in the ledger: 0-7"},
        {"filter", 0, "\"asked\":", "\"1-0\"", "line number 9: these are no places of nodes in the ledger: 1-0"},
        {"filter", 0, "\"asked\":", "\"x\"", "line number 9: these are no places of nodes in the ledger: x"},
        {"filter", 0, "\"asked\":", "\"1\"",
         "line 9, filter: 2 of 2 nodes fit; n0 is the best (score 5000), then n1 (2500); now 1 of 1 nodes fit; "
         "n1 is the best (score 2500)"},
        {"bind", 0, "\"devices\":", "[3]",
         "line 10, bind: reserved on n1: devices 0, 1; now reserved on n1: devices 0"},
        {"bind", 0, "\"devices\":", "[]",
         "line 10, bind: reserved on n1: GPUs that kubelet picks; now reserved on n1: devices 0"},
        {"bind", 0, "\"devices\":", "[2,1]",
         "line 10, bind: reserved on n1: devices 1; devices 0; now reserved on n1: devices 0"},
        {"bind", 0, "\"verdict\":", "2,\"reason\":\"the node pool takes no new pods now\"",
         "line 10, bind: refused on n1: the node pool takes no new pods now; now reserved on n1: devices 0"},
        {"bind", 2, "\"verdict\":", "0",
         "line 17, bind: reserved on n0: GPUs that kubelet picks; now refused on n0: too few GPUs with enough free "
         "compute"},
        /* of a version that has one reason more */
        {"bind", 0, "\"verdict\":", "200,\"reason\":\"a reason to come\"",
         "line 10, bind: refused on n1: a reason to come; now reserved on n1: devices 0"},
        {"bind", 2, "\"verdict\":", "1",
         "line 17, bind: refused on n0: too few GPUs with enough free compute; now refused on n0: too few GPUs with "
         "enough free compute"},
        {"bind", 2, "\"verdict\":", "9999", "line number 17: JSON at byte 154: a number out of its range"},
        {"bind", 0, "\"config\":", "9", "line number 10: it has no configuration of generation 9"},
        {"bind", 0, "\"uid\":", "\"nobody\"", "line number 10: bind of a pod that no line before it has shown"},
        {"bind", 0, "\"decision\":", "\"0123456789abcdef\"",
         "line 10, bind: "
         "{\"decision\":\"0000000000000000\",\"containers\":[{\"name\":\"main\",\"devices\":[{\"milli\":250,\"memMib\":"
         "10000}]}],\"dialect\":\"native\"}; now "
         "{\"decision\":\"0123456789abcdef\",\"containers\":[{\"name\":\"main\",\"devices\":[{\"milli\":250,\"memMib\":"
         "10000}]}],\"dialect\":\"native\"}"},
        {"bind", 0, "\"memMib\":", "1",
         "line 10, bind: "
         "{\"decision\":\"0000000000000000\",\"containers\":[{\"name\":\"main\",\"devices\":[{\"milli\":250,\"memMib\":"
         "1}]}],\"dialect\":\"native\"}; now "
         "{\"decision\":\"0000000000000000\",\"containers\":[{\"name\":\"main\",\"devices\":[{\"milli\":250,\"memMib\":"
         "10000}]}],\"dialect\":\"native\"}"},
    };
    struct strbuf document;

    struct policy p = *policy_defaults();

    p.node_strategy = p.device_strategy = STR("binpack");
    begin(&p);
    three_decisions(&document);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct strbuf other;
        const char *said;

        altered(&document, rows[i].type, rows[i].n, rows[i].key, rows[i].to, &other);
        said = replay_says(&other);
        strbuf_fini(&other);
        if (strncmp(said, rows[i].text, strlen(rows[i].text)) != 0) {
            fail_msg("%s %u, %s%s: \"%s\" instead of \"%s\"", rows[i].type, rows[i].n, rows[i].key, rows[i].to, said,
                     rows[i].text);
        }
    }
    strbuf_fini(&document);
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
        cmocka_unit_test(F179_reservation__does_not_fit_its_memory__as_it_was),
        cmocka_unit_test(no_known_node_is_asked_about__as_it_was),
        cmocka_unit_test(node_is_in_doubt__comes_last_then_and_in_the_replay),
        cmocka_unit_test(decision_is_another__said_in_words),
        cmocka_unit_test(spoiled_at_random__no_crash_and_no_earlier_difference),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
