#define SIM_STREAM SIM_FLEET
#include "fleet.h"

#include "api.h"
#include "fiber.h"
#include "leases.h"
#include "mask.h"
#include "oracle.h"
#include "process.h"
#include "trace.h"
#include "world.h"

#include "base/bug.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS_MAX = 3, ROLL_MS = 10000 };

struct slot {
    struct process *p; /* NULL: none yet */
    uint64_t life;     /* which one is meant by a death that was planned */
    bool ending;       /* the next one is started when it has gone */
};

static struct {
    enum fleet kind;
    unsigned n;
    int64_t mean_life_ms;
    uint32_t pauses, cuts, edits; /* per mille of acts; edits: of Leases */
    struct slot slots[SLOTS_MAX];
    bool calm, over;
} f;

/* ---- lives ---- */

static void born(void *ctx);
static void dies(void *ctx);

static void plan_death(struct slot *s)
{
    if (!f.calm) {
        sim_in_ms(1 + (int64_t)sim_below((uint64_t)f.mean_life_ms * 2), dies,
                  (void *)(uintptr_t)(s->life * SLOTS_MAX + (uint64_t)(s - f.slots)));
    }
}

static void ends_later(void *ctx)
{
    struct process *p = ctx;

    if (!p->cut && !p->ends && !f.over) {
        world_counts.ended_n++;
        process_end(p, 5000);
    }
}

/* The next one is there before this one has gone. */
static void roll_over(struct slot *s)
{
    struct process *before = s->p;

    world_counts.rolled_n++;
    born(s);
    sim_in_ms(sim_chance(500) ? 0 : (int64_t)sim_below(ROLL_MS), ends_later, before);
}

static void dies(void *ctx)
{
    struct slot *s = &f.slots[(uintptr_t)ctx % SLOTS_MAX];
    struct process *p = s->p;

    if ((uint64_t)(uintptr_t)ctx / SLOTS_MAX != s->life || f.calm || f.over || p->cut || p->ends) {
        return;
    }
    if (p->runtime != NULL && f.kind != FLEET_ONE && s == f.slots && sim_chance(300) && mask_allows(DO_ROLLS)) {
        roll_over(s);
    } else if (p->runtime != NULL && sim_chance(300) && mask_allows(DO_ENDS)) {
        world_counts.ended_n++;
        s->ending = true;
        process_end(p, 5000);
    } else if (mask_allows(DO_KILLS)) {
        world_counts.killed_n++;
        process_kill(p);
        sim_in_ms(sim_chance(500) ? 0 : (int64_t)sim_below(4000), born, s);
    }
}

static bool is_mistake(const struct slot *s)
{
    return f.kind == FLEET_MISTAKE && s > f.slots;
}

static void born(void *ctx)
{
    struct slot *s = ctx;

    if (f.over || (is_mistake(s) && f.calm)) {
        return;
    }
    s->ending = false;
    s->p = process_start(false);
    s->life++;
    plan_death(s);
}

void fleet_storm(void)
{
    f.calm = false;
    for (unsigned i = 0; i < f.n; i++) {
        struct slot *s = &f.slots[i];

        if (is_mistake(s)) {
            sim_in_ms((int64_t)sim_below(40000), born, s);
        } else if (s->p != NULL) {
            plan_death(s);
        }
    }
}

void fleet_calm(void)
{
    f.calm = true;
    for (struct process *p = process_next(NULL); p != NULL; p = process_next(p)) {
        process_resume(p);
        p->unreachable_until_ns = 0;
    }
    for (unsigned i = 1; i < f.n && f.kind == FLEET_MISTAKE; i++) {
        if (f.slots[i].p != NULL) {
            ends_later(f.slots[i].p);
        }
    }
}

void fleet_over(void)
{
    f.over = true;
}

void fleet_init(const struct climate *c)
{
    BUG_ON(c->fgpus > SLOTS_MAX);
    f.kind = c->fleet;
    f.n = c->fgpus;
    f.mean_life_ms = c->mean_life_ms;
    f.pauses = sim_chance(400) ? 0 : (uint32_t)sim_below(12);
    f.cuts = sim_chance(500) ? 0 : (uint32_t)sim_below(8);
    f.edits = (f.kind != FLEET_LEASE && f.kind != FLEET_STRICT) || sim_chance(300) ? 0 : (uint32_t)sim_below(10);
    for (unsigned i = 0; i < f.n; i++) {
        if (is_mistake(&f.slots[i])) {
            sim_in_ms((int64_t)sim_below(40000), born, &f.slots[i]);
        } else {
            born(&f.slots[i]);
        }
    }
}

/* ---- what happens to them ---- */

static struct process *any(void)
{
    struct process *p = f.slots[sim_below(f.n)].p;

    return p != NULL && !p->cut && !p->gone ? p : NULL;
}

static void goes_on(void *ctx)
{
    process_resume(ctx);
}

