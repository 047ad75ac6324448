/* Random clusters, random faults: what must hold after every op, and at quiet points. */
#include "core/request/demand_histogram.h"
#include "core/support/simulation_checks.h"
#include "support/cmocka.h"
#include "support/seeds.h"

#include <stdlib.h>

#define SEEDS 600 /* others: support/seeds.h */
#define STEPS 300

static void random__faulty_watches_and_bindings__invariants_hold_and_quiet_state_is_that_of_the_facts(void **state)
{
    const struct seeds seeds = seeds_of_test(1, SEEDS);
    unsigned reserved = 0, bound = 0;

    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct simulation *s = simulation_new(seed);

        simulation_watch_charges(s);
        for (unsigned i = 1; i <= STEPS; i++) {
            simulation_step(s);
            if (i % 60 == 0) {
                simulation_quiet(s, cluster_model_chance(&s->w, 50));
            }
        }
        reserved += s->reserved_n;
        bound += s->bound_n;
        simulation_free(s);
    }
    /* The clusters are not idle: on average that many Bindings each. */
    assert_true(seeds.n < SEEDS || reserved > 10 * seeds.n);
    assert_true(seeds.n < SEEDS || bound > 7 * seeds.n);
}

static void random__any_prefix_of_the_facts_twice__changes_nothing(void **state)
{
    const struct seeds seeds = seeds_of_test(1001, SEEDS / 2);

    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct simulation *s = simulation_new(seed);
        struct ledger *once = ledger_new(&s->limits), *twice = ledger_new(&s->limits);
        size_t prefix;

        for (unsigned i = 0; i < STEPS; i++) {
            simulation_step(s);
        }
        simulation_settle(s, true);
        s->action = "replay";
        prefix = cluster_model_below(&s->w, (unsigned)s->journal_n);
        simulation_replay(s, once, 0, s->journal_n);
        simulation_same_state(s, s->l, once, true);
        simulation_replay(s, twice, 0, prefix);
        simulation_replay(s, twice, 0, prefix);
        simulation_replay(s, twice, prefix, s->journal_n);
        simulation_same_state(s, once, twice, true);
        ledger_free(once);
        ledger_free(twice);
        simulation_free(s);
    }
}

/* Every fact told twice at once counts once. */
static void random__every_fact_twice__same_demand_histogram(void **state)
{
    const struct seeds seeds = seeds_of_test(2001, SEEDS / 4);

    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct simulation *s = simulation_new(seed);
        struct ledger *once = ledger_new(&s->limits), *twice = ledger_new(&s->limits);

        for (unsigned i = 0; i < STEPS; i++) {
            simulation_step(s);
        }
        simulation_settle(s, true);
        s->action = "replay";
        simulation_replay(s, once, 0, s->journal_n);
        for (size_t i = 0; i < s->journal_n; i++) {
            simulation_replay(s, twice, i, i + 1);
            simulation_replay(s, twice, i, i + 1);
        }
        assert_true(demand_histogram_arrived_n(ledger_demand_histogram(once)) > 0);
        assert_int_equal(demand_histogram_arrived_n(ledger_demand_histogram(twice)),
                         demand_histogram_arrived_n(ledger_demand_histogram(once)));
        assert_int_equal(demand_histogram_departed_n(ledger_demand_histogram(twice)),
                         demand_histogram_departed_n(ledger_demand_histogram(once)));
        assert_int_equal(demand_histogram_version(ledger_demand_histogram(twice)),
                         demand_histogram_version(ledger_demand_histogram(once)));
        ledger_free(once);
        ledger_free(twice);
        simulation_free(s);
    }
}

static void random__same_seed__same_run(void **state)
{
    struct simulation *a = simulation_new(77), *b = simulation_new(77);

    for (unsigned i = 0; i < STEPS; i++) {
        simulation_step(a);
        simulation_step(b);
        assert_int_equal(ledger_generation(a->l), ledger_generation(b->l));
    }
    assert_int_equal(a->journal_n, b->journal_n);
    simulation_free(a);
    simulation_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random__faulty_watches_and_bindings__invariants_hold_and_quiet_state_is_that_of_the_facts),
        cmocka_unit_test(random__any_prefix_of_the_facts_twice__changes_nothing),
        cmocka_unit_test(random__every_fact_twice__same_demand_histogram),
        cmocka_unit_test(random__same_seed__same_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
