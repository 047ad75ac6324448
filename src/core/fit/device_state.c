#include "core/fit/device_state.h"

#include "model/qos.h"

static int64_t clamp(int64_t v, int64_t min)
{
    return v < min ? min : v;
}

/* The memory that is asked for stays visible where it is too much. */
static struct charge instance_charge(const struct device_state *d, const struct gpu_request *w)
{
    bool serves = w->profile == d->profile || (gpu_request_is_memory_alone(w) && (d->flags & DEVICE_COUNTED) == 0);

    return (struct charge){
        .milli = d->milli_cap,
        .slots = 1,
        .mem_mib = w->mem_mib > d->mem_cap_mib ? w->mem_mib : d->mem_cap_mib,
        .exclusive = true,
        .profile = serves ? d->profile : w->profile,
    };
}

/* As much of a part as of a whole GPU. */
static int32_t even_milli(const struct device_state *d)
{
    int32_t even = qos_even_milli(d->slot_cap);

    return device_is_part(d) ? (int32_t)((int64_t)even * d->milli_cap / DEVICE_MILLI) : even;
}

static bool is_equal_share(const struct device_state *d, const struct demand *of)
{
    return of != NULL && of->says_qos ? of->qos == QOS_EQUAL_SHARE : (d->flags & DEVICE_EQUAL) != 0;
}

struct charge device_charge(const struct device_state *d, const struct demand *of, const struct gpu_request *w)
{
    struct charge c;

    if (device_is_instance(d)) {
        return instance_charge(d, w);
    }
    if (device_is_part(d)) {
        c = gpu_request_charge(w, DEVICE_MILLI, d->mem_base_mib, d->mem_base_mib);
    } else {
        c = gpu_request_charge(w, d->milli_cap, d->mem_cap_mib, d->mem_base_mib);
    }
    /* A fraction of memory that nobody knows would be nothing at all. */
    if (gpu_request_kind_is_of_memory(w->kind) && d->memory_only == MEMORY_ONLY_FREE && c.mem_mib > 0) {
        c.milli = 0;
    }
    if ((d->flags & DEVICE_SLICE) != 0) { /* nobody else can have the rest */
        c.milli = d->milli_cap > c.milli ? d->milli_cap : c.milli;
        c.mem_mib = d->mem_cap_mib > c.mem_mib ? d->mem_cap_mib : c.mem_mib;
    } else if (is_equal_share(d, of) && c.milli < even_milli(d)) {
        c.milli = even_milli(d);
    }
    return c;
}

static int32_t less(int32_t free, int32_t taken)
{
    int32_t left;

    return __builtin_sub_overflow(free, taken, &left) ? INT32_MIN : left;
}

struct host_state host_after(struct host_state h, struct host_request taken)
{
    h.cpu_free_milli = less(h.cpu_free_milli, taken.cpu_milli);
    h.mem_free_mib = less(h.mem_free_mib, taken.mem_mib);
    return h;
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
    d->flags |= (uint16_t)(DEVICE_IN_USE | (c->exclusive ? DEVICE_EXCLUSIVE : 0));
}
