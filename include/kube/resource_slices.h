/* kube/resource_slices.h - ResourceSlices (dynamic resource allocation) from JSON into plain facts.
 *
 * v1 since Kubernetes 1.34, v1beta2 since 1.33, v1beta1 since 1.32; each of them may be off. Which one is served is
 * found by asking for the list: kube/watcher.h.
 */
#ifndef KUBE_RESOURCE_SLICES_H
#define KUBE_RESOURCE_SLICES_H

#include "base/json_read.h"
#include "model/resource_slice.h"

#include <stdbool.h>

/* As kube_decode_pod() in kube/objects.h. */
bool kube_decode_slice(struct json_reader *r, struct resource_slice *ret);
/* As kube_salvage_pod(). Where no node can be found it is `anywhere`; `buffer` is for the name of one. */
void kube_salvage_slice(struct str text, struct resource_slice *ret, struct str *buffer);

#endif
