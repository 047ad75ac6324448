/* cmd/sim_options.h - the command line of `fgpu sim`. */
#ifndef CMD_SIM_OPTIONS_H
#define CMD_SIM_OPTIONS_H

#include "sim/jobs.h"

#define SIM_STRATEGIES_MAX 32
#define SIM_ARRIVALS_MAX 1024
#define SIM_SEEDS_MAX 1024
#define SIM_JOBS_MAX 1024

/* Text belongs to argv. */
struct sim_options {
    const char *nodes, *pods, *state;
    const char *arrivals[SIM_ARRIVALS_MAX];
    size_t arrivals_n;
    const struct strategy *strategies[SIM_STRATEGIES_MAX];
    size_t strategy_n;
    enum replay_mode mode;
    enum testbed_mix mix;
    uint64_t seeds[SIM_SEEDS_MAX];
    size_t seed_n;
    double load;
    int64_t warm_up_ms;
    const char *placements; /* file that says where each pod went; NULL: nobody asks */
    const char *scores;     /* file of all scores of the one replay; NULL: nobody asks */
    unsigned job_n;         /* replays at once; 0: one for each core */
    bool json;
    bool curves; /* in the JSON */
};

/* EXIT_OK, or the exit code, with the reason on stderr; -1: help was printed. What was accepted is complete. */
int sim_options_read(int argc, char **argv, struct sim_options *o);

/* EXIT_OK, or EXIT_USAGE with the reason on stderr: a file that would be written is one that is read, by whatever name,
 * or is written twice. */
int sim_outputs_check(const struct sim_options *o);

#endif
