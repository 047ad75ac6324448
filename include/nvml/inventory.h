/* nvml/inventory.h - the GPUs and MIG instances of this machine, as the driver's library knows them.
 *
 * NVML (libnvidia-ml.so.1) belongs to the driver, so it is found at run time (dlopen) and spoken to by the few
 * functions and structs that are needed, declared in src/nvml/library.h. Reading takes milliseconds and may hang where
 * a GPU is ill: never on the path of a container.
 *
 * Not thread-safe: one thread asks.
 */
#ifndef NVML_INVENTORY_H
#define NVML_INVENTORY_H

#include "base/arena.h"
#include "base/compiler.h"
#include "base/err.h"
#include "model/device.h"
#include "model/gpu_details.h"

#include <stddef.h>

struct nvml;

/* `path`: of the library; NULL: the loader's own, then those of a driver in a container. ERR_NOT_FOUND: there is none,
 * so the machine has no driver of NVIDIA's; ERR_UNAVAILABLE: there is one, but it does not work (its driver is not
 * loaded), which may come; ERR_INVALID: that is not NVML. Errors name the file. */
WARN_UNUSED int nvml_open(const char *path, struct nvml **ret, struct err *reterr);
/* The same without asking for a driver: for whoever wants to know what the library has. Nothing can be read by it.
 * ERR_NOT_FOUND, ERR_INVALID. */
WARN_UNUSED int nvml_load(const char *path, struct nvml **ret, struct err *reterr);
void nvml_close(struct nvml *n); /* NULL is fine */

const char *nvml_path(const struct nvml *n); /* of the library that was found */

/* What there is now, in `a`: every GPU by its NVML index, each followed by its MIG instances. UUIDs are always known;
 * memory is what can be used (the driver's reserve is not part of it, where NVML tells it). Where an instance lies is
 * told to privileged processes alone, its index follows from it: otherwise index and start are -1. NVML does not know
 * how many may share (slot_n is INT32_MAX). A GPU that cannot be read (it has fallen off the bus) is left out, and so
 * is what there is beyond DEVICES_PER_NODE_MAX: GPUs come before instances, and each in their order.
 * *ret_unreadable_n counts both. ERR_UNAVAILABLE: NVML does not answer at all; ERR_LIMIT: the arena is full. */
WARN_UNUSED int nvml_read_devices(const struct nvml *n, struct arena *a, const struct device **ret, size_t *ret_n,
                                  size_t *ret_unreadable_n, struct err *reterr);

/* More of each of those devices, in `a`, by the same position; of MIG instances nothing. What an older library does not
 * know, or this process may not ask, is unknown. NULL: the arena is full. */
WARN_UNUSED const struct gpu_details *nvml_read_details(const struct nvml *n, const struct device *devices,
                                                        size_t device_n, struct arena *a);

#endif
