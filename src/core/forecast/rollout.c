/* How much of what is left on a node would the pods to come fill? One number per residual, in milli.
 *
 * The idea (packing.md 5.1). What an idle part of a GPU is worth depends on who will come for it. So sampled pods are
 * placed on the residual, and what they fill is its value. There are ROLLOUT_LISTS lists of sampled pods. Going down a
 * list, each pod that fits is placed at once, on the tightest device that takes it; each pod that does not fit is
 * dropped. The result is the sum over the lists. Two values are asked for: `filled` counts only pods with GPUs; `among`
 * takes the first ROLLOUT_AMONG pods of each list, pods without GPUs included, which use up cores and memory.
 *
 * How it is fast. A list has at most 64 pods, so a set of its pods is one 64-bit word, where bit i is the i-th pod of
 * the list. For each step of free cores, of host memory and of compute there is the set of the pods that ask for no
 * more (rollout_samples.c). The pods that may fit now are the intersection of three sets, and the next one is its
 * lowest bit. Pods that cannot fit are never looked at. The sets are a little too large, because several amounts share
 * a step; so each pod from the intersection is compared exactly. A pod outside surely does not fit. The result is
 * exact, not an estimate.
 *
 * One pass looks at each pod of a list at most once, and at O(devices) numbers for each; 16 passes make a rollout. Most
 * passes end early, because a node takes few pods before its GPUs are full.
 *
 * What else a pass finds out. A pass reads cores and memory only to ask "is it enough for this pod?". So it also says
 * for which other amounts all answers would be the same (struct rollout_pass: bounds). rollout_memo.c uses that to
 * answer for other residuals with the same devices. The bounds must be right; they may be narrower than they need be.
 *
 * Invariants. Free amounts only fall during a pass, so a set that was computed earlier is never too small, and a pod
 * that did not fit need not be tried again. The order of the list is the order of arrival and decides; the order in
 * which devices are named on the node does not. All amounts are integers, so every replica finds the same value.
 */
#include "core/forecast/rollout_internal.h"

#include "base/bug.h"

#include <string.h>

/* ---- devices of one kind: nearly every node ----
 *
 * A device is one number, milli in the upper half and memory in the lower half. The numbers are kept ascending, so the
 * first device that fits is the tightest: it has the least compute and, among equals, the least memory. */

/* The first device for so much of each of `count`; n: there are fewer that fit. */
static inline unsigned find_device(const struct rollout_devices *p, uint64_t charge, unsigned count)
{
    const uint64_t milli = charge >> 32 << 32, mem = (uint32_t)charge;
    unsigned first = 0, fit_n = 1;

    /* Those with too little compute come first. Counting them takes no branch; what is behind the end is never less. */
    for (unsigned i = 0; i < p->n; i += ROLLOUT_DEVICES_STEP) {
        first += (unsigned)((p->d[i] < milli) + (p->d[i + 1] < milli) + (p->d[i + 2] < milli) + (p->d[i + 3] < milli));
    }
    while (first < p->n && (uint32_t)p->d[first] < mem) { /* from here on all have the compute; memory is in no order */
        first++;
    }
    for (unsigned i = first + 1; i < p->n && fit_n < count; i++) {
        fit_n += (uint32_t)p->d[i] >= mem;
    }
    return fit_n < count ? p->n : first;
}

/* A device that gives something becomes smaller, so it moves to the left; those behind it stay where they are. Both
 * halves suffice, so nothing is borrowed between them. */
static inline void take_from(struct rollout_devices *p, uint64_t *device, uint64_t charge)
{
    uint64_t v = *device - charge;

    for (; device > p->d && device[-1] > v; device--) {
        *device = device[-1];
    }
    *device = v;
}

/* Takes the `count` tightest, from the one that was found on. What stands behind a device that was taken has not moved,
 * so none is taken twice. */
static inline void take_devices(struct rollout_devices *p, uint64_t charge, unsigned count, unsigned first)
{
    uint64_t *next = &p->d[first];

    take_from(p, next, charge);
    while (--count > 0) {
        do {
            next++;
        } while ((uint32_t)*next < (uint32_t)charge);
        take_from(p, next, charge);
    }
}

static inline int32_t largest(const struct rollout_devices *p)
{
    return (int32_t)(p->d[p->n - 1] >> 32);
}

