/* model/binding.h - the one write fgpu makes per pod: node and devices together.
 *
 * The API server merges the annotations into the pod in the same transaction that sets spec.nodeName; the
 * uid is a precondition (contract.md 4.1). Text is borrowed from whoever built the binding.
 */
#ifndef MODEL_BINDING_H
#define MODEL_BINDING_H

#include "model/kv.h"

struct binding {
    struct str namespace_;
    struct str pod_name;
    struct str pod_uid;
    struct str node_name;
    struct kv_list annotations;
};

/* All keys and values of a pod's annotations together, in bytes. Not checked by the API server at binding,
 * but a pod above it can never be updated again, so fgpu checks first (contract.md R27). */
#define POD_ANNOTATION_BYTES_MAX 262144

#endif
