/* sim/placements.h - where each pod of timed replays went, for who judges a replay from outside.
 *
 * A table with the columns strategy, arrivals (the file), arrival (its line there, from 0), node (its row in the file
 * of nodes, from 0; empty: refused) and devices (their places in trace_devices(), joined by "|"; empty: none).
 */
#ifndef SIM_PLACEMENTS_H
#define SIM_PLACEMENTS_H

#include "sim/replay.h"

/* `jobs` have run, with places. A file of this name is replaced. */
WARN_UNUSED int placements_write(const char *path, const struct replay_job *jobs, size_t job_n, struct err *reterr);

#endif
