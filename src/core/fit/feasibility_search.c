/* Several containers that use GPUs: which devices does each get? An exact search by backtracking.
 *
 * The question. Each GPU request asks for `count` different devices of one node. Requests may share a device. A device
 * is charged the peak over the phases of the pod: requests of one phase run together and add up, requests of different
 * phases do not. A placement is right when every device takes its peak. To decide whether there is one is a packing
 * problem in several dimensions, so no fast method is known that is always right; but nodes are small, and the devices
 * of a node are mostly alike.
 *
 * The search. Requests are placed one after the other, the hardest first (feasibility_order). For each, the devices
 * that take it beside what they were given are sorted by the strategy's cost, and all sets of `count` of them are
 * tried, cheapest first. The only state is which requests each device has been given; charges are summed up anew when
 * they are asked for. So taking a request back restores the state exactly.
 *
 * Why it is exact. Without the four rules below this is plain backtracking: it returns the first placement in its own
 * order, or there is none. Each rule leaves out only placements for which there is another one earlier in that order.
 * So no rule removes the first placement of all, alone or together with the others, and the answer is the same:
 *
 *   - Alike devices. Two devices with equal numbers, which were given equal requests, are interchangeable. If one was
 *     passed over for a request, the later one is passed over, too. (Exchange the two devices in this and all later
 *     requests: a right placement that comes earlier.)
 *   - Twins. Two equal requests of one pod are interchangeable. The second one never gets a set that comes before the
 *     set of the first. (Exchange the two requests: a right placement that comes earlier.)
 *   - Covered phases. A phase whose requests are all part of another phase never has the higher peak. It is left out.
 *   - Independent phases. Requests of several phases (sidecars) are placed first. After them no phase sees what another
 *     one was given. So when one phase cannot be served, changing another one does not help, and the search goes back
 *     to the requests of several phases at once.
 *
 * Cost. Exponential in the worst case. A step is one device judged or one set tried; after FEASIBILITY_STEPS_MAX steps
 * the search gives up and says VERDICT_SEARCH_LIMIT. It never says "fits" or "does not fit" without proof. Where
 * devices are equal and requests are equal, the first two rules leave little to try.
 *
 * What would break it: a strategy's cost that reads more than the device and the charge (then alike devices have
 * different costs), a negative charge (then a device on which a request does not fit alone might take it later), or a
 * new amount in struct device_state or in a request that interchangeable() or compare() (feasibility_order.c) does not
 * look at. test/unit/core/support/oracle.c tries everything and is compared with this.
 */
#include "core/fit/feasibility_search_internal.h"

#include "base/bug.h"

#include <string.h>

#define NONE UINT8_MAX

/* A request at its depth in the search: candidate devices, cheapest first, and those chosen. Places are indexes into
 * `candidates`. One of these lies on the stack for each request of the pod. */
struct choice {
    unsigned gpu_request;
    unsigned candidate_n;
    uint64_t chosen;                      /* places */
    uint8_t places[DEVICES_PER_NODE_MAX]; /* the same, ascending */
    uint8_t candidates[DEVICES_PER_NODE_MAX];
    uint8_t place_of[DEVICES_PER_NODE_MAX]; /* [device], if it is a candidate */
    uint8_t alike[DEVICES_PER_NODE_MAX];    /* [place]: last place before it that is interchangeable */
};

enum outcome {
    FOUND,
    EXHAUSTED,
    PHASE_EXHAUSTED, /* this phase cannot be served, whatever the other phases get */
    OUT_OF_STEPS,
};

/* ---- sums ---- */

/* What the device is charged for these GPU requests: per dimension the peak over the phases. False when a GPU request
 * that wants the device alone has company in a phase; everything is alone on a MIG instance. More GPU requests never
 * make it less: that is why `alone` may limit the candidates once and for all. */
static bool sum_up(const struct search *s, unsigned device, uint64_t gpu_requests, struct charge *ret)
{
    const struct amount *amounts = s->amounts[s->capacity_of[device]];
    uint16_t profile = s->f->devices[device].profile;
    struct charge peak = {.exclusive = (gpu_requests & s->exclusive) != 0 || profile != 0, .profile = profile};

    for (unsigned p = 0; p < s->phase_n; p++) {
        uint64_t here = gpu_requests & s->phases[p];
        int64_t milli = 0, mem_mib = 0;
        int32_t slots = 0;

        for (uint64_t left = here; left != 0; left &= left - 1) {
            const struct amount *a = &amounts[__builtin_ctzll(left)];

            milli += a->milli;
            mem_mib += a->mem_mib;
            slots++;
        }
        if (((here & s->exclusive) != 0 || profile != 0) && slots > 1) {
            return false;
        }
        milli = milli > INT32_MAX ? INT32_MAX : milli; /* no device has so much */
        peak.milli = milli > peak.milli ? (int32_t)milli : peak.milli;
        peak.mem_mib = mem_mib > peak.mem_mib ? mem_mib : peak.mem_mib;
        peak.slots = slots > peak.slots ? slots : peak.slots;
    }
    *ret = peak;
    return true;
}

