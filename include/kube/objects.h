/* kube/objects.h - Pod, Node and Status from JSON into plain facts.
 *
 * Pods and Nodes are read as they are stored (base/json_read.h): what fgpu does not use is skipped, only its grammar
 * is checked; a text that is used may hold a NUL, which no request is made of (core/dialects/dialect.h). `null` means
 * absent everywhere: bookmarks carry "containers":null, Go writes null for empty slices and maps. Nothing is
 * interpreted: quantities stay text, names are not validated.
 *
 * Text in the results is borrowed from the text the reader reads and from the reader's arena, which
 * must not be NULL; arrays live in the arena. On failure the results are untouched and the error
 * sticks in the reader: a wrong type or too many containers is ERR_INVALID or ERR_LIMIT, broken
 * JSON ERR_PARSE.
 *
 * Source of the fields: Kubernetes API v1 (core/v1 types.go, meta/v1 types.go).
 */
#ifndef KUBE_OBJECTS_H
#define KUBE_OBJECTS_H

#include "base/json_read.h"
#include "model/node.h"
#include "model/pod.h"

#include <stdbool.h>
#include <stdint.h>

/* An object of the 1.5 MiB that etcd holds by default, when every byte of it needs six in JSON; and what it takes when
 * it is read. */
#define KUBE_OBJECT_JSON_MAX ((size_t)16 * 1024 * 1024)
#define KUBE_OBJECT_ARENA_MAX ((size_t)32 * 1024 * 1024)

/* Per list: containers, initContainers. The API server sets no limit but the 1.5 MiB of an object in etcd. */
#define KUBE_CONTAINERS_MAX 65536

/* meta/v1 Status: what the API server answers instead of an object. */
struct kube_status {
    int32_t code;      /* as the HTTP status; 0 when absent */
    struct str reason; /* "NotFound", "Expired", ... */
    struct str message;
    int32_t retry_after_s; /* details.retryAfterSeconds; 0 when absent */
};

/* Each consumes one value: the whole document, or the value of one key of a larger one. */
bool kube_decode_pod(struct json_reader *r, struct pod *ret);
bool kube_decode_node(struct json_reader *r, struct node *ret);
bool kube_decode_status(struct json_reader *r, struct kube_status *ret);

/* The same for a text that holds the object and nothing else, such as the answer to a GET. `r` is
 * any reader of the caller's; it is initialised here. */
WARN_UNUSED int kube_parse_pod(struct json_reader *r, struct str text, struct arena *arena, struct pod *ret,
                               struct err *reterr);
WARN_UNUSED int kube_parse_node(struct json_reader *r, struct str text, struct arena *arena, struct node *ret,
                                struct err *reterr);
WARN_UNUSED int kube_parse_status(struct json_reader *r, struct str text, struct arena *arena, struct kube_status *ret,
                                  struct err *reterr);

/* What can be said of a Pod or Node that the decoders refuse (more labels or containers than our
 * limits allow, a field of the wrong type): its names, resourceVersion and, of a pod, node and
 * phase, found by a scan that checks nothing. Fields that cannot be found are empty. Needs no arena
 * and cannot fail. */
void kube_salvage_pod(struct str text, struct pod *ret);
void kube_salvage_node(struct str text, struct node *ret);

#endif
