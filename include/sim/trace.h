/* sim/trace.h - what a replay plays: machines, pods that may come, and the order in which they do.
 *
 * Files are those of the openb trace (Alibaba cluster-trace-gpu-v2023): nodes with the columns sn
 * (or name), cpu_milli, memory_mib, gpu, model; pods with name, cpu_milli, memory_mib, num_gpu,
 * gpu_milli (per GPU) and, if there is one, gpu_spec ("A|B": models it accepts; empty: any).
 *
 * GPUs have 1000 milli and no memory that counts. A pod of whole GPUs holds them alone.
 */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include "base/arena.h"
#include "base/err.h"
#include "core/request/demand.h"
#include "sim/state_file.h"

#include <stddef.h>
#include <stdint.h>

#define TRACE_NODES_MAX 100000
#define TRACE_PODS_MAX 1000000
#define TRACE_ARRIVALS_MAX 4000000
#define TRACE_BYTES_MAX ((size_t)1 << 30) /* of everything read */

struct trace_node {
    struct str name;
    struct str model;
    int32_t cpu_milli;
    int32_t mem_mib;
    int32_t gpu_n;
};

enum trace_class { TRACE_GPULESS, TRACE_SHARED, TRACE_WHOLE, TRACE_MULTI, TRACE_CLASS__MAX };
const char *trace_class_name(enum trace_class c); /* "gpu_less", "shared", "whole", "multi" */

struct trace_pod {
    struct str name;
    enum trace_class class;
    int64_t gpu_milli; /* of all its GPUs */
    int32_t milli;     /* of each */
    const struct demand *demand;
};

struct trace {
    struct arena arena;
    const struct trace_node *nodes; /* in the order of the file; NULL: those of `state` */
    const struct state_file *state; /* NULL: the cluster is empty at first */
    size_t node_n;
    struct trace_pod *pods; /* in the order of the file */
    size_t pod_n;
    int64_t capacity_milli; /* of all GPUs */
    int64_t placed_milli;   /* of these, taken from the beginning */
};

void trace_init(struct trace *t);
void trace_fini(struct trace *t);
WARN_UNUSED int trace_read_nodes(struct trace *t, const char *path, struct err *reterr);
/* The cluster of a saved /state with the pods that hold GPUs there, which never leave. Borrows `f`.
 */
WARN_UNUSED int trace_use_state(struct trace *t, const struct state_file *f, struct err *reterr);
WARN_UNUSED int trace_read_pods(struct trace *t, const char *path, struct err *reterr);

/* One experiment. */
struct arrivals {
    const char *label;         /* the file, or "seed N" */
    const uint32_t *node_rank; /* by node: 0 wins ties; a permutation */
    const uint32_t *pods;      /* rows, in order of arrival; steady mode draws its own */
    size_t pod_n;
    uint64_t seed; /* of what is drawn */
};

/* A file of two lines: "node_rank" and the rank of each node in file order; "pod_row" and the rows
 * of the arriving pods, from 0. Everything lives in the arena of `t`; `seed` stays as it is. */
WARN_UNUSED int arrivals_read(struct trace *t, const char *path, struct arrivals *ret, struct err *reterr);

#define ARRIVALS_TARGET_PCT 130 /* of capacity, as the published experiments */

/* An order of our own: pods by name, shuffled; then, as published, pods at random are removed or
 * copies of pods at random are appended until they ask for 130 % of the GPU capacity. */
WARN_UNUSED int arrivals_draw(struct trace *t, uint64_t seed, struct arrivals *ret, struct err *reterr);

#endif
