/* base/json_write.c - the JSON writer. */
#include "base/json_write.h"

#include "load_internal.h"
#include "utf8_internal.h"

#include "base/bug.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include <string.h>

void json_writer_init(struct json_writer *w, struct strbuf *out)
{
    *w = (struct json_writer){.out = out};
}

/* Puts the comma and checks that a value may stand here. */
static void before_value(struct json_writer *w)
{
    if (w->after_key) {
        w->after_key = false;
        return;
    }
    BUG_ON(w->levels[w->depth].is_object);     /* a value without its key */
    BUG_ON(w->depth == 0 && w->levels[0].any); /* a second outermost value */
    if (w->levels[w->depth].any) {
        strbuf_add_char(w->out, ',');
    }
    w->levels[w->depth].any = true;
}

static void open_level(struct json_writer *w, bool is_object)
{
    before_value(w);
    BUG_ON(w->depth == JSON_WRITE_DEPTH_MAX);
    w->depth++;
    w->levels[w->depth].is_object = is_object;
    w->levels[w->depth].any = false;
    strbuf_add_char(w->out, is_object ? '{' : '[');
}

static void close_level(struct json_writer *w, bool is_object)
{
    BUG_ON(w->depth == 0 || w->levels[w->depth].is_object != is_object || w->after_key);
    w->depth--;
    strbuf_add_char(w->out, is_object ? '}' : ']');
}

void json_write_object_begin(struct json_writer *w)
{
    open_level(w, true);
}

void json_write_object_end(struct json_writer *w)
{
    close_level(w, true);
}

void json_write_array_begin(struct json_writer *w)
{
    open_level(w, false);
}

void json_write_array_end(struct json_writer *w)
{
    close_level(w, false);
}

/* Checks that a key may stand here; true: after a comma. */
static bool key_begins(struct json_writer *w)
{
    bool comma;

    BUG_ON(w->depth == 0 || !w->levels[w->depth].is_object || w->after_key);
    comma = w->levels[w->depth].any;
    w->levels[w->depth].any = true;
    w->after_key = true;
    return comma;
}

/* A byte that stands for itself inside quotes. */
static bool is_plain(char c)
{
    return c >= 0x20 && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&' && (unsigned char)c < 0x80;
}

/* The high bit of each byte that is not plain; exact up to the lowest bit set, as in json_scan.c. */
static inline uint64_t not_plain_mask(uint64_t w)
{
    const uint64_t ONES = 0x0101010101010101U;
    const uint64_t HIGHS = 0x8080808080808080U;
    uint64_t hit = w | (w - ONES * 0x20);
    hit |= (w ^ (ONES * '"')) - ONES;
    hit |= (w ^ (ONES * '\\')) - ONES;
    hit |= ((w | (ONES * 2)) ^ (ONES * '>')) - ONES; /* '<' and '>' differ in this bit */
    hit |= (w ^ (ONES * '&')) - ONES;
    return hit & HIGHS;
}

static size_t plain_prefix(struct str s)
{
    size_t at = 0;
    while (s.n - at >= 8) {
        uint64_t mask = not_plain_mask(load_le64(s.p + at));
        if (mask != 0) {
            return at + ((unsigned)__builtin_ctzll(mask) >> 3);
        }
        at += 8;
    }
    if (at < s.n && s.n >= 8) { /* the rest as the end of eight bytes, of which the first are plain */
        uint64_t mask = not_plain_mask(load_le64(s.p + s.n - 8));
        return mask == 0 ? s.n : s.n - 8 + ((unsigned)__builtin_ctzll(mask) >> 3);
    }
    while (at < s.n && is_plain(s.p[at])) {
        at++;
    }
    return at;
}

