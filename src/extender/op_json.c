/* Ops read from JSON, by the tables of op_json_fields.c; writing: op_pack.c. */
#include "extender/op_json_internal.h"

#include "base/bug.h"
#include "core/dialects/dialect.h"

#include <string.h>

/* ---- reading ---- */

static void read_struct(struct json_reader *r, struct arena *a, const struct op_shape *of, char *at);

static void no_memory(struct json_reader *r)
{
    json_fail(r, ERR_LIMIT, "the trace does not fit its memory");
}

static void put_number(struct json_reader *r, enum op_type type, char *at)
{
    static const struct {
        int64_t min, max;
    } ranges[] = {
        [OP_I8] = {INT8_MIN, INT8_MAX},    [OP_U8] = {0, UINT8_MAX},          [OP_U16] = {0, UINT16_MAX},
        [OP_U32] = {0, UINT32_MAX},        [OP_I32] = {INT32_MIN, INT32_MAX}, [OP_I64] = {INT64_MIN, INT64_MAX},
        [OP_U64] = {INT64_MIN, INT64_MAX},
    };
    int64_t v;

    if (!json_i64(r, &v)) {
        return;
    }
    if (v < ranges[type].min || v > ranges[type].max) {
        json_fail(r, ERR_INVALID, "out of range");
        return;
    }
    switch ((unsigned)type) {
    case OP_I8:
    case OP_U8:
        memcpy(at, &(uint8_t){(uint8_t)v}, 1);
        break;
    case OP_U16:
        memcpy(at, &(uint16_t){(uint16_t)v}, 2);
        break;
    case OP_I32:
    case OP_U32:
        memcpy(at, &(uint32_t){(uint32_t)v}, 4);
        break;
    default:
        memcpy(at, &v, 8);
    }
}

static const char *dialect_name(struct json_reader *r, struct str name)
{
    const struct dialect *d = dialect_find(name);

    if (d == NULL && name.n > 0) {
        json_fail(r, ERR_INVALID, "a vocabulary that this version does not know");
    }
    return d == NULL ? "" : d->name;
}

/* Elements come one by one, and how many nobody says: each is put behind the others, in twice the memory when that is
 * full. */
static void read_list(struct json_reader *r, struct arena *a, const struct op_field *f, char *base)
{
    const size_t size = f->type == OP_HASHES ? sizeof(uint64_t) : f->of->size;
    char *items = NULL, *grown;
    size_t n = 0, cap = 0;

    json_array_begin(r);
    while (json_array_next(r)) {
        if (n == cap) {
            cap = cap == 0 ? 4 : cap * 2;
            grown = arena_calloc(a, cap, size);
            if (grown == NULL) {
                no_memory(r);
                return;
            }
            if (n > 0) {
                memcpy(grown, items, n * size);
            }
            items = grown;
        }
        if (f->type == OP_HASHES) {
            put_number(r, OP_U64, items + n * size);
        } else {
            read_struct(r, a, f->of, items + n * size);
        }
        n++;
    }
    memcpy(base + f->offset, &items, sizeof(items));
    memcpy(base + f->n_offset, &n, sizeof(n));
}

static void read_text(struct json_reader *r, struct arena *a, const struct op_field *f, char *at)
{
    struct str s = STR_NULL;
    const char *text;

    if (!json_string(r, &s)) {
        return;
    }
    if (f->type == OP_STR || f->type == OP_DIGEST) {
        memcpy(at, &s, sizeof(s));
        return;
    }
    text = f->type == OP_DIALECT ? dialect_name(r, s) : arena_cstr(a, s);
    if (text == NULL) {
        no_memory(r);
    }
    memcpy(at, &text, sizeof(text));
}

static void read_field(struct json_reader *r, struct arena *a, const struct op_field *f, char *base)
{
    char *at = base + f->offset, *made;
    bool flag;

    switch ((unsigned)f->type) {
    case OP_STR:
    case OP_DIGEST:
    case OP_CSTR:
    case OP_DIALECT:
        read_text(r, a, f, at);
        break;
    case OP_OBJECT:
        read_struct(r, a, f->of, at);
        break;
    case OP_POINTER:
        made = arena_calloc(a, 1, f->of->size);
        if (made == NULL) {
            no_memory(r);
            return;
        }
        if (f->of == &op_shape_demand) {
            ((struct demand *)(void *)made)->dialect = "";
        }
        read_struct(r, a, f->of, made);
        memcpy(at, &made, sizeof(made));
        break;
    case OP_LIST:
    case OP_HASHES:
        read_list(r, a, f, base);
        break;
    case OP_BOOL:
        if (json_bool(r, &flag)) {
            memcpy(at, &flag, sizeof(flag));
        }
        break;
    default:
        put_number(r, f->type, at);
    }
}

static void read_struct(struct json_reader *r, struct arena *a, const struct op_shape *of, char *at)
{
    struct str key;

    json_object_begin(r);
    while (json_object_next(r, &key)) {
        size_t i = 0;

        while (i < of->n && !str_eq_cstr(key, of->fields[i].name)) {
            i++;
        }
        if (i < of->n) {
            read_field(r, a, &of->fields[i], at);
        } else {
            json_skip(r);
        }
    }
}

/* ---- is it right? ---- */

static const char *check_struct(const struct op_shape *of, const char *at);

static const char *check_list(const struct op_field *f, const char *base)
{
    const size_t n = f->type == OP_LIST ? op_count_at(f, base) : 0;
    const char *items = op_pointer_at(base + f->offset), *why = NULL;

    for (size_t i = 0; i < n && why == NULL; i++) {
        why = check_struct(f->of, items + i * f->of->size);
    }
    return why;
}

static const char *check_struct(const struct op_shape *of, const char *at)
{
    const char *why = NULL;

    for (size_t i = 0; i < of->n && why == NULL; i++) {
        const struct op_field *f = &of->fields[i];

        if (f->type == OP_LIST) {
            why = check_list(f, at);
        } else if (f->type == OP_OBJECT) {
            why = check_struct(f->of, at + f->offset);
        } else if (f->type == OP_POINTER && op_pointer_at(at + f->offset) != NULL) {
            why = check_struct(f->of, op_pointer_at(at + f->offset));
        }
    }
    return why == NULL && of->check != NULL ? of->check(at) : why;
}

const char *op_json_check(const struct ledger_op *op)
{
    const struct op_kind *k = op_kind_of(op->kind);

    return k->of == NULL ? NULL : check_struct(k->of, (const char *)op + k->offset);
}

const char *op_json_check_demand(const struct demand *d)
{
    return check_struct(&op_shape_demand, (const char *)d);
}

/* ---- ops ---- */

enum ledger_op_kind op_json_kind(struct str name)
{
    enum ledger_op_kind k = 0;

    while (k < LEDGER_OP__MAX && !str_eq_cstr(name, op_kind_of(k)->name)) {
        k++;
    }
    return k;
}

const char *op_json_key(enum ledger_op_kind k)
{
    return op_kind_of(k)->key;
}

void op_json_read(struct json_reader *r, struct arena *a, struct ledger_op *op)
{
    const struct op_kind *k = op_kind_of(op->kind);

    BUG_ON(k->key == NULL);
    read_struct(r, a, k->of, (char *)op + k->offset);
}

void op_json_read_demand(struct json_reader *r, struct arena *a, struct demand *ret)
{
    *ret = (struct demand){.dialect = ""};
    read_struct(r, a, &op_shape_demand, (char *)ret);
}
