/* base/hash.h - SipHash-1-3 with a key, for tables whose keys other people choose.
 *
 * Source: Aumasson, Bernstein, "SipHash: a fast short-input PRF" (2012); 1-3 rounds as in common hash
 * tables. The key is an argument: production draws it at random once per process, simulations fix it.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/str.h"

#include <stdint.h>

struct hash_key {
    uint64_t k0, k1;
};

uint64_t hash_str(struct hash_key key, struct str s);

#endif