#ifdef __SSE2__
/* In signed bytes what is not ASCII is below a space, too. */
static inline bool all_plain_16(__m128i v)
{
    __m128i hit = _mm_cmplt_epi8(v, _mm_set1_epi8(' '));
    hit = _mm_or_si128(hit, _mm_cmpeq_epi8(v, _mm_set1_epi8('"')));
    hit = _mm_or_si128(hit, _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
    hit = _mm_or_si128(hit, _mm_cmpeq_epi8(_mm_or_si128(v, _mm_set1_epi8(2)), _mm_set1_epi8('>')));
    hit = _mm_or_si128(hit, _mm_cmpeq_epi8(v, _mm_set1_epi8('&')));
    return _mm_movemask_epi8(hit) == 0;
}

static inline __m128i load_16(const char *p)
{
    return _mm_loadu_si128((const __m128i_u *)(const void *)p);
}

static inline __m128i load_8(const char *p)
{
    return _mm_loadl_epi64((const __m128i_u *)(const void *)p);
}
#endif

/* Thousands of names are asked about in one reply, most of them of 8 to 16 bytes: the first and the last eight, which
 * may overlap, are looked at together. */
bool json_is_plain(struct str s)
{
#ifdef __SSE2__
    if (s.n >= 8 && s.n < 16) {
        return all_plain_16(_mm_unpacklo_epi64(load_8(s.p), load_8(s.p + s.n - 8)));
    }
    if (s.n >= 16) {
        size_t at = 0;
        while (s.n - at >= 16) {
            if (!all_plain_16(load_16(s.p + at))) {
                return false;
            }
            at += 16;
        }
        return at == s.n || all_plain_16(load_16(s.p + s.n - 16));
    }
#endif
    return plain_prefix(s) == s.n;
}

static void add_unicode_escape(struct strbuf *out, unsigned c)
{
    static const char HEX[] = "0123456789abcdef";
    char text[6] = {'\\', 'u', HEX[c >> 12 & 15], HEX[c >> 8 & 15], HEX[c >> 4 & 15], HEX[c & 15]};
    strbuf_add(out, text, sizeof(text));
}

/* Writes the first character of s, which is not plain; returns how many bytes it had. */
static size_t add_special(struct strbuf *out, struct str s)
{
    static const char FROM[] = "\b\f\n\r\t\"\\";
    static const char TO[] = "bfnrt\"\\";
    unsigned char c = (unsigned char)s.p[0];
    if (c < 0x80) {
        const char *hit = c != '\0' ? strchr(FROM, c) : NULL;
        if (hit != NULL) {
            strbuf_add(out, (char[]){'\\', TO[hit - FROM]}, 2);
        } else {
            add_unicode_escape(out, c);
        }
        return 1;
    }
    size_t n = utf8_sequence_n(s.p, s.n);
    if (n == 0) {
        add_unicode_escape(out, 0xfffd);
        return 1;
    }
    if (n == 3 && memcmp(s.p, "\xe2\x80", 2) == 0 && (s.p[2] == '\xa8' || s.p[2] == '\xa9')) {
        add_unicode_escape(out, s.p[2] == '\xa8' ? 0x2028 : 0x2029);
    } else {
        strbuf_add(out, s.p, n);
    }
    return n;
}

/* The quoted text and one more character (':' after a key), or '\0' for none. */
static void add_quoted(struct strbuf *out, struct str s, char after)
{
    size_t plain = plain_prefix(s);
    if (plain == s.n) { /* nearly always: one reservation */
        char *to = s.n < SIZE_MAX - 3 ? strbuf_reserve(out, s.n + 2 + (after != '\0')) : NULL;
        if (to == NULL) {
            out->overflowed = true;
            return;
        }
        to[0] = '"';
        if (s.n > 0) {
            memcpy(to + 1, s.p, s.n);
        }
        to[s.n + 1] = '"';
        if (after != '\0') {
            to[s.n + 2] = after;
        }
        strbuf_commit(out, s.n + 2 + (after != '\0'));
        return;
    }
    strbuf_add_char(out, '"');
    for (;; plain = plain_prefix(s)) {
        strbuf_add(out, s.p, plain);
        s = str_drop(s, plain);
        if (s.n == 0) {
            break;
        }
        s = str_drop(s, add_special(out, s));
    }
    strbuf_add_char(out, '"');
    if (after != '\0') {
        strbuf_add_char(out, after);
    }
}

void json_write_key(struct json_writer *w, const char *key)
{
    struct str k = str_of(key);
    bool comma = key_begins(w);
    char *to = strbuf_reserve(w->out, comma + k.n + 3);

    if (to == NULL) {
        return;
    }
    if (comma) {
        *to++ = ',';
    }
    *to++ = '"';
    memcpy(to, k.p, k.n);
    to[k.n] = '"';
    to[k.n + 1] = ':';
    strbuf_commit(w->out, comma + k.n + 3);
}

void json_write_key_str(struct json_writer *w, struct str key)
{
    if (key_begins(w)) {
        strbuf_add_char(w->out, ',');
    }
    add_quoted(w->out, key, ':');
}

void json_write_str(struct json_writer *w, struct str s)
{
    before_value(w);
    add_quoted(w->out, s, '\0');
}

void json_write_cstr(struct json_writer *w, const char *s)
{
    if (s == NULL) {
        json_write_null(w);
    } else {
        json_write_str(w, str_of(s));
    }
}

void json_write_i64(struct json_writer *w, int64_t v)
{
    before_value(w);
    strbuf_add_i64(w->out, v);
}

void json_write_bool(struct json_writer *w, bool v)
{
    json_write_raw(w, v ? STR("true") : STR("false"));
}

void json_write_null(struct json_writer *w)
{
    json_write_raw(w, STR("null"));
}

void json_write_raw(struct json_writer *w, struct str json)
{
    BUG_ON(json.n == 0); /* would leave a key without a value */
    before_value(w);
    strbuf_add_str(w->out, json);
}

void json_write_kv_str(struct json_writer *w, const char *key, struct str s)
{
    json_write_key(w, key);
    json_write_str(w, s);
}

void json_write_kv_cstr(struct json_writer *w, const char *key, const char *s)
{
    json_write_key(w, key);
    json_write_cstr(w, s);
}

void json_write_kv_i64(struct json_writer *w, const char *key, int64_t v)
{
    json_write_key(w, key);
    json_write_i64(w, v);
}

void json_write_kv_bool(struct json_writer *w, const char *key, bool v)
{
    json_write_key(w, key);
    json_write_bool(w, v);
}

void json_write_kv_object_begin(struct json_writer *w, const char *key)
{
    json_write_key(w, key);
    json_write_object_begin(w);
}

void json_write_kv_array_begin(struct json_writer *w, const char *key)
{
    json_write_key(w, key);
    json_write_array_begin(w);
}
