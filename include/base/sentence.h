/* base/sentence.h - text that is put together in a buffer of the caller's, and cut where it does not fit.
 *
 * Always NUL-terminated. For what people read: who needs all of it takes base/strbuf.h.
 */
#ifndef BASE_SENTENCE_H
#define BASE_SENTENCE_H

#include "base/compiler.h"

#include <stddef.h>

struct sentence {
    char *p;
    size_t size, n;
};

/* Empty. `size` is at least 1. */
struct sentence sentence_begin(char *buf, size_t size);
void sentence_add(struct sentence *t, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
