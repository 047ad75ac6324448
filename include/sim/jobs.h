/* sim/jobs.h - replays on all cores. Each is independent of the others, so the results do not
 * depend on how many run at once. */
#ifndef SIM_JOBS_H
#define SIM_JOBS_H

#include "sim/replay.h"

struct jobs;

/* Runs replay_fill, or replay_steady, for each; `results` and everything in `all` is borrowed until
 * jobs_wait. worker_n 0: one for each core. */
struct jobs *jobs_start(struct replay_job *all, struct replay_result *results, size_t n, unsigned worker_n);
/* Waits up to timeout_ms; true when everything is done. */
bool jobs_wait(struct jobs *j, int timeout_ms);
/* How much is done, 0..100, and how many whole jobs. */
int jobs_progress(struct jobs *j, size_t *ret_done);
void jobs_free(struct jobs *j); /* waits */

#endif
