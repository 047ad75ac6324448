/* sim/state_file_internal.h - what is read from a document before it becomes ops; state_file*.c
 * only. */
#ifndef SIM_STATE_FILE_INTERNAL_H
#define SIM_STATE_FILE_INTERNAL_H

#include "base/json_members.h"
#include "sim/state_file.h"

#include <stdbool.h>

#define FILE_NONE UINT32_MAX

struct file_gpu {
    struct device device;
    bool lost;
    int64_t milli_cap, mem_cap_mib;
};

struct file_node {
    struct str name, uid, note;
    bool described, schedulable, closed;
    struct inventory inventory; /* without devices; overcommit_milli 0: as the configuration says for all */
    struct host_capacity host;
    struct host_request host_taken; /* by all its pods */
    struct str host_group;
    int64_t host_gpu_mem_mib;
    uint32_t first_gpu, gpu_n;
};

/* Who a pod is, and how it stands. */
struct file_pod {
    struct str uid, namespace_, name, decision;
    struct str state, dialect; /* words of the document */
    uint32_t node;             /* FILE_NONE: pending */
    int32_t priority;
    int64_t since_ms;
    const struct demand *demand;         /* NULL: to be made of its holds */
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
    struct str record; /* not empty: charged what a signed record says, not what was asked for */
    enum gpu_request_kind kind;
    int64_t phases;
    int64_t milli, mem_mib;
    int64_t asked_milli, asked_mem_mib; /* where the GPU request says other amounts; both 0: as charged */
    enum qos qos;
    uint32_t gpu; /* of all */
};

struct file_raised {
    struct str uid;
    struct charge charge;
    uint32_t gpu; /* of all; who it is may stand behind its lists */
};

struct file_reader {
    struct json_reader json;
    struct state_file *file;
    struct arena *arena;
    /* the place, for messages */
    const char *section; /* NULL: none */
    size_t at;           /* in the section */
    int64_t gpu_at;      /* -1: none */
    /* what was read */
    struct file_node *nodes;
    size_t node_n, node_cap; /* while a node is read, its own number */
    struct file_gpu *gpus;
    size_t gpu_n, gpu_cap; /* while the lists of a GPU are read, it is the last one */
    struct file_hold *holds;
    size_t hold_n, hold_cap;
    struct file_raised *raised;
    size_t raised_n, raised_cap;
    struct file_pod *pods; /* whole GPUs, not placed, pending */
    size_t pod_n, pod_cap;
    struct str configuration, file_configuration; /* the second empty: the same */
    bool has_nodes, has_pending;
};

/* The members that allocations and pods share, as rows of a table. */
#define FILE_POD_MEMBERS(pod_)                                                                                         \
    {"uid", .text = &(pod_)->uid}, {"namespace", .text = &(pod_)->namespace_}, {"pod", .text = &(pod_)->name},         \
        {"decision", .text = &(pod_)->decision}, {"state", .text = &(pod_)->state},                                    \
        {"dialect", .text = &(pod_)->dialect},                                                                         \
    {                                                                                                                  \
        "since", .read = state_file_time, .to = &(pod_)->since_ms                                                      \
    }

/* The document, into the arrays; what is wrong sticks to the reader. */
void state_file_decode(struct file_reader *f);

/* For json_members, with a struct file_reader. Elements of lists: of nodes; of pods that are pending, or whose GPUs no
 * allocation tells; of the allocations and the raised charges of a GPU. And what was learned, into f->file. */
void state_file_node(struct json_reader *r, void *to);
void state_file_pending(struct json_reader *r, void *to);
void state_file_unplaced(struct json_reader *r, void *to);
void state_file_allocation(struct json_reader *r, void *to);
void state_file_raised(struct json_reader *r, void *to);
void state_file_mix(struct json_reader *r, void *to);

/* For json_members: single values. */
void state_file_kind(struct json_reader *r, void *to);    /* enum gpu_request_kind */
void state_file_qos(struct json_reader *r, void *to);     /* enum qos */
void state_file_profile(struct json_reader *r, void *to); /* uint16_t, from "1g.5gb" */
void state_file_time(struct json_reader *r, void *to);    /* int64_t, from RFC 3339 */

/* One more element at the end of *items. */
void *state_file_grow(void *items, size_t *n, size_t *cap, size_t size);
/* Fails the reader unless it is there. */
void state_file_require(struct json_reader *r, bool there, const char *why);
/* The static name of a vocabulary; "" where the pod says none. */
const char *state_file_dialect(struct json_reader *r, struct str name);

/* Pods from allocations, at the end of f->pods, which is sorted by UID. Allocations of pods that are there (on every
 * GPU of their node) say nothing new. */
WARN_UNUSED int state_file_pods_of_holds(struct file_reader *f, struct err *reterr);
/* Among the first `n` pods, which are sorted by UID; NULL: none. */
struct file_pod *state_file_find_pod(const struct file_reader *f, size_t n, struct str uid);
int state_file_no_memory(struct err *reterr);
int state_file_bad_pod(const struct file_pod *p, const char *why, struct err *reterr);
/* The arrays, as ops of f->file. */
WARN_UNUSED int state_file_build(struct file_reader *f, const struct config_names *names, struct err *reterr);

#endif
