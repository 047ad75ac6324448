/* sim/trace.h - what a replay plays: machines, pods that may come, and the order in which they do.
 *
 * Files are those of the openb trace (Alibaba cluster-trace-gpu-v2023): nodes with the columns sn
 * (or name), cpu_milli, memory_mib, gpu, model; pods with name, cpu_milli, memory_mib, num_gpu,
 * gpu_milli (per GPU) and, if there is one, gpu_spec ("A|B": models it accepts; empty: any).
 *
 * GPUs have 1000 milli and, without the columns below, no memory that counts. A pod of whole GPUs holds them alone.
 * Columns that the openb trace does not have, each of which may be missing or its field empty:
 *
 *   nodes  gpu_mem_mib   memory of each GPU; 0: does not count
 *          memory_only   "share" (default) or "free": what a request for memory alone takes of the compute
 *                        (enum memory_only_mode)
 *          mig           "3g.20gb|2g.10gb": every GPU is cut into these instances (model/mig.h)
 *   pods   gpu_mem_mib   memory per GPU; with gpu_milli 0 the pod asks for memory alone
 *          mig_profile   instances of this profile, num_gpu of them; gpu_milli and gpu_mem_mib are then 0
 *          counts_milli  what the pod counts for in every percentage, in thousandths of a GPU; without it num_gpu x
 *                        gpu_milli, or of MIG instances their compute
 */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include "base/arena.h"
#include "base/err.h"
#include "core/request/demand.h"
#include "model/mig.h"
#include "sim/state_file.h"

#include <stddef.h>
#include <stdint.h>

#define TRACE_NODES_MAX 100000
#define TRACE_PODS_MAX 1000000
#define TRACE_ARRIVALS_MAX 4000000
#define TRACE_BYTES_MAX ((size_t)1 << 30) /* of everything read */

struct trace_instance {
    uint16_t profile;
    int8_t start;
};

struct trace_node {
    struct str name;
    struct str model;
    int32_t cpu_milli;
    int32_t mem_mib;
    int32_t gpu_n;
    int32_t gpu_mem_mib; /* of each; 0: does not count */
    enum memory_only_mode memory_only;
    uint8_t instance_n; /* of each GPU; 0: not in MIG mode */
    struct trace_instance instances[MIG_INSTANCES_MAX];
};

/* Cuts the GPUs of `n`, whose other fields are set, as the text of column mig says. */
WARN_UNUSED int trace_cut_gpus(struct trace_node *n, struct str layout, struct err *reterr);
/* The devices of such a machine, as an inventory has them; returns how many. */
size_t trace_devices(const struct trace_node *n, struct device ret[DEVICES_PER_NODE_MAX]);

enum trace_class { TRACE_GPULESS, TRACE_SHARED, TRACE_WHOLE, TRACE_MULTI, TRACE_CLASS__MAX };
const char *trace_class_name(enum trace_class c); /* "gpu_less", "shared", "whole", "multi" */

struct trace_pod {
    struct str name;
    enum trace_class class;
    int64_t gpu_milli; /* what it counts for: of all its GPUs */
    int32_t milli;     /* ... of each */
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

/* When a pod arrives, and when it ends if it was placed. */
struct stay {
    int64_t arrive_ms;
    int64_t depart_ms; /* STAY_FOR_EVER: never */
};

#define STAY_FOR_EVER INT64_MAX
#define STAY_MS_MAX (INT64_C(1) << 53)

/* One experiment. */
struct arrivals {
    const char *label;         /* the file, or "seed N" */
    const uint32_t *node_rank; /* by node: 0 wins ties; a permutation */
    const uint32_t *pods;      /* rows, in order of arrival; steady mode draws its own */
    size_t pod_n;
    const struct stay *stays; /* timed mode: of each pod, in order of arrival; else NULL */
    uint64_t seed;            /* of what is drawn */
};

/* A file of two lines: "node_rank" and the rank of each node in file order; "pod_row" and the rows
 * of the arriving pods, from 0. Everything lives in the arena of `t`; `seed` stays as it is. */
WARN_UNUSED int arrivals_read(struct trace *t, const char *path, struct arrivals *ret, struct err *reterr);

/* A table with the columns arrive_ms, depart_ms (empty: never) and pod_row, in order of arrival. Ties between nodes go
 * to the first in the file of nodes. */
WARN_UNUSED int arrivals_read_stays(struct trace *t, const char *path, struct arrivals *ret, struct err *reterr);

/* The same pods at the same times, and the same nodes win ties. */
bool arrivals_equal(const struct trace *t, const struct arrivals *a, const struct arrivals *b);

#define ARRIVALS_TARGET_PCT 130 /* of capacity, as the published experiments */

/* An order of our own: pods by name, shuffled; then, as published, pods at random are removed or
 * copies of pods at random are appended until they ask for 130 % of the GPU capacity. */
WARN_UNUSED int arrivals_draw(struct trace *t, uint64_t seed, struct arrivals *ret, struct err *reterr);

#endif
