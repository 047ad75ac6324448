/* Nodes by what they are when empty (their shape), and what is left on one (its residual).
 *
 * Thousands of nodes are of a few dozen kinds. Samples, classes and lists of prices are kept for each shape and not for
 * each node, and two nodes of one shape with the same residual are the same thing: their value is computed once.
 *
 * Machines of one kind report capacities that differ by some kilobytes. So capacities are rounded to the leading bit
 * and `rounding` more, seven at first: steps of less than one percent. When there are more than FORECAST_SHAPES_MAX
 * shapes all the same, two bits less are taken and all nodes are described anew; with one bit left further shapes count
 * as the first one. This makes the forecast coarser, never a decision wrong: whether a pod fits is not decided here.
 *
 * A shape is found by a hash of all that describes it, which stands for it. Finding it is O(devices + shapes), and is
 * done only when a node has changed, or for a state of a node that is judged and not kept.
 */
#include "base/bug.h"
#include "base/hash.h"
#include "core/forecast/internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- rounding ---- */

/* To the leading `bits` + 1 bits; what is not positive becomes 0. */
static int32_t round_down(int32_t v, unsigned bits)
{
    unsigned top = v > 0 ? 31 - (unsigned)__builtin_clz((unsigned)v) : 0;

    return v <= 0 ? 0 : top < bits ? v : (int32_t)((unsigned)v >> (top - bits) << (top - bits));
}

static int32_t round_up(int32_t v, unsigned bits)
{
    int32_t low = round_down(v, bits);
    unsigned top = v > 0 ? 31 - (unsigned)__builtin_clz((unsigned)v) : 0;
    int32_t high;

    if (low == v || v <= 0 || top < bits) {
        return low;
    }
    return __builtin_add_overflow(low, INT32_C(1) << (top - bits), &high) ? INT32_MAX : high;
}

/* ---- shapes ---- */

static bool type_equal(const struct device_type *a, const struct device_type *b)
{
    return a->model_id == b->model_id && a->milli_cap == b->milli_cap && a->mem_low_mib == b->mem_low_mib &&
           a->mem_high_mib == b->mem_high_mib && a->base_low_mib == b->base_low_mib && a->memory_only == b->memory_only;
}

static struct device_type type_of(const struct device_state *d, unsigned bits)
{
    return (struct device_type){
        .model_id = d->model_id,
        .milli_cap = d->milli_cap,
        .mem_low_mib = round_down(d->mem_cap_mib, bits),
        .mem_high_mib = round_up(d->mem_cap_mib, bits),
        .base_low_mib = round_down(d->mem_base_mib, bits),
        .memory_only = d->memory_only,
    };
}

static int compare_types(const void *a, const void *b)
{
    const struct device_type *x = a, *y = b;
    const int64_t keys[][2] = {
        {x->milli_cap, y->milli_cap},       {x->mem_low_mib, y->mem_low_mib}, {x->mem_high_mib, y->mem_high_mib},
        {x->base_low_mib, y->base_low_mib}, {x->model_id, y->model_id},       {x->memory_only, y->memory_only},
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (keys[i][0] != keys[i][1]) {
            return keys[i][0] < keys[i][1] ? -1 : 1;
        }
    }
    return 0;
}

static unsigned find_type(const struct node_shape *s, const struct device_type *t)
{
    unsigned i = 0;

    while (i < s->type_n && !type_equal(&s->types[i], t)) {
        i++;
    }
    return i;
}

/* Counts the devices by type. Neighbours are mostly equal, so the last type is tried first. A fifth type and all after
 * it count as the fourth. */
static void add_types(struct node_shape *s, const struct node_state *n, const struct device_state *devices,
                      unsigned bits)
{
    for (unsigned i = 0; i < n->device_n; i++) {
        struct device_type t = type_of(&devices[i], bits);
        unsigned k;

        if (i > 0 && type_equal(&s->types[s->type_n - 1], &t)) {
            k = s->type_n - 1U;
        } else {
            k = find_type(s, &t);
        }
        if (k == ROLLOUT_TYPES_MAX) {
            k--;
        } else if (k == s->type_n) {
            s->types[s->type_n++] = t;
        }
        s->types[k].device_n++;
    }
    if (s->type_n > 1) { /* which of them stands first on the node does not matter */
        qsort(s->types, s->type_n, sizeof(s->types[0]), compare_types);
    }
}

static uint64_t fold(uint64_t h, int64_t v)
{
    return hash_fold(h ^ (uint64_t)v, UINT64_C(0x9e3779b97f4a7c15));
}

static void describe(const struct node_state *n, const struct device_state *devices, unsigned bits,
                     struct node_shape *s)
{
    uint64_t h = 1;

    s->cpu_cap_milli = round_up(n->host.cpu_cap_milli, bits);
    s->mem_cap_mib = round_up(n->host.mem_cap_mib, bits);
    s->plugin_managed_n = n->plugin_managed_cap;
    s->device_n = n->device_n;
    s->type_n = 0;
    memset(s->types, 0, sizeof(s->types));
    add_types(s, n, devices, bits);
    if (s->type_n == 0) { /* GPUs of a plugin alone: nothing is known of them */
        s->type_n = 1;
        s->types[0] = (struct device_type){.milli_cap = DEVICE_MILLI, .model_id = UINT16_MAX};
    }
    h = fold(fold(fold(fold(h, s->cpu_cap_milli), s->mem_cap_mib), s->plugin_managed_n), s->device_n);
    for (unsigned i = 0; i < s->type_n; i++) {
        const struct device_type *t = &s->types[i];

        h = fold(fold(fold(h, t->model_id), t->device_n), t->milli_cap);
        h = fold(fold(fold(h, t->mem_low_mib), t->mem_high_mib), t->base_low_mib);
        h = t->memory_only == MEMORY_ONLY_SHARE ? h : fold(h, t->memory_only);
    }
    s->hash = h;
}

