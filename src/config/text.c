#include "config/text_internal.h"

#include "base/printable.h"

static unsigned char byte_at(struct str s, size_t i)
{
    return i < s.n ? (unsigned char)s.p[i] : 0;
}

size_t text_break_len(struct str s)
{
    if (s.n == 0) {
        return 0;
    }
    if (s.p[0] == '\r') {
        return byte_at(s, 1) == '\n' ? 2 : 1;
    }
    if (s.p[0] == '\n') {
        return 1;
    }
    if (byte_at(s, 0) == 0xc2 && byte_at(s, 1) == 0x85) {
        return 2;
    }
    if (byte_at(s, 0) == 0xe2 && byte_at(s, 1) == 0x80 && (byte_at(s, 2) == 0xa8 || byte_at(s, 2) == 0xa9)) {
        return 3;
    }
    return 0;
}

bool text_line(struct str text, uint32_t line, struct str *ret)
{
    uint32_t at_line = 1;
    size_t start = 0;

    for (size_t i = 0; i < text.n;) {
        size_t len = text_break_len(str_drop(text, i));
        if (len == 0) {
            i += printable_char_len(str_drop(text, i));
            continue;
        }
        if (at_line == line) {
            *ret = (struct str){text.p + start, i - start};
            return true;
        }
        i += len;
        start = i;
        at_line++;
    }
    if (at_line != line || start >= text.n) {
        return false;
    }
    *ret = str_drop(text, start);
    return true;
}

struct text_pos text_pos_at(struct str text, size_t offset)
{
    struct text_pos pos = {1, 1};

    for (size_t i = 0; i < text.n && i < offset;) {
        size_t len = text_break_len(str_drop(text, i));
        if (len > 0) {
            pos.line++;
            pos.column = 1;
        } else {
            len = printable_char_len(str_drop(text, i));
            pos.column++;
        }
        i += len;
    }
    return pos;
}
