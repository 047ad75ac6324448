/* base/hash.c - SipHash-1-3. */
#include "base/hash.h"

#include "load_internal.h"

#include <string.h>

struct sip {
    uint64_t v0, v1, v2, v3;
};

static inline uint64_t rotl(uint64_t x, unsigned b)
{
    return (x << b) | (x >> (64 - b));
}

static inline void sip_round(struct sip *s)
{
    s->v0 += s->v1;
    s->v1 = rotl(s->v1, 13) ^ s->v0;
    s->v0 = rotl(s->v0, 32);
    s->v2 += s->v3;
    s->v3 = rotl(s->v3, 16) ^ s->v2;
    s->v0 += s->v3;
    s->v3 = rotl(s->v3, 21) ^ s->v0;
    s->v2 += s->v1;
    s->v1 = rotl(s->v1, 17) ^ s->v2;
    s->v2 = rotl(s->v2, 32);
}

static inline void sip_word(struct sip *s, uint64_t w)
{
    s->v3 ^= w;
    sip_round(s);
    s->v0 ^= w;
}

uint64_t hash_str(struct hash_key key, struct str s)
{
    /* The constants spell "somepseudorandomlygeneratedbytes". */
    struct sip sip = {
        .v0 = key.k0 ^ 0x736f6d6570736575U,
        .v1 = key.k1 ^ 0x646f72616e646f6dU,
        .v2 = key.k0 ^ 0x6c7967656e657261U,
        .v3 = key.k1 ^ 0x7465646279746573U,
    };
    const char *p = s.p;
    size_t left = s.n;
    for (; left >= 8; p += 8, left -= 8) {
        sip_word(&sip, load_le64(p));
    }
    sip_word(&sip, load_le_tail(p, left) | (uint64_t)s.n << 56);
    sip.v2 ^= 0xff;
    sip_round(&sip);
    sip_round(&sip);
    sip_round(&sip);
    return sip.v0 ^ sip.v1 ^ sip.v2 ^ sip.v3;
}
