#include "backoff_internal.h"

enum { FIRST_MS = 800, CAP_MS = 30 * 1000 };
#define FORGET_NS (120 * INT64_C(1000000000))

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
    b->last_ns = now_ns + delay_ms * 1000000;
    return delay_ms;
}
