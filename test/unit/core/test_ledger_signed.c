/* Signed records: what a running pod is charged is what it was given, whatever the request means today, after a restart
 * as before it. One situation each; random histories are in test_ledger_signed_random.c. */
#include "base/compiler.h"
#include "core/ledger/audit.h"
#include "core/support/tested_ledger.h"
#include "model/mig.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static const struct demand nothing = {.dialect = ""};

/* The process starts anew: its first lists have begun. */
static void restart(void)
{
    struct ledger_limits limits = {.hash_key = {3, 4}, .overcommit_milli = 1000, .overcommit_mem_milli = 1000};

    assert_null(ledger_check(fx.l));
    ledger_free(fx.l);
    fx.l = ledger_new(&limits);
    fixture_bracket(&fx, LEDGER_NODES_BEGIN);
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
}

static void listed(void)
{
    fixture_bracket(&fx, LEDGER_NODES_END);
    fixture_bracket(&fx, LEDGER_PODS_END);
    assert_true(ledger_is_synced(fx.l));
}

/* Containers of a pod, for signed records of several. */
static const struct container *inits;
static size_t init_n;

static void observe(const char *uid, const struct demand *d, const char *node, const struct assignment *record,
                    enum record_trust trust, const char *proof)
{
    struct ledger_op op = fixture_observation(uid, d, node, record);

    op.pod.record_trust = trust;
    op.pod.proof = str_of(proof);
    op.pod.init_containers = inits;
    op.pod.init_container_n = init_n;
    fixture_apply(&fx, &op);
}

/* As it is read back from an annotation: nothing of the ledger in it. */
static struct assignment copy_of(const struct assignment *as, struct arena *a)
{
    struct assignment copy = *as;
    struct assigned_container *c = ARENA_ARRAY(a, as->container_n, struct assigned_container);

    for (size_t i = 0; i < as->container_n; i++) {
        struct assigned_device *d = ARENA_ARRAY(a, as->containers[i].device_n, struct assigned_device);

        c[i] = as->containers[i];
        for (size_t k = 0; k < c[i].device_n; k++) {
            d[k] = c[i].devices[k];
            d[k].uuid = arena_str(a, d[k].uuid);
            d[k].slice = false;
        }
        c[i].devices = d;
    }
    copy.containers = c;
    return copy;
}

/* Decides, binds, and copies the record that was written. */
static struct assignment bind_pod(const char *uid, const struct demand *d, const char *node, struct arena *a)
{
    struct assignment record;

    observe(uid, d, NULL, NULL, RECORD_UNSIGNED, "");
    assert_int_equal(fixture_reserve(&fx, uid, node), 0);
    assert_int_equal(ledger_assignment(fx.l, str_of(uid), a, &record, NULL), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_CONFIRM, uid), 0);
    return copy_of(&record, a);
}

static const struct snapshot_pod *shown(const char *uid, const char *node)
{
    fixture_state(&fx, node);
    return fixture_pod_in(&fx.snapshot, str_of(uid));
}

/* ---- item 3: an edited record does not become truth ---- */

static void item3__record_of_a_running_pod_is_edited__first_granted_stays_and_a_conflict_is_shown(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment record, forged = RECORD_OF("a", "GPU-n1-1", 1, 10, 10);
    struct arena a;

    arena_init(&a, 1 << 20);
    record = bind_pod("a", &d, "n1", &a);
    observe("a", &d, "n1", &record, RECORD_VERIFIED, "");
    assert_null(shown("a", "n1")->conflict_text);
    observe("a", &d, "n1", NULL, RECORD_UNSIGNED, ""); /* ingest: the signature does not hold */
    assert_non_null(shown("a", "n1")->conflict_text);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
    observe("a", &d, "n1", &forged, RECORD_PROVISIONAL, "p");
    observe("a", &d, "n1", &forged, RECORD_VERIFIED, ""); /* should not happen */
    assert_non_null(shown("a", "n1")->conflict_text);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 1000);
    observe("a", &d, "n1", &record, RECORD_VERIFIED, "");
    assert_null(shown("a", "n1")->conflict_text);
    arena_fini(&a);
}

/* Who takes shares of a node keeps its plugin's pods away: by what was granted. */
static void item3__annotations_ask_for_an_instance_afterwards__still_a_share_and_no_plugin_beside_it(void **state)
{
    struct demand plugin = {.dialect = "native", .plugin_managed_n = 1};
    struct gpu_request other;
    struct demand d = ANNOTATED_SHARE_OF(300), edited = fixture_annotated(&other, 0);
    struct assignment record;
    struct arena a;

    arena_init(&a, 1 << 20);
    fixture_node_plugin_managed(&fx, "n2", 2, 80 * GIB, 2);
    record = bind_pod("a", &d, "n2", &a);
    observe("a", &d, "n2", &record, RECORD_VERIFIED, "");
    other.kind = GPU_REQUEST_WHOLE;
    other.profile = mig_profile_parse(STR("1g.10gb"));
    observe("a", &edited, "n2", NULL, RECORD_UNSIGNED, "");
    assert_int_equal(fixture_milli_free(&fx, "n2", 0), 700);
    observe("p", &plugin, NULL, NULL, RECORD_UNSIGNED, "");
    assert_int_not_equal(fixture_reserve(&fx, "p", "n2"), 0);
    fixture_name_op(&fx, LEDGER_POD_GONE, "a");
    record = bind_pod("b", &d, "n2", &a); /* and where records are not signed */
    observe("b", &d, "n2", &record, RECORD_UNSIGNED, "");
    observe("b", &edited, "n2", &record, RECORD_UNSIGNED, "");
    assert_int_not_equal(fixture_reserve(&fx, "p", "n2"), 0);
    arena_fini(&a);
}

