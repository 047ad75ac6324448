/* base/quantity.h - Kubernetes resource quantities, exact.
 *
 * Grammar (apimachinery pkg/api/resource): <sign?><digits with at most one point><suffix>, suffix one of
 * n u m "" k M G T P E, Ki Mi Gi Ti Pi Ei, or an exponent e/E with a signed integer. No blanks, ASCII only.
 * As upstream, the digits may be missing where its fast path reads the number: "+", ".", "Ki" and "m" are
 * 0, but "Pi" and "e-10" are malformed. Upstream rounds what is finer than a nano up (away from zero);
 * above 2^63-1 it silently caps (binary suffixes) or wraps (the others). We keep the rounding and refuse the
 * rest: an amount that nobody can mean is an error, not the largest number.
 * Checked against a table generated with the upstream package (test/data/quantity).
 *
 * The value is kept in nano units as a signed 128-bit integer; |value| <= (2^63-1) * 10^9.
 */
#ifndef BASE_QUANTITY_H
#define BASE_QUANTITY_H

#include "base/compiler.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct quantity {
    __int128 nano;
};

enum quantity_error {
    QUANTITY_OK = 0,
    QUANTITY_MALFORMED, /* not in the grammar */
    QUANTITY_TOO_LARGE, /* magnitude above 2^63-1 */
};

WARN_UNUSED enum quantity_error quantity_parse(struct str s, struct quantity *ret);

/* Upstream's Value(): the integer, fractions rounded up (away from zero). Always fits. */
int64_t quantity_value(struct quantity q);
/* Upstream's MilliValue(): thousandths, rounded up; false when it does not fit 64 bits. */
bool quantity_milli(struct quantity q, int64_t *ret);
/* No fraction: "1k", "1e3", "2.0" are integers, "500m" is not. */
bool quantity_is_integer(struct quantity q);

#endif
