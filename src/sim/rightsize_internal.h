/* sim/rightsize_internal.h - between the parts of sim/rightsize.h. */
#ifndef SIM_RIGHTSIZE_INTERNAL_H
#define SIM_RIGHTSIZE_INTERNAL_H

#include "sim/rightsize.h"

/* The uses of `r` in that order of pointers to them, in the arena. NULL: the arena is full. */
struct rightsize_use **rightsize_sorted(const struct rightsize *r, int (*compare)(const void *, const void *),
                                        size_t *ret_n);

/* Leaves in `r` each container once for each of its GPUs, and of idle GPUs what the newest document of each node says.
 * False: the arena is full. */
WARN_UNUSED bool rightsize_keep_newest(struct rightsize *r);

#endif
