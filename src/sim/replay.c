#include "sim/replay_internal.h"

void replay_run(const struct replay_job *job, struct replay_result *ret)
{
    replay_fill(job, ret);
}