static void item3__restart_after_the_edit__counts_everywhere_if_it_asks_and_nowhere_if_not(void **state)
{
    struct demand d = SHARE_OF(300);

    restart();
    fixture_node(&fx, "n1", 2, 80 * GIB);
    observe("asks", &d, "n1", NULL, RECORD_UNSIGNED, "");
    observe("asks-not", &nothing, "n1", NULL, RECORD_UNSIGNED, "");
    listed();
    assert_int_equal(fixture_pod_state(&fx, "asks"), LEDGER_FOREIGN);
    assert_false(fixture_knows_pod(&fx, "asks-not"));
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 700);
}

static void item3__forged_record_is_believed_until_the_verdict__then_it_is_as_without_it(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment forged = RECORD_OF("a", "GPU-n1-1", 1, 10, 10);

    restart();
    fixture_node(&fx, "n1", 2, 80 * GIB);
    observe("a", &d, "n1", &forged, RECORD_PROVISIONAL, "forged");
    observe("none", &nothing, "n1", &forged, RECORD_PROVISIONAL, "forged too");
    listed();
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 1000);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 980);
    fixture_judge(&fx, "a", "another", false);
    fixture_judge(&fx, "nobody", "forged", false);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 980);
    fixture_judge(&fx, "a", "forged", false);
    fixture_judge(&fx, "none", "forged too", false);
    assert_false(fixture_knows_pod(&fx, "none"));
    assert_int_equal(fixture_pod_state(&fx, "a"), LEDGER_FOREIGN);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 700);
    assert_string_equal(shown("a", "n1")->conflict_text, "the signature of its record is not valid");
    /* The same record again is no news, and a verdict that comes twice is none. */
    observe("a", &d, "n1", &forged, RECORD_PROVISIONAL, "forged");
    fixture_judge(&fx, "a", "forged", true);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
    assert_string_equal(shown("a", "n1")->conflict_text, "the signature of its record is not valid");
}

/* A key that is taken away too early, in the seconds after a start, and given back. */
static void rotation__key_went_before_the_verdict_and_comes_back__believed_again(void **state)
{
    const struct ledger_op gone = {.kind = LEDGER_RECORD_JUDGED,
                                   .judged = {.uid = STR("a"), .proof = STR("p"), .key_gone = true}};
    struct demand d = SHARE_OF(300);
    struct assignment record = RECORD_OF("a", "GPU-n1-1", 1, 300, 24 * GIB);

    observe("a", &d, "n1", &record, RECORD_PROVISIONAL, "p");
    assert_int_equal(ledger_apply(fx.l, &gone, NULL), 0);
    assert_null(ledger_check(fx.l));
    assert_int_equal(fixture_pod_state(&fx, "a"), LEDGER_FOREIGN);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
    observe("a", &d, "n1", NULL, RECORD_UNSIGNED, "");        /* listed again without the key, */
    observe("a", &d, "n1", &record, RECORD_PROVISIONAL, "p"); /* and with it */
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 1000);
    fixture_judge(&fx, "a", "p", true);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 1000);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 700);
    assert_null(shown("a", "n1")->conflict_text);
}

static void item3__signature_holds__nothing_changes_and_nothing_is_left_to_verify(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment record = RECORD_OF("a", "GPU-n1-1", 1, 300, 24 * GIB);
    struct ledger_unverified left[2];
    struct arena a;

    arena_init(&a, 1 << 20);
    observe("a", &d, "n1", &record, RECORD_PROVISIONAL, "p");
    assert_int_equal(ledger_unverified(fx.l, STR_NULL, &a, left, 2), 1);
    fixture_judge(&fx, "a", "p", true);
    assert_int_equal(ledger_unverified(fx.l, STR_NULL, &a, left, 2), 0);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 700);
    /* Verified once is verified: a list gives it as provisional again. */
    observe("a", &d, "n1", &record, RECORD_PROVISIONAL, "p");
    assert_int_equal(ledger_unverified(fx.l, STR_NULL, &a, left, 2), 0);
    assert_null(shown("a", "n1")->conflict_text);
    arena_fini(&a);
}

static void item3__verified_record_comes_after_a_provisional_one__it_wins(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment forged = RECORD_OF("x", "GPU-n1-1", 1, 10, 10);
    struct assignment record = RECORD_OF("a", "GPU-n1-0", 0, 300, 24 * GIB);

    observe("a", &d, "n1", &forged, RECORD_PROVISIONAL, "f");
    observe("a", &d, "n1", &record, RECORD_PROVISIONAL, "r"); /* one is as good as the other */
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 990);
    observe("a", &d, "n1", &record, RECORD_VERIFIED, "");
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 1000);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
    assert_null(shown("a", "n1")->conflict_text);
}

static void item3__own_record_is_seen_unverified_and_refused__devices_chosen_here_stay(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment record;
    struct arena a;

    arena_init(&a, 1 << 20);
    record = bind_pod("a", &d, "n1", &a);
    observe("a", &d, "n1", &record, RECORD_PROVISIONAL, "p");
    fixture_judge(&fx, "a", "p", false);
    assert_int_equal(fixture_pod_state(&fx, "a"), LEDGER_BOUND);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 1000);
    assert_string_equal(shown("a", "n1")->conflict_text, "the signature of its record is not valid");
    arena_fini(&a);
}

