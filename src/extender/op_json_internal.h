/* extender/op_json_internal.h - what a field of an op is, for writing it and for reading it back. */
#ifndef EXTENDER_OP_JSON_INTERNAL_H
#define EXTENDER_OP_JSON_INTERNAL_H

#include "extender/op_json.h"

#include <stddef.h>
#include <string.h>

enum op_type {
    OP_STR,
    OP_DIGEST,  /* a struct str, as the 16 digits of its hash */
    OP_CSTR,    /* const char *, static where it is written; NULL: none, "" is one */
    OP_DIALECT, /* the name of a dialect, or "" */
    OP_BOOL,
    OP_I8,
    OP_U8,
    OP_U16,
    OP_I32,
    OP_U32, /* and enumerations */
    OP_I64,
    OP_U64,
    OP_OBJECT,  /* part of its struct */
    OP_POINTER, /* to a constant one; NULL: none */
    OP_LIST,    /* a pointer, and how many: a size_t */
    OP_HASHES,  /* the same, of uint64_t */
};

struct op_shape;

struct op_field {
    const char *name;
    enum op_type type;
    size_t offset;
    size_t n_offset; /* of the number of a list */
    const struct op_shape *of;
};

struct op_shape {
    size_t size;
    const struct op_field *fields;
    size_t n;
    const char *(*check)(const void *at); /* of op_json_check(), what it contains being right; NULL: anything is */
};

/* By the type of the member, so that none is written with the wrong size. */
#define OP_TYPE_OF(struct_, member)                                                                                    \
    _Generic(((struct_ *)NULL)->member,                                                                                \
        struct str: OP_STR,                                                                                            \
        const char *: OP_CSTR,                                                                                         \
        bool: OP_BOOL,                                                                                                 \
        int8_t: OP_I8,                                                                                                 \
        uint8_t: OP_U8,                                                                                                \
        uint16_t: OP_U16,                                                                                              \
        int32_t: OP_I32,                                                                                               \
        int64_t: OP_I64,                                                                                               \
        uint64_t: OP_U64,                                                                                              \
        default: OP_U32)
#define OP_FIELD(name_, struct_, member)                                                                               \
    {                                                                                                                  \
        .name = (name_), .type = OP_TYPE_OF(struct_, member), .offset = offsetof(struct_, member)                      \
    }
#define OP_FIELD_AS(name_, type_, struct_, member)                                                                     \
    {                                                                                                                  \
        .name = (name_), .type = (type_), .offset = offsetof(struct_, member)                                          \
    }
#define OP_PART(name_, type_, struct_, member, shape_)                                                                 \
    {                                                                                                                  \
        .name = (name_), .type = (type_), .offset = offsetof(struct_, member), .of = (shape_)                          \
    }
#define OP_MANY(name_, struct_, member, member_n, shape_)                                                              \
    {                                                                                                                  \
        .name = (name_), .type = (shape_) == NULL ? OP_HASHES : OP_LIST, .offset = offsetof(struct_, member),          \
        .n_offset = offsetof(struct_, member_n), .of = (shape_)                                                        \
    }
#define OP_SHAPE(struct_, fields_)                                                                                     \
    {                                                                                                                  \
        .size = sizeof(struct_), .fields = (fields_), .n = ARRAY_LEN(fields_)                                          \
    }
#define OP_SHAPE_CHECKED(struct_, fields_, check_)                                                                     \
    {                                                                                                                  \
        .size = sizeof(struct_), .fields = (fields_), .n = ARRAY_LEN(fields_), .check = (check_)                       \
    }

/* Of src/extender/op_json_checks.c. */
const char *op_check_request(const void *at);
const char *op_check_demand(const void *at);
const char *op_check_device(const void *at);
const char *op_check_inventory(const void *at);
const char *op_check_assigned_device(const void *at);
const char *op_check_assigned(const void *at);
const char *op_check_assignment(const void *at);
const char *op_check_known(const void *at);
const char *op_check_pod(const void *at);
const char *op_check_node(const void *at);
const char *op_check_tenants(const void *at);

extern const struct op_shape op_shape_demand, op_shape_assignment;

struct op_kind {
    const char *name;
    const char *key; /* of the member that says the rest; NULL: there is nothing to say */
    size_t offset;   /* of the struct that `of` describes, in the op */
    const struct op_shape *of;
};
const struct op_kind *op_kind_of(enum ledger_op_kind k);

/* The pointer that lies there, and the number of elements of a list in the struct at `base`. */
static inline const void *op_pointer_at(const char *at)
{
    const void *p;

    memcpy(&p, at, sizeof(p));
    return p;
}

static inline size_t op_count_at(const struct op_field *f, const char *base)
{
    size_t n;

    memcpy(&n, base + f->n_offset, sizeof(n));
    return n;
}

#endif
