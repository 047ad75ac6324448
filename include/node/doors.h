/* node/doors.h - what in the configuration of a node's container runtime lets a container have GPUs without the agent.
 *
 * No edit must mean no GPU: while the agent is away, hangs or is late, the runtime makes containers without asking it.
 * With plain runc they have no GPU then. Where NVIDIA's runtime is the default one, it reads NVIDIA_VISIBLE_DEVICES,
 * and nearly every CUDA image says "all".
 *
 * What is read are the files that the admin names, and of them these lines alone, wherever they stand:
 *
 *   default_runtime_name = "..."                                     containerd's config.toml
 *   default_runtime = "..."                                          CRI-O's crio.conf
 *   [... default_validator] with enable = true                       containerd 2.2 and later
 *   accept-nvidia-visible-devices-envvar-when-unprivileged = false   config.toml of NVIDIA's toolkit; true if not there
 *   accept-nvidia-visible-devices-as-volume-mounts = true            the same; false if not there
 *
 * It is no reader of TOML: a file that says these things in another form of TOML, or that imports others which were not
 * named, is understood wrongly. So a door that is found is one; that none is found is no proof, and what was not
 * understood is told. Pure.
 */
#ifndef NODE_DOORS_H
#define NODE_DOORS_H

#include "base/str.h"

#include <stdbool.h>

struct doors {
    bool read_runtime; /* one of the files was of a container runtime */
    bool default_is_nvidias;
    bool has_validator;
    bool ignores_variables; /* of containers that are not privileged */
    bool takes_mounts;
};

/* What of one file was not understood. */
struct doors_file {
    struct str
        imports;  /* the line that imports others, which are not read; STR_NULL: there is none. Part of the text */
    bool strange; /* it says something, and no line of it is one of TOML */
};

/* Reads one file more; later lines win. */
struct doors_file doors_read(struct doors *d, struct str text);

enum door {
    DOOR_VARIABLE,     /* images get the GPUs that their variable names */
    DOOR_MOUNT,        /* so do mounts below /var/run/nvidia-container-devices */
    DOOR_NO_VALIDATOR, /* a pod cannot demand that the agent is asked: it may start without its GPU */
    DOOR__MAX
};

bool doors_is_open(const struct doors *d, enum door which);
/* As fgpu-node publishes it (node/publication.h). */
const char *door_name(enum door which);
const char *door_meaning(enum door which);
const char *door_remedy(enum door which); /* how to close it */
/* What it means, and how to close it. */
const char *door_words(enum door which);

#endif
