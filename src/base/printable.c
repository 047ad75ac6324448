#include "base/printable.h"

#include "utf8_internal.h"

#include <string.h>

size_t printable_char_len(struct str s)
{
    size_t n = utf8_sequence_n(s.p, s.n);

    return n == 0 ? 1 : n;
}

uint32_t printable_code(struct str c)
{
    const unsigned char *p = (const unsigned char *)c.p;

    switch (c.n) {
    case 2:
        return (p[0] & 0x1fU) << 6 | (p[1] & 0x3fU);
    case 3:
        return (p[0] & 0xfU) << 12 | (p[1] & 0x3fU) << 6 | (p[2] & 0x3fU);
    case 4:
        return (p[0] & 7U) << 18 | (p[1] & 0x3fU) << 12 | (p[2] & 0x3fU) << 6 | (p[3] & 0x3fU);
    default:
        return p[0];
    }
}

static bool is_within(uint32_t code, uint32_t first, uint32_t last)
{
    return code >= first && code <= last;
}

bool printable_disturbs(struct str c)
{
    uint32_t code = printable_code(c);

    if (c.n == 1) {
        return code < 0x20 || code >= 0x7f; /* above: a byte that is not UTF-8 */
    }
    return is_within(code, 0x80, 0x9f) || code == 0x61c || is_within(code, 0x200e, 0x200f) ||
           is_within(code, 0x2028, 0x202e) || is_within(code, 0x2066, 0x2069);
}

bool printable_add(struct strbuf *out, struct str s, size_t max_chars, const char *keep)
{
    for (size_t chars = 0; s.n > 0; chars++) {
        struct str c = {s.p, printable_char_len(s)};

        if (chars == max_chars) {
            return false;
        }
        if (printable_disturbs(c) && (c.p[0] == '\0' || strchr(keep, c.p[0]) == NULL)) {
            strbuf_add_char(out, '?');
        } else {
            strbuf_add(out, c.p, c.n);
        }
        s = str_drop(s, c.n);
    }
    return true;
}

struct str printable(struct arena *a, struct str s)
{
    struct str rest = s, kept;
    struct strbuf clean;

    while (rest.n > 0 && !printable_disturbs((struct str){rest.p, printable_char_len(rest)})) {
        rest = str_drop(rest, printable_char_len(rest));
    }
    if (rest.n == 0) {
        return s;
    }
    strbuf_init(&clean, s.n + 1);
    (void)printable_add(&clean, s, SIZE_MAX, "");
    kept = arena_str(a, strbuf_view(&clean));
    strbuf_fini(&clean);
    return kept;
}

void printable_add_json(struct strbuf *out, struct str s)
{
    while (s.n > 0) {
        struct str c = {s.p, printable_char_len(s)};
        uint32_t code = printable_code(c);

        if (!printable_disturbs(c) || code == '\n' || code == '\t') {
            strbuf_add(out, c.p, c.n);
        } else if (c.n > 1 || code == 0x7f) {
            strbuf_addf(out, "\\u%04x", (unsigned)code);
        } else {
            strbuf_add_char(out, '?');
        }
        s = str_drop(s, c.n);
    }
}
