/* Who must leave a node so that a more important pod fits; and what a nomination keeps for the pod it names. The
 * property: the pod fits without the victims, and needs every one that it added. */
#include "base/rng.h"
#include "core/ledger/preempt.h"
#include "core/placement/pack.h"
#include "core/support/tested_ledger.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static struct arena arena;

static struct score_cache *cache; /* what one call has remembered the next one finds */

static int setup(void **state)
{
    fixture_init(&fx);
    arena_init(&arena, 64 << 20);
    cache = score_cache_new();
    return 0;
}

static int teardown(void **state)
{
    score_cache_free(cache);
    arena_fini(&arena);
    fixture_fini(&fx);
    return 0;
}

/* A pod that runs on one device of a node, as its record says; device < 0: pending, `node` is its nomination. */
struct running {
    const char *uid;
    const char *node;
    int device;
    int32_t milli;
    int32_t priority;
    bool deleting;
};

static void observe(const struct running *p)
{
    struct demand d = SHARE_OF(p->milli);
    struct assigned_container c;
    struct assigned_device device;
    char uuid[64];
    struct assignment record;
    struct ledger_op op = fixture_observation(p->uid, &d, NULL, NULL);

    op.pod.priority = p->priority;
    op.pod.deleting = p->deleting;
    if (p->device >= 0) {
        snprintf(uuid, sizeof(uuid), "GPU-%s-%d", p->node, p->device);
        record = fixture_record(&c, &device, p->uid, uuid, p->device, p->milli, 0);
        op.pod.node_name = str_of(p->node);
        op.pod.assignment = &record;
    } else {
        op.pod.nominated_node = str_of(p->node);
    }
    assert_int_equal(ledger_apply(fx.l, &op, NULL), 0);
}

static enum verdict preempt(const char *node, const struct demand *d, int32_t priority, const char *const *named,
                            size_t named_n, const struct str **ret, size_t *ret_n)
{
    struct str uids[8];
    const struct preempt_request r = {.node_name = str_of(node),
                                      .uid = STR("me"),
                                      .namespace_ = STR("default"),
                                      .priority = priority,
                                      .demand = d,
                                      .device_strategy = strategy_find(STR("tight-fit")),
                                      .victims = uids,
                                      .victim_n = named_n};

    for (size_t i = 0; i < named_n; i++) {
        uids[i] = str_of(named[i]);
    }
    return ledger_preempt(fx.l, &arena, &r, ret, ret_n);
}

static void expect_victims(const char *node, int32_t milli, int32_t priority, const char *const *named, size_t named_n,
                           const char *wanted)
{
    struct gpu_request w;
    struct demand d = milli >= 1000 ? fixture_whole(&w, (uint16_t)(milli / 1000)) : fixture_share(&w, milli);
    const struct str *victims;
    size_t n;
    char text[256] = "impossible";

    if (preempt(node, &d, priority, named, named_n, &victims, &n) == VERDICT_FITS) {
        text[0] = '\0';
        for (size_t i = 0; i < n; i++) {
            size_t at = strlen(text);
            snprintf(text + at, sizeof(text) - at, "%s%.*s", i > 0 ? " " : "", STR_ARG(victims[i]));
        }
    }
    assert_string_equal(text, wanted);
}

static void add(const struct running *pods, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        observe(&pods[i]);
    }
}

#define ADD(...)                                                                                                       \
    add((const struct running[]){__VA_ARGS__}, sizeof((const struct running[]){__VA_ARGS__}) / sizeof(struct running))

static void preempt__named_victim_is_on_the_right_device__stays_alone(void **state)
{
    fixture_node(&fx, "n", 1, 1000);
    ADD({"a", "n", 0, 700, 0, false}, {"b", "n", 0, 300, 0, false});
    expect_victims("n", 600, 10, (const char *const[]){"a"}, 1, "a");
}

