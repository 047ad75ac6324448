/* cmd_demo/performance.h - what happens on the stage of `fgpu demo`: the player places pods, the picture shows it, a
 * scenario runner tells, and in the end it is said whether all of it held. */
#ifndef CMD_DEMO_PERFORMANCE_H
#define CMD_DEMO_PERFORMANCE_H

#include "base/clock.h"
#include "cmd_demo/stage.h"

#include <stdatomic.h>

struct apiserver;
struct runtime;

/* Borrowed and started; the URLs are filled in here. */
struct stage {
    const struct demo_options *o;
    struct apiserver *api;
    struct runtime *runtime;
    struct clock_shifted *clock;
    atomic_bool *stop; /* set from outside, or at the end of a scenario: the end of all */
    char verbs_url[64], ops_url[64];
    bool in_browser; /* ops_url was opened in one */
};

/* Until its end or `stop`. The exit code, as demo_run() says. */
int performance_run(struct stage *g);

#endif
