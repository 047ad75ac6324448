/* The threads that run the commands of node pools, each one at a time. */
#include "extender/pool_commands_internal.h"

#include "base/bug.h"
#include "base/child.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether a lane runs a command of this pool, maybe one for a state that is not wanted any more. */
static bool has_lane(const struct pool_commands *c, const struct pool *p)
{
    for (size_t i = 0; i < c->lane_n; i++) {
        if (c->lanes[i].running != NULL && strcmp(c->lanes[i].pool, pool_name(p)) == 0) {
            return true;
        }
    }
    return false;
}

/* The pool that has been due the longest, in the order of the file among equals; or NULL and when the next one is due
 * (INT64_MAX: none). */
static struct pool *next_due(struct pool_commands *c, int64_t *ret_at_ns)
{
    struct pool *next = NULL;

    for (size_t i = 0; i < c->pool_n; i++) {
        struct pool *p = &c->pools[i];

        if (p->result != POOL_COMMAND_OK && !p->held && (next == NULL || p->not_before_ns < next->not_before_ns) &&
            !has_lane(c, p)) {
            next = p;
        }
    }
    *ret_at_ns = next != NULL ? next->not_before_ns : INT64_MAX;
    return next != NULL && next->not_before_ns <= sync_in_ns(0) ? next : NULL;
}

static int run_command(struct pool_commands *c, char **argv, int32_t timeout_ms, struct err *reterr)
{
    const struct child child = {.argv = argv, .output_max = POOL_OUTPUT_MAX, .drops_excess = true};
    struct child_end end;
    int rc;

    if (c->o.may_run != NULL && !c->o.may_run(c->o.may_run_ctx)) {
        return err_set(reterr, ERR_UNAVAILABLE, "this replica does not decide");
    }
    rc = child_run(&child, timeout_ms, &c->stopping, &end, reterr);

    if (rc == 0) {
        if (end.dropped > 0) {
            LOG_INFO(c->o.log, "The command of a node pool printed more than is kept; the rest was dropped",
                     LOG_CSTR("command", argv[0]), LOG_I64("droppedBytes", (int64_t)end.dropped));
        }
        rc = child_end_judge(&end, reterr);
        child_end_fini(&end);
    }
    return rc;
}

/* Intervals are real, whatever the clock of the options shows: conditions wait by it. */
static int64_t pause_ns(const struct pool_commands *c, uint32_t tries)
{
    int64_t ms = c->o.retry_min_ms > 0 ? c->o.retry_min_ms : POOL_RETRY_MIN_MS;

    for (uint32_t i = 1; i < tries && ms < POOL_RETRY_MAX_MS; i++) {
        ms *= 2;
    }
    return (ms < POOL_RETRY_MAX_MS ? ms : POOL_RETRY_MAX_MS) * NS_PER_MS;
}

/* Under the lock. Of a pool that has changed meanwhile the outcome says nothing. */
static void note(struct lane *l, int rc, const struct err *err)
{
    struct pool_commands *c = l->of;
    char **argv = l->running;

    l->running = NULL;
    condvar_broadcast(&c->changed); /* whoever comes next for this pool need not wait any more */
    for (size_t i = 0; i < c->pool_n; i++) {
        struct pool *p = &c->pools[i];

        if (p->argv == argv) {
            p->tries++;
            p->at_ms = clock_wall_ms(c->o.clock);
            p->result = rc == 0 ? POOL_COMMAND_OK : POOL_COMMAND_FAILED;
            p->not_before_ns = sync_in_ns(0) + pause_ns(c, p->tries);
            snprintf(p->error, sizeof(p->error), "%s", rc == 0 ? "" : err->msg);
            return;
        }
    }
    free(argv);
}

static void work(struct lane *l, const struct pool *p)
{
    struct pool_commands *c = l->of;
    const char *name = pool_name(p), *state = p->argv[p->argc - 1];
    char **argv = p->argv;
    const int32_t timeout_ms = p->timeout_ms;
    struct err err = {.code = ERR_OK};
    int rc;

    l->running = argv;
    l->pool = name;
    mutex_unlock(&c->lock);
    LOG_INFO(c->o.log, "Running the command of a node pool", LOG_CSTR("pool", name), LOG_CSTR("state", state),
             LOG_CSTR("command", argv[0]));
    rc = run_command(c, argv, timeout_ms, &err);
    if (rc == 0) {
        LOG_INFO(c->o.log, "The command of a node pool has succeeded", LOG_CSTR("pool", name),
                 LOG_CSTR("state", state));
    } else if (!atomic_load(&c->stopping)) {
        LOG_WARNING(c->o.log, "The command of a node pool failed; it will be tried again", LOG_CSTR("pool", name),
                    LOG_CSTR("state", state), LOG_CSTR("err", err.msg));
    }
    if (c->o.observe != NULL && rc != -ERR_CANCELLED) {
        c->o.observe(c->o.ctx, rc == 0 ? POOL_COMMAND_OK : POOL_COMMAND_FAILED);
    }
    mutex_lock(&c->lock);
    note(l, rc, &err);
}

static void *lane_main(void *arg)
{
    struct lane *l = arg;
    struct pool_commands *c = l->of;

    mutex_lock(&c->lock);
    while (!atomic_load(&c->stopping)) {
        int64_t at_ns;
        struct pool *p = next_due(c, &at_ns);

        if (p != NULL) {
            work(l, p);
        } else {
            (void)condvar_wait_until(&c->changed, &c->lock, at_ns);
        }
    }
    mutex_unlock(&c->lock);
    return NULL;
}

int pool_lanes_open_one(struct pool_commands *c, struct err *reterr)
{
    struct lane *l = &c->lanes[c->lane_n];
    int rc;

    *l = (struct lane){.of = c};
    rc = thread_start(&l->thread, "pool-commands", lane_main, l, reterr);
    if (rc == 0) {
        c->lane_n++;
    }
    return rc;
}

int pool_lanes_open(struct pool_commands *c, struct err *reterr)
{
    int rc = 0;

    while (rc == 0 && !c->o.rehearses && c->lane_n < c->pool_n && c->lane_n < POOL_LANES_MAX) {
        rc = pool_lanes_open_one(c, reterr);
    }
    return rc;
}
