/* base/bug.h - the impossible.
 *
 * Three kinds of failure never mix: a *bug* (this header) ends the process, in release builds too; an
 * *error* (base/err.h) is reported to the caller; a *verdict* ("does not fit") is an ordinary value.
 * The ledger is rebuilt from the API server within seconds, so stopping on a broken assumption is always
 * better than handing out a GPU on top of one.
 */
#ifndef BASE_BUG_H
#define BASE_BUG_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>

/* Prints "BUG file:line: text" to stderr and aborts. */
NORETURN void bug_at(const char *file, int line, const char *text);

#define BUG_ON(cond)                                                                                                   \
    do {                                                                                                               \
        if (__builtin_expect(!!(cond), 0)) {                                                                           \
            bug_at(__FILE__, __LINE__, #cond);                                                                         \
        }                                                                                                              \
    } while (0)

/* For code that cannot be reached: the end of a switch that names every value of its enum. */
#define BUG(text) bug_at(__FILE__, __LINE__, text)

/* malloc family for growth of our own tables: out of memory ends the process with a message. Growth that
 * input drives uses a capped arena (base/arena.h) instead. A size of 0 gives a unique pointer. */
void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
void *xreallocarray(void *p, size_t n, size_t size);

#endif