static int32_t sum_milli(const struct rollout_devices *p)
{
    int32_t sum = 0;

    for (unsigned i = 0; i < p->n; i++) {
        sum += (int32_t)(p->d[i] >> 32);
    }
    return sum;
}

/* The memory of devices of one kind is known of all or of none. */
void rollout_devices(const struct rollout_samples *s, const struct residual *r, struct rollout_devices *ret)
{
    ret->n = s->type_n == 1 ? r->device_n : 0;
    ret->mask = ret->n > 0 && r->devices[0].mem_mib == INT32_MAX ? UINT64_MAX << 32 : UINT64_MAX;
    for (unsigned i = 0; i < ret->n; i++) {
        ret->d[i] = rollout_amounts(r->devices[i].milli, r->devices[i].mem_mib);
        BUG_ON((r->devices[i].mem_mib == INT32_MAX) != (ret->mask != UINT64_MAX));
    }
    for (unsigned i = ret->n; i % ROLLOUT_DEVICES_STEP != 0; i++) {
        ret->d[i] = UINT64_MAX;
    }
}

/* ---- devices of several kinds: rare, so they are compared one by one ----
 *
 * What a pod takes depends on the kind of the device, so one order of the devices does not serve all pods. */

struct mixed {
    unsigned n;
    struct residual_device d[DEVICES_PER_NODE_MAX];
};

/* The devices that fit, a bit each; none when there are fewer than the pod needs. */
static uint64_t mixed_find(const struct mixed *p, const struct sample *d)
{
    uint64_t fits = 0;
    unsigned n = 0;

    for (unsigned i = 0; i < p->n; i++) {
        const struct sample_charge *c = &d->on[p->d[i].type];

        if (c->milli <= p->d[i].milli && c->mem_mib <= p->d[i].mem_mib) {
            fits |= UINT64_C(1) << i;
            n++;
        }
    }
    return n < d->count ? 0 : fits;
}

/* Of two that fit, is `a` tighter? What would be left is compared, not what is free: the pod may take more of the one
 * than of the other. The last keys make the choice independent of the order of the devices. */
static bool is_tighter(const struct residual_device *a, const struct residual_device *b, const struct sample *d)
{
    int32_t x = a->milli - d->on[a->type].milli, y = b->milli - d->on[b->type].milli;

    if (x != y) {
        return x < y;
    }
    return a->mem_mib != b->mem_mib ? a->mem_mib < b->mem_mib : a->type < b->type;
}

static int32_t mixed_take(struct mixed *p, const struct sample *d, uint64_t fits)
{
    int32_t filled = 0;

    for (unsigned left = d->count; left > 0; left--) {
        unsigned best = (unsigned)__builtin_ctzll(fits);
        struct residual_device *v;

        for (uint64_t rest = fits & (fits - 1); rest != 0; rest &= rest - 1) {
            unsigned i = (unsigned)__builtin_ctzll(rest);

            best = is_tighter(&p->d[i], &p->d[best], d) ? i : best;
        }
        fits &= ~(UINT64_C(1) << best);
        v = &p->d[best];
        v->milli -= d->on[v->type].milli;
        v->mem_mib -= v->mem_mib == INT32_MAX ? 0 : d->on[v->type].mem_mib;
        filled += d->on[v->type].milli;
    }
    return filled;
}

static int32_t mixed_max(const struct mixed *p)
{
    int32_t max = 0;

    for (unsigned i = 0; i < p->n; i++) {
        max = p->d[i].milli > max ? p->d[i].milli : max;
    }
    return max;
}

/* ---- one pass down a list ---- */

/* Pods of the list that this residual could take at all, by the kinds of pods that the node takes. */
static uint64_t eligible(const struct sample_list *l, const struct residual *r, bool among)
{
    uint64_t pods = among ? l->among : l->gpu;

    pods &= (r->kinds & RESIDUAL_SHARES) != 0 ? UINT64_MAX : l->plugin;
    return pods & ((r->kinds & RESIDUAL_PLUGIN) != 0 ? UINT64_MAX : l->shares);
}

/* Cores and memory that are left. What is unknown is so much that a list never comes to its end. */
struct host_left {
    int64_t cpu, mem;
};
#define PLENTY (INT64_C(1) << 40)

