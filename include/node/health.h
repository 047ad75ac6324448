/* node/health.h - which GPUs of the node are ill, judged by what the driver's library tells of them.
 *
 * Four answers:
 *
 *   well
 *   xid         the driver reported an error of it (an XID) that programs do not cause. For good: until the agent is
 *               started again. What repairs such a GPU, a reset or a reboot, needs everybody gone who has the driver's
 *               library open, the agent too; nothing that can be seen while it runs proves that a GPU is well again.
 *   lost        it was there and cannot be read any more, or is not there any more. Until it has answered for
 *               HEALTH_WELL_AFTER_MS, so that one that comes and goes is not told of each time.
 *   unwatched   for HEALTH_UNWATCHED_AFTER_MS nobody could say whether there are errors: the library does not return,
 * or takes no orders for events. Until it does.
 *
 * XIDs are judged as NVIDIA's device plugin judges them (internal/rm/health.go): 13, 31, 43, 45, 68 and 109 are faults
 * of programs, which the GPU survives; every other number counts, also those that nobody knows yet. An admin can add to
 * the first list. It differs where that plugin closes all GPUs of a node for one (design.md 3.1, rule 8):
 *
 *   an XID whose GPU is not known        of those GPUs that do not answer; if all answer, of all
 *   waiting for events fails             says nothing about any GPU; they are read one by one, and are unwatched if it
 *                                        goes on
 *
 * MIG: an event that names a GPU instance and a compute instance is of that MIG device; one that names neither, or an
 * instance that nobody knows, is of the whole GPU and all its MIG devices, those that are made later too.
 *
 * A MIG device that is not there any more while its GPU answers was taken away by the admin, and is forgotten.
 *
 * Pure: no I/O, no clock; time is an argument, in milliseconds of a clock that only moves forward. Not thread-safe.
 */
#ifndef NODE_HEALTH_H
#define NODE_HEALTH_H

#include "base/str.h"
#include "model/device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEALTH_WELL_AFTER_MS 10000
#define HEALTH_UNWATCHED_AFTER_MS 30000
#define HEALTH_ALL_INSTANCES 0xffffffffU              /* as NVML has it: no instance, the whole GPU */
#define HEALTH_IGNORED_MAX 64                         /* XIDs that an admin adds */
#define HEALTH_DEVICES_MAX (2 * DEVICES_PER_NODE_MAX) /* those that are there, and those that were */
#define HEALTH_WORDS_BYTES 128

enum health_kind { HEALTH_WELL, HEALTH_XID, HEALTH_LOST, HEALTH_UNWATCHED };

struct health_verdict {
    enum health_kind kind;
    uint64_t xid; /* of HEALTH_XID: the first one */
};

/* A GPU or MIG device, as the library tells of it now. Borrowed. */
struct health_sight {
    struct str uuid;
    struct str gpu; /* UUID of its GPU; empty: it is one */
    uint32_t gpu_instance, compute_instance;
    bool answers; /* what only the GPU itself can tell was told */
    bool watched; /* its errors would be told; also true of GPUs too old for that */
};

/* One that is not well. `uuid` is of the struct health. */
struct health_ill {
    struct str uuid;
    struct health_verdict verdict;
};

struct health_change {
    struct str uuid; /* of the struct health */
    struct health_verdict before, now;
    bool of_its_gpu; /* a MIG device whose GPU has changed alike */
};

struct health;

/* `ignored`: XIDs that do not count beside NVIDIA's; copied, at most HEALTH_IGNORED_MAX. */
struct health *health_new(const uint32_t *ignored, size_t n);
void health_free(struct health *h); /* NULL is fine */

/* Does an error with this number make a GPU ill? */
bool health_counts(const struct health *h, uint64_t xid);

/* All there is now. Room is made by forgetting who is gone; more than HEALTH_DEVICES_MAX are never there. */
void health_saw(struct health *h, const struct health_sight *sights, size_t n, int64_t now_ms);
/* The driver reported this XID; `gpu`: UUID of the GPU, empty if nobody knows. One that does not count changes nothing.
 */
void health_heard(struct health *h, struct str gpu, uint32_t gpu_instance, uint32_t compute_instance, uint64_t xid);

/* Judges by what was seen and heard until now, and writes what has changed since the last call. */
size_t health_judge(struct health *h, int64_t now_ms, struct health_change ret[HEALTH_DEVICES_MAX]);

/* Who was not well at the last judgement. */
size_t health_ill(const struct health *h, struct health_ill ret[HEALTH_DEVICES_MAX]);

/* The devices of the node, `n` as they were read now, each marked healthy or not. Of those that were there before and
 * were not read now, the ill ones stay, and so does a GPU that was seen once, with its instances, well as it was when
 * last judged: who is lost is closed, not gone. Unless somebody else has their index now. An instance that is well and
 * whose GPU was read is gone: the admin took it away.
 * At most DEVICES_PER_NODE_MAX; text is borrowed from both lists. */
size_t health_mark(const struct health *h, const struct device *now, size_t n, const struct device *before,
                   size_t before_n, struct device ret[DEVICES_PER_NODE_MAX]);

/* "reported XID 79 (it has fallen off the bus)"; goes behind "GPU X". Returns buf. */
const char *health_words(struct health_verdict v, char buf[HEALTH_WORDS_BYTES]);

#endif
