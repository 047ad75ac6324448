/* base/rng.c - xoshiro256**, seeded with splitmix64 as its authors advise. */
#include "base/rng.h"

#include "base/bug.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

void rng_init(struct rng *r, uint64_t seed)
{
    for (size_t i = 0; i < 4; i++) {
        r->s[i] = splitmix64(&seed);
    }
}

static uint64_t rotl(uint64_t x, unsigned k)
{
    return (x << k) | (x >> (64 - k));
}

uint64_t rng_u64(struct rng *r)
{
    uint64_t result = rotl(r->s[1] * 5, 7) * 9;
    uint64_t t = r->s[1] << 17;
    r->s[2] ^= r->s[0];
    r->s[3] ^= r->s[1];
    r->s[1] ^= r->s[2];
    r->s[0] ^= r->s[3];
    r->s[2] ^= t;
    r->s[3] = rotl(r->s[3], 45);
    return result;
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
    BUG_ON(n == 0);
    /* The high half of u64 * n is in range; some results would come up once too often, those whose low
     * half is below 2^64 mod n, and are drawn again. */
    uint64_t reject_below = (0 - n) % n;
    for (;;) {
        unsigned __int128 product = (unsigned __int128)rng_u64(r) * n;
        if ((uint64_t)product >= reject_below) {
            return (uint64_t)(product >> 64);
        }
    }
}

int rng_os_bytes(void *p, size_t n, struct err *reterr)
{
    unsigned char *to = p;
    while (n > 0) {
        ssize_t got = getrandom(to, n, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return err_set(reterr, ERR_INTERNAL, "no random bytes from the kernel: %s", strerror(errno));
        }
        to += got;
        n -= (size_t)got;
    }
    return 0;
}
