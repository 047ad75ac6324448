/* extender/seldom.h - what may be said about one object, so that a tenant who edits it a thousand times cannot fill the
 * log. About one object once in SELDOM_OBJECT_MS, about all of them SELDOM_ALL_N times in SELDOM_ALL_MS. What is held
 * back is not lost: whoever asks counts it elsewhere. Thread-safe; the lock is its own. */
#ifndef EXTENDER_SELDOM_H
#define EXTENDER_SELDOM_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

#define SELDOM_OBJECT_MS 600000
#define SELDOM_ALL_MS 60000
#define SELDOM_ALL_N 30

struct seldom;

struct seldom *seldom_new(void);
void seldom_free(struct seldom *s); /* NULL is fine */

/* May something be said about this object (its uid) at this monotonic time? Then it counts as said. */
bool seldom_may_say(struct seldom *s, struct str object, int64_t now_ns);

#endif
