#include "kube/names.h"

#include <string.h>

void kube_url_escape(struct strbuf *out, struct str s)
{
    static const char unreserved[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    static const char digits[] = "0123456789ABCDEF";

    for (size_t i = 0; i < s.n; i++) {
        unsigned char byte = (unsigned char)s.p[i];
        const char code[3] = {'%', digits[byte >> 4], digits[byte & 15]};

        if (memchr(unreserved, byte, sizeof(unreserved) - 1) != NULL) {
            strbuf_add_char(out, s.p[i]);
        } else {
            strbuf_add(out, code, sizeof(code));
        }
    }
}
