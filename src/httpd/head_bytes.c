/* httpd/head_bytes.c - the bytes between the words of a head.
 *
 * libmicrohttpd 0.9.75 takes a bare LF for a line end, joins folded lines and stops reading a value
 * at a NUL, and has no option against any of it. But it parses in place: method, target, version,
 * names and values are pointers into its receive buffer, in the order received, and the line ends
 * between them have been overwritten with NULs. In a strict head each word therefore begins exactly
 * where CRLF (or one blank, on the request line) puts it; one byte less is a bare LF, more is a NUL
 * with something behind it, and a folded value has been moved elsewhere.
 *
 * The end of the last header and the empty line are four NULs if they were CRLF CRLF. Of a bare LF
 * there, the next byte that was sent shows instead: seen here if it has been received, else at the
 * first piece of a body that has a length (httpd_head_ends_before). When nothing follows, nothing
 * could be misread. The bytes looked at are always inside the buffer: libmicrohttpd keeps its
 * records of the headers behind it, in the same block.
 *
 * Another version of the library may parse in another way, and then nothing here would be true any more. So no other
 * is built with, and none is run with (httpd_server_new). 1.0 and later are strict themselves when told so.
 */
#include "httpd/server_internal.h"

#include <string.h>

#if defined(MHD_VERSION) && (MHD_VERSION < 0x00097500 || MHD_VERSION > 0x000975ff)
/* For 1.0 and later MHD_OPTION_CLIENT_DISCIPLINE_LVL in server.c takes the place of this file; test_head_bytes and
 * test_body show whether it does. */
#error "libmicrohttpd 0.9.75 is needed: how strictly requests are read is proven for that version alone (decision 0040)"
#endif

#define CHECKED_VERSION "0.9.75"

enum { CRLF_BYTES = 2, LINE_ENDS_BYTES = 4 };

bool httpd_head_bytes_serves(const char *version)
{
    return strcmp(version, CHECKED_VERSION) == 0;
}

/* Integers, because the words are not known to be in one object. */
static uintptr_t end_of(struct str s)
{
    return (uintptr_t)s.p + s.n;
}

void httpd_head_bytes_begin(struct head_bytes *b, struct str method, struct str target, struct str version)
{
    b->strict = (uintptr_t)target.p == end_of(method) + 1 && (uintptr_t)version.p == end_of(target) + 1;
    b->last = version;
    b->header_n = 0;
}

void httpd_head_bytes_header(struct head_bytes *b, struct str name, struct str value)
{
    /* ':' and blanks, which libmicrohttpd has looked at; an empty value too has a place */
    b->strict = b->strict && (uintptr_t)name.p == end_of(b->last) + CRLF_BYTES && (uintptr_t)value.p > end_of(name);
    b->last = value;
    b->header_n++;
}

bool httpd_head_bytes_end(const struct head_bytes *b)
{
    if (!b->strict || b->header_n == 0) {
        return b->strict;
    }
    static const char nuls[LINE_ENDS_BYTES];
    return memcmp(b->last.p + b->last.n, nuls, sizeof(nuls)) == 0;
}

bool httpd_head_ends_before(const struct httpd_request *req, const char *body)
{
    return req->head_end == 0 || req->body_begun || (uintptr_t)body == req->head_end;
}
