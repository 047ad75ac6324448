#include "demo/scheduler/latency.h"

#include "base/bug.h"

/* Values below 16 have a bucket each; above, the top five bits choose one. */
static uint32_t bucket_of(uint64_t us)
{
    if (us < 16) {
        return (uint32_t)us;
    }
    uint32_t shift = 59U - (uint32_t)__builtin_clzll(us); /* bits below the top five */
    uint32_t b = 16 + shift * 16 + (uint32_t)((us >> shift) & 15);
    return b < LATENCY_BUCKETS ? b : LATENCY_BUCKETS - 1;
}

static int64_t upper_bound(uint32_t b)
{
    if (b < 16) {
        return b;
    }
    uint32_t shift = (b - 16) / 16;
    return (int64_t)(((UINT64_C(16) + (b - 16) % 16 + 1) << shift) - 1);
}

void latency_add(struct latency *l, int64_t us)
{
    l->buckets[bucket_of(us > 0 ? (uint64_t)us : 0)]++;
    l->n++;
}

int64_t latency_quantile_us(const struct latency *l, uint32_t permille)
{
    BUG_ON(permille > 1000);
    uint64_t want = (l->n * permille + 999) / 1000, seen = 0;
    for (uint32_t b = 0; b < LATENCY_BUCKETS && l->n > 0; b++) {
        seen += l->buckets[b];
        if (seen >= want && seen > 0) {
            return upper_bound(b);
        }
    }
    return 0;
}
