/* fuzz.h - what every fuzz target includes.
 *
 * A target is one file fuzz_<target>.c with LLVMFuzzerTestOneInput: any bytes in, a property
 * checked, nothing kept between inputs. A broken property ends the process, as a sanitizer does.
 * The same file is linked with libFuzzer (scripts/fuzz) and with replay.c (every test run).
 *
 * What a target decides at random it takes from its input, so that an input alone reproduces a run.
 */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include "base/compiler.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Called once per input; returns 0. `data` is exactly `size` bytes of the heap. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

NORETURN void fuzz_fail(const char *file, int line, const char *text);
/* As above with two texts that should be equal. */
NORETURN void fuzz_differ(const char *file, int line, const char *text, struct str a, struct str b);

#define FUZZ_CHECK(cond)                                                                                               \
    do {                                                                                                               \
        if (!(cond)) {                                                                                                 \
            fuzz_fail(__FILE__, __LINE__, "not true: " #cond);                                                         \
        }                                                                                                              \
    } while (0)
#define FUZZ_SAME(a, b)                                                                                                \
    do {                                                                                                               \
        struct str a_ = (a), b_ = (b);                                                                                 \
        if (!str_eq(a_, b_)) {                                                                                         \
            fuzz_differ(__FILE__, __LINE__, #a " differs from " #b, a_, b_);                                           \
        }                                                                                                              \
    } while (0)
/* For functions that return NULL or a sentence about what is wrong. */
#define FUZZ_SOUND(sentence)                                                                                           \
    do {                                                                                                               \
        const char *why_ = (sentence);                                                                                 \
        if (why_ != NULL) {                                                                                            \
            fuzz_fail(__FILE__, __LINE__, why_);                                                                       \
        }                                                                                                              \
    } while (0)

/* An input that is eaten from the front. Empty, it gives zeroes. */
struct fuzz_input {
    const uint8_t *p;
    size_t n;
};

uint8_t fuzz_u8(struct fuzz_input *in);
uint32_t fuzz_u32(struct fuzz_input *in);
uint32_t fuzz_below(struct fuzz_input *in, uint32_t n); /* 0..n-1; one byte where that is enough */
bool fuzz_bool(struct fuzz_input *in);
/* Everything up to the next byte `end`, which is eaten too, or to the end. */
struct str fuzz_until(struct fuzz_input *in, char end);
struct str fuzz_rest(const struct fuzz_input *in);

/* True for text that is part of `whole` (same memory), or empty. */
bool fuzz_is_within(struct str part, struct str whole);

#endif
