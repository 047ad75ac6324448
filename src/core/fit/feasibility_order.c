/* What a search for devices (feasibility_search.c) begins with: amounts, phases, and the order of the GPU requests. */
#include "core/fit/feasibility_search_internal.h"

#include "base/bug.h"
#include "base/order.h"

/* An amount depends on the capacities of the device and not on what is free, so it is computed once for all devices of
 * equal capacity. */
bool feasibility_resolve(struct search *s)
{
    const struct feasibility *f = s->f;

    for (unsigned i = 0; i < f->node->device_n; i++) {
        const struct device_state *d = &f->devices[i];
        unsigned like = 0;

        while (!device_same_capacity(&f->devices[like], d)) {
            like++;
        }
        s->given[i] = 0;
        s->capacity_of[i] = (uint8_t)like;
        for (unsigned w = 0; w < s->gpu_request_n; w++) {
            struct amount *a = &s->amounts[like][w];

            if (like == i) {
                struct charge c = device_charge(d, f->demand, &f->demand->gpu_requests[w]);

                BUG_ON(c.milli < 0 || c.mem_mib < 0 || c.slots != 1);
                a->milli = c.milli;
                a->mem_mib = c.mem_mib > UINT32_MAX ? UINT32_MAX : (uint32_t)c.mem_mib;
                a->profile = c.profile;
            }
            if (device_takes(d, &(struct charge){.milli = a->milli,
                                                 .slots = 1,
                                                 .mem_mib = a->mem_mib,
                                                 .exclusive = (s->exclusive & bit(w)) != 0 || d->profile != 0,
                                                 .profile = a->profile}) &&
                feasibility_allows(f, d)) {
                s->alone[w] |= bit(i);
            }
        }
    }
    for (unsigned w = 0; w < s->gpu_request_n; w++) {
        if (__builtin_popcountll(s->alone[w]) < f->demand->gpu_requests[w].count) {
            return false;
        }
    }
    return true;
}

static uint64_t gpu_requests_of_phase(const struct demand *d, unsigned phase)
{
    uint64_t gpu_requests = 0;

    for (unsigned w = 0; w < d->gpu_request_n; w++) {
        gpu_requests |= (d->gpu_requests[w].phases >> phase & 1) << w;
    }
    return gpu_requests;
}

/* Keeps the phases that are part of no other; the app phase, bit 0, before init containers. Amounts are never negative,
 * so a part of a phase never has the higher sum. Of those that are kept none is part of another: once `covered` is
 * true, nothing was moved before it, and the list is as it was. */
static void find_phases(struct search *s, const struct demand *d)
{
    s->phase_n = 0;
    for (unsigned phase = 0; phase < DEMAND_PHASES_MAX; phase++) {
        uint64_t gpu_requests = gpu_requests_of_phase(d, phase);
        unsigned kept = 0;
        bool covered = gpu_requests == 0;

        for (unsigned p = 0; p < s->phase_n && !covered; p++) {
            covered = (gpu_requests & ~s->phases[p]) == 0;
            if (covered || (s->phases[p] & ~gpu_requests) != 0) {
                s->phases[kept++] = s->phases[p];
            }
        }
        if (!covered) {
            s->phases[kept++] = gpu_requests;
            s->phase_n = kept;
        }
    }
}

/* Where in the search a GPU request belongs: before the phases, or in which one. */
static unsigned part_of(const struct search *s, unsigned w)
{
    unsigned part = 0, n = 0;

    for (unsigned p = 0; p < s->phase_n; p++) {
        if ((s->phases[p] & bit(w)) != 0) {
            part = p + 1;
            n++;
        }
    }
    BUG_ON(n == 0); /* a GPU request without a phase */
    return n == 1 ? part : 0;
}

static int order_i64(int64_t a, int64_t b)
{
    return ORDER(a, b);
}

/* The order of the search: by part; then the hardest first, which has the fewest devices to choose from, so that what
 * cannot be is found near the top of the tree. The last keys only bring twins side by side: 0 must mean that the two
 * GPU requests are equal in everything that device_charge() and sum_up() read. */
static int compare(const struct search *s, unsigned v, unsigned w)
{
    const struct gpu_request *a = &s->f->demand->gpu_requests[v], *b = &s->f->demand->gpu_requests[w];
    const int64_t keys[][2] = {
        {part_of(s, v), part_of(s, w)},
        {b->kind == GPU_REQUEST_WHOLE, a->kind == GPU_REQUEST_WHOLE},
        {__builtin_popcountll(s->alone[v]) - a->count, __builtin_popcountll(s->alone[w]) - b->count},
        {b->count, a->count},
        {b->mem_mib, a->mem_mib},
        {b->milli, a->milli},
        {a->kind, b->kind},
        {a->profile, b->profile},
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        int o = order_i64(keys[i][0], keys[i][1]);

        if (o != 0) {
            return o;
        }
    }
    return ORDER(a->phases, b->phases);
}

static void sort_gpu_requests(struct search *s)
{
    unsigned part = 0;

    for (unsigned w = 0; w < s->gpu_request_n; w++) {
        unsigned at = w;

        for (; at > 0 && compare(s, s->order[at - 1], w) > 0; at--) {
            s->order[at] = s->order[at - 1];
        }
        s->order[at] = (uint8_t)w;
    }
    for (unsigned k = 0; k < s->gpu_request_n; k++) {
        unsigned w = s->order[k], before = part;

        part = part_of(s, w);
        s->several_phases[w] = part == 0;
        s->begins_phase[w] = part != before;
        s->twin[w] = (uint8_t)w;
        if (k > 0 && compare(s, s->order[k - 1], w) == 0) {
            s->twin[w] = s->twin[s->order[k - 1]];
        }
    }
}

void feasibility_order(struct search *s)
{
    find_phases(s, s->f->demand);
    sort_gpu_requests(s);
}
