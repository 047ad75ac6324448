/* Times of day, days of the week and time zones, as time windows tell them. */
#include "config/schema_internal.h"

#include "base/bug.h"
#include "base/compiler.h"
#include "config/zone.h"

#include <string.h>

static const char *const day_words[] = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};

static void refuse(struct decode *c, const struct yaml_doc_node *n, const char *expected)
{
    struct str word = diagnostics_word(c->d, n->text);

    config_decode_error(c, n, "'%.*s' is not %s", STR_ARG(word), expected);
}

/* hh:mm, both digits written. */
static bool read_time(struct str s, int32_t *ret)
{
    uint64_t h, m;

    if (s.n != 5 || s.p[2] != ':' || !str_to_u64((struct str){s.p, 2}, 24, &h) ||
        !str_to_u64(str_drop(s, 3), 59, &m) || (h == 24 && m > 0)) {
        return false;
    }
    *ret = (int32_t)(h * 60 + m);
    return true;
}

static void decode_time(struct decode *c, const struct schema_field *f,
                        const struct yaml_doc_node *n, char *at)
{
    int32_t t;

    if (read_time(n->text, &t)) {
        t = t == 0 && f->min > 0 ? DAY_MIN : t; /* what ends at midnight ends with the day */
        if (t <= f->max) {
            memcpy(at, &t, sizeof(t));
            return;
        }
    }
    refuse(c, n, daytime_accepts(f));
}

static bool read_day(struct str s, uint32_t *ret)
{
    for (uint32_t i = 0; i < ARRAY_LEN(day_words); i++) {
        if (str_eq_cstr(s, day_words[i])) {
            *ret = i;
            return true;
        }
    }
    return false;
}

static void decode_days(struct decode *c, const struct schema_field *f,
                        const struct yaml_doc_node *n, char *at)
{
    struct str rest = n->text, first;
    uint32_t from, to, days = 0;

    if (!str_split(&rest, '-', &first) || !read_day(first, &from) ||
        (rest.p != NULL && !read_day(rest, &to))) {
        refuse(c, n, daytime_accepts(f));
        return;
    }
    to = rest.p != NULL ? to : from;
    for (uint32_t day = from;; day = (day + 1) % 7) { /* fri-mon goes over the weekend */
        days |= UINT32_C(1) << day;
        if (day == to) {
            break;
        }
    }
    memcpy(at, &days, sizeof(days));
}

static void decode_zone(struct decode *c, const struct yaml_doc_node *n, char *at)
{
    struct time_zone *zone = ARENA_NEW(c->arena, struct time_zone);
    struct str word = diagnostics_word(c->d, n->text);
    struct err err;

    if (zone == NULL) {
        return; /* the arena remembers */
    }
    if (zone_load(ZONE_DIR, n->text, c->arena, zone, &err) != 0) {
        config_decode_error(c, n, "'%.*s': %s", STR_ARG(word), err.msg);
        return;
    }
    memcpy(at, &zone, sizeof(zone));
}

void daytime_decode(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n,
                    void *base)
{
    char *at = (char *)base + f->offset;

    if (f->type == SCHEMA_TIME) {
        decode_time(c, f, n, at);
    } else if (f->type == SCHEMA_DAYS) {
        decode_days(c, f, n, at);
    } else {
        decode_zone(c, n, at);
    }
}

static void format_days(uint32_t days, struct strbuf *out)
{
    uint32_t first = 0, n = 0;

    for (uint32_t i = 0; i < 7; i++) {
        bool in = (days >> i & 1) != 0, before = (days >> ((i + 6) % 7) & 1) != 0;

        n += in;
        first = in && !before ? i : first;
    }
    strbuf_add_cstr(out, day_words[first]);
    if (n > 1) {
        strbuf_addf(out, "-%s", day_words[(first + n - 1) % 7]);
    }
}

void daytime_format(const struct schema_field *f, const void *base, struct strbuf *out)
{
    const char *at = (const char *)base + f->offset;
    const struct time_zone *zone;
    uint32_t days;
    int32_t t;

    if (f->type == SCHEMA_TIME) {
        memcpy(&t, at, sizeof(t));
        strbuf_addf(out, "%02d:%02d", t / 60, t % 60);
    } else if (f->type == SCHEMA_DAYS) {
        memcpy(&days, at, sizeof(days));
        format_days(days, out);
    } else {
        memcpy(&zone, at, sizeof(zone));
        BUG_ON(zone == NULL); /* a required key */
        strbuf_add_str(out, zone->name);
    }
}

const char *daytime_accepts(const struct schema_field *f)
{
    if (f->type == SCHEMA_TIME) {
        return f->min > 0 ? "a time such as 08:00, 00:01 to 24:00"
                          : "a time such as 20:00, 00:00 to 23:59";
    }
    return f->type == SCHEMA_DAYS ? "a day or days such as sat or mon-fri"
                                  : "a time zone such as Europe/Berlin";
}
