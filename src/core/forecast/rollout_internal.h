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

/* ---- places (places.c, place_kinds.c) ---- */

/* Eight kinds of pods, side by side, so that one loop counts all of them. A kind are pods of the lists that are alike.
 * All of a block are of a plugin or none is, and either all ask for one device or all for several. What fills up the
 * last block of these weighs nothing and fits nowhere. What is asked for is a divisor: places.c. */
enum { PLACE_KINDS = 8, PLACE_BLOCKS_MAX = ROLLOUT_LISTS * ROLLOUT_PODS / PLACE_KINDS + 4 };

struct place_block {
    double milli[ROLLOUT_TYPES_MAX][PLACE_KINDS], mem_mib[ROLLOUT_TYPES_MAX][PLACE_KINDS]; /* of a device */
    double cpu_milli[PLACE_KINDS], host_mem_mib[PLACE_KINDS];
    uint32_t weight_milli[PLACE_KINDS]; /* what such a pod counts for, times how many there are in the lists */
    uint32_t count[PLACE_KINDS];        /* devices */
    uint32_t plugin_managed, is_gang;   /* truths; gang: several devices */
};
_Static_assert(sizeof(struct place_block) == PLACE_KINDS * (16 * ROLLOUT_TYPES_MAX + 25), "hashed: without gaps");

struct rollout_samples {
    unsigned type_n;
    int32_t mem_cap_mib[ROLLOUT_TYPES_MAX]; /* of an empty device; 0: unknown */
    uint64_t hash[2]; /* of what is in the lists: shapes of nodes with equal lists share what is remembered */
    struct sample_list lists[ROLLOUT_LISTS];
    struct sample full[ROLLOUT_LISTS][ROLLOUT_PODS]; /* for devices of several kinds */
    struct place_block *kinds;                       /* of pods with GPUs */
    unsigned block_n;
    uint64_t kinds_hash[2]; /* of all that places depend on */
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
void place_kinds_seal(struct rollout_samples *s);

/* How many pods of each kind fit on a device, remembered. */
struct place_counts;

struct place_counts *place_counts_new(void);
void place_counts_free(struct place_counts *c); /* NULL is fine */
int64_t place_counts_sum(struct place_counts *c, const struct rollout_samples *s, const struct residual *r);

/* Where the lists know several kinds of devices `ret` stays empty, and the pass reads the residual itself. */
void rollout_devices(const struct rollout_samples *s, const struct residual *r, struct rollout_devices *ret);

/* One pass down list k. `v`: from rollout_devices() for the same residual; it is not changed. */
void rollout_pass_run(const struct rollout_samples *s, unsigned k, const struct residual *r,
                      const struct rollout_devices *v, bool among, struct rollout_pass *ret);

#endif
