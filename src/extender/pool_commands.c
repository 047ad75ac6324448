#include "extender/pool_commands.h"

#include "extender/pool_argv.h"

#include "base/bug.h"
#include "base/child.h"
#include "base/sync.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

const char *pool_command_result_name(enum pool_command_result r)
{
    static const char *const names[POOL_COMMAND_RESULT__MAX] = {
        [POOL_COMMAND_WAITING] = "waiting", [POOL_COMMAND_OK] = "ok", [POOL_COMMAND_FAILED] = "failed"};

    BUG_ON((unsigned)r >= POOL_COMMAND_RESULT__MAX);
    return names[r];
}

/* Intervals are real, whatever the clock of the options shows: conditions wait by it. */
static int64_t now_ns(void)
{
    return sync_in_ns(0);
}

/* ---- pools ---- */

static const char *name_of(const struct pool *p)
{
    return p->argv[p->argc - 2];
}

static struct pool *find_pool(struct pool_commands *c, struct str name)
{
    for (size_t i = 0; i < c->pool_n; i++) {
        if (str_eq_cstr(name, name_of(&c->pools[i]))) {
            return &c->pools[i];
        }
    }
    return NULL;
}

static bool is_gated(const struct policy *p, struct str name)
{
    bool found = false;

    for (size_t i = 0; i < p->change_over_n; i++) {
        for (size_t k = 0; k < p->change_overs[i].pool_n; k++) {
            found = found || str_eq(p->change_overs[i].pools[k], name);
        }
    }
    return found;
}

static const struct node_pool *last_with_command(const struct policy *p, struct str name)
{
    const struct node_pool *last = NULL;

    for (size_t i = 0; i < p->node_pool_n; i++) {
        if (p->node_pools[i].command_n > 0 && str_eq(p->node_pools[i].name, name)) {
            last = &p->node_pools[i];
        }
    }
    return last;
}

/* Under the lock. */
static void drop_argv(struct pool_commands *c, char **argv)
{
    for (size_t i = 0; i < c->lane_n; i++) {
        if (argv != NULL && c->lanes[i].running == argv) {
            return;
        }
    }
    free(argv);
}

/* What was done for another command or state says nothing. Under the lock. */
static void set_argv(struct pool_commands *c, struct pool *pool, char **argv, size_t argc, enum node_pool_state state)
{
    if (pool->argv != NULL && pool_argv_same(pool->argv, argv)) {
        free(argv);
        return;
    }
    drop_argv(c, pool->argv);
    *pool = (struct pool){.argv = argv,
                          .argc = argc,
                          .wanted = state,
                          .timeout_ms = pool->timeout_ms,
                          .kept = pool->kept,
                          .gated = pool->gated,
                          .held = pool->held};
}

static void set_command(struct pool_commands *c, struct pool *pool, const struct node_pool *command,
                        enum node_pool_state state)
{
    size_t argc;
    char **argv = pool_argv_make(command->command, command->command_n, command->name, state, &argc);

    set_argv(c, pool, argv, argc, state);
}

/* `entry` is the last one of its name. */
static void take_pool(struct pool_commands *c, const struct policy *p, const struct node_pool *entry)
{
    const struct node_pool *command = last_with_command(p, entry->name);
    struct pool *pool = find_pool(c, entry->name);
    const bool gated = is_gated(p, entry->name);

    if (command == NULL) {
        return;
    }
    if (pool == NULL) {
        c->pools = xreallocarray(c->pools, c->pool_n + 1, sizeof(*c->pools));
        pool = &c->pools[c->pool_n++];
        *pool = (struct pool){.wanted = entry->state};
    }
    pool->held = gated && (pool->held || !pool->gated);
    pool->gated = gated;
    set_command(c, pool, command, gated ? pool->wanted : entry->state);
    pool->kept = true;
    pool->timeout_ms = command->timeout_ms;
}

static bool is_last_of_its_name(const struct policy *p, size_t i)
{
    for (size_t j = i + 1; j < p->node_pool_n; j++) {
        if (str_eq(p->node_pools[i].name, p->node_pools[j].name)) {
            return false;
        }
    }
    return p->node_pools[i].name.n > 0;
}

static void drop_others(struct pool_commands *c)
{
    size_t kept = 0;

    for (size_t i = 0; i < c->pool_n; i++) {
        if (c->pools[i].kept) {
            c->pools[kept++] = c->pools[i];
        } else {
            drop_argv(c, c->pools[i].argv);
        }
    }
    c->pool_n = kept;
}

/* ---- runs ---- */

/* Whether a lane runs a command of this pool, maybe one for a state that is not wanted any more. */
static bool has_lane(const struct pool_commands *c, const struct pool *p)
{
    for (size_t i = 0; i < c->lane_n; i++) {
        if (c->lanes[i].running != NULL && strcmp(c->lanes[i].pool, name_of(p)) == 0) {
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
    return next != NULL && next->not_before_ns <= now_ns() ? next : NULL;
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
            p->not_before_ns = now_ns() + pause_ns(c, p->tries);
            snprintf(p->error, sizeof(p->error), "%s", rc == 0 ? "" : err->msg);
            return;
        }
    }
    free(argv);
}

