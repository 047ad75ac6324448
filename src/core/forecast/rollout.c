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

#include <string.h>

/* ---- devices of one kind: nearly every node ----
 *
 * A device is one number, milli in the upper half and memory in the lower half. The numbers are kept ascending, so the
 * first device that fits is the tightest: it has the least compute and, among equals, the least memory. */

/* The first device for the pod; n: there are fewer than `count` that fit. */
static inline unsigned find_device(const struct rollout_devices *p, const struct brief *d)
{
    const uint64_t milli = d->charge >> 32 << 32, mem = (uint32_t)d->charge;
    unsigned first = 0, fit_n = 1;

    for (unsigned i = 0; i < p->n; i++) { /* those with too little compute come first: counting them takes no branch */
        first += p->d[i] < milli;
    }
    while (first < p->n && (uint32_t)p->d[first] < mem) { /* from here on all have the compute; memory is in no order */
        first++;
    }
    for (unsigned i = first + 1; i < p->n && fit_n < d->count; i++) {
        fit_n += (uint32_t)p->d[i] >= mem;
    }
    return fit_n < d->count ? p->n : first;
}

/* Takes the `count` tightest, from the one that was found on. Returns the milli taken.
 *
 * A device that gave something becomes smaller, so it moves to the left. The loop goes on behind it: what stands there
 * has not moved, and no device is taken twice. */
static inline int32_t take_device(struct rollout_devices *p, const struct brief *d, unsigned first)
{
    unsigned i = first;

    for (unsigned left = d->count; left > 0; i++) {
        uint64_t v = p->d[i];
        unsigned at = i;

        if ((uint32_t)v < (uint32_t)d->charge) {
            continue;
        }
        left--;
        /* Memory that is unknown stays so. Otherwise both halves suffice, so nothing is borrowed between them. */
        v -= (uint32_t)v == INT32_MAX ? d->charge >> 32 << 32 : d->charge;
        for (; at > 0 && p->d[at - 1] > v; at--) { /* those behind it stay where they are */
            p->d[at] = p->d[at - 1];
        }
        p->d[at] = v;
    }
    return (int32_t)(d->charge >> 32) * d->count;
}

static inline int32_t largest(const struct rollout_devices *p)
{
    return p->n > 0 ? (int32_t)(p->d[p->n - 1] >> 32) : 0;
}

