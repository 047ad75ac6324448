/* node/runtime.h - what a container runtime does with the CDI devices that an NRI plugin answers.
 *
 *   containerd   to 1.7.29, 2.0.x        silently ignored
 *                1.7.30 and later 1.7.x  injected if its CRI part has enable_cdi (off by default), else creation fails
 *                2.1.0 and later         injected
 *   CRI-O        to 1.33                 silently ignored
 *                1.34.0 and later        injected
 *
 * (containerd: where WithCDIDeviceInjector is called; CRI-O: server/nri-api.go; read at the tags.) Name and version are
 * those of NRI's Configure: "containerd", "v2.4.2"; "cri-o", "1.36.3".
 */
#ifndef NODE_RUNTIME_H
#define NODE_RUNTIME_H

#include "base/str.h"

#include <stdbool.h>

enum hand_over_way {
    HAND_OVER_BY_CDI,
    HAND_OVER_BY_ENV, /* NVIDIA_VISIBLE_DEVICES, where NVIDIA's runtime is the default one and reads it */
    HAND_OVER_NO_WAY, /* grants are refused, and nothing else is touched */
};

enum runtime_cdi {
    RUNTIME_CDI_IGNORED,
    RUNTIME_CDI_IF_ENABLED, /* only its configuration file says */
    RUNTIME_CDI_INJECTED,
};

/* Does a container end whose start a plugin refuses? containerd aborts it; CRI-O logs the error and goes on
 * (server/container_start.go), and nobody knows what others do. */
bool runtime_start_can_fail(struct str name);

/* What nobody knows ignores. */
enum runtime_cdi runtime_cdi_of(struct str name, struct str version);

#endif
