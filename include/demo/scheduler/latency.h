/* demo/scheduler/latency.h - how long calls took: counts per bucket, quantiles within 1/16 of the value.
 *
 * Microseconds. Not thread-safe; copyable.
 */
#ifndef DEMO_SCHEDULER_LATENCY_H
#define DEMO_SCHEDULER_LATENCY_H

#include <stdint.h>

#define LATENCY_BUCKETS 448 /* 16 per power of two, up to 2^31 us */

struct latency { /* all zero: empty */
    uint64_t n;
    uint64_t buckets[LATENCY_BUCKETS];
};

void latency_add(struct latency *l, int64_t us); /* negative counts as 0 */
/* The smallest bucket bound that `permille` of the values do not exceed; 0 when empty. */
int64_t latency_quantile_us(const struct latency *l, uint32_t permille);

#endif
