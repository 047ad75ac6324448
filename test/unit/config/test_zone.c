/* Time zones of the system, and files that are none. The oracle is libc. */
#include "config/zone.h"

#include "base/compiler.h"
#include "base/rng.h"
#include "config/support/unit.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ARENA_BYTES (64 * 1024 * 1024)

static int32_t offset_at(const struct time_zone *z, int64_t t_s)
{
    int32_t offset_s = z->first_offset_s;

    for (size_t i = 0; i < z->transition_n && z->transitions[i].at_s <= t_s; i++) {
        offset_s = z->transitions[i].offset_s;
    }
    return offset_s;
}

static int32_t offset_by_libc(int64_t t_s)
{
    time_t t = (time_t)t_s;
    struct tm tm;

    assert_non_null(localtime_r(&t, &tm));
    return (int32_t)tm.tm_gmtoff;
}

static void expect_same(const struct time_zone *z, int64_t t_s)
{
    if (offset_at(z, t_s) != offset_by_libc(t_s)) {
        fail_msg("%.*s at %lld: %d, libc says %d", STR_ARG(z->name), (long long)t_s, offset_at(z, t_s),
                 offset_by_libc(t_s));
    }
}

static void zone__of_the_system__offsets_as_libc_tells_them(void **state)
{
    static const char *const names[] = {"Europe/Berlin", "America/New_York",  "Australia/Lord_Howe", "Pacific/Apia",
                                        "Europe/Dublin", "Africa/Casablanca", "America/Sao_Paulo",   "Asia/Kolkata",
                                        "Etc/GMT+5",     "America/Nuuk",      "Asia/Jerusalem",      "Antarctica/Troll",
                                        "EST5EDT",       "Asia/Tokyo",        "America/St_Johns"};
    const int64_t from_s = 0, until_s = INT64_C(7258118400); /* 1970 to 2200 */
    struct rng rng;

    rng_init(&rng, 7);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct time_zone z;
        struct arena a;
        struct err err;

        arena_init(&a, ARENA_BYTES);
        if (zone_load(ZONE_DIR, str_of(names[i]), &a, &z, &err) != 0) {
            fail_msg("%s: %s", names[i], err.msg);
        }
        assert_int_equal(setenv("TZ", names[i], 1), 0);
        tzset();
        for (size_t j = 0; j < z.transition_n; j++) {
            if (z.transitions[j].at_s > from_s) {
                expect_same(&z, z.transitions[j].at_s);
                expect_same(&z, z.transitions[j].at_s - 1);
            }
            assert_true(j == 0 || z.transitions[j - 1].at_s < z.transitions[j].at_s);
        }
        for (size_t j = 0; j < 2000; j++) {
            expect_same(&z, from_s + (int64_t)rng_below(&rng, (uint64_t)(until_s - from_s)));
        }
        arena_fini(&a);
    }
}

static void zone__utc__needs_no_database(void **state)
{
    struct time_zone z;
    struct arena a;

    arena_init(&a, ARENA_BYTES);
    assert_int_equal(zone_load("/nowhere", STR("UTC"), &a, &z, NULL), 0);
    assert_int_equal(z.first_offset_s, 0);
    assert_int_equal(z.transition_n, 0);
    arena_fini(&a);
}

