/* Records: signed when written, judged when read (design.md 3.1.1, 5a). */
#include "extender/ingest.h"
#include "extender/record.h"
#include "extender/support/warnings.h"
#include "extender/warn_limit.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static struct arena arena;
static struct signing *ours, *others;

static struct warn_limit *limit;
static const struct kv share = {STR("fgpu.io/gpu-milli"), STR("300")};
static const struct container asking = {.name = STR("c"), .limits = {&share, 1}, .requests = {&share, 1}};
static bool asks;

static int setup(void **state)
{
    warnings_reset();
    asks = true;
    arena_init(&arena, 16 << 20);
    limit = warn_limit_new(clock_system());
    return signing_new_ephemeral(&warnings_log, &ours, NULL) != 0 ||
           signing_new_ephemeral(&warnings_log, &others, NULL) != 0;
}

static int teardown(void **state)
{
    signing_free(ours);
    signing_free(others);
    warn_limit_free(limit);
    arena_fini(&arena);
    return 0;
}

static const struct assigned_device device = {STR("GPU-0"), 0, 300, 24576};
static const struct assigned_container container = {.name = STR("c"), .devices = &device, .device_n = 1};

/* The annotation that bind would write for this pod on this node; `by` NULL: not signed. */
static struct str written(struct signing *by, const char *uid, const char *node)
{
    struct assignment as = {.id = STR("x"), .containers = &container, .container_n = 1};
    struct str text;

    assert_int_equal(record_sign(by, &as, str_of(uid), str_of(node), &arena, NULL), 0);
    assert_int_equal(assignment_format(&as, &arena, &text, NULL), 0);
    return text;
}

/* What the ledger is told of pod u on node n with this record. */
static struct ledger_pod_fact fact(struct signing *by, int64_t accept_before_ms, int64_t created_ms, struct str record)
{
    const struct ingest in = {.policy = policy_defaults(),
                              .log = &warnings_log,
                              .signing = by,
                              .accept_unsigned_before_ms = accept_before_ms,
                              .warnings = limit};
    struct kv *annotation = ARENA_NEW(&arena, struct kv);
    struct ingest_fact *f = ARENA_NEW(&arena, struct ingest_fact);
    struct pod p = {.namespace_ = STR("d"),
                    .name = STR("a"),
                    .uid = STR("u"),
                    .node_name = STR("n"),
                    .created_ms = created_ms,
                    .annotations = {annotation, 1},
                    .containers = &asking,
                    .container_n = asks ? 1 : 0};

    assert_non_null(annotation);
    *annotation = (struct kv){STR(ASSIGNMENT_KEY), record};
    assert_int_equal(ingest_read(&in, &arena, &(struct kube_object){.pod = &p}, true, f, NULL), 0);
    return f->op.pod;
}

static bool holds(struct signing *by, struct str proof)
{
    const struct sign_keyring *keys = signing_take(by);
    const bool ok = record_proof_holds(keys, proof);

    sign_keyring_put(keys);
    return ok;
}

static void record__signed_for_this_pod_and_node__provisional_and_its_proof_holds(void **state)
{
    const struct ledger_pod_fact f = fact(ours, 0, 1, written(ours, "u", "n"));

    assert_non_null(f.assignment);
    assert_int_equal(f.record_trust, RECORD_PROVISIONAL);
    assert_true(holds(ours, f.proof));
    assert_false(holds(others, f.proof));
    assert_int_equal(warnings(), 0);
}

/* A valid signature, but of another pod, another node, or other amounts: known key, and the proof does not hold. */
static void record__copied_or_edited__proof_does_not_hold(void **state)
{
    struct str text = written(ours, "u", "n");
    char *edited = arena_cstr(&arena, text);

    assert_false(holds(ours, fact(ours, 0, 1, written(ours, "v", "n")).proof));
    assert_false(holds(ours, fact(ours, 0, 1, written(ours, "u", "m")).proof));
    assert_non_null(edited);
    memcpy(strstr(edited, "300"), "299", 3);
    assert_false(holds(ours, fact(ours, 0, 1, str_of(edited)).proof));
    assert_true(holds(ours, fact(ours, 0, 1, text).proof));
}