void rollout_devices(const struct rollout_samples *s, const struct residual *r, struct rollout_devices *ret)
{
    ret->n = 0;
    for (unsigned i = 0; s->type_n == 1 && i < r->device_n; i++) {
        ret->d[ret->n++] = rollout_amounts(r->devices[i].milli, r->devices[i].mem_mib);
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

/* A pod that wants `wanted` was passed by when `used` had been taken. It would have been enough from used + wanted on,
 * so the pass goes the same way up to one less. */
static inline void lower(int32_t *high, int32_t used, int32_t wanted)
{
    int64_t below = (int64_t)used + wanted - 1;

    *high = below < *high ? (int32_t)below : *high;
}

/* What a pod that was passed by says about the bounds. One that has cores and memory enough says nothing: it lacked a
 * device, and the devices are part of the key. One that lacks both counts as if it lacked cores alone: as long as cores
 * are too few it is passed by, whatever the memory is. So one reason is enough, and the bound is at worst too
 * narrow. */
static inline void bound(struct rollout_pass *w, const struct brief *d, int32_t cpu, int32_t mem)
{
    if (d->cpu_milli > cpu) {
        lower(&w->cpu_high, w->cpu_low, d->cpu_milli);
    } else if (d->mem_mib > mem) {
        lower(&w->mem_high, w->mem_low, d->mem_mib);
    }
}

static int32_t sum(int32_t a, int32_t b)
{
    int32_t s;

    return __builtin_add_overflow(a, b, &s) ? INT32_MAX : s;
}

/* Charges the pass and what is left. What a pass has used in the end is its lower bound: with that much or more, every
 * pod that was placed finds enough when its turn comes. */
static inline void charge(struct rollout_pass *w, const struct brief *d, int32_t *cpu, int32_t *mem)
{
    w->cpu_low = sum(w->cpu_low, d->cpu_milli);
    w->mem_low = sum(w->mem_low, d->mem_mib);
    *cpu -= *cpu == INT32_MAX ? 0 : d->cpu_milli;
    *mem -= *mem == INT32_MAX ? 0 : d->mem_mib;
}

/* The bounds from all pods between two that are placed, by sets again.
 *
 *   - Pods outside the set of this step ask for more than any amount of the step. The least that any pod of the whole
 *     list asks for above the step speaks for all of them: too narrow perhaps, but one number from a table.
 *   - Pods in the sets of the steps below have enough of both: they lacked a device, and say nothing.
 *   - Only pods whose amounts share a step with what is free are compared one by one. */
static inline void pass_by(struct rollout_pass *w, const struct sample_list *l, int32_t cpu, int32_t mem, uint64_t pods)
{
    unsigned c = rollout_step(cpu), m = rollout_step(mem);
    uint64_t near = pods & l->cpu[c] & l->mem[m];

    if ((pods & ~l->cpu[c]) != 0) {
        lower(&w->cpu_high, w->cpu_low, l->cpu_above[c]);
    }
    if ((pods & l->cpu[c] & ~l->mem[m]) != 0) {
        lower(&w->mem_high, w->mem_low, l->mem_above[m]);
    }
    if (c > 0 && m > 0) { /* every amount of a lower step is less than what is free */
        near &= ~(l->cpu[c - 1] & l->mem[m - 1]);
    }
    for (; near != 0; near &= near - 1) {
        bound(w, &l->brief[__builtin_ctzll(near)], cpu, mem);
    }
}

/* All pods that cores and memory suffice for, and perhaps some more of the same steps. */
static inline uint64_t by_host_at(const struct sample_list *l, int32_t cpu, int32_t mem)
{
    return l->cpu[rollout_step(cpu)] & l->mem[rollout_step(mem)];
}

static void pass_alike(struct rollout_pass *w, const struct sample_list *l, const struct residual *r,
                       const struct rollout_devices *devices, uint64_t left)
{
    int32_t cpu = r->cpu_milli, mem = r->mem_mib, max;
    uint64_t by_host = by_host_at(l, cpu, mem); /* may be of earlier, larger amounts: renewed when a pod does not fit */
    struct rollout_devices v;

    v.n = devices->n;
    memcpy(v.d, devices->d, devices->n * sizeof(v.d[0]));
    while ((max = largest(&v)) > 0) {
        const struct brief *d = NULL;
        uint64_t next, passed;
        unsigned first = 0;

        /* Who wants more compute than the largest device has is out for good. That lowers no bound: see bound(). */
        left &= l->milli[rollout_milli_step(max)];
        for (next = left & by_host; next != 0; next &= next - 1) {
            d = &l->brief[__builtin_ctzll(next)];
            if (d->cpu_milli > cpu || d->mem_mib > mem) {
                by_host = by_host_at(l, cpu, mem);
                next &= by_host | (next & -next); /* the lowest bit stays: the loop takes it off */
            } else if (d->count == 0 || (first = find_device(&v, d)) < v.n) {
                break;
            }
        }
        passed = left & ~next & (next - 1); /* those before the lowest bit of `next`; all, when there is none */
        if (passed != 0) {
            pass_by(w, l, cpu, mem, passed);
        }
        if (next == 0) {
            break;
        }
        left &= ~(next ^ (next - 1)); /* it, and all before it */
        charge(w, d, &cpu, &mem);
        if (d->count > 0) { /* from now on the node takes shares or a plugin's pods, not both */
            w->filled += take_device(&v, d, first);
            left &= d->plugin_managed ? l->plugin : l->shares;
        }
    }
}

/* The same for devices of several kinds: one pod after the other. The device is asked for first, so that a pod without
 * one lowers no bound. */
static void pass_mixed(struct rollout_pass *w, const struct sample_list *l, const struct sample *full,
                       const struct residual *r, uint64_t left)
{
    int32_t cpu = r->cpu_milli, mem = r->mem_mib;
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
        if (d->cpu_milli > cpu || d->mem_mib > mem) {
            bound(w, d, cpu, mem);
            continue;
        }
        charge(w, d, &cpu, &mem);
        if (d->count > 0) {
            w->filled += mixed_take(&v, &full[i], fits);
            left &= (d->plugin_managed ? l->plugin : l->shares) | UINT64_C(1) << i;
        }
    }
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
