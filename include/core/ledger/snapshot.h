/* core/ledger/snapshot.h - everything the ledger knows, copied for /state, metrics, audits and people.
 *
 * Consistent at one generation. All text is copied into the arena, but for static sentences.
 *
 * Units: compute in milli, memory in MiB; *_ms are milliseconds, since 1970 where they are a time. Lock: as the ledger,
 * for the length of the call; what was copied needs none.
 */
#ifndef CORE_LEDGER_SNAPSHOT_H
#define CORE_LEDGER_SNAPSHOT_H

#include "base/arena.h"
#include "base/err.h"
#include "core/ledger/incidents.h"
#include "core/ledger/ledger.h"

#include <stdbool.h>
#include <stdint.h>

/* One pod's part of one device through one container; foreign pods have one per device, container empty. */
struct snapshot_allocation {
    uint32_t pod; /* index into snapshot.pods */
    struct str container;
    bool init;
    int32_t milli;
    int64_t mem_mib;
    int32_t asked_milli;        /* where the GPU request says other amounts than are charged; */
    int64_t asked_mem_mib;      /* both 0: the charge says them */
    enum gpu_request_kind kind; /* which of the amounts were asked for; GPU_REQUEST_KIND__MAX: of a foreign pod */
    uint64_t phases;            /* of the GPU request (core/request/demand.h) */
};

/* A pod is charged more on this device than its request says now: it once asked for more, and charges never fall. */
struct snapshot_raised {
    uint32_t pod; /* index into snapshot.pods */
    struct charge charge;
};

/* A GPU in MIG mode has no amounts of its own: they are those of its instances, which are devices behind it. */
struct snapshot_device {
    struct str uuid;
    int32_t index;
    struct str model;
    uint16_t profile; /* as in struct device, with the next three */
    int8_t start;
    bool counted;
    bool slice;
    int32_t gpu_index;
    uint16_t mig_occupied;               /* in MIG mode: slots that instances take (model/mig.h) */
    const struct mig_family *mig_family; /* in MIG mode; NULL: of a model without a table */
    bool healthy;
    bool lost;
    bool exclusive;
    bool overcommitted; /* takes no new pods until that is over */
    bool group_taken;   /* nor while other nodes hold the physical GPU */
    int32_t milli_cap, milli_charged;
    int64_t mem_base_mib; /* before the over-commit factor */
    int64_t mem_cap_mib, mem_charged_mib;
    int32_t slot_cap, slot_charged;
    const struct snapshot_allocation *allocations;
    size_t allocation_n;
    const struct snapshot_raised *raised;
    size_t raised_n;
};

struct snapshot_node {
    struct str name;
    struct str uid;
    bool described;
    bool schedulable; /* by its object; false while there is none */
    bool closed;
    enum inventory_source source;
    const char *note;
    bool elsewhere;  /* another system hands its GPUs out: no shares are placed */
    bool unmeasured; /* of struct inventory */
    int32_t plugin_managed_cap, plugin_managed_used;
    int32_t plugin_managed_per_gpu;                 /* how many of them make one GPU */
    bool plugin_managed_one;                        /* a container gets one of them and no more */
    int32_t overcommit_milli, overcommit_mem_milli; /* thousandths */
    enum memory_only_mode memory_only;
    enum qos qos;
    enum lending lending;
    enum hand_off hand_off;
    enum gpu_vendor vendor;
    bool hand_off_unfit, needs_agent;           /* of struct inventory */
    bool mig_changing, mig_counted, mig_single; /* enum node_flag */
    struct str host_group;                      /* empty: none */
    int64_t host_gpu_mem_mib;                   /* 0: not said */
    struct host_state host;
    const struct snapshot_device *devices;
    size_t device_n;
    size_t first_pod, pod_n; /* its pods in snapshot.pods, in order of attachment */
};

struct snapshot_pod {
    struct str namespace_, name, uid;
    struct str node_name;
    struct str decision_id;
    const char *dialect;
    bool granted;             /* charged what a signed record says; */
    enum record_trust record; /* how far that is believed. RECORD_UNSIGNED: its signature did not hold */
    enum ledger_pod_state state;
    enum demand_defect defect;
    bool deleting;
    bool conflict;             /* its annotations contradict what we know */
    const char *conflict_text; /* static, NULL without conflict */
    int32_t plugin_managed_n;
    int32_t priority;
    enum demand_source source;
    enum qos qos;                /* while it holds something */
    const struct demand *demand; /* of a pod that is pending or whose devices are not known; else NULL: allocations */
    int64_t since_ms;            /* wall time of the last change of state */
};

struct snapshot {
    uint64_t generation;
    const struct snapshot_node *nodes; /* by name */
    size_t node_n;
    const struct snapshot_pod *pods; /* node by node, then those that are pending */
    size_t pod_n;
    /* totals over the described nodes, their lost devices included */
    uint64_t device_n;
    uint64_t overcommitted_n;
    struct incident_count incidents[INCIDENT_KIND__MAX]; /* of undescribed nodes, too */
    uint64_t closed_n;                                   /* nodes that take no new pods */
    uint64_t pod_on_closed_n;                            /* pods that hold something there */
    uint64_t turned_away_n;                              /* struct ledger_turned_away, with the next two */
    uint64_t turned_away_total_n;
    uint64_t uncounted_n;
    uint64_t elsewhere_n;  /* nodes whose GPUs another system hands out */
    uint64_t unmeasured_n; /* nodes of which nothing but a plugin's number speaks of GPUs */
    int64_t milli_cap, milli_charged;
    int64_t mem_cap_mib, mem_charged_mib;
    uint64_t pods_by_state[LEDGER_POD_STATE__MAX];
};

/* Names of up to `max` unmeasured nodes, borrowed until the next op; returns how many names. */
size_t snapshot_unmeasured(const struct ledger *l, struct str *ret, size_t max);

/* Totals only: nodes and pods stay NULL. O(devices), no allocation. */
void snapshot_totals(const struct ledger *l, struct snapshot *ret);

/* `node_name` and `namespace_` limit what is copied; empty means all. */
WARN_UNUSED int snapshot_take(const struct ledger *l, struct arena *a, struct str node_name, struct str namespace_,
                              struct snapshot *ret, struct err *reterr);

#endif
