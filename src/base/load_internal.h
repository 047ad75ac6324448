/* base/load_internal.h - reading text eight bytes at a time, first byte lowest on every machine. */
#ifndef BASE_LOAD_INTERNAL_H
#define BASE_LOAD_INTERNAL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t load_le64(const char *p)
{
    uint64_t w;
    memcpy(&w, p, sizeof(w));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    w = __builtin_bswap64(w);
#endif
    return w;
}

static inline uint64_t load_le32(const char *p)
{
    uint32_t w;
    memcpy(&w, p, sizeof(w));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    w = __builtin_bswap32(w);
#endif
    return w;
}

/* The last n < 8 bytes, zeros above. The loads overlap: the same byte lands on the same place twice. */
static inline uint64_t load_le_tail(const char *p, size_t n)
{
    if (n >= 4) {
        return load_le32(p) | load_le32(p + n - 4) << (8 * (n - 4));
    }
    if (n == 0) {
        return 0;
    }
    return (uint64_t)(unsigned char)p[0] | (uint64_t)(unsigned char)p[n / 2] << (8 * (n / 2)) |
           (uint64_t)(unsigned char)p[n - 1] << (8 * (n - 1));
}

#endif