static void item3__unverified_records__listed_oldest_first_by_node_or_all(void **state)
{
    enum { PODS = 500 };
    struct demand d = SHARE_OF(1);
    struct assignment record = RECORD_OF("a", "GPU-n1-1", 1, 1, 1);
    struct ledger_unverified got[PODS];
    struct arena a;
    char uid[16];

    arena_init(&a, 1 << 20);
    fixture_node(&fx, "n2", 1, 80 * GIB);
    for (int i = 0; i < PODS; i++) {
        snprintf(uid, sizeof(uid), "p%03d", i);
        observe(uid, &d, i % 5 == 0 ? "n2" : "n1", &record, RECORD_PROVISIONAL, uid);
    }
    assert_int_equal(ledger_unverified(fx.l, STR("n2"), &a, got, PODS), PODS / 5);
    assert_int_equal(ledger_unverified(fx.l, STR("nowhere"), &a, got, PODS), 0);
    assert_int_equal(ledger_unverified(fx.l, STR_NULL, &a, got, 3), 3);
    assert_true(str_eq(got[0].uid, STR("p000")) && str_eq(got[2].proof, STR("p002")));
    fixture_judge(&fx, "p000", "p000", true);
    fixture_judge(&fx, "p002", "p002", false);
    fixture_name_op(&fx, LEDGER_POD_GONE, "p003");
    assert_int_equal(ledger_unverified(fx.l, STR_NULL, &a, got, PODS), PODS - 3);
    assert_true(str_eq(got[0].uid, STR("p001")) && str_eq(got[1].uid, STR("p004")));
    arena_fini(&a);
}

/* ---- item 4: what a name means today changes nothing for who runs ---- */

/* Everything that is charged on a node, to compare. */
struct charges {
    size_t n;
    struct {
        int32_t milli, slots;
        int64_t mem_mib;
        bool exclusive;
    } on[8];
};

static struct charges charges_on(const char *node)
{
    const struct snapshot_node *n = fixture_state(&fx, node);
    struct charges got;

    memset(&got, 0, sizeof(got));
    got.n = n->device_n;
    assert_true(n->device_n <= ARRAY_LEN(got.on));
    for (size_t i = 0; i < n->device_n; i++) {
        got.on[i].milli = n->devices[i].milli_charged;
        got.on[i].slots = n->devices[i].slot_charged;
        got.on[i].mem_mib = n->devices[i].mem_charged_mib;
        got.on[i].exclusive = n->devices[i].exclusive;
    }
    return got;
}

static void same_charges(const struct charges *a, const char *node, const char *when)
{
    struct charges b = charges_on(node);

    assert_int_equal(a->n, b.n);
    for (size_t i = 0; i < b.n; i++) {
        if (a->on[i].milli != b.on[i].milli || a->on[i].slots != b.on[i].slots || a->on[i].mem_mib != b.on[i].mem_mib ||
            a->on[i].exclusive != b.on[i].exclusive) {
            fail_msg("%s: device %zu was charged %d milli %lld MiB %d slots%s, now %d milli %lld MiB %d "
                     "slots%s",
                     when, i, a->on[i].milli, (long long)a->on[i].mem_mib, a->on[i].slots,
                     a->on[i].exclusive ? " alone" : "", b.on[i].milli, (long long)b.on[i].mem_mib, b.on[i].slots,
                     b.on[i].exclusive ? " alone" : "");
        }
    }
}

static void no_conflict(const char *node)
{
    const struct snapshot_pod *p = shown("a", node);

    assert_non_null(p);
    if (p->conflict_text != NULL) {
        fail_msg("%s", p->conflict_text);
    }
}

enum form { PLAIN, FREE_MEMORY, EQUAL, FACTOR, SLICES, INSTANCES, COUNTED };

static void describe(enum form form)
{
    struct device devices[4];
    struct inventory inventory = {.source = INVENTORY_ANNOTATION, .devices = devices, .device_n = 4};
    struct ledger_op op = fixture_description("k", &inventory);
    static const char *const uuids[] = {"GPU-0", "GPU-1", "GPU-2", "GPU-3"};

    inventory.memory_only = form == FREE_MEMORY ? MEMORY_ONLY_FREE : MEMORY_ONLY_SHARE;
    inventory.qos = form == EQUAL ? QOS_EQUAL_SHARE : QOS_FIXED_SHARE;
    inventory.overcommit_milli = inventory.overcommit_mem_milli = form == FACTOR ? 1500 : 0;
    for (int i = 0; i < 4; i++) {
        devices[i] = (struct device){.uuid = str_of(uuids[i]),
                                     .index = i,
                                     .model = STR("A100"),
                                     .mem_mib = 40 * GIB,
                                     .slot_n = form == SLICES ? 1 : 4,
                                     .slice = form == SLICES,
                                     .gpu_index = -1,
                                     .start = -1,
                                     .healthy = true};
    }
    if (form == INSTANCES || form == COUNTED) {
        devices[1].profile = DEVICE_IN_MIG_MODE;
        for (int i = 2; i < 4; i++) {
            devices[i].profile = mig_profile_parse(STR("3g.20gb"));
            devices[i].index = DEVICE_INSTANCE_INDEX(1, 4 * (i - 2));
            devices[i].mem_mib = 20 * GIB;
            devices[i].gpu_index = 1;
            devices[i].start = (int8_t)(4 * (i - 2));
            devices[i].slot_n = 1;
            devices[i].counted = form == COUNTED; /* a plugin offers them: kubelet picks */
        }
    }
    fixture_apply(&fx, &op);
}

