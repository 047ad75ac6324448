/* demo/checker/checker.h - the independent judge: who holds what, read off the API server's objects alone.
 *
 * It knows nothing of the extender's ledger and shares no code with it. From one moment of the
 * simulated API server it takes what is in each node and each live pod's fgpu.io/assignment, sums per
 * device, and compares. A violation is one of: a device with more compute or memory handed out than it
 * has, or more sharers than slots; an assignment that cannot be read, names a device its node does not
 * have, or names one twice in one container; a bound pod that asks for GPUs in fgpu's own vocabulary and
 * has no assignment, or has one that gives less than its container limits ask; more of an extended
 * resource in the limits of a node's pods than its allocatable has; pods whose GPU kubelet picks beside
 * pods whose GPU fgpu picked. A live pod has a node and a phase other than Succeeded and Failed; being
 * deleted changes nothing. What a pod with init containers holds is the peak over its life.
 *
 * What is in a node stands in its annotation demo.fgpu.io/hardware, which is written by whoever makes the
 * node up and read by nobody else; without it fgpu.io/gpus is believed. The format is that of fgpu.io/gpus. A
 * GPU with a list "mig" is cut: it has nothing of its own, its instances are devices for one each.
 */
#ifndef DEMO_CHECKER_CHECKER_H
#define DEMO_CHECKER_CHECKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHECKER_HARDWARE_KEY "demo.fgpu.io/hardware"

struct apiserver;
struct cJSON;

struct checker_device {
    char uuid[96];
    char model[64];
    int32_t index;
    bool healthy;
    bool cut; /* into MIG instances */
    int32_t slot_n;
    int64_t milli; /* 1000; of a MIG instance its share, of a GPU that is cut 0 */
    int64_t mem_mib;
    /* held by live pods */
    int64_t milli_used;
    int64_t mem_used_mib;
    int32_t sharer_n;
};

/* An extended resource in allocatable: what kubelet will not go beyond. */
struct checker_resource {
    char name[128];
    int64_t amount;
    int64_t used; /* limits of live pods */
};

struct checker_node {
    char name[254];
    bool readable;                  /* the annotation parsed */
    struct checker_device *devices; /* ascending by index */
    size_t device_n;
    struct checker_resource *resources;
    size_t resource_n;
    uint32_t picked_n;             /* pods with devices that fgpu picked */
    int64_t unpicked, unpicked_of; /* whole GPUs of a plugin that kubelet picks: in use, and how many there are */
};

struct checker_report {
    uint64_t rv;                /* of the pods */
    struct checker_node *nodes; /* ascending by name */
    size_t node_n;
    size_t device_n;
    uint32_t bound_n;   /* live pods with a node */
    uint32_t pending_n; /* live pods without one */
    uint32_t terminating_n;
    int64_t milli_capacity, milli_used;
    int64_t mem_capacity_mib, mem_used_mib;
    int64_t largest_hole_milli; /* the most compute free on one device */
    int64_t largest_hole_mib;   /* the most memory free on one device */
    uint32_t empty_device_n;
    uint32_t overcommit_n;     /* devices over one of their limits */
    uint32_t violation_n;      /* all kinds, over-commits included */
    char first_violation[256]; /* "" when there is none */
};

/* The caller ends the report with checker_report_fini. */
void checker_run(struct apiserver *a, struct checker_report *ret);
void checker_report_fini(struct checker_report *r);

/* "gpu 2", "gpu 0,3": the devices of a pod's assignment, by index; "" when it has none that can be
 * read. */
void checker_devices_text(const struct cJSON *pod, char *buf, size_t size);

#endif
