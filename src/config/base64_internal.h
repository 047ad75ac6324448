/* Base64 as in the *-data keys of a kubeconfig (RFC 4648 section 4, padded; line breaks are passed
 * over, as Go's decoder does). */
#ifndef CONFIG_BASE64_INTERNAL_H
#define CONFIG_BASE64_INTERNAL_H

#include "base/str.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>

/* Decodes into `out`, which has room for s.n / 4 * 3 + 3 bytes. False: not base64. */
bool config_base64_decode(struct str s, unsigned char *out, size_t *ret_n);

/* Appends, padded and without line breaks. */
void config_base64_encode(struct str bytes, struct strbuf *out);

#endif
