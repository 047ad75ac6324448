/* Properties of every strategy of the table, then what each of them prefers. */
#include "base/compiler.h"
#include "base/rng.h"
#include "core/fit/feasibility.h"
#include "core/placement/strategies/strategies_internal.h"
#include "core/support/oracle.h"
#include "core/support/random_demand.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#define SEED 4711
#define CASES 6000

typedef void check_fn(int k, const struct random_case *c, const struct strategy *s);

/* Every case under every strategy of the table. */
static void for_all(int cases, size_t device_max, check_fn *check)
{
    static struct random_case c;
    struct rng r;

    rng_init(&r, SEED);
    for (int k = 0; k < cases; k++) {
        random_case_draw(&r, 4, device_max, &c);
        for (size_t i = 0; strategies[i] != NULL; i++) {
            check(k, &c, strategies[i]);
        }
    }
}

#define FAIL_UNDER(s, k, c, why) FAIL_CASE(k, c, "%s: %s", (s)->name, why)

static enum verdict place(const struct random_case *c, const struct strategy *s, struct placement *ret)
{
    return feasibility_place(&c->node, c->devices, c->allowed_models, &c->demand, s, ret);
}

static void take_all(const struct random_case *c, const struct placement *p, struct device_state *ret)
{
    for (size_t i = 0; i < c->node.device_n; i++) {
        struct charge charge = placement_charge(&c->demand, p, c->devices, i);

        ret[i] = c->devices[i];
        if (charge.slots > 0) {
            device_take(&ret[i], &charge);
        }
    }
}

/* ---- properties ---- */

static void check_never_overcommits(int k, const struct random_case *c, const struct strategy *s)
{
    struct device_state after[RANDOM_DEVICES_MAX];
    struct placement p;

    if (place(c, s, &p) != VERDICT_FITS) {
        return;
    }
    take_all(c, &p, after);
    for (size_t i = 0; i < c->node.device_n; i++) {
        bool used = memcmp(&after[i], &c->devices[i], sizeof(after[i])) != 0;

        if (used && (after[i].milli_free < 0 || after[i].mem_free_mib < 0 || after[i].slot_free < 0)) {
            FAIL_UNDER(s, k, c, "a device is over-committed");
        }
    }
}

static void all__placements__never_overcommit(void **state)
{
    for_all(CASES, 8, check_never_overcommits);
}

static void check_same_twice(int k, const struct random_case *c, const struct strategy *s)
{
    static struct random_case copy;
    struct device_state after[RANDOM_DEVICES_MAX];
    struct placement p = {{0}}, q;
    enum verdict v = place(c, s, &p);

    memset(&q, 0xa5, sizeof(q));
    copy = *c;
    copy.demand.gpu_requests = copy.gpu_requests;
    if (place(&copy, s, &q) != v) {
        FAIL_UNDER(s, k, c, "another verdict the second time");
    }
    if (v != VERDICT_FITS) {
        return;
    }
    if (memcmp(p.gpu_request_devices, q.gpu_request_devices,
               c->demand.gpu_request_n * sizeof(q.gpu_request_devices[0])) != 0) {
        FAIL_UNDER(s, k, c, "another placement the second time");
    }
    take_all(c, &p, after);
    if (s->node_score(NULL, &(struct strategy_node){.demand = &c->demand,
                                                    .node = &c->node,
                                                    .before = c->devices,
                                                    .after = after,
                                                    .device_n = c->node.device_n}) !=
        s->node_score(NULL, &(struct strategy_node){.demand = &copy.demand,
                                                    .node = &copy.node,
                                                    .before = copy.devices,
                                                    .after = after,
                                                    .device_n = c->node.device_n})) {
        FAIL_UNDER(s, k, c, "another score the second time");
    }
}

static void all__same_question__same_answer(void **state)
{
    for_all(CASES, 8, check_same_twice);
}

/* Only a share of the capacity as GPU request would grow with it, so the capacity stays and more of it is
 * free. */
static void check_more_is_not_worse(int k, const struct random_case *c, const struct strategy *s)
{
    static struct random_case more;
    struct placement p;
    size_t i = (size_t)k % RANDOM_DEVICES_MAX;

    if (place(c, s, &p) != VERDICT_FITS || i >= c->node.device_n) {
        return;
    }
    more = *c;
    more.devices[i].milli_free += 100;
    more.devices[i].mem_free_mib += 1000;
    more.devices[i].slot_free++;
    if (place(&more, s, &p) != VERDICT_FITS) {
        FAIL_UNDER(s, k, c, "does not fit any more where more is free");
    }
    more.devices[i].flags = DEVICE_HEALTHY;
    if (place(&more, s, &p) != VERDICT_FITS) {
        FAIL_UNDER(s, k, c, "does not fit any more when others have left");
    }
}

