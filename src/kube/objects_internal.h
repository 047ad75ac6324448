/* kube/objects_internal.h - how objects are decoded: a table per object, a row per field that fgpu reads. */
#ifndef KUBE_OBJECTS_INTERNAL_H
#define KUBE_OBJECTS_INTERNAL_H

#include "kube/objects.h"

struct kube_field {
    struct str key;
    bool (*decode)(struct json_reader *r, void *at);
    size_t offset; /* of what `decode` fills, within the struct of the table */
};

/* Fills from the object that comes next; null is an object without fields. */
bool kube_decode_object(struct json_reader *r, const struct kube_field *fields, size_t field_n, void *into);

/* Decoders for rows of tables; `at` points to what the comment says. null leaves it as it is. */
bool kube_decode_text(struct json_reader *r, void *at);        /* struct str */
bool kube_decode_flag(struct json_reader *r, void *at);        /* bool */
bool kube_decode_i32(struct json_reader *r, void *at);         /* int32_t */
bool kube_decode_presence(struct json_reader *r, void *at);    /* bool: something stands there */
bool kube_decode_moment(struct json_reader *r, void *at);      /* int64_t, wall time in ms; 0: not a time */
bool kube_decode_kv_list(struct json_reader *r, void *at);     /* struct kv_list */
bool kube_decode_taints(struct json_reader *r, void *at);      /* struct node */
bool kube_decode_tolerations(struct json_reader *r, void *at); /* struct pod */

/* Room for one more element in an array that lives in the arena; what it grew out of stays there. NULL: the reader has
 * failed. */
void *kube_decode_grow(struct json_reader *r, void *items, size_t n, size_t *cap, size_t size);

#endif
