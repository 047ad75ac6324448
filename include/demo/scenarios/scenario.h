/* demo/scenarios/scenario.h - a scenario: a small cluster, its configuration, and scenes that claim something and
 * prove it.
 *
 * A scenario is data (src/demo/scenarios, a table in a file each; all.c lists them). It has the nodes of
 * one system as that system's users know them, the configuration file an admin would write (one of
 * config/examples, built into the binary), and a row of steps: what is said, what is done, and what
 * must come true. The scenario runner is a thread that takes the steps one after the other beside the
 * picture (demo/picture/picture.h); pods are scheduled by the player (demo/scheduler/player.h) through the real
 * verbs. What must come true is read from the API server's objects and from /state, and is waited
 * for; a step that does not come true ends the scenario.
 *
 * Notation of labels, annotations, limits and selectors: "key: value; key: value". Names of pods
 * may be patterns with '*'; a pattern must match something.
 */
#ifndef DEMO_SCENARIOS_SCENARIO_H
#define DEMO_SCENARIOS_SCENARIO_H

#include "base/compiler.h"
#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct apiserver;
struct clock_shifted;

struct scenario_node {
    const char *name;
    const char *labels, *annotations;
    const char *allocatable; /* beside cpu, memory and pods */
    const char *model;       /* of all its GPUs */
    int32_t gpu_n;
    int64_t mem_mib; /* of each */
    const char *mig; /* per GPU, ';' between: "3g.20gb@4 1g.5gb@0", "-" is not cut; NULL: none is */
    bool secret;     /* fgpu.io/gpus does not say it: labels and allocatable are all there is */
};

struct scenario_pod {
    const char *limits, *annotations, *labels, *selector;
    const char *namespace_; /* NULL: "scenario" */
};

enum scenario_act {
    SCENARIO_SAY,      /* text: what is shown from now on; begins a scene */
    SCENARIO_CREATE,   /* `n` pods as `pod` says: `a`, or a-1 to a-n */
    SCENARIO_DELETE,   /* `a` is gone at once */
    SCENARIO_CLOCK,    /* fgpu's clock shows `a` (RFC 3339) and goes on from there */
    SCENARIO_PATCH,    /* node `a` gets the merge patch `b` */
    SCENARIO_BOUND,    /* `a` have a node; `b`: this one */
    SCENARIO_REFUSED,  /* `a` are refused, with `b` in the reason */
    SCENARIO_TOGETHER, /* `a` have the same devices of the same node */
    SCENARIO_APART,    /* no device of one of `a` is one of another */
    SCENARIO_HOLDS,    /* `a` hold `n` devices, of each `milli` and `mem_mib` */
    SCENARIO_TOLD,     /* `a` are told `b` ("key: value"; "*" in the value) by an annotation */
    SCENARIO_EVENT,    /* an Event about `a` has `b` in its note; "" is about fgpu itself */
    SCENARIO_STATE,    /* the value at path `a` of /state is `b`, as JSON */
    SCENARIO_ACT__MAX
};

struct scenario_step {
    enum scenario_act act;
    const char *a, *b;
    int32_t n;
    int64_t milli, mem_mib;
    struct scenario_pod pod;
};

struct scenario {
    const char *name;
    const char *line;    /* what it shows, in one line */
    const char *example; /* file of config/examples */
    const char *clock;   /* what the clock shows at the start; NULL: the time it is */
    const struct scenario_node *nodes;
    size_t node_n;
    const struct scenario_step *steps;
    size_t step_n;
};

/* NULL when there is no such scenario (no such place). */
const struct scenario *scenario_find(const char *name);
const struct scenario *scenario_at(size_t i);

/* Lines of config/examples/<name>, without their ends; NULL after the last. NULL: no such file. */
const char *const *scenario_example(const char *name);

/* ERR_INVALID: the table is wrong. */
WARN_UNUSED int scenario_create_nodes(const struct scenario *s, struct apiserver *a, struct err *reterr);

struct scenario_runner_options {
    const struct scenario *scenario;
    struct apiserver *apiserver;
    const char *ops_url;         /* "http://127.0.0.1:9442" */
    struct clock_shifted *clock; /* that fgpu goes by */
    int64_t for_ms;              /* the steps are spread over so long; what must come true may take longer */
    int fd;                      /* where the course is told line by line; -1: nowhere */
    atomic_bool *stop;           /* set at the end of the scenario; set from outside it ends it */
};

struct scenario_runner;

WARN_UNUSED int scenario_runner_start(const struct scenario_runner_options *o, struct scenario_runner **ret,
                                      struct err *reterr);
/* Two lines for the picture: what is being told, and what has come true last. */
void scenario_runner_caption(void *teller, char *said, size_t said_size, char *held, size_t held_size);

struct scenario_result {
    bool finished;     /* every step was taken and came true */
    uint32_t scene_n;  /* begun */
    uint32_t claim_n;  /* came true */
    char failure[512]; /* "" when there is none */
};
/* Waits for its end. */
void scenario_runner_join(struct scenario_runner *t, struct scenario_result *ret);
void scenario_runner_free(struct scenario_runner *t); /* NULL is fine */

#endif
