/* nri/container.h - what a container runtime tells of pods and containers, and what a plugin may add to one.
 *
 * Plain facts. Text is borrowed from the message it came in and lives as long as the call that it is handed to
 * (nri/plugin.h); whoever wants to keep something copies it. Text may hold any bytes, NUL too: a tenant writes
 * annotations and variables. Anything that the runtime leaves out is empty.
 *
 * Fields: NRI api.proto, v0.3 to v0.12; what is younger than 0.3 says so, and is empty with an older runtime.
 */
#ifndef NRI_CONTAINER_H
#define NRI_CONTAINER_H

#include "base/str.h"
#include "model/kv.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Annotations are those of the moment when the sandbox was made: what is written into the pod later is never seen here,
 * not even when a container starts again. */
struct nri_pod {
    struct str id; /* of the sandbox; containers name it */
    struct str name, uid, namespace;
    struct kv_list annotations;
    struct str runtime_handler; /* of the RuntimeClass */
    struct str cgroup_parent;
};

/* The numbers are the wire's; a number that is not here is UNKNOWN. */
enum nri_container_state {
    NRI_CONTAINER_UNKNOWN = 0,
    NRI_CONTAINER_CREATED = 1,
    NRI_CONTAINER_PAUSED = 2,
    NRI_CONTAINER_RUNNING = 3,
    NRI_CONTAINER_STOPPED = 4,
};

/* A device node. `file_mode` of one to add: permission bits, 0 for the runtime's own choice. Who adds a node need not
 * think of the device cgroup: the runtime allows it there. */
struct nri_device {
    struct str path; /* in the container */
    struct str type; /* "c" or "b" */
    int64_t major, minor;
    uint32_t file_mode;
};

/* A rule of the device cgroup, in the order in which they are set; the last one that fits counts. */
struct nri_device_rule {
    bool allow;
    struct str type;      /* "c", "b", or "a" (as empty): both */
    int64_t major, minor; /* -1: all */
    struct str access;    /* of "rwm" */
};

struct nri_mount {
    struct str destination; /* in the container */
    struct str type;        /* "bind" */
    struct str source;      /* on the node */
    const struct str *options;
    size_t option_n;
};

struct nri_container {
    struct str id;
    struct str pod_id;
    struct str name;
    enum nri_container_state state;
    const struct str *env; /* "KEY=value", of image and pod together: a key may come twice */
    size_t env_n;
    const struct nri_mount *mounts;
    size_t mount_n;
    const struct nri_device *devices; /* of a container that was created: those from CDI, too */
    size_t device_n;
    const struct nri_device_rule *device_rules; /* a privileged container may open everything */
    size_t device_rule_n;
    const struct str *cdi_devices; /* names as kubelet sent them: DRA and device plugins (0.10); none later on */
    size_t cdi_device_n;
    struct str cgroups_path; /* as the runtime's cgroup driver writes it: a path, or "SLICE:PREFIX:ID" (systemd) */
    uint32_t pid;            /* of a container that was started, else 0 */
};

/* What a plugin adds. Adding is all it can do: devices cannot be taken away, and a variable that image and pod both set
 * keeps the pod's value (a CDI device that carries the variable wins, though). What two plugins set, the container
 * fails of. */
struct nri_adjustment {
    struct kv_list env;
    const struct str *cdi_devices; /* "vendor/class=name"; ignored in silence by containerd up to 1.7.29 and 2.0, and
                                      CRI-O up to 1.33 */
    size_t cdi_device_n;
    const struct nri_mount *mounts;
    size_t mount_n;
    const struct nri_device *devices;
    size_t device_n;
};

#endif
