/* base/str.h - a view of text: pointer and length, no ownership, not NUL-terminated.
 *
 * Text from outside (JSON, HTTP, YAML) travels as `struct str`, so it is never copied to be compared and
 * an embedded NUL cannot cut it. The empty view is {NULL, 0}; `p` may be NULL only when n is 0.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str {
    const char *p;
    size_t n;
};

#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})
#define STR_NULL ((struct str){NULL, 0})

/* For printf: printf("%.*s", STR_ARG(s)). Views longer than INT_MAX are cut there. */
#define STR_ARG(s) (int)((s).n > INT32_MAX ? INT32_MAX : (s).n), ((s).p ? (s).p : "")

/* The small letter for a capital one of ASCII. The C library's tolower depends on the locale; our names do not. */
static inline char str_fold(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

struct str str_of(const char *cstr); /* NULL gives STR_NULL */
bool str_eq(struct str a, struct str b);
bool str_eq_cstr(struct str a, const char *b);
bool str_ieq(struct str a, struct str b); /* ASCII case ignored */
int str_cmp(struct str a, struct str b);  /* bytewise, a prefix sorts first; as strcmp */
bool str_starts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);
struct str str_trim(struct str s);           /* ASCII blanks, tabs, CR, LF off both ends */
struct str str_drop(struct str s, size_t n); /* without the first n bytes (all of them at most) */

#define STR_DIGITS "0123456789"
#define STR_LOWER "abcdefghijklmnopqrstuvwxyz"
/* How many bytes at the beginning of `s` are among `chars`; as strspn. */
size_t str_span(struct str s, const char *chars);

/* A copy of its own with a 0 byte behind it, never NULL; free() it. */
char *str_dup(struct str s);
/* Into `buf`, with a 0 byte behind it. False, and "": it does not fit, or holds a 0 byte itself. */
bool str_to_cstr(struct str s, char *buf, size_t size);
/* Copies `s` to *at, which moves behind it; returns the copy. For several texts in one block. */
struct str str_put(char **at, struct str s);

/* Cuts the text before the first `sep` off *rest into *ret_part. Returns false when *rest is exhausted
 * (p == NULL), so that "a,b" gives two parts, "a," gives "a" and "", and "" gives one empty part:
 *     struct str rest = list, part;
 *     while (str_split(&rest, ',', &part)) ...                                                        */
bool str_split(struct str *rest, char sep, struct str *ret_part);

/* Decimal digits only, no sign, no blanks, at most `max`: returns false on anything else. */
bool str_to_u64(struct str s, uint64_t max, uint64_t *ret);

/* '*' matches any run of bytes (also none); nothing else is special. ASCII case ignored. Never more steps than the
 * product of the lengths: for texts as short as names (of models 128 bytes, of namespaces 63). */
bool str_match_glob(struct str pattern, struct str s);

#endif
