#include "support/seeds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t number_of(const char *variable, uint64_t otherwise, uint64_t max)
{
    const char *text = getenv(variable);
    unsigned long long v;
    char *end;

    if (text == NULL) {
        return otherwise;
    }
    errno = 0;
    v = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || *text == '-' || v == 0 || v > max) {
        fprintf(stderr, "%s is \"%s\": set it to a number from 1 to %llu\n", variable, text, (unsigned long long)max);
        exit(2);
    }
    return v;
}

struct seeds seeds_of_test(uint64_t first, unsigned n)
{
    struct seeds s = {.first = number_of("FGPU_TEST_SEED", first, UINT64_MAX / 2),
                      .n = (unsigned)number_of("FGPU_TEST_SEEDS", n, 100000000)};

    s.end = s.first + s.n;
    return s;
}
