#include "fiber.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define STACK_BYTES (512U * 1024)
#define PAUSED_MAX 16

struct fiber {
    ucontext_t context;
    void *stack; /* stays with the fiber when it is used again */
    const char *name;
    void *(*run)(void *);
    void *ctx, *owner;
    struct fiber *next; /* of the waiters, of those that are free, or of those that are paused */
    struct fiber_waiters *waits_in;
    struct fiber_waiters joiners;
    uint64_t wait_n; /* tells a timer whether the wait is still its own */
    unsigned held;   /* locks */
    bool timed_out, ended, detached;
};

struct event {
    int64_t at_ns;
    uint64_t order;
    sim_event_fn *fn; /* NULL: the timer of a fiber */
    void *ctx;
    uint64_t wait_n;
};

static struct {
    struct rng rngs[SIM_STREAM__MAX];
    uint32_t switches;
    int64_t now_ns;
    uint64_t order, event_n;
    struct event *events; /* a heap */
    size_t event_count, event_room;
    struct fiber **ready;
    size_t ready_n, ready_room;
    struct fiber *running, *free;
    void *paused[PAUSED_MAX]; /* owners */
    size_t paused_n;
    void *pauses_at_lock;
    struct fiber *parked; /* ready, but paused */
    ucontext_t outside;
} sim;

void sim_init(uint64_t seed, uint32_t switches)
{
    for (unsigned i = 0; i < SIM_STREAM__MAX; i++) {
        /* what came later leaves the worlds of all seeds as they are */
        rng_init(&sim.rngs[i], i < SIM_KUBELETS ? seed * SIM_KUBELETS + i : ~seed);
    }
    sim.switches = switches;
}

int64_t sim_now_ns(void)
{
    return sim.now_ns;
}

uint64_t sim_event_n(void)
{
    return sim.event_n;
}

uint64_t sim_draw(enum sim_stream of)
{
    return rng_u64(&sim.rngs[of]);
}

uint64_t sim_draw_below(enum sim_stream of, uint64_t n)
{
    return rng_below(&sim.rngs[of], n);
}

/* ---- events ---- */

