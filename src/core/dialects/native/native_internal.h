/* core/dialects/native/native_internal.h - the pieces of the native dialect: one file reads the pod, one
 * turns the amounts of one container into a GPU request, one reads the constraints. Contract:
 * core/dialects/dialect.h, design.md 5.
 */
#ifndef CORE_DIALECTS_NATIVE_NATIVE_INTERNAL_H
#define CORE_DIALECTS_NATIVE_NATIVE_INTERNAL_H

#include "base/arena.h"
#include "core/dialects/dialect.h"
#include "core/request/demand.h"
#include "model/kv.h"
#include "model/pod.h"
#include "model/policy.h"

#define NATIVE_KEY_FRACTION "fgpu.io/gpu-fraction"
#define NATIVE_KEY_MEMORY "fgpu.io/gpu-memory"
#define NATIVE_KEY_COUNT "fgpu.io/gpu-count"
#define NATIVE_KEY_SIZE "fgpu.io/size"
#define NATIVE_SIZE_RESOURCE                                                                                           \
    NATIVE_KEY_SIZE "." /* and the name: a size as a resource, of which there is one or none                           \
                         */
#define NATIVE_KEY_PROFILE "fgpu.io/mig-profile"
#define NATIVE_KEY_CONTAINER "fgpu.io/container"
#define NATIVE_KEY_MODEL "fgpu.io/gpu-model"
#define NATIVE_KEY_UUID "fgpu.io/gpu-uuid"
#define NATIVE_KEY_ISOLATE "fgpu.io/isolate-from"
#define NATIVE_KEY_QOS "fgpu.io/qos"

#define NATIVE_KEY_GPUS "fgpu.io/gpus" /* of a node */

/* Of the answer, a set per container. */
#define NATIVE_KEY_VISIBLE "fgpu.io/visible-devices"
#define NATIVE_KEY_PERCENTAGE "fgpu.io/mps-active-thread-percentage"
#define NATIVE_KEY_MEM_LIMIT "fgpu.io/mps-pinned-device-mem-limit"

extern const struct dialect_key native_request_keys[];
extern const struct dialect_key native_resources[];
extern const struct dialect_answer native_answers[];
bool native_owns_resource(const struct policy *p, struct str name);

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

/* A whole number >= 0. */
enum demand_defect native_read_integer(struct str text, int64_t *ret);

/* From the configured resource names of one container, or from the size that it names; empty when it uses none. What a
 * size is may depend on the namespace. */
enum demand_defect native_ask_of_container(const struct policy *p, struct str namespace_, const struct container *c,
                                           struct native_ask *ret);
/* From the annotations; at least one of fraction, memory, count, size and MIG profile is there. */
enum demand_defect native_ask_of_annotations(const struct policy *p, struct str namespace_, struct kv_list annotations,
                                             struct native_ask *ret);

/* DEMAND_MEMORY_UNIT for an amount of memory that was probably meant in other units. */
enum demand_defect native_check_unbound(const struct pod *pod);

/* The table of design.md 5: sets count, kind, milli and mem_mib of `w`. `ask` is not empty, and has no rest. */
enum demand_defect native_gpu_request_of(const struct native_ask *ask, struct gpu_request *w);

/* Sets qos, models, uuids and isolate of `d`. False when the arena is full. */
bool native_constraints(struct kv_list annotations, struct arena *a, struct demand *d, enum demand_defect *ret_defect);

bool native_claims_node(const struct policy *p, const struct node *node);
enum source_result native_parse_node(struct inventory_draft *d, enum inventory_source source);
/* From the annotation fgpu.io/gpus, which alone knows UUIDs. */
enum source_result native_read_gpus(struct inventory_draft *d);

/* The last three functions of struct dialect. */
int native_format_assignment(const struct assignment *as, struct arena *a, struct kv_list *ret, struct err *reterr);
int native_parse_assignment(struct kv_list annotations, struct arena *a, struct assignment *ret, struct err *reterr);
int native_hand_off(const struct assignment *as, struct arena *a, struct kv_list *ret, struct err *reterr);

#endif
