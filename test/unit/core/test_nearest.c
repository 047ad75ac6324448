/* Who would have to end so that a pod fits. The property: with the pods that are named gone it fits on that node;
 * where one is named, the end of no smaller one anywhere would be enough; where several are, the end of no single one
 * is, and none of them can be left out. The oracle is the ledger itself after those pods have gone. */
#include "base/rng.h"
#include "core/ledger/nearest.h"
#include "core/support/tested_ledger.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

enum { NODES_MAX = 4, GPUS_MAX = 3, PODS_MAX = 24 };
#define GPU_MIB 1000

static struct arena arena;

static int setup(void **state)
{
    arena_init(&arena, 64 << 20);
    return empty_ledger_setup(state);
}

static int teardown(void **state)
{
    arena_fini(&arena);
    return ledger_teardown(state);
}

struct running {
    char uid[16];
    char node[16];
    int device;
    int32_t milli, mem_mib;
};

struct scene {
    struct rng rng;
    struct running pods[PODS_MAX];
    int pod_n, node_n, gpu_n[NODES_MAX];
    int32_t milli_left[NODES_MAX][GPUS_MAX], mem_left[NODES_MAX][GPUS_MAX];
};

static int below(struct scene *s, int n)
{
    return (int)rng_below(&s->rng, (uint64_t)n);
}

static void observe(const struct running *p)
{
    struct demand d = SHARE_AND_MEMORY_OF(p->milli, p->mem_mib);
    struct assigned_container c;
    struct assigned_device device;
    char uuid[64];
    struct assignment record;

    snprintf(uuid, sizeof(uuid), "GPU-%s-%d", p->node, p->device);
    record = fixture_record(&c, &device, p->uid, uuid, p->device, p->milli, p->mem_mib);
    assert_int_equal(fixture_pod(&fx, p->uid, &d, p->node, &record), 0);
}

static void end(const struct running *p)
{
    assert_int_equal(fixture_name_op(&fx, LEDGER_POD_GONE, p->uid), 0);
}

static void add_pod(struct scene *s)
{
    struct running *p = &s->pods[s->pod_n];
    int node = below(s, s->node_n);

    p->device = below(s, s->gpu_n[node]);
    p->milli = 100 * (1 + below(s, 6));
    p->mem_mib = 100 * (1 + below(s, 6));
    if (p->milli > s->milli_left[node][p->device] || p->mem_mib > s->mem_left[node][p->device]) {
        return;
    }
    s->milli_left[node][p->device] -= p->milli;
    s->mem_left[node][p->device] -= p->mem_mib;
    snprintf(p->uid, sizeof(p->uid), "p%d", s->pod_n++);
    snprintf(p->node, sizeof(p->node), "n%d", node);
    observe(p);
}

static void make(struct scene *s, uint64_t seed)
{
    char name[16];

    rng_init(&s->rng, seed);
    s->pod_n = 0;
    s->node_n = 1 + below(s, NODES_MAX);
    for (int n = 0; n < s->node_n; n++) {
        s->gpu_n[n] = 1 + below(s, GPUS_MAX);
        for (int g = 0; g < s->gpu_n[n]; g++) {
            s->milli_left[n][g] = 1000;
            s->mem_left[n][g] = GPU_MIB;
        }
        snprintf(name, sizeof(name), "n%d", n);
        fixture_node(&fx, name, s->gpu_n[n], GPU_MIB);
    }
    for (int i = below(s, PODS_MAX); i >= 0 && s->pod_n < PODS_MAX; i--) {
        add_pod(s);
    }
}

static void forget(const struct scene *s)
{
    char name[16];

    for (int i = 0; i < s->pod_n; i++) {
        end(&s->pods[i]);
    }
    for (int n = 0; n < s->node_n; n++) {
        snprintf(name, sizeof(name), "n%d", n);
        assert_int_equal(fixture_name_op(&fx, LEDGER_NODE_GONE, name), 0);
    }
    arena_reset(&arena);
}

static bool fits_on(const char *node, const struct demand *d)
{
    struct placement at;

    return ledger_place(fx.l, str_of(node), STR("default"), d, NULL, 0, fixture_params("tight-fit"), &at) ==
           VERDICT_FITS;
}

