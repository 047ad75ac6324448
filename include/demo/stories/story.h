/* demo/stories/story.h - a story: a small cluster, its configuration, and scenes that claim something and
 * prove it.
 *
 * A story is data (src/demo/stories, a table in a file each; all.c lists them). It has the nodes of
 * one system as that system's users know them, the configuration file an admin would write (one of
 * config/examples, built into the binary), and a row of steps: what is said, what is done, and what
 * must come true. The storyteller is a thread that takes the steps one after the other beside the
 * picture (demo/picture/picture.h); pods are scheduled by the player (demo/scheduler/player.h) through the real
 * verbs. What must come true is read from the API server's objects and from /state, and is waited
 * for; a step that does not come true ends the story.
 *
 * Notation of labels, annotations, limits and selectors: "key: value; key: value". Names of pods
 * may be patterns with '*'; a pattern must match something.
 */
#ifndef DEMO_STORIES_STORY_H
#define DEMO_STORIES_STORY_H

#include "base/compiler.h"
#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct apiserver;
struct clock_shifted;

struct story_node {
    const char *name;
    const char *labels, *annotations;
    const char *allocatable; /* beside cpu, memory and pods */
    const char *model;       /* of all its GPUs */
    int32_t gpu_n;
    int64_t mem_mib; /* of each */
    const char *mig; /* per GPU, ';' between: "3g.20gb@4 1g.5gb@0", "-" is not cut; NULL: none is */
    bool secret;     /* fgpu.io/gpus does not say it: labels and allocatable are all there is */
};

struct story_pod {
    const char *limits, *annotations, *labels, *selector;
    const char *namespace_; /* NULL: "story" */
};

enum story_act {
    STORY_SAY,      /* text: what is shown from now on; begins a scene */
    STORY_CREATE,   /* `n` pods as `pod` says: `a`, or a-1 to a-n */
    STORY_DELETE,   /* `a` is gone at once */
    STORY_CLOCK,    /* fgpu's clock shows `a` (RFC 3339) and goes on from there */
    STORY_PATCH,    /* node `a` gets the merge patch `b` */
    STORY_BOUND,    /* `a` have a node; `b`: this one */
    STORY_REFUSED,  /* `a` are refused, with `b` in the reason */
    STORY_TOGETHER, /* `a` have the same devices of the same node */
    STORY_APART,    /* no device of one of `a` is one of another */
    STORY_HOLDS,    /* `a` hold `n` devices, of each `milli` and `mem_mib` */
    STORY_TOLD,     /* `a` are told `b` ("key: value"; "*" in the value) by an annotation */
    STORY_EVENT,    /* an Event about `a` has `b` in its note; "" is about fgpu itself */
    STORY_STATE,    /* the value at path `a` of /state is `b`, as JSON */
    STORY_ACT__MAX
};

struct story_step {
    enum story_act act;
    const char *a, *b;
    int32_t n;
    int64_t milli, mem_mib;
    struct story_pod pod;
};

struct story {
    const char *name;
    const char *line;    /* what it shows, in one line */
    const char *example; /* file of config/examples */
    const char *clock;   /* what the clock shows at the start; NULL: the time it is */
    const struct story_node *nodes;
    size_t node_n;
    const struct story_step *steps;
    size_t step_n;
};

/* NULL when there is no such story (no such place). */
const struct story *story_find(const char *name);
const struct story *story_at(size_t i);

/* Lines of config/examples/<name>, without their ends; NULL after the last. NULL: no such file. */
const char *const *story_example(const char *name);

/* ERR_INVALID: the table is wrong. */
WARN_UNUSED int story_create_nodes(const struct story *s, struct apiserver *a, struct err *reterr);

struct storyteller_options {
    const struct story *story;
    struct apiserver *apiserver;
    const char *ops_url;         /* "http://127.0.0.1:9442" */
    struct clock_shifted *clock; /* that fgpu goes by */
    int64_t for_ms;    /* the steps are spread over so long; what must come true may take longer */
    int fd;            /* where the course is told line by line; -1: nowhere */
    atomic_bool *stop; /* set at the end of the story; set from outside it ends it */
};

struct storyteller;

WARN_UNUSED int storyteller_start(const struct storyteller_options *o, struct storyteller **ret,
                                  struct err *reterr);
/* Two lines for the picture: what is being told, and what has come true last. */
void storyteller_caption(void *teller, char *said, size_t said_size, char *held, size_t held_size);

struct story_result {
    bool finished;     /* every step was taken and came true */
    uint32_t scene_n;  /* begun */
    uint32_t claim_n;  /* came true */
    char failure[512]; /* "" when there is none */
};
/* Waits for its end. */
void storyteller_join(struct storyteller *t, struct story_result *ret);
void storyteller_free(struct storyteller *t); /* NULL is fine */

#endif
