/* base/clock.h - time as an argument.
 *
 * Drivers own a `struct clock`, read it once per turn and pass the value down; nothing below them reads
 * the clock. Intervals and deadlines are monotonic; wall time is for people and API objects only.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)

struct clock {
    int64_t (*mono_ns)(void *ctx);
    int64_t (*wall_ms)(void *ctx); /* milliseconds since 1970-01-01T00:00:00Z */
    void *ctx;
};

static inline int64_t clock_mono_ns(const struct clock *c)
{
    return c->mono_ns(c->ctx);
}

static inline int64_t clock_wall_ms(const struct clock *c)
{
    return c->wall_ms(c->ctx);
}

const struct clock *clock_system(void);

/* A clock that moves only when told to, for tests and simulation. */
struct clock_manual {
    struct clock clock; /* pass &m.clock */
    int64_t mono_ns;
    int64_t wall_ms;
};
void clock_manual_init(struct clock_manual *m, int64_t mono_ns, int64_t wall_ms);
/* While other threads read it. */
void clock_manual_advance_ms(struct clock_manual *m, int64_t ms);

/* The system's clock whose wall time is another one and goes on from there; for demonstrations and for tests of
 * what happens at certain hours. Intervals are real. May be set while other threads read it. */
struct clock_shifted {
    struct clock clock; /* pass &s.clock */
    int64_t shift_ms;
};
void clock_shifted_init(struct clock_shifted *s);
void clock_shifted_set(struct clock_shifted *s, int64_t wall_ms);

#define CLOCK_RFC3339_MAX 32
/* "2026-11-20T08:00:00.123Z", UTC, years 1970 to 9999. Returns buf. */
char *clock_rfc3339(int64_t wall_ms, char buf[CLOCK_RFC3339_MAX]);
/* Reads "2026-11-20T08:00:00Z", with any number of fractional digits (cut to milliseconds) and any
 * offset, as in API objects; years 1970 to 9999. False: anything else. */
bool clock_rfc3339_parse(struct str text, int64_t *ret_wall_ms);

#endif
