#include "world.h"

#include "api.h"
#include "etcd.h"
#include "fiber.h"
#include "fleet.h"
#include "kubelets.h"
#include "mask.h"
#include "oracle.h"
#include "process.h"
#include "scheduler.h"
#include "trace.h"
#include "users.h"

#include "base/bug.h"
#include "base/clock.h"
#include "cmd/runtime_internal.h"
#include "extender/audit.h"

#include <stdlib.h>
#include <string.h>

enum {
    STORM_MS = 60000,
    CALM_MS = 100000, /* longer than any pause between the tries of a bind */
    READ_MS = 30000,  /* for a fresh process to read and verify everything */
};

struct world_counts world_counts;

static struct {
    struct climate climate;
    struct weather storm;
    uint32_t stalls; /* per mille of what users do */
    struct process *fresh;
    bool calm, over;
} w;

bool world_pod_was_bound(const char *uid)
{
    const struct object *o = etcd_find_uid(uid);

    return o == NULL || o->node[0] != '\0';
}

/* ---- storm and calm ---- */

/* etcd stalls: for a while every write is late, if it ever lands, and half of the reads fail. */
static void stall_ends(void *ctx)
{
    (void)ctx;
    if (!w.calm) {
        api_weather(&w.storm);
    }
}

static void stall(void)
{
    struct weather s = w.storm;

    TRACE("etcd stalls");
    s.late = 1000;
    s.never = (uint32_t)sim_below(500);
    s.late_ms = s.late_ms > 12000 ? s.late_ms : 12000;
    s.fail = (uint32_t)sim_below(500);
    api_weather(&s);
    sim_in_ms(1000 + (int64_t)sim_below(9000), stall_ends, NULL);
}

static void acts(void *ctx)
{
    (void)ctx;
    if (w.over) {
        return;
    }
    if (!w.calm) {
        users_act();
        fleet_act();
        if (sim_chance(5) && mask_allows(DO_BREAKS)) {
            api_break_a_watch(sim_chance(300) && mask_allows(DO_SILENCE));
        }
        if (sim_chance(w.stalls) && mask_allows(DO_STALLS)) {
            stall();
        }
        if (sim_chance(1) && mask_allows(DO_SCHEDULER_RESTARTS)) {
            scheduler_restart();
        }
    }
    sim_in_ms(1 + (int64_t)sim_below(w.calm ? 1000 : 120), acts, NULL);
}

static void begin_storm(void *ctx);

static void compare(void *ctx)
{
    (void)ctx;
    if (w.over) {
        return;
    }
    if (w.fresh->runtime != NULL && store_is_synced(w.fresh->runtime->store)) {
        for (struct process *p = process_next(NULL); p != NULL; p = process_next(p)) {
            if (p != w.fresh && p->runtime != NULL && !p->ends && !p->cut) {
                oracle_compare(p, w.fresh);
            }
        }
    } else {
        found("fgpu %u has not read the cluster within %d ms although all is calm", w.fresh->number, READ_MS);
    }
    process_kill(w.fresh);
    w.fresh = NULL;
    begin_storm(NULL);
}

static void calm_ends(void *ctx)
{
    (void)ctx;
    if (w.over) {
        return;
    }
    if (fleet_ready_n() != fleet_ready_in_calm_n()) {
        found("%u fgpu are ready although all has been calm for long", fleet_ready_n());
    }
    for (struct process *p = process_next(NULL); p != NULL; p = process_next(p)) {
        if (process_is_ready(p)) {
            oracle_calm_pods(p);
        }
        if (p->runtime != NULL && !p->ends && !p->cut) {
            oracle_calm(p);
        }
    }
    w.fresh = process_start(true);
    sim_in_ms(READ_MS, compare, NULL);
}

static void storm_ends(void *ctx)
{
    const struct weather none = {.orphan_ms = w.storm.orphan_ms};

    (void)ctx;
    if (w.over) {
        return;
    }
    TRACE("---- calm");
    w.calm = true;
    world_counts.calm_n++;
    api_weather(&none);
    api_break_silent();
    users_tidy();
    fleet_calm();
    sim_in_ms(CALM_MS, calm_ends, NULL);
}