static bool fits_somewhere(const struct scene *s, const struct demand *d)
{
    char name[16];

    for (int n = 0; n < s->node_n; n++) {
        snprintf(name, sizeof(name), "n%d", n);
        if (fits_on(name, d)) {
            return true;
        }
    }
    return false;
}

/* The nearest of all nodes. `bounded`: with what was found before as the bound. */
static struct nearest nearest_of_all(const struct demand *d, bool bounded)
{
    struct ledger_view v;
    struct nearest best = {.node_name = STR_NULL};

    assert_int_equal(ledger_view(fx.l, &arena, VIEW_POD("me", d), &v, NULL), 0);
    for (uint32_t i = 0; i < v.node_n; i++) {
        struct nearest here;

        if (v.names[i].n == 0) {
            continue;
        }
        ledger_nearest(&v, i, strategy_find(STR("tight-fit")), bounded && best.cost.pod_n > 0 ? &best.cost : NULL,
                       &arena, &here);
        if (best.node_name.n == 0 || nearest_compare(&here, &best) < 0) {
            best = here;
        }
    }
    best.node_name = arena_str(&arena, best.node_name); /* borrowed until the next op */
    for (size_t i = 0; i < best.cost.pod_n; i++) {
        best.leaving[i].uid = arena_str(&arena, best.leaving[i].uid);
    }
    return best;
}

static const struct running *pod_named(const struct scene *s, struct str uid)
{
    for (int i = 0; i < s->pod_n; i++) {
        if (str_eq_cstr(uid, s->pods[i].uid)) {
            return &s->pods[i];
        }
    }
    return NULL;
}

/* The smallest pod whose end is enough, tried one by one; NULL: there is none. */
static const struct running *smallest_by_trying(const struct scene *s, const struct demand *d)
{
    const struct running *best = NULL;

    for (int i = 0; i < s->pod_n; i++) {
        const struct running *p = &s->pods[i];

        end(p);
        if (fits_somewhere(s, d) &&
            (best == NULL || p->milli < best->milli || (p->milli == best->milli && p->mem_mib < best->mem_mib))) {
            best = p;
        }
        observe(p);
    }
    return best;
}

static void check_named(const struct scene *s, const struct demand *d, const struct nearest *best)
{
    const struct running *named[NEAREST_LEAVING_MAX];
    char node[16];

    snprintf(node, sizeof(node), "%.*s", STR_ARG(best->node_name));
    for (size_t i = 0; i < best->cost.pod_n; i++) {
        named[i] = pod_named(s, best->leaving[i].uid);
        assert_non_null(named[i]);
        assert_string_equal(named[i]->node, node);
        end(named[i]);
    }
    assert_true(fits_on(node, d));
    for (size_t i = 0; i < best->cost.pod_n; i++) {
        observe(named[i]);
        assert_false(fits_somewhere(s, d));
        end(named[i]);
    }
    for (size_t i = 0; i < best->cost.pod_n; i++) {
        observe(named[i]);
    }
}

static struct demand question(struct scene *s, struct gpu_request *w)
{
    switch (below(s, 4)) {
    case 0:
        return fixture_whole(w, (uint16_t)(1 + below(s, GPUS_MAX)));
    case 1:
        return fixture_share(w, 100 * (1 + below(s, 10)));
    case 2:
        return fixture_memory(w, 100 * (1 + below(s, 10)));
    default:
        return fixture_both(w, 100 * (1 + below(s, 10)), 100 * (1 + below(s, 10)));
    }
}

static unsigned check_one(struct scene *s)
{
    struct gpu_request w;
    struct demand d = question(s, &w);
    const struct running *smallest;
    struct nearest best, bounded;

    if (fits_somewhere(s, &d)) {
        return 0;
    }
    best = nearest_of_all(&d, false);
    bounded = nearest_of_all(&d, true);
    assert_true(str_eq(best.node_name, bounded.node_name));
    assert_int_equal(best.cost.pod_n, bounded.cost.pod_n);
    smallest = smallest_by_trying(s, &d);
    assert_int_equal(smallest != NULL, best.cost.pod_n == 1);
    if (smallest != NULL) {
        assert_int_equal(best.cost.milli, smallest->milli);
        assert_int_equal(best.cost.mem_mib, smallest->mem_mib);
    }
    if (best.cost.pod_n > 0) {
        check_named(s, &d, &best);
    }
    return best.cost.pod_n == 1 ? 1 : best.cost.pod_n > 1 ? 0x10000 : 0;
}