static const struct gpu_request kinds[] = {
    {.container = {"main", 4}, .count = 1, .kind = GPU_REQUEST_MILLI, .milli = 300, .phases = 1},
    {.container = {"main", 4}, .count = 2, .kind = GPU_REQUEST_BOTH, .milli = 200, .mem_mib = 8 * GIB, .phases = 1},
    {.container = {"main", 4}, .count = 1, .kind = GPU_REQUEST_BOTH, .milli = 1000, .mem_mib = GIB, .phases = 1},
    {.container = {"main", 4}, .count = 1, .kind = GPU_REQUEST_MEMORY, .mem_mib = 10 * GIB, .phases = 1},
    {.container = {"main", 4}, .count = 1, .kind = GPU_REQUEST_FRACTION, .milli = 250, .phases = 1},
    {.container = {"main", 4}, .count = 1, .kind = GPU_REQUEST_PORTION, .mem_mib = 3000, .phases = 1},
    {.container = {"main", 4}, .count = 2, .kind = GPU_REQUEST_WHOLE, .milli = 1000, .phases = 1},
    {.container = {"main", 4}, .count = 1, .kind = GPU_REQUEST_WHOLE, .milli = 1000, .phases = 1, .profile = 1},
};

static const enum qos qualities[] = {QOS_FIXED_SHARE, QOS_BEST_EFFORT, QOS_EQUAL_SHARE};

/* What names and forms may mean one day, to a pod that was given something else before. */
static void reread_in_every_way(struct demand *bound, const struct assignment *record, const struct charges *before,
                                enum record_trust trust)
{
    struct gpu_request w;

    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct demand today = *bound;

        w = kinds[k];
        w.milli = w.milli > 500 ? w.milli : w.milli + 400;
        w.mem_mib *= 2;
        w.profile = w.profile == 0 ? 0 : mig_profile_parse(STR("1g.5gb"));
        today.gpu_requests = &w;
        today.gpu_request_n = 1;
        observe("a", &today, "k", record, trust, "p");
        same_charges(before, "k", "another kind");
        no_conflict("k");
    }
    {
        const struct demand plugin = {.dialect = "native", .plugin_managed_n = 2, .plugin_managed_most = 2};
        const struct demand defect = {.dialect = "native", .defect = DEMAND_UNKNOWN_SIZE, .source = bound->source};
        const struct demand *others[] = {&plugin, &defect, &nothing, bound};

        for (size_t i = 0; i < ARRAY_LEN(others); i++) {
            observe("a", others[i], "k", record, trust, "p");
            same_charges(before, "k", "a plugin's, a defect, nothing, and back");
            no_conflict("k");
        }
    }
}

static unsigned bound_n; /* so that the test can tell that something happened */

static void bind_reread_restart(enum form form, const struct gpu_request *gpu_request, enum qos qos,
                                enum demand_source source)
{
    struct gpu_request w = *gpu_request;
    struct demand d = {
        .source = source, .dialect = "native", .gpu_requests = &w, .gpu_request_n = 1, .says_qos = true, .qos = qos};
    struct assignment record;
    struct charges before;
    struct placement at;
    struct arena a;

    w.profile = w.profile == 0 ? 0 : mig_profile_parse(STR("3g.20gb"));
    restart();
    listed();
    describe(form);
    observe("a", &d, NULL, NULL, RECORD_UNSIGNED, "");
    if (ledger_place_pod(fx.l, STR("k"), STR("a"), fixture_params("tight-fit"), &at) != VERDICT_FITS) {
        return;
    }
    bound_n++;
    arena_init(&a, 1 << 20);
    record = bind_pod("a", &d, "k", &a);
    before = charges_on("k");
    observe("a", &d, "k", &record, RECORD_VERIFIED, "");
    same_charges(&before, "k", "its own echo");
    reread_in_every_way(&d, &record, &before, RECORD_VERIFIED);
    for (enum form other = PLAIN; form != INSTANCES && form != SLICES && other <= FACTOR; other++) {
        describe(other);
        same_charges(&before, "k", "the node means something else");
    }
    for (int trust = RECORD_PROVISIONAL; trust <= RECORD_VERIFIED; trust++) {
        restart();
        observe("a", &nothing, "k", &record, (enum record_trust)trust, "p");
        describe(form);
        listed();
        same_charges(&before, "k", "after a restart");
        reread_in_every_way(&d, &record, &before, (enum record_trust)trust);
    }
    arena_fini(&a);
}

static void item4__every_kind_of_pod_in_every_form_of_node__charged_as_when_it_was_bound(void **state)
{
    for (enum form form = PLAIN; form <= INSTANCES; form++) {
        for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
            for (size_t q = 0; q < ARRAY_LEN(qualities); q++) {
                bind_reread_restart(form, &kinds[k], qualities[q], DEMAND_FROM_RESOURCES);
                bind_reread_restart(form, &kinds[k], qualities[q], DEMAND_FROM_ANNOTATIONS);
            }
        }
    }
    assert_true(bound_n >= 200);
}

static void item4__node_means_something_else_before_the_echo__charged_what_was_written(void **state)
{
    struct gpu_request w = {
        .container = STR("main"), .count = 1, .kind = GPU_REQUEST_MEMORY, .mem_mib = 10 * GIB, .phases = 1};
    const struct demand d = {.dialect = "native", .gpu_requests = &w, .gpu_request_n = 1};
    struct assignment record;
    struct arena a;

    arena_init(&a, 1 << 20);
    describe(PLAIN);
    record = bind_pod("a", &d, "k", &a);
    describe(FREE_MEMORY);
    observe("a", &d, "k", &record, RECORD_PROVISIONAL, "p");
    assert_int_equal(fixture_milli_free(&fx, "k", 0), 750);
    assert_null(shown("a", "k")->conflict_text);
    arena_fini(&a);
}

static enum ledger_drift drift_of(const struct demand *d, const struct assignment *record, enum record_trust trust)
{
    struct ledger *scratch = ledger_audit_scratch(fx.l);
    struct ledger_op op = fixture_observation("a", d, "n1", record);
    uint64_t touched;
    enum ledger_drift drift;