/* Does the device take `w` beside what it has been given? Then also its cost: of the device less what the pod has of it
 * by now, and of the amount by which the pod's peak would grow. That amount is 0 where an init container reuses what an
 * app container has. */
static bool judge(const struct search *s, unsigned device, unsigned w, int64_t *ret_cost)
{
    struct device_state d = s->f->devices[device];
    struct charge before, c;

    if (!sum_up(s, device, s->given[device] | bit(w), &c) || !device_takes(&d, &c)) {
        return false;
    }
    if (s->given[device] != 0 && sum_up(s, device, s->given[device], &before)) {
        device_take(&d, &before);
        c.milli -= before.milli;
        c.mem_mib -= before.mem_mib;
        c.slots -= before.slots;
    }
    *ret_cost = feasibility_cost(s->f, &d, &c);
    return true;
}

/* ---- candidates of one GPU request ---- */

/* Has one device been given as many requests of each kind as the other? Twins are one kind. Only the kinds in `a` but
 * not in `b` are counted: when these are balanced and both sets are equally large, nothing is left over in `b`. */
static bool given_alike(const struct search *s, uint64_t a, uint64_t b)
{
    if (a == b) {
        return true;
    }
    if (__builtin_popcountll(a) != __builtin_popcountll(b)) {
        return false;
    }
    for (uint64_t left = a & ~b; left != 0; left &= left - 1) {
        uint8_t twin = s->twin[__builtin_ctzll(left)];
        int surplus = 0;

        for (uint64_t v = a ^ b; v != 0; v &= v - 1) {
            unsigned w = (unsigned)__builtin_ctzll(v);

            if (s->twin[w] == twin) {
                surplus += (a & bit(w)) != 0 ? 1 : -1;
            }
        }
        if (surplus != 0) {
            return false;
        }
    }
    return true;
}

/* Equal in every number that decides what fits or what it costs. The model is not looked at: whether it is allowed was
 * decided by feasibility_resolve(), and only allowed devices are candidates. */
static bool interchangeable(const struct search *s, unsigned i, unsigned j)
{
    const struct device_state *a = &s->f->devices[i], *b = &s->f->devices[j];

    return s->capacity_of[i] == s->capacity_of[j] && a->mem_free_mib == b->mem_free_mib &&
           a->milli_free == b->milli_free && a->slot_free == b->slot_free && a->flags == b->flags &&
           given_alike(s, s->given[i], s->given[j]);
}

/* Being interchangeable is transitive, so a link to the last one before it joins all that are alike to one chain. Their
 * costs are equal and the sort is stable: a chain is in the order of ordinals. */
static uint8_t last_alike(const struct search *s, const struct choice *c, unsigned place)
{
    for (unsigned k = place; k-- > 0;) {
        if (interchangeable(s, c->candidates[k], c->candidates[place])) {
            return (uint8_t)k;
        }
    }
    return NONE;
}

/* Not inlined: the costs must not lie on the stack at every depth of the search. */
static __attribute__((noinline)) void find_candidates(struct search *s, struct choice *c)
{
    int64_t costs[DEVICES_PER_NODE_MAX];

    c->candidate_n = 0;
    for (uint64_t left = s->alone[c->gpu_request]; left != 0; left &= left - 1) {
        unsigned device = (unsigned)__builtin_ctzll(left);
        unsigned at = c->candidate_n;
        int64_t cost;

        s->steps++; /* the bound is looked at by search_from(): at most one node's devices later */
        if (!judge(s, device, c->gpu_request, &cost)) {
            continue;
        }
        for (; at > 0 && costs[at - 1] > cost; at--) {
            costs[at] = costs[at - 1];
            c->candidates[at] = c->candidates[at - 1];
        }
        costs[at] = cost;
        c->candidates[at] = (uint8_t)device;
        c->candidate_n++;
    }
    for (unsigned place = 0; place < c->candidate_n; place++) {
        c->place_of[c->candidates[place]] = (uint8_t)place;
        c->alike[place] = last_alike(s, c, place);
    }
}

/* ---- sets of candidates, in lexicographic order of their places ----
 *
 * Of each chain of devices that are alike only a beginning is ever chosen: a place is open when the one that it is
 * alike to is chosen already. With eight equal devices and `count` 2 that is one set instead of 28. */

/* Fills places[k..count-1] with the first that may follow, from `place` on. When it fails, places[k] and those behind
 * it mean nothing, and `chosen` is as before. */
