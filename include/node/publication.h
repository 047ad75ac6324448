/* node/publication.h - what fgpu-node says about its node at the API server: annotation fgpu.io/gpus (design.md 5) and
 * the totals that the form "advertised" wants in status.capacity and status.allocatable.
 *
 * The same GPUs give the same bytes, so "has anything changed?" is a comparison. What the extender's reader
 * (src/core/dialects/native/gpus.c) would refuse is left out and counted, because one entry that it refuses closes the
 * whole node; test/unit/node/test_publication.c holds both against each other.
 *
 * Whose annotation it is: ours begins with PUBLICATION_BEGINS. One that begins otherwise was written by an admin, whose
 * word stands: then neither annotation nor totals are touched (decision 0062).
 *
 * No I/O: who asks and writes is src/cmd_node/publisher.c.
 */
#ifndef NODE_PUBLICATION_H
#define NODE_PUBLICATION_H

#include "base/arena.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"
#include "base/strbuf.h"
#include "model/device.h"
#include "model/gpu_details.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PUBLICATION_KEY "fgpu.io/gpus"
#define PUBLICATION_MILLI "fgpu.io/gpu-milli"
#define PUBLICATION_MEMORY "fgpu.io/gpu-memory-mib"
#define PUBLICATION_COUNT "fgpu.io/gpu-count"
#define PUBLICATION_BEGINS "{\"v\":1,\"by\":\"fgpu-node\","
#define PUBLICATION_WITH_TOTALS PUBLICATION_BEGINS "\"totals\":true," /* they are ours, too */
/* A quarter of what all annotations of an object may have together (256 KiB, apimachinery's ValidateAnnotationsSize).
 * 16 GPUs with 7 instances and 15 profiles each need 40 KiB. */
#define PUBLICATION_BYTES_MAX (64U << 10)
#define PUBLICATION_PATCH_BYTES_MAX (3 * PUBLICATION_BYTES_MAX) /* quotes need a backslash */

/* Of whole GPUs, ill ones included; instances of MIG GPUs are other resources.
 *
 * kubelet judges the pods of its node by these numbers again when it starts, and fails those that do not fit, running
 * or not (seen on 1.36: "OutOffgpu.io/gpu-milli"). So totals do not fall when a GPU falls ill: its pods are still
 * there, and the sum says nothing of who is above it. fgpu, which decides last, gives an ill GPU to nobody. Names that
 * are not there kubelet does not judge, so totals that are not wanted any more are removed, never set to 0. */
struct publication_totals {
    int64_t milli, mem_mib, count;
};

/* Devices and details as nvml/inventory.h gives them; details may be NULL. */
struct publication_facts {
    const struct device *devices;
    const struct gpu_details *details;
    size_t device_n;
    bool totals;                                    /* the annotation says that the totals are ours */
    int32_t overcommit_milli, overcommit_mem_milli; /* thousandths, >= 1000 */
    /* What the configuration of the container runtime opens past the agent (node/doors.h), a bit for each enum door:
     * "doors":["variable"], for `fgpu doctor`. */
    bool looked_for_doors; /* else the key is left out: nobody knows */
    unsigned doors;
};

struct publication_left_out {
    size_t odd_n;      /* without memory, with an index or a UUID that nobody can refer to, or twice there */
    size_t unplaced_n; /* MIG instances of which nobody knows where they lie */
};

/* The annotation goes into `out`, a new one of PUBLICATION_BYTES_MAX. ERR_LIMIT: it does not fit. */
WARN_UNUSED int publication_format(const struct publication_facts *f, struct strbuf *out,
                                   struct publication_totals *ret_totals, struct publication_left_out *ret_left_out,
                                   struct err *reterr);

/* One of our annotations, with every GPU of it closed ("healthy": false): for a node whose driver is gone. */
void publication_format_closed(struct str ours, struct strbuf *out);

/* ---- what the API server has ---- */

struct publication_seen {
    struct str resource_version; /* never empty */
    struct str gpus;             /* STR_NULL: there is no annotation */
    bool ours, totals_ours;
    /* -1: not there, or no whole number */
    struct publication_totals capacity, allocatable;
};

/* Of a Node object as the API server gives it. Text is in `a` or in `json`. ERR_INVALID: it has no resourceVersion, so
 * nobody could say of which state of the node a patch is meant; ... */
WARN_UNUSED int publication_read_node(struct str json, struct arena *a, struct publication_seen *ret,
                                      struct err *reterr);

/* What is wanted. */
enum publication_mode {
    PUBLICATION_OFF,        /* nothing is touched */
    PUBLICATION_ANNOTATION, /* totals that are ours are removed */
    PUBLICATION_ALL,
    PUBLICATION_CLOSED,  /* there is no driver: what we once wrote is closed; where there is nothing, nothing is written
                          */
    PUBLICATION_RETIRED, /* what we once wrote is removed */
};

struct publication {
    enum publication_mode mode;
    struct str gpus; /* with ANNOTATION and ALL */
    struct publication_totals totals;
};

/* What to write next. After each write, look again. */
enum publication_step {
    PUBLICATION_DONE,
    PUBLICATION_FOREIGN,          /* the annotation is an admin's: done, too */
    PUBLICATION_WRITE_ANNOTATION, /* `body` is a merge patch for the node as it was seen */
    PUBLICATION_WRITE_TOTALS,     /* the same for its status */
};

/* The patch goes into `body`, one of PUBLICATION_PATCH_BYTES_MAX, which is reset first. It names the resourceVersion
 * that was seen: where somebody has changed the node since, the API server answers 409 and nothing is written, so that
 * what an admin has just written is not lost. It may be too large for it
 * (overflowed) only where somebody wrote more into our annotation than we ever do. */
enum publication_step publication_next(const struct publication *wanted, const struct publication_seen *seen,
                                       struct strbuf *body);

#endif
