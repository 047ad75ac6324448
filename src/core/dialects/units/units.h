/* core/dialects/units/units.h - GPUs that a device plugin sells while kubelet picks: whole ones, replicas
 * (time-slicing, MPS) or units such as those of MetaGPU (decision 0028).
 *
 * Names are settings: resources.whole, and those of resources.compute with `picks: kubelet`. Nobody can steer the
 * plugin, so fgpu counts: a pod has a number of units (plugin_managed_n of struct demand), a node sells one, and what
 * one of them is of a GPU the node's labels or the configuration say. fgpu's constraints may stand beside such a
 * request; a share of fgpu, whose GPUs it picks itself, may not.
 *
 * NVIDIA's plugin multiplies its GPUs by their replicas, under the same name or, renamed, as nvidia.com/gpu.shared.
 * What one replica is, labels of GPU Feature Discovery say: nvidia.com/gpu.replicas is per GPU, although it is
 * documented as the total, and the product ends in "-SHARED" unless the resource was renamed. MPS refuses containers
 * that ask for more than one (failRequestsGreaterThanOne, which is on there by default). Source: k8s-device-plugin,
 * internal/lm and api/config/v1.
 */
#ifndef CORE_DIALECTS_UNITS_UNITS_H
#define CORE_DIALECTS_UNITS_UNITS_H

#include "core/dialects/dialect.h"

/* The demand is `native` by name, as /state has always called it: its names are settings of fgpu's own vocabulary. No
 * devices are decided, so nothing is written and nothing handed off. Amounts are added up by Kubernetes' rule for
 * effective requests. */
extern const struct dialect dialect_units;

#endif