    op.pod.record_trust = trust;
    op.pod.proof = trust == RECORD_PROVISIONAL ? STR("p") : STR_NULL;
    drift = ledger_drift(fx.l, scratch, &op, &touched);
    ledger_free(scratch);
    return drift;
}

static void item4__audit_of_signed_records__finds_what_was_missed_and_nothing_else(void **state)
{
    struct demand d = SHARE_OF(300), grown = SHARE_OF(800);
    struct assignment record = RECORD_OF("a", "GPU-n1-1", 1, 300, 24 * GIB);
    struct assignment other = RECORD_OF("a", "GPU-n1-1", 1, 200, 24 * GIB);

    observe("a", &d, "n1", &record, RECORD_PROVISIONAL, "p");
    assert_int_equal(drift_of(&d, &record, RECORD_PROVISIONAL), DRIFT_NONE);
    fixture_judge(&fx, "a", "p", true);
    assert_int_equal(drift_of(&d, &record, RECORD_PROVISIONAL), DRIFT_NONE); /* a list does not know the verdict */
    assert_int_equal(drift_of(&d, &other, RECORD_PROVISIONAL), DRIFT_POD_ASSIGNMENT);
    assert_int_equal(drift_of(&d, NULL, RECORD_UNSIGNED), DRIFT_POD_ASSIGNMENT);
    observe("a", &d, "n1", NULL, RECORD_UNSIGNED, "");
    assert_int_equal(drift_of(&d, NULL, RECORD_UNSIGNED), DRIFT_NONE);
    observe("a", &grown, "n1", &record, RECORD_PROVISIONAL, "p");
    assert_int_equal(drift_of(&grown, &record, RECORD_PROVISIONAL), DRIFT_NONE);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 700);
    fixture_name_op(&fx, LEDGER_POD_GONE, "a");
    /* What counts for nothing is not missing. */
    d.source = DEMAND_FROM_ANNOTATIONS;
    assert_int_equal(drift_of(&d, NULL, RECORD_UNSIGNED), DRIFT_NONE);
    assert_int_equal(drift_of(&d, &record, RECORD_VERIFIED), DRIFT_POD_MISSING);
}

static void item4__plugin_takes_over_the_instances__who_has_one_by_its_record_keeps_it(void **state)
{
    struct gpu_request w = {.container = STR("main"),
                            .count = 1,
                            .kind = GPU_REQUEST_WHOLE,
                            .milli = 1000,
                            .phases = 1,
                            .profile = mig_profile_parse(STR("3g.20gb"))};
    const struct demand d = {.dialect = "native", .gpu_requests = &w, .gpu_request_n = 1};
    struct assigned_container c;
    struct assigned_device dev;
    struct assignment record = fixture_record(&c, &dev, "a", "GPU-3", DEVICE_INSTANCE_INDEX(1, 4), 428, 20 * GIB);

    dev.profile = w.profile;
    describe(COUNTED);
    observe("z", &d, "k", &record, RECORD_VERIFIED, "");
    assert_int_equal(fixture_state(&fx, "k")->devices[3].milli_charged, 428);
    assert_int_equal(fx.snapshot.nodes[0].devices[2].milli_charged, 0);
    observe("a", &d, "k", NULL, RECORD_UNSIGNED, ""); /* kubelet picked the other one */
    assert_true(fixture_state(&fx, "k")->devices[2].milli_charged > 0);
    assert_int_equal(fx.snapshot.nodes[0].devices[3].milli_charged, 428);
    assert_null(shown("z", "k")->conflict_text);
}

/* fgpu writes a record without containers for a pod whose GPUs kubelet picks: it names nothing, so the request, which
 * is in resources and cannot be edited, says what is charged. */
static void item4__gpus_of_a_plugin__charged_by_the_request_with_and_without_record(void **state)
{
    const struct demand d = {.dialect = "native", .plugin_managed_n = 2, .plugin_managed_most = 2};
    const struct assignment record = {.id = STR("a")};

    fixture_node_plugin_managed(&fx, "p", 4, 80 * GIB, 4);
    for (int again = 0; again < 2; again++) {
        observe("a", &d, "p", &record, RECORD_VERIFIED, "");
        assert_int_equal(fixture_state(&fx, "p")->plugin_managed_used, 2);
        observe("a", &d, "p", NULL, RECORD_UNSIGNED, "");
        assert_int_equal(fixture_state(&fx, "p")->plugin_managed_used, 2);
        assert_null(shown("a", "p")->conflict_text);
        restart();
        fixture_node_plugin_managed(&fx, "p", 4, 80 * GIB, 4);
        listed();
    }
}

