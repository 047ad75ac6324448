#include "sim/replay_internal.h"

#include "base/bug.h"

void replay_run(const struct replay_job *job, struct replay_result *ret)
{
    switch (job->mode) {
    case REPLAY_FILL:
        replay_fill(job, ret);
        return;
    case REPLAY_STEADY:
        replay_steady(job, ret);
        return;
    }
    BUG("unknown mode");
}
