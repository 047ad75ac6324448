#include "extender/change_overs_internal.h"

#include "base/bug.h"
#include "core/time/node_pools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_BYTES_MAX ((size_t)1 << 20)
#define SHOWN_BYTES_MAX ((size_t)64 << 10) /* names of the pods of one group */

/* ---- groups ---- */

static bool is_group(const struct change_over_now *g, const struct change_over_group *like)
{
    bool same = str_eq_cstr(like->name, g->name) && like->pool_n == g->pool_n;

    for (size_t i = 0; same && i < g->pool_n; i++) {
        same = str_eq_cstr(like->pools[i], g->pools[i]);
    }
    return same;
}

static struct change_over_now *find(const struct change_overs *c, const struct change_over_group *like)
{
    for (size_t i = 0; i < c->group_n; i++) {
        if (is_group(c->groups[i], like)) {
            return c->groups[i];
        }
    }
    return NULL;
}

static struct change_over_now *group_new(const struct change_over_group *like, int64_t now_ms)
{
    struct change_over_now *g = xcalloc(1, sizeof(*g));

    g->name = str_dup(like->name);
    for (size_t i = 0; i < like->pool_n; i++) {
        g->pools[i] = str_dup(like->pools[i]);
    }
    g->pool_n = like->pool_n;
    g->began_ms = now_ms;
    g->told = CHANGE_OVER_STEP__MAX;
    g->failed = CHANGE_OVER_NOBODY;
    arena_init(&g->shown, SHOWN_BYTES_MAX);
    change_over_init(&g->machine, now_ms);
    return g;
}

static void group_free(struct change_over_now *g)
{
    for (size_t i = 0; i < g->pool_n; i++) {
        free(g->pools[i]);
    }
    arena_fini(&g->shown);
    free(g->name);
    free(g);
}

/* The groups of this policy, in its order. Under the lock. */
static void take_groups(struct change_overs *c, const struct policy *p, int64_t now_ms)
{
    struct change_over_now **groups = xcalloc(p->change_over_n + 1, sizeof(struct change_over_now *));

    for (size_t i = 0; i < c->group_n; i++) {
        c->groups[i]->kept = false;
    }
    for (size_t i = 0; i < p->change_over_n; i++) {
        groups[i] = find(c, &p->change_overs[i]);
        groups[i] = groups[i] != NULL ? groups[i] : group_new(&p->change_overs[i], now_ms);
        groups[i]->kept = true;
    }
    for (size_t i = 0; i < c->group_n; i++) {
        if (!c->groups[i]->kept) {
            group_free(c->groups[i]);
        }
    }
    free(c->groups);
    c->groups = groups;
    c->group_n = p->change_over_n;
}

uint64_t change_overs_admitted(struct change_overs *c, const struct policy *p)
{
    uint64_t pools = 0;
    unsigned first = 0;

    mutex_lock(&c->lock);
    for (size_t i = 0; i < p->change_over_n; i++) {
        const struct change_over_now *g = find(c, &p->change_overs[i]);

        if (g != NULL && g->machine.admitted != CHANGE_OVER_NOBODY) {
            pools |= UINT64_C(1) << (first + (unsigned)g->machine.admitted);
        }
        first += (unsigned)p->change_overs[i].pool_n;
    }
    mutex_unlock(&c->lock);
    return pools;
}

/* ---- facts ---- */

/* What one look has found of all groups. */
struct look {
    const struct policy *policy;
    uint64_t layout; /* node_pools_layout() */
    struct arena arena;
    bool settled;
    struct pool_use use[GATED_POOLS_MAX];
    const struct pool_command_status *commands;
    size_t command_n;
};

static const struct pool_command_status *command_of(const struct look *l, struct str pool)
{
    for (size_t i = 0; i < l->command_n; i++) {
        if (str_eq(l->commands[i].pool, pool)) {
            return &l->commands[i];
        }
    }
    return NULL;
}

