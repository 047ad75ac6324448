#include "support/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t option_number(const char *text)
{
    uint64_t v;

    if (!str_to_u64(str_of(text), UINT32_MAX, &v)) {
        fprintf(stderr, "%s: \"%s\" is not a number\n", program_invocation_short_name, text);
        exit(2);
    }
    return (uint32_t)v;
}

struct str text_between(struct str text, const char *open, const char *close)
{
    const char *from = memmem(text.p, text.n, open, strlen(open)), *to;

    if (from == NULL) {
        return STR_NULL;
    }
    from += strlen(open);
    to = memmem(from, text.n - (size_t)(from - text.p), close, strlen(close));
    return to == NULL ? STR_NULL : (struct str){from, (size_t)(to - from)};
}
