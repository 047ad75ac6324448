/* bench/support/samples.h - times of one thing done many times, and how long it held locks. */
#ifndef BENCH_SAMPLES_H
#define BENCH_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

/* CPU time of this thread: what others do on the machine is not counted, though it is felt in the caches. */
int64_t samples_now_ns(void);

/* Programs that are linked with --wrap=pthread_mutex_lock and --wrap=pthread_mutex_unlock: the longest that this thread
 * held a lock, in its CPU time, since the last call. */
int64_t samples_longest_hold_ns(void);

struct samples {
    int64_t *took_ns;
    size_t n, cap;
    int64_t hold_ns; /* longest */
};

void samples_init(struct samples *s, size_t cap);
void samples_fini(struct samples *s);
void samples_add(struct samples *s, int64_t took_ns);
/* At least one; 0 <= share <= 1. Sorts them. */
int64_t samples_at(struct samples *s, double share);

#endif
