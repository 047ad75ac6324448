/* base/json_read_internal.h - the parts of the reader: lexer (json_scan.c), duplicate keys (json_keys.c), values
 * that nobody reads (json_pass.c). */
#ifndef BASE_JSON_READ_INTERNAL_H
#define BASE_JSON_READ_INTERNAL_H

#include "base/json_read.h"

#include <stddef.h>

#ifdef __SSE2__
#include <emmintrin.h>

/* A bit for each of the 16 bytes at p that does not simply stand for itself: controls, the quote, the
 * backslash, and bytes from 0x80, which are negative to the signed comparison. */
static inline unsigned json_not_plain_16(const char *p)
{
    __m128i v = _mm_loadu_si128((const __m128i_u *)(const void *)p);
    __m128i hit = _mm_cmplt_epi8(v, _mm_set1_epi8(' '));
    hit = _mm_or_si128(hit, _mm_cmpeq_epi8(v, _mm_set1_epi8('"')));
    hit = _mm_or_si128(hit, _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
    return (unsigned)_mm_movemask_epi8(hit);
}
#endif

static inline void json_skip_blanks(struct json_reader *r)
{
    while (r->at < r->len) {
        char c = r->text[r->at];
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t') {
            return;
        }
        r->at++;
    }
}

struct json_raw_string {
    struct str raw; /* between the quotes */
    bool escaped;
};

/* Sets the error unless there is one; always returns false. */
static inline bool json_fail_at(struct json_reader *r, size_t at, enum err_code code, const char *why)
{
    if (r->why == NULL) {
        r->code = code;
        r->why = why;
        r->why_at = at;
    }
    return false;
}

/* All start at r->at, which is the opening quote or the first byte of a number or word, and move it behind. What
 * they accept is well-formed: json_unescape need not check again. */
bool json_scan_word(struct json_reader *r, struct str word); /* true, false, null */
bool json_scan_string(struct json_reader *r, struct json_raw_string *ret);
bool json_scan_number(struct json_reader *r, bool *ret_is_integer);

/* json_scan_string, with the most frequent case up front: short, plain, not near the end of the input. */
static inline bool json_take_string(struct json_reader *r, struct json_raw_string *ret)
{
#ifdef __SSE2__
    if (r->len - r->at > 16) {
        const char *p = r->text + r->at + 1;
        unsigned mask = json_not_plain_16(p);
        unsigned n = mask != 0 ? (unsigned)__builtin_ctz(mask) : 0;
        if (mask != 0 && p[n] == '"') {
            ret->raw = (struct str){p, n};
            ret->escaped = false;
            r->at += n + 2;
            return true;
        }
    }
#endif
    return json_scan_string(r, ret);
}

/* Takes one character off the front of *raw (not empty): out gets its UTF-8 bytes, their number is
 * returned. A character that is not escaped goes byte by byte. */
size_t json_unescape_one(struct str *raw, char out[4]);
/* `out` has room for raw.n bytes, which is always enough. Returns the length. */
size_t json_unescape(struct str raw, char *out);

/* The value at r->at, which moves behind it (json_pass.c): its grammar is checked, and unless it is read as stored,
 * keys and depth as if somebody read it. */
bool json_pass_value(struct json_reader *r);

/* Remembers a key of the innermost object; false (duplicate, too many) fails the reader at `at`. */
bool json_keys_add(struct json_reader *r, const struct json_raw_string *key, size_t at);
/* Forgets the keys of the innermost object. */
void json_keys_close(struct json_reader *r);

#endif
