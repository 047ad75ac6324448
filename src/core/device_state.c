#include "core/device_state.h"

static int64_t clamp(int64_t v, int64_t min)
{
    return v < min ? min : v;
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