/* As bind does: signed, and about to be sent. */
static struct str sent(struct signing *by, const char *uid, const char *node)
{
    struct assignment as = {.id = STR("x"), .containers = &container, .container_n = 1};
    struct str text;

    assert_int_equal(record_sign(by, &as, str_of(uid), str_of(node), &arena, NULL), 0);
    record_remember(by, &as, str_of(uid), str_of(node), &arena);
    assert_int_equal(assignment_format(&as, &arena, &text, NULL), 0);
    return text;
}

static uint64_t recognized(struct signing *by)
{
    struct signing_stats stats;

    signing_stats(by, &stats);
    assert_int_equal(stats.verified_n, stats.recognized_n); /* nothing else is verified while records are read */
    return stats.recognized_n;
}

/* What bind wrote is believed when it comes back, with nothing left to verify; seen again it is like any other. */
static void record__that_bind_wrote__verified_when_it_comes_back(void **state)
{
    const struct str text = sent(ours, "u", "n");
    struct ledger_pod_fact f = fact(ours, 0, 1, text);

    assert_non_null(f.assignment);
    assert_int_equal(f.record_trust, RECORD_VERIFIED);
    assert_int_equal(f.proof.n, 0);
    assert_int_equal(recognized(ours), 1);
    f = fact(ours, 0, 1, text);
    assert_int_equal(f.record_trust, RECORD_PROVISIONAL);
    assert_true(holds(ours, f.proof));
    assert_int_equal(recognized(ours), 1);
}

/* Another amount, another pod, another node: not what was signed, so it has to be verified, and does not hold. */
static void record__that_bind_wrote_and_somebody_changed__has_to_be_verified(void **state)
{
    char *edited = arena_cstr(&arena, sent(ours, "u", "n"));
    struct str texts[3] = {STR_NULL, sent(ours, "v", "n"), sent(ours, "u", "m")};

    assert_non_null(edited);
    memcpy(strstr(edited, "300"), "299", 3);
    texts[0] = str_of(edited);
    for (size_t i = 0; i < 3; i++) {
        const struct ledger_pod_fact f = fact(ours, 0, 1, texts[i]);

        assert_int_equal(f.record_trust, RECORD_PROVISIONAL);
        assert_false(holds(ours, f.proof));
    }
    assert_int_equal(recognized(ours), 0);
}

static void record__that_bind_wrote__means_nothing_where_its_key_is_not_known(void **state)
{
    const struct ledger_pod_fact f = fact(others, 0, 1, sent(ours, "u", "n"));

    assert_null(f.assignment);
    assert_int_equal(recognized(others), 0);
}

static void record__that_bind_wrote_long_ago__has_to_be_verified(void **state)
{
    const struct str text = sent(ours, "u", "n");

    for (int i = 0; i < SIGNING_REMEMBERED; i++) {
        char uid[16];

        (void)snprintf(uid, sizeof(uid), "v%d", i);
        (void)sent(ours, uid, "n");
    }
    assert_int_equal(fact(ours, 0, 1, text).record_trust, RECORD_PROVISIONAL);
}

static void signing__a_large_proof__is_not_remembered(void **state)
{
    static char bytes[SIGNING_REMEMBERED_BYTES + 1];

    signing_remember(ours, (struct str){bytes, sizeof(bytes)});
    assert_false(signing_recognizes(ours, (struct str){bytes, sizeof(bytes)}));
    signing_remember(ours, (struct str){bytes, sizeof(bytes) - 1});
    assert_true(signing_recognizes(ours, (struct str){bytes, sizeof(bytes) - 1}));
    assert_false(signing_recognizes(ours, STR_NULL));
}

static void record__signed_by_an_unknown_key__grants_nothing(void **state)
{
    const struct ledger_pod_fact f = fact(ours, 0, 1, written(others, "u", "n"));

    assert_null(f.assignment);
    assert_int_equal(f.proof.n, 0);
    assert_int_equal(warnings(), 1);
}

static void record__not_signed__only_of_pods_created_before(void **state)
{
    static const struct {
        int64_t accept_ms, created_ms;
        bool counts;
    } rows[] = {{0, 1000, false},
                {1000, 999, true},
                {1000, 1000, false},
                {1000, 1001, false},
                {1000, 0, false /* nobody knows when it was created */}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct ledger_pod_fact f = fact(ours, rows[i].accept_ms, rows[i].created_ms, written(NULL, "u", "n"));

        assert_int_equal(f.assignment != NULL, rows[i].counts);
        assert_int_equal(f.record_trust, RECORD_UNSIGNED);
    }
}

