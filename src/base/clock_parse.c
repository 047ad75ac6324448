/* base/clock_parse.c - RFC 3339 text to wall time. */
#include "base/clock.h"

#include <time.h>

struct cursor {
    struct str rest;
    bool ok;
};

static unsigned number(struct cursor *c, size_t digits, unsigned min, unsigned max)
{
    uint64_t v = 0;
    struct str text = {c->rest.p, digits};
    c->ok = c->ok && c->rest.n >= digits && str_to_u64(text, max, &v) && v >= min;
    c->rest = str_drop(c->rest, digits);
    return (unsigned)v;
}

static char any_of(struct cursor *c, const char *chars)
{
    for (const char *p = chars; c->rest.n > 0 && *p != '\0'; p++) {
        if (c->rest.p[0] == *p) {
            c->rest = str_drop(c->rest, 1);
            return *p;
        }
    }
    c->ok = false;
    return '\0';
}

static int64_t date_ms(struct cursor *c)
{
    struct tm tm = {0};
    tm.tm_year = (int)number(c, 4, 1970, 9999) - 1900;
    any_of(c, "-");
    tm.tm_mon = (int)number(c, 2, 1, 12) - 1;
    any_of(c, "-");
    const int day = (int)number(c, 2, 1, 31);
    tm.tm_mday = day;
    const int64_t s = timegm(&tm);
    c->ok = c->ok && tm.tm_mday == day; /* 30 February has become another day */
    return s * 1000;
}

static int64_t fraction_ms(struct cursor *c)
{
    int64_t ms = 0, unit = 100;
    if (c->rest.n == 0 || c->rest.p[0] != '.') {
        return 0;
    }
    c->rest = str_drop(c->rest, 1);
    size_t n = 0;
    for (; c->rest.n > 0 && c->rest.p[0] >= '0' && c->rest.p[0] <= '9'; n++) {
        ms += (c->rest.p[0] - '0') * unit;
        unit /= 10;
        c->rest = str_drop(c->rest, 1);
    }
    c->ok = c->ok && n > 0;
    return ms;
}

static int64_t time_ms(struct cursor *c)
{
    int64_t ms = (int64_t)number(c, 2, 0, 23) * 3600000;
    any_of(c, ":");
    ms += (int64_t)number(c, 2, 0, 59) * 60000;
    any_of(c, ":");
    ms += (int64_t)number(c, 2, 0, 60) * 1000; /* a leap second counts into the next minute */
    return ms + fraction_ms(c);
}

static int64_t offset_ms(struct cursor *c)
{
    char sign = any_of(c, "Zz+-");
    if (sign == 'Z' || sign == 'z' || sign == '\0') {
        return 0;
    }
    int64_t ms = (int64_t)number(c, 2, 0, 23) * 3600000;
    any_of(c, ":");
    ms += (int64_t)number(c, 2, 0, 59) * 60000;
    return sign == '+' ? ms : -ms;
}

bool clock_rfc3339_parse(struct str text, int64_t *ret_wall_ms)
{
    struct cursor c = {text, true};
    int64_t ms = date_ms(&c);
    any_of(&c, "Tt");
    ms += time_ms(&c);
    ms -= offset_ms(&c);
    if (!c.ok || c.rest.n > 0) {
        return false;
    }
    *ret_wall_ms = ms;
    return true;
}
