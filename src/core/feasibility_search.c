/* Several containers that use GPUs: backtracking, one container after the other, one device after the other.
 *
 * What a device has given to each phase is kept apart, so init and app containers may reuse it. Two devices
 * with equal numbers and equal sums are interchangeable: when the first of them was passed over for a
 * container, so is the second. */
#include "core/feasibility_internal.h"

#include <string.h>

struct phase_sum {
    int64_t mem_mib;
    int32_t milli;
    int16_t slots;
    bool exclusive;
};

struct search {
    const struct feasibility *f;
    unsigned order[DEMAND_WISHES_MAX]; /* wishes, hardest first */
    unsigned phase_of[DEMAND_PHASES_MAX]; /* the phases in use, as bit numbers */
    unsigned phase_n;
    unsigned steps;
    uint64_t chosen[DEMAND_WISHES_MAX];
    struct phase_sum sums[DEVICES_PER_NODE_MAX][DEMAND_PHASES_MAX];
};

/* The candidate devices of one wish at one depth of the search, cheapest first. */
struct candidates {
    unsigned n;
    uint8_t ordinal[DEVICES_PER_NODE_MAX];
    struct charge charge[DEVICES_PER_NODE_MAX]; /* by ordinal */
};

static bool active(const struct search *s, const struct wish *w, unsigned phase)
{
    return (w->phases >> s->phase_of[phase] & 1) != 0;
}

static bool takes(const struct search *s, const struct wish *w, unsigned i, const struct charge *c)
{
    const struct device_state *d = &s->f->devices[i];

    if (!device_takes(d, c)) {
        return false;
    }
    for (unsigned p = 0; p < s->phase_n; p++) {
        const struct phase_sum *sum = &s->sums[i][p];

        if (!active(s, w, p)) {
            continue;
        }
        if (sum->exclusive || (c->exclusive && sum->slots > 0) || sum->milli + c->milli > d->milli_free ||
            sum->mem_mib + c->mem_mib > d->mem_free_mib || sum->slots + c->slots > d->slot_free) {
            return false;
        }
    }
    return true;
}

static void put(struct search *s, const struct wish *w, unsigned i, const struct charge *c, int sign)
{
    for (unsigned p = 0; p < s->phase_n; p++) {
        struct phase_sum *sum = &s->sums[i][p];

        if (active(s, w, p)) {
            sum->milli += sign * c->milli;
            sum->mem_mib += sign * c->mem_mib;
            sum->slots = (int16_t)(sum->slots + sign * c->slots);
            /* An exclusive container is alone in its phase, so taking it off clears the flag. */
            sum->exclusive = sign > 0 && c->exclusive;
        }
    }
}

/* The device with the pod's peak so far taken off: what the strategy should judge. */
static struct device_state device_so_far(const struct search *s, unsigned i)
{
    struct device_state d = s->f->devices[i];
    struct charge peak = {0};

    for (unsigned p = 0; p < s->phase_n; p++) {
        const struct phase_sum *sum = &s->sums[i][p];

        peak.milli = sum->milli > peak.milli ? sum->milli : peak.milli;
        peak.mem_mib = sum->mem_mib > peak.mem_mib ? sum->mem_mib : peak.mem_mib;
        peak.slots = sum->slots > peak.slots ? sum->slots : peak.slots;
        peak.exclusive = peak.exclusive || sum->exclusive;
    }
    if (peak.slots > 0) {
        device_take(&d, &peak);
    }
    return d;
}

static void find_candidates(const struct search *s, const struct wish *w, struct candidates *ret)
{
    int64_t cost[DEVICES_PER_NODE_MAX];

    ret->n = 0;
    for (unsigned i = 0; i < s->f->node->device_n; i++) {
        struct device_state d;
        unsigned at = ret->n;

        ret->charge[i] = feasibility_wish_charge(w, &s->f->devices[i]);
        if (!feasibility_allows(s->f, &s->f->devices[i]) || !takes(s, w, i, &ret->charge[i])) {
            continue;
        }
        d = device_so_far(s, i);
        cost[i] = s->f->strategy->device_cost(&d, &ret->charge[i]);
        for (; at > 0 && cost[ret->ordinal[at - 1]] > cost[i]; at--) {
            ret->ordinal[at] = ret->ordinal[at - 1];
        }
        ret->ordinal[at] = (uint8_t)i;
        ret->n++;
    }
}

