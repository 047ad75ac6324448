/* sim/replay_internal.h - what both kinds of replay do. */
#ifndef SIM_REPLAY_INTERNAL_H
#define SIM_REPLAY_INTERNAL_H

#include "base/clock.h"
#include "sim/replay.h"

#include <time.h>

/* CPU time of this thread: replays run beside each other. */
static inline int64_t replay_cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static inline void replay_count(struct replay_count *c, const struct trace_pod *p, bool placed)
{
    c->arrived_n++;
    c->arrived_milli += p->gpu_milli;
    c->refused_n += !placed;
    c->refused_milli += placed ? 0 : p->gpu_milli;
}

static inline void replay_progress(const struct replay_job *job, size_t done, size_t of)
{
    if (job->progress_pct != NULL && done % 256 == 0 && done < of) {
        atomic_store_explicit(job->progress_pct, (int)(done * 100 / of), memory_order_relaxed);
    }
}

void replay_fill(const struct replay_job *job, struct replay_result *ret);
void replay_steady(const struct replay_job *job, struct replay_result *ret);
void replay_timed(const struct replay_job *job, struct replay_result *ret);
/* Of the demand that arrived, in percent. */
double replay_refused_pct(const struct replay_count classes[TRACE_CLASS__MAX]);

#endif