static void item4__request_cannot_be_read__phases_come_from_the_spec(void **state)
{
    static const struct container spec[] = {
        {.name = {"first", 5}}, {.name = {"side", 4}, .sidecar = true}, {.name = {"plain", 5}}, {.name = {"last", 4}}};
    /* first alone; last beside side; then main and more beside side. All on one device. */
    static const struct {
        struct str name;
        bool init;
        int32_t milli;
        uint64_t phases;
    } parts[] = {{{"first", 5}, true, 900, 2},
                 {{"side", 4}, true, 100, 1 | 4},
                 {{"last", 4}, true, 850, 4},
                 {{"main", 4}, false, 300, 1},
                 {{"more", 4}, false, 400, 1}};
    struct gpu_request gpu_requests[5];
    struct assigned_container c[5];
    struct assigned_device dev[5];
    struct assignment record = {.id = STR("x"), .containers = c, .container_n = 5};
    struct demand d = {.dialect = "native", .gpu_requests = gpu_requests, .gpu_request_n = 5};
    const struct demand defect = {.dialect = "native", .defect = DEMAND_QUANTITY};

    for (size_t i = 0; i < 5; i++) {
        dev[i] = (struct assigned_device){STR("GPU-n1-0"), 0, parts[i].milli, 1024 * (int64_t)(i + 1)};
        c[i] = (struct assigned_container){
            .name = parts[i].name, .init = parts[i].init, .devices = &dev[i], .device_n = 1};
        gpu_requests[i] = (struct gpu_request){.container = parts[i].name,
                                               .init = parts[i].init,
                                               .position = (uint16_t)i,
                                               .count = 1,
                                               .kind = GPU_REQUEST_BOTH,
                                               .milli = 1,
                                               .mem_mib = 1,
                                               .phases = parts[i].phases};
    }
    inits = spec;
    init_n = ARRAY_LEN(spec);
    observe("read", &d, "n1", &record, RECORD_VERIFIED, "");
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 50); /* first: 900; last beside side: 950; apps beside it: 800 */
    assert_int_equal(fixture_mem_free(&fx, "n1", 0), 80 * GIB - (2 + 4 + 5) * 1024); /* side, main, more */
    assert_int_equal(fx.snapshot.nodes[0].devices[0].slot_charged, 3);
    fixture_name_op(&fx, LEDGER_POD_GONE, "read");
    observe("unreadable", &defect, "n1", &record, RECORD_VERIFIED, "");
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 50);
    assert_int_equal(fixture_mem_free(&fx, "n1", 0), 80 * GIB - (2 + 4 + 5) * 1024);
    assert_int_equal(fx.snapshot.nodes[0].devices[0].slot_charged, 3);
    fixture_name_op(&fx, LEDGER_POD_GONE, "unreadable");
    inits = NULL; /* nobody knows when the init containers run: beside all others */
    init_n = 0;
    observe("unknown", &defect, "n1", &record, RECORD_VERIFIED, "");
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 1000 - (900 + 100 + 850 + 300 + 400));
}

/* ---- item 10: one lost GPU closes one GPU ---- */

static void item10__record_names_a_gpu_that_is_not_there__the_other_seven_stay_open(void **state)
{
    struct demand d = WHOLE_GPUS(1);
    struct assigned_container c;
    struct assigned_device dev;
    struct assignment record = fixture_record(&c, &dev, "a", "GPU-n8-7", 7, 1000, 80 * GIB);
    const struct snapshot_node *n;

    dev.exclusive = true;
    restart();
    observe("before", &d, "n8", &record, RECORD_PROVISIONAL, "p"); /* pods may be listed before their nodes */
    fixture_node(&fx, "n8", 7, 80 * GIB);
    listed();
    n = fixture_state(&fx, "n8");
    assert_int_equal(n->device_n, 8);
    assert_true(n->devices[7].lost && str_eq(n->devices[7].uuid, STR("GPU-n8-7")));
    assert_int_equal(n->devices[7].milli_charged, 1000);
    assert_false(n->devices[7].overcommitted);
    assert_int_equal(fixture_pod_state(&fx, "before"), LEDGER_BOUND);
    for (size_t i = 0; i < 7; i++) {
        char uid[2] = {(char)('a' + i), '\0'};

        assert_int_equal(fixture_milli_free(&fx, "n8", i), 1000);
        observe(uid, &d, NULL, NULL, RECORD_UNSIGNED, "");
        assert_int_equal(fixture_reserve(&fx, uid, "n8"), 0);
    }
    observe("one-more", &d, NULL, NULL, RECORD_UNSIGNED, "");
    assert_int_not_equal(fixture_reserve(&fx, "one-more", "n8"), 0);
    fixture_node(&fx, "n8", 8, 80 * GIB); /* it is back */
    n = fixture_state(&fx, "n8");
    assert_int_equal(n->device_n, 8);
    assert_false(n->devices[7].lost);
    assert_int_equal(n->devices[7].milli_charged, 1000);
    assert_int_not_equal(fixture_reserve(&fx, "one-more", "n8"), 0);
    fixture_name_op(&fx, LEDGER_POD_GONE, "before");
    assert_int_equal(fixture_reserve(&fx, "one-more", "n8"), 0);
}

static void item10__lost_gpu_of_several_pods__forgotten_with_the_last_and_same_whatever_came_first(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment record = RECORD_OF("a", "GPU-gone", 5, 300, 24 * GIB);

    observe("a", &d, "n1", &record, RECORD_VERIFIED, "");
    observe("b", &d, "n1", &record, RECORD_VERIFIED, "");
    assert_int_equal(fixture_state(&fx, "n1")->device_n, 3);
    assert_int_equal(fx.snapshot.nodes[0].devices[2].milli_charged, 600);
    fixture_node(&fx, "n1", 2, 80 * GIB);
    assert_int_equal(fixture_state(&fx, "n1")->device_n, 3);
    fixture_name_op(&fx, LEDGER_POD_GONE, "a");
    assert_int_equal(fixture_state(&fx, "n1")->devices[2].milli_charged, 300);
    fixture_name_op(&fx, LEDGER_NODE_GONE, "n1");
    fixture_node(&fx, "n1", 2, 80 * GIB);
    assert_int_equal(fixture_state(&fx, "n1")->devices[2].milli_charged, 300);
    fixture_name_op(&fx, LEDGER_POD_GONE, "b");
    assert_int_equal(fixture_state(&fx, "n1")->device_n, 2);
}

