#include "core/forecast/rollout_internal.h"

#include <string.h>

/* ---- devices of one kind ---- */

/* The first device for the pod; n: there are not enough. */
static inline unsigned find(const struct rollout_devices *p, const struct brief *d)
{
    const uint64_t milli = d->charge >> 32 << 32, mem = (uint32_t)d->charge;
    unsigned first = 0, fit_n = 1;

    for (unsigned i = 0; i < p->n; i++) { /* they ascend; counting them all is quicker than to guess where to stop */
        first += p->d[i] < milli;
    }
    while (first < p->n && (uint32_t)p->d[first] < mem) { /* those behind it have the compute */
        first++;
    }
    for (unsigned i = first + 1; i < p->n && fit_n < d->count; i++) {
        fit_n += (uint32_t)p->d[i] >= mem;
    }
    return fit_n < d->count ? p->n : first;
}

/* From the one that was found on. Returns the milli taken. */
static inline int32_t take(struct rollout_devices *p, const struct brief *d, unsigned first)
{
    unsigned i = first;

    for (unsigned left = d->count; left > 0; i++) {
        uint64_t v = p->d[i];
        unsigned at = i;

        if ((uint32_t)v < (uint32_t)d->charge) {
            continue;
        }
        left--;
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

void rollout_devices(const struct draws *s, const struct room *r, struct rollout_devices *ret)
{
    ret->n = 0;
    for (unsigned i = 0; s->type_n == 1 && i < r->device_n; i++) {
        ret->d[ret->n++] = rollout_amounts(r->devices[i].milli, r->devices[i].mem_mib);
    }
}

/* ---- any devices ---- */

struct mixed {
    unsigned n;
    struct room_device d[DEVICES_PER_NODE_MAX];
};

/* None when there are fewer than the pod needs. */
static uint64_t mixed_find(const struct mixed *p, const struct draw *d)
{
    uint64_t fits = 0;
    unsigned n = 0;

    for (unsigned i = 0; i < p->n; i++) {
        const struct draw_charge *c = &d->on[p->d[i].type];

        if (c->milli <= p->d[i].milli && c->mem_mib <= p->d[i].mem_mib) {
            fits |= UINT64_C(1) << i;
            n++;
        }
    }
    return n < d->count ? 0 : fits;
}

/* Of two that fit, is `a` tighter? */
static bool is_tighter(const struct room_device *a, const struct room_device *b, const struct draw *d)
{
    int32_t x = a->milli - d->on[a->type].milli, y = b->milli - d->on[b->type].milli;

    if (x != y) {
        return x < y;
    }
    return a->mem_mib != b->mem_mib ? a->mem_mib < b->mem_mib : a->type < b->type;
}

static int32_t mixed_take(struct mixed *p, const struct draw *d, uint64_t fits)
{
    int32_t filled = 0;

    for (unsigned left = d->count; left > 0; left--) {
        unsigned best = (unsigned)__builtin_ctzll(fits);
        struct room_device *v;

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

/* ---- the walk ---- */

/* Pods of list k that this room could take at all. */
static uint64_t eligible(const struct draw_list *l, const struct room *r, bool among)
{
    uint64_t pods = among ? l->among : l->gpu;

    pods &= (r->kinds & ROOM_SHARES) != 0 ? UINT64_MAX : l->plugin;
    return pods & ((r->kinds & ROOM_PLUGIN) != 0 ? UINT64_MAX : l->shares);
}

static inline void lower(int32_t *high, int32_t used, int32_t wanted)
{
    int64_t below = (int64_t)used + wanted - 1;

    *high = below < *high ? (int32_t)below : *high;
}

/* What a pod that does not get enough says about the bounds: with how much more would it have been looked at? One that
 * lacks both cores and memory counts as if it lacked cores alone: the bounds may be narrower than they need be. */
static inline void bound(struct walk *w, const struct brief *d, int32_t cpu, int32_t mem)
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

/* Charges the walk and what is left. */
static inline void charge(struct walk *w, const struct brief *d, int32_t *cpu, int32_t *mem)
{
    w->cpu_low = sum(w->cpu_low, d->cpu_milli);
    w->mem_low = sum(w->mem_low, d->mem_mib);
    *cpu -= *cpu == INT32_MAX ? 0 : d->cpu_milli;
    *mem -= *mem == INT32_MAX ? 0 : d->mem_mib;
}

/* Pods that the walk goes by. Of those that ask for clearly more than there is, the least of the whole list speaks for
 * all. */
static inline void pass_by(struct walk *w, const struct draw_list *l, int32_t cpu, int32_t mem, uint64_t pods)
{
    unsigned c = rollout_step(cpu), m = rollout_step(mem);
    uint64_t near = pods & l->cpu[c] & l->mem[m];

    if ((pods & ~l->cpu[c]) != 0) {
        lower(&w->cpu_high, w->cpu_low, l->cpu_above[c]);
    }
    if ((pods & l->cpu[c] & ~l->mem[m]) != 0) {
        lower(&w->mem_high, w->mem_low, l->mem_above[m]);
    }
    if (c > 0 && m > 0) { /* the rest has enough of both: it was for want of a device */
        near &= ~(l->cpu[c - 1] & l->mem[m - 1]);
    }
    for (; near != 0; near &= near - 1) {
        bound(w, &l->brief[__builtin_ctzll(near)], cpu, mem);
    }
}

static inline uint64_t by_host_at(const struct draw_list *l, int32_t cpu, int32_t mem)
{
    return l->cpu[rollout_step(cpu)] & l->mem[rollout_step(mem)];
}

static void walk_alike(struct walk *w, const struct draw_list *l, const struct room *r,
                       const struct rollout_devices *devices, uint64_t left)
{
    int32_t cpu = r->cpu_milli, mem = r->mem_mib, max;
    uint64_t by_host = by_host_at(l, cpu, mem); /* or more pods: it is brought up to date when one does not fit */
    struct rollout_devices v;

    v.n = devices->n;
    memcpy(v.d, devices->d, devices->n * sizeof(v.d[0]));
    while ((max = largest(&v)) > 0) {
        const struct brief *d = NULL;
        uint64_t next, passed;
        unsigned first = 0;

        left &= l->milli[rollout_milli_step(max)];
        for (next = left & by_host; next != 0; next &= next - 1) {
            d = &l->brief[__builtin_ctzll(next)];
            if (d->cpu_milli > cpu || d->mem_mib > mem) {
                by_host = by_host_at(l, cpu, mem);
                next &= by_host | (next & -next);
            } else if (d->count == 0 || (first = find(&v, d)) < v.n) {
                break;
            }
        }
        passed = left & ~next & (next - 1); /* all, when there is none to come */
        if (passed != 0) {
            pass_by(w, l, cpu, mem, passed);
        }
        if (next == 0) {
            break;
        }
        left &= ~(next ^ (next - 1));
        charge(w, d, &cpu, &mem);
        if (d->count > 0) { /* from now on of one kind */
            w->filled += take(&v, d, first);
            left &= d->unsteered ? l->plugin : l->shares;
        }
    }
}

/* Rare: one by one. */
static void walk_mixed(struct walk *w, const struct draw_list *l, const struct draw *full, const struct room *r,
                       uint64_t left)
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
            left &= (d->unsteered ? l->plugin : l->shares) | UINT64_C(1) << i;
        }
    }
}

void rollout_walk(const struct draws *s, unsigned k, const struct room *r, const struct rollout_devices *v, bool among,
                  struct walk *ret)
{
    uint64_t left = eligible(&s->lists[k], r, among);

    *ret = (struct walk){.cpu_high = INT32_MAX, .mem_high = INT32_MAX};
    if (s->type_n == 1) {
        walk_alike(ret, &s->lists[k], r, v, left);
    } else {
        walk_mixed(ret, &s->lists[k], s->full[k], r, left);
    }
}

struct rollout rollout_run(const struct draws *s, const struct room *r, bool among)
{
    struct rollout_devices v;
    struct rollout all = {0, 0};

    rollout_devices(s, r, &v);
    for (unsigned k = 0; k < ROLLOUT_LISTS; k++) {
        struct walk w;

        rollout_walk(s, k, r, &v, among, &w);
        all.filled += w.filled;
        all.cpu_left += r->cpu_milli == INT32_MAX ? 0 : r->cpu_milli - w.cpu_low;
    }
    return all;
}
