/* extender/pool_commands_internal.h - commands of node pools: what is wanted of each pool (pool_commands.c), and
 * the threads that run them (pool_lanes.c). Shared by these two only.
 *
 * Everything but the options and `stopping` is under the lock. An argv belongs to its pool; a lane that runs it uses it
 * without the lock, and frees it in the end if no pool has it any more.
 */
#ifndef EXTENDER_POOL_COMMANDS_INTERNAL_H
#define EXTENDER_POOL_COMMANDS_INTERNAL_H

#include "extender/pool_commands.h"

#include "base/sync.h"

#include <stdatomic.h>

struct pool {
    char **argv; /* of pool_argv.h */
    size_t argc;
    int32_t timeout_ms;
    enum node_pool_state wanted;
    enum pool_command_result result;
    uint32_t tries;
    int64_t at_ms;
    int64_t not_before_ns; /* monotonic */
    char error[ERR_MSG_MAX];
    bool kept;  /* while a policy is taken in */
    bool gated; /* of a change-over group: pool_commands_order() says when, and for which state */
    bool held;  /* not to be run now */
};

/* A thread that runs one command at a time. */
struct lane {
    struct pool_commands *of;
    struct thread thread;
    char **running;   /* the argv that it uses without the lock; NULL: none. It frees what no pool has any more */
    const char *pool; /* within `running` */
};

struct pool_commands {
    struct pool_commands_options o;
    struct mutex lock; /* of the rest */
    struct condvar changed;
    atomic_bool stopping;
    struct pool *pools;
    size_t pool_n;
    struct lane lanes[POOL_LANES_MAX];
    size_t lane_n;
};

static inline const char *pool_name(const struct pool *p)
{
    return p->argv[p->argc - 2];
}

/* One more thread; one for each pool, up to POOL_LANES_MAX. Under the lock. */
int pool_lanes_open_one(struct pool_commands *c, struct err *reterr);
int pool_lanes_open(struct pool_commands *c, struct err *reterr);

#endif