static void nearest__random_clusters__the_named_end_is_enough_and_none_smaller(void **state)
{
    unsigned seen = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 1500; seed++) {
        struct scene s;

        make(&s, seed);
        for (int i = 0; i < 4; i++) {
            seen += check_one(&s);
        }
        forget(&s);
    }
    assert_true((seen & 0xffff) > 300); /* one pod was named, */
    assert_true(seen >> 16 > 100);      /* several were */
}

/* ---- whom it must not name ---- */

static struct nearest nearest_below(const char *node, const struct view_pod *pod, const struct nearest_cost *than)
{
    struct ledger_view v;
    struct str name = str_of(node);
    struct nearest ret;

    assert_int_equal(ledger_view(fx.l, &arena, pod, &v, NULL), 0);
    ledger_nearest(&v, ledger_view_index(&v, &name), strategy_find(STR("tight-fit")), than, &arena, &ret);
    return ret;
}

static struct nearest nearest_on(const char *node, const struct view_pod *pod)
{
    return nearest_below(node, pod, NULL);
}

static void nearest__pod_on_its_way__is_not_named(void **state)
{
    struct demand d = SHARE_OF(800), asked = SHARE_OF(500);
    struct nearest n;

    (void)state;
    fixture_node(&fx, "n", 1, GPU_MIB);
    assert_int_equal(fixture_pod(&fx, "on-its-way", &d, NULL, NULL), 0);
    assert_int_equal(fixture_reserve(&fx, "on-its-way", "n"), 0);
    n = nearest_on("n", VIEW_POD("me", &asked));
    assert_int_equal(n.cost.pod_n, 0);
    assert_int_equal(n.lacks.device_n, 1);
    assert_int_equal(n.lacks.devices[0].milli, 300);
    assert_true(str_eq(n.uuids[0], STR("GPU-n-0")));
}

static void nearest__node_promised_to_another_pod__names_nobody(void **state)
{
    struct demand d = SHARE_OF(800), asked = SHARE_OF(500);
    struct running runs = {"runs", "n", 0, 700, 100};
    struct ledger_op op = fixture_observation("promised", &d, NULL, NULL);

    (void)state;
    fixture_node(&fx, "n", 1, GPU_MIB);
    observe(&runs);
    assert_int_equal(nearest_on("n", VIEW_POD("me", &asked)).cost.pod_n, 1);
    op.pod.nominated_node = STR("n");
    fixture_apply(&fx, &op);
    assert_int_equal(nearest_on("n", VIEW_POD("me", &asked)).cost.pod_n, 0);
}

static void nearest__cordoned_node__comes_last_and_names_nobody(void **state)
{
    struct demand asked = SHARE_OF(500);
    struct running runs = {"runs", "n", 0, 700, 100};
    const struct taint cordon = {.key = STR("node.kubernetes.io/unschedulable"), .effect = TAINT_NO_SCHEDULE};
    struct device gpu = {
        .uuid = STR("GPU-n-0"), .index = 0, .model = STR("m"), .mem_mib = GPU_MIB, .slot_n = 16, .healthy = true};
    const struct inventory inventory = {.devices = &gpu, .device_n = 1};
    struct ledger_op op = fixture_description("n", &inventory);
    struct nearest n;

    (void)state;
    op.node.taints = &cordon;
    op.node.taint_n = 1;
    fixture_apply(&fx, &op);
    observe(&runs);
    assert_false(nearest_on("n", VIEW_POD("me", &asked)).untolerated); /* nobody knows what that pod tolerates */
    assert_true(nearest_on("n", VIEW_POD("", &asked)).untolerated);    /* one that does not exist tolerates nothing */
    assert_int_equal(fixture_pod(&fx, "me", &asked, NULL, NULL), 0);
    n = nearest_on("n", VIEW_POD("me", &asked));
    assert_true(n.untolerated);
    assert_int_equal(n.cost.pod_n, 0);
}

/* ---- which is nearer ---- */

