/* Ops as bytes, and these as JSON, by the tables of op_json_fields.c.
 *
 * A struct is a sequence of fields that are not zero, each the place of its row in the table plus one and its value,
 * and a 0 at the end. A number is a varint, the low seven bits first, with the sign at the bottom; a text is its length
 * and its bytes; a list is its length and its elements; a flag is nothing more, because it is not written where it is
 * false. Nothing is looked for and nothing converted to digits: that is the cost of JSON, and is paid by who reads.
 */
#include "extender/op_json_internal.h"

#include "base/bug.h"
#include "base/hash.h"

#include <string.h>

enum { VARINT_BYTES_MAX = 10, DIGEST_DIGITS = 16 };

/* ---- packing ---- */

static void pack_struct(struct strbuf *to, const struct op_shape *of, const char *at);

/* The value as it lies in memory; its bits, where it is larger than JSON readers are told that numbers are. */
static int64_t number_at(enum op_type type, const char *at)
{
    switch ((unsigned)type) {
    case OP_BOOL:
        return *(const bool *)at;
    case OP_I8:
        return *(const int8_t *)at;
    case OP_U8:
        return *(const uint8_t *)at;
    case OP_U16:
        return *(const uint16_t *)(const void *)at;
    case OP_I32:
        return *(const int32_t *)(const void *)at;
    case OP_U32:
        return *(const uint32_t *)(const void *)at;
    case OP_I64:
        return *(const int64_t *)(const void *)at;
    default:
        return (int64_t) * (const uint64_t *)(const void *)at;
    }
}

/* `tag` and a number. */
static void add_number(struct strbuf *to, uint8_t tag, uint64_t v)
{
    char *begin = strbuf_reserve(to, 1 + VARINT_BYTES_MAX), *p = begin;

    if (begin == NULL) {
        return;
    }
    *p++ = (char)tag;
    for (; v >= 0x80; v >>= 7) {
        *p++ = (char)(v | 0x80);
    }
    *p++ = (char)v;
    strbuf_commit(to, (size_t)(p - begin));
}

static uint64_t zigzag(int64_t v)
{
    return (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0);
}

static void add_text(struct strbuf *to, uint8_t tag, struct str s)
{
    add_number(to, tag, s.n);
    strbuf_add_str(to, s);
}

/* 16 digits; what has 16 bytes is one already, because a proof is longer: so a trace that was read says the same. */
static void add_digest(struct strbuf *to, uint8_t tag, struct str s)
{
    const struct hash_key key = {0x66677075, 0x70726f6f}; /* who finds equal hashes of signed records gains nothing */
    char digits[DIGEST_DIGITS];
    uint64_t hash;

    if (s.n != DIGEST_DIGITS) {
        hash = hash_str(key, s);
        for (size_t i = 0; i < DIGEST_DIGITS; i++) {
            digits[i] = "0123456789abcdef"[hash >> (DIGEST_DIGITS - 1 - i) * 4 & 15];
        }
        s = (struct str){digits, DIGEST_DIGITS};
    }
    add_text(to, tag, s);
}

static void pack_list(struct strbuf *to, const struct op_field *f, uint8_t tag, const char *items, size_t n)
{
    add_number(to, tag, n);
    if (f->type == OP_HASHES) {
        strbuf_add(to, items, n * sizeof(uint64_t));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        pack_struct(to, f->of, items + i * f->of->size);
    }
}

static bool is_zero(const char *at, size_t n)
{
    return at[0] == 0 && memcmp(at, at + 1, n - 1) == 0;
}

static void pack_field(struct strbuf *to, const struct op_field *f, uint8_t tag, const char *base)
{
    const char *at = base + f->offset;
    const struct str *text = (const void *)at;
    int64_t number;

    switch ((unsigned)f->type) {
    case OP_STR:
        if (text->n > 0) {
            add_text(to, tag, *text);
        }
        break;
    case OP_DIGEST:
        if (text->n > 0) {
            add_digest(to, tag, *text);
        }
        break;
    case OP_CSTR:
    case OP_DIALECT:
        if (op_pointer_at(at) != NULL) {
            add_text(to, tag, str_of(op_pointer_at(at)));
        }
        break;
    case OP_OBJECT:
        if (!is_zero(at, f->of->size)) {
            strbuf_add_char(to, (char)tag);
            pack_struct(to, f->of, at);
        }
        break;
    case OP_POINTER:
        if (op_pointer_at(at) != NULL) {
            strbuf_add_char(to, (char)tag);
            pack_struct(to, f->of, op_pointer_at(at));
        }
        break;
    case OP_LIST:
    case OP_HASHES:
        if (op_count_at(f, base) > 0) {
            pack_list(to, f, tag, op_pointer_at(at), op_count_at(f, base));
        }
        break;
    default:
        number = number_at(f->type, at);
        if (number != 0 && f->type == OP_BOOL) {
            strbuf_add_char(to, (char)tag);
        } else if (number != 0) {
            add_number(to, tag, zigzag(number));
        }
    }
}