static bool interchangeable(const struct search *s, unsigned i, unsigned j)
{
    const struct device_state *a = &s->f->devices[i], *b = &s->f->devices[j];

    if (a->mem_free_mib != b->mem_free_mib || a->mem_cap_mib != b->mem_cap_mib ||
        a->mem_base_mib != b->mem_base_mib || a->milli_free != b->milli_free ||
        a->milli_cap != b->milli_cap || a->slot_free != b->slot_free || a->flags != b->flags ||
        feasibility_allows(s->f, a) != feasibility_allows(s->f, b)) {
        return false;
    }
    for (unsigned p = 0; p < s->phase_n; p++) {
        const struct phase_sum *x = &s->sums[i][p], *y = &s->sums[j][p];

        if (x->mem_mib != y->mem_mib || x->milli != y->milli || x->slots != y->slots ||
            x->exclusive != y->exclusive) {
            return false;
        }
    }
    return true;
}

/* Was a device just like candidate `at` passed over for this wish? */
static bool passed_over(const struct search *s, const struct candidates *c, unsigned at, uint64_t chosen)
{
    for (unsigned k = 0; k < at; k++) {
        if ((chosen >> c->ordinal[k] & 1) == 0 && interchangeable(s, c->ordinal[k], c->ordinal[at])) {
            return true;
        }
    }
    return false;
}

static void put_chosen(struct search *s, unsigned w, const struct candidates *c, int sign)
{
    for (uint64_t left = s->chosen[w]; left != 0; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);

        put(s, &s->f->demand->wishes[w], i, &c->charge[i], sign);
    }
}

static enum verdict next_wish(struct search *s, unsigned depth);

/* Chooses `left` more devices for the wish at `depth` among its candidates from `at` on. What it takes is put
 * down once all are chosen: until then devices are told apart by what earlier wishes took. */
static enum verdict choose(struct search *s, unsigned depth, const struct candidates *c, unsigned at,
                           unsigned left)
{
    unsigned w = s->order[depth];
    enum verdict v;

    if (left == 0) {
        put_chosen(s, w, c, 1);
        v = next_wish(s, depth + 1);
        put_chosen(s, w, c, -1);
        return v;
    }
    for (; at + left <= c->n; at++) {
        uint64_t bit = UINT64_C(1) << c->ordinal[at];

        if (passed_over(s, c, at, s->chosen[w])) {
            continue;
        }
        if (++s->steps > FEASIBILITY_STEPS_MAX) {
            return VERDICT_SEARCH_LIMIT;
        }
        s->chosen[w] |= bit;
        v = choose(s, depth, c, at + 1, left - 1);
        if (v != VERDICT_NO_COMBINATION) {
            return v;
        }
        s->chosen[w] &= ~bit;
    }
    return VERDICT_NO_COMBINATION;
}

static enum verdict next_wish(struct search *s, unsigned depth)
{
    struct candidates c;

    if (depth == s->f->demand->wish_n) {
        return VERDICT_FITS;
    }
    find_candidates(s, &s->f->demand->wishes[s->order[depth]], &c);
    return choose(s, depth, &c, 0, s->f->demand->wishes[s->order[depth]].count);
}

/* Whole devices before shares, many devices before few, large before small: failing early is cheap. */
static bool harder(const struct wish *a, const struct wish *b)
{
    if ((a->kind == WISH_WHOLE) != (b->kind == WISH_WHOLE)) {
        return a->kind == WISH_WHOLE;
    }
    if (a->count != b->count) {
        return a->count > b->count;
    }
    return a->milli != b->milli ? a->milli > b->milli : a->mem_mib > b->mem_mib;
}

static void prepare(struct search *s, const struct feasibility *f)
{
    const struct demand *d = f->demand;
    uint64_t phases = 0;

    s->f = f;
    s->steps = 0;
    s->phase_n = 0;
    for (unsigned w = 0; w < d->wish_n; w++) {
        unsigned at = w;

        for (; at > 0 && harder(&d->wishes[w], &d->wishes[s->order[at - 1]]); at--) {
            s->order[at] = s->order[at - 1];
        }
        s->order[at] = w;
        s->chosen[w] = 0;
        phases |= d->wishes[w].phases;
    }
    for (; phases != 0; phases &= phases - 1) {
        s->phase_of[s->phase_n++] = (unsigned)__builtin_ctzll(phases);
    }
    for (unsigned i = 0; i < f->node->device_n; i++) {
        memset(s->sums[i], 0, s->phase_n * sizeof(s->sums[i][0]));
    }
}

enum verdict feasibility_search(const struct feasibility *f, struct placement *ret)
{
    const struct demand *d = f->demand;
    struct search s;
    enum verdict v;

    prepare(&s, f);
    for (size_t k = 0; k < d->wish_n; k++) {
        if (!feasibility_fits_alone(f, &d->wishes[s.order[k]])) {
            return feasibility_reason(f, &d->wishes[s.order[k]]);
        }
    }
    v = next_wish(&s, 0);
    if (v == VERDICT_FITS) {
        memcpy(ret->wish_devices, s.chosen, d->wish_n * sizeof(s.chosen[0]));
    }
    return v;
}