static void compare__in_order__each_before_all_behind_it(void **state)
{
    const struct nearest all[] = {
        {.node_name = STR("z"), .cost = {1, 300, 5}, .lacks = {.distance = 9}},
        {.node_name = STR("y"), .cost = {1, 300, 6}, .lacks = {.distance = 8}},
        {.node_name = STR("x"), .cost = {1, 400, 1}, .lacks = {.distance = 7}},
        {.node_name = STR("w"), .cost = {2, 100, 1}, .lacks = {.distance = 6}},
        {.node_name = STR("v"), .lacks = {.distance = 1}},
        {.node_name = STR("a"), .lacks = {.distance = 2}},
        {.node_name = STR("b"), .lacks = {.distance = 2}},
        {.node_name = STR("a"), .untolerated = true, .cost = {1, 1, 1}},
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        assert_int_equal(nearest_compare(&all[i], &all[i]), 0);
        for (size_t k = i + 1; k < sizeof(all) / sizeof(all[0]); k++) {
            assert_true(nearest_compare(&all[i], &all[k]) < 0);
            assert_true(nearest_compare(&all[k], &all[i]) > 0);
        }
    }
}

/* Of pods that are equally large the first by its name; in whatever order they came. */
static void nearest__several_are_enough__the_smallest_and_first_by_name(void **state)
{
    static const struct running pods[] = {
        {"d", "n", 0, 300, 200}, {"b", "n", 0, 300, 100}, {"c", "n", 0, 300, 100}, {"a", "n", 0, 100, 300}};
    struct demand little = SHARE_OF(50), asked = SHARE_OF(250), whole = SHARE_OF(950);
    struct nearest n;

    fixture_node(&fx, "n", 1, GPU_MIB);
    for (size_t i = 0; i < 4; i++) {
        observe(&pods[i]);
    }
    n = nearest_on("n", VIEW_POD("me", &little)); /* there is no memory left, of which a has the most */
    assert_true(str_eq_cstr(n.leaving[0].name, "a"));
    n = nearest_on("n", VIEW_POD("me", &asked));
    assert_int_equal(n.cost.pod_n, 1);
    assert_true(str_eq_cstr(n.leaving[0].name, "b"));
    n = nearest_on("n", VIEW_POD("me", &whole)); /* nobody may stay */
    assert_int_equal(n.cost.pod_n, 4);
    assert_true(str_eq_cstr(n.leaving[0].name, "a") && str_eq_cstr(n.leaving[1].name, "b") &&
                str_eq_cstr(n.leaving[2].name, "c") && str_eq_cstr(n.leaving[3].name, "d"));
    assert_int_equal(n.cost.milli, 1000);
    assert_int_equal(n.cost.mem_mib, 700);
}

static void nearest__less_is_enough_elsewhere__nobody_is_searched_for(void **state)
{
    static const struct running pods[] = {{"a", "n", 0, 400, 100}, {"b", "n", 0, 500, 100}};
    struct demand half = SHARE_OF(450), whole = SHARE_OF(1000);
    const struct nearest_cost same = {1, 400, 100}, less = {1, 400, 99}, one = {1, 5000, 5000}, two = {2, 1, 1};

    fixture_node(&fx, "n", 1, GPU_MIB);
    observe(&pods[0]);
    observe(&pods[1]);
    assert_int_equal(nearest_below("n", VIEW_POD("me", &half), &same).cost.pod_n, 1);
    assert_int_equal(nearest_below("n", VIEW_POD("me", &half), &less).cost.pod_n, 0);
    assert_int_equal(nearest_below("n", VIEW_POD("me", &whole), &one).cost.pod_n, 0);
    assert_int_equal(nearest_below("n", VIEW_POD("me", &whole), &two).cost.pod_n, 2);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(nearest__random_clusters__the_named_end_is_enough_and_none_smaller),
        T(nearest__pod_on_its_way__is_not_named),
        T(nearest__node_promised_to_another_pod__names_nobody),
        T(nearest__cordoned_node__comes_last_and_names_nobody),
        T(compare__in_order__each_before_all_behind_it),
        T(nearest__several_are_enough__the_smallest_and_first_by_name),
        T(nearest__less_is_enough_elsewhere__nobody_is_searched_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
