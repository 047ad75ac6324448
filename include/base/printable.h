/* base/printable.h - other people's text on the way to a terminal.
 *
 * A name, a model or an error message may come from whoever writes objects, files or replies, and a terminal obeys
 * what it is shown: it can be made to move, to rewrite what stands above, to report keys that nobody pressed, or to
 * show text backwards. What could: C0 (U+0000..1F), DEL, C1 (U+0080..9F, one of which begins every command as ESC [
 * does), bytes that are not UTF-8, the marks that turn the direction of writing (U+061C, U+200E, U+200F, U+202A..202E,
 * U+2066..2069) and the line separators U+2028 and U+2029.
 */
#ifndef BASE_PRINTABLE_H
#define BASE_PRINTABLE_H

#include "base/arena.h"
#include "base/strbuf.h"

/* Length in bytes of the character at the start of `s`, which is not empty; a byte that is not UTF-8 counts as one. */
size_t printable_char_len(struct str s);

/* Could this one character disturb a terminal? */
bool printable_disturbs(struct str c);
/* Its number; a byte that is not UTF-8 is itself. */
uint32_t printable_code(struct str c);

/* Copies `s` with '?' for each character that could disturb a terminal but those in `keep` ("", "\t", "\n"), cut after
 * max_chars characters. False: it was cut. */
bool printable_add(struct strbuf *out, struct str s, size_t max_chars, const char *keep);

/* The same for one value, in `a`; `s` itself where nothing has to change. STR_NULL: the arena is full. */
struct str printable(struct arena *a, struct str s);

/* Copies a JSON text so that it means the same: escapes in place of such characters, which stand in strings only. Those
 * that JSON does not allow there become '?'. */
void printable_add_json(struct strbuf *out, struct str s);

#endif