static void preempt__named_victim_frees_half_a_gpu__its_neighbour_goes_too(void **state)
{
    fixture_node(&fx, "n", 2, 1000);
    ADD({"a", "n", 0, 300, 0, false}, {"b", "n", 0, 300, 0, false}, {"c", "n", 1, 300, 0, false},
        {"d", "n", 1, 300, 0, false});
    expect_victims("n", 1000, 10, (const char *const[]){"c"}, 1, "c d");
}

static void preempt__nobody_named__fewest_and_least_important(void **state)
{
    fixture_node(&fx, "n", 2, 1000);
    ADD({"a", "n", 0, 600, 5, false}, {"b", "n", 0, 400, 1, false}, {"c", "n", 1, 500, 1, false},
        {"d", "n", 1, 500, 6, false});
    expect_victims("n", 500, 10, NULL, 0, "c");
    expect_victims("n", 1000, 10, NULL, 0, "a b"); /* sparing the most important, d */
    expect_victims("n", 2000, 10, NULL, 0, "d a b c");
}

static void preempt__same_or_higher_priority__is_never_a_victim(void **state)
{
    fixture_node(&fx, "n", 1, 1000);
    ADD({"a", "n", 0, 600, 10, false}, {"b", "n", 0, 400, 9, false});
    expect_victims("n", 400, 10, NULL, 0, "b");
    expect_victims("n", 500, 10, NULL, 0, "impossible");
    expect_victims("n", 1000, 11, NULL, 0, "a b");
}

static void preempt__unknown_victim__kept_where_it_was(void **state)
{
    fixture_node(&fx, "n", 1, 1000);
    ADD({"a", "n", 0, 600, 3, false}, {"b", "n", 0, 400, 1, false});
    expect_victims("n", 1000, 10, (const char *const[]){"assumed", "b"}, 2, "assumed a b");
}

static void preempt__reserved_or_pending__no_victim_and_unknown_node__impossible(void **state)
{
    struct demand d = SHARE_OF(800);

    fixture_node(&fx, "n", 1, 1000);
    assert_int_equal(fixture_pod(&fx, "on-its-way", &d, NULL, NULL), 0);
    assert_int_equal(fixture_reserve(&fx, "on-its-way", "n"), 0);
    expect_victims("n", 500, 10, NULL, 0, "impossible");
    expect_victims("nowhere", 500, 10, NULL, 0, "impossible");
}

static void preempt__fits_already__nobody(void **state)
{
    fixture_node(&fx, "n", 1, 1000);
    expect_victims("n", 500, 10, NULL, 0, "");
}

/* ---- the property ---- */

static bool fits_without(const struct running *pods, int n, const bool *leaves, const struct demand *d)
{
    struct placement at;
    bool fits;

    for (int i = 0; i < n; i++) {
        struct ledger_op gone = {.kind = LEDGER_POD_GONE, .name = str_of(pods[i].uid)};
        if (leaves[i]) {
            assert_int_equal(ledger_apply(fx.l, &gone, NULL), 0);
        }
    }
    fits = ledger_place(fx.l, STR("n"), STR("default"), d, NULL, 0, fixture_params("tight-fit"), &at) == VERDICT_FITS;
    for (int i = 0; i < n; i++) {
        if (leaves[i]) {
            observe(&pods[i]);
        }
    }
    return fits;
}

