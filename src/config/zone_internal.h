/* The rule of a TZif footer, in the notation of POSIX TZ (RFC 9636, 3.3.1):
 * "CET-1CEST,M3.5.0,M10.5.0/3". */
#ifndef CONFIG_ZONE_INTERNAL_H
#define CONFIG_ZONE_INTERNAL_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct zone_rule_day {
    enum { ZONE_DAY_MONTH_WEEK, ZONE_DAY_JULIAN, ZONE_DAY_OF_YEAR } kind;
    int32_t month, week, weekday; /* 1..12, 1..5 (5: the last), 0..6 from Sunday */
    int32_t day;                  /* JULIAN: 1..365, February 29 never counted; OF_YEAR: 0..365 */
    int32_t time_s;               /* by the clock that holds until then; may lie days off */
};

struct zone_rule {
    int32_t standard_s; /* ahead of UTC */
    bool has_daylight;
    int32_t daylight_s;
    struct zone_rule_day begin, end; /* of daylight time */
};

/* False: not of this form. */
bool zone_rule_parse(struct str text, struct zone_rule *ret);
/* When daylight time begins and ends in `year`, unix seconds. */
void zone_rule_year(const struct zone_rule *r, int32_t year, int64_t *ret_begin_s, int64_t *ret_end_s);

#endif
