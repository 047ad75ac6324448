#include "config/zone_internal.h"

#include "model/timetable.h"

#include <stddef.h>
#include <time.h>

/* What is left of the text; every reader takes its part off the front. */
static bool take_char(struct str *s, char c)
{
    if (s->n == 0 || s->p[0] != c) {
        return false;
    }
    *s = str_drop(*s, 1);
    return true;
}

static bool take_number(struct str *s, int32_t min, int32_t max, int32_t *ret)
{
    size_t n = str_span(*s, STR_DIGITS);
    uint64_t v;

    if (!str_to_u64((struct str){s->p, n}, (uint64_t)max, &v) || (int32_t)v < min) {
        return false;
    }
    *s = str_drop(*s, n);
    *ret = (int32_t)v;
    return true;
}

/* A name in letters, or anything in angle brackets; at least three characters. */
static bool take_name(struct str *s)
{
    size_t n = 0;

    if (take_char(s, '<')) {
        while (n < s->n && s->p[n] != '>') {
            n++;
        }
        if (n < 3 || n == s->n) {
            return false;
        }
        *s = str_drop(*s, n + 1);
        return true;
    }
    while (n < s->n && ((s->p[n] | 0x20) >= 'a' && (s->p[n] | 0x20) <= 'z')) {
        n++;
    }
    *s = str_drop(*s, n);
    return n >= 3;
}

/* [+-]hh[:mm[:ss]] in seconds. */
static bool take_time(struct str *s, int32_t hours_max, int32_t *ret)
{
    int32_t h, m = 0, sec = 0, sign = 1;

    if (take_char(s, '-')) {
        sign = -1;
    } else {
        (void)take_char(s, '+');
    }
    if (!take_number(s, 0, hours_max, &h) || (take_char(s, ':') && !take_number(s, 0, 59, &m)) ||
        (take_char(s, ':') && !take_number(s, 0, 59, &sec))) {
        return false;
    }
    *ret = sign * (h * 3600 + m * 60 + sec);
    return true;
}

static bool take_day(struct str *s, struct zone_rule_day *ret)
{
    *ret = (struct zone_rule_day){.time_s = 7200};
    if (take_char(s, 'M')) {
        ret->kind = ZONE_DAY_MONTH_WEEK;
        if (!take_number(s, 1, 12, &ret->month) || !take_char(s, '.') || !take_number(s, 1, 5, &ret->week) ||
            !take_char(s, '.') || !take_number(s, 0, 6, &ret->weekday)) {
            return false;
        }
    } else if (take_char(s, 'J')) {
        ret->kind = ZONE_DAY_JULIAN;
        if (!take_number(s, 1, 365, &ret->day)) {
            return false;
        }
    } else {
        ret->kind = ZONE_DAY_OF_YEAR;
        if (!take_number(s, 0, 365, &ret->day)) {
            return false;
        }
    }
    return !take_char(s, '/') || take_time(s, 167, &ret->time_s);
}

bool zone_rule_parse(struct str text, struct zone_rule *ret)
{
    struct zone_rule r = {0};
    int32_t behind_s;

    /* POSIX counts west of Greenwich as positive. */
    if (!take_name(&text) || !take_time(&text, 24, &behind_s)) {
        return false;
    }
    r.standard_s = -behind_s;
    if (text.n > 0) {
        r.has_daylight = true;
        r.daylight_s = r.standard_s + 3600;
        if (!take_name(&text)) {
            return false;
        }
        if (text.n > 0 && text.p[0] != ',') {
            if (!take_time(&text, 24, &behind_s)) {
                return false;
            }
            r.daylight_s = -behind_s;
        }
        if (!take_char(&text, ',') || !take_day(&text, &r.begin) || !take_char(&text, ',') ||
            !take_day(&text, &r.end) || text.n > 0) {
            return false;
        }
    }
    *ret = r;
    return true;
}

/* Since 1970-01-01. The 32nd of a month is a day of the next one, month 13 is in the next year. */
static int64_t day_of(int32_t year, int32_t month, int32_t day)
{
    struct tm tm = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day};

    return timegm(&tm) / DAY_S;
}

static int64_t day_in(const struct zone_rule_day *d, int32_t year)
{
    int64_t first, day;

    switch (d->kind) {
    case ZONE_DAY_JULIAN:
        return d->day < 60 ? day_of(year, 1, d->day) : day_of(year, 3, d->day - 59);
    case ZONE_DAY_OF_YEAR:
        return day_of(year, 1, d->day + 1);
    case ZONE_DAY_MONTH_WEEK:
        break;
    }
    first = day_of(year, d->month, 1);
    /* 1970-01-01 was a Thursday, 4 from Sunday. */
    day = first + ((d->weekday - (first + 4)) % 7 + 7) % 7 + 7 * (d->week - 1);
    return day < day_of(year, d->month + 1, 1) ? day : day - 7;
}

void zone_rule_year(const struct zone_rule *r, int32_t year, int64_t *ret_begin_s, int64_t *ret_end_s)
{
    *ret_begin_s = day_in(&r->begin, year) * DAY_S + r->begin.time_s - r->standard_s;
    *ret_end_s = day_in(&r->end, year) * DAY_S + r->end.time_s - r->daylight_s;
}
