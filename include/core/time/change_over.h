/* core/time/change_over.h - pools of nodes that share hardware change over in order.
 *
 * Virtual machines with slices of one card: by day four small ones, by night a large one. They are pools of one *group*
 * (policy.change_overs), and of a group at most one pool takes pods at a time: the one that is *admitted*. A change
 * goes step by step, and a step that does not end holds up all that follow:
 *
 *   closing         no pool is admitted, and every node of the group has been read since: none takes pods
 *   waiting         until no pod holds a GPU on the nodes of the pools that leave
 *   close_commands  the commands of the pools that leave, with "closed", at the same time
 *   open_command    the command of the pool that comes, with "open"
 *   opening         that pool is admitted; until its nodes have been read
 *   open            the end. Or `closed`, where the policy has no pool of the group open
 *   conflict        the policy has several pools of the group open: none is admitted, nothing is run
 *
 * What is to be is the affair of the policy alone, and what is, of the facts of each look; nothing else is remembered
 * but who is admitted. So a change back in the middle is a change like any other: it begins with closing, and what has
 * not been done yet is not undone. So is a start, where nobody knows what was done before.
 *
 * A command that is under way is never interrupted here: a pool gets no other order before the next look, and its
 * commands run one after the other (extender/pool_commands.h). "Done" is said of the state that it was told last.
 *
 * Pure: no clock; times are given, shown, and decide nothing.
 */
#ifndef CORE_TIME_CHANGE_OVER_H
#define CORE_TIME_CHANGE_OVER_H

#include "model/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum change_over_step {
    CHANGE_OVER_CLOSING,
    CHANGE_OVER_WAITING,
    CHANGE_OVER_CLOSE_COMMANDS,
    CHANGE_OVER_OPEN_COMMAND,
    CHANGE_OVER_OPENING,
    CHANGE_OVER_OPEN,
    CHANGE_OVER_CLOSED,
    CHANGE_OVER_CONFLICT,
    CHANGE_OVER_STEP__MAX
};
const char *change_over_step_name(enum change_over_step s); /* "close_commands", for labels */
/* Nothing more is to come of itself. */
bool change_over_step_is_last(enum change_over_step s);

#define CHANGE_OVER_NOBODY (-1)
#define CHANGE_OVER_SEVERAL (-2)

/* What the command of a pool is to do: nothing new, or to be run, until it succeeds, for a state. */
enum pool_order { POOL_HOLD, POOL_RUN_CLOSED, POOL_RUN_OPEN };

/* One pool at one moment. */
struct change_over_pool {
    size_t pod_n;               /* hold GPUs on its nodes, reservations included */
    bool has_command;           /* without one there is nothing to do */
    enum node_pool_state state; /* what the command was told last */
    bool done;                  /* ... and it has succeeded */
};

struct change_over_facts {
    int32_t wanted; /* the pool that the policy has open, by its place in the group; or one of the two above */
    /* Every node of the group was read since who is admitted last changed, all pods are known, and none of what follows
     * is from before. */
    bool settled;
    size_t open_n; /* nodes of the group that take pods */
    struct change_over_pool pools[CHANGE_OVER_POOLS_MAX];
    size_t pool_n;
};

struct change_over {
    enum change_over_step step;
    int64_t since_ms; /* of the step */
    int32_t wanted;   /* as at the last look */
    int32_t admitted; /* `wanted`, or CHANGE_OVER_NOBODY */
    enum pool_order orders[CHANGE_OVER_POOLS_MAX];
};

/* Nobody is admitted, nothing is run. */
void change_over_init(struct change_over *c, int64_t now_ms);
/* One look. */
void change_over_look(struct change_over *c, const struct change_over_facts *f, int64_t now_ms);

/* The pool of the group that the policy has open: of entries with its name the last one says it. */
int32_t change_over_wanted(const struct policy *p, const struct change_over_group *g);

#endif
