/* support/seeds.h - which seeds a test on random input runs: its own, or those of the environment.
 *
 *   FGPU_TEST_SEED=2092 FGPU_TEST_SEEDS=1 build/dev/test/unit/test_core_ledger_overcommit
 *
 * FGPU_TEST_SEED is the first seed, FGPU_TEST_SEEDS how many; each may stand alone. scripts/seeds runs many.
 */
#ifndef UNIT_SUPPORT_SEEDS_H
#define UNIT_SUPPORT_SEEDS_H

#include <stdint.h>

struct seeds {
    uint64_t first, end; /* [first, end) */
    unsigned n;
};

/* `first` and `n`: without the environment. A variable that is no number above 0 ends the program. */
struct seeds seeds_of_test(uint64_t first, unsigned n);

#endif