/* A lost key: as if the record had never been signed. */
static void record__signed_by_a_lost_key__only_of_pods_created_before(void **state)
{
    assert_non_null(fact(ours, 1000, 1, written(others, "u", "n")).assignment);
    assert_int_equal(fact(ours, 1000, 1, written(others, "u", "n")).record_trust, RECORD_UNSIGNED);
    assert_null(fact(ours, 1000, 1000, written(others, "u", "n")).assignment);
}

/* acceptUnsignedBefore excuses a missing signature, never one that does not hold. */
static void record__bad_signature_of_an_old_pod__not_excused(void **state)
{
    const struct ledger_pod_fact f = fact(ours, 1000, 1, written(ours, "v", "n"));

    assert_int_equal(f.record_trust, RECORD_PROVISIONAL);
    assert_false(holds(ours, f.proof));
    assert_null(
        fact(ours, 1000, 1, STR("{\"v\":1,\"id\":\"x\",\"containers\":[],\"sig\":{\"key\":\"k\",\"value\":\"\"}}"))
            .assignment);
}

static void record__signing_off__as_before_whatever_stands_there(void **state)
{
    assert_int_equal(fact(NULL, 0, 1, written(NULL, "u", "n")).record_trust, RECORD_UNSIGNED);
    assert_non_null(fact(NULL, 0, 1, written(NULL, "u", "n")).assignment);
    assert_non_null(fact(NULL, 0, 1, written(others, "u", "n")).assignment);
    assert_int_equal(fact(NULL, 0, 1, written(others, "u", "n")).record_trust, RECORD_UNSIGNED);
}

/* A tenant who edits an annotation for ever fills no log. */
static void record__ignored_a_thousand_times__one_warning_all_counted(void **state)
{
    struct signing_stats stats;

    for (int i = 0; i < 1000; i++) {
        (void)fact(ours, 0, 1, written(others, "u", "n"));
        arena_reset(&arena);
    }
    assert_int_equal(warnings(), 1);
    signing_stats(ours, &stats);
    assert_int_equal(stats.ignored_n, 1000);
}

/* Item 14: it would be charged and taken back at every observation, and each audit would miss it. */
static void record__of_a_pod_that_asks_for_nothing__verified_at_once(void **state)
{
    struct ledger_pod_fact good, copied;

    asks = false;
    good = fact(ours, 0, 1, written(ours, "u", "n"));
    copied = fact(ours, 0, 1, written(ours, "another", "n"));
    assert_non_null(good.assignment);
    assert_int_equal(good.record_trust, RECORD_VERIFIED);
    assert_null(copied.assignment);
    assert_int_equal(warnings(), 1);
}

static void proof__of_any_length__never_read_beyond_its_end(void **state)
{
    const struct str whole = fact(ours, 0, 1, written(ours, "u", "n")).proof;

    for (size_t n = 0; n < whole.n; n++) {
        struct str cut = arena_str(&arena, (struct str){whole.p, n});

        assert_false(holds(ours, cut));
    }
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(record__signed_for_this_pod_and_node__provisional_and_its_proof_holds),
        T(record__copied_or_edited__proof_does_not_hold),
        T(record__that_bind_wrote__verified_when_it_comes_back),
        T(record__that_bind_wrote_and_somebody_changed__has_to_be_verified),
        T(record__that_bind_wrote__means_nothing_where_its_key_is_not_known),
        T(record__that_bind_wrote_long_ago__has_to_be_verified),
        T(signing__a_large_proof__is_not_remembered),
        T(record__signed_by_an_unknown_key__grants_nothing),
        T(record__not_signed__only_of_pods_created_before),
        T(record__signed_by_a_lost_key__only_of_pods_created_before),
        T(record__bad_signature_of_an_old_pod__not_excused),
        T(record__signing_off__as_before_whatever_stands_there),
        T(record__ignored_a_thousand_times__one_warning_all_counted),
        T(record__of_a_pod_that_asks_for_nothing__verified_at_once),
        T(proof__of_any_length__never_read_beyond_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
