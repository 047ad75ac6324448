#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fuzz_fail(const char *file, int line, const char *text)
{
    fprintf(stderr, "PROPERTY %s:%d: %s\n", file, line, text);
    abort();
}

void fuzz_differ(const char *file, int line, const char *text, struct str a, struct str b)
{
    fprintf(stderr, "---- %zu bytes:\n%.*s\n---- %zu bytes:\n%.*s\n----\n", a.n, STR_ARG(a), b.n, STR_ARG(b));
    fuzz_fail(file, line, text);
}

uint8_t fuzz_u8(struct fuzz_input *in)
{
    if (in->n == 0) {
        return 0;
    }
    in->n--;
    return *in->p++;
}

uint32_t fuzz_u32(struct fuzz_input *in)
{
    uint32_t v = 0;

    for (int i = 0; i < 4; i++) {
        v = v << 8 | fuzz_u8(in);
    }
    return v;
}

uint32_t fuzz_below(struct fuzz_input *in, uint32_t n)
{
    return (n <= 256 ? fuzz_u8(in) : fuzz_u32(in)) % n;
}

bool fuzz_bool(struct fuzz_input *in)
{
    return (fuzz_u8(in) & 1) != 0;
}

struct str fuzz_until(struct fuzz_input *in, char end)
{
    const uint8_t *at = in->n > 0 ? memchr(in->p, end, in->n) : NULL;
    struct str s = {(const char *)in->p, at != NULL ? (size_t)(at - in->p) : in->n};
    size_t eaten = s.n + (at != NULL);

    if (eaten > 0) {
        in->p += eaten;
        in->n -= eaten;
    }
    return s;
}

struct str fuzz_rest(const struct fuzz_input *in)
{
    return (struct str){(const char *)in->p, in->n};
}

bool fuzz_is_within(struct str part, struct str whole)
{
    return part.n == 0 || (part.p >= whole.p && part.p + part.n <= whole.p + whole.n);
}
