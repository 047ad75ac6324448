/* sim/replay.h - plays one order of arrivals, or a cluster in use, under one strategy, and what
 * comes of it.
 *
 * fill:   pods arrive one by one and never leave; one that fits nowhere is refused for good.
 * steady: pods of the trace arrive at random (Poisson) and live for a random time (exponential,
 * mean 1), at a given load: offered GPU demand as a share of capacity. Three life times to warm up,
 * six measured.
 * timed:  pods arrive and end at the times of a table (arrivals_read_stays); after the warm-up it is measured to the
 * last arrival.
 *
 * Percentages are of the cluster's GPU capacity unless said otherwise. "Arrived" counts refused
 * pods, too.
 */
#ifndef SIM_REPLAY_H
#define SIM_REPLAY_H

#include "sim/testbed.h"
#include "sim/trace.h"

#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#define REPLAY_PCT_MAX 200 /* the curve ends here */

struct replay_count {
    uint64_t arrived_n, refused_n;
    int64_t arrived_milli, refused_milli;
};

#define REPLAY_NEVER ((double)NAN)

/* REPLAY_NEVER stands for what did not happen. */
struct replay_result {
    double a100, a130;        /* fill: allocation %, mean of the records whose arrived %, rounded, is 100 or 130 */
    double allocation_pct;    /* fill: at the end; steady, timed: mean over the measured time */
    double first_refusal_pct; /* fill: arrived % at the first refusal */
    double refused_1pp_pct;   /* fill: arrived % when 1 % of capacity had been refused */
    double refused_pct;       /* of the GPU demand that arrived; steady, timed: while measured */
    struct replay_count classes[TRACE_CLASS__MAX]; /* steady, timed: in the measured time */
    uint64_t decision_n;
    double ns_per_decision; /* CPU time, ledger and remembered scores included */
    /* fill, at [arrived %, rounded]; REPLAY_NEVER: no record */
    double curve[REPLAY_PCT_MAX + 1];         /* allocation %, mean */
    double fragmentation[REPLAY_PCT_MAX + 1]; /* of what is idle (core/forecast/fragmentation.h), at the
                                                 first record; if the job asks for it */
};

enum replay_mode { REPLAY_FILL, REPLAY_STEADY, REPLAY_TIMED };

struct replay_job {
    enum replay_mode mode;
    const struct trace *trace;
    const struct strategy *strategy;
    const struct arrivals *arrivals;
    enum testbed_mix mix;
    bool fragmentation;           /* wanted: costs as much as some decisions */
    double load;                  /* steady: offered GPU demand as a share of capacity, above 0 */
    int64_t warm_up_ms;           /* timed: what comes before is not measured */
    struct testbed_place *places; /* timed: NULL, or where each arrival went, room for all */
    FILE *scores;                 /* NULL, or where the scores of all decisions go (sim/scores.h) */
    atomic_int *progress_pct;     /* of this job; NULL: nobody looks */
};

void replay_job_run(const struct replay_job *job, struct replay_result *ret);

#endif
