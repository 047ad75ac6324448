/* sim/state_file_internal.h - what is read from a document before it becomes ops; state_file*.c
 * only. */
#ifndef SIM_STATE_FILE_INTERNAL_H
#define SIM_STATE_FILE_INTERNAL_H

#include "base/json_read.h"
#include "sim/state_file.h"

#include <stdbool.h>

#define FILE_NONE UINT32_MAX

struct file_gpu {
    struct device device;
    bool lost;
    int64_t milli_cap, mem_cap_mib;
};

struct file_node {
    struct str name, uid;
    bool described, schedulable, closed, elsewhere, unmeasured;
    enum inventory_source source;
    const char *note;
    int32_t plugin_managed_n, plugin_managed_per_gpu;
    bool plugin_managed_one;
    int32_t overcommit_milli, overcommit_mem_milli; /* 0: as the configuration says for all */
    enum memory_only_mode memory_only;              /* MEMORY_ONLY__MAX: as the configuration says for all */
    enum qos qos;
    enum lending lending;
    bool mig_changing, mig_single;
    struct host_capacity host;
    struct host_request host_taken; /* by all its pods */
    uint32_t first_gpu, gpu_n;
};

/* Who a pod is, and how it stands. */
struct file_pod {
    struct str uid, namespace_, name, decision;
    const char *dialect;
    uint32_t node; /* FILE_NONE: pending */
    bool deleting;
    int32_t priority;
    int64_t since_ms;
    struct demand *demand;               /* NULL: to be made of its holds */
    const struct assignment *assignment; /* NULL: none */
    enum record_trust record_trust;
    const struct ledger_known_charge *known;
    size_t known_n;
};

/* One allocation of a GPU. */
struct file_hold {
    struct file_pod pod;
    struct str container;
    bool init, editable;
    bool granted; /* charged what a signed record says, not what was asked for */
    enum gpu_request_kind kind;
    uint64_t phases;
    int64_t milli, mem_mib;
    int64_t asked_milli, asked_mem_mib; /* where the GPU request says other amounts; both 0: as charged */
    enum qos qos;
    uint32_t gpu; /* of all */
};

struct file_raised {
    struct str uid;
    struct ledger_known_charge known;
};

struct file_reader {
    struct json_reader json;
    struct state_file *file;
    struct arena *arena;
    /* the place, for messages */
    const char *section;
    int64_t node_at, gpu_at;
    /* what was read */
    struct file_node *nodes;
    size_t node_n, node_cap;
    struct file_gpu *gpus;
    size_t gpu_n, gpu_cap;
    struct file_hold *holds;
    size_t hold_n, hold_cap;
    struct file_raised *raised;
    size_t raised_n, raised_cap;
    struct file_pod *pods; /* whole GPUs, not placed, pending */
    size_t pod_n, pod_cap;
    struct str configuration, file_configuration; /* the second empty: the same */
    bool has_nodes, has_pending;
};

/* The document, into the arrays; what is wrong sticks to the reader. */
void state_file_decode(struct file_reader *f);
/* The value of "summary": the learned mix into f->file. */
void state_file_decode_summary(struct file_reader *f);
/* An element of nodes[]; one of its gpus[]. */
void state_file_decode_node(struct file_reader *f);
void state_file_decode_gpu(struct file_reader *f);
/* An element of pending[], or of a node's wholeGpus.allocations and unplaced. */
void state_file_decode_pod(struct file_reader *f, uint32_t node);
/* One more element at the end of *items. */
void *state_file_grow(void *items, size_t *n, size_t *cap, size_t size);
/* Reads the value if `key` is one of those that allocations and pods share. */
bool state_file_pod_key(struct file_reader *f, struct str key, struct file_pod *pod);
void state_file_kind(struct json_reader *r, enum gpu_request_kind *ret);
void state_file_qos(struct json_reader *r, enum qos *ret);
/* A profile as "1g.5gb". */
void state_file_profile(struct json_reader *r, uint16_t *ret);
bool state_file_i64(struct json_reader *r, int64_t min, int64_t max, int64_t *ret);
void state_file_i32(struct json_reader *r, int64_t min, int64_t max, int32_t *ret);
/* The number under `want` of {"capacity", "charged", "free"}. */
void state_file_amount(struct json_reader *r, const char *want, int64_t max, int64_t *ret);
/* A time as RFC 3339. */
void state_file_time(struct json_reader *r, int64_t *ret);
/* Fails the reader unless it is there. */
void state_file_require(struct file_reader *f, bool there, const char *why);

/* The arrays, as ops of f->file. */
WARN_UNUSED int state_file_build(struct file_reader *f, const struct config_names *names, struct err *reterr);

#endif
