/* base/hash.h - hashes with a key: hash_str for tables whose keys other people choose, hash_name for tables that
 * others only look up in.
 *
 * The key is an argument: production draws it at random once per process, simulations fix it.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/str.h"

#include <stdint.h>
#include <string.h>

struct hash_key {
    uint64_t k0, k1;
};

/* SipHash-1-3. Source: Aumasson, Bernstein, "SipHash: a fast short-input PRF" (2012); 1-3 rounds as in common
 * hash tables. */
uint64_t hash_str(struct hash_key key, struct str s);

static inline uint64_t hash_fold(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hash_load(const char *p)
{
    uint64_t w;

    memcpy(&w, p, sizeof(w));
    return w;
}

/* Many times faster for short text, and inlined: products of 64 x 64 bits, folded. Not a cryptographic function:
 * whoever sees hashes could build collisions, so it serves tables that a stranger cannot put entries into. The
 * numbers differ between machines of different byte order. */
static inline uint64_t hash_name(struct hash_key key, struct str s)
{
    /* Odd words without pattern, from the digits of pi: they keep a factor from being zero. */
    uint64_t h = key.k0 ^ 0x243f6a8885a308d3U, a = 0, b = 0;
    const char *p = s.p;
    size_t left = s.n;

    for (; left > 16; p += 16, left -= 16) {
        h = hash_fold(hash_load(p) ^ h, hash_load(p + 8) ^ key.k1);
    }
    if (left >= 8) { /* the two words overlap; the length tells such texts apart */
        a = hash_load(p);
        b = hash_load(p + left - 8);
    } else if (left > 0) {
        memcpy(&a, p, left);
    }
    return hash_fold(hash_fold(a ^ h, b ^ key.k1), 0x13198a2e03707345U ^ s.n);
}

/* 64-bit FNV-1a, without a key and the same on all machines and in all versions: for numbers that are compared with
 * those of others, or are in names. Goes on from `h`, which begins as the basis. Source: Fowler, Noll, Vo.
 */
#define HASH_FNV1A_BASIS UINT64_C(0xcbf29ce484222325)

static inline uint64_t hash_fnv1a(uint64_t h, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        h = (h ^ (uint8_t)s.p[i]) * UINT64_C(0x100000001b3);
    }
    return h;
}

#endif
