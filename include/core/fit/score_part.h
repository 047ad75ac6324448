/* core/fit/score_part.h - what the score of a placement is the sum of, so that a decision can be defended.
 *
 * A strategy that can say it breaks a score into parts (strategy.score_parts): each is of one kind, and together they
 * are the score, exactly. This is asked for two nodes of a decision, when it is over; nothing decides by it.
 *
 * Units: those of the strategy's score. rsp: 1/FORECAST_MILLI of a milli (core/forecast/forecast.h), after less before.
 * binpack, spread: ten-thousandths. tight-fit: below.
 */
#ifndef CORE_FIT_SCORE_PART_H
#define CORE_FIT_SCORE_PART_H

#include <stdbool.h>
#include <stdint.h>

enum score_part_kind {
    /* rsp (packing.md 5.1) */
    SCORE_PART_FILL,   /* what the pods to come would fill: (1 - f - beta) dG */
    SCORE_PART_CORES,  /* the same beside pods that ask for cores alone: f dA */
    SCORE_PART_PLACES, /* places for each kind of pods: beta dP */
    SCORE_PART_HOSTS,  /* scarce goods, price x dS; these three are told apart by `which` */
    SCORE_PART_GANGS,
    SCORE_PART_SIZES,
    SCORE_PART_GOODS,    /* several scarce goods together (core/placement/reason.h) */
    SCORE_PART_STRANDED, /* charge: idle GPUs and cores, where cores are scarce and pods leave */
    SCORE_PART_IDLE,     /* charge: idle GPUs */
    /* binpack and spread: half of the used share of the GPUs */
    SCORE_PART_USED_COMPUTE,
    SCORE_PART_USED_MEMORY,
    SCORE_PART_USED_UNITS, /* all of it, of GPUs of a plugin */
    /* tight-fit */
    SCORE_PART_OPENED, /* empty GPUs that are now shared */
    SCORE_PART_LEFT,   /* what is left of the GPUs that are touched */
    SCORE_PART_EMPTY,  /* GPUs that stay empty */
    /* a decision by several criteria: what one of them says, as plan_judge() compared it; `which` is its place
     * (core/placement/plan.h) */
    SCORE_PART_CRITERION,

    SCORE_PART__MAX
};

/* What a score means to people. */
enum score_unit {
    SCORE_IN_POINTS, /* of a published formula: 0..100 or so */
    SCORE_IN_MILLI,  /* rsp: less 1/FORECAST_MILLI of a milli that is taken from pods to come */
    SCORE_IN_SHARES, /* binpack, spread: plus or less the used ten-thousandths, of compute and memory together */
    SCORE_PACKED,    /* tight-fit: below */
};

/* What tight-fit weighs is in one number, less is better: (OPENED x OPENING + LEFT) x EMPTY_MAX + EMPTY. LEFT is STEP x
 * the smaller of the two shares that are left of a GPU, of compute and memory, + the larger one, in ten-thousandths;
 * the mean over the GPUs. */
#define SCORE_PART_LEFT_STEP 10001
#define SCORE_PART_OPENING ((int64_t)SCORE_PART_LEFT_STEP * SCORE_PART_LEFT_STEP)
#define SCORE_PART_EMPTY_MAX ((int64_t)1 << 20)

/* A word for programs: "fill". */
const char *score_part_name(enum score_part_kind k);

struct score_part {
    enum score_part_kind kind;
    uint8_t which;          /* of several of one kind; means the same on all nodes of one decision */
    bool plugin_managed;    /* goods: of a plugin's GPUs */
    int32_t count;          /* goods: GPUs of one pod; SIZES: 0 */
    int32_t milli, mem_mib; /* goods: of each GPU, at least; 0: no matter, or unknown */
    int64_t value;          /* higher is better; never 0 */
};

/* At most so many of one placement. */
#define SCORE_PARTS_MAX 72

#endif