static void one_random_node(struct rng *rng)
{
    enum { MAX = 12 };
    char uids[MAX][8];
    struct running pods[MAX];
    bool leaves[MAX] = {false}, all[MAX] = {false};
    const struct str *victims;
    size_t victim_n;
    int n = 0, gpu_n = 1 + (int)rng_below(rng, 3), left[3] = {1000, 1000, 1000};
    int32_t wanted = 100 * (1 + (int32_t)rng_below(rng, 12));
    struct gpu_request w;
    struct demand d =
        wanted > 900 ? fixture_whole(&w, (uint16_t)(1 + rng_below(rng, (uint64_t)gpu_n))) : fixture_share(&w, wanted);

    fixture_node(&fx, "n", gpu_n, 1000);
    for (int i = 0; i < MAX; i++) {
        int device = (int)rng_below(rng, (uint64_t)gpu_n);
        int32_t milli = 100 * (1 + (int32_t)rng_below(rng, 5));

        if (milli <= left[device]) {
            left[device] -= milli;
            snprintf(uids[n], sizeof(uids[n]), "p%d", n);
            pods[n] = (struct running){uids[n], "n", device, milli, (int32_t)rng_below(rng, 4), false};
            observe(&pods[n++]);
        }
    }
    for (int i = 0; i < n; i++) {
        all[i] = pods[i].priority < 2;
    }
    if (preempt("n", &d, 2, NULL, 0, &victims, &victim_n) != VERDICT_FITS) {
        assert_false(fits_without(pods, n, all, &d));
    } else {
        for (size_t v = 0; v < victim_n; v++) {
            for (int i = 0; i < n; i++) {
                leaves[i] = leaves[i] || str_eq_cstr(victims[v], pods[i].uid);
                assert_true(!leaves[i] || pods[i].priority < 2);
            }
        }
        assert_true(fits_without(pods, n, leaves, &d));
        for (int i = 0; i < n; i++) {
            if (leaves[i]) {
                leaves[i] = false;
                assert_false(fits_without(pods, n, leaves, &d));
                leaves[i] = true;
            }
        }
    }
    for (int i = 0; i < n; i++) {
        assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, pods[i].uid), 0);
    }
    arena_reset(&arena);
}

static void preempt__random_nodes__fits_without_the_victims_and_needs_each(void **state)
{
    struct rng rng;

    rng_init(&rng, 20260101);
    for (int i = 0; i < 2000; i++) {
        one_random_node(&rng);
    }
}

/* ---- nominations ---- */

static enum verdict verdict_for(const char *uid, int32_t milli, int32_t priority)
{
    const struct pack_params params = *fixture_params("tight-fit");
    struct demand d = SHARE_OF(milli);
    struct pack_result result, remembered;
    struct pack_query q;
    struct ledger_view v;
    const struct str name = STR("n");

    assert_int_equal(
        ledger_view(
            fx.l, &arena,
            &(struct view_pod){.uid = str_of(uid), .namespace_ = STR("default"), .priority = priority, .demand = &d},
            &v, NULL),
        0);
    fixture_pack(&v, &params, NULL, 0, &name, 1, &result);
    pack_query_init(&q, &v, &params, NULL, 0);
    q.known = score_cache_find(cache, &d, &params, v.node_n);
    assert_int_equal(pack_some(&v, &q, &name, 1, &remembered), 1);
    assert_int_equal(remembered.verdict, result.verdict);
    return result.verdict;
}

static void nomination__keeps_its_room_from_lower_and_equal_priority(void **state)
{
    fixture_node(&fx, "n", 1, 1000);
    ADD({"important", "n", -1, 700, 10, false});
    assert_int_equal(verdict_for("low", 400, 5), VERDICT_NOMINATED);
    assert_int_equal(verdict_for("equal", 400, 10), VERDICT_NOMINATED);
    assert_int_equal(verdict_for("small", 300, 5), VERDICT_FITS);
    assert_int_equal(verdict_for("higher", 400, 11), VERDICT_FITS);
    assert_int_equal(verdict_for("important", 700, 10), VERDICT_FITS);
}

