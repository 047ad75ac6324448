/* base/quantity.c - Kubernetes quantities. Upstream: k8s.io/apimachinery/pkg/api/resource/quantity.go. */
#include "base/quantity.h"

#include <stddef.h>
#include <string.h>

typedef unsigned __int128 u128; /* only to keep the casts below readable */

#define NANO_PER_UNIT 1000000000U
#define NANO_MAX ((u128)INT64_MAX * NANO_PER_UNIT)

/* The text in pieces. `whole` has no leading zeros and may be empty; so may `fraction`. */
struct pieces {
    bool negative;
    bool any_digit; /* "Ki" and "." have none */
    struct str whole, fraction;
    int64_t exp10; /* of the suffix; 0 with a binary one */
    unsigned bits; /* 10 for Ki ... 60 for Ei, else 0 */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static struct str take_digits(struct str *rest)
{
    size_t n = 0;
    while (n < rest->n && is_digit(rest->p[n])) {
        n++;
    }
    struct str digits = {rest->p, n};
    *rest = str_drop(*rest, n);
    return digits;
}

/* The integer behind e or E, as upstream's ParseInt: what does not fit 64 bits is malformed. */
static bool parse_exponent(struct str s, int64_t *ret)
{
    bool negative = s.n > 0 && s.p[0] == '-';
    if (s.n > 0 && (s.p[0] == '-' || s.p[0] == '+')) {
        s = str_drop(s, 1);
    }
    uint64_t v;
    if (!str_to_u64(s, (uint64_t)INT64_MAX + negative, &v)) {
        return false;
    }
    /* Far beyond any text that fits in memory; keeps the sums below from overflowing. */
    const uint64_t FAR = (uint64_t)1 << 60;
    int64_t e = (int64_t)(v < FAR ? v : FAR);
    *ret = negative ? -e : e;
    return true;
}

static bool parse_suffix(struct str s, struct pieces *p)
{
    static const struct {
        char name;
        signed char exp10;
        unsigned char bits; /* of the form with 'i'; 0: there is none */
    } SUFFIXES[] = {
        {'n', -9, 0}, {'u', -6, 0}, {'m', -3, 0},  {'k', 3, 0},   {'K', 0, 10},
        {'M', 6, 20}, {'G', 9, 30}, {'T', 12, 40}, {'P', 15, 50}, {'E', 18, 60},
    };
    if (s.n == 0) {
        return true;
    }
    bool binary = s.n == 2 && s.p[1] == 'i';
    if (s.n > 1 && !binary) {
        return (s.p[0] == 'e' || s.p[0] == 'E') && parse_exponent(str_drop(s, 1), &p->exp10);
    }
    for (size_t i = 0; i < sizeof(SUFFIXES) / sizeof(SUFFIXES[0]); i++) {
        if (SUFFIXES[i].name == s.p[0]) {
            p->exp10 = binary ? 0 : SUFFIXES[i].exp10;
            p->bits = binary ? SUFFIXES[i].bits : 0;
            return binary ? SUFFIXES[i].bits > 0 : SUFFIXES[i].exp10 != 0;
        }
    }
    return false;
}

static bool split(struct str s, struct pieces *p)
{
    if (s.n == 0) {
        return false;
    }
    *p = (struct pieces){.negative = s.p[0] == '-'};
    if (s.p[0] == '-' || s.p[0] == '+') {
        s = str_drop(s, 1);
        p->any_digit = s.n == 0; /* upstream reads a lone sign as 0 */
    }
    p->whole = take_digits(&s);
    p->any_digit |= p->whole.n > 0;
    while (p->whole.n > 0 && p->whole.p[0] == '0') {
        p->whole = str_drop(p->whole, 1);
    }
    if (s.n > 0 && s.p[0] == '.') {
        s = str_drop(s, 1);
        p->fraction = take_digits(&s);
        p->any_digit |= p->fraction.n > 0;
    }
    if (!parse_suffix(s, p)) {
        return false;
    }
    /* Upstream takes a text without digits for 0, except where its slow path reads the number. */
    return p->any_digit || (p->bits < 50 && p->exp10 >= -9);
}

/* Reading digits into a number that saturates: everything above NANO_MAX is "too large" alike. */
static u128 add_digit(u128 v, char digit)
{
    return v > NANO_MAX ? v : v * 10 + (unsigned)(digit - '0');
}

static bool any_nonzero(struct str digits)
{
    for (size_t i = 0; i < digits.n; i++) {
        if (digits.p[i] != '0') {
            return true;
        }
    }
    return false;
}

/* whole.fraction * 10^exp10 in nano units, rounded up, or something above NANO_MAX. */
static u128 decimal_nano(const struct pieces *p)
{
    /* The digits, read as one integer, count units of 10^shift nano. */
    int64_t shift = p->exp10 + 9 - (int64_t)p->fraction.n;
    size_t digit_n = p->whole.n + p->fraction.n;
    size_t cut = shift >= 0 ? 0 : (uint64_t)-shift < digit_n ? (size_t)-shift : digit_n;
    size_t kept = digit_n - cut;

    u128 v = 0;
    for (size_t i = 0; i < kept; i++) {
        v = add_digit(v, i < p->whole.n ? p->whole.p[i] : p->fraction.p[i - p->whole.n]);
    }
    for (; shift > 0 && v > 0 && v <= NANO_MAX; shift--) {
        v *= 10;
    }
    size_t whole_kept = kept < p->whole.n ? kept : p->whole.n;
    bool inexact = any_nonzero(str_drop(p->whole, whole_kept)) || any_nonzero(str_drop(p->fraction, kept - whole_kept));
    return v + inexact;
}

/* whole.fraction * 2^bits in nano units, rounded up, or something above NANO_MAX. */
static u128 binary_nano(const struct pieces *p)
{
    u128 whole = 0;
    for (size_t i = 0; i < p->whole.n; i++) {
        whole = add_digit(whole, p->whole.p[i]);
    }
    if (whole > (u128)INT64_MAX >> p->bits) {
        return NANO_MAX + 1;
    }
    /* Long multiplication of the decimals behind the ninth, from the right: the carry arrives at the
     * nanos, and a digit left of it that is not 0 means that the product is not exact. */
    uint64_t carry = 0;
    bool inexact = false;
    for (size_t i = p->fraction.n; i > 9; i--) {
        uint64_t digit = (uint64_t)(p->fraction.p[i - 1] - '0');
        uint64_t product = (digit << p->bits) + carry; /* < 10 * 2^60 */
        inexact |= product % 10 != 0;
        carry = product / 10;
    }
    u128 fraction = 0;
    for (size_t i = 0; i < 9; i++) {
        fraction = add_digit(fraction, i < p->fraction.n ? p->fraction.p[i] : '0');
    }
    return (whole << p->bits) * NANO_PER_UNIT + (fraction << p->bits) + carry + inexact;
}

enum quantity_error quantity_parse(struct str s, struct quantity *ret)
{
    struct pieces p;
    if (!split(s, &p)) {
        return QUANTITY_MALFORMED;
    }
    u128 nano = p.bits > 0 ? binary_nano(&p) : decimal_nano(&p);
    if (nano > NANO_MAX) {
        return QUANTITY_TOO_LARGE;
    }
    ret->nano = p.negative ? -(__int128)nano : (__int128)nano;
    return QUANTITY_OK;
}

static __int128 divide_away_from_zero(__int128 v, int64_t by)
{
    __int128 quotient = v / by;
    if (v % by != 0) {
        quotient += v > 0 ? 1 : -1;
    }
    return quotient;
}

int64_t quantity_value(struct quantity q)
{
    return (int64_t)divide_away_from_zero(q.nano, NANO_PER_UNIT);
}

bool quantity_milli(struct quantity q, int64_t *ret)
{
    __int128 milli = divide_away_from_zero(q.nano, NANO_PER_UNIT / 1000);
    if (milli > INT64_MAX || milli < INT64_MIN) {
        return false;
    }
    *ret = (int64_t)milli;
    return true;
}

bool quantity_is_integer(struct quantity q)
{
    return q.nano % NANO_PER_UNIT == 0;
}
