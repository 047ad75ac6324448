/* Times of day, days of the week and time zones, as time windows tell them. */
#include "config/scalar_internal.h"

#include "base/bug.h"
#include "base/compiler.h"
#include "config/zone.h"

static const char *const day_words[] = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};

static void refuse(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n)
{
    struct str word = diagnostics_word(c->d, n->text);
    struct strbuf expected;

    strbuf_init(&expected, SCALAR_BYTES_MAX);
    scalar_accepts(f, &expected);
    config_decode_error(c, n, "'%.*s' is not %s", STR_ARG(word), expected.p);
    strbuf_fini(&expected);
}

/* hh:mm, both digits written. */
static bool read_time(struct str s, int32_t *ret)
{
    uint64_t h, m;

    if (s.n != 5 || s.p[2] != ':' || !str_to_u64((struct str){s.p, 2}, 24, &h) || !str_to_u64(str_drop(s, 3), 59, &m) ||
        (h == 24 && m > 0)) {
        return false;
    }
    *ret = (int32_t)(h * 60 + m);
    return true;
}

void time_decode(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n, void *base)
{
    int32_t t;

    if (read_time(n->text, &t)) {
        t = t == 0 && f->min > 0 ? DAY_MIN : t; /* what ends at midnight ends with the day */
        if (t <= f->max) {
            scalar_store(f, base, &t);
            return;
        }
    }
    refuse(c, f, n);
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

void days_decode(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n, void *base)
{
    struct str rest = n->text, first;
    uint32_t from, to, days = 0;

    if (!str_split(&rest, '-', &first) || !read_day(first, &from) || (rest.p != NULL && !read_day(rest, &to))) {
        refuse(c, f, n);
        return;
    }
    to = rest.p != NULL ? to : from;
    for (uint32_t day = from;; day = (day + 1) % 7) { /* fri-mon goes over the weekend */
        days |= UINT32_C(1) << day;
        if (day == to) {
            break;
        }
    }
    scalar_store(f, base, &days);
}

void zone_decode(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n, void *base)
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
    scalar_store(f, base, &zone);
}

void time_format(const struct schema_field *f, const void *base, struct strbuf *out)
{
    int32_t t;

    scalar_load(f, base, &t);
    strbuf_addf(out, "%02d:%02d", t / 60, t % 60);
}

void time_accepts(const struct schema_field *f, struct strbuf *out)
{
    strbuf_add_cstr(out, f->min > 0 ? "a time such as 08:00, 00:01 to 24:00" : "a time such as 20:00, 00:00 to 23:59");
}

void days_format(const struct schema_field *f, const void *base, struct strbuf *out)
{
    uint32_t days, first = 0, n = 0;

    scalar_load(f, base, &days);
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

void zone_format(const struct schema_field *f, const void *base, struct strbuf *out)
{
    const struct time_zone *zone;

    scalar_load(f, base, &zone);
    BUG_ON(zone == NULL); /* a required key */
    strbuf_add_str(out, zone->name);
}
