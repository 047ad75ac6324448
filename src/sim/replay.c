#include "sim/replay_internal.h"

#include "base/bug.h"

double replay_refused_pct(const struct replay_count classes[TRACE_CLASS__MAX])
{
    int64_t arrived = 0, refused = 0;

    for (int c = 0; c < TRACE_CLASS__MAX; c++) {
        arrived += classes[c].arrived_milli;
        refused += classes[c].refused_milli;
    }
    return arrived > 0 ? 100.0 * (double)refused / (double)arrived : 0;
}

void replay_job_run(const struct replay_job *job, struct replay_result *ret)
{
    switch (job->mode) {
    case REPLAY_FILL:
        replay_fill(job, ret);
        return;
    case REPLAY_STEADY:
        replay_steady(job, ret);
        return;
    case REPLAY_TIMED:
        replay_timed(job, ret);
        return;
    }
    BUG("unknown mode");
}