static inline struct host_left host_left(const struct residual *r)
{
    return (struct host_left){r->cpu_milli == INT32_MAX ? PLENTY : r->cpu_milli,
                              r->mem_mib == INT32_MAX ? PLENTY : r->mem_mib};
}

static inline int32_t at_most_max(int64_t v)
{
    return v < INT32_MAX ? (int32_t)v : INT32_MAX;
}

static inline bool suffices(const struct host_left *h, const struct brief *d)
{
    return d->cpu_milli <= h->cpu && d->mem_mib <= h->mem;
}

static inline void charge(struct host_left *h, const struct brief *d)
{
    h->cpu -= d->cpu_milli;
    h->mem -= d->mem_mib;
}

/* A pod that wants `wanted` was passed by when `used` had been taken. It would have been enough from used + wanted on,
 * so the pass goes the same way up to one less. */
static inline void lower(int32_t *high, int64_t used, int32_t wanted)
{
    int64_t below = used + wanted - 1;

    *high = below < *high ? (int32_t)below : *high;
}

/* What a pod that was passed by says about the bounds. One that has cores and memory enough says nothing: it lacked a
 * device, and the devices are part of the key. One that lacks both counts as if it lacked cores alone: as long as cores
 * are too few it is passed by, whatever the memory is. So one reason is enough, and the bound is at worst too
 * narrow. */
static inline void bound(struct rollout_pass *w, const struct brief *d, const struct host_left *all,
                         const struct host_left *h)
{
    if (d->cpu_milli > h->cpu) {
        lower(&w->cpu_high, all->cpu - h->cpu, d->cpu_milli);
    } else if (d->mem_mib > h->mem) {
        lower(&w->mem_high, all->mem - h->mem, d->mem_mib);
    }
}

/* The steps of what is left, and the pods that they hold: all that cores and memory suffice for, and perhaps some more.
 * They may be of earlier, larger amounts: then the pods are not too few. */
struct steps {
    unsigned cpu, mem;
    uint64_t enough;
    bool is_old;
};

static inline unsigned step_of(int64_t left)
{
    return rollout_step(at_most_max(left));
}

/* Not inlined, so that nothing of it is computed where nobody asks. */
static __attribute__((noinline)) void find_steps(struct steps *s, const struct sample_list *l,
                                                 const struct host_left *h)
{
    s->cpu = step_of(h->cpu);
    s->mem = step_of(h->mem);
    s->enough = l->cpu[s->cpu] & l->mem[s->mem];
    s->is_old = false;
}

static inline void renew(struct steps *s, const struct sample_list *l, const struct host_left *h)
{
    if (s->is_old) {
        find_steps(s, l, h);
    }
}

/* The bounds from all pods between two that are placed, by sets again.
 *
 *   - Pods outside the set of this step ask for more than any amount of the step. The least that any pod of the whole
 *     list asks for above the step speaks for all of them: too narrow perhaps, but one number from a table.
 *   - Pods in the sets of the steps below have enough of both: they lacked a device, and say nothing.
 *   - Only pods whose amounts share a step with what is free are compared one by one. */
static inline void pass_by(struct rollout_pass *w, const struct sample_list *l, const struct host_left *all,
                           const struct host_left *h, const struct steps *s, uint64_t pods)
{
    uint64_t near = pods & s->enough;

    if ((pods & ~l->cpu[s->cpu]) != 0) {
        lower(&w->cpu_high, all->cpu - h->cpu, l->cpu_above[s->cpu]);
    }
    if ((pods & l->cpu[s->cpu] & ~l->mem[s->mem]) != 0) {
        lower(&w->mem_high, all->mem - h->mem, l->mem_above[s->mem]);
    }
    if (s->cpu > 0 && s->mem > 0) { /* every amount of a lower step is less than what is free */
        near &= ~(l->cpu[s->cpu - 1] & l->mem[s->mem - 1]);
    }
    for (; near != 0; near &= near - 1) {
        bound(w, &l->brief[__builtin_ctzll(near)], all, h);
    }
}

/* What has been used in the end is the lower bound: with that much or more, every pod that was placed finds enough when
 * its turn comes. */
static inline void end_pass(struct rollout_pass *w, const struct host_left *all, const struct host_left *h)
{
    w->cpu_low = at_most_max(all->cpu - h->cpu);
    w->mem_low = at_most_max(all->mem - h->mem);
}

