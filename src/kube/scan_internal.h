/* kube/scan_internal.h - finds where a JSON value ends, without checking it.
 *
 * For splitting: pieces are cut here and checked afterwards by the strict reader. Bytes may arrive
 * in any number of calls.
 */
#ifndef KUBE_SCAN_INTERNAL_H
#define KUBE_SCAN_INTERNAL_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_scan {
    uint32_t depth; /* open brackets */
    bool in_string;
    bool escaped; /* the next byte follows a backslash */
};

static inline bool scan_is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Goes on from `at` to just behind the bracket that brings the depth to `floor`; returns that
 * place, or n with the state kept when the text ends before. */
size_t scan_to_depth(struct json_scan *s, const char *p, size_t at, size_t n, uint32_t floor);

/* Goes on with one value that begins with a quote or an opening bracket, at first with a scan that is all zero; returns
 * the place behind it (then depth is 0 and in_string false), or n. */
size_t scan_value(struct json_scan *s, const char *p, size_t at, size_t n);

/* The raw value of `key` in the object `text`, or STR_NULL. Keys are compared as written. */
struct str scan_member(struct str text, struct str key);
/* The same, without its quotes; STR_NULL when it is no string or has escapes. */
struct str scan_member_text(struct str text, struct str key);
/* ERR_PARSE for `why`, with the name of the object in it if it can be found. */
int scan_err_of_object(struct str object, const struct err *why, struct err *reterr);

#endif
