/* base/utf8_internal.h - one UTF-8 sequence at a time, strict (Unicode 15, table 3-7): no overlong forms,
 * no surrogates, nothing above U+10FFFF. */
#ifndef BASE_UTF8_INTERNAL_H
#define BASE_UTF8_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool utf8_is_tail(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Length of the valid sequence at p (n > 0 bytes available), or 0. */
static inline size_t utf8_sequence_n(const char *p, size_t n)
{
    unsigned char b0 = (unsigned char)p[0];
    unsigned char b1 = n > 1 ? (unsigned char)p[1] : 0;
    if (b0 < 0x80) {
        return 1;
    }
    if (b0 < 0xe0) {
        return b0 >= 0xc2 && n >= 2 && utf8_is_tail(p[1]) ? 2 : 0;
    }
    if (b0 < 0xf0) {
        bool second_ok = b1 >= (b0 == 0xe0 ? 0xa0 : 0x80) && b1 <= (b0 == 0xed ? 0x9f : 0xbf);
        return n >= 3 && second_ok && utf8_is_tail(p[2]) ? 3 : 0;
    }
    bool second_ok = b1 >= (b0 == 0xf0 ? 0x90 : 0x80) && b1 <= (b0 == 0xf4 ? 0x8f : 0xbf);
    return b0 <= 0xf4 && n >= 4 && second_ok && utf8_is_tail(p[2]) && utf8_is_tail(p[3]) ? 4 : 0;
}

/* Writes code point c (not a surrogate, at most U+10FFFF); returns 1 to 4. */
static inline size_t utf8_encode(uint32_t c, char out[4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | (c >> 6));
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | (c >> 12));
        out[1] = (char)(0x80 | ((c >> 6) & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | (c >> 18));
    out[1] = (char)(0x80 | ((c >> 12) & 0x3f));
    out[2] = (char)(0x80 | ((c >> 6) & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

#endif
