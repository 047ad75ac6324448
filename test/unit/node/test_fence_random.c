/* The fence under containers that come and go in any order: node/support/fence_model.h says what must hold. */
#include "node/support/fence_model.h"
#include "support/cmocka.h"

#define RUNS 60
#define STEPS 500

static void fence__whatever_comes_and_goes__never_past_the_capacity_and_never_full_for_nothing(void **state)
{
    struct fence_model_counts all = {0};

    for (uint64_t seed = 0; seed < RUNS; seed++) {
        struct fence_model *m = fence_model_new(seed);
        struct fence_model_counts c;

        for (int i = 0; i < STEPS; i++) {
            fence_model_step(m);
        }
        c = fence_model_counts(m);
        all.admitted += c.admitted;
        all.refused += c.refused;
        all.restarted += c.restarted;
        all.told_late += c.told_late;
        all.shared += c.shared;
        fence_model_free(m);
    }
    /* A model in which nothing happens proves nothing. */
    assert_true(all.admitted > RUNS * STEPS / 20);
    assert_true(all.refused > RUNS * STEPS / 20);
    assert_true(all.restarted > RUNS);
    assert_true(all.told_late > RUNS);
    assert_true(all.shared > RUNS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fence__whatever_comes_and_goes__never_past_the_capacity_and_never_full_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
