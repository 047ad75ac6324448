#include "config/text_internal.h"

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
    if (byte_at(s, 0) == 0xe2 && byte_at(s, 1) == 0x80 &&
        (byte_at(s, 2) == 0xa8 || byte_at(s, 2) == 0xa9)) {
        return 3;
    }
    return 0;
}

size_t text_char_len(struct str s)
{
    unsigned char first = byte_at(s, 0);
    size_t len = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

    if (len == 0 || first > 0xf4 || len > s.n) {
        return 1;
    }
    for (size_t i = 1; i < len; i++) {
        if ((byte_at(s, i) & 0xc0) != 0x80) {
            return 1;
        }
    }
    return len;
}

bool text_line(struct str text, uint32_t line, struct str *ret)
{
    uint32_t at_line = 1;
    size_t start = 0;

    for (size_t i = 0; i < text.n;) {
        size_t len = text_break_len(str_drop(text, i));
        if (len == 0) {
            i += text_char_len(str_drop(text, i));
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
            len = text_char_len(str_drop(text, i));
            pos.column++;
        }
        i += len;
    }
    return pos;
}

bool text_add_printable(struct strbuf *out, struct str s, size_t max_chars, bool keep_tabs)
{
    for (size_t chars = 0; s.n > 0; chars++) {
        if (chars == max_chars) {
            return false;
        }
        size_t len = text_char_len(s);
        unsigned char first = byte_at(s, 0);
        bool control = len == 1 ? first < 0x20 || first >= 0x7f
                                : first == 0xc2 && byte_at(s, 1) < 0xa0; /* U+0080..9F */
        if (control && !(keep_tabs && first == '\t')) {
            strbuf_add_char(out, '?');
        } else {
            strbuf_add(out, s.p, len);
        }
        s = str_drop(s, len);
    }
    return true;
}
