/* node/cgroup_path.h - in which container a process is, by its cgroup.
 *
 * /proc/PID/cgroup has a line for each hierarchy: "0::PATH" (version 2), "4:memory:PATH" (version 1). A container
 * runtime makes a cgroup for each container and names it after the container's id:
 *
 *   systemd    .../kubepods-burstable-podUID.slice/cri-containerd-ID.scope      (crio-ID.scope, docker-ID.scope)
 *   cgroupfs   .../kubepods/burstable/podUID/ID                                  (crio-ID)
 *
 * (Kubernetes pkg/kubelet/cm, containerd getCgroupsPath, CRI-O internal/config/cgmgr.) The id is that of NRI. A process
 * sees paths from the root of its own cgroup namespace ("/../../kubepods..."), so nothing is said about what stands
 * before. Who may write below its own container's cgroup can make names there that look like another container's: the
 * outermost name counts. CRI-O's monitor, crio-conmon-ID.scope, is not in the container.
 *
 * Pure.
 */
#ifndef NODE_CGROUP_PATH_H
#define NODE_CGROUP_PATH_H

#include "base/compiler.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

#define CGROUP_NOBODY ((size_t)-1)

/* Which of these containers the process with that /proc/PID/cgroup is in. CGROUP_NOBODY: in none of them, or two lines
 * say two things. */
size_t cgroup_container(struct str file, const struct str *ids, size_t n);

/* The cgroup of version 2 in which that process is. False: *ret_why says what is wrong. */
WARN_UNUSED bool cgroup_path(struct str file, struct str *ret_path, const char **ret_why);
/* The same, and it is that container's by that very path, whatever the lines of version 1 say. */
WARN_UNUSED bool cgroup_path_of_container(struct str file, struct str id, struct str *ret_path, const char **ret_why);

#endif
