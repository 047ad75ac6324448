/* base/clock.c - the system clock, the manual clock, RFC 3339 text. */
#include "base/clock.h"

#include "base/bug.h"

#include <stdio.h>
#include <time.h>

static int64_t read_clock_ns(clockid_t id)
{
    struct timespec ts;
    BUG_ON(clock_gettime(id, &ts) != 0);
    return (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static int64_t system_mono_ns(void *ctx)
{
    (void)ctx;
    return read_clock_ns(CLOCK_MONOTONIC);
}

static int64_t system_wall_ms(void *ctx)
{
    (void)ctx;
    return read_clock_ns(CLOCK_REALTIME) / NS_PER_MS;
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
    __atomic_fetch_add(&m->mono_ns, ms * NS_PER_MS, __ATOMIC_RELAXED);
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

char *clock_rfc3339(int64_t wall_ms, char buf[CLOCK_RFC3339_MAX])
{
    const int64_t LAST_MS = 253402300799999; /* 9999-12-31T23:59:59.999Z */
    wall_ms = wall_ms < 0 ? 0 : wall_ms > LAST_MS ? LAST_MS : wall_ms;
    const time_t s = (time_t)(wall_ms / 1000);
    struct tm tm;
    BUG_ON(gmtime_r(&s, &tm) == NULL);
    const size_t n = strftime(buf, CLOCK_RFC3339_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(buf + n, CLOCK_RFC3339_MAX - n, ".%03dZ", (int)(wall_ms % 1000));
    return buf;
}
