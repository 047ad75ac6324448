/* Lines and columns of a text, counted exactly as libyaml counts them: a line ends at LF, CR, CR
 * LF, U+0085, U+2028 or U+2029; a column is one UTF-8 character. A byte that is not UTF-8 counts as
 * one character. */
#ifndef CONFIG_TEXT_INTERNAL_H
#define CONFIG_TEXT_INTERNAL_H

#include "base/str.h"
#include "base/strbuf.h"
#include "config/diagnostics.h"

/* Length in bytes of the line break at the start of `s`; 0: none there. */
size_t text_break_len(struct str s);

/* Line number `line` (from 1) without its break; false when the text has fewer. */
bool text_line(struct str text, uint32_t line, struct str *ret);

/* The place of the byte at `offset`. */
struct text_pos text_pos_at(struct str text, size_t offset);

#endif