static void pack_struct(struct strbuf *to, const struct op_shape *of, const char *at)
{
    BUG_ON(of->n >= UINT8_MAX);
    for (size_t i = 0; i < of->n; i++) {
        pack_field(to, &of->fields[i], (uint8_t)(i + 1), at);
    }
    strbuf_add_char(to, 0);
}

/* ---- as JSON ---- */

static void write_struct(struct json_writer *w, const struct op_shape *of, struct str *left);

static const char *take(struct str *left, size_t n)
{
    const char *at = left->p;

    BUG_ON(n > left->n);
    *left = str_drop(*left, n);
    return at;
}

static uint64_t take_number(struct str *left)
{
    uint64_t v = 0;
    unsigned shift = 0;
    uint8_t byte;

    do {
        BUG_ON(shift > 63);
        byte = (uint8_t)*take(left, 1);
        v |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while ((byte & 0x80) != 0);
    return v;
}

static int64_t unzigzag(uint64_t v)
{
    return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

static struct str take_text(struct str *left)
{
    size_t n = take_number(left);

    return (struct str){take(left, n), n};
}

static void write_list(struct json_writer *w, const struct op_field *f, struct str *left)
{
    size_t n = take_number(left);

    json_write_kv_array_begin(w, f->name);
    for (size_t i = 0; i < n; i++) {
        if (f->type == OP_HASHES) {
            json_write_i64(w, (int64_t)hash_load(take(left, sizeof(uint64_t))));
        } else {
            write_struct(w, f->of, left);
        }
    }
    json_write_array_end(w);
}

static void write_field(struct json_writer *w, const struct op_field *f, struct str *left)
{
    switch ((unsigned)f->type) {
    case OP_STR:
    case OP_DIGEST:
    case OP_CSTR:
    case OP_DIALECT:
        json_write_kv_str(w, f->name, take_text(left));
        break;
    case OP_OBJECT:
    case OP_POINTER:
        json_write_key(w, f->name);
        write_struct(w, f->of, left);
        break;
    case OP_LIST:
    case OP_HASHES:
        write_list(w, f, left);
        break;
    case OP_BOOL:
        json_write_kv_bool(w, f->name, true);
        break;
    default:
        json_write_kv_i64(w, f->name, unzigzag(take_number(left)));
    }
}

static void write_struct(struct json_writer *w, const struct op_shape *of, struct str *left)
{
    uint8_t tag;

    json_write_object_begin(w);
    while ((tag = (uint8_t)*take(left, 1)) != 0) {
        BUG_ON(tag > of->n);
        write_field(w, &of->fields[tag - 1], left);
    }
    json_write_object_end(w);
}

/* ---- ops ---- */

void op_pack(struct strbuf *to, const struct ledger_op *op)
{
    const struct op_kind *k = op_kind_of(op->kind);

    strbuf_add_char(to, (char)op->kind);
    if (k->key != NULL) {
        pack_struct(to, k->of, (const char *)op + k->offset);
    }
}

void op_json_write_packed(struct json_writer *w, struct str packed)
{
    const struct op_kind *k = op_kind_of((enum ledger_op_kind) * take(&packed, 1));

    json_write_kv_cstr(w, "op", k->name);
    if (k->key != NULL) {
        json_write_key(w, k->key);
        write_struct(w, k->of, &packed);
    }
}

/* Decisions are few, and say only these parts of themselves by the tables. What is too large for the line is too large
 * for the buffer: its writer overflows, too. */
static void write_through(struct json_writer *w, const struct op_shape *of, const void *at)
{
    struct strbuf packed;
    struct str left;

    strbuf_init(&packed, w->out->max_bytes);
    pack_struct(&packed, of, at);
    left = strbuf_view(&packed);
    if (packed.overflowed) {
        w->out->overflowed = true;
        json_write_null(w);
    } else {
        write_struct(w, of, &left);
    }
    strbuf_fini(&packed);
}

void op_json_write_demand(struct json_writer *w, const struct demand *d)
{
    write_through(w, &op_shape_demand, d);
}

void op_json_write_assignment(struct json_writer *w, const struct assignment *as)
{
    write_through(w, &op_shape_assignment, as);
}
