#include "base/sentence.h"

#include "base/bug.h"

#include <stdarg.h>
#include <stdio.h>

struct sentence sentence_begin(char *buf, size_t size)
{
    BUG_ON(size == 0);
    buf[0] = '\0';
    return (struct sentence){buf, size, 0};
}

void sentence_add(struct sentence *t, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(t->p + t->n, t->size - t->n, fmt, ap);
    va_end(ap);
    BUG_ON(n < 0);
    t->n = (size_t)n < t->size - t->n ? t->n + (size_t)n : t->size - 1;
}
