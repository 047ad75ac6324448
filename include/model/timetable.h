/* model/timetable.h - time windows and the clocks of the places they are told in: plain facts.
 *
 * What they mean is computed by core/time/timetable.h. Times are unix seconds (UTC, without leap
 * seconds). Text and arrays belong to the arena of the configuration they came from.
 */
#ifndef MODEL_TIMETABLE_H
#define MODEL_TIMETABLE_H

#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

#define DAY_S 86400
#define DAY_MIN 1440

/* From `at_s` on, until the next one, the clock shows unix time plus `offset_s`. */
struct zone_transition {
    int64_t at_s;
    int32_t offset_s;
};

/* No clock on earth is further from UTC (RFC 9636, 3.2: utoff). */
#define ZONE_OFFSET_MAX_S (26 * 3600)

struct time_zone {
    struct str name;                           /* "Europe/Berlin" */
    int32_t first_offset_s;                    /* before the first transition */
    const struct zone_transition *transitions; /* in ascending order, no two at one moment */
    size_t transition_n;
};

#define WEEKDAYS_ALL 0x7f

/* On each of `days`: from `from_min` on that day until `to_min`, of the next day where that is not
 * later. */
struct time_window {
    struct str name;
    uint32_t days;    /* bit 0 is Monday; the day on which it begins */
    int32_t from_min; /* minutes since midnight by the clock on the wall, 0..1439 */
    int32_t to_min;   /* 1..1440 */
    const struct time_zone *zone;
};

#define TIMETABLE_WINDOWS_MAX 32

/* In the order of the file: where two windows that are open say different things, the later one
 * holds. */
struct timetable {
    const struct time_window *windows;
    size_t window_n; /* at most TIMETABLE_WINDOWS_MAX */
};

#endif
