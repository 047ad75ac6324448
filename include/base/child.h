/* base/child.h - one run of another program, and how it ended.
 *
 * No shell. The program gets our environment with some variables replaced, an empty standard input
 * and no other descriptor of ours, in a process group of its own with the usual signal handling.
 * What it prints is kept up to a bound (the rest ends it or is dropped), of its error output the end. Whatever happens,
 * when the call returns the whole process group has been killed and the child was reaped: nothing goes on in the
 * background.
 */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/strbuf.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CHILD_WORDS_MAX 4096 /* of its error output, the latest bytes */

struct child {
    char *const *argv; /* NULL-terminated; argv[0] is looked for in PATH unless it has a '/' */
    char *const *env;  /* "NAME=value", NULL-terminated; in the place of ours. NULL: none */
    size_t output_max; /* bytes; a program that prints more is ended, or, with `drops_excess`, goes on */
    bool drops_excess; /* what is printed beyond the bound is read and dropped: how the program ends decides */
};

/* Text may be secret: child_end_fini wipes it. */
struct child_end {
    struct strbuf output;
    uint64_t dropped; /* bytes beyond the bound, as far as they were read; 0 unless `drops_excess` */
    int status;       /* as of waitpid */
    char words[CHILD_WORDS_MAX];
    size_t words_n;
};

/* Runs it and waits, for a thread that has time. `cancel` (may be NULL) becoming true ends it soon.
 * 0: it ended by itself, in whatever way; `ret` is the caller's to end, and only then.
 *   ERR_NOT_FOUND  it cannot be started      ERR_TIMEOUT, ERR_CANCELLED
 *   ERR_LIMIT      it printed too much       ERR_INTERNAL  no pipe */
WARN_UNUSED int child_run(const struct child *c, int64_t timeout_ms, const atomic_bool *cancel, struct child_end *ret,
                          struct err *reterr);
void child_end_fini(struct child_end *e);

/* 0 when it ended with exit code 0; else ERR_UNAVAILABLE with the code or signal and the end of its
 * error output as one printable line, without words long enough to be a secret. */
WARN_UNUSED int child_end_judge(const struct child_end *e, struct err *reterr);

#endif