static void all__more_free__still_fits(void **state)
{
    for_all(CASES, 8, check_more_is_not_worse);
}

/* How many of the devices with bits in `kind` the pod's first container got. */
static int got(const struct placement *p, uint64_t kind)
{
    return __builtin_popcountll(p->gpu_request_devices[0] & kind);
}

/* A node of two kinds of devices, mixed in one order and in the opposite one: ordinals differ,
 * nothing else. */
static void check_equal_devices(int k, const struct random_case *c, const struct strategy *s)
{
    static struct random_case forth, back;
    const struct device_state *a = &c->devices[0], *b = &c->devices[1];
    struct charge charge_a = device_charge(a, NULL, c->gpu_requests);
    struct charge charge_b = device_charge(b, NULL, c->gpu_requests);
    uint64_t forth_a = 0, back_a = 0;
    struct placement p, q;
    size_t n = c->node.device_n;
    enum verdict v;

    if (n < 2) {
        return;
    }
    forth = back = *c;
    for (size_t i = 0; i < n; i++) {
        bool is_a = ((unsigned)k >> i & 1) != 0;

        forth.devices[i] = back.devices[n - 1 - i] = is_a ? *a : *b;
        forth_a |= (uint64_t)is_a << i;
        back_a |= (uint64_t)is_a << (n - 1 - i);
    }
    v = place(&forth, s, &p);
    if (place(&back, s, &q) != v) {
        FAIL_UNDER(s, k, &forth, "another verdict in another order of devices");
    }
    /* Between kinds that cost the same the ordinal decides, so there the order may show. */
    if (v == VERDICT_FITS && c->demand.gpu_request_n == 1 &&
        s->device_cost(a, &charge_a) != s->device_cost(b, &charge_b) &&
        (got(&p, forth_a) != got(&q, back_a) || got(&p, ~forth_a) != got(&q, ~back_a))) {
        FAIL_UNDER(s, k, &forth, "other kinds of devices in another order of them");
    }
}

static void all__order_of_equal_devices__does_not_matter(void **state)
{
    for_all(CASES, 8, check_equal_devices);
}

/* A node of twice the size with the same devices twice is the same to judge (tight-fit counts empty
 * ones). */
static void used_share__node_twice_the_size__scores_the_same(void **state)
{
    static struct random_case c;
    struct device_state twice[2 * RANDOM_DEVICES_MAX];
    struct rng r;

    rng_init(&r, SEED);
    for (int k = 0; k < CASES; k++) {
        size_t n;

        random_case_draw(&r, 1, 8, &c);
        n = c.node.device_n;
        memcpy(twice, c.devices, n * sizeof(twice[0]));
        memcpy(twice + n, c.devices, n * sizeof(twice[0]));
        assert_true(node_used_share(&(struct strategy_node){.after = c.devices, .device_n = n}) ==
                    node_used_share(&(struct strategy_node){.after = twice, .device_n = 2 * n}));
    }
}

static void find__every_name_of_the_table__is_found(void **state)
{
    for (size_t i = 0; strategies[i] != NULL; i++) {
        assert_ptr_equal(strategy_find(str_of(strategies[i]->name)), strategies[i]);
        assert_true(strlen(strategies[i]->summary) > 0);
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(strategies[i]->name, strategies[j]->name);
        }
    }
    assert_null(strategy_find(STR("Binpack")));
    assert_null(strategy_find(STR_NULL));
}

/* ---- preferences among devices ---- */

static struct device_state device(int32_t milli_free, int32_t mem_free_mib)
{
    bool used = milli_free < 1000 || mem_free_mib < 16000;

    return (struct device_state){.mem_free_mib = mem_free_mib,
                                 .mem_cap_mib = 16000,
                                 .mem_base_mib = 16000,
                                 .milli_free = milli_free,
                                 .milli_cap = 1000,
                                 .slot_free = used ? 15 : 16,
                                 .slot_cap = 16,
                                 .flags = (uint8_t)(DEVICE_HEALTHY | (used ? DEVICE_IN_USE : 0))};
}