static uint16_t find_hash(const struct forecast *o, uint64_t hash)
{
    for (uint32_t i = 0; i < o->shape_n; i++) {
        if (o->shapes[i].hash == hash) {
            return (uint16_t)i;
        }
    }
    return FORECAST_SHAPE_NONE;
}

uint16_t forecast_shape_find(const struct forecast *o, const struct node_state *n, const struct device_state *devices)
{
    struct node_shape s;

    describe(n, devices, o->rounding, &s);
    return find_hash(o, s.hash);
}

bool forecast_shape_add(struct forecast *o, const struct node_state *n, const struct device_state *devices,
                        uint16_t *ret)
{
    struct node_shape s;

    describe(n, devices, o->rounding, &s);
    *ret = find_hash(o, s.hash);
    if (*ret != FORECAST_SHAPE_NONE) {
        return true;
    }
    if (o->shape_n == FORECAST_SHAPES_MAX) {
        if (o->rounding > 1) {
            o->rounding -= 2;
            return false;
        }
        *ret = 0; /* so many kinds of devices: the node counts as one of another shape */
        return true;
    }
    s.node_n = 0;
    s.samples = NULL;
    s.class_n = 0;
    s.class_set = 0;
    s.priced_at = 0;
    o->shapes[o->shape_n] = s;
    *ret = (uint16_t)o->shape_n++;
    o->shapes_changed = true;
    return true;
}

/* ---- what is left ---- */

static bool is_less(const struct residual_device *a, const struct residual_device *b)
{
    if (a->type != b->type) {
        return a->type < b->type;
    }
    return a->milli != b->milli ? a->milli < b->milli : a->mem_mib < b->mem_mib;
}

/* Sorted as struct residual says: then residuals with the same devices in another order are equal bytes, and have one
 * hash. */
static void insert(struct residual *r, struct residual_device v)
{
    unsigned at = r->device_n++;

    for (; at > 0 && is_less(&v, &r->devices[at - 1]); at--) {
        r->devices[at] = r->devices[at - 1];
    }
    r->devices[at] = v;
}

/* By shares and whole GPUs, which is what the histogram counts: MIG instances are another matter. */
static bool is_usable(const struct device_state *d)
{
    return d->profile == 0 &&
           (d->flags & (DEVICE_HEALTHY | DEVICE_EXCLUSIVE | DEVICE_LOST | DEVICE_ELSEWHERE | DEVICE_GROUP_TAKEN)) ==
               DEVICE_HEALTHY &&
           d->slot_free > 0 && d->milli_free > 0 && d->mem_free_mib >= 0;
}

static uint16_t type_in(const struct forecast *o, const struct node_shape *s, const struct device_state *d)
{
    struct device_type t;
    unsigned i;

    if (s->type_n == 1) {
        return 0;
    }
    t = type_of(d, o->rounding);
    i = find_type(s, &t);
    return (uint16_t)(i < s->type_n ? i : s->type_n - 1U);
}

static void residual_of_devices(const struct forecast *o, const struct node_shape *s,
                                const struct device_state *devices, size_t n, struct residual *ret)
{
    for (size_t i = 0; i < n; i++) {
        const struct device_state *d = &devices[i];
        bool known = d->mem_cap_mib > 0;

        if (is_usable(d)) {
            insert(ret, (struct residual_device){type_in(o, s, d), d->milli_free, known ? d->mem_free_mib : INT32_MAX});
        }
    }
}

/* Of the plugin's GPUs it is known how many are free, not which. */
static void residual_of_plugin(const struct node_shape *s, int32_t free_n, struct residual *ret)
{
    const struct device_type *t = &s->types[0];

    for (int32_t i = 0; i < free_n && ret->device_n < DEVICES_PER_NODE_MAX; i++) {
        ret->devices[ret->device_n++] =
            (struct residual_device){0, t->milli_cap, t->mem_low_mib > 0 ? t->mem_low_mib : INT32_MAX};
    }
}

static int32_t free_or_unknown(int32_t cap, int32_t free)
{
    return cap <= 0 ? INT32_MAX : free > 0 ? free : 0;
}

void forecast_residual(const struct forecast *o, uint16_t shape, const struct strategy_node *n, bool after,
                       struct residual *ret)
{
    const struct node_shape *s = &o->shapes[shape];
    const struct host_state *h = after ? &n->host : &n->node->host;
    int32_t plugin_free = after ? n->plugin_managed_free : n->node->plugin_managed_cap - n->node->plugin_managed_used;
    bool shares = n->node->share_pod_n > 0 || (after && n->demand->gpu_request_n > 0);
    bool plugin = n->node->plugin_managed_used > 0 || (after && n->demand->plugin_managed_n > 0);

    ret->shape = shape;
    ret->device_n = 0;
    ret->cpu_milli = free_or_unknown(h->cpu_cap_milli, h->cpu_free_milli);
    ret->mem_mib = free_or_unknown(h->mem_cap_mib, h->mem_free_mib);
    ret->kinds = (uint8_t)((n->device_n > 0 && !plugin ? RESIDUAL_SHARES : 0) |
                           (n->plugin_managed_cap > 0 && !shares ? RESIDUAL_PLUGIN : 0));
    if (plugin || n->device_n == 0) {
        residual_of_plugin(s, plugin_free, ret);
    } else {
        residual_of_devices(o, s, after ? n->after : n->before, n->device_n, ret);
    }
}