static void work(struct lane *l, const struct pool *p)
{
    struct pool_commands *c = l->of;
    const char *name = name_of(p), *state = p->argv[p->argc - 1];
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

/* ---- lanes ---- */

/* Under the lock. */
static int open_lane(struct pool_commands *c, struct err *reterr)
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

/* Under the lock: one for each pool. */
static int open_lanes(struct pool_commands *c, struct err *reterr)
{
    int rc = 0;

    while (rc == 0 && !c->o.rehearses && c->lane_n < c->pool_n && c->lane_n < POOL_LANES_MAX) {
        rc = open_lane(c, reterr);
    }
    return rc;
}

void pool_commands_set(struct pool_commands *c, const struct policy *p)
{
    struct err err;
    int rc;

    mutex_lock(&c->lock);
    for (size_t i = 0; i < c->pool_n; i++) {
        c->pools[i].kept = false;
    }
    for (size_t i = 0; i < p->node_pool_n; i++) {
        if (is_last_of_its_name(p, i)) {
            take_pool(c, p, &p->node_pools[i]);
        }
    }
    drop_others(c);
    rc = open_lanes(c, &err);
    condvar_broadcast(&c->changed);
    mutex_unlock(&c->lock);
    if (rc != 0) { /* at least one lane is there */
        LOG_WARNING(c->o.log, "There are fewer threads than commands of node pools; one that hangs may hold up others",
                    LOG_CSTR("err", err.msg));
    }
}

/* The command of the pool for another state. */
static void turn(struct pool_commands *c, struct pool *pool, enum node_pool_state state)
{
    size_t argc;
    char **argv = pool_argv_turn(pool->argv, pool->argc, state, &argc);

    set_argv(c, pool, argv, argc, state);
}

void pool_commands_order(struct pool_commands *c, struct str name, enum pool_order order)
{
    struct pool *pool;

    mutex_lock(&c->lock);
    pool = find_pool(c, name);
    if (pool != NULL && pool->gated) {
        const bool was_held = pool->held;
        const enum node_pool_state before = pool->wanted;

        pool->held = order == POOL_HOLD;
        if (order != POOL_HOLD) {
            turn(c, pool, order == POOL_RUN_OPEN ? NODE_POOL_OPEN : NODE_POOL_CLOSED);
        }
        if (was_held != pool->held || before != pool->wanted) {
            condvar_broadcast(&c->changed);
        }
    }
    mutex_unlock(&c->lock);
}

/* ---- life ---- */

static void release(struct pool_commands *c)
{
    for (size_t i = 0; i < c->pool_n; i++) {
        free(c->pools[i].argv);
    }
    free(c->pools);
    condvar_destroy(&c->changed);
    mutex_destroy(&c->lock);
    free(c);
}

int pool_commands_new(const struct pool_commands_options *o, struct pool_commands **ret, struct err *reterr)
{
    struct pool_commands *c = xcalloc(1, sizeof(*c));
    int rc;

    c->o = *o;
    mutex_init(&c->lock, "pool_commands");
    condvar_init(&c->changed, "pool_commands changed");
    mutex_lock(&c->lock);
    rc = o->rehearses ? 0 : open_lane(c, reterr);
    mutex_unlock(&c->lock);
    if (rc != 0) {
        release(c);
        return rc;
    }
    *ret = c;
    return 0;
}

void pool_commands_free(struct pool_commands *c)
{
    if (c == NULL) {
        return;
    }
    mutex_lock(&c->lock);
    atomic_store(&c->stopping, true);
    condvar_broadcast(&c->changed);
    mutex_unlock(&c->lock);
    for (size_t i = 0; i < c->lane_n; i++) {
        thread_join(&c->lanes[i].thread);
    }
    release(c);
}

size_t pool_commands_failing(struct pool_commands *c)
{
    size_t n = 0;

    mutex_lock(&c->lock);
    for (size_t i = 0; i < c->pool_n; i++) {
        n += c->pools[i].result == POOL_COMMAND_FAILED;
    }
    mutex_unlock(&c->lock);
    return n;
}

size_t pool_commands_list(struct pool_commands *c, struct arena *a, const struct pool_command_status **ret)
{
    struct pool_command_status *list;
    size_t n;

    if (c == NULL) {
        return 0;
    }
    mutex_lock(&c->lock);
    n = c->pool_n;
    list = ARENA_ARRAY(a, n + 1, struct pool_command_status);
    for (size_t i = 0; list != NULL && i < n; i++) {
        const struct pool *p = &c->pools[i];

        list[i] = (struct pool_command_status){
            .pool = arena_str(a, str_of(name_of(p))),
            .state = p->wanted,
            .result = p->result,
            .tries = p->tries,
            .at_ms = p->at_ms,
            .error = p->error[0] != '\0' ? arena_cstr(a, str_of(p->error)) : NULL,
        };
    }
    mutex_unlock(&c->lock);
    *ret = list;
    return list == NULL || a->overflowed ? 0 : n;
}
