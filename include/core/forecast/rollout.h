/* core/forecast/rollout.h - how much of what is left on a node the pods to come would fill.
 *
 * A scenario is a list of sampled pods, in the order in which they may come. One pass goes down the list and places
 * each pod that fits, on the tightest device that fits. What has been filled at the end is the value of the residual in
 * this scenario (packing.md 5.1: G, A). The same lists serve all nodes of a shape and stay as they are until the demand
 * histogram settles anew, so the value is a function of the residual alone. How a pass is made fast: rollout.c.
 *
 * Units: compute in milli of a device, cores in milli cores, memory in MiB; results are sums over ROLLOUT_LISTS lists.
 * Amounts of a residual are never negative. No errors. No lock: lists are only read once they are sealed, but a memo
 * belongs to one caller at a time.
 */
#ifndef CORE_FORECAST_ROLLOUT_H
#define CORE_FORECAST_ROLLOUT_H

#include "model/device.h"

#include <stdbool.h>
#include <stdint.h>

#define ROLLOUT_LISTS 16    /* measured: half of it packs worse, twice as many buy little (packing.md 5.2) */
#define ROLLOUT_PODS 64     /* of a list: a set of them is one word */
#define ROLLOUT_AMONG 32    /* of these, the first count where GPU-less pods come along */
#define ROLLOUT_TYPES_MAX 4 /* different kinds of devices of one node; more are taken for the last */

#define ROLLOUT_NEVER INT32_MAX

/* One sampled pod, resolved for the device types of one shape of nodes. */
struct sample_charge {
    int32_t milli; /* of one device; ROLLOUT_NEVER: not on this kind of device */
    int32_t mem_mib;
};

struct sample {
    int32_t cpu_milli, mem_mib;
    uint16_t count; /* devices; 0: none */
    bool plugin_managed;
    int32_t worth_milli; /* what each of its devices counts for, wherever it runs (places.c) */
    struct sample_charge on[ROLLOUT_TYPES_MAX];
};

struct rollout_samples;

struct rollout_samples *rollout_samples_new(unsigned type_n);
void rollout_samples_free(struct rollout_samples *s); /* NULL is fine */
void rollout_samples_clear(struct rollout_samples *s);
/* What an empty device of this kind has; 0: unknown, as in the beginning. */
void rollout_samples_memory(struct rollout_samples *s, unsigned type, int32_t mem_cap_mib);
/* Appends to list k; at most ROLLOUT_PODS. */
void rollout_samples_add(struct rollout_samples *s, unsigned k, const struct sample *d);
/* Once all have been added, and before any rollout. */
void rollout_samples_seal(struct rollout_samples *s);

struct residual_device {
    uint16_t type;
    int32_t milli;
    int32_t mem_mib; /* INT32_MAX: unknown, no constraint */
};

enum residual_kind {
    RESIDUAL_SHARES = 1 << 0, /* takes pods whose devices fgpu chooses */
    RESIDUAL_PLUGIN = 1 << 1, /* takes whole GPUs of a plugin; with both it is one or the other */
};

/* The residual of a node. Only devices that a pod could still use, sorted by type, milli, memory, so that equal
 * residuals are equal bytes for the first device_n; the rest is not initialised. */
struct residual {
    uint16_t shape;
    uint8_t kinds; /* enum residual_kind */
    uint8_t device_n;
    int32_t cpu_milli; /* INT32_MAX: unknown, no constraint */
    int32_t mem_mib;
    struct residual_device devices[DEVICES_PER_NODE_MAX];
};

/* The least of n and of how often `have`, cores or memory of a residual, is enough for `each`; most often that is n,
 * which takes no division. */
static inline int32_t residual_times(int32_t n, int32_t have, int32_t each)
{
    return have == INT32_MAX || each <= 0 || (int64_t)n * each <= have ? n : have / each;
}

struct rollout {
    int64_t filled;   /* milli, sum over the lists */
    int64_t cpu_left; /* milli, sum over the lists; 0 when unknown */
};

/* `among`: GPU-less pods come along and take cores; only the first ROLLOUT_AMONG pods of a list. */
struct rollout rollout_run(const struct rollout_samples *s, const struct residual *r, bool among);

/* ---- the same, remembered ---- */

/* Hashes that stand for a residual: 128 bits for its devices, 128 bits for all of it. */
struct residual_key {
    uint64_t devices[2], all[2];
};

void residual_key(const struct residual *r, struct residual_key *ret);

/* Passes over residuals with the same devices, whatever cores and memory are left there, and what fits on one device.
 * For the lists of all shapes; 9 MB, allocated once. */
struct rollout_memo;

struct rollout_memo *rollout_memo_new(void);
void rollout_memo_free(struct rollout_memo *m); /* NULL is fine */
/* Lists have changed. */
void rollout_memo_forget(struct rollout_memo *m);

/* What rollout_run() would return. `key` is that of `r`. */
struct rollout rollout_recall(struct rollout_memo *m, const struct rollout_samples *s, const struct residual *r,
                              const struct residual_key *key, bool among);
/* What would be filled if all pods that come were alike, in the mean over the pods of the lists; of equal ones a little
 * more where the GPUs are free in large pieces. In the unit of rollout.filled (places.c). Counted as so many lists as
 * take about its time: one, and one more for every 32 kinds. */
int64_t rollout_places(struct rollout_memo *m, const struct rollout_samples *s, const struct residual *r);
/* Lists that were gone down so far, which was not remembered, and what was counted as such. */
uint64_t rollout_memo_computed(const struct rollout_memo *m);

#endif
