/* How fast the scheduler comes nearer, how far ahead of it patches must be sent, and how it is kept from overtaking
 * them: looking at all nodes for a pod costs it far more than waiting some milliseconds for the next nomination. */
#include "extender/planner_internal.h"

#include <string.h>

enum {
    POOR_PERMILLE = 300,
    GAP_MAX_MS = 250, /* a scheduler that asks less often than so waits for pods */
    STEP_MS = 2,      /* between two looks at answers that wait */
    SETTLE_STEP_MS = 8,
};

static int64_t smooth(int64_t old, int64_t fresh)
{
    return old == 0 ? fresh : old + (fresh - old) / 8;
}

/* ---- what is observed ---- */

static void note_gap(struct planner *p, const struct planner_ask *ask, int64_t now_ns)
{
    const int64_t gap_ns = now_ns - p->answered_ns;

    if (gap_ns > 0 && gap_ns < GAP_MAX_MS * NS_PER_MS) {
        int64_t *of = ask->name_n == 1 ? &p->alone_ns : &p->among_ns;

        *of = smooth(*of, gap_ns);
    }
    p->answered_ns = now_ns;
}

/* Asked about many nodes although the API server had taken the nomination: the scheduler learned of it too late. */
static void note_knowledge(struct planner *p, struct planned_pod *w, const struct planner_ask *ask)
{
    const int64_t max_ns = PLANNER_SETTLE_MAX_MS * NS_PER_MS;

    if (ask->name_n == 1) {
        w->refused_alone = !ask->some_fit;
        p->settle_ns -= ask->some_fit ? p->settle_ns / 64 : 0;
    } else if (planner_is_outstanding(w) && !w->busy && !w->refused_alone) {
        p->settle_ns += SETTLE_STEP_MS * NS_PER_MS;
        p->settle_ns = p->settle_ns < max_ns ? p->settle_ns : max_ns;
    }
}

void planner_note_ask(struct planner *p, struct planned_pod *w, const struct planner_ask *ask, int64_t now_ns)
{
    note_gap(p, ask, now_ns);
    note_knowledge(p, w, ask);
    if (ask->some_fit) {
        const int64_t gap_ns = now_ns - p->asked_ns < NS_PER_S ? now_ns - p->asked_ns : NS_PER_S;

        p->ask_gap_ns = smooth(p->ask_gap_ns, gap_ns);
        p->asked_ns = now_ns;
    }
}

void planner_note_hit(struct planner *p, bool hit, int64_t now_ns)
{
    if (now_ns < p->poor_until_ns) { /* of nominations that were made before */
        return;
    }
    p->hits_permille += ((hit ? 1000 : 0) - p->hits_permille) / 16;
    if (p->hits_permille > POOR_PERMILLE * 2) {
        p->poor_ms = 0;
    } else if (p->hits_permille < POOR_PERMILLE) {
        p->poor_ms = p->poor_ms == 0 ? PLANNER_PAUSE_MS : p->poor_ms * 2;
        p->poor_ms = p->poor_ms < PLANNER_PAUSE_MAX_MS ? p->poor_ms : PLANNER_PAUSE_MAX_MS;
        p->poor_until_ns = now_ns + p->poor_ms * NS_PER_MS;
        p->hits_permille = POOR_PERMILLE * 3 / 2; /* what comes after it counts */
        planner_drop_block(p);
    }
}

/* ---- how far ahead ---- */

uint32_t planner_lead(const struct planner *p, int64_t now_ns)
{
    const int64_t idle_ns = now_ns - p->asked_ns; /* it may have stopped */
    const int64_t gap_ns = idle_ns > p->ask_gap_ns ? idle_ns : p->ask_gap_ns;
    int64_t n;

    if (p->patch_ns == 0 || p->ask_gap_ns == 0) {
        return PLANNER_LEAD_MIN;
    }
    n = 1 + (p->patch_ns + p->settle_ns) / (gap_ns > 0 ? gap_ns : 1);
    n = n > PLANNER_LEAD_MIN ? n : PLANNER_LEAD_MIN;
    return n < PLANNER_LEAD_MAX ? (uint32_t)n : PLANNER_LEAD_MAX;
}

