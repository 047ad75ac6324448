/* model/documents.h - the versions of documents that one of our programs writes and another one reads. */
#ifndef MODEL_DOCUMENTS_H
#define MODEL_DOCUMENTS_H

#define STATE_API_VERSION "state.fgpu.io/v1alpha1"     /* /state of fgpu: config/state.schema.json */
#define NODE_STATE_API_VERSION "node.fgpu.io/v1alpha1" /* /state of fgpu-node: config/node-state.schema.json */

#endif
