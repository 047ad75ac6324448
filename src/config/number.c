#include "config/scalar_internal.h"

#include "base/bug.h"
#include "base/quantity.h"

#include <inttypes.h>
#include <string.h>

#define MIB INT64_C(1048576)
#define NANO_PER_PERMILLE INT64_C(100000000)

static const struct {
    const char *unit;
    int64_t ms;
} duration_units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};

static int64_t load_number(const struct schema_field *f, const void *base)
{
    int64_t wide;
    int32_t narrow;

    if (f->scalar->size == sizeof(wide)) {
        scalar_load(f, base, &wide);
        return wide;
    }
    scalar_load(f, base, &narrow);
    return narrow;
}

static void store_number(const struct schema_field *f, void *base, int64_t v)
{
    int32_t narrow = (int32_t)v;

    scalar_store(f, base, f->scalar->size == sizeof(v) ? (const void *)&v : &narrow);
}

/* ---- writing ---- */

void add_duration(struct strbuf *out, int64_t ms)
{
    size_t i = ARRAY_LEN(duration_units) - 1;

    while (i > 0 && ms % duration_units[i].ms != 0) {
        i--;
    }
    i = ms == 0 ? 1 : i;
    strbuf_addf(out, "%" PRId64 "%s", ms / duration_units[i].ms, duration_units[i].unit);
}

void add_factor(struct strbuf *out, int64_t milli)
{
    int64_t fraction = milli % 1000;
    int decimals = 3;

    for (; decimals > 1 && fraction % 10 == 0; decimals--) {
        fraction /= 10;
    }
    strbuf_addf(out, "%" PRId64 ".%0*" PRId64, milli / 1000, decimals, fraction);
}

/* `i`: the suffix of a unit of `v`. */
static void add_quantity(struct strbuf *out, int64_t v, size_t i)
{
    static const char *const suffixes[] = {"", "Ki", "Mi", "Gi", "Ti"};

    for (; v != 0 && v % 1024 == 0 && i + 1 < ARRAY_LEN(suffixes); i++) {
        v /= 1024;
    }
    strbuf_addf(out, "%" PRId64 "%s", v, v != 0 ? suffixes[i] : "");
}

void add_bytes(struct strbuf *out, int64_t bytes)
{
    add_quantity(out, bytes, 0);
}

void add_mib(struct strbuf *out, int64_t mib)
{
    add_quantity(out, mib, 2);
}

void number_format(const struct schema_field *f, const void *base, struct strbuf *out)
{
    f->scalar->add_number(out, load_number(f, base));
}

void int_describe(const struct schema_field *f, const void *base, struct json_writer *w)
{
    json_write_i64(w, load_number(f, base));
}

void number_range(const struct schema_field *f, struct strbuf *out)
{
    f->scalar->add_number(out, f->min);
    strbuf_add_cstr(out, "..");
    f->scalar->add_number(out, f->max);
}

void add_percent(struct strbuf *out, int64_t permille)
{
    strbuf_add_i64(out, permille / 10);
    if (permille % 10 != 0) {
        strbuf_addf(out, ".%" PRId64, permille % 10);
    }
    strbuf_add_char(out, '%');
}

/* What is made of a percentage in a row that takes an amount, too. */
static struct schema_field percent_row(const struct schema_field *f)
{
    return (struct schema_field){SCALAR(SCHEMA_PERCENT), .offset = f->offset2, .max = PERMILLE_MAX, .help = f->help};
}

void mib_or_percent_format(const struct schema_field *f, const void *base, struct strbuf *out)
{
    const struct schema_field percent = percent_row(f);

    number_format(load_number(&percent, base) >= 0 ? &percent : f, base, out);
}

void mib_or_percent_range(const struct schema_field *f, struct strbuf *out)
{
    const struct schema_field percent = percent_row(f);

    number_range(f, out);
    strbuf_add_cstr(out, " or ");
    number_range(&percent, out);
}

/* ---- reading ---- */

