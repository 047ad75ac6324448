/* Seen by the analysers of scripts/check-static only, before every file but src/base/err.c: what they need to know
 * of functions whose body is in another file. */
#include "base/err.h"

/* Failing never returns 0. */
#define err_set(reterr, code, ...) (err_set((reterr), (code), __VA_ARGS__), -1)
/* Returns its second argument. */
#define err_wrap(reterr, r, ...)                                                                                       \
    ({                                                                                                                 \
        int r_ = (r);                                                                                                  \
        err_wrap((reterr), r_, __VA_ARGS__);                                                                           \
        r_;                                                                                                            \
    })