static void nomination__waits_for_a_terminating_pod__keeps_what_that_leaves(void **state)
{
    fixture_node(&fx, "n", 2, 1000);
    ADD({"leaving", "n", 0, 700, 0, true}, {"stays", "n", 1, 500, 0, false}, {"important", "n", -1, 800, 10, false});
    assert_int_equal(verdict_for("low", 100, 5), VERDICT_FITS); /* anywhere */
    assert_int_equal(verdict_for("low", 500, 5), VERDICT_FITS); /* beside "stays" */
    ADD({"stays", "n", 1, 500, 0, false}, {"other", "n", 1, 450, 0, false});
    assert_int_equal(verdict_for("low", 100, 5), VERDICT_FITS);      /* 700 + 100 now, 800 + 100 later */
    assert_int_equal(verdict_for("low", 300, 5), VERDICT_NOMINATED); /* fits now, would be in the way later */
}

static void nomination__that_cannot_be_kept__keeps_nobody_away(void **state)
{
    fixture_node(&fx, "n", 1, 1000);
    ADD({"runs", "n", 0, 500, 20, false}, {"stale", "n", -1, 800, 10, false});
    assert_int_equal(verdict_for("low", 400, 5), VERDICT_FITS);
}

static void nomination__ends_with_the_pod_and_when_it_is_withdrawn(void **state)
{
    fixture_node(&fx, "n", 1, 1000);
    ADD({"a", "n", -1, 700, 10, false});
    assert_int_equal(verdict_for("low", 400, 5), VERDICT_NOMINATED);
    ADD({"a", "", -1, 700, 10, false});
    assert_int_equal(verdict_for("low", 400, 5), VERDICT_FITS);
    ADD({"a", "n", -1, 700, 10, false});
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, "a"), 0);
    assert_int_equal(verdict_for("low", 400, 5), VERDICT_FITS);
    ADD({"b", "n", -1, 700, 10, false});
    assert_int_equal(fixture_reserve(&fx, "b", "n"), 0);
    assert_int_equal(verdict_for("low", 400, 5), VERDICT_NO_COMPUTE); /* the charge itself */
}

/* The object still says where it is nominated to: the API server sends no event for a Binding that it refuses. */
static void F162_nomination__its_bind_is_refused__keeps_its_room_again(void **state)
{
    fixture_node(&fx, "n", 1, 1000);
    ADD({"a", "n", -1, 700, 10, false});
    assert_int_equal(fixture_reserve(&fx, "a", "n"), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_RELEASE, "a"), 0);
    assert_int_equal(verdict_for("low", 400, 5), VERDICT_NOMINATED);
    assert_int_equal(fixture_reserve(&fx, "a", "n"), 0);
    ADD({"a", "", -1, 700, 10, false}); /* withdrawn meanwhile */
    assert_int_equal(fixture_name_op(&fx, LEDGER_RELEASE, "a"), 0);
    assert_int_equal(verdict_for("low", 400, 5), VERDICT_FITS);
    assert_int_equal(fixture_reserve(&fx, "a", "n"), 0);
    ADD({"a", "n", -1, 700, 10, false}); /* and made again */
    assert_int_equal(fixture_name_op(&fx, LEDGER_RELEASE, "a"), 0);
    assert_int_equal(verdict_for("low", 400, 5), VERDICT_NOMINATED);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(preempt__named_victim_is_on_the_right_device__stays_alone),
        T(preempt__named_victim_frees_half_a_gpu__its_neighbour_goes_too),
        T(preempt__nobody_named__fewest_and_least_important),
        T(preempt__same_or_higher_priority__is_never_a_victim),
        T(preempt__unknown_victim__kept_where_it_was),
        T(preempt__reserved_or_pending__no_victim_and_unknown_node__impossible),
        T(preempt__fits_already__nobody),
        T(preempt__random_nodes__fits_without_the_victims_and_needs_each),
        T(nomination__keeps_its_room_from_lower_and_equal_priority),
        T(nomination__waits_for_a_terminating_pod__keeps_what_that_leaves),
        T(nomination__that_cannot_be_kept__keeps_nobody_away),
        T(nomination__ends_with_the_pod_and_when_it_is_withdrawn),
        T(F162_nomination__its_bind_is_refused__keeps_its_room_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