static void zone__names_that_are_none__are_refused_with_the_remedy(void **state)
{
    static const struct {
        const char *name;
        int want;
        const char *says;
    } rows[] = {
        {"", -ERR_INVALID, "not a name"},
        {"../../etc/passwd", -ERR_INVALID, "not a name"},
        {"/etc/localtime", -ERR_INVALID, "not a name"},
        {"Europe//Berlin", -ERR_INVALID, "not a name"},
        {"Europe/", -ERR_INVALID, "not a name"},
        {"Europe/Berln", -ERR_NOT_FOUND, "tzdata"},
        {"tzdata.zi", -ERR_INVALID, "not a name"},
        {"Europe", -ERR_INTERNAL, "directory"},
        {"leapseconds", -ERR_PARSE, "not a TZif"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct time_zone z;
        struct arena a;
        struct err err;

        arena_init(&a, ARENA_BYTES);
        assert_int_equal(zone_load(ZONE_DIR, str_of(rows[i].name), &a, &z, &err), rows[i].want);
        if (strstr(err.msg, rows[i].says) == NULL) {
            fail_msg("%s: %s", rows[i].name, err.msg);
        }
        arena_fini(&a);
    }
}

/* ---- files made here ---- */

static void add_number(struct strbuf *b, uint64_t v, size_t bytes)
{
    for (size_t i = bytes; i-- > 0;) {
        strbuf_add_char(b, (char)(v >> (8 * i)));
    }
}

/* As zic writes "slim": an empty first part, one type, no transitions, all in the footer. */
static void make_slim(struct strbuf *b, int32_t offset_s, const char *footer)
{
    for (int part = 0; part < 2; part++) {
        strbuf_add(b, "TZif2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
        add_number(b, 0, 4);
        add_number(b, 0, 4);
        add_number(b, 0, 4);
        add_number(b, 0, 4); /* times */
        add_number(b, 1, 4); /* types */
        add_number(b, 4, 4); /* characters */
        add_number(b, (uint32_t)offset_s, 4);
        strbuf_add(b, "\0\0LMT\0", 6);
    }
    strbuf_addf(b, "\n%s\n", footer);
}

static int parse(struct str bytes, struct time_zone *ret, struct arena *a, struct err *err)
{
    return zone_parse(STR("X/Y"), bytes, a, ret, err);
}

static void zone__slim_file__the_footer_speaks_for_all_years(void **state)
{
    static const struct {
        const char *footer;
        int64_t at_s;
        int32_t want_s;
    } rows[] = {
        {"CET-1CEST,M3.5.0,M10.5.0/3", 1774745999, 3600},
        {"CET-1CEST,M3.5.0,M10.5.0/3", 1774746000, 7200},
        {"CET-1CEST,M3.5.0,M10.5.0/3", 1792889999, 7200},
        {"CET-1CEST,M3.5.0,M10.5.0/3", 1792890000, 3600},
        {"CET-1CEST,M3.5.0,M10.5.0/3", INT64_C(4110296400) + 86400 * 3, 7200}, /* 2100 */
        {"IST-1GMT0,M10.5.0,M3.5.0/1", 1774746000, 3600},                      /* Dublin: standard time in summer */
        {"IST-1GMT0,M10.5.0,M3.5.0/1", 1774745999, 0},
        {"NZST-12NZDT,M9.5.0,M4.1.0/3", 1767225600, 46800},   /* January: summer */
        {"<-0330>3:30<-0230>,J60/0,J300", 1772335800, -9000}, /* March 1 00:00 */
        {"<-0330>3:30<-0230>,J60/0,J300", 1772335799, -12600},
        {"<-0330>3:30<-0230>,59/0,299", 1772335800, -9000},     /* the same day in a year that is not leap */
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 1774745999, -7200}, /* Nuuk: hours before midnight */
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 1774746000, -3600},
        {"<+0545>-5:45", 1774746000, 20700},
        {"", 1774746000, 777},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct strbuf b;
        struct time_zone z;
        struct arena a;
        struct err err;

        arena_init(&a, ARENA_BYTES);
        strbuf_init(&b, 65536);
        make_slim(&b, 777, rows[i].footer);
        if (parse(strbuf_view(&b), &z, &a, &err) != 0) {
            fail_msg("row %zu: %s", i, err.msg);
        }
        if (offset_at(&z, rows[i].at_s) != rows[i].want_s) {
            fail_msg("row %zu, %s: %d, not %d", i, rows[i].footer, offset_at(&z, rows[i].at_s), rows[i].want_s);
        }
        strbuf_fini(&b);
        arena_fini(&a);
    }
}

static void zone__footers_that_are_no_rules__are_refused(void **state)
{
    static const char *const rows[] = {"CE-1",
                                       "CET",
                                       "CET-25",
                                       "CET-1CEST",
                                       "CET-1CEST,M3.5.0",
                                       "CET-1CEST,M13.5.0,M10.5.0",
                                       "CET-1CEST,M3.6.0,M10.5.0",
                                       "CET-1CEST,M3.5.7,M10.5.0",
                                       "CET-1CEST,J0,J300",
                                       "CET-1CEST,M3.5.0/168,M10.5.0",
                                       "CET-1CEST,M3.5.0,M10.5.0x",
                                       "<CET-1"};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct strbuf b;
        struct time_zone z;
        struct arena a;
        struct err err;

        arena_init(&a, ARENA_BYTES);
        strbuf_init(&b, 65536);
        make_slim(&b, 0, rows[i]);
        if (parse(strbuf_view(&b), &z, &a, &err) != -ERR_PARSE) {
            fail_msg("\"%s\" was accepted", rows[i]);
        }
        strbuf_fini(&b);
        arena_fini(&a);
    }
}

static void zone__cut_or_damaged_files__are_refused_or_read_within_bounds(void **state)
{
    struct strbuf whole;
    struct rng rng;

    strbuf_init(&whole, 65536);
    unit_read(ZONE_DIR "/Europe/Berlin", &whole);
    for (size_t n = 0; n < whole.n; n++) {
        char *copy = malloc(n + 1); /* of just this size, so that a sanitizer sees one byte too many */
        struct time_zone z;
        struct arena a;

        assert_non_null(copy);
        memcpy(copy, whole.p, n);
        arena_init(&a, ARENA_BYTES);
        assert_int_equal(parse((struct str){copy, n}, &z, &a, NULL), -ERR_PARSE);
        arena_fini(&a);
        free(copy);
    }
    rng_init(&rng, 11);
    for (size_t i = 0; i < 3000; i++) {
        size_t at = (size_t)rng_below(&rng, whole.n);
        char before = whole.p[at];
        struct time_zone z;
        struct arena a;

        whole.p[at] = (char)rng_u64(&rng);
        arena_init(&a, ARENA_BYTES);
        if (parse(strbuf_view(&whole), &z, &a, NULL) == 0) {
            for (size_t j = 0; j < z.transition_n; j++) {
                assert_true(j == 0 || z.transitions[j - 1].at_s < z.transitions[j].at_s);
                assert_in_range(z.transitions[j].offset_s + ZONE_OFFSET_MAX_S, 0, 2 * ZONE_OFFSET_MAX_S);
            }
        }
        arena_fini(&a);
        whole.p[at] = before;
    }
    strbuf_fini(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zone__of_the_system__offsets_as_libc_tells_them),
        cmocka_unit_test(zone__utc__needs_no_database),
        cmocka_unit_test(zone__names_that_are_none__are_refused_with_the_remedy),
        cmocka_unit_test(zone__slim_file__the_footer_speaks_for_all_years),
        cmocka_unit_test(zone__footers_that_are_no_rules__are_refused),
        cmocka_unit_test(zone__cut_or_damaged_files__are_refused_or_read_within_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