static void take_number(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n, int64_t v,
                        void *base)
{
    struct strbuf range;

    if (v >= f->min && v <= f->max) {
        store_number(f, base, v);
        return;
    }
    strbuf_init(&range, 256);
    scalar_accepts(f, &range);
    struct str word = diagnostics_word(c->d, n->text);
    config_decode_error(c, n, "%.*s is out of range %s (%s)", STR_ARG(word), range.p, f->help);
    strbuf_fini(&range);
}

void int_decode(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n, void *base)
{
    struct str word = diagnostics_word(c->d, n->text);
    bool negative = str_starts(n->text, STR("-"));
    struct str digits = str_drop(n->text, negative ? 1 : 0);
    uint64_t v = 0;

    if (digits.n == 0 || str_span(digits, STR_DIGITS) < digits.n) {
        config_decode_error(c, n, "'%.*s' is not a whole number (%s)", STR_ARG(word), f->help);
    } else if (!n->plain) {
        config_decode_error(c, n, "'%.*s' is text here; write the number without quotes", STR_ARG(word));
    } else if (digits.n > 1 && digits.p[0] == '0') {
        config_decode_error(c, n, "%.*s starts with a zero, which some read as octal; remove it", STR_ARG(word));
    } else {
        bool fits = str_to_u64(digits, INT64_MAX, &v);
        take_number(c, f, n, !fits ? INT64_MAX : negative ? -(int64_t)v : (int64_t)v, base);
    }
}

/* One or more <digits><unit>, or 0. False: not in the grammar. A value past any range becomes
 * INT64_MAX. */
static bool parse_duration(struct str s, int64_t *ret_ms)
{
    int64_t sum = 0;
    bool too_large = false;

    if (str_eq_cstr(s, "0")) {
        *ret_ms = 0;
        return true;
    }
    while (s.n > 0) {
        size_t digits = str_span(s, STR_DIGITS), letters = str_span(str_drop(s, digits), STR_LOWER), unit = 0;
        uint64_t v;
        while (unit < ARRAY_LEN(duration_units) &&
               !str_eq_cstr((struct str){s.p + digits, letters}, duration_units[unit].unit)) {
            unit++;
        }
        if (digits == 0 || unit == ARRAY_LEN(duration_units)) {
            return false;
        }
        if (!str_to_u64((struct str){s.p, digits}, INT32_MAX, &v) || sum > INT32_MAX) {
            too_large = true;
        } else {
            sum += (int64_t)v * duration_units[unit].ms;
        }
        s = str_drop(s, digits + letters);
        if (s.n == 0) {
            *ret_ms = too_large ? INT64_MAX : sum;
            return true;
        }
    }
    return false;
}

void duration_decode(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n, void *base)
{
    struct str word = diagnostics_word(c->d, n->text);
    uint64_t bare;
    int64_t ms;

    if (parse_duration(n->text, &ms)) {
        take_number(c, f, n, ms, base);
    } else if (str_to_u64(n->text, INT32_MAX, &bare)) {
        config_decode_error(c, n, "%.*s has no unit; write %.*ss, or %.*sms for milliseconds", STR_ARG(word),
                            STR_ARG(word), STR_ARG(word));
    } else {
        config_decode_error(c, n, "'%.*s' is not a duration such as 500ms, 3s or 1m30s", STR_ARG(word));
    }
}

/* "4GB", "4gi", "4GiB": what was probably meant. Empty: no idea. */
static struct str meant_quantity(struct decode *c, struct str s)
{
    static const char *const wrong[] = {"kib", "mib", "gib", "tib", "ki", "mi", "gi", "ti", "kb", "mb", "gb", "tb"};
    static const char *const right[] = {"Ki", "Mi", "Gi", "Ti"};
    struct quantity q;

    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        size_t suffix_n = strlen(wrong[i]);
        if (s.n > suffix_n && s.n < 40 && str_ieq(str_drop(s, s.n - suffix_n), str_of(wrong[i]))) {
            struct str number = str_trim((struct str){s.p, s.n - suffix_n});
            struct str fixed = arena_printf(c->d->arena, "%.*s%s", STR_ARG(number), right[i % 4]);
            return quantity_parse(fixed, &q) == QUANTITY_OK ? fixed : STR_NULL;
        }
    }
    return STR_NULL;
}

