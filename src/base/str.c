/* base/str.c - views of text. */
#include "base/str.h"

#include "base/bug.h"

#include <stdlib.h>
#include <string.h>

struct str str_of(const char *cstr)
{
    return cstr ? (struct str){cstr, strlen(cstr)} : STR_NULL;
}

bool str_eq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

bool str_eq_cstr(struct str a, const char *b)
{
    return str_eq(a, str_of(b));
}

bool str_ieq(struct str a, struct str b)
{
    if (a.n != b.n) {
        return false;
    }
    for (size_t i = 0; i < a.n; i++) {
        if (str_fold(a.p[i]) != str_fold(b.p[i])) {
            return false;
        }
    }
    return true;
}

int str_cmp(struct str a, struct str b)
{
    size_t common = a.n < b.n ? a.n : b.n;
    int order = common > 0 ? memcmp(a.p, b.p, common) : 0;
    if (order != 0) {
        return order;
    }
    return (a.n > b.n) - (a.n < b.n);
}

bool str_starts(struct str s, struct str prefix)
{
    return s.n >= prefix.n && str_eq((struct str){s.p, prefix.n}, prefix);
}

bool str_ends(struct str s, struct str suffix)
{
    return s.n >= suffix.n && str_eq(str_drop(s, s.n - suffix.n), suffix);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct str str_trim(struct str s)
{
    while (s.n > 0 && is_blank(s.p[0])) {
        s = str_drop(s, 1);
    }
    while (s.n > 0 && is_blank(s.p[s.n - 1])) {
        s.n--;
    }
    return s;
}

struct str str_drop(struct str s, size_t n)
{
    if (n > s.n) {
        n = s.n;
    }
    return n > 0 ? (struct str){s.p + n, s.n - n} : s;
}

char *str_dup(struct str s)
{
    char *copy = xmalloc(s.n + 1);

    if (s.n > 0) {
        memcpy(copy, s.p, s.n);
    }
    copy[s.n] = '\0';
    return copy;
}

bool str_to_cstr(struct str s, char *buf, size_t size)
{
    const bool fits = s.n < size && (s.n == 0 || memchr(s.p, '\0', s.n) == NULL);

    buf[0] = '\0';
    if (fits && s.n > 0) {
        memcpy(buf, s.p, s.n);
        buf[s.n] = '\0';
    }
    return fits;
}

struct str str_put(char **at, struct str s)
{
    struct str copy = {*at, s.n};

    if (s.n > 0) {
        memcpy(*at, s.p, s.n);
    }
    *at += s.n;
    return copy;
}

bool str_split(struct str *rest, char sep, struct str *ret_part)
{
    if (rest->p == NULL) {
        return false;
    }
    const char *hit = rest->n > 0 ? memchr(rest->p, sep, rest->n) : NULL;
    if (hit == NULL) {
        *ret_part = *rest;
        *rest = STR_NULL;
        return true;
    }
    size_t part_n = (size_t)(hit - rest->p);
    *ret_part = (struct str){rest->p, part_n};
    *rest = str_drop(*rest, part_n + 1);
    return true;
}

bool str_to_u64(struct str s, uint64_t max, uint64_t *ret)
{
    uint64_t v = 0;
    if (s.n == 0) {
        return false;
    }
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9' || __builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(s.p[i] - '0'), &v)) {
            return false;
        }
    }
    if (v > max) {
        return false;
    }
    *ret = v;
    return true;
}

size_t str_span(struct str s, const char *chars)
{
    size_t n = 0;

    while (n < s.n && s.p[n] != '\0' && strchr(chars, s.p[n]) != NULL) {
        n++;
    }
    return n;
}

/* Where the text does not go on as the pattern does, the last star takes one byte more: what was matched in front of it
 * stays matched, so no other star need be tried again. */
bool str_match_glob(struct str pattern, struct str s)
{
    size_t at = 0, i = 0, behind_star = SIZE_MAX, star_end = 0;

    while (i < s.n) {
        if (at < pattern.n && pattern.p[at] == '*') {
            behind_star = ++at;
            star_end = i;
        } else if (at < pattern.n && str_fold(pattern.p[at]) == str_fold(s.p[i])) {
            at++;
            i++;
        } else if (behind_star != SIZE_MAX) {
            at = behind_star;
            i = ++star_end;
        } else {
            return false;
        }
    }
    while (at < pattern.n && pattern.p[at] == '*') {
        at++;
    }
    return at == pattern.n;
}
