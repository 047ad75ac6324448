#include "demo/apiserver/gzip_internal.h"

#include "base/bug.h"

#include <zlib.h>

enum { LEVEL = 1, GZIP_WINDOW_BITS = 15 + 16, MEMORY = 8 };

bool gzip_is_offered(struct str accept_encoding)
{
    return str_match_glob(STR("*gzip*"), accept_encoding);
}

void gzip_pack(struct strbuf *body)
{
    z_stream z = {0};
    struct strbuf packed;
    BUG_ON(deflateInit2(&z, LEVEL, Z_DEFLATED, GZIP_WINDOW_BITS, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK);
    size_t bound = deflateBound(&z, body->n);
    strbuf_init(&packed, bound);
    char *buffer = strbuf_reserve(&packed, bound);
    BUG_ON(buffer == NULL);
    z.next_in = (Bytef *)body->p;
    z.avail_in = (uInt)body->n;
    z.next_out = (Bytef *)buffer;
    z.avail_out = (uInt)bound;
    BUG_ON(deflate(&z, Z_FINISH) != Z_STREAM_END);
    strbuf_commit(&packed, z.total_out);
    deflateEnd(&z);
    strbuf_fini(body);
    *body = packed;
}