static void item10__indexes_without_uuids__the_lost_index_is_charged_and_no_other(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment last = RECORD_OF("a", "", 3, 300, 24 * GIB);
    struct assignment first = RECORD_OF("b", "", 0, 200, 16 * GIB);

    restart();
    fixture_node_indexes(&fx, "i", 3, 80 * GIB);
    observe("a", &d, "i", &last, RECORD_VERIFIED, "");
    observe("b", &d, "i", &first, RECORD_VERIFIED, "");
    listed();
    assert_int_equal(fixture_state(&fx, "i")->device_n, 4);
    assert_int_equal(fixture_milli_free(&fx, "i", 0), 800);
    assert_int_equal(fixture_milli_free(&fx, "i", 1), 1000);
    assert_int_equal(fixture_milli_free(&fx, "i", 3), 700);
    assert_true(fx.snapshot.nodes[0].devices[3].lost);
    fixture_node(&fx, "i", 4, 80 * GIB); /* an agent tells UUIDs now: the index is all that joins them */
    assert_int_equal(fixture_state(&fx, "i")->device_n, 4);
    assert_int_equal(fixture_milli_free(&fx, "i", 3), 700);
    assert_int_equal(fixture_milli_free(&fx, "i", 0), 800);
}

static void item10__gpu_has_another_index_now__charged_by_its_uuid(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment gone = RECORD_OF("a", "GPU-gone", 0, 300, 24 * GIB);
    struct assignment moved = RECORD_OF("b", "GPU-n1-0", 1, 200, 16 * GIB);

    observe("a", &d, "n1", &gone, RECORD_VERIFIED, "");
    observe("b", &d, "n1", &moved, RECORD_VERIFIED, "");
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 800);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 1000);
    assert_int_equal(fixture_milli_free(&fx, "n1", 2), 700);
}

static void item10__lost_instance__its_gpu_is_not_given_away_whole(void **state)
{
    struct gpu_request w;
    struct demand d = fixture_whole(&w, 1), share = SHARE_OF(950);
    struct assigned_container c;
    struct assigned_device dev;
    static const struct {
        int32_t index;
        size_t other; /* GPU */
    } places[] = {{DEVICE_INSTANCE_INDEX(1, 4), 0}, {DEVICE_INSTANCE_INDEX(0, 0), 1}};

    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        struct assignment record = fixture_record(&c, &dev, "a", "MIG-x", places[i].index, 428, 20 * GIB);

        dev.profile = mig_profile_parse(STR("3g.20gb"));
        w.profile = dev.profile;
        observe("a", &d, "n1", &record, RECORD_VERIFIED, "");
        observe("b", &share, NULL, NULL, RECORD_UNSIGNED, "");
        observe("c", &share, NULL, NULL, RECORD_UNSIGNED, "");
        assert_int_equal(fixture_reserve(&fx, "b", "n1"), 0);
        assert_int_not_equal(fixture_reserve(&fx, "c", "n1"), 0);
        assert_int_equal(fixture_milli_free(&fx, "n1", places[i].other), 50);
        fixture_name_op(&fx, LEDGER_POD_GONE, "a");
        fixture_name_op(&fx, LEDGER_POD_GONE, "b");
        fixture_name_op(&fx, LEDGER_POD_GONE, "c");
    }
}

/* ---- item 14: text of a tenant is no request ---- */

static void item14__no_request_and_no_valid_record__no_gpu_pod(void **state)
{
    observe("a", &nothing, "n1", NULL, RECORD_UNSIGNED, "");
    assert_false(fixture_knows_pod(&fx, "a"));
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 1000);
}

static void item14__annotation_first_seen_on_a_bound_pod__is_no_request(void **state)
{
    struct demand text = ANNOTATED_SHARE_OF(1000), asks = SHARE_OF(200);
    const struct demand both = {
        .source = DEMAND_FROM_ANNOTATIONS, .dialect = "native", .defect = DEMAND_TWICE}; /* beside resources */

    observe("preset", &text, "n1", NULL, RECORD_UNSIGNED, "");
    assert_false(fixture_knows_pod(&fx, "preset"));
    observe("light", &nothing, "n1", NULL, RECORD_UNSIGNED, "");
    observe("light", &text, "n1", NULL, RECORD_UNSIGNED, "");
    assert_false(fixture_knows_pod(&fx, "light"));
    observe("asks", &asks, "n1", NULL, RECORD_UNSIGNED, "");
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 800);
    observe("asks", &both, "n1", NULL, RECORD_UNSIGNED, "");
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 800);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 800);
}

static void item14__annotation_seen_while_unbound_or_in_the_first_list__counts_and_edits_do_not(void **state)
{
    struct demand d = ANNOTATED_SHARE_OF(200), more = ANNOTATED_SHARE_OF(900);

    restart();
    fixture_node(&fx, "n1", 2, 80 * GIB);
    observe("listed", &d, "n1", NULL, RECORD_UNSIGNED, "");
    listed();
    observe("pending", &d, NULL, NULL, RECORD_UNSIGNED, "");
    observe("pending", &d, "n1", NULL, RECORD_UNSIGNED, "");
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 600);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 600);
    observe("listed", &more, "n1", NULL, RECORD_UNSIGNED, "");
    observe("pending", &more, "n1", NULL, RECORD_UNSIGNED, "");
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 600);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 600);
}

static void item14__another_configuration_reads_the_list__annotations_count_as_in_the_first(void **state)
{
    struct demand text = ANNOTATED_SHARE_OF(300);
    const struct ledger_op reread = {.kind = LEDGER_PODS_BEGIN, .list = {.reread = true}};

    observe("a", &nothing, "n1", NULL, RECORD_UNSIGNED, ""); /* in words that this configuration does not know */
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    observe("a", &text, "n1", NULL, RECORD_UNSIGNED, "");
    fixture_bracket(&fx, LEDGER_PODS_END);
    assert_false(fixture_knows_pod(&fx, "a"));
    assert_int_equal(ledger_apply(fx.l, &reread, NULL), 0);
    observe("a", &text, "n1", NULL, RECORD_UNSIGNED, "");
    fixture_bracket(&fx, LEDGER_PODS_END);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
    observe("b", &text, "n1", NULL, RECORD_UNSIGNED, "");
    assert_false(fixture_knows_pod(&fx, "b"));
}

