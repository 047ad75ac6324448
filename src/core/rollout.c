#include "core/rollout.h"

#include "base/bug.h"

#include <stdlib.h>
#include <string.h>

/* Amounts of cores and memory are told apart by their leading bits, compute by sixteens: sets are a little too large,
 * what they hold is looked at exactly. */
enum { STEPS = 4 * 30, MILLI_STEP = 16, MILLI_STEPS = 64 };

struct draws {
    unsigned type_n;
    unsigned n[ROLLOUT_LISTS];
    uint64_t gpu[ROLLOUT_LISTS], among[ROLLOUT_LISTS], plugin[ROLLOUT_LISTS], shares[ROLLOUT_LISTS];
    uint64_t cpu[STEPS][ROLLOUT_LISTS]; /* pods that ask for no more than any amount of this step */
    uint64_t mem[STEPS][ROLLOUT_LISTS];
    uint64_t milli[MILLI_STEPS][ROLLOUT_LISTS];
    struct draw list[ROLLOUT_LISTS][ROLLOUT_PODS];
};

struct draws *draws_new(unsigned type_n)
{
    struct draws *s = xcalloc(1, sizeof(*s));

    s->type_n = type_n;
    return s;
}

void draws_free(struct draws *s)
{
    free(s);
}

void draws_clear(struct draws *s)
{
    memset(s->n, 0, sizeof(s->n));
}

void draws_add(struct draws *s, unsigned k, const struct draw *d)
{
    BUG_ON(s->n[k] == ROLLOUT_PODS);
    s->list[k][s->n[k]++] = *d;
}

static unsigned step_of(int32_t v)
{
    unsigned e;

    if (v < 4) {
        return v > 0 ? (unsigned)v : 0;
    }
    e = 31 - (unsigned)__builtin_clz((unsigned)v);
    return (e - 1) * 4 + ((unsigned)v >> (e - 2) & 3);
}

static unsigned milli_step_of(int32_t v)
{
    return v >= MILLI_STEP * MILLI_STEPS ? MILLI_STEPS - 1 : (unsigned)v / MILLI_STEP;
}

static int32_t least_milli(const struct draws *s, const struct draw *d)
{
    int32_t least = d->on[0].milli;

    for (unsigned t = 1; t < s->type_n; t++) {
        least = d->on[t].milli < least ? d->on[t].milli : least;
    }
    return d->count > 0 ? least : 0;
}

static void seal_list(struct draws *s, unsigned k)
{
    unsigned among = s->n[k] < ROLLOUT_AMONG ? s->n[k] : ROLLOUT_AMONG;

    s->gpu[k] = s->plugin[k] = s->shares[k] = 0;
    s->among[k] = among > 0 ? UINT64_MAX >> (64 - among) : 0;
    for (unsigned i = 0; i < s->n[k]; i++) {
        const struct draw *d = &s->list[k][i];
        uint64_t bit = UINT64_C(1) << i;

        s->gpu[k] |= d->count > 0 ? bit : 0;
        s->plugin[k] |= d->unsteered || d->count == 0 ? bit : 0;
        s->shares[k] |= d->unsteered ? 0 : bit;
        s->cpu[step_of(d->cpu_milli)][k] |= bit;
        s->mem[step_of(d->mem_mib)][k] |= bit;
        s->milli[milli_step_of(least_milli(s, d))][k] |= bit;
    }
}

static void add_up(uint64_t (*sets)[ROLLOUT_LISTS], size_t n)
{
    for (size_t i = 1; i < n; i++) {
        for (unsigned k = 0; k < ROLLOUT_LISTS; k++) {
            sets[i][k] |= sets[i - 1][k];
        }
    }
}

void draws_seal(struct draws *s)
{
    memset(s->cpu, 0, sizeof(s->cpu));
    memset(s->mem, 0, sizeof(s->mem));
    memset(s->milli, 0, sizeof(s->milli));
    for (unsigned k = 0; k < ROLLOUT_LISTS; k++) {
        seal_list(s, k);
    }
    add_up(s->cpu, STEPS);
    add_up(s->mem, STEPS);
    add_up(s->milli, MILLI_STEPS);
}

/* ---- devices of one kind without known memory: sorted numbers ---- */

struct plain {
    unsigned n;
    int32_t milli[DEVICES_PER_NODE_MAX]; /* ascending */
};

static int64_t plain_take(struct plain *p, const struct draw *d)
{
    int32_t m = d->on[0].milli;
    unsigned first = 0, count = d->count;

    while (first < p->n && p->milli[first] < m) {
        first++;
    }
    if (first + count > p->n) {
        return -1;
    }
    for (unsigned i = first; i < first + count; i++) { /* the smaller numbers to their places in front */
        int32_t left = p->milli[i] - m;
        unsigned at = i;

        for (; at > 0 && p->milli[at - 1] > left; at--) {
            p->milli[at] = p->milli[at - 1];
        }
        p->milli[at] = left;
    }
    return (int64_t)m * count;
}

/* ---- any devices ---- */

