/* sim/rightsize.h - which size would have held a workload, from what fgpu-node saw of it
 * (config/node-state.schema.json).
 *
 * Uses are grouped by workload: namespace, container name, and the pod's name without what controllers append to it
 * (the hash and the random letters of a Deployment, the random letters of a Job or a DaemonSet, the number of a
 * StatefulSet). A name is no proof of an owner; who names pods by hand in that manner sees them as one workload.
 *
 * What is proposed for each container: memory of the highest peak of all its instances plus a margin, rounded up to
 * RIGHTSIZE_MEM_STEP_MIB; compute likewise, rounded up to RIGHTSIZE_MILLI_STEP. With a configuration the smallest named
 * size that is at least that, for pods of that namespace. What was held is never called too small: memory grows only
 * where the peak was above what was given, and compute never (who used more than its share used what was idle).
 *
 * Several documents of one node, saved one after the other, tell of the same containers (pod, container, id of the
 * runtime, GPU): each counts once, with what the newest that saw it says of it, and with the largest peak of all. What
 * the newest of its node does not show any more has ended, and idle is what it shows idle.
 *
 * There is no proposal where too little was seen, where memory or compute is not known, for MIG instances (the driver
 * does not tell their compute) and for who never touched the GPU: that may be a mistake, or its time may come.
 *
 * A peak is the largest of what was seen in looks, so a proposal is a beginning and no promise. Nobody is resized.
 *
 * Pure but for reading text: no I/O, no clock. Texts are borrowed from the documents or in the arena.
 */
#ifndef SIM_RIGHTSIZE_H
#define SIM_RIGHTSIZE_H

#include "base/arena.h"
#include "base/compiler.h"
#include "base/err.h"
#include "model/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RIGHTSIZE_UNKNOWN (-1)
#define RIGHTSIZE_MEM_STEP_MIB 64
#define RIGHTSIZE_MILLI_STEP 10
#define RIGHTSIZE_DOCUMENT_BYTES_MAX ((size_t)64 << 20)

/* The /state of one agent at one time. */
struct rightsize_document {
    struct rightsize_document *next;
    struct str node;
    int64_t as_of_ms; /* wall clock of the node */
    bool newest;      /* of its node; of equals the one that was read first */
    bool watched;     /* its agent looks what containers use */
};

/* A container, and one GPU that it holds or held. */
struct rightsize_use {
    struct rightsize_use *next;
    const struct rightsize_document *from;
    struct str namespace_, pod, uid, container, id, gpu;
    int64_t gpu_mem_mib; /* 0: not known (it has ended) */
    int64_t milli, mem_mib;
    bool alone, instance, ended;
    bool watched; /* the rest is known */
    bool touched;
    int64_t seconds, looks, crowding_seconds;
    int64_t peak_mem_mib, mean_mem_mib, peak_milli, mean_milli; /* RIGHTSIZE_UNKNOWN */
};

/* A GPU or a MIG instance that nobody holds. */
struct rightsize_idle {
    struct rightsize_idle *next;
    const struct rightsize_document *from;
    struct str gpu, model;
    int64_t mem_mib;
};

struct rightsize {
    struct arena *arena;
    struct rightsize_document *documents;
    struct rightsize_use *uses;
    struct rightsize_idle *idle;
};

/* Reads the document of one agent's /state into `r`, which begins as {.arena = a}. `text` must live as long as `r`.
 * ERR_PARSE, ERR_INVALID: it is not one, not a whole one or of another version; ERR_LIMIT: the arena is full. */
WARN_UNUSED int rightsize_read(struct rightsize *r, struct str text, struct err *reterr);

struct rightsize_rules {
    int margin_percent;
    int64_t least_seconds;       /* that all instances of a workload were seen together */
    const struct policy *policy; /* with the named sizes; NULL: none */
};

enum rightsize_verdict {
    RIGHTSIZE_FITS,
    RIGHTSIZE_SMALLER, /* less would have held */
    RIGHTSIZE_LARGER,  /* it used more memory than it was given */
    RIGHTSIZE_UNTOUCHED,
    RIGHTSIZE_BRIEF,    /* too little was seen */
    RIGHTSIZE_NOT_TOLD, /* memory or compute is not known, or nobody looked */
    RIGHTSIZE_INSTANCE, /* of MIG */
    RIGHTSIZE_VERDICT__MAX
};
const char *rightsize_verdict_name(enum rightsize_verdict v); /* "smaller" */

struct rightsize_workload {
    struct str namespace_, name, container;
    size_t pods, running;
    int64_t seconds, looks; /* of all, together */
    int64_t gpu_mem_mib;    /* of the largest GPU that one of them holds; 0: not known */
    int64_t given_milli, given_mem_mib;
    int64_t peak_milli, peak_mem_mib, mean_milli, mean_mem_mib; /* RIGHTSIZE_UNKNOWN */
    bool alone;                                                 /* it has whole GPUs */
    enum rightsize_verdict verdict;
    /* Of SMALLER and LARGER. */
    int64_t milli, mem_mib;
    struct str size; /* empty: no named size */
};

/* The workloads by namespace, name and container, in the arena. `r` then has each container once for each of its GPUs,
 * and the idle GPUs of the newest documents. Call it after the last document. ERR_LIMIT: the arena is full. */
WARN_UNUSED int rightsize_judge(struct rightsize *r, const struct rightsize_rules *rules,
                                const struct rightsize_workload **ret, size_t *ret_n, struct err *reterr);

/* The pod's name without what controllers append. */
struct str rightsize_workload_name(struct str pod);

#endif