void bytes_decode(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n, void *base)
{
    struct str word = diagnostics_word(c->d, n->text);
    struct quantity q = {0};
    enum quantity_error error = quantity_parse(n->text, &q);

    if (str_span(str_drop(n->text, str_span(n->text, "+-.")), STR_DIGITS) == 0) {
        /* Kubernetes reads a bare "Mi" as 0; a person meant something. */
        error = QUANTITY_MALFORMED;
    }
    switch (error) {
    case QUANTITY_MALFORMED: {
        struct str meant = meant_quantity(c, n->text);
        config_decode_error(c, n, "'%.*s' is not a quantity such as 512Mi or 4Gi%s%.*s%s", STR_ARG(word),
                            meant.n > 0 ? "; did you mean '" : "", STR_ARG(meant), meant.n > 0 ? "'?" : "");
        return;
    }
    case QUANTITY_TOO_LARGE:
        take_number(c, f, n, INT64_MAX, base);
        return;
    case QUANTITY_OK:
        break;
    }
    int64_t bytes = quantity_value(q);
    if (!quantity_is_integer(q)) {
        config_decode_error(c, n, "%.*s is not a whole number of bytes", STR_ARG(word));
    } else if (f->scalar->unit == 1) {
        take_number(c, f, n, bytes, base);
    } else if (bytes % MIB == 0) {
        take_number(c, f, n, bytes / MIB, base);
    } else if (bytes > 0 && bytes < MIB) {
        config_decode_error(c, n, "%.*s is less than one MiB; did you mean '%" PRId64 "Mi'?", STR_ARG(word), bytes);
    } else {
        config_decode_error(c, n, "%.*s is not a multiple of 1Mi; the nearest below is %" PRId64 "Mi", STR_ARG(word),
                            bytes / MIB);
    }
}

void factor_decode(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n, void *base)
{
    struct str word = diagnostics_word(c->d, n->text);
    struct quantity q;
    int64_t milli;

    if (str_span(n->text, STR_DIGITS ".-") < n->text.n || quantity_parse(n->text, &q) != QUANTITY_OK) {
        config_decode_error(c, n, "'%.*s' is not a factor such as 1.0 or 1.25", STR_ARG(word));
    } else if (q.nano % 1000000 != 0) {
        config_decode_error(c, n, "%.*s has more than three decimals", STR_ARG(word));
    } else {
        take_number(c, f, n, quantity_milli(q, &milli) ? milli : INT64_MAX, base);
    }
}

void percent_decode(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n, void *base)
{
    struct str word = diagnostics_word(c->d, n->text), number = n->text;
    bool has_sign = str_ends(number, STR("%"));
    struct quantity q;

    number.n -= has_sign;
    if (number.n == 0 || str_span(number, STR_DIGITS ".") < number.n || quantity_parse(number, &q) != QUANTITY_OK) {
        config_decode_error(c, n, "'%.*s' is not a percentage such as 40%% or 12.5%%", STR_ARG(word));
    } else if (!has_sign) {
        config_decode_error(c, n, "%.*s has no unit; write %.*s%%", STR_ARG(word), STR_ARG(word));
    } else if (q.nano > f->max * NANO_PER_PERMILLE) {
        take_number(c, f, n, INT64_MAX, base);
    } else if (q.nano % NANO_PER_PERMILLE != 0) {
        config_decode_error(c, n, "%.*s has more than one decimal", STR_ARG(word));
    } else {
        take_number(c, f, n, (int64_t)(q.nano / NANO_PER_PERMILLE), base);
    }
}

void mib_or_percent_decode(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n, void *base)
{
    const struct schema_field percent = percent_row(f);

    if (str_ends(n->text, STR("%"))) {
        percent_decode(c, &percent, n, base);
    } else {
        bytes_decode(c, f, n, base);
    }
}
