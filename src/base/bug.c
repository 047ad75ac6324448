/* base/bug.c - stopping on the impossible, and allocation that cannot fail. */
#include "base/bug.h"

#include <stdio.h>
#include <stdlib.h>

void bug_at(const char *file, int line, const char *text)
{
    fprintf(stderr, "BUG %s:%d: %s\n", file, line, text);
    abort();
}

/* malloc(0) may give NULL, which callers could not tell from failure. */
static size_t at_least_one(size_t size)
{
    return size > 0 ? size : 1;
}

void *xmalloc(size_t size)
{
    void *p = malloc(at_least_one(size));
    if (p == NULL) {
        BUG("out of memory");
    }
    return p;
}

void *xcalloc(size_t n, size_t size)
{
    void *p = n > 0 ? calloc(n, at_least_one(size)) : calloc(1, 1);
    if (p == NULL) {
        BUG("out of memory");
    }
    return p;
}

void *xreallocarray(void *p, size_t n, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(n, size, &total)) {
        BUG("out of memory");
    }
    void *grown = realloc(p, at_least_one(total));
    if (grown == NULL) {
        BUG("out of memory");
    }
    return grown;
}