static void begin_storm(void *ctx)
{
    (void)ctx;
    TRACE("---- storm");
    w.calm = false;
    api_weather(&w.storm);
    fleet_storm();
    sim_in_ms(STORM_MS / 2 + (int64_t)sim_below(STORM_MS), storm_ends, NULL);
}

/* How bad it is, drawn once for a seed: some seeds have much of one thing. */
static struct weather draw(const struct climate *c, int64_t lag_ms)
{
    struct weather s = {.late_ms = sim_chance(500) ? 3000 : 40000,
                        .lag_ms = lag_ms,
                        .orphan_ms = c->late_after_death || c->fleet == FLEET_LEASE || c->fleet == FLEET_STRICT
                                         ? 60000
                                         : HOLD_OFF_MS - lag_ms - 1500};
    uint32_t *const each[] = {&s.refuse, &s.busy, &s.forbid, &s.late, &s.lose,
                              &s.twice,  &s.fail, &s.slow,   &s.lag,  &s.expire};

    for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
        *each[i] = sim_chance(300) ? 0 : sim_chance(200) ? 300 : (uint32_t)sim_below(80);
    }
    s.never = (uint32_t)sim_below(1000);
    if (c->late_after_death) {
        s.late = 100 + (uint32_t)sim_below(300);
        s.never = (uint32_t)sim_below(300);
        s.late_ms = 5000 + (int64_t)sim_below(20000);
    }
    s.pages = sim_chance(300) ? 0 : (uint32_t)sim_below(1000);
    s.no_lists = sim_chance(300) ? 1000 : (uint32_t)sim_below(100);
    return s;
}

void world_init(const struct climate *c, int64_t lag_ms)
{
    w.climate = *c;
    oracle_init(c->fleet, lag_ms + 500);
    api_init(c->servers);
    etcd_write(etcd_new(RUN_OBJECT, "run"));
    etcd_write(etcd_new(WAKE_OBJECT, "wake"));
    users_init(c);
    w.storm = draw(c, lag_ms);
    w.stalls = sim_chance(500) ? 0 : (uint32_t)sim_below(5);
    scheduler_init((uint32_t)sim_below(800), (uint32_t)sim_below(300), lag_ms, c->fleet == FLEET_STRICT);
    begin_storm(NULL);
    fleet_init(c);
    kubelets_init();
    acts(NULL);
}

/* No event was lost, so there is nothing for an audit to repair. */
static void look_at_audit(struct process *p)
{
    struct audit_report r;

    if (p->runtime == NULL || p->cut || p->ends || p->had_silence || process_is_paused(p)) {
        return;
    }
    audit_last(p->runtime->audit, &r);
    if (r.drift_n > 0 || r.result == AUDIT_BROKEN) {
        found("an audit of fgpu %u found drift in %llu objects%s%s although its watches told it everything", p->number,
              (unsigned long long)r.drift_n, r.invariant != NULL ? ", and: " : "",
              r.invariant != NULL ? r.invariant : "");
    }
}

void world_step(void)
{
    for (struct process *p = process_next(NULL); p != NULL; p = process_next(p)) {
        if (!p->rehearses) {
            (void)process_is_ready(p);
            oracle_step(p);
        }
        if (sim_event_n() % 1024 == 0) {
            look_at_audit(p);
        }
    }
    fleet_step();
}

void world_end(void)
{
    const int64_t until_ns = sim_now_ns() + 60 * NS_PER_S;

    w.over = true;
    fleet_over();
    for (struct process *p = process_next(NULL), *next; p != NULL; p = next) {
        next = process_next(p);
        process_resume(p);
        if (!p->cut && !p->ends) {
            process_kill(p);
        }
    }
    while (!process_all_gone() && sim_now_ns() < until_ns && sim_turn()) {
    }
    if (!process_all_gone()) {
        found("a process does not end");
    }
    kubelets_end();
}
