/* kube/objects_internal.h - how documents of the API are decoded: a table per object, a row per field that fgpu reads.
 */
#ifndef KUBE_OBJECTS_INTERNAL_H
#define KUBE_OBJECTS_INTERNAL_H

#include "kube/objects.h"

/* What a word means, a value of an enum. The last row has no word: it is for all others. Absent is as "". */
struct kube_word {
    struct str word;
    unsigned value;
};

/* A row. A table ends with a row without a key. */
struct kube_field {
    struct str key;
    bool (*decode)(struct json_reader *r, void *at); /* NULL: an object of which `inner` is read, or one of `words` */
    size_t offset;                                   /* of what `decode` fills, within the struct of the table */
    /* The fields of the value, or of each of its elements: without `decode` they fill the same struct; kube/excerpt.h
     * keeps them and nothing else of it. NULL: all of the value is read. */
    const struct kube_field *inner;
    const struct kube_word *words; /* an enum is filled */
};

/* What is read of each kind of object. */
extern const struct kube_field kube_pod_fields[], kube_node_fields[], kube_slice_fields[];

unsigned kube_word_value(const struct kube_word *words, struct str word);

/* Fills from the object that comes next; null is an object without fields. */
bool kube_decode_object(struct json_reader *r, const struct kube_field *fields, void *into);

/* Decoders for rows of tables; `at` points to what the comment says. null leaves it as it is. */
bool kube_decode_text(struct json_reader *r, void *at);        /* struct str */
bool kube_decode_flag(struct json_reader *r, void *at);        /* bool */
bool kube_decode_i32(struct json_reader *r, void *at);         /* int32_t */
bool kube_decode_presence(struct json_reader *r, void *at);    /* bool: something stands there */
bool kube_decode_moment(struct json_reader *r, void *at);      /* int64_t, wall time in ms; 0: not a time */
bool kube_decode_kv_list(struct json_reader *r, void *at);     /* struct kv_list */
bool kube_decode_raw(struct json_reader *r, void *at);         /* struct str, the value as it stands */
bool kube_decode_taints(struct json_reader *r, void *at);      /* struct node */
bool kube_decode_tolerations(struct json_reader *r, void *at); /* struct pod */

/* Room for one more element in an array that lives in the arena, cleared; what it grew out of stays there. NULL: the
 * reader has failed. */
void *kube_grow(struct json_reader *r, void *items, size_t n, size_t *cap, size_t size);

/* What decides in kube-scheduler's own filters (objects_constraints.c); `at`: struct pod, of ports struct container. */
bool kube_decode_gates(struct json_reader *r, void *at);
bool kube_decode_spreads(struct json_reader *r, void *at);
bool kube_decode_claims(struct json_reader *r, void *at);
bool kube_decode_grouped(struct json_reader *r, void *at);
bool kube_decode_host_network(struct json_reader *r, void *at);
bool kube_decode_volumes(struct json_reader *r, void *at);
bool kube_decode_ports(struct json_reader *r, void *at);
bool kube_decode_node_selector(struct json_reader *r, void *at);
bool kube_decode_affinity(struct json_reader *r, void *at);
bool kube_decode_managers(struct json_reader *r, void *at);
extern const struct kube_field kube_nothing_fields[], kube_volume_fields[], kube_port_fields[], kube_affinity_fields[],
    kube_managed_fields[];

/* For these: true when something of the type `t` is next. False: null, or something odd, was skipped. */
bool kube_comes(struct json_reader *r, struct pod *p, enum json_type t);
void kube_skip_odd(struct json_reader *r, struct pod *p); /* and notes it */
/* Skips the list that comes next; with anything in it the pod has `bit`. */
bool kube_note_list(struct json_reader *r, struct pod *p, enum scheduler_only bit);

/* The elements of the array that comes next, each `size` bytes in the arena and cleared before it is filled; NULL and 0
 * of them when there is none (null too), or when the reader has failed. */
void *kube_decode_array(struct json_reader *r, const struct kube_field *fields, size_t size, size_t *ret_n);

#endif
