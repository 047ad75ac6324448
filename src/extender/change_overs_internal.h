/* extender/change_overs_internal.h - the groups of node pools, for the files that look at them (change_overs.c), tell
 * people (change_overs_tell.c) and show them (change_overs_show.c). */
#ifndef EXTENDER_CHANGE_OVERS_INTERNAL_H
#define EXTENDER_CHANGE_OVERS_INTERNAL_H

#include "extender/change_overs.h"

#include "base/err.h"
#include "base/sync.h"

/* A group as it stands. */
struct change_over_now {
    char *name;
    char *pools[CHANGE_OVER_POOLS_MAX];
    size_t pool_n;
    bool kept; /* while a policy is taken in */
    struct change_over machine;
    int64_t began_ms;
    enum change_over_step told; /* CHANGE_OVER_STEP__MAX: nothing yet */
    size_t pod_n;
    struct arena shown; /* owns the text of: */
    struct pool_pod pods[CHANGE_OVER_PODS_SHOWN];
    size_t shown_n;
    int64_t waits_since_ns; /* monotonic; 0: it does not wait for pods */
    bool drains;
    int32_t failed; /* a pool; CHANGE_OVER_NOBODY: none */
    char error[ERR_MSG_MAX];
};

struct change_overs {
    struct change_overs_options o;
    struct mutex lock; /* of the rest, which only the one who looks changes */
    struct change_over_now **groups;
    size_t group_n;
};

/* "": none, or several. */
struct str change_overs_pool_name(const struct change_over_now *g, int32_t pool);

/* For the one who looks, without the lock. */
void change_overs_tell_step(const struct change_overs *c, const struct change_over_now *g);
void change_overs_tell_failure(const struct change_overs *c, const struct change_over_now *g);

#endif