struct devices {
    unsigned n;
    struct room_device d[DEVICES_PER_NODE_MAX];
};

static bool takes(const struct room_device *v, const struct draw *d)
{
    const struct draw_charge *c = &d->on[v->type];

    return c->milli <= v->milli && c->mem_mib <= v->mem_mib;
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

static int64_t devices_take(struct devices *p, const struct draw *d)
{
    uint64_t fits = 0;
    int64_t filled = 0;

    for (unsigned i = 0; i < p->n; i++) {
        fits |= takes(&p->d[i], d) ? UINT64_C(1) << i : 0;
    }
    if (__builtin_popcountll(fits) < d->count) {
        return -1;
    }
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

static int32_t devices_max(const struct devices *p)
{
    int32_t max = 0;

    for (unsigned i = 0; i < p->n; i++) {
        max = p->d[i].milli > max ? p->d[i].milli : max;
    }
    return max;
}

/* ---- the walk ---- */

static bool is_plain(const struct draws *s, const struct room *r)
{
    if (s->type_n > 1) {
        return false;
    }
    for (unsigned i = 0; i < r->device_n; i++) {
        if (r->devices[i].mem_mib != INT32_MAX) {
            return false;
        }
    }
    return true;
}

/* Pods of list k that this room could take at all. */
static uint64_t eligible(const struct draws *s, unsigned k, const struct room *r, bool among)
{
    uint64_t pods = among ? s->among[k] : s->gpu[k];

    pods &= (r->kinds & ROOM_SHARES) != 0 ? UINT64_MAX : s->plugin[k];
    return pods & ((r->kinds & ROOM_PLUGIN) != 0 ? UINT64_MAX : s->shares[k]);
}

struct walk {
    const struct draws *s;
    int32_t cpu, mem;
    int64_t filled;
};

/* The next pod of `*left` that has cores and memory, taken out of it; NULL: none. `max`: the most that is free on one
 * device. */
static const struct draw *next(const struct walk *w, unsigned k, int32_t max, uint64_t *left)
{
    const struct draws *s = w->s;

    while (*left != 0) {
        const struct draw *d;

        *left &= s->cpu[step_of(w->cpu)][k] & s->mem[step_of(w->mem)][k] & s->milli[milli_step_of(max)][k];
        if (*left == 0) {
            break;
        }
        d = &s->list[k][__builtin_ctzll(*left)];
        *left &= *left - 1;
        if (d->cpu_milli <= w->cpu && d->mem_mib <= w->mem) {
            return d;
        }
    }
    return NULL;
}

static void charge(struct walk *w, unsigned k, const struct draw *d, int64_t filled, uint64_t *left)
{
    w->cpu -= w->cpu == INT32_MAX ? 0 : d->cpu_milli;
    w->mem -= w->mem == INT32_MAX ? 0 : d->mem_mib;
    w->filled += filled;
    if (d->count > 0) { /* from now on of one kind */
        *left &= d->unsteered ? w->s->plugin[k] : w->s->shares[k];
    }
}

static void walk_plain(struct walk *w, unsigned k, const struct plain *room, uint64_t left)
{
    struct plain p;
    const struct draw *d;

    p.n = room->n;
    memcpy(p.milli, room->milli, room->n * sizeof(p.milli[0]));
    while (p.n > 0 && p.milli[p.n - 1] > 0 && (d = next(w, k, p.milli[p.n - 1], &left)) != NULL) {
        int64_t filled = d->count > 0 ? plain_take(&p, d) : 0;

        if (filled >= 0) {
            charge(w, k, d, filled, &left);
        }
    }
}

static void walk_any(struct walk *w, unsigned k, const struct room *r, uint64_t left)
{
    struct devices p;
    const struct draw *d;
    int32_t max;

    p.n = r->device_n;
    memcpy(p.d, r->devices, r->device_n * sizeof(p.d[0]));
    while ((max = devices_max(&p)) > 0 && (d = next(w, k, max, &left)) != NULL) {
        int64_t filled = d->count > 0 ? devices_take(&p, d) : 0;

        if (filled >= 0) {
            charge(w, k, d, filled, &left);
        }
    }
}

struct rollout rollout_run(const struct draws *s, const struct room *r, bool among)
{
    struct rollout sum = {0, 0};
    bool plain = is_plain(s, r);
    struct plain p = {.n = plain ? r->device_n : 0};

    for (unsigned i = 0; i < p.n; i++) {
        p.milli[i] = r->devices[i].milli;
    }
    for (unsigned k = 0; k < ROLLOUT_LISTS; k++) {
        struct walk w = {.s = s, .cpu = r->cpu_milli, .mem = r->mem_mib};
        uint64_t left = eligible(s, k, r, among);

        if (plain) {
            walk_plain(&w, k, &p, left);
        } else {
            walk_any(&w, k, r, left);
        }
        sum.filled += w.filled;
        sum.cpu_left += w.cpu == INT32_MAX ? 0 : w.cpu;
    }
    return sum;
}
