#include "extender/pool_commands_internal.h"

#include "extender/pool_argv.h"

#include "base/bug.h"

#include <stdlib.h>

const char *pool_command_result_name(enum pool_command_result r)
{
    static const char *const names[POOL_COMMAND_RESULT__MAX] = {
        [POOL_COMMAND_WAITING] = "waiting", [POOL_COMMAND_OK] = "ok", [POOL_COMMAND_FAILED] = "failed"};

    BUG_ON((unsigned)r >= POOL_COMMAND_RESULT__MAX);
    return names[r];
}

/* ---- pools ---- */

static struct pool *find_pool(struct pool_commands *c, struct str name)
{
    for (size_t i = 0; i < c->pool_n; i++) {
        if (str_eq_cstr(name, pool_name(&c->pools[i]))) {
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
    rc = pool_lanes_open(c, &err);
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
    rc = o->rehearses ? 0 : pool_lanes_open_one(c, reterr);
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
            .pool = arena_str(a, str_of(pool_name(p))),
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
