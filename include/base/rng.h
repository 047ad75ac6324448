/* base/rng.h - a small seeded generator (xoshiro256**, Blackman and Vigna 2018). Not for secrets.
 *
 * Randomness is an argument: who needs it takes a `struct rng *`, and the same seed gives the same run.
 */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include "base/compiler.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct rng {
    uint64_t s[4];
};

void rng_init(struct rng *r, uint64_t seed); /* any seed is fine */
uint64_t rng_u64(struct rng *r);
uint64_t rng_below(struct rng *r, uint64_t n); /* 0..n-1, unbiased; n > 0 */

/* n bytes from the operating system, for hash keys and ids. */
WARN_UNUSED int rng_os_bytes(void *p, size_t n, struct err *reterr);

#endif