static bool fill(struct choice *c, unsigned count, unsigned k, unsigned place)
{
    uint64_t chosen = c->chosen;

    for (; k < count; place++) {
        if (place >= c->candidate_n) {
            return false;
        }
        if (c->alike[place] == NONE || (chosen & bit(c->alike[place])) != 0) {
            chosen |= bit(place);
            c->places[k++] = (uint8_t)place;
        }
    }
    c->chosen = chosen;
    return true;
}

static bool first_set(struct choice *c, unsigned count)
{
    c->chosen = 0;
    return fill(c, count, 0, 0);
}

/* As an odometer: the last place moves on; where it cannot, the one before it does. */
static bool next_set(struct choice *c, unsigned count)
{
    for (unsigned k = count; k-- > 0;) {
        unsigned place = c->places[k];

        c->chosen &= ~bit(place);
        if (fill(c, count, k, place + 1U)) {
            return true;
        }
    }
    return false;
}

/* Does the set of `c` come before that of its twin `above`, in the order in which that one looked? What takes a GPU
 * request now took its twin when the devices were emptier, so each device has a place there. Of two sets of one size,
 * that one comes first which has the lowest place that is not in both. */
static bool before_twin(const struct choice *c, const struct choice *above)
{
    uint64_t mine = 0, differ;

    for (uint64_t left = c->chosen; left != 0; left &= left - 1) {
        mine |= bit(above->place_of[c->candidates[__builtin_ctzll(left)]]);
    }
    differ = mine ^ above->chosen;
    return (mine & differ & -differ) != 0;
}

/* ---- the search ---- */

/* Gives the GPU request to the chosen devices, or takes it back: the bit is turned over. */
static void give(struct search *s, const struct choice *c)
{
    for (uint64_t left = c->chosen; left != 0; left &= left - 1) {
        s->given[c->candidates[__builtin_ctzll(left)]] ^= bit(c->gpu_request);
    }
}

static enum outcome search_from(struct search *s, size_t depth, const struct choice *above)
{
    struct choice c;
    bool has_twin, more;
    unsigned count;

    if (depth == s->gpu_request_n) {
        return FOUND;
    }
    c.gpu_request = s->order[depth];
    count = s->f->demand->gpu_requests[c.gpu_request].count;
    has_twin = above != NULL && s->twin[above->gpu_request] == s->twin[c.gpu_request];
    find_candidates(s, &c);
    for (more = first_set(&c, count); more; more = next_set(&c, count)) {
        enum outcome o;

        if (++s->steps > FEASIBILITY_STEPS_MAX) {
            return OUT_OF_STEPS;
        }
        if (has_twin && before_twin(&c, above)) {
            continue; /* the same with the two exchanged has been tried */
        }
        give(s, &c);
        o = search_from(s, depth + 1, &c);
        if (o == FOUND || o == OUT_OF_STEPS) {
            return o;
        }
        give(s, &c); /* takes it back */
        if (o == PHASE_EXHAUSTED && !s->several_phases[c.gpu_request]) {
            return o; /* a later phase failed, and it does not see what this GPU request gets */
        }
    }
    return s->begins_phase[c.gpu_request] ? PHASE_EXHAUSTED : EXHAUSTED;
}

/* ---- the answer ---- */

static void write_placement(const struct search *s, struct placement *ret)
{
    memset(ret->gpu_request_devices, 0, s->gpu_request_n * sizeof(ret->gpu_request_devices[0]));
    for (unsigned i = 0; i < s->f->node->device_n; i++) {
        for (uint64_t left = s->given[i]; left != 0; left &= left - 1) {
            ret->gpu_request_devices[__builtin_ctzll(left)] |= bit(i);
        }
    }
}

enum verdict feasibility_search(const struct feasibility *f, struct placement *ret)
{
    struct search s; /* 37 KiB; only what is used is written */

    s.f = f;
    s.gpu_request_n = f->demand->gpu_request_n;
    s.steps = 0;
    s.exclusive = 0;
    for (unsigned w = 0; w < s.gpu_request_n; w++) {
        BUG_ON(f->demand->gpu_requests[w].count == 0);
        s.alone[w] = 0;
        s.exclusive |= f->demand->gpu_requests[w].kind == GPU_REQUEST_WHOLE ? bit(w) : 0;
    }
    if (!feasibility_resolve(&s)) {
        return VERDICT_NO_COMBINATION;
    }
    feasibility_order(&s);
    switch (search_from(&s, 0, NULL)) {
    case FOUND:
        write_placement(&s, ret);
        return VERDICT_FITS;
    case OUT_OF_STEPS:
        return VERDICT_SEARCH_LIMIT;
    case EXHAUSTED:
    case PHASE_EXHAUSTED:
        break;
    }
    return VERDICT_NO_COMBINATION;
}
