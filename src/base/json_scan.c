/* base/json_scan.c - strings and numbers of JSON (RFC 8259). */
#include "json_read_internal.h"

#include "load_internal.h"
#include "utf8_internal.h"

#include "base/bug.h"

#include <string.h>

static const char BAD_ESCAPE[] = "invalid escape in a string";
static const char OPEN_STRING[] = "input ends inside a string";

/* A byte is plain if it stands for itself and needs no check: ASCII but no control, quote, backslash. */
static bool is_plain(char c)
{
    return c >= 0x20 && c != '"' && c != '\\' && (unsigned char)c < 0x80;
}

/* The high bit of each byte that is not plain. Borrows only ever run upwards, so the lowest bit set is
 * exact, and so is "none"; the bits above it may be wrong. */
static inline uint64_t not_plain_mask(uint64_t w)
{
    const uint64_t ONES = 0x0101010101010101U;
    const uint64_t HIGHS = 0x8080808080808080U;
    uint64_t quote = (w ^ (ONES * '"')) - ONES;
    uint64_t backslash = (w ^ (ONES * '\\')) - ONES;
    uint64_t control = w - ONES * 0x20;
    return (quote | backslash | control | w) & HIGHS;
}

/* The offset of the first byte at or after `at` that is not plain, or `len`. */
static inline size_t skip_plain(const char *text, size_t at, size_t len)
{
#ifdef __SSE2__
    while (len - at >= 16) {
        unsigned mask = json_not_plain_16(text + at);
        if (mask != 0) {
            return at + (unsigned)__builtin_ctz(mask);
        }
        at += 16;
    }
#endif
    while (len - at >= 8) {
        uint64_t mask = not_plain_mask(load_le64(text + at));
        if (mask != 0) {
            return at + ((unsigned)__builtin_ctzll(mask) >> 3);
        }
        at += 8;
    }
    while (at < len && is_plain(text[at])) {
        at++;
    }
    return at;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    char low = (char)(c | 0x20);
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/* The value of four hex digits at p, or -1. */
static int32_t hex4(const char *p, size_t n)
{
    int32_t v = 0;
    for (size_t i = 0; i < 4; i++) {
        int digit = i < n ? hex_digit(p[i]) : -1;
        if (digit < 0) {
            return -1;
        }
        v = v * 16 + digit;
    }
    return v;
}

static bool is_high_surrogate(int32_t c)
{
    return c >= 0xd800 && c <= 0xdbff;
}

static bool is_low_surrogate(int32_t c)
{
    return c >= 0xdc00 && c <= 0xdfff;
}

/* Is the escape at p, whose value is c, the first half of a pair of surrogates? */
static bool begins_pair(int32_t c, const char *p, size_t n)
{
    return is_high_surrogate(c) && n >= 12 && p[6] == '\\' && p[7] == 'u' && is_low_surrogate(hex4(p + 8, 4));
}

/* \uXXXX at r->at, or two of them that form a pair. */
static bool scan_unicode_escape(struct json_reader *r)
{
    const char *p = r->text + r->at;
    size_t n = r->len - r->at;
    int32_t c = hex4(p + 2, n - 2);
    if (c < 0) {
        return json_fail_at(r, r->at, ERR_PARSE, BAD_ESCAPE);
    }
    if (c == 0 && !r->as_stored) {
        return json_fail_at(r, r->at, ERR_PARSE, "\\u0000 in a string");
    }
    bool pair = begins_pair(c, p, n);
    if (!pair && (is_high_surrogate(c) || is_low_surrogate(c)) && !r->as_stored) {
        return json_fail_at(r, r->at, ERR_PARSE, "lone surrogate in a string");
    }
    r->at += pair ? 12 : 6;
    return true;
}

/* What a backslash and `c` stand for; NUL if nothing. */
static char unescaped_byte(char c)
{
    switch (c) {
    case '"':
    case '\\':
    case '/':
        return c;
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return '\0';
    }
}

static bool scan_escape(struct json_reader *r)
{
    if (r->len - r->at < 2) {
        return json_fail_at(r, r->len, ERR_PARSE, OPEN_STRING);
    }
    char c = r->text[r->at + 1];
    if (c == 'u') {
        return scan_unicode_escape(r);
    }
    if (unescaped_byte(c) == '\0') {
        return json_fail_at(r, r->at, ERR_PARSE, BAD_ESCAPE);
    }
    r->at += 2;
    return true;
}

/* One character that is not plain, at r->at, and is not the closing quote. */
static bool scan_special(struct json_reader *r)
{
    unsigned char c = (unsigned char)r->text[r->at];
    if (c == '\\') {
        return scan_escape(r);
    }
    if (c < 0x20) {
        return json_fail_at(r, r->at, ERR_PARSE, "control byte in a string, which must be escaped");
    }
    size_t n = utf8_sequence_n(r->text + r->at, r->len - r->at);
    if (n == 0) {
        return json_fail_at(r, r->at, ERR_PARSE, "invalid UTF-8 in a string");
    }
    r->at += n;
    return true;
}

bool json_scan_string(struct json_reader *r, struct json_raw_string *ret)
{
    size_t start = r->at + 1;
    size_t at = start;
    bool escaped = false;
    for (;;) {
        at = skip_plain(r->text, at, r->len);
        if (at == r->len) {
            return json_fail_at(r, at, ERR_PARSE, OPEN_STRING);
        }
        if (r->text[at] == '"') {
            break;
        }
        escaped |= r->text[at] == '\\';
        r->at = at;
        if (!scan_special(r)) {
            return false;
        }
        at = r->at;
    }
    ret->raw = (struct str){r->text + start, at - start};
    ret->escaped = escaped;
    r->at = at + 1;
    return true;
}

bool json_scan_word(struct json_reader *r, struct str word)
{
    if (!str_starts((struct str){r->text + r->at, r->len - r->at}, word)) {
        return json_fail_at(r, r->at, ERR_PARSE, "not a JSON value");
    }
    r->at += word.n;
    return true;
}

static size_t skip_digits(const struct json_reader *r, size_t at)
{
    while (at < r->len && r->text[at] >= '0' && r->text[at] <= '9') {
        at++;
    }
    return at;
}

static char char_at(const struct json_reader *r, size_t at)
{
    return at < r->len ? r->text[at] : '\0';
}

bool json_scan_number(struct json_reader *r, bool *ret_is_integer)
{
    static const char BAD_NUMBER[] = "malformed number";
    size_t at = r->at + (char_at(r, r->at) == '-');
    size_t digits_at = at;
    at = skip_digits(r, at);
    if (at == digits_at || (at > digits_at + 1 && r->text[digits_at] == '0')) {
        return json_fail_at(r, r->at, ERR_PARSE, BAD_NUMBER);
    }
    bool is_integer = true;
    if (char_at(r, at) == '.') {
        size_t fraction_at = at + 1;
        at = skip_digits(r, fraction_at);
        if (at == fraction_at) {
            return json_fail_at(r, r->at, ERR_PARSE, BAD_NUMBER);
        }
        is_integer = false;
    }
    if (char_at(r, at) == 'e' || char_at(r, at) == 'E') {
        size_t exponent_at = at + 1 + (char_at(r, at + 1) == '+' || char_at(r, at + 1) == '-');
        at = skip_digits(r, exponent_at);
        if (at == exponent_at) {
            return json_fail_at(r, r->at, ERR_PARSE, BAD_NUMBER);
        }
        is_integer = false;
    }
    r->at = at;
    *ret_is_integer = is_integer;
    return true;
}

size_t json_unescape_one(struct str *raw, char out[4])
{
    const char *p = raw->p;
    if (p[0] != '\\') {
        out[0] = p[0];
        *raw = str_drop(*raw, 1);
        return 1;
    }
    BUG_ON(raw->n < 2); /* json_scan_string has checked everything */
    if (p[1] != 'u') {
        out[0] = unescaped_byte(p[1]);
        *raw = str_drop(*raw, 2);
        return 1;
    }
    int32_t c = hex4(p + 2, raw->n - 2);
    size_t used = 6;
    if (begins_pair(c, p, raw->n)) {
        c = 0x10000 + ((c - 0xd800) << 10) + (hex4(p + 8, raw->n - 8) - 0xdc00);
        used = 12;
    } else if (is_high_surrogate(c) || is_low_surrogate(c)) {
        c = 0xfffd; /* as the API server's own decoder reads it */
    }
    *raw = str_drop(*raw, used);
    return utf8_encode((uint32_t)c, out);
}

size_t json_unescape(struct str raw, char *out)
{
    size_t n = 0;
    while (raw.n > 0) {
        const char *escape = memchr(raw.p, '\\', raw.n);
        size_t plain = escape ? (size_t)(escape - raw.p) : raw.n;
        memcpy(out + n, raw.p, plain);
        n += plain;
        raw = str_drop(raw, plain);
        if (raw.n > 0) {
            char one[4];
            size_t one_n = json_unescape_one(&raw, one);
            memcpy(out + n, one, one_n);
            n += one_n;
        }
    }
    return n;
}
