/* core/placement/reason.h - by what the best node of a decision comes before the next one.
 *
 * Pure functions of results as pack_rank() left them and of the parts of two scores.
 */
#ifndef CORE_PLACEMENT_REASON_H
#define CORE_PLACEMENT_REASON_H

#include "core/fit/score_part.h"
#include "core/placement/pack.h"

#include <stddef.h>

/* What pack_rank() compares, in its order. */
enum pack_reason {
    PACK_BY_NONE,    /* there is no next one */
    PACK_BY_DOUBT,   /* a bind would be refused on the next one now, because of an earlier decision for it */
    PACK_BY_PROMISE, /* the next one has no room beside pods that were just promised it */
    PACK_BY_RULE,    /* an earlier packing rule */
    PACK_BY_SLACK,   /* less of a fixed slice is wasted (core/fit/slack.h) */
    PACK_BY_SCORE,
    PACK_BY_NAME, /* they are equal */
    PACK_BY__MAX
};

/* A word for programs: "score". */
const char *pack_reason_name(enum pack_reason r);

/* Both fit, and `best` is ranked before `next`; NULL: nothing else fits. */
enum pack_reason pack_reason(const struct pack_result *best, const struct pack_result *next);

/* One part of both scores; `of.value` means nothing. */
struct reason_part {
    struct score_part of;
    int64_t best, next;
};

/* Parts of the same thing side by side, in the order of their kinds; a part that a node lacks is 0. Of more than
 * REASON_PARTS_MAX those scarce goods whose parts differ least become one, SCORE_PART_GOODS, at the end. So the sums
 * stay what they are. Returns how many. O(n^2) for n parts. */
#define REASON_PARTS_MAX 12
size_t reason_parts(const struct score_part *best, size_t best_n, const struct score_part *next, size_t next_n,
                    struct reason_part ret[REASON_PARTS_MAX]);

#endif
