/* nvml/processes.h - which processes use a GPU or a MIG instance now, and how much of it.
 *
 * NVML tells process ids as the process that asks would: an agent in a container needs the process ids of its host
 * (hostPID), or it sees none. A process that has several kinds of contexts (compute, compute through MPS, graphics) is
 * one here.
 *
 * Memory is what the driver has allocated for the process, its contexts (hundreds of MiB each) included. Compute is the
 * part of the time in which its kernels kept the GPU's multiprocessors busy, since the look before; the driver does not
 * tell it of MIG instances.
 *
 * Not thread-safe with the same struct nvml: a thread of its own opens its own (nvml/inventory.h).
 */
#ifndef NVML_PROCESSES_H
#define NVML_PROCESSES_H

#include "base/arena.h"
#include "nvml/inventory.h"

#include <stdint.h>

#define NVML_PROCESSES_MAX 4096 /* of one GPU */

struct nvml_process {
    uint32_t pid;
    int64_t mem_bytes; /* -1: the driver does not tell */
    int32_t milli;     /* thousandths of the GPU's compute; -1: the driver does not tell */
};

struct nvml_processes {
    const struct nvml_process *list; /* each pid once; in the arena */
    size_t n;
    bool knows_compute; /* else nobody knows whether those who are not listed used any */
};

/* `uuid` is NUL-terminated. *seen_us: the time of the latest sample of compute of this GPU that was read, 0 for all
 * that the driver remembers; moved forward. ERR_NOT_FOUND: there is no such GPU now; ERR_UNAVAILABLE: the driver does
 * not answer (the GPU is lost, or this library is too old to tell); ERR_LIMIT: the arena is full, or there are more
 * than NVML_PROCESSES_MAX. */
WARN_UNUSED int nvml_read_processes(const struct nvml *n, const char *uuid, uint64_t *seen_us, struct arena *a,
                                    struct nvml_processes *ret, struct err *reterr);

#endif
