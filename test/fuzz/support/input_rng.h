/* support/input_rng.h - the random generators of test/unit/core/support, driven by an input instead
 * of a seed.
 *
 * Targets that use it are linked with --wrap=rng_below: every draw of the generators (and of
 * nothing else, for the pure core draws nothing) eats bytes of the input, so that mutation of the
 * input is mutation of the case.
 */
#ifndef FUZZ_SUPPORT_INPUT_RNG_H
#define FUZZ_SUPPORT_INPUT_RNG_H

#include "fuzz.h"

/* From now on draws come from `in`. When it is used up, every draw gives 0. */
void input_rng_use(struct fuzz_input *in);

#endif
