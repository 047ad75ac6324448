/* kube/backoff_internal.h - how long to wait after a failure (contract.md 5.3, as client-go does
 * it). */
#ifndef KUBE_BACKOFF_INTERNAL_H
#define KUBE_BACKOFF_INTERNAL_H

#include "base/rng.h"

#include <stdint.h>

struct backoff {
    int64_t delay_ms; /* of the next failure, before jitter */
    int64_t last_ns;  /* when the last failure was over */
};

void backoff_init(struct backoff *b);
/* Milliseconds to wait after a failure at `now_ns`. */
int64_t backoff_next_ms(struct backoff *b, int64_t now_ns, struct rng *rng);

#endif