/* ---- answers that wait ---- */

/* Are the next pods nominated, as far as the scheduler can know, or is nothing to be waited for? */
static bool is_near(const struct planner *p, int64_t now_ns)
{
    uint32_t ready_n = 0, coming_n = 0;

    for (uint32_t i = 0; i < p->outstanding_n && ready_n < PLANNER_READY; i++) {
        const struct planned_pod *w = p->outstanding[i];

        if (now_ns - w->asked_ns >= PLANNER_ASKED_MS * NS_PER_MS) {
            const bool ready = !w->busy && now_ns - w->landed_ns >= p->settle_ns;

            ready_n += ready;
            coming_n += !ready;
        }
    }
    return ready_n < PLANNER_READY && coming_n > 0;
}

/* What looking at all nodes costs the scheduler more than looking at one. */
static int64_t hold_ns(const struct planner *p)
{
    const int64_t max_ns = PLANNER_HOLD_MAX_MS * NS_PER_MS, saved_ns = p->among_ns - p->alone_ns;

    return p->among_ns == 0 || p->alone_ns == 0 || saved_ns < 0 ? 0 : saved_ns < max_ns ? saved_ns : max_ns;
}

static bool must_wait(const struct planner *p, struct str uid)
{
    const struct planned_pod *w =
        p->enabled && !p->stopping && p->held_n < PLANNER_HELD_MAX && hold_ns(p) > 0 ? planner_find(p, uid) : NULL;

    return w != NULL && planner_is_outstanding(w) && is_near(p, clock_mono_ns(p->options.clock));
}

bool planner_holds(struct planner *p, struct str uid)
{
    bool wait;

    if (p == NULL) {
        return false;
    }
    mutex_lock(&p->lock);
    wait = must_wait(p, uid);
    mutex_unlock(&p->lock);
    return wait;
}

bool planner_lets_go(struct planner *p, struct str uid, void (*go)(void *ctx), void *ctx)
{
    bool wait;

    mutex_lock(&p->lock);
    wait = must_wait(p, uid);
    if (wait) {
        p->held[p->held_n++] = (struct planner_waiter){go, ctx, clock_mono_ns(p->options.clock) + hold_ns(p)};
        p->status.paced_n++;
        condvar_signal(&p->held_changed);
    }
    mutex_unlock(&p->lock);
    return !wait;
}

/* Moves those that may go to `ret`. */
static size_t take_ready(struct planner *p, struct planner_waiter ret[PLANNER_HELD_MAX], int64_t now_ns)
{
    const bool all = p->held_n > 0 && (!p->enabled || p->stopping || !is_near(p, now_ns));
    size_t n = 0, kept = 0;

    for (size_t i = 0; i < p->held_n; i++) {
        if (all || now_ns >= p->held[i].until_ns) {
            ret[n++] = p->held[i];
        } else {
            p->held[kept++] = p->held[i];
        }
    }
    p->held_n = kept;
    p->answered_ns = n > 0 ? now_ns : p->answered_ns;
    return n;
}

void planner_release(struct planner *p)
{
    struct planner_waiter ready[PLANNER_HELD_MAX];
    size_t n;

    mutex_lock(&p->lock);
    n = take_ready(p, ready, clock_mono_ns(p->options.clock));
    mutex_unlock(&p->lock);
    for (size_t i = 0; i < n; i++) {
        ready[i].go(ready[i].ctx);
    }
}

void *planner_pace_main(void *arg)
{
    struct planner *p = arg;

    mutex_lock(&p->lock);
    while (!p->stopping) {
        mutex_unlock(&p->lock);
        planner_release(p);
        mutex_lock(&p->lock);
        if (!p->stopping) {
            (void)condvar_wait_until(&p->held_changed, &p->lock,
                                     p->held_n > 0 ? sync_in_ns(STEP_MS * NS_PER_MS) : INT64_MAX);
        }
    }
    mutex_unlock(&p->lock);
    planner_release(p); /* no answer waits any more */
    return NULL;
}
