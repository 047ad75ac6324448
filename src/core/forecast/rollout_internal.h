/* core/forecast/rollout_internal.h - the lists of a rollout and one pass down a list, shared by rollout*.c only.
 *
 * Units: compute in milli of one device, cores in milli cores, memory in MiB. INT32_MAX is "unknown" for cores and
 * memory of a residual and for memory of a device: always enough, and never reduced. Amounts are never negative.
 */
#ifndef CORE_FORECAST_ROLLOUT_INTERNAL_H
#define CORE_FORECAST_ROLLOUT_INTERNAL_H

#include "core/forecast/rollout.h"

/* Steps: amounts that share a set. Cores and memory are told apart by their leading three bits, four steps to each
 * power of two, up to 2^31 - 1; compute by sixteens. So sets are a little too large, and what they hold is compared
 * exactly. */
enum { ROLLOUT_STEPS = 4 * 30, ROLLOUT_MILLI_STEP = 16, ROLLOUT_MILLI_STEPS = 64 };

/* A sampled pod where all devices are of one kind. */
struct brief {
    uint64_t charge; /* rollout_amounts() of each device */
    int32_t cpu_milli, mem_mib;
    uint16_t count;
    bool plugin_managed;
};

/* One list. Sets of pods: bit i is the i-th pod. `gpu`: asks for GPUs; `among`: the first ROLLOUT_AMONG, of any kind;
 * `plugin` and `shares`: may come to a node that has a plugin's pods, or shares (GPU-less ones are in both). The sets
 * by step ascend: cpu[t] is part of cpu[t + 1]. First what a pass looks at, so that it stays in the first cache. */
struct sample_list {
    uint64_t gpu, among, plugin, shares;
    uint64_t cpu[ROLLOUT_STEPS]; /* pods that ask for no more than any amount of this step */
    uint64_t mem[ROLLOUT_STEPS];
    uint64_t milli[ROLLOUT_MILLI_STEPS]; /* of each device, on the kind that takes the least */
    int32_t cpu_above[ROLLOUT_STEPS];    /* the least that any pod asks for above the step; INT32_MAX: none does */
    int32_t mem_above[ROLLOUT_STEPS];
    struct brief brief[ROLLOUT_PODS];
    unsigned n;
};

/* Pods of the lists that are alike but for cores and memory of the machine. */
struct sample_kind {
    uint16_t at; /* one of them: list x ROLLOUT_PODS + its place there */
    uint16_t n;  /* how many there are */
};

struct rollout_samples {
    unsigned type_n;
    uint64_t hash[2]; /* of what is in the lists: shapes of nodes with equal lists share what is remembered */
    struct sample_list lists[ROLLOUT_LISTS];
    struct sample full[ROLLOUT_LISTS][ROLLOUT_PODS]; /* for devices of several kinds */
    unsigned kind_n;
    struct sample_kind kinds[ROLLOUT_LISTS * ROLLOUT_PODS]; /* of pods with GPUs, for places.c */
};

/* Never falls when v grows. 0 for v <= 0, 119 for INT32_MAX. */
static inline unsigned rollout_step(int32_t v)
{
    unsigned e;

    if (v < 4) {
        return v > 0 ? (unsigned)v : 0;
    }
    e = 31 - (unsigned)__builtin_clz((unsigned)v);
    return (e - 1) * 4 + ((unsigned)v >> (e - 2) & 3);
}

/* The same for compute; all from 1,008 milli on share the last step. */
static inline unsigned rollout_milli_step(int32_t v)
{
    unsigned step = (unsigned)v / ROLLOUT_MILLI_STEP;

    return step < ROLLOUT_MILLI_STEPS ? step : ROLLOUT_MILLI_STEPS - 1;
}

/* One pass down one list, and for which other amounts of cores and memory it would go the same way, if the devices are
 * the same: at least what it used, and too little for any pod that it passed by for want of them. Bounds are inclusive;
 * INT32_MAX is "unknown", too. Within the bounds `filled` is exact, and what is left of the cores is what there was
 * less cpu_low. */
struct rollout_pass {
    int32_t cpu_low, cpu_high; /* low: what it used */
    int32_t mem_low, mem_high;
    int32_t filled; /* milli */
};

/* What a device has, of which milli comes first. */
static inline uint64_t rollout_amounts(int32_t milli, int32_t mem_mib)
{
    return (uint64_t)(uint32_t)milli << 32 | (uint32_t)mem_mib;
}

/* Devices of one kind, ascending: the tightest for a pod is the first that fits. They are looked at in steps, so what
 * fills up the last step is larger than any device. */
enum { ROLLOUT_DEVICES_STEP = 4 };
_Static_assert(DEVICES_PER_NODE_MAX % ROLLOUT_DEVICES_STEP == 0, "room for whole steps");

struct rollout_devices {
    unsigned n;
    uint64_t mask; /* what of a charge counts: without memory where that is unknown */
    uint64_t d[DEVICES_PER_NODE_MAX];
};

/* Finds the kinds. */
void rollout_places_seal(struct rollout_samples *s);

/* Where the lists know several kinds of devices `ret` stays empty, and the pass reads the residual itself. */
void rollout_devices(const struct rollout_samples *s, const struct residual *r, struct rollout_devices *ret);

/* One pass down list k. `v`: from rollout_devices() for the same residual; it is not changed. */
void rollout_pass_run(const struct rollout_samples *s, unsigned k, const struct residual *r,
                      const struct rollout_devices *v, bool among, struct rollout_pass *ret);

#endif
