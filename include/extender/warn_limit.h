/* extender/warn_limit.h - warnings that somebody outside can cause, at a bounded rate (design.md 3.1.8).
 *
 * The same cause at the same object is told once, then at most once in WARN_AGAIN_S. Everything together is told at
 * most WARN_BURST times at once and WARN_PER_MINUTE times a minute, whoever makes up objects to be warned of. The table
 * is bounded: an entry that is pushed out is as if it had never been told, which the common limit bears.
 *
 * May be called from any thread. A NULL limit lets everything through.
 */
#ifndef EXTENDER_WARN_LIMIT_H
#define EXTENDER_WARN_LIMIT_H

#include "base/clock.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

#define WARN_AGAIN_S 600
#define WARN_BURST 20
#define WARN_PER_MINUTE 20

struct warn_limit;

struct warn_limit *warn_limit_new(const struct clock *clock);
void warn_limit_free(struct warn_limit *w); /* NULL is fine */

/* Whether to tell it now. `object` identifies (a uid, the name of a node), `cause` is static text. *ret_withheld:
 * warnings of whatever kind that were not told because of the common limit, since the last one that was. */
bool warn_limit_take(struct warn_limit *w, struct str object, const char *cause, uint64_t *ret_withheld);

#endif
