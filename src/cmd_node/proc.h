/* cmd_node/proc.h - processes of the host, by their ids: in which container one is, and its end.
 *
 * A process id says nothing for long: another process may have it a moment later. So a process is its id and the time
 * of its start (field 22 of /proc/PID/stat, clock ticks since the boot), and who is killed is held by a descriptor
 * (pidfd_open, Linux 5.3) before it is looked at again: if it is another one by now, nobody is killed.
 *
 * `root` is where the kernel shows processes, by the ids of the host.
 */
#ifndef CMD_NODE_PROC_H
#define CMD_NODE_PROC_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proc_process {
    uint64_t started;
    size_t container; /* of the list asked for; CGROUP_NOBODY (node/cgroup_path.h) */
};

#define PROC_FILE_BYTES 16384 /* cgroups of version 1 have a line for each of a dozen controllers */

/* All of the file `name` of a process ("self", or its id), in `buf`; what would not fit is not read at all. */
WARN_UNUSED int proc_read(const char *root, const char *process, const char *name, char buf[PROC_FILE_BYTES],
                          struct str *ret, struct err *reterr);

/* False: there is no such process, or what the kernel tells of it cannot be understood. */
bool proc_look(const char *root, int64_t pid, const struct str *container_ids, size_t n, struct proc_process *ret);

/* Ends (SIGKILL) the process that started then, if it is still in that container. ERR_NOT_FOUND: it is not there any
 * more, or that id is somebody else by now; nobody was killed. ERR_DENIED, ERR_INTERNAL: the kernel does not let us. */
WARN_UNUSED int proc_kill(const char *root, int64_t pid, uint64_t started, struct str container_id, struct err *reterr);

#endif
