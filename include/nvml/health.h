/* nvml/health.h - what the driver's library tells of the health of GPUs: errors as they happen, and who still answers.
 *
 * Errors come as events of a set that each GPU is entered in. Only XIDs are asked for (nvmlEventTypeXidCriticalError):
 * what an ECC error means for a GPU the driver says by an XID, too. What they mean is judged in node/health.h. A
 * library without events, before driver 450, still tells who answers.
 *
 * Calls take milliseconds, but for the wait. Each may hang where a GPU is ill: a thread of its own makes them, and
 * somebody else looks whether it comes back. Not thread-safe; one at a time for each struct nvml.
 */
#ifndef NVML_HEALTH_H
#define NVML_HEALTH_H

#include "base/arena.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NVML_NO_INSTANCE 0xffffffffU /* in place of the number of an instance: the whole GPU */

struct nvml;
struct nvml_watch;

/* A GPU or MIG device. GPUs stand in the order of the library, each followed by its MIG devices. */
struct nvml_sight {
    struct str uuid;
    struct str gpu;                          /* UUID of its GPU; empty: it is one */
    uint32_t gpu_instance, compute_instance; /* NVML_NO_INSTANCE: it is a GPU, or nobody knows */
    bool answers;                            /* it could be read itself, not only from what the library remembers */
    bool watched;                            /* its XIDs will be told; or it is too old for that */
    bool too_old;                            /* NVML: "not supported" */
};

struct nvml_xid {
    uint64_t xid;
    struct str gpu; /* of the watch, until its next call; empty: nobody knows */
    uint32_t gpu_instance, compute_instance;
};

struct nvml_watch *nvml_watch_new(const struct nvml *n); /* `n` must outlive it */
void nvml_watch_free(struct nvml_watch *w);              /* NULL is fine */

/* Who is there, in `a`. Enters GPUs that are not in the set yet. One that does not even tell its UUID is left out,
 * and what nvml_read_devices leaves out because there are more than DEVICES_PER_NODE_MAX. ERR_UNAVAILABLE: the library
 * does not say how many there are; ERR_LIMIT: `a` is full. */
WARN_UNUSED int nvml_watch_look(struct nvml_watch *w, struct arena *a, const struct nvml_sight **ret, size_t *ret_n,
                                struct err *reterr);

/* 1 and *ret: there was an XID; 0: none for so long, or something else happened. ERR_UNAVAILABLE, at once: there is no
 * set, or the library cannot wait (because a GPU of the set is lost, perhaps); the next look makes another set. */
WARN_UNUSED int nvml_watch_wait(struct nvml_watch *w, unsigned timeout_ms, struct nvml_xid *ret, struct err *reterr);

#endif