static void gather(struct change_overs *c, struct look *l, bool (*settled)(void *ctx), void *ctx)
{
    l->settled =
        store_is_ready(c->o.store) && settled(ctx) && l->policy->admitted_pools == change_overs_admitted(c, l->policy);
    store_pool_use(c->o.store, l->layout, l->use);
    l->command_n = c->o.rehearses ? 0 : c->o.list(c->o.commands, &l->arena, &l->commands);
    l->settled = l->settled && !l->arena.overflowed && settled(ctx); /* the ledger was read in between */
}

/* Of the group whose pools have the bits from `first` on. */
static void facts_of(const struct look *l, const struct change_over_group *group, unsigned first,
                     struct change_over_facts *ret)
{
    *ret = (struct change_over_facts){
        .wanted = change_over_wanted(l->policy, group), .settled = l->settled, .pool_n = group->pool_n};
    for (size_t k = 0; k < group->pool_n; k++) {
        const struct pool_command_status *command = command_of(l, group->pools[k]);
        struct change_over_pool *p = &ret->pools[k];

        ret->open_n += l->use[first + k].open_n;
        p->pod_n = l->use[first + k].pod_n;
        p->has_command = command != NULL;
        p->state = command != NULL ? command->state : NODE_POOL_CLOSED;
        p->done = command != NULL && command->result == POOL_COMMAND_OK;
    }
}

/* ---- what is waited for ---- */

static uint64_t leaving_pools(const struct change_over_now *g, unsigned first)
{
    uint64_t pools = 0;

    for (size_t k = 0; k < g->pool_n; k++) {
        pools |= (int32_t)k != g->machine.wanted ? UINT64_C(1) << (first + k) : 0;
    }
    return pools;
}

/* Under the lock of the store alone; the result is kept under ours. */
static void see_pods(struct change_overs *c, struct change_over_now *g, const struct look *l,
                     const struct change_over_facts *f, unsigned first)
{
    struct pool_pod pods[CHANGE_OVER_PODS_SHOWN];
    struct arena text;
    size_t n = 0, pod_n = 0;

    arena_init(&text, SHOWN_BYTES_MAX);
    if (g->machine.step == CHANGE_OVER_WAITING) {
        n = store_pool_pods(c->o.store, &text, l->layout, leaving_pools(g, first), pods, CHANGE_OVER_PODS_SHOWN);
        for (size_t k = 0; k < g->pool_n; k++) {
            pod_n += (int32_t)k != g->machine.wanted ? f->pools[k].pod_n : 0;
        }
    }
    mutex_lock(&c->lock);
    arena_fini(&g->shown);
    g->shown = text;
    memcpy(g->pods, pods, n * sizeof(*pods));
    g->shown_n = n;
    g->pod_n = pod_n;
    mutex_unlock(&c->lock);
}

/* Evicts who may be, if it is time. */
static void drain(struct change_overs *c, struct change_over_now *g, const struct look *l,
                  const struct change_over_facts *f, const struct change_over_group *group, unsigned first)
{
    const int64_t now_ns = clock_mono_ns(c->o.clock);
    struct pool_pod *pods;
    struct arena text;
    size_t n;

    if (g->machine.step != CHANGE_OVER_WAITING) {
        g->waits_since_ns = 0;
        return;
    }
    g->waits_since_ns = g->waits_since_ns != 0 ? g->waits_since_ns : now_ns;
    if (!g->drains || c->o.evict == NULL || !f->settled ||
        now_ns - g->waits_since_ns < (int64_t)group->evict_after_ms * NS_PER_MS) {
        return;
    }
    arena_init(&text, LOOK_BYTES_MAX);
    pods = xcalloc(EVICTIONS_MAX, sizeof(*pods));
    n = store_pool_pods(c->o.store, &text, l->layout, leaving_pools(g, first), pods, EVICTIONS_MAX);
    for (size_t i = 0; i < n; i++) {
        if (pods[i].ours && !pods[i].deleting) {
            c->o.evict(c->o.evictions, &pods[i]);
        }
    }
    free(pods);
    arena_fini(&text);
}

/* The first pool whose command failed for the state that it is to be run for. Under the lock. */
static const struct pool_command_status *find_failed(struct change_over_now *g, const struct look *l)
{
    g->failed = CHANGE_OVER_NOBODY;
    for (size_t k = 0; k < g->pool_n; k++) {
        const struct pool_command_status *command = command_of(l, str_of(g->pools[k]));

        if (g->machine.orders[k] != POOL_HOLD && command != NULL && command->result == POOL_COMMAND_FAILED) {
            g->failed = (int32_t)k;
            return command;
        }
    }
    return NULL;
}

