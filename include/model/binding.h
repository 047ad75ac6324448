/* model/binding.h - the one write fgpu makes per pod: node and devices together.
 *
 * The API server merges the annotations into the pod in the same transaction that sets spec.nodeName; uid and
 * resourceVersion are preconditions, checked before every attempt of the transaction, which replaces exactly the
 * revision that was checked (contract.md 4.1, R29). So a Binding that carried one resourceVersion can never land
 * once the pod has another. Text is borrowed from whoever built the binding.
 */
#ifndef MODEL_BINDING_H
#define MODEL_BINDING_H

#include "model/kv.h"

#include <stdint.h>

struct binding {
    struct str namespace_;
    struct str pod_name;
    struct str pod_uid;
    uint64_t pod_version; /* metadata.resourceVersion; 0: not known, none is sent */
    struct str node_name;
    struct kv_list annotations;
};

/* All keys and values of a pod's annotations together, in bytes. Not checked by the API server at binding,
 * but a pod above it can never be updated again, so fgpu checks first (contract.md R27). */
#define POD_ANNOTATION_BYTES_MAX 262144

#endif
