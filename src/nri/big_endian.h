/* nri/big_endian.h - numbers of 32 bits as both headers write them. */
#ifndef NRI_BIG_ENDIAN_H
#define NRI_BIG_ENDIAN_H

#include "base/strbuf.h"

#include <stdint.h>

static inline uint32_t big_endian_read32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline void big_endian_add32(struct strbuf *out, uint32_t v)
{
    const unsigned char p[] = {(unsigned char)(v >> 24), (unsigned char)(v >> 16), (unsigned char)(v >> 8),
                               (unsigned char)v};

    strbuf_add(out, p, sizeof(p));
}

#endif
