/* The same pod again and again on one node: against a closed form where there is one, and the oracle at the end. */
#include "core/placement/repeat.h"

#include "core/report/capacity.h"
#include "core/support/oracle.h"
#include "core/support/random_demand.h"
#include "support/cmocka.h"

#include <string.h>

#define CASES 6000
#define SEED 11

static const struct holding no_limit = {INT64_MAX, INT64_MAX};

/* On copies of the node's numbers, which stay in `after`. */
static uint64_t repeat(const struct random_case *c, const struct strategy *s, uint64_t max,
                       struct device_state after[RANDOM_DEVICES_MAX], enum verdict *ret_next)
{
    struct repeat r = {
        .demand = &c->demand, .allowed_models = c->allowed_models, .residual = no_limit, .work_left = UINT64_MAX};
    struct node_state node = c->node;

    memcpy(after, c->devices, c->node.device_n * sizeof(*after));
    return repeat_on(&r, &node, after, s, max, ret_next);
}

/* Which GPU each pod gets makes no difference to how many there are: what the header promises. */
static void repeat_on__one_gpu_each__as_many_by_every_strategy_as_the_closed_form_says(void **state)
{
    static struct random_case c;
    struct device_state after[RANDOM_DEVICES_MAX];
    struct rng rng;
    int several = 0;

    rng_init(&rng, SEED);
    for (int k = 0; k < CASES; k++) {
        uint64_t n;

        random_case_draw(&rng, 1, RANDOM_DEVICES_MAX, &c);
        if (k % 2 == 0) {
            random_case_cut(&rng, &c);
        }
        c.demand.model_n = c.demand.uuid_n = 0;
        c.allowed_models = NULL;
        c.demand.gpu_requests = c.gpu_requests;
        c.gpu_requests[0].count = 1;
        n = capacity_node(&c.node, c.devices, &c.demand);
        for (size_t s = 0; s < strategy_count(); s++) {
            enum verdict next;
            uint64_t placed = repeat(&c, strategies[s], UINT64_MAX, after, &next);

            if (placed != n || next == VERDICT_FITS) {
                FAIL_CASE(k, &c, "%s: %d pods, then %s; there is room for %d", strategies[s]->name, (int)placed,
                          verdict_name(next), (int)n);
            }
        }
        several += n > 2;
    }
    assert_true(several > 100);
}

static void repeat_on__any_pod__the_oracle_finds_no_place_for_one_more(void **state)
{
    static struct random_case c;
    struct device_state after[RANDOM_DEVICES_MAX], before[RANDOM_DEVICES_MAX];
    struct rng rng;
    int several = 0;

    rng_init(&rng, SEED);
    for (int k = 0; k < CASES; k++) {
        const struct strategy *s;
        enum verdict next;
        uint64_t placed;

        random_case_draw(&rng, 4, 6, &c);
        s = strategies[(size_t)k % strategy_count()];
        placed = repeat(&c, s, UINT64_MAX, after, &next);
        if (next == VERDICT_FITS || (c.node.plugin_managed_used == 0 &&
                                     oracle_places(after, c.node.device_n, c.allowed_models, &c.demand, NULL))) {
            FAIL_CASE(k, &c, "%s stops after %d with %s, and there is a place", s->name, (int)placed,
                      verdict_name(next));
        }
        if (placed > 0) {
            (void)repeat(&c, s, placed - 1, before, &next);
            if (next != VERDICT_FITS && placed > 1) {
                FAIL_CASE(k, &c, "%s: the last of %d is not the last", s->name, (int)placed);
            }
            assert_true(oracle_places(before, c.node.device_n, c.allowed_models, &c.demand, NULL));
        }
        several += placed > 1 && c.demand.gpu_request_n > 1;
    }
    assert_true(several > 50);
}

/* ---- bounds ---- */

static struct gpu_request share = {
    .container = {"main", 4}, .count = 1, .kind = GPU_REQUEST_MILLI, .milli = 100, .phases = 1};

static struct node_state node_of_two(struct device_state devices[2])
{
    for (int i = 0; i < 2; i++) {
        devices[i] = (struct device_state){.mem_free_mib = 10000,
                                           .mem_cap_mib = 10000,
                                           .mem_base_mib = 10000,
                                           .milli_free = 1000,
                                           .milli_cap = 1000,
                                           .slot_free = 64,
                                           .slot_cap = 64,
                                           .flags = DEVICE_HEALTHY};
    }
    return (struct node_state){.device_n = 2, .flags = NODE_DESCRIBED};
}

static uint64_t on_two_gpus(struct repeat *r, uint64_t max, enum verdict *ret_next)
{
    struct device_state devices[2];
    struct node_state node = node_of_two(devices);

    return repeat_on(r, &node, devices, strategies[0], max, ret_next);
}

static void repeat_on__bounds__stop_it_and_say_so(void **state)
{
    const struct demand d = {.dialect = "native", .gpu_requests = &share, .gpu_request_n = 1};
    static const struct {
        struct holding residual;
        uint64_t work, max, placed, work_left;
        enum verdict next;
    } rows[] = {
        {{INT64_MAX, INT64_MAX}, 1000, 1000, 20, 1000 - 21, VERDICT_NO_COMPUTE},
        {{INT64_MAX, INT64_MAX}, 1000, 7, 7, 1000 - 7, VERDICT_FITS},
        {{INT64_MAX, INT64_MAX}, 7, 1000, 7, 0, VERDICT_FITS},
        {{350, INT64_MAX}, 1000, 1000, 3, 1000 - 4, VERDICT_TENANT_LIMIT},
        {{INT64_MAX, 2500}, 1000, 1000, 2, 1000 - 3, VERDICT_TENANT_LIMIT},
        {{-5, INT64_MAX}, 1000, 1000, 0, 999, VERDICT_TENANT_LIMIT},
        {{INT64_MAX, INT64_MAX}, 1000, 0, 0, 1000, VERDICT_FITS},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct repeat r = {.demand = &d, .residual = rows[i].residual, .work_left = rows[i].work};
        enum verdict next;

        assert_int_equal(on_two_gpus(&r, rows[i].max, &next), rows[i].placed);
        assert_int_equal(next, rows[i].next);
        assert_int_equal(r.work_left, rows[i].work_left);
    }
}

static void repeat_on__several_requests__cost_a_search_each(void **state)
{
    const struct gpu_request both[] = {share, share};
    const struct demand d = {.dialect = "native", .gpu_requests = both, .gpu_request_n = 2};
    struct repeat r = {.demand = &d, .residual = no_limit, .work_left = 3 * REPEAT_SEARCH_WORK - 1};
    enum verdict next;

    assert_int_equal(on_two_gpus(&r, 1000, &next), 2);
    assert_int_equal(next, VERDICT_FITS);
    assert_int_equal(r.work_left, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeat_on__one_gpu_each__as_many_by_every_strategy_as_the_closed_form_says),
        cmocka_unit_test(repeat_on__any_pod__the_oracle_finds_no_place_for_one_more),
        cmocka_unit_test(repeat_on__bounds__stop_it_and_say_so),
        cmocka_unit_test(repeat_on__several_requests__cost_a_search_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