static void item14__forged_provisional_record_beside_text__charges_nothing_once_it_is_judged(void **state)
{
    struct demand text = ANNOTATED_SHARE_OF(1000);
    struct assignment forged = RECORD_OF("a", "GPU-n1-1", 1, 1000, GIB);

    observe("a", &text, "n1", &forged, RECORD_PROVISIONAL, "p");
    observe("a", &text, "n1", &forged, RECORD_PROVISIONAL, "p");
    fixture_judge(&fx, "a", "p", false);
    assert_false(fixture_knows_pod(&fx, "a"));
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 1000);
}

/* ---- how a grant is shown ---- */

static void granted__the_request_says_nothing_today__shown_in_words_of_our_own(void **state)
{
    struct demand d = SHARE_OF(300);
    const struct snapshot_pod *p;
    struct assignment record;
    struct arena a;

    d.dialect = "kai";
    arena_init(&a, 1 << 20);
    record = bind_pod("a", &d, "n1", &a);
    restart();
    observe("a", &nothing, "n1", &record, RECORD_VERIFIED, "");
    fixture_node(&fx, "n1", 2, 80 * GIB);
    listed();
    p = shown("a", "n1");
    assert_non_null(p);
    assert_string_equal(p->dialect, "native");
    assert_int_equal(p->source, DEMAND_FROM_ANNOTATIONS);
    arena_fini(&a);
}

/* Today's request is another, so the kind is that of what was given. */
static void granted__the_request_is_another_today__kind_of_what_was_given(void **state)
{
    static const struct {
        int32_t milli;
        int64_t mem_mib;
        enum gpu_request_kind kind;
    } rows[] = {{300, 10 * GIB, GPU_REQUEST_BOTH}, {0, 10 * GIB, GPU_REQUEST_MEMORY}, {300, 0, GPU_REQUEST_MILLI}};
    const struct demand today = SHARE_OF(700);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct assignment record = RECORD_OF("a", "GPU-n1-0", 0, rows[i].milli, rows[i].mem_mib);
        const struct snapshot_device *device;

        observe("a", &today, "n1", &record, RECORD_VERIFIED, "");
        device = &fixture_state(&fx, "n1")->devices[0];
        assert_int_equal(device->allocation_n, 1);
        assert_int_equal(device->allocations[0].kind, rows[i].kind);
        assert_int_equal(device->allocations[0].milli, rows[i].milli);
        assert_int_equal(device->allocations[0].mem_mib, rows[i].mem_mib);
        assert_int_equal(device->allocations[0].asked_milli, 0);
        assert_int_equal(device->allocations[0].asked_mem_mib, 0);
        fixture_name_op(&fx, LEDGER_POD_GONE, "a");
    }
}

#define TEST(f) TWO_GPUS_TEST(f)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(item3__record_of_a_running_pod_is_edited__first_granted_stays_and_a_conflict_is_shown),
        TEST(item3__annotations_ask_for_an_instance_afterwards__still_a_share_and_no_plugin_beside_it),
        TEST(item3__restart_after_the_edit__counts_everywhere_if_it_asks_and_nowhere_if_not),
        TEST(item3__forged_record_is_believed_until_the_verdict__then_it_is_as_without_it),
        TEST(rotation__key_went_before_the_verdict_and_comes_back__believed_again),
        TEST(item3__signature_holds__nothing_changes_and_nothing_is_left_to_verify),
        TEST(item3__verified_record_comes_after_a_provisional_one__it_wins),
        TEST(item3__own_record_is_seen_unverified_and_refused__devices_chosen_here_stay),
        TEST(item3__unverified_records__listed_oldest_first_by_node_or_all),
        TEST(item4__every_kind_of_pod_in_every_form_of_node__charged_as_when_it_was_bound),
        TEST(item4__node_means_something_else_before_the_echo__charged_what_was_written),
        TEST(item4__audit_of_signed_records__finds_what_was_missed_and_nothing_else),
        TEST(item4__plugin_takes_over_the_instances__who_has_one_by_its_record_keeps_it),
        TEST(item4__gpus_of_a_plugin__charged_by_the_request_with_and_without_record),
        TEST(item4__request_cannot_be_read__phases_come_from_the_spec),
        TEST(item10__record_names_a_gpu_that_is_not_there__the_other_seven_stay_open),
        TEST(item10__lost_gpu_of_several_pods__forgotten_with_the_last_and_same_whatever_came_first),
        TEST(item10__indexes_without_uuids__the_lost_index_is_charged_and_no_other),
        TEST(item10__gpu_has_another_index_now__charged_by_its_uuid),
        TEST(item10__lost_instance__its_gpu_is_not_given_away_whole),
        TEST(item14__no_request_and_no_valid_record__no_gpu_pod),
        TEST(item14__annotation_first_seen_on_a_bound_pod__is_no_request),
        TEST(item14__annotation_seen_while_unbound_or_in_the_first_list__counts_and_edits_do_not),
        TEST(item14__another_configuration_reads_the_list__annotations_count_as_in_the_first),
        TEST(item14__forged_provisional_record_beside_text__charges_nothing_once_it_is_judged),
        TEST(granted__the_request_says_nothing_today__shown_in_words_of_our_own),
        TEST(granted__the_request_is_another_today__kind_of_what_was_given),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
