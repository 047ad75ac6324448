#include "base/quantity.h"

#include "base/compiler.h"
#include "base/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_ROWS_MIN = 5000, COLUMNS = 6 };
enum column { INPUT, ACCEPTED, CAPPED, VALUE, MILLI, NANO };

static int hex_value(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* "\xNN" back to bytes, in place. */
static struct str unescape(char *text, size_t n)
{
    size_t to = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\\') {
            assert_true(i + 3 < n && text[i + 1] == 'x');
            text[to++] = (char)(hex_value(text[i + 2]) * 16 + hex_value(text[i + 3]));
            i += 3;
        } else {
            text[to++] = text[i];
        }
    }
    return (struct str){text, to};
}

static __int128 read_integer(struct str s)
{
    bool negative = str_starts(s, STR("-"));
    __int128 v = 0;
    for (size_t i = negative; i < s.n; i++) {
        assert_in_range(s.p[i], '0', '9');
        v = v * 10 + (s.p[i] - '0');
    }
    return negative ? -v : v;
}

static __int128 away_from_zero(__int128 v, __int128 by)
{
    return v < 0 ? -((-v + by - 1) / by) : (v + by - 1) / by;
}

static void check_numbers(const char *row, struct quantity q, const struct str column[COLUMNS])
{
    __int128 nano = read_integer(column[NANO]);
    __int128 value = away_from_zero(nano, 1000000000);
    __int128 milli = away_from_zero(nano, 1000000);
    expect_row(row, q.nano == nano);
    expect_row(row, quantity_value(q) == value);
    expect_row(row, quantity_is_integer(q) == (nano == value * 1000000000));
    int64_t got = -4711;
    bool fits = milli >= INT64_MIN && milli <= INT64_MAX;
    expect_row(row, quantity_milli(q, &got) == fits);
    expect_row(row, got == (fits ? (int64_t)milli : -4711));
    expect_row(row, str_eq(column[MILLI], STR("-")) == !fits);
    if (nano >= 0) { /* below zero upstream's own answers are not always what it documents */
        expect_row(row, quantity_value(q) == read_integer(column[VALUE]));
        expect_row(row, !fits || got == read_integer(column[MILLI]));
    }
}

static void check_row(char *line, size_t n)
{
    char row[80];
    snprintf(row, sizeof(row), "%s", line);
    struct str column[COLUMNS];
    struct str rest = {line, n};
    for (size_t i = 0; i < COLUMNS; i++) {
        expect_row(row, str_split(&rest, '\t', &column[i]));
    }
    expect_row(row, rest.p == NULL);
    bool accepted = str_eq(column[ACCEPTED], STR("yes"));
    bool capped = str_eq(column[CAPPED], STR("yes"));
    expect_row(row, accepted || str_eq(column[ACCEPTED], STR("no")));

    struct quantity q = {.nano = 4711};
    enum quantity_error got = quantity_parse(unescape(line, column[INPUT].n), &q);
    enum quantity_error want = !accepted ? QUANTITY_MALFORMED : capped ? QUANTITY_TOO_LARGE : QUANTITY_OK;
    if (got != want) {
        fail_msg("row '%s': got %d, want %d", row, got, want);
    }
    if (want == QUANTITY_OK) {
        check_numbers(row, q, column);
    } else {
        expect_row(row, q.nano == 4711);
    }
}

static void quantity_parse__upstream_table__every_row_agrees(void **state)
{
    static const char path[] = FGPU_TEST_DATA "/quantity/table.tsv";
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fail_msg("%s: cannot be opened", path);
        return;
    }
    char *line = NULL;
    size_t room = 0;
    size_t rows = 0;
    ssize_t n;
    while ((n = getline(&line, &room, file)) > 0) {
        assert_int_equal(line[n - 1], '\n');
        line[n - 1] = '\0';
        if (line[0] != '#') {
            check_row(line, (size_t)n - 1);
            rows++;
        }
    }
    assert_false(ferror(file));
    fclose(file);
    free(line);
    assert_true(rows >= TABLE_ROWS_MIN);
}

static void quantity_parse__exponent_beyond_32_bits__no_wrap(void **state)
{
    static const struct {
        const char *text;
        enum quantity_error error;
        int64_t nano;
    } rows[] = {
        {"1e4294967296", QUANTITY_TOO_LARGE, 0}, /* upstream: 1 */
        {"1e2147483648", QUANTITY_TOO_LARGE, 0},          {"1e9223372036854775807", QUANTITY_TOO_LARGE, 0},
        {"1e9223372036854775808", QUANTITY_MALFORMED, 0}, {"1e-4294967290", QUANTITY_OK, 1}, /* upstream: a million */
        {"-1e-9223372036854775808", QUANTITY_OK, -1},     {"1e-9223372036854775809", QUANTITY_MALFORMED, 0},
        {"0e9223372036854775807", QUANTITY_OK, 0},        {"0.00e-9223372036854775808", QUANTITY_OK, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct quantity q = {.nano = 0};
        expect_row(rows[i].text, quantity_parse(str_of(rows[i].text), &q) == rows[i].error);
        expect_row(rows[i].text, q.nano == rows[i].nano);
    }
}

static void quantity_parse__null_view__malformed(void **state)
{
    struct quantity q;
    assert_int_equal(quantity_parse(STR_NULL, &q), QUANTITY_MALFORMED);
}

/* The view ends where it ends, whatever stands behind it. */
static void quantity_parse__part_of_a_text__only_that_part(void **state)
{
    struct quantity q;
    assert_int_equal(quantity_parse((struct str){"15Gi", 2}, &q), QUANTITY_OK);
    assert_int_equal(quantity_value(q), 15);
    assert_int_equal(quantity_parse((struct str){"15Gi", 3}, &q), QUANTITY_OK);
    assert_int_equal(quantity_value(q), 15000000000);
}

static void quantity_is_integer__table__as_stated(void **state)
{
    static const struct {
        const char *text;
        bool integer;
    } rows[] = {{"1k", true},    {"1e3", true},   {"2.0", true}, {"500m", false}, {"1000m", true}, {"-2", true},
                {"-0.5", false}, {"0.5Ki", true}, {"1n", false}, {"0", true},     {"0m", true}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct quantity q;
        expect_row(rows[i].text, quantity_parse(str_of(rows[i].text), &q) == QUANTITY_OK);
        expect_row(rows[i].text, quantity_is_integer(q) == rows[i].integer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantity_parse__upstream_table__every_row_agrees),
        cmocka_unit_test(quantity_parse__exponent_beyond_32_bits__no_wrap),
        cmocka_unit_test(quantity_parse__null_view__malformed),
        cmocka_unit_test(quantity_parse__part_of_a_text__only_that_part),
        cmocka_unit_test(quantity_is_integer__table__as_stated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