struct device_row {
    const char *name;
    const char *strategy;
    struct {
        int32_t milli, mem_mib;
    } free[4];
    size_t device_n;
    int32_t milli;
    int64_t mem_mib;
    uint16_t count;
    uint64_t want;
};

static const struct device_row device_rows[] = {
    {"fullest", "binpack", {{1000, 16000}, {700, 8000}, {500, 8000}}, 3, 300, 1000, 1, 4},
    {"fullest that fits", "binpack", {{1000, 16000}, {700, 8000}, {200, 8000}}, 3, 300, 1000, 1, 2},
    {"fullest by both dimensions", "binpack", {{400, 16000}, {500, 1000}}, 2, 300, 1000, 1, 2},
    {"ties go to the first", "binpack", {{1000, 16000}, {500, 8000}, {500, 8000}}, 3, 300, 1000, 1, 2},
    {"the two fullest", "binpack", {{600, 8000}, {1000, 16000}, {500, 8000}, {900, 8000}}, 4, 300, 1, 2, 5},
    {"ties go to the first two", "binpack", {{500, 8000}, {500, 8000}, {500, 8000}}, 3, 300, 1, 2, 3},
    {"emptiest", "spread", {{700, 8000}, {1000, 16000}, {500, 8000}}, 3, 300, 1000, 1, 2},
    {"emptiest of the used", "spread", {{700, 8000}, {800, 8000}, {500, 8000}}, 3, 300, 1000, 1, 2},
    {"the two emptiest", "spread", {{600, 8000}, {1000, 16000}, {500, 8000}, {900, 8000}}, 4, 300, 1, 2, 10},
    {"least left", "tight-fit", {{1000, 16000}, {500, 8000}, {320, 8000}}, 3, 300, 1000, 1, 4},
    {"least left of what binds: memory", "tight-fit", {{600, 1100}, {320, 8000}}, 2, 300, 1000, 1, 1},
    {"equal in what binds: least of the rest", "tight-fit", {{300, 8000}, {300, 4000}}, 2, 300, 1000, 1, 2},
    {"a used one that leaves much before an empty one",
     "tight-fit",
     {{1000, 16000}, {999, 16000}},
     2,
     999,
     15999,
     1,
     2},
    {"an empty one when no used one fits", "tight-fit", {{100, 16000}, {1000, 16000}}, 2, 300, 1000, 1, 2},
};

static void device_order__rows__as_expected(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(device_rows); i++) {
        const struct device_row *row = &device_rows[i];
        struct device_state devices[4];
        struct gpu_request w = {
            .kind = GPU_REQUEST_BOTH, .milli = row->milli, .mem_mib = row->mem_mib, .count = row->count, .phases = 1};
        struct demand d = {.gpu_request_n = 1, .gpu_requests = &w};
        struct node_state n = {.flags = NODE_DESCRIBED, .device_n = (uint16_t)row->device_n};
        struct placement p;

        for (size_t k = 0; k < row->device_n; k++) {
            devices[k] = device(row->free[k].milli, row->free[k].mem_mib);
        }
        if (feasibility_place(&n, devices, NULL, &d, strategy_find(str_of(row->strategy)), &p) != VERDICT_FITS) {
            fail_msg("%s: does not fit", row->name);
        }
        if (p.gpu_request_devices[0] != row->want) {
            fail_msg("%s: devices %#lx", row->name, (unsigned long)p.gpu_request_devices[0]);
        }
    }
}

/* Two containers of one pod: the second sees what the first was given. */
static void device_order__two_containers__follow_the_strategy(void **state)
{
    static const struct {
        const char *strategy;
        uint64_t first, second;
    } rows[] = {{"binpack", 1, 1}, {"spread", 1, 2}, {"tight-fit", 1, 1}};
    const struct device_state devices[] = {device(1000, 16000), device(1000, 16000)};
    const struct gpu_request gpu_requests[] = {{.kind = GPU_REQUEST_MILLI, .milli = 300, .count = 1, .phases = 1},
                                               {.kind = GPU_REQUEST_MILLI, .milli = 300, .count = 1, .phases = 1}};
    const struct demand d = {.gpu_request_n = 2, .gpu_requests = gpu_requests};
    const struct node_state n = {.flags = NODE_DESCRIBED, .device_n = 2};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct placement p;

        assert_int_equal(feasibility_place(&n, devices, NULL, &d, strategy_find(str_of(rows[i].strategy)), &p),
                         VERDICT_FITS);
        assert_int_equal(p.gpu_request_devices[0], rows[i].first);
        assert_int_equal(p.gpu_request_devices[1], rows[i].second);
    }
}