/* ---- a look ---- */

/* Again and again: a pool may have got its command since. A group that begins holds its commands: others may have had
 * orders by another group. */
static void give_orders(const struct change_overs *c, const struct change_over_now *g, const enum pool_order *before)
{
    for (size_t k = 0; k < g->pool_n; k++) {
        if (g->machine.orders[k] != before[k] || g->machine.orders[k] != POOL_HOLD ||
            g->told == CHANGE_OVER_STEP__MAX) {
            c->o.order(c->o.commands, str_of(g->pools[k]), g->machine.orders[k]);
        }
    }
}

/* Whether it is at another step now. */
static bool look_at(struct change_overs *c, struct change_over_now *g, const struct look *l,
                    const struct change_over_group *group, unsigned first)
{
    const int64_t now_ms = clock_wall_ms(c->o.clock);
    enum pool_order before[CHANGE_OVER_POOLS_MAX];
    const struct pool_command_status *failed;
    struct change_over_facts f;
    bool fails_anew = false;

    facts_of(l, group, first, &f);
    memcpy(before, g->machine.orders, sizeof(before));
    mutex_lock(&c->lock);
    if (f.wanted != g->machine.wanted) {
        g->began_ms = now_ms;
    }
    change_over_look(&g->machine, &f, now_ms);
    g->drains = group->drain == DRAIN_EVICT;
    failed = find_failed(g, l);
    if (failed != NULL) {
        const char *error = failed->error != NULL ? failed->error : "";

        fails_anew = strcmp(g->error, error) != 0;
        snprintf(g->error, sizeof(g->error), "%s", error);
    } else {
        g->error[0] = '\0';
    }
    mutex_unlock(&c->lock);
    see_pods(c, g, l, &f, first);
    drain(c, g, l, &f, group, first);
    give_orders(c, g, before);
    if (fails_anew) {
        change_overs_tell_failure(c, g);
    }
    if (g->told == g->machine.step) {
        return false;
    }
    g->told = g->machine.step;
    change_overs_tell_step(c, g);
    return true;
}

/* Whether any group is at another step now: then what follows may be due at once. */
static bool look_once(struct change_overs *c, struct look *l, bool (*settled)(void *ctx), void *ctx)
{
    unsigned first = 0;
    bool moved = false;

    gather(c, l, settled, ctx);
    for (size_t i = 0; i < l->policy->change_over_n; i++) {
        moved = look_at(c, c->groups[i], l, &l->policy->change_overs[i], first) || moved;
        first += (unsigned)l->policy->change_overs[i].pool_n;
    }
    return moved;
}

bool change_overs_look(struct change_overs *c, const struct policy *p, bool (*settled)(void *ctx), void *ctx)
{
    const uint64_t before = change_overs_admitted(c, p);
    struct look l = {.policy = p, .layout = node_pools_layout(p)};

    mutex_lock(&c->lock);
    take_groups(c, p, clock_wall_ms(c->o.clock));
    mutex_unlock(&c->lock);
    if (p->change_over_n == 0) {
        return false;
    }
    arena_init(&l.arena, LOOK_BYTES_MAX);
    for (int i = 0; i < CHANGE_OVER_STEP__MAX && look_once(c, &l, settled, ctx); i++) {
        arena_reset(&l.arena);
    }
    arena_fini(&l.arena);
    return change_overs_admitted(c, p) != before;
}

/* ---- life ---- */

struct change_overs *change_overs_new(const struct change_overs_options *o)
{
    struct change_overs *c = xcalloc(1, sizeof(*c));

    c->o = *o;
    mutex_init(&c->lock, "change overs");
    return c;
}

void change_overs_free(struct change_overs *c)
{
    if (c == NULL) {
        return;
    }
    for (size_t i = 0; i < c->group_n; i++) {
        group_free(c->groups[i]);
    }
    free(c->groups);
    mutex_destroy(&c->lock);
    free(c);
}
