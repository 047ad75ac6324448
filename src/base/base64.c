#include "base/base64.h"

#include <stdint.h>

static int digit(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool base64_decode(struct str s, unsigned char *out, size_t *ret_n)
{
    uint32_t bits = 0;
    size_t digits = 0, padding = 0, n = 0;

    for (size_t i = 0; i < s.n; i++) {
        int v = digit(s.p[i]);
        if (s.p[i] == '\n' || s.p[i] == '\r') {
            continue;
        }
        if (s.p[i] == '=' && digits % 4 >= 2) {
            padding++;
            v = 0;
        } else if (v < 0 || padding > 0) {
            return false;
        }
        bits = bits << 6 | (uint32_t)v;
        if (++digits % 4 == 0) {
            out[n++] = (unsigned char)(bits >> 16);
            out[n++] = (unsigned char)(bits >> 8);
            out[n++] = (unsigned char)bits;
        }
    }
    if (digits % 4 != 0) {
        return false;
    }
    *ret_n = n - padding;
    return true;
}

void base64_encode(struct str bytes, struct strbuf *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < bytes.n; i += 3) {
        size_t n = bytes.n - i < 3 ? bytes.n - i : 3;
        uint32_t bits = 0;
        for (size_t j = 0; j < 3; j++) {
            bits = bits << 8 | (j < n ? (unsigned char)bytes.p[i + j] : 0);
        }
        for (size_t j = 0; j < 4; j++) {
            strbuf_add_char(out, j <= n ? digits[bits >> (18 - 6 * j) & 63] : '=');
        }
    }
}