static void pass_alike(struct rollout_pass *w, const struct sample_list *l, const struct residual *r,
                       const struct rollout_devices *devices, uint64_t left)
{
    const struct host_left all = host_left(r);
    const uint64_t mask = devices->mask;
    struct host_left h = all;
    struct steps steps;
    struct rollout_devices v;
    int32_t max;

    v.n = devices->n;
    for (unsigned i = 0; i < v.n; i += ROLLOUT_DEVICES_STEP) {
        memcpy(&v.d[i], &devices->d[i], ROLLOUT_DEVICES_STEP * sizeof(v.d[0]));
    }
    find_steps(&steps, l, &h);
    while (v.n > 0 && (max = largest(&v)) > 0) {
        const struct brief *d = NULL;
        uint64_t next, lowest, charged = 0;
        unsigned first = 0;

        /* Who wants more compute than the largest device has is out for good. That lowers no bound: see bound(). */
        left &= l->milli[rollout_milli_step(max)];
        for (next = left & steps.enough; next != 0; next &= next - 1) {
            d = &l->brief[__builtin_ctzll(next)];
            charged = d->charge & mask;
            if (!suffices(&h, d)) {
                renew(&steps, l, &h);
                next &= steps.enough | (next & -next); /* the lowest bit stays: the loop takes it off */
            } else if (d->count == 0 || (first = find_device(&v, charged, d->count)) < v.n) {
                break;
            }
        }
        lowest = next & -next;
        if ((left & (lowest - 1)) != 0) { /* those before it; all, when there is none */
            renew(&steps, l, &h);
            pass_by(w, l, &all, &h, &steps, left & (lowest - 1));
        }
        if (next == 0) {
            break;
        }
        left &= -lowest ^ lowest; /* those behind it */
        charge(&h, d);
        steps.is_old = true;
        if (d->count > 0) { /* from now on the node takes shares or a plugin's pods, not both */
            take_devices(&v, charged, d->count, first);
            left &= d->plugin_managed ? l->plugin : l->shares;
        }
    }
    w->filled = sum_milli(devices) - sum_milli(&v);
    end_pass(w, &all, &h);
}

/* The same for devices of several kinds: one pod after the other. The device is asked for first, so that a pod without
 * one lowers no bound. */
static void pass_mixed(struct rollout_pass *w, const struct sample_list *l, const struct sample *full,
                       const struct residual *r, uint64_t left)
{
    const struct host_left all = host_left(r);
    struct host_left h = all;
    struct mixed v;

    v.n = r->device_n;
    memcpy(v.d, r->devices, r->device_n * sizeof(v.d[0]));
    for (; left != 0 && mixed_max(&v) > 0; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        const struct brief *d = &l->brief[i];
        uint64_t fits = d->count > 0 ? mixed_find(&v, &full[i]) : 0;

        if (d->count > 0 && fits == 0) {
            continue;
        }
        if (!suffices(&h, d)) {
            bound(w, d, &all, &h);
            continue;
        }
        charge(&h, d);
        if (d->count > 0) {
            w->filled += mixed_take(&v, &full[i], fits);
            left &= (d->plugin_managed ? l->plugin : l->shares) | UINT64_C(1) << i;
        }
    }
    end_pass(w, &all, &h);
}

void rollout_pass_run(const struct rollout_samples *s, unsigned k, const struct residual *r,
                      const struct rollout_devices *v, bool among, struct rollout_pass *ret)
{
    uint64_t left = eligible(&s->lists[k], r, among);

    *ret = (struct rollout_pass){.cpu_high = INT32_MAX, .mem_high = INT32_MAX};
    if (s->type_n == 1) {
        pass_alike(ret, &s->lists[k], r, v, left);
    } else {
        pass_mixed(ret, &s->lists[k], s->full[k], r, left);
    }
}

struct rollout rollout_run(const struct rollout_samples *s, const struct residual *r, bool among)
{
    struct rollout_devices v;
    struct rollout all = {0, 0};

    rollout_devices(s, r, &v);
    for (unsigned k = 0; k < ROLLOUT_LISTS; k++) {
        struct rollout_pass w;

        rollout_pass_run(s, k, r, &v, among, &w);
        all.filled += w.filled;
        all.cpu_left += r->cpu_milli == INT32_MAX ? 0 : r->cpu_milli - w.cpu_low;
    }
    return all;
}
