/* base/str.c - views of text. */
#include "base/str.h"

#include "base/bug.h"

#include <stdlib.h>
#include <string.h>

/* The C library's tolower depends on the locale; these names do not. */
static unsigned char fold(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

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
        if (fold(a.p[i]) != fold(b.p[i])) {
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

/* next[i]: length of the longest proper prefix of the pattern that ends at its byte i. */
static void fill_failure_table(struct str needle, size_t *next)
{
    size_t k = 0;
    next[0] = 0;
    for (size_t i = 1; i < needle.n; i++) {
        while (k > 0 && fold(needle.p[k]) != fold(needle.p[i])) {
            k = next[k - 1];
        }
        if (fold(needle.p[k]) == fold(needle.p[i])) {
            k++;
        }
        next[i] = k;
    }
}

/* Knuth, Morris, Pratt: the offset just behind the first occurrence of `needle` (not empty), or
 * SIZE_MAX. Linear, so that a pattern such as "*aaaaab*" costs nothing special. */
static size_t find_end(struct str s, struct str needle)
{
    size_t few[64];
    size_t *next = needle.n <= sizeof(few) / sizeof(few[0]) ? few : xreallocarray(NULL, needle.n, sizeof(*next));
    size_t found = SIZE_MAX;
    fill_failure_table(needle, next);
    for (size_t i = 0, k = 0; i < s.n && found == SIZE_MAX; i++) {
        while (k > 0 && fold(needle.p[k]) != fold(s.p[i])) {
            k = next[k - 1];
        }
        if (fold(needle.p[k]) == fold(s.p[i])) {
            k++;
        }
        if (k == needle.n) {
            found = i + 1;
        }
    }
    if (next != few) {
        free(next);
    }
    return found;
}

size_t str_span(struct str s, const char *chars)
{
    size_t n = 0;

    while (n < s.n && s.p[n] != '\0' && strchr(chars, s.p[n]) != NULL) {
        n++;
    }
    return n;
}

bool str_match_glob(struct str pattern, struct str s)
{
    const char *star = pattern.n > 0 ? memchr(pattern.p, '*', pattern.n) : NULL;
    if (star == NULL) {
        return str_ieq(pattern, s);
    }

    /* before the first star: anchored at the start */
    struct str head = {pattern.p, (size_t)(star - pattern.p)};
    if (s.n < head.n || !str_ieq(head, (struct str){s.p, head.n})) {
        return false;
    }
    s = str_drop(s, head.n);
    pattern = str_drop(pattern, head.n + 1);

    /* between stars: the first place that fits leaves most room for the rest */
    while ((star = pattern.n > 0 ? memchr(pattern.p, '*', pattern.n) : NULL) != NULL) {
        struct str part = {pattern.p, (size_t)(star - pattern.p)};
        if (part.n > 0) {
            size_t end = find_end(s, part);
            if (end == SIZE_MAX) {
                return false;
            }
            s = str_drop(s, end);
        }
        pattern = str_drop(pattern, part.n + 1);
    }

    /* behind the last star: anchored at the end */
    return s.n >= pattern.n && str_ieq(str_drop(s, s.n - pattern.n), pattern);
}