static bool breaks_empty(const struct random_case *c, const struct placement *p)
{
    for (size_t i = 0; i < c->node.device_n; i++) {
        if ((p->gpu_request_devices[0] >> i & 1) != 0 && (c->devices[i].flags & DEVICE_IN_USE) == 0) {
            return true;
        }
    }
    return false;
}

static void tight_fit__used_device_fits__no_empty_one_is_opened(void **state)
{
    static struct random_case c, used;
    struct rng r;
    unsigned judged = 0;

    rng_init(&r, SEED);
    for (int k = 0; k < CASES; k++) {
        struct placement p, q;

        random_case_draw(&r, 1, 8, &c);
        used = c;
        used.demand.gpu_requests = used.gpu_requests;
        for (size_t i = 0; i < c.node.device_n; i++) { /* only used devices */
            used.devices[i].flags |= (c.devices[i].flags & DEVICE_IN_USE) == 0 ? DEVICE_DENIED : 0;
        }
        if (place(&used, &strategy_tight_fit, &q) == VERDICT_FITS) {
            judged++;
            assert_int_equal(place(&c, &strategy_tight_fit, &p), VERDICT_FITS);
            if (breaks_empty(&c, &p)) {
                FAIL_UNDER(&strategy_tight_fit, k, &c, "opens an empty device");
            }
        }
    }
    assert_true(judged > 100);
}

/* ---- preferences among nodes ---- */

struct half {
    int32_t milli, mem_mib; /* free */
};

/* A node, and which of its devices the pod takes how much of. */
struct node_side {
    struct half before[4];
    size_t device_n;
    uint64_t taken;
    int32_t milli, mem_mib;
    bool whole;
    int32_t plugin_managed_cap, plugin_managed_free;
};

struct node_row {
    const char *name;
    const char *strategy;
    struct node_side better, worse;
};

#define FULL                                                                                                           \
    {                                                                                                                  \
        0, 0                                                                                                           \
    }
#define HALF                                                                                                           \
    {                                                                                                                  \
        500, 8000                                                                                                      \
    }
#define NEW                                                                                                            \
    {                                                                                                                  \
        1000, 16000                                                                                                    \
    }
#define TAKE(mask, m, b) .taken = (mask), .milli = (m), .mem_mib = (b)
#define TAKE_WHOLE(mask) .taken = (mask), .milli = 1000, .mem_mib = 16000, .whole = true

static const struct node_row node_rows[] = {
    {"fuller node", "binpack", {{HALF, HALF}, 2, TAKE(1, 300, 1000)}, {{HALF, NEW}, 2, TAKE(1, 300, 1000)}},
    {"fuller node, of another size",
     "binpack",
     {{HALF, NEW}, 2, TAKE(1, 300, 1000)},
     {{HALF, HALF, NEW, NEW}, 4, TAKE(1, 300, 1000)}},
    {"emptier node", "spread", {{HALF, NEW}, 2, TAKE(1, 300, 1000)}, {{HALF, HALF}, 2, TAKE(1, 300, 1000)}},
    {"less left on the device",
     "tight-fit",
     {{{400, 8000}, NEW}, 2, TAKE(1, 300, 1000)},
     {{HALF, FULL}, 2, TAKE(1, 300, 1000)}},
    {"a used device, though much is left, before an empty one that is filled",
     "tight-fit",
     {{{999, 16000}, NEW}, 2, TAKE(1, 900, 100)},
     {{FULL, NEW}, 2, TAKE(2, 1000, 16000)}},
    {"an empty device where fewer are empty",
     "tight-fit",
     {{NEW, NEW, FULL, FULL}, 4, TAKE(1, 300, 1000)},
     {{NEW, NEW, NEW, FULL}, 4, TAKE(1, 300, 1000)}},
    {"a whole device where fewer are empty",
     "tight-fit",
     {{NEW, FULL}, 2, TAKE_WHOLE(1)},
     {{NEW, NEW}, 2, TAKE_WHOLE(1)}},
    {"a whole device where fewer are empty, not where more is used",
     "tight-fit",
     {{NEW, {999, 16000}}, 2, TAKE_WHOLE(1)},
     {{NEW, NEW, FULL, FULL}, 4, TAKE_WHOLE(1)}},
    {"two used ones before one used and one opened",
     "tight-fit",
     {{HALF, HALF}, 2, TAKE(3, 100, 100)},
     {{{100, 100}, NEW}, 2, TAKE(3, 100, 100)}},
    {"plugin: fewer left",
     "tight-fit",
     {.plugin_managed_cap = 8, .plugin_managed_free = 1},
     {.plugin_managed_cap = 8, .plugin_managed_free = 4}},
    {"plugin: fuller",
     "binpack",
     {.plugin_managed_cap = 8, .plugin_managed_free = 1},
     {.plugin_managed_cap = 4, .plugin_managed_free = 1}},
    {"plugin: emptier",
     "spread",
     {.plugin_managed_cap = 8, .plugin_managed_free = 7},
     {.plugin_managed_cap = 4, .plugin_managed_free = 3}},
};