static bool is_before(const struct event *a, const struct event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void push(struct event e)
{
    size_t i = sim.event_count++;

    if (sim.event_count > sim.event_room) {
        sim.event_room = sim.event_room * 2 + 64;
        sim.events = xreallocarray(sim.events, sim.event_room, sizeof(*sim.events));
    }
    for (; i > 0 && is_before(&e, &sim.events[(i - 1) / 2]); i = (i - 1) / 2) {
        sim.events[i] = sim.events[(i - 1) / 2];
    }
    sim.events[i] = e;
}

static struct event pop(void)
{
    struct event first = sim.events[0], last = sim.events[--sim.event_count];
    size_t i = 0;

    for (;;) {
        size_t child = 2 * i + 1;

        if (child + 1 < sim.event_count && is_before(&sim.events[child + 1], &sim.events[child])) {
            child++;
        }
        if (child >= sim.event_count || is_before(&last, &sim.events[child])) {
            break;
        }
        sim.events[i] = sim.events[child];
        i = child;
    }
    sim.events[i] = last;
    return first;
}

void sim_at(int64_t ns, sim_event_fn *fn, void *ctx)
{
    push((struct event){ns > sim.now_ns ? ns : sim.now_ns, sim.order++, fn, ctx, 0});
}

void sim_in_ms(int64_t ms, sim_event_fn *fn, void *ctx)
{
    sim_at(sim.now_ns + ms * NS_PER_MS, fn, ctx);
}

/* ---- fibers ---- */

bool fiber_is_paused(const void *owner)
{
    for (size_t i = 0; i < sim.paused_n; i++) {
        if (sim.paused[i] == owner) {
            return true;
        }
    }
    return false;
}

static void make_ready(struct fiber *f)
{
    if (fiber_is_paused(f->owner)) {
        f->next = sim.parked;
        sim.parked = f;
        return;
    }
    if (sim.ready_n == sim.ready_room) {
        sim.ready_room = sim.ready_room * 2 + 64;
        sim.ready = xreallocarray(sim.ready, sim.ready_room, sizeof(struct fiber *));
    }
    sim.ready[sim.ready_n++] = f;
}

void fiber_pause(void *owner)
{
    size_t kept_n = 0;

    if (fiber_is_paused(owner)) {
        return;
    }
    BUG_ON(sim.paused_n == PAUSED_MAX);
    sim.paused[sim.paused_n++] = owner;
    for (size_t i = 0; i < sim.ready_n; i++) {
        struct fiber *f = sim.ready[i];

        if (f->owner == owner) {
            make_ready(f); /* is parked */
        } else {
            sim.ready[kept_n++] = f;
        }
    }
    sim.ready_n = kept_n;
}

void fiber_pause_at_lock(void *owner)
{
    sim.pauses_at_lock = owner;
}

void fiber_resume(void *owner)
{
    struct fiber **at = &sim.parked;

    sim.pauses_at_lock = sim.pauses_at_lock == owner ? NULL : sim.pauses_at_lock;
    for (size_t i = 0; i < sim.paused_n; i++) {
        if (sim.paused[i] == owner) {
            sim.paused[i] = sim.paused[--sim.paused_n];
        }
    }
    while (*at != NULL) {
        struct fiber *f = *at;

        if (f->owner == owner) {
            *at = f->next;
            f->next = NULL;
            make_ready(f);
        } else {
            at = &f->next;
        }
    }
}

static void switch_out(void)
{
    struct fiber *f = sim.running;

    sim.running = NULL;
    BUG_ON(swapcontext(&f->context, &sim.outside) != 0);
}

static void give_back(struct fiber *f)
{
    f->next = sim.free;
    sim.free = f;
}

static void fiber_main(void)
{
    struct fiber *f = sim.running;

    (void)f->run(f->ctx);
    f->ended = true;
    fiber_wake(&f->joiners, true);
    switch_out();
    BUG("an ended fiber runs");
}

static struct fiber *fiber_take(void)
{
    struct fiber *f = sim.free;

    if (f != NULL) {
        sim.free = f->next;
        return f;
    }
    f = xcalloc(1, sizeof(*f));
    f->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    BUG_ON(f->stack == MAP_FAILED);
    return f;
}

static void begin_at(ucontext_t *c, void *stack)
{
    BUG_ON(getcontext(c) != 0);
    c->uc_stack.ss_sp = stack;
    c->uc_stack.ss_size = STACK_BYTES;
    c->uc_link = NULL;
    makecontext(c, fiber_main, 0);
}

struct fiber *fiber_spawn(const char *name, void *(*run)(void *), void *ctx, void *owner)
{
    struct fiber *f = fiber_take();

    f->name = name;
    f->run = run;
    f->ctx = ctx;
    f->owner = owner != NULL ? owner : fiber_owner();
    f->next = NULL;
    f->joiners = (struct fiber_waiters){0};
    f->held = 0;
    f->ended = f->detached = false;
    begin_at(&f->context, f->stack);
    make_ready(f);
    return f;
}

void fiber_join(struct fiber *f)
{
    while (!f->ended) {
        (void)fiber_wait(&f->joiners, INT64_MAX);
    }
    give_back(f);
}

void fiber_detach(struct fiber *f)
{
    f->detached = true;
    if (f->ended) {
        give_back(f);
    }
}

void *fiber_owner(void)
{
    return sim.running != NULL ? sim.running->owner : NULL;
}

const char *fiber_name(void)
{
    return sim.running != NULL ? sim.running->name : "world";
}

void fiber_rename(struct fiber *f, const char *name)
{
    f->name = name;
}

static void leave(struct fiber *f)
{
    struct fiber_waiters *w = f->waits_in;
    struct fiber **at = &w->first, *before = NULL;

    for (; *at != f; at = &(*at)->next) {
        before = *at;
    }
    *at = f->next;
    if (w->last == f) {
        w->last = before;
    }
    f->next = NULL;
    f->waits_in = NULL;
    f->wait_n++;
    make_ready(f);
}

bool fiber_wait(struct fiber_waiters *w, int64_t until_ns)
{
    struct fiber *f = sim.running;

    BUG_ON(f == NULL || f->held > 0);
    f->timed_out = false;
    f->waits_in = w;
    f->next = NULL;
    if (w->last != NULL) {
        w->last->next = f;
    } else {
        w->first = f;
    }
    w->last = f;
    if (until_ns != INT64_MAX) {
        push((struct event){until_ns > sim.now_ns ? until_ns : sim.now_ns, sim.order++, NULL, f, f->wait_n});
    }
    switch_out();
    return !f->timed_out;
}

void fiber_wake(struct fiber_waiters *w, bool all)
{
    while (w->first != NULL) {
        leave(w->first);
        if (!all) {
            return;
        }
    }
}

void fiber_locks(void)
{
    struct fiber *f = sim.running;

    if (f == NULL) {
        return;
    }
    if (f->held == 0 && f->owner == sim.pauses_at_lock && f->owner != NULL) {
        sim.pauses_at_lock = NULL;
        fiber_pause(f->owner);
        make_ready(f);
        switch_out();
    } else if (f->held == 0 && sim.switches > 0 && sim.ready_n > 0 &&
               rng_below(&sim.rngs[SIM_ORDER], sim.switches) == 0) {
        make_ready(f);
        switch_out();
    }
    f->held++;
}

void fiber_unlocks(void)
{
    if (sim.running != NULL) {
        sim.running->held--;
    }
}

static void run_one(void)
{
    size_t i = sim.ready_n == 1 ? 0 : rng_below(&sim.rngs[SIM_ORDER], sim.ready_n);
    struct fiber *f = sim.ready[i];

    sim.ready[i] = sim.ready[--sim.ready_n];
    sim.running = f;
    BUG_ON(swapcontext(&sim.outside, &f->context) != 0);
    if (f->ended && f->detached) {
        give_back(f);
    }
}

static void run_all(void)
{
    while (sim.ready_n > 0) {
        run_one();
    }
}

bool sim_turn(void)
{
    struct event e;

    run_all();
    if (sim.event_count == 0) {
        return false;
    }
    e = pop();
    BUG_ON(e.at_ns < sim.now_ns);
    sim.now_ns = e.at_ns;
    if (e.fn != NULL) {
        sim.event_n++;
        e.fn(e.ctx);
    } else {
        struct fiber *f = e.ctx;

        if (f->waits_in != NULL && f->wait_n == e.wait_n) {
            f->timed_out = true;
            leave(f);
        }
    }
    run_all();
    return true;
}
