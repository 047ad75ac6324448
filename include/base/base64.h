/* base/base64.h - bytes as text (RFC 4648 section 4, padded). Line breaks are passed over, as Go's decoder does. */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/str.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>

/* Decodes into `out`, which has room for s.n / 4 * 3 + 3 bytes. False: not base64. */
bool base64_decode(struct str s, unsigned char *out, size_t *ret_n);

/* Appends, padded and without line breaks. */
void base64_encode(struct str bytes, struct strbuf *out);

#endif
