/* What devices lack. The property, for a single GPU request: with the amounts that are named added, and nobody holding
 * those devices, the node takes the demand; with one unit less of any amount it does not. */
#include "base/rng.h"
#include "core/fit/feasibility.h"
#include "core/fit/shortfall.h"
#include "core/support/ledger_fixture.h"
#include "support/cmocka.h"

enum { GPUS_MAX = 6 };

struct scene {
    struct node_state node;
    struct device_state devices[GPUS_MAX];
    struct gpu_request w;
    struct demand d;
};

static bool fits(const struct scene *s)
{
    struct placement at;

    return feasibility_place(&s->node, s->devices, NULL, &s->d, strategy_find(STR("tight-fit")), &at) == VERDICT_FITS;
}

static int32_t steps(struct rng *r, int n)
{
    return 100 * (int32_t)rng_below(r, (uint64_t)n);
}

static void make(struct scene *s, struct rng *r)
{
    s->node = (struct node_state){.device_n = (uint16_t)(1 + rng_below(r, GPUS_MAX)), .flags = NODE_DESCRIBED};
    for (unsigned i = 0; i < s->node.device_n; i++) {
        int32_t cap = 1000 + 1000 * (int32_t)rng_below(r, 2);

        s->devices[i] = (struct device_state){.mem_cap_mib = cap,
                                              .mem_base_mib = cap,
                                              .mem_free_mib = cap - steps(r, 12),
                                              .milli_cap = 1000,
                                              .milli_free = 1000 - steps(r, 11),
                                              .slot_cap = 4,
                                              .slot_free = (int16_t)rng_below(r, 5),
                                              .flags = rng_below(r, 10) > 0 ? DEVICE_HEALTHY : 0};
        s->devices[i].flags |= s->devices[i].milli_free < 1000 ? DEVICE_IN_USE : 0;
        s->devices[i].flags |= rng_below(r, 10) == 0 ? DEVICE_EXCLUSIVE | DEVICE_IN_USE : 0;
    }
    s->d = rng_below(r, 4) == 0
               ? fixture_whole(&s->w, 1)
               : fixture_both(&s->w, 100 * (1 + (int32_t)rng_below(r, 10)), 100 * (1 + (int64_t)rng_below(r, 25)));
    s->w.count = (uint16_t)(1 + rng_below(r, 3));
}

static void give(struct scene *s, const struct shortfall_device *x, int sign)
{
    struct device_state *d = &s->devices[x->ordinal];

    d->milli_free += sign * x->milli;
    d->mem_free_mib += sign * (int32_t)x->mem_mib;
    d->mem_cap_mib += sign * (int32_t)x->too_small_mib;
    d->slot_free = (int16_t)(d->slot_free + sign * x->slots);
}

/* One unit less of an amount is too little. */
static void check_tight(struct scene *s, const struct shortfall_device *x)
{
    const struct shortfall_device less[] = {
        {.ordinal = x->ordinal, .milli = x->milli > 0},
        {.ordinal = x->ordinal, .slots = x->slots > 0},
        {.ordinal = x->ordinal, .mem_mib = x->mem_mib > 0},
    };

    for (size_t i = 0; i < 3; i++) {
        if (less[i].milli + less[i].slots + less[i].mem_mib > 0) {
            give(s, &less[i], -1);
            assert_false(fits(s));
            give(s, &less[i], 1);
        }
    }
}

static bool check_one(struct rng *r)
{
    struct scene s;
    struct shortfall lacks;

    make(&s, r);
    shortfall_of(&s.node, s.devices, NULL, &s.d, &lacks);
    if (fits(&s)) {
        assert_int_equal(lacks.missing_n, 0);
        return false;
    }
    assert_true(lacks.missing_n > 0);
    if (lacks.near_n < lacks.missing_n) {
        return false; /* no amount helps: too few devices could ever take it */
    }
    for (uint32_t i = 0; i < lacks.device_n; i++) {
        give(&s, &lacks.devices[i], 1);
        if (lacks.devices[i].held) {
            s.devices[lacks.devices[i].ordinal].flags = DEVICE_HEALTHY;
        }
    }
    assert_true(fits(&s));
    for (uint32_t i = 0; i < lacks.device_n; i++) {
        check_tight(&s, &lacks.devices[i]);
    }
    return true;
}

static void shortfall__random_nodes__exactly_what_is_missing(void **state)
{
    struct rng r;
    unsigned n = 0;

    (void)state;
    rng_init(&r, 16);
    for (int i = 0; i < 20000; i++) {
        n += check_one(&r);
    }
    assert_true(n > 2000);
}

static void shortfall__several_gpus__nearest_first(void **state)
{
    struct gpu_request w;
    struct scene s = {.node = {.device_n = 3, .flags = NODE_DESCRIBED}, .d = fixture_both(&w, 500, 800)};
    const int32_t free_mib[] = {100, 799, 400};
    struct shortfall lacks;

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        s.devices[i] = (struct device_state){.mem_cap_mib = 1000,
                                             .mem_base_mib = 1000,
                                             .mem_free_mib = free_mib[i],
                                             .milli_cap = 1000,
                                             .milli_free = 1000,
                                             .slot_cap = 16,
                                             .slot_free = 16,
                                             .flags = DEVICE_HEALTHY};
    }
    shortfall_of(&s.node, s.devices, NULL, &s.d, &lacks);
    assert_int_equal(lacks.missing_n, 1);
    assert_int_equal(lacks.devices[0].ordinal, 1);
    assert_int_equal(lacks.devices[0].mem_mib, 1);
    assert_int_equal(lacks.devices[0].milli, 0);
}

static void shortfall__gpu_too_small__says_by_how_much(void **state)
{
    struct gpu_request w;
    struct scene s = {.node = {.device_n = 1, .flags = NODE_DESCRIBED}, .d = fixture_both(&w, 500, 1500)};
    struct shortfall lacks;

    (void)state;
    s.devices[0] = (struct device_state){.mem_cap_mib = 1000,
                                         .mem_base_mib = 1000,
                                         .mem_free_mib = 600,
                                         .milli_cap = 1000,
                                         .milli_free = 1000,
                                         .slot_cap = 16,
                                         .slot_free = 16,
                                         .flags = DEVICE_HEALTHY};
    shortfall_of(&s.node, s.devices, NULL, &s.d, &lacks);
    assert_int_equal(lacks.devices[0].too_small_mib, 500);
    assert_int_equal(lacks.devices[0].mem_mib, 900);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shortfall__random_nodes__exactly_what_is_missing),
        cmocka_unit_test(shortfall__several_gpus__nearest_first),
        cmocka_unit_test(shortfall__gpu_too_small__says_by_how_much),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
