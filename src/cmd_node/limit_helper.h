/* cmd_node/limit_helper.h - a process beside fgpu-node that tells the driver the memory limits of containers
 * (nvml/limits.h), because a call of the driver may hang, and a hanging call of ours would hold up all containers of
 * the node.
 *
 * It is this executable under another word, started beforehand and kept: opening the driver's library takes longer than
 * a container may wait. One that does not answer in time is killed and replaced. If it cannot even be killed, because
 * the kernel's driver holds it, it is left behind; with LIMIT_HELPERS_MAX of them no more are started.
 *
 * What it does for a container: finds the cgroup of its first process, proves that it is that of the container, and
 * sets the limit of each GPU. All of it is done, or the container must not start.
 *
 * Not thread-safe: one thread at a time.
 */
#ifndef CMD_NODE_LIMIT_HELPER_H
#define CMD_NODE_LIMIT_HELPER_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"
#include "node/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIMIT_HELPERS_MAX 4
#define LIMIT_TRY_WITHIN_MS 10000 /* at start, when no container waits */
#define LIMIT_WITHIN_MS                                                                                                \
    500 /* of a container that starts: all its GPUs together; NRI gives 2 s to all plugins together */

struct limit_helper_options {
    const char *program;      /* NULL: this executable */
    const char *nvml_library; /* the one that was found */
    const char *cgroup_root;  /* where cgroups of version 2 are: /sys/fs/cgroup */
    const char *proc_root;    /* NULL: /proc */
};

struct limit_helper;

/* Starts one; whether it is ready shows with the first container. `program` is borrowed. */
struct limit_helper *limit_helper_new(const struct limit_helper_options *options);
void limit_helper_free(struct limit_helper *h); /* NULL is fine */

/* Can it be done on this node? Tries it on the cgroup in which fgpu-node itself is, which is one of a container like
 * others: every GPU gets the limit that is none. Errors as below. */
WARN_UNUSED int limit_helper_try(struct limit_helper *h, int64_t within_ms, struct err *reterr);
/* Of the call before: was it refused for good? False also when nothing was learnt: the driver does not work yet, or
 * nobody answered. */
bool limit_helper_refused(const struct limit_helper *h);

/* Sets these limits for a container whose first process exists and does not run its program yet. ERR_TIMEOUT: not
 * within `within_ms`; ERR_UNAVAILABLE: the driver or the node says no; ERR_LIMIT: a text is too long. The texts end a
 * sentence about the container. */
WARN_UNUSED int limit_helper_apply(struct limit_helper *h, struct str container_id, uint32_t pid,
                                   const struct limits_memory *limits, size_t n, int64_t within_ms, struct err *reterr);

/* The helper itself: what main does when its first argument is LIMIT_HELPER_WORD. Returns an exit code. */
int limit_helper_main(int argc, char **argv);

#endif
