/* base/json_read.h - a strict pull reader for JSON that comes from outside.
 *
 * No DOM and no allocation, except for strings that contain escapes, which are decoded into the caller's
 * arena. All of these are errors: a duplicate key in one object, invalid UTF-8, an unescaped control byte,
 * \u0000, a lone surrogate, trailing commas, bytes after the value, nesting deeper than JSON_DEPTH_MAX, more
 * than JSON_KEYS_MAX keys open at once, and a number that is not an integer of 64 bits where an integer is
 * asked for. (Numbers that are skipped may have any RFC 8259 form.)
 *
 * The first error sticks: every later call returns false, and json_read_end() reports what and where. So
 * a decoder reads straight through and checks once:
 *
 *     struct json_reader r;
 *     json_reader_init(&r, text, arena);
 *     json_object_begin(&r);
 *     while (json_object_next(&r, &key)) {
 *         if (str_eq(key, STR("name"))) {
 *             json_string(&r, &name);
 *         } else {
 *             json_skip(&r);
 *         }
 *     }
 *     return json_read_end(&r, reterr);
 *
 * Objects of the API server hold what their authors put there, most of which nobody here reads, so one of them must
 * not be refused for a text beside the point (design.md 3.1.8). `as_stored` is for reading them: json_skip and
 * json_raw then check the grammar of RFC 8259 and nothing else (to JSON_SKIP_DEPTH_MAX brackets; keys and their number
 * do not count), an object may have any number of keys (of more than JSON_KEYS_MAX open at once the later ones are not
 * compared), \u0000 is a NUL byte and a lone surrogate U+FFFD, which is how the API server's own decoder (Go,
 * encoding/json) reads them. Whoever takes a text must expect a NUL in it.
 *
 * Exactly one value must be consumed after each json_object_next / json_array_next that returned true;
 * anything else is a bug of the decoder and stops the process (base/bug.h). A decoder that stops in the
 * middle says so with json_fail.
 *
 * Codes: ERR_PARSE for text that is not the JSON described above, ERR_INVALID for a value of another type
 * than the one asked for, ERR_LIMIT for depth, number of keys and a full arena.
 */
#ifndef BASE_JSON_READ_H
#define BASE_JSON_READ_H

#include "base/arena.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH_MAX 64
#define JSON_SKIP_DEPTH_MAX 16384 /* with as_stored, what is skipped; Go's encoding/json gives up at 10,000 */
#define JSON_KEYS_MAX 4096        /* keys of all objects open at one moment */

enum json_type {
    JSON_NONE, /* end of input, or an error has stuck */
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
};

struct json_level {
    bool is_object;
    bool first;        /* nothing read in it yet */
    bool indexed;      /* its keys are in `index` */
    uint32_t key_base; /* keys of this object start here in `keys` */
};

struct json_key {
    uint64_t hash;   /* of the unescaped text */
    const char *raw; /* between the quotes, still escaped */
    size_t raw_n;
};

#define JSON_INDEX_SLOTS (2 * JSON_KEYS_MAX)

/* About 120 KiB with its key table, so it belongs to a thread or a request, not to a deep stack; the key
 * table and its index are not cleared by init. */
struct json_reader {
    const char *text;
    size_t len;
    size_t at;
    size_t value_at;     /* where the value read last begins */
    struct arena *arena; /* for unescaped strings; NULL: asking for one with an escape is an error */
    uint32_t depth;
    bool as_stored;   /* see below; may be set and cleared between values */
    bool fold_keys;   /* duplicate keys are compared ignoring ASCII case; set it right after init */
    bool want_value;  /* a value has to be read next */
    bool index_clear; /* `index` has been cleared since init */
    enum err_code code;
    const char *why; /* static sentence; NULL: no error yet */
    size_t why_at;
    uint32_t key_n;
    uint64_t passed[JSON_SKIP_DEPTH_MAX / 64]; /* as_stored: of each bracket open in what is skipped, is it a brace? */
    struct json_level levels[JSON_DEPTH_MAX + 1]; /* [0]: outside the outermost value */
    struct json_key keys[JSON_KEYS_MAX];
    uint16_t index[JSON_INDEX_SLOTS]; /* number of a key + 1, for objects with many keys; 0: empty */
};

void json_reader_init(struct json_reader *r, struct str text, struct arena *arena);

/* The type of the next value, without consuming it. What cannot begin a value fails here. */
enum json_type json_peek(struct json_reader *r);

bool json_object_begin(struct json_reader *r);
/* The next key, or false at the closing brace (consumed) or on an error. */
bool json_object_next(struct json_reader *r, struct str *ret_key);
bool json_array_begin(struct json_reader *r);
bool json_array_next(struct json_reader *r);

/* Inside an array, between two elements: takes the elements that follow as long as they are strings without
 * escapes and without blanks around them, at most `max`, and returns how many. For long lists of names; what it
 * leaves is for json_array_next. */
size_t json_take_plain_strings(struct json_reader *r, struct str *ret, size_t max);

bool json_string(struct json_reader *r, struct str *ret);
bool json_i64(struct json_reader *r, int64_t *ret);
bool json_bool(struct json_reader *r, bool *ret);
bool json_null(struct json_reader *r);
/* Consumes a null if one is next. For the many places where Kubernetes writes null for "absent". */
bool json_accept_null(struct json_reader *r);
/* Consumes and checks one value of any type, duplicate keys included; needs no arena. */
bool json_skip(struct json_reader *r);
/* As json_skip, and gives the text of the value as it stands in the input. */
bool json_raw(struct json_reader *r, struct str *ret);

/* Marks the reader as failed at the value read last, for a decoder that dislikes it. `why` is a static
 * sentence. The first failure counts; a later one changes nothing. */
void json_fail(struct json_reader *r, enum err_code code, const char *why);
static inline bool json_failed(const struct json_reader *r)
{
    return r->why != NULL;
}

/* After the outermost value: 0, or -code with "JSON at byte 17: duplicate key". Bytes after the value other
 * than blanks are an error. */
WARN_UNUSED int json_read_end(struct json_reader *r, struct err *reterr);

#endif
