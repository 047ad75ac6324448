/* base/err.h - the error object.
 *
 * A function that can fail returns 0 or a negative error code and takes `struct err *reterr` last:
 *
 *     return err_set(reterr, ERR_PARSE, "annotation %s: not a number", key);
 *     return err_wrap(reterr, r, "node %s", name);        // "node a: annotation x: not a number"
 *
 * `reterr` may be NULL ("I only care whether"). Success leaves it untouched. The object is a plain struct
 * on the caller's stack: reporting cannot fail and there is nothing to release. A text that does not fit is
 * cut and ends in "...".
 *
 * The set of codes is small because each code is a decision (retry, refuse, report): a new code needs a
 * new decision.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/compiler.h"

enum err_code {
    ERR_OK = 0,
    ERR_INVALID,     /* well-formed but not acceptable                       */
    ERR_PARSE,       /* malformed                                            */
    ERR_LIMIT,       /* larger than a limit of ours                          */
    ERR_NOT_FOUND,   /* absent                                               */
    ERR_CONFLICT,    /* lost a race; the state is not what the caller assumed */
    ERR_EXPIRED,     /* resourceVersion too old: list again                  */
    ERR_DENIED,      /* 401, 403                                             */
    ERR_UNAVAILABLE, /* try again later                                      */
    ERR_TIMEOUT,     /* no answer in time: the outcome is not known          */
    ERR_CANCELLED,   /* we are stopping                                      */
    ERR_INTERNAL,    /* the machine failed us (thread, socket, file)         */
    ERR__MAX
};

#define ERR_MSG_MAX 512

struct err {
    enum err_code code;
    char msg[ERR_MSG_MAX];
};

/* Fills `reterr` (if not NULL) and returns -code. `code` is not ERR_OK. */
int err_set(struct err *reterr, enum err_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Puts "text: " before the message of `reterr`, keeps its code and returns `r` unchanged. */
int err_wrap(struct err *reterr, int r, const char *fmt, ...) PRINTF_LIKE(3, 4);

#endif
