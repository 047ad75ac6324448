/* sim/fiber.h - threads and time of the simulation: one thread of the machine, one seeded order of everything.
 *
 * Each thread of the simulated processes is a fiber with a stack of its own; who runs next is drawn from a seeded
 * generator. Time stands still while a fiber runs. When no fiber can run, the next event of the queue is taken, and the
 * clock jumps to it. So the same seed gives the same run, to the last step.
 *
 * The production code is not changed for this and does not know: the simulation is linked with --wrap for the calls of
 * pthreads, clock_gettime and getrandom (fiber_wrap.c), which base/sync.c, base/clock.c and base/rng.c make. A fiber is
 * switched where a real thread waits and, at random, before it takes a lock while it holds none: so threads meet in all
 * orders of their critical sections. What lies between two locks runs in one piece.
 *
 * A fiber belongs to an owner (a simulated process), which its children inherit. An owner may be paused, as by SIGSTOP:
 * none of its fibers runs, while time goes on.
 */
#ifndef SIM_FIBER_H
#define SIM_FIBER_H

#include <stdbool.h>
#include <stdint.h>

struct fiber;
struct fiber_waiters { /* in order of arrival; all zero is empty */
    struct fiber *first, *last;
};

typedef void sim_event_fn(void *ctx);

/* Who draws. Each has a generator of its own, so that what one of them leaves out (mask.h) changes nothing of what the
 * others draw. A file says at its top which is its own: #define SIM_STREAM SIM_USERS. */
enum sim_stream {
    SIM_WORLD,  /* storms */
    SIM_FLEET,  /* lives of processes */
    SIM_ORDER,  /* who runs next */
    SIM_SYSTEM, /* what the product draws */
    SIM_NET,    /* what goes wrong on the way */
    SIM_USERS,
    SIM_ADMINS, /* nodes, configurations */
    SIM_SCHEDULER,
    SIM_KUBELETS,
    SIM_STREAM__MAX
};
#ifndef SIM_STREAM
#define SIM_STREAM SIM_WORLD
#endif

/* Before everything else. `switches`: one lock in so many is preceded by a switch; 0: none. */
void sim_init(uint64_t seed, uint32_t switches);
int64_t sim_now_ns(void); /* since the beginning */
/* Calls fn(ctx), outside of any fiber, at that moment or at once if it has passed. Same moments: in order of calls. */
void sim_at(int64_t ns, sim_event_fn *fn, void *ctx);
void sim_in_ms(int64_t ms, sim_event_fn *fn, void *ctx);
/* Takes one event, and lets fibers run until none can. False: there is none. */
bool sim_turn(void);
/* Taken so far, timers of fibers not counted: the steps. */
uint64_t sim_event_n(void);

uint64_t sim_draw(enum sim_stream of);
uint64_t sim_draw_below(enum sim_stream of, uint64_t n);
/* From the generator of the file: */
static inline uint64_t sim_below(uint64_t n) /* 0 <= result < n */
{
    return sim_draw_below(SIM_STREAM, n);
}
static inline bool sim_chance(uint32_t per_mille) /* draws whatever it is, 0 as well */
{
    return sim_draw_below(SIM_STREAM, 1000) < per_mille;
}

/* `owner` NULL: the caller's. */
struct fiber *fiber_spawn(const char *name, void *(*run)(void *), void *ctx, void *owner);
void fiber_join(struct fiber *f);
void fiber_detach(struct fiber *f);
void *fiber_owner(void); /* of the running fiber; NULL outside */
const char *fiber_name(void);
void fiber_rename(struct fiber *f, const char *name);
/* From now on, or from the moment at which a fiber of it next takes its first lock (if that does not come, it has no
 * effect). What its fibers waited for may come meanwhile; they find it when they go on. */
void fiber_pause(void *owner);
void fiber_pause_at_lock(void *owner);
void fiber_resume(void *owner);
bool fiber_is_paused(const void *owner);
/* Only in a fiber. False: until_ns (INT64_MAX: never) has passed. */
bool fiber_wait(struct fiber_waiters *w, int64_t until_ns);
void fiber_wake(struct fiber_waiters *w, bool all);
/* The running fiber takes a lock (perhaps after a switch), or has let go of one. */
void fiber_locks(void);
void fiber_unlocks(void);

#endif
