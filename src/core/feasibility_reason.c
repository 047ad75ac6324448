#include "core/feasibility_internal.h"

struct tally {
    unsigned allowed, known, large_enough, healthy;
    /* among devices that pass all of the above */
    unsigned open, apart, empty, slot, compute, memory;
};

static void count(struct tally *t, const struct feasibility *f, const struct wish *w,
                  const struct device_state *d)
{
    struct charge c = feasibility_wish_charge(w, d);

    if (!feasibility_allows(f, d) || (d->flags & DEVICE_DENIED) != 0) {
        return;
    }
    t->allowed++;
    if (c.mem_mib > 0 && d->mem_cap_mib == 0) {
        return;
    }
    t->known++;
    if (c.mem_mib > d->mem_cap_mib || c.milli > d->milli_cap || c.slots > d->slot_cap) {
        return;
    }
    t->large_enough++;
    if ((d->flags & DEVICE_HEALTHY) == 0 || (d->flags & DEVICE_LOST) != 0) {
        return;
    }
    t->healthy++;
    t->open += (d->flags & DEVICE_EXCLUSIVE) == 0;
    t->apart += (d->flags & DEVICE_ISOLATED) == 0;
    t->empty += (d->flags & DEVICE_IN_USE) == 0;
    t->slot += c.slots <= d->slot_free;
    t->compute += c.milli <= d->milli_free;
    t->memory += c.mem_mib <= d->mem_free_mib;
}

enum verdict feasibility_reason(const struct feasibility *f, const struct wish *w)
{
    struct tally t = {0};
    unsigned n = w->count;

    if (f->node->device_n < n) {
        return VERDICT_TOO_FEW_GPUS;
    }
    for (size_t i = 0; i < f->node->device_n; i++) {
        count(&t, f, w, &f->devices[i]);
    }
    if (t.allowed < n) {
        return VERDICT_NOT_ALLOWED;
    }
    if (t.known < n) {
        return VERDICT_MEMORY_UNKNOWN;
    }
    if (t.large_enough < n) {
        return VERDICT_GPU_TOO_SMALL;
    }
    if (t.healthy < n) {
        return VERDICT_UNHEALTHY;
    }
    if (t.open < n) {
        return VERDICT_HELD_ALONE;
    }
    if (t.apart < n) {
        return VERDICT_ISOLATED;
    }
    if (w->kind == WISH_WHOLE && t.empty < n) {
        return VERDICT_NOT_EMPTY;
    }
    if (t.slot < n) {
        return VERDICT_NO_SLOT;
    }
    if (t.compute < n) {
        return VERDICT_NO_COMPUTE;
    }
    return t.memory < n ? VERDICT_NO_MEMORY : VERDICT_FRAGMENTED;
}
