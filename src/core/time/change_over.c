#include "core/time/change_over.h"

#include "base/bug.h"

const char *change_over_step_name(enum change_over_step s)
{
    static const char *const names[CHANGE_OVER_STEP__MAX] = {
        [CHANGE_OVER_CLOSING] = "closing",
        [CHANGE_OVER_WAITING] = "waiting",
        [CHANGE_OVER_CLOSE_COMMANDS] = "close_commands",
        [CHANGE_OVER_OPEN_COMMAND] = "open_command",
        [CHANGE_OVER_OPENING] = "opening",
        [CHANGE_OVER_OPEN] = "open",
        [CHANGE_OVER_CLOSED] = "closed",
        [CHANGE_OVER_CONFLICT] = "conflict",
    };

    BUG_ON((unsigned)s >= CHANGE_OVER_STEP__MAX);
    return names[s];
}

bool change_over_step_is_last(enum change_over_step s)
{
    return s == CHANGE_OVER_OPEN || s == CHANGE_OVER_CLOSED;
}

int32_t change_over_wanted(const struct policy *p, const struct change_over_group *g)
{
    int32_t wanted = CHANGE_OVER_NOBODY;

    for (size_t k = 0; k < g->pool_n; k++) {
        enum node_pool_state state = NODE_POOL_CLOSED;

        for (size_t i = 0; i < p->node_pool_n; i++) {
            state = str_eq(p->node_pools[i].name, g->pools[k]) ? p->node_pools[i].state : state;
        }
        if (state == NODE_POOL_OPEN) {
            wanted = wanted == CHANGE_OVER_NOBODY ? (int32_t)k : CHANGE_OVER_SEVERAL;
        }
    }
    return wanted;
}

static void hold_all(struct change_over *c)
{
    for (size_t i = 0; i < CHANGE_OVER_POOLS_MAX; i++) {
        c->orders[i] = POOL_HOLD;
    }
}

static void enter(struct change_over *c, enum change_over_step step, int64_t now_ms)
{
    if (c->step != step) {
        c->step = step;
        c->since_ms = now_ms;
    }
}

void change_over_init(struct change_over *c, int64_t now_ms)
{
    *c = (struct change_over){.since_ms = now_ms, .wanted = CHANGE_OVER_NOBODY, .admitted = CHANGE_OVER_NOBODY};
}

static bool is_done(const struct change_over_pool *p, enum node_pool_state state)
{
    return !p->has_command || (p->done && p->state == state);
}

/* Of the pools that leave. */
static size_t pods_that_hold(const struct change_over *c, const struct change_over_facts *f)
{
    size_t n = 0;

    for (size_t i = 0; i < f->pool_n; i++) {
        n += (int32_t)i != c->wanted ? f->pools[i].pod_n : 0;
    }
    return n;
}

/* Orders the commands that close; whether all of them are done. */
static bool close_others(struct change_over *c, const struct change_over_facts *f)
{
    bool done = true;

    for (size_t i = 0; i < f->pool_n; i++) {
        if ((int32_t)i != c->wanted) {
            c->orders[i] = POOL_RUN_CLOSED;
            done = done && is_done(&f->pools[i], NODE_POOL_CLOSED);
        }
    }
    return done;
}

/* No pool takes pods and the leaving ones hold none: what is left are the commands. */
static void run_commands(struct change_over *c, const struct change_over_facts *f, int64_t now_ms)
{
    if (!close_others(c, f)) {
        enter(c, CHANGE_OVER_CLOSE_COMMANDS, now_ms);
    } else if (c->wanted == CHANGE_OVER_NOBODY) {
        enter(c, CHANGE_OVER_CLOSED, now_ms);
    } else {
        c->orders[c->wanted] = POOL_RUN_OPEN;
        if (is_done(&f->pools[c->wanted], NODE_POOL_OPEN)) {
            c->admitted = c->wanted;
            enter(c, CHANGE_OVER_OPENING, now_ms);
        } else {
            enter(c, CHANGE_OVER_OPEN_COMMAND, now_ms);
        }
    }
}

void change_over_look(struct change_over *c, const struct change_over_facts *f, int64_t now_ms)
{
    BUG_ON(f->pool_n > CHANGE_OVER_POOLS_MAX || f->wanted >= (int32_t)f->pool_n);
    if (f->wanted != c->wanted) { /* `settled` does not speak of this */
        c->wanted = f->wanted;
        c->admitted = CHANGE_OVER_NOBODY;
        hold_all(c);
        c->step = CHANGE_OVER_STEP__MAX; /* since now, even if it was closing before */
        enter(c, c->wanted == CHANGE_OVER_SEVERAL ? CHANGE_OVER_CONFLICT : CHANGE_OVER_CLOSING, now_ms);
        return;
    }
    if (c->admitted != CHANGE_OVER_NOBODY) {
        enter(c, c->step == CHANGE_OVER_OPEN || f->settled ? CHANGE_OVER_OPEN : CHANGE_OVER_OPENING, now_ms);
        return;
    }
    hold_all(c);
    if (c->wanted == CHANGE_OVER_SEVERAL || !f->settled) {
        return; /* nothing goes on that cannot be seen; the step stays */
    }
    if (f->open_n > 0) {
        enter(c, CHANGE_OVER_CLOSING, now_ms);
    } else if (pods_that_hold(c, f) > 0) {
        enter(c, CHANGE_OVER_WAITING, now_ms);
    } else {
        run_commands(c, f, now_ms);
    }
}