static int64_t score(const struct strategy *s, const struct node_side *n)
{
    struct device_state before[4], after[4];

    for (size_t i = 0; i < n->device_n; i++) {
        after[i] = before[i] = device(n->before[i].milli, n->before[i].mem_mib);
        if ((n->taken >> i & 1) != 0) {
            device_take(&after[i], &(struct charge){n->milli, 1, n->mem_mib, n->whole});
        }
    }
    return s->node_score(NULL, &(struct strategy_node){.before = before,
                                                       .after = after,
                                                       .device_n = n->device_n,
                                                       .plugin_managed_cap = n->plugin_managed_cap,
                                                       .plugin_managed_free = n->plugin_managed_free});
}

static void node_order__rows__as_expected(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(node_rows); i++) {
        const struct node_row *row = &node_rows[i];
        const struct strategy *s = strategy_find(str_of(row->strategy));

        if (score(s, &row->better) <= score(s, &row->worse)) {
            fail_msg("%s: %s", row->strategy, row->name);
        }
    }
}

/* Scores of the largest node with the largest numbers stay numbers. */
static void all__extreme_devices__no_overflow(void **state)
{
    static struct device_state before[DEVICES_PER_NODE_MAX], after[DEVICES_PER_NODE_MAX];
    struct gpu_request gpu_request = {.count = 1, .kind = GPU_REQUEST_MILLI, .milli = 1, .phases = 1};
    const struct demand demand = {.gpu_request_n = 1, .gpu_requests = &gpu_request, .host = {INT32_MAX, INT32_MAX}};
    const struct node_state node = {.host = {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX}};

    for (size_t i = 0; i < DEVICES_PER_NODE_MAX; i++) {
        before[i] = (struct device_state){.mem_free_mib = i % 2 != 0 ? INT32_MAX : INT32_MIN,
                                          .mem_cap_mib = INT32_MAX,
                                          .mem_base_mib = INT32_MAX,
                                          .milli_free = i % 3 != 0 ? INT32_MAX : INT32_MIN,
                                          .milli_cap = i % 5 != 0 ? INT32_MAX : 1000,
                                          .slot_free = INT16_MAX,
                                          .slot_cap = INT16_MAX,
                                          .flags = DEVICE_HEALTHY};
        after[i] = before[i];
        device_take(&after[i], &(struct charge){1, 1, 1, false});
    }
    for (size_t i = 0; strategies[i] != NULL; i++) {
        for (size_t k = 0; k < DEVICES_PER_NODE_MAX; k++) {
            (void)strategies[i]->device_cost(&before[k], &(struct charge){1, 1, 1, false});
        }
        (void)strategies[i]->node_score(NULL, &(struct strategy_node){.demand = &demand,
                                                                      .node = &node,
                                                                      .before = before,
                                                                      .after = after,
                                                                      .device_n = DEVICES_PER_NODE_MAX,
                                                                      .plugin_managed_cap = INT32_MAX,
                                                                      .plugin_managed_free = INT32_MIN});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all__placements__never_overcommit),
        cmocka_unit_test(all__same_question__same_answer),
        cmocka_unit_test(all__more_free__still_fits),
        cmocka_unit_test(all__order_of_equal_devices__does_not_matter),
        cmocka_unit_test(used_share__node_twice_the_size__scores_the_same),
        cmocka_unit_test(find__every_name_of_the_table__is_found),
        cmocka_unit_test(device_order__rows__as_expected),
        cmocka_unit_test(device_order__two_containers__follow_the_strategy),
        cmocka_unit_test(tight_fit__used_device_fits__no_empty_one_is_opened),
        cmocka_unit_test(node_order__rows__as_expected),
        cmocka_unit_test(all__extreme_devices__no_overflow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
