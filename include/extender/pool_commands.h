/* extender/pool_commands.h - runs the admin's command when a node pool opens or closes: suspends
 * and resumes its machines, say.
 *
 * A pool is told by its name: the last entry of the policy with that name says whether it is open,
 * the last one with a command says what to run. The command is run with the name and "open" or
 * "closed" as two further arguments: once when fgpu starts, because nobody knows what was done
 * before, and at every change; so it must be fine to run twice. It has to end with exit code 0
 * within its timeout. Otherwise it is tried again after POOL_RETRY_MIN_MS, then ever more rarely up
 * to POOL_RETRY_MAX_MS, until it works or the pool changes again.
 *
 * A pool of a change-over group (core/time/change_over.h) is not told by the policy: nothing is run for it before
 * pool_commands_order() says so, and then for the state that is ordered. A run that is on when it is held goes on.
 *
 * The exit code alone decides. Of what it prints the end of its error output is told when it fails;
 * its output counts for nothing, and more than POOL_OUTPUT_MAX of it is dropped, which the log says.
 *
 * Nothing waits for it: no request, no time window, and no node, which is open or closed for pods
 * by the policy alone. No pool waits for another either: each has a lane, a thread that runs its
 * command, up to POOL_LANES_MAX. Beyond that many pools, a lane that is free takes the one that has
 * been due the longest, so a first run goes before the retries of others. Runs of one pool come one
 * after the other. Thread-safe.
 */
#ifndef EXTENDER_POOL_COMMANDS_H
#define EXTENDER_POOL_COMMANDS_H

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "core/time/change_over.h"
#include "model/policy.h"

#include <stdbool.h>
#include <stdint.h>

#define POOL_RETRY_MIN_MS 10000
#define POOL_RETRY_MAX_MS 600000
#define POOL_OUTPUT_MAX (64U * 1024)
#define POOL_LANES_MAX 32

struct pool_commands;

enum pool_command_result {
    POOL_COMMAND_WAITING, /* has not been run for this state yet */
    POOL_COMMAND_OK,
    POOL_COMMAND_FAILED, /* will be tried again */
    POOL_COMMAND_RESULT__MAX
};
const char *pool_command_result_name(enum pool_command_result r); /* "ok", for labels */

struct pool_commands_options {
    const struct clock *clock;
    const struct log *log;
    int64_t retry_min_ms; /* 0: POOL_RETRY_MIN_MS */
    bool rehearses;       /* nothing is run: every pool stays POOL_COMMAND_WAITING */
    /* Asked right before each run; false: it fails, and is tried again. From any thread; NULL: always. */
    bool (*may_run)(void *ctx);
    void *may_run_ctx;
    /* A run has ended; may be NULL. */
    void (*observe)(void *ctx, enum pool_command_result r);
    void *ctx;
};

WARN_UNUSED int pool_commands_new(const struct pool_commands_options *o, struct pool_commands **ret,
                                  struct err *reterr);
/* Ends the runs that are on, joins and frees. NULL is fine. */
void pool_commands_free(struct pool_commands *c);

/* This policy is in effect. Everything is copied. Returns at once. */
void pool_commands_set(struct pool_commands *c, const struct policy *p);

/* For a pool of a group; does nothing for others, or one without a command. A failing command is run again as usual,
 * from the next order for its state on. */
void pool_commands_order(struct pool_commands *c, struct str name, enum pool_order order);

/* Pools whose command failed the last time. */
size_t pool_commands_failing(struct pool_commands *c);

struct pool_command_status {
    struct str pool;
    enum node_pool_state state; /* wanted; of a pool of a group what it was told last */
    enum pool_command_result result;
    uint32_t tries;    /* for this state */
    int64_t at_ms;     /* end of the last run, wall clock; 0: none */
    const char *error; /* of the last run; NULL: none, or it worked */
};
/* Of all pools with a command, in the order of the file; text and array in `a`. NULL is fine, and
 * when the arena is full it is none. */
size_t pool_commands_list(struct pool_commands *c, struct arena *a, const struct pool_command_status **ret);

#endif