/* Are they safe however long one is away? */
static bool is_timeless(void)
{
    return f.kind == FLEET_LEASE || f.kind == FLEET_STRICT;
}

static void pause_one(struct process *p)
{
    const uint64_t most_ms = sim_chance(500) ? 2000 : is_timeless() ? 20000 : 12000;
    const bool at_lock = sim_chance(500);
    const int64_t ms = 10 + (int64_t)sim_below(most_ms);

    if (mask_allows(DO_PAUSES)) {
        world_counts.paused_n++;
        process_pause(p, at_lock);
        sim_in_ms(ms, goes_on, p);
    }
}

static void ends_now(void *ctx)
{
    struct slot *s = ctx;

    if (!f.over && !f.calm && !s->p->cut && !s->p->ends && s->p->runtime != NULL && mask_allows(DO_ENDS)) {
        world_counts.ended_n++;
        s->ending = true;
        process_end(s->p, 5000);
    }
}

/* An admin edits it because the one that leads hangs, and perhaps ends the wrong one soon after. */
static void edit_of_one_that_hangs(void)
{
    struct slot *hangs = NULL, *other;

    for (unsigned i = 0; i < f.n; i++) {
        hangs = process_is_ready(f.slots[i].p) ? &f.slots[i] : hangs;
    }
    if (hangs == NULL) {
        return;
    }
    pause_one(hangs->p);
    leases_edit_election(true);
    other = &f.slots[((size_t)(hangs - f.slots) + 1) % f.n];
    if (other != hangs) {
        sim_in_ms(500 + (int64_t)sim_below(3000), ends_now, other);
    }
}

void fleet_act(void)
{
    struct process *p = any();

    if (sim_chance(f.pauses) && p != NULL) {
        pause_one(p);
    }
    if (sim_chance(f.cuts) && p != NULL && mask_allows(DO_CUTS)) {
        api_unreachable(p, 100 + (int64_t)sim_below(is_timeless() ? 15000 : 5000));
    }
    if (sim_chance(f.edits) && mask_allows(DO_LEASE_EDITS)) {
        if (f.kind == FLEET_STRICT) {
            leases_edit_intents();
        } else if (sim_chance(500)) {
            edit_of_one_that_hangs();
        } else {
            leases_edit_election(false);
        }
    }
}

void fleet_step(void)
{
    for (unsigned i = 0; i < f.n; i++) {
        struct slot *s = &f.slots[i];

        if (s->p != NULL && s->ending && s->p->gone) {
            s->ending = false;
            sim_in_ms((int64_t)sim_below(3000), born, s);
        }
    }
    for (struct process *p = process_next(NULL); p != NULL; p = process_next(p)) {
        if (p->lost && !p->ends && !p->cut && !process_is_paused(p)) {
            world_counts.lost_n++;
            for (unsigned i = 0; i < f.n; i++) {
                f.slots[i].ending = f.slots[i].ending || f.slots[i].p == p;
            }
            process_end(p, 0);
        }
    }
}

const char *fleet_text(char *buf, size_t size)
{
    static const char *const kinds[] = {"alone", "by a Lease", "by mistake", "strict"};

    snprintf(buf, size, "%u %s: %llu pauses, %llu rolled over, %llu lost, %llu successors, %llu incidents checked", f.n,
             kinds[f.kind], (unsigned long long)world_counts.paused_n, (unsigned long long)world_counts.rolled_n,
             (unsigned long long)world_counts.lost_n, (unsigned long long)oracle_counts.successor_n,
             (unsigned long long)oracle_counts.incident_n);
    return buf;
}

/* ---- who is asked ---- */

unsigned fleet_ready_in_calm_n(void)
{
    return f.kind == FLEET_STRICT ? f.n : 1;
}

unsigned fleet_ready_n(void)
{
    unsigned n = 0;

    for (struct process *p = process_next(NULL); p != NULL; p = process_next(p)) {
        n += !p->rehearses && process_is_ready(p);
    }
    return n;
}

static uint64_t caller_below(uint64_t n)
{
    return sim_draw_below(SIM_SCHEDULER, n);
}

struct process *fleet_target(void)
{
    struct process *ready[8];
    uint64_t n = 0;

    if (f.n == 1 && f.kind == FLEET_ONE) {
        return f.slots[0].p;
    }
    for (struct process *p = process_next(NULL); p != NULL && n < 8; p = process_next(p)) {
        if (!p->rehearses && process_is_ready(p)) {
            ready[n++] = p;
        }
    }
    if (n > 0 && (f.calm || caller_below(1000) < 850)) {
        return ready[caller_below(n)];
    }
    for (unsigned i = (unsigned)caller_below(f.n), tries = 0; tries < f.n; i = (i + 1) % f.n, tries++) {
        if (f.slots[i].p != NULL) {
            return f.slots[i].p;
        }
    }
    BUG("there is no process");
}
