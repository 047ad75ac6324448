/* The ledger under a cluster whose every step the input decides: objects that change, watches that
 * lag, repeat themselves and drop, lists, Bindings whose replies come late or never
 * (test/unit/core/support/simulation.h). The invariants after every op; now and then a quiet point,
 * where the ledger must equal one that lists everything afresh, and the brute-force oracle. */
#include "support/input_rng.h"

#include "core/support/simulation_checks.h"

#include <stdlib.h>

#define STEPS_MAX 200

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct simulation *s;

    setenv("CMOCKA_TEST_ABORT", "1", 1); /* its checks fail through cmocka */
    input_rng_use(&in);
    s = simulation_new(0);
    simulation_watch_charges(s);
    for (unsigned i = 1; i <= STEPS_MAX && in.n > 0; i++) {
        simulation_step(s);
        if (i % 64 == 0) {
            simulation_quiet(s, fuzz_bool(&in));
        }
    }
    simulation_quiet(s, true);
    simulation_free(s);
    return 0;
}
