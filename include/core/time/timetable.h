/* core/time/timetable.h - which time windows are open at a moment, and when that changes next: pure
 * functions of the timetable and the time.
 *
 * Windows are told by the clock on the wall, which jumps twice a year in many places. One rule
 * turns what it shows into a moment: **the first moment at which it shows that time or a later
 * one.** So
 *   - a time that is skipped (02:30 when the clock goes from 02:00 to 03:00) is the moment of the
 * jump;
 *   - a time that comes twice (02:30 when it goes from 03:00 back to 02:00) is the first of the
 * two;
 *   - windows that follow each other on the wall (..-02:30, 02:30-..) follow each other in time,
 * without a gap and without being open together, on those days too;
 *   - a window that lies within a skipped hour does not happen on that day;
 *   - 20:00-08:00 lasts 11 or 13 hours in those nights.
 *
 * Nothing is remembered: after a restart, a suspended machine or a corrected clock the answer is
 * what the time says.
 */
#ifndef CORE_TIME_TIMETABLE_H
#define CORE_TIME_TIMETABLE_H

#include "model/timetable.h"

#include <stdbool.h>
#include <stdint.h>

/* Seconds that the clock of `z` is ahead of UTC. */
int32_t zone_offset(const struct time_zone *z, int64_t t_s);
/* The moment of the rule above. `wall_s`: seconds since 1970-01-01 00:00 as the clock on the wall
 * counts. */
int64_t zone_moment(const struct time_zone *z, int64_t wall_s);

/* Bit i: window i is open. */
uint32_t timetable_open(const struct timetable *tt, int64_t t_s);

struct timetable_change {
    int64_t at_s;
    uint32_t open; /* from then on */
};

/* Further ahead nothing is looked for. Every window comes each week, so what a timetable will do
 * shows within it; a window that a jump of the clock eats may come later. */
#define TIMETABLE_HORIZON_S (9 * DAY_S)

/* The first change after t_s, within the horizon; false: none. */
bool timetable_next(const struct timetable *tt, int64_t t_s, struct timetable_change *ret);

#endif
