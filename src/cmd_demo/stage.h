/* cmd_demo/stage.h - what `fgpu demo` plays: a simulated API server, the real service against it, a
 * player in kube-scheduler's role and the picture, all in one process and over real HTTP.
 *
 * Without a scenario a workload comes and goes on like nodes, and an end is set by time. A scenario
 * (demo/scenarios/scenario.h) brings its nodes, its configuration and its hour along, and ends when all of it
 * was told.
 */
#ifndef CMD_DEMO_STAGE_H
#define CMD_DEMO_STAGE_H

#include "demo/scenarios/scenario.h"

#include <stdbool.h>
#include <stdint.h>

struct demo_options {
    int32_t nodes, gpus; /* without a scenario */
    int32_t for_s;       /* 0: a minute; without a scenario until demo_stop() if a browser was opened */
    bool no_browser;
    int32_t speed_milli; /* of the workload; a scenario is told so much faster */
    uint64_t seed;
    const struct scenario *scenario; /* NULL: none */
};

/* The exit code: EXIT_OK only if every invariant held and, of a scenario, everything it claims came
 * true. */
int demo_run(const struct demo_options *o);
/* Ends it; from any thread. */
void demo_stop(void);

#endif
