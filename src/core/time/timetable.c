#include "core/time/timetable.h"

#include "base/bug.h"
#include "base/order.h"

#include <stdlib.h>

/* Around the day that the wall shows now, windows that began on these days may be open. Two days
 * back, because a zone that changes sides of the date line jumps over a whole one. */
enum { DAYS_BACK = 2, DAYS_AHEAD = 1 };

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* ---- zones ---- */

/* How many transitions have happened at t_s. */
static size_t transitions_until(const struct time_zone *z, int64_t t_s)
{
    size_t low = 0, high = z->transition_n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (z->transitions[middle].at_s <= t_s) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static int32_t offset_after(const struct time_zone *z, size_t transitions)
{
    return transitions == 0 ? z->first_offset_s : z->transitions[transitions - 1].offset_s;
}

int32_t zone_offset(const struct time_zone *z, int64_t t_s)
{
    return offset_after(z, transitions_until(z, t_s));
}

int64_t zone_moment(const struct time_zone *z, int64_t wall_s)
{
    /* Before this moment no clock can have shown it. */
    size_t i = transitions_until(z, wall_s - ZONE_OFFSET_MAX_S);

    for (;; i++) {
        int64_t at_s = wall_s - offset_after(z, i);

        if (i > 0 && at_s < z->transitions[i - 1].at_s) {
            at_s = z->transitions[i - 1].at_s; /* skipped: the jump */
        }
        if (i == z->transition_n || at_s < z->transitions[i].at_s) {
            return at_s;
        }
    }
}

/* ---- windows ---- */

/* 1970-01-01 was a Thursday. */
static bool is_on(const struct time_window *w, int64_t day)
{
    int64_t weekday = (day + 3) - 7 * floor_div(day + 3, 7);

    return (w->days >> weekday & 1) != 0;
}

static int64_t begin_of(const struct time_window *w, int64_t day)
{
    return zone_moment(w->zone, day * DAY_S + INT64_C(60) * w->from_min);
}

static int64_t end_of(const struct time_window *w, int64_t day)
{
    int64_t end_day = w->to_min <= w->from_min ? day + 1 : day;

    return zone_moment(w->zone, end_day * DAY_S + INT64_C(60) * w->to_min);
}

static int64_t day_of(const struct time_window *w, int64_t t_s)
{
    return floor_div(t_s + zone_offset(w->zone, t_s), DAY_S);
}

static bool is_open(const struct time_window *w, int64_t t_s)
{
    int64_t today = day_of(w, t_s);

    for (int64_t day = today - DAYS_BACK; day <= today + DAYS_AHEAD; day++) {
        if (is_on(w, day) && begin_of(w, day) <= t_s && t_s < end_of(w, day)) {
            return true;
        }
    }
    return false;
}

uint32_t timetable_open(const struct timetable *tt, int64_t t_s)
{
    uint32_t open = 0;

    BUG_ON(tt->window_n > TIMETABLE_WINDOWS_MAX);
    for (size_t i = 0; i < tt->window_n; i++) {
        open |= (uint32_t)is_open(&tt->windows[i], t_s) << i;
    }
    return open;
}

/* ---- the next change ---- */

/* Beginnings and ends that lie ahead: a change can be nowhere else. */
struct moments {
    int64_t at_s[TIMETABLE_WINDOWS_MAX * 2 * (DAYS_BACK + TIMETABLE_HORIZON_S / DAY_S + DAYS_AHEAD + 1)];
    size_t n;
};

static void add_moment(struct moments *m, int64_t at_s, int64_t after_s)
{
    if (at_s > after_s && at_s <= after_s + TIMETABLE_HORIZON_S) {
        BUG_ON(m->n == sizeof(m->at_s) / sizeof(m->at_s[0]));
        m->at_s[m->n++] = at_s;
    }
}

static int in_time(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return ORDER(*x, *y);
}

bool timetable_next(const struct timetable *tt, int64_t t_s, struct timetable_change *ret)
{
    uint32_t now = timetable_open(tt, t_s);
    struct moments m;

    m.n = 0;
    for (size_t i = 0; i < tt->window_n; i++) {
        const struct time_window *w = &tt->windows[i];
        int64_t today = day_of(w, t_s);

        for (int64_t day = today - DAYS_BACK; day <= today + TIMETABLE_HORIZON_S / DAY_S + DAYS_AHEAD; day++) {
            if (is_on(w, day)) {
                add_moment(&m, begin_of(w, day), t_s);
                add_moment(&m, end_of(w, day), t_s);
            }
        }
    }
    qsort(m.at_s, m.n, sizeof(m.at_s[0]), in_time);
    for (size_t i = 0; i < m.n; i++) {
        uint32_t open = timetable_open(tt, m.at_s[i]);

        if (open != now) {
            *ret = (struct timetable_change){m.at_s[i], open};
            return true;
        }
    }
    return false;
}
