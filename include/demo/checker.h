/* demo/checker.h - the independent judge: who holds what, read off the API server's objects alone.
 *
 * It knows nothing of the extender's ledger and shares no code with it. From one moment of the
 * simulated API server it takes each node's fgpu.io/gpus annotation and each live pod's
 * fgpu.io/assignment, sums per device, and compares. A violation is one of: a device with more than
 * 1000 milli, more memory than it has, or more sharers than slots; an assignment that cannot be
 * read, names a device its node does not have, or names one twice in one container; a bound pod
 * that asks for GPUs in fgpu's own vocabulary and has no assignment, or has one that gives less
 * than its container limits ask. A live pod has a node and a phase other than Succeeded and Failed;
 * being deleted changes nothing. What a pod with init containers holds of a device is the peak over
 * its life.
 */
#ifndef DEMO_CHECKER_H
#define DEMO_CHECKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct apiserver;
struct cJSON;

struct checker_device {
    char uuid[96];
    char model[64];
    int32_t index;
    bool healthy;
    int32_t slot_n;
    int64_t mem_mib;
    /* held by live pods */
    int64_t milli_used;
    int64_t mem_used_mib;
    int32_t sharer_n;
};

struct checker_node {
    char name[254];
    bool readable;                  /* the annotation parsed */
    struct checker_device *devices; /* ascending by index */
    size_t device_n;
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
