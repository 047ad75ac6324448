/* core/forecast/rollout_internal.h - the lists of a rollout and one walk down a list, shared by rollout*.c only. */
#ifndef CORE_FORECAST_ROLLOUT_INTERNAL_H
#define CORE_FORECAST_ROLLOUT_INTERNAL_H

#include "core/forecast/rollout.h"

/* Amounts of cores and memory are told apart by their leading bits, compute by sixteens: sets are a little too large,
 * what they hold is looked at exactly. */
enum { ROLLOUT_STEPS = 4 * 30, ROLLOUT_MILLI_STEP = 16, ROLLOUT_MILLI_STEPS = 64 };

/* A draw where all devices are of one kind. */
struct brief {
    uint64_t charge; /* rollout_amounts() of each device */
    int32_t cpu_milli, mem_mib;
    uint16_t count;
    bool unsteered;
};

/* Of each list first what a walk looks at, so that it stays in the first cache. */
struct draw_list {
    uint64_t gpu, among, plugin, shares;
    uint64_t cpu[ROLLOUT_STEPS]; /* pods that ask for no more than any amount of this step */
    uint64_t mem[ROLLOUT_STEPS];
    uint64_t milli[ROLLOUT_MILLI_STEPS];
    int32_t cpu_above[ROLLOUT_STEPS]; /* the least that any pod asks for above the step; INT32_MAX: none does */
    int32_t mem_above[ROLLOUT_STEPS];
    struct brief brief[ROLLOUT_PODS];
    unsigned n;
};

struct draws {
    unsigned type_n;
    uint64_t hash[2]; /* of what is in the lists: shapes of nodes with equal lists share what is remembered */
    struct draw_list lists[ROLLOUT_LISTS];
    struct draw full[ROLLOUT_LISTS][ROLLOUT_PODS]; /* for devices of several kinds */
};

static inline unsigned rollout_step(int32_t v)
{
    unsigned e;

    if (v < 4) {
        return v > 0 ? (unsigned)v : 0;
    }
    e = 31 - (unsigned)__builtin_clz((unsigned)v);
    return (e - 1) * 4 + ((unsigned)v >> (e - 2) & 3);
}

static inline unsigned rollout_milli_step(int32_t v)
{
    return v >= ROLLOUT_MILLI_STEP * ROLLOUT_MILLI_STEPS ? ROLLOUT_MILLI_STEPS - 1
           : v > 0                                       ? (unsigned)v / ROLLOUT_MILLI_STEP
                                                         : 0;
}

/* One walk down one list, and for which other amounts of cores and memory, the devices being the same, it would go the
 * same way: at least what it used, and too little for any pod that it passed by for want of them. Bounds are inclusive;
 * INT32_MAX is "unknown", too. */
struct walk {
    int32_t cpu_low, cpu_high; /* low: what it used */
    int32_t mem_low, mem_high;
    int32_t filled; /* milli */
};

/* What a device has, of which milli comes first. */
static inline uint64_t rollout_amounts(int32_t milli, int32_t mem_mib)
{
    return (uint64_t)(uint32_t)milli << 32 | (uint32_t)mem_mib;
}

/* Devices of one kind, ascending: the tightest for a pod is the first that fits. */
struct rollout_devices {
    unsigned n;
    uint64_t d[DEVICES_PER_NODE_MAX];
};

/* Where the lists know more kinds there are none, and the walk looks at the room. */
void rollout_devices(const struct draws *s, const struct room *r, struct rollout_devices *ret);

void rollout_walk(const struct draws *s, unsigned k, const struct room *r, const struct rollout_devices *v, bool among,
                  struct walk *ret);

#endif
