/* core/report/history.h - how a few numbers of the cluster went, over time: readings in, a bounded number of samples
 * out.
 *
 * A sample is the mean of the readings of one interval. It begins at one second; when all samples are taken, neighbours
 * become one and the interval doubles. So a process that is a minute old has a curve, and one that is a day old has
 * the day. At HISTORY_INTERVAL_MAX_S the oldest sample leaves instead: a day and an hour and a half are kept.
 * An interval without a reading has no sample; times say so.
 *
 * Pure: time is an argument. About 46 KiB, whatever happens. No lock: the owner serialises.
 */
#ifndef CORE_REPORT_HISTORY_H
#define CORE_REPORT_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HISTORY_SAMPLES_MAX 720
#define HISTORY_INTERVAL_MAX_S 128 /* a power of two */
/* Readings are at least so near to each other, however long an interval is. */
#define HISTORY_READING_MAX_S 8

enum history_value {
    HISTORY_COMPUTE_PERMILLE, /* charged, of what there is */
    HISTORY_MEMORY_PERMILLE,
    HISTORY_FRAGMENTATION_PERMILLE, /* of what is idle */
    HISTORY_PENDING,                /* pods that wait */
    HISTORY_BOUND,                  /* pods with an accepted Binding */
    HISTORY_VALUE__MAX
};

struct history_sample {
    int64_t slot;    /* which interval, counted from the beginning of monotonic time */
    int64_t wall_ms; /* of its last reading */
    int64_t reading_n;
    int64_t sums[HISTORY_VALUE__MAX]; /* over its readings */
};

struct history {
    int64_t interval_s;
    int64_t read_ms; /* monotonic time of the last reading; -1: none yet */
    size_t n;
    struct history_sample samples[HISTORY_SAMPLES_MAX]; /* the oldest first; the last one may still grow */
};

void history_init(struct history *h);

/* Is it time for a reading? Times are monotonic and never go back. */
bool history_is_due(const struct history *h, int64_t now_ms);
/* Each value is at least 0. */
void history_add(struct history *h, int64_t now_ms, int64_t wall_ms, const int64_t values[HISTORY_VALUE__MAX]);

/* The mean of the readings, rounded to the nearest whole number. */
int64_t history_mean(const struct history_sample *s, enum history_value v);

#endif
