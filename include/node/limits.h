/* node/limits.h - what keeps a container to its share of the GPUs that it was given.
 *
 *   driver      the driver refuses memory above the limit of the container's cgroup: nvmlDeviceSetMemoryLimits_v1,
 * driver r615 and later, cgroup version 2. Set when the container is started, before its program runs. Compute is not
 * limited mps         a daemon (nvidia-cuda-mps-control) runs the kernels of all containers of a GPU; variables tell
 * the CUDA library of the container how many threads and how much memory it may use hami-core   a library (libvgpu.so)
 * in the container stands between program and CUDA; variables tell it the same watch       nothing is limited; what is
 * used is watched, as it is with every kind none        the same auto        driver where it holds, else watch
 *
 * What a hostile program can still do under each: manifests/limits.md.
 *
 * How much. Memory: what the record says of each GPU that is shared. A GPU that was given alone has no limit (its
 * amounts are those of another day, core/record/assignment.h), a MIG instance was cut by the hardware, and a device for
 * which no memory was charged has none. Compute: the smallest share among the GPUs of the container, if its quality of
 * service does not let it use what is idle (model/qos.h); whether the node forbids to lend is not in the record, and
 * not known here.
 *
 * Variables. A runtime replaces a variable that image or pod sets, but where both set it the pod's value stays (seen on
 * containerd 2.4.2). So a container that sets one of ours twice, to another value, is refused. Mounts of the container
 * at or below one of ours are refused, because they would lie above it.
 *
 * Sources: docs.nvidia.com/deploy/mps (variables of MPS; its client takes the default directory of the pipes if none is
 * named); nvml.h of r615 and docs.nvidia.com/deploy/mps, "memory partitioning" (the driver's limits);
 * Project-HAMi/HAMi-core src/multiprocess and HAMi's device plugin (variables, paths and mounts of libvgpu.so). None of
 * it was tried on a GPU.
 *
 * Pure: no I/O, no clock.
 */
#ifndef NODE_LIMITS_H
#define NODE_LIMITS_H

#include "base/arena.h"
#include "model/kv.h"
#include "node/facts.h"
#include "node/hand_over.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum limits_kind { LIMITS_AUTO, LIMITS_DRIVER, LIMITS_MPS, LIMITS_HAMI_CORE, LIMITS_WATCH, LIMITS_NONE, LIMITS__MAX };

const char *limits_kind_name(enum limits_kind k);
/* False: no such name; then nothing is written. */
bool limits_kind_parse(struct str name, enum limits_kind *ret);

/* ---- which kind ---- */

/* What the kind driver takes. */
struct limits_node {
    bool driver_can;   /* the driver's library has the function */
    bool no_cgroups;   /* there is nothing where they should be */
    bool cgroup2;      /* cgroups of containers are of version 2 */
    bool host_pids;    /* the agent sees the processes of containers by the numbers that the runtime tells */
    bool start_fails;  /* the runtime ends a container whose start a plugin refuses (node/runtime.h) */
    const char *trial; /* NULL, or what went wrong when it was tried on the agent's own cgroup */
};

/* LIMITS_AUTO becomes one that holds; any other stays. *ret_why: why the kind driver does not hold here, with the
 * remedy; NULL if it does, or if it was not asked for. */
enum limits_kind limits_choose(enum limits_kind wanted, const struct limits_node *node, const char **ret_why);

/* ---- when a container is created ---- */

struct limits_rules {
    enum limits_kind kind;   /* not LIMITS_AUTO */
    const char *why_not;     /* not NULL: it cannot hold here, and whoever needs a limit is refused with this */
    struct str mps_dir;      /* on the node: pipe/ and shm/ of the daemon */
    struct str hami_dir;     /* on the node: ld.so.preload, and lock/ */
    struct str hami_library; /* on the node */
};

#define LIMITS_MPS_PIPE_DIR "/tmp/nvidia-mps" /* in the container: where CUDA looks when nobody names a place */
#define LIMITS_MPS_SHM_DIR "/dev/shm"         /* daemon and clients share memory there */
#define LIMITS_HAMI_LIBRARY "/usr/local/vgpu/libvgpu.so"
#define LIMITS_HAMI_PRELOAD "/etc/ld.so.preload"
#define LIMITS_HAMI_LOCK_DIR "/tmp/vgpulock"

struct limits_mount {
    struct str source, destination;
    bool read_only;
};

struct limits {
    struct kv_list env; /* to set */
    const struct limits_mount *mounts;
    size_t mount_n;
    struct str why; /* not STR_NULL: refused, with this sentence, and nothing else is set */
};

/* For a container that is handed these devices. Text is borrowed or in `a`; an arena that is full refuses. */
struct limits limits_at_creation(const struct limits_rules *rules, const struct pod_facts *pod,
                                 const struct container_facts *c, const struct hand_over *h, struct arena *a);

/* ---- when it is started ---- */

struct limits_memory {
    struct str uuid; /* empty: the record names a GPU by its index, and the node has none of it now */
    uint64_t hard_bytes;
};

/* What the driver is to be told, in `ret`, which holds DEVICES_PER_NODE_MAX; returns how many. 0: nothing. The kind is
 * LIMITS_DRIVER, or nothing is. A GPU that the node has lost may come back, so it is named all the same. */
size_t limits_at_start(enum limits_kind kind, const struct node_facts *node, const struct assigned_device *devices,
                       size_t n, struct limits_memory *ret);

#endif
