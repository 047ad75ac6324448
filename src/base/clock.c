/* base/clock.c - the system clock, the manual clock, RFC 3339 text. */
#include "base/clock.h"

#include "base/bug.h"

#include <string.h>
#include <time.h>

static int64_t read_clock_ns(clockid_t id)
{
    struct timespec ts;
    BUG_ON(clock_gettime(id, &ts) != 0);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int64_t system_mono_ns(void *ctx)
{
    (void)ctx;
    return read_clock_ns(CLOCK_MONOTONIC);
}

static int64_t system_wall_ms(void *ctx)
{
    (void)ctx;
    return read_clock_ns(CLOCK_REALTIME) / 1000000;
}

const struct clock *clock_system(void)
{
    static const struct clock system_clock = {
        .mono_ns = system_mono_ns,
        .wall_ms = system_wall_ms,
    };
    return &system_clock;
}

static int64_t manual_mono_ns(void *ctx)
{
    const struct clock_manual *m = ctx;
    return __atomic_load_n(&m->mono_ns, __ATOMIC_RELAXED);
}

static int64_t manual_wall_ms(void *ctx)
{
    const struct clock_manual *m = ctx;
    return __atomic_load_n(&m->wall_ms, __ATOMIC_RELAXED);
}

void clock_manual_init(struct clock_manual *m, int64_t mono_ns, int64_t wall_ms)
{
    *m = (struct clock_manual){
        .clock = {.mono_ns = manual_mono_ns, .wall_ms = manual_wall_ms, .ctx = m},
        .mono_ns = mono_ns,
        .wall_ms = wall_ms,
    };
}

void clock_manual_advance_ms(struct clock_manual *m, int64_t ms)
{
    __atomic_fetch_add(&m->mono_ns, ms * 1000000, __ATOMIC_RELAXED);
    __atomic_fetch_add(&m->wall_ms, ms, __ATOMIC_RELAXED);
}

static int64_t shifted_wall_ms(void *ctx)
{
    const struct clock_shifted *s = ctx;
    return system_wall_ms(NULL) + __atomic_load_n(&s->shift_ms, __ATOMIC_RELAXED);
}

void clock_shifted_init(struct clock_shifted *s)
{
    *s = (struct clock_shifted){.clock = {.mono_ns = system_mono_ns, .wall_ms = shifted_wall_ms, .ctx = s}};
}

void clock_shifted_set(struct clock_shifted *s, int64_t wall_ms)
{
    __atomic_store_n(&s->shift_ms, wall_ms - system_wall_ms(NULL), __ATOMIC_RELAXED);
}

enum { DAYS_PER_400_YEARS = 146097, DAYS_PER_100_YEARS = 36524, DAYS_PER_4_YEARS = 1461 };

struct date {
    unsigned year, month, day;
};

/* Years are counted from 1 March, so that the leap day is the last of its year and of every longer
 * period; each division below then needs only the correction for that last day. */
static struct date date_of_days(unsigned days_since_1970)
{
    enum { DAYS_0000_03_01_TO_1970 = 719468 };
    unsigned days = days_since_1970 + DAYS_0000_03_01_TO_1970;
    unsigned q = days / DAYS_PER_400_YEARS;
    days %= DAYS_PER_400_YEARS;
    unsigned c = days / DAYS_PER_100_YEARS;
    c = c < 4 ? c : 3;
    days -= c * DAYS_PER_100_YEARS;
    unsigned f = days / DAYS_PER_4_YEARS;
    days %= DAYS_PER_4_YEARS;
    unsigned y = days / 365;
    y = y < 4 ? y : 3;
    days -= y * 365;

    static const unsigned char MONTH_DAYS[] = {31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 31, 29};
    unsigned m = 0;
    while (days >= MONTH_DAYS[m]) {
        days -= MONTH_DAYS[m];
        m++;
    }
    return (struct date){
        .year = 400 * q + 100 * c + 4 * f + y + (m >= 10), /* January and February */
        .month = m < 10 ? m + 3 : m - 9,
        .day = days + 1,
    };
}

static void put_digits(char *to, size_t n, unsigned v)
{
    for (; n > 0; v /= 10) {
        to[--n] = (char)('0' + v % 10);
    }
}

char *clock_rfc3339(int64_t wall_ms, char buf[CLOCK_RFC3339_MAX])
{
    const int64_t LAST_MS = 253402300799999; /* 9999-12-31T23:59:59.999Z */
    const int64_t DAY_MS = 86400000;
    wall_ms = wall_ms < 0 ? 0 : wall_ms > LAST_MS ? LAST_MS : wall_ms;
    struct date d = date_of_days((unsigned)(wall_ms / DAY_MS));
    unsigned ms = (unsigned)(wall_ms % DAY_MS);
    memcpy(buf, "0000-00-00T00:00:00.000Z", sizeof("0000-00-00T00:00:00.000Z"));
    put_digits(buf, 4, d.year);
    put_digits(buf + 5, 2, d.month);
    put_digits(buf + 8, 2, d.day);
    put_digits(buf + 11, 2, ms / 3600000);
    put_digits(buf + 14, 2, ms / 60000 % 60);
    put_digits(buf + 17, 2, ms / 1000 % 60);
    put_digits(buf + 20, 3, ms % 1000);
    return buf;
}
