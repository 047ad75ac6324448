/* cdi/spec.h - names of devices in the Container Device Interface (CDI), and the one CDI device that is ours.
 *
 * CDI is how container runtimes name devices: VENDOR/CLASS=NAME, described by JSON files that the runtime reads from
 * /etc/cdi (static) and /var/run/cdi (dynamic); source: tags.cncf.io/container-device-interface, its specification and
 * pkg/cdi/spec-dirs.go. NVIDIA's files describe each GPU by its UUID: nvidia.com/gpu=GPU-..., nvidia.com/gpu=MIG-...
 * (nvidia-ctk cdi generate; --device-name-strategy has uuid by default since 1.15).
 *
 * Ours is CDI_VOID. It gives a container nothing and sets NVIDIA_VISIBLE_DEVICES=void in it, which NVIDIA's runtime
 * reads as "no GPU, no driver files". It is a device because of what runtimes do with variables: an NRI plugin that
 * sets one has no effect where image and pod both set it, while what CDI sets is applied last and wins (seen on
 * containerd 2.4.2).
 *
 * A runtime that is told a name which no file describes refuses the container: the file must be there before the first
 * answer names the device, and stay.
 */
#ifndef CDI_SPEC_H
#define CDI_SPEC_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/strbuf.h"

#include <stdbool.h>

#define CDI_VISIBLE_DEVICES "NVIDIA_VISIBLE_DEVICES" /* the variable */
#define CDI_VOID_VALUE "void"
#define CDI_KIND "fgpu.io/gpu"
#define CDI_VOID_NAME "void"
#define CDI_VOID CDI_KIND "=" CDI_VOID_NAME
#define CDI_SPEC_FILE "fgpu.io-gpu.json" /* VENDOR-CLASS.json, as the specification recommends */

/* The JSON of our spec. */
void cdi_spec_format(struct strbuf *out);

/* nvidia.com/gpu=UUID, in `a`; STR_NULL: the arena is full. */
struct str cdi_gpu_name(struct arena *a, struct str uuid);

/* Does a vendor of GPUs hand out the device of this name: nvidia.com or a name below it, as in k8s.gpu.nvidia.com of
 * the DRA driver and k8s.device-plugin.nvidia.com of the device plugin? Not: a network card, CDI_VOID, or the channels
 * of a ComputeDomain (k8s.compute-domain.nvidia.com, nvidia.com/imex-channel), which are no GPUs. */
bool cdi_name_is_of_gpu_vendor(struct str name);

/* Is the spec in `dir`, as it should be? No: somebody removed it, or wrote something else there. */
bool cdi_spec_is_there(const char *dir);

/* Writes the spec into `dir`, which must exist, as CDI_SPEC_FILE: whole or not at all, for a runtime may read at any
 * moment. This and the one above are all of this layer that touches the file system. Errors name the file and the
 * remedy: ERR_NOT_FOUND, ERR_DENIED, ERR_LIMIT, ERR_INTERNAL. */
WARN_UNUSED int cdi_spec_write(const char *dir, struct err *reterr);

#endif
