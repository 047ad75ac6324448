#include "core/device_state.h"

static int64_t clamp(int64_t v, int64_t min)
{
    return v < min ? min : v;
}

static bool wants_memory_alone(const struct wish *w)
{
    return w->profile == 0 && (w->kind == WISH_MEMORY || (w->kind == WISH_BOTH && w->milli == 0));
}

/* The memory that is asked for stays visible where it is too much. */
static struct charge instance_charge(const struct device_state *d, const struct wish *w)
{
    bool serves = w->profile == d->profile || (wants_memory_alone(w) && (d->flags & DEVICE_COUNTED) == 0);

    return (struct charge){
        .milli = d->milli_cap,
        .slots = 1,
        .mem_mib = w->mem_mib > d->mem_cap_mib ? w->mem_mib : d->mem_cap_mib,
        .exclusive = true,
        .profile = serves ? d->profile : w->profile,
    };
}

struct charge device_charge(const struct device_state *d, const struct wish *w)
{
    struct charge c;

    if (device_is_instance(d)) {
        return instance_charge(d, w);
    }
    c = wish_charge(w, d->milli_cap, d->mem_cap_mib, d->mem_base_mib);
    /* A fraction of memory that nobody knows would be nothing at all. */
    if (wish_kind_is_of_memory(w->kind) && d->memory_only == MEMORY_ONLY_FREE && c.mem_mib > 0) {
        c.milli = 0;
    }
    return c;
}

void device_take(struct device_state *d, const struct charge *c)
{
    int64_t mem_left;

    if (__builtin_sub_overflow((int64_t)d->mem_free_mib, c->mem_mib, &mem_left)) {
        mem_left = INT32_MIN;
    }
    d->mem_free_mib = (int32_t)clamp(mem_left, INT32_MIN);
    d->milli_free = (int32_t)clamp((int64_t)d->milli_free - c->milli, INT32_MIN);
    d->slot_free = (int16_t)clamp((int64_t)d->slot_free - c->slots, INT16_MIN);
    d->flags |= (uint8_t)(DEVICE_IN_USE | (c->exclusive ? DEVICE_EXCLUSIVE : 0));
}
