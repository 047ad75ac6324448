/* model/resource_slice.h - what fgpu knows of a ResourceSlice: whose devices it publishes, and for which nodes.
 *
 * Text is borrowed as in model/pod.h. Source: Kubernetes API resource.k8s.io, types.go of v1, v1beta2 and v1beta1,
 * which agree in these fields.
 */
#ifndef MODEL_RESOURCE_SLICE_H
#define MODEL_RESOURCE_SLICE_H

#include "base/str.h"

#include <stdbool.h>

#define RESOURCE_SLICE_DEVICES_MAX 128 /* upstream's ResourceSliceMaxDevices */

struct resource_slice {
    struct str name;
    struct str resource_version;
    struct str initial_events_end; /* an annotation of bookmarks, KEP-3157 */
    struct str driver;
    const struct str *nodes; /* spec.nodeName, or that of each of its devices; a name may come twice */
    size_t node_n;
    bool anywhere; /* for nodes chosen by a selector, or for all */
};

#endif
