/* core/dialects/native_internal.h - the pieces of the native dialect: one file reads the pod, one
 * turns the amounts of one container into a wish, one reads the constraints. Contract:
 * core/dialects/dialect.h, design.md 5.
 */
#ifndef CORE_DIALECTS_NATIVE_INTERNAL_H
#define CORE_DIALECTS_NATIVE_INTERNAL_H

#include "base/arena.h"
#include "core/request/demand.h"
#include "model/kv.h"
#include "model/pod.h"
#include "model/policy.h"

#define NATIVE_KEY_FRACTION "fgpu.io/gpu-fraction"
#define NATIVE_KEY_MEMORY "fgpu.io/gpu-memory"
#define NATIVE_KEY_COUNT "fgpu.io/gpu-count"
#define NATIVE_KEY_SIZE "fgpu.io/size"
#define NATIVE_KEY_PROFILE "fgpu.io/mig-profile"
#define NATIVE_KEY_CONTAINER "fgpu.io/container"
#define NATIVE_KEY_MODEL "fgpu.io/gpu-model"
#define NATIVE_KEY_UUID "fgpu.io/gpu-uuid"
#define NATIVE_KEY_ISOLATE "fgpu.io/isolate-from"
#define NATIVE_KEY_QOS "fgpu.io/qos"

/* What is asked for one container, before the rules of the table. */
struct native_ask {
    int64_t milli;   /* above DEVICE_MILLI: that many whole devices, and a rest only where the resource allows it;
                      * 0: not given */
    int64_t mem_mib; /* 0: not given */
    int64_t count;
    bool count_given;
    uint16_t profile; /* of MIG instances (model/mig.h): count of them, with at least mem_mib each; 0: not given */
};

static inline bool native_ask_is_empty(const struct native_ask *ask)
{
    return ask->milli == 0 && ask->mem_mib == 0 && ask->count == 0 && ask->profile == 0;
}

/* The amount of `resource` in a container: its limit, or its request when it has no limit. NULL
 * when absent. (The API server makes both equal for extended resources; objects of simulators may
 * carry only one.) */
const struct str *native_amount(const struct container *c, struct str resource);

/* Does the container ask for nvidia.com/mig-<anything>? */
bool native_asks_for_mig(const struct container *c);

/* A whole number >= 0. */
enum demand_defect native_read_integer(struct str text, int64_t *ret);

/* From the configured resource names of one container; empty when it uses none. */
enum demand_defect native_ask_of_container(const struct policy *p, const struct container *c,
                                           struct native_ask *ret);
/* From the annotations; at least one of fraction, memory, count, size and MIG profile is there. What a size is
 * may depend on the namespace. */
enum demand_defect native_ask_of_annotations(const struct policy *p, struct str namespace_,
                                             struct kv_list annotations, struct native_ask *ret);

/* The table of design.md 5: sets count, kind, milli and mem_mib of `w`. `ask` is not empty, and has no rest. */
enum demand_defect native_wish_of(const struct native_ask *ask, struct wish *w);

/* Sets qos, models, uuids and isolate of `d`. False when the arena is full. */
bool native_constraints(struct kv_list annotations, struct arena *a, struct demand *d,
                        enum demand_defect *ret_defect);

#endif
