#include "backoff_internal.h"

#include "base/clock.h"

enum { FIRST_MS = 800, CAP_MS = 30 * 1000 };
#define FORGET_NS (120 * NS_PER_S)

void backoff_init(struct backoff *b)
{
    b->delay_ms = FIRST_MS;
    b->last_ns = INT64_MIN;
}

int64_t backoff_next_ms(struct backoff *b, int64_t now_ns, struct rng *rng)
{
    if (b->last_ns != INT64_MIN && now_ns - b->last_ns > FORGET_NS) {
        b->delay_ms = FIRST_MS;
    }
    int64_t delay_ms = b->delay_ms + (int64_t)rng_below(rng, (uint64_t)b->delay_ms + 1);
    b->delay_ms = b->delay_ms * 2 > CAP_MS ? CAP_MS : b->delay_ms * 2;
    b->last_ns = now_ns + delay_ms * NS_PER_MS;
    return delay_ms;
}
