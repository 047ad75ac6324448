/* Quantities: the three readings of a value agree with its nano units, and writing a value in other
 * ways gives the same value. */
#include "fuzz.h"

#include "base/quantity.h"
#include "base/strbuf.h"

#define NANO INT64_C(1000000000)

static __int128 divide_away_from_zero(__int128 v, int64_t by)
{
    return v >= 0 ? (v + by - 1) / by : -((-v + by - 1) / by);
}

static void add_digits(struct strbuf *out, __int128 v)
{
    char digits[48];
    size_t at = sizeof(digits);

    if (v < 0) {
        strbuf_add_char(out, '-');
        v = -v;
    }
    do {
        digits[--at] = (char)('0' + (int)(v % 10));
        v /= 10;
    } while (v > 0);
    strbuf_add(out, digits + at, sizeof(digits) - at);
}

static void check_readings(struct quantity q)
{
    const __int128 max = (__int128)INT64_MAX * NANO;
    __int128 milli = divide_away_from_zero(q.nano, NANO / 1000);
    int64_t got = 17;
    bool fits = milli <= INT64_MAX && milli >= INT64_MIN;

    FUZZ_CHECK(q.nano <= max && q.nano >= -max);
    FUZZ_CHECK(quantity_value(q) == divide_away_from_zero(q.nano, NANO));
    FUZZ_CHECK(quantity_milli(q, &got) == fits);
    FUZZ_CHECK(got == (fits ? (int64_t)milli : 17));
    FUZZ_CHECK(quantity_is_integer(q) == (q.nano % NANO == 0));
}

/* The text with something before and behind it. */
static enum quantity_error parse(struct strbuf *b, const char *before, struct str s, const char *after, __int128 *ret)
{
    struct quantity q = {.nano = 0};
    enum quantity_error e;

    strbuf_reset(b);
    strbuf_add_cstr(b, before);
    strbuf_add_str(b, s);
    strbuf_add_cstr(b, after);
    e = quantity_parse(strbuf_view(b), &q);
    *ret = q.nano;
    return e;
}

static bool is_digits(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9') {
            return false;
        }
    }
    return s.n > 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    struct quantity q = {.nano = 0}, again;
    enum quantity_error e = quantity_parse(text, &q), other;
    struct strbuf b;
    __int128 nano;

    strbuf_init(&b, 1 << 20);
    if (e == QUANTITY_OK) {
        check_readings(q);
        add_digits(&b, q.nano);
        strbuf_add_char(&b, 'n');
        FUZZ_CHECK(quantity_parse(strbuf_view(&b), &again) == QUANTITY_OK && again.nano == q.nano);
    }
    if (size > 0 && text.p[0] >= '0' && text.p[0] <= '9') {
        FUZZ_CHECK(parse(&b, "-", text, "", &nano) == e && nano == -q.nano);
        FUZZ_CHECK(parse(&b, "+", text, "", &nano) == e && nano == q.nano);
        FUZZ_CHECK(parse(&b, "0", text, "", &nano) == e && nano == q.nano);
        FUZZ_CHECK(parse(&b, "", text, " ", &nano) == QUANTITY_MALFORMED);
    }
    if (is_digits(text)) {
        other = parse(&b, "", text, "k", &nano);
        FUZZ_CHECK(other == QUANTITY_OK ? nano == q.nano * 1000 : other == QUANTITY_TOO_LARGE);
        FUZZ_CHECK(parse(&b, "", text, "e3", &q.nano) == other && q.nano == nano);
        FUZZ_CHECK(parse(&b, "", text, ".000k", &q.nano) == other && q.nano == nano);
    }
    strbuf_fini(&b);
    return 0;
}
