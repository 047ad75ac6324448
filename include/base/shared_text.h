/* base/shared_text.h - a text that several hold, and that goes with the last of them.
 *
 * For names that a table gives away and forgets, while readers that got one under the table's lock go on using it after
 * the lock is gone: each holds a reference of its own. References may be taken and dropped on any thread; only who
 * holds one may take another. The text never moves, so two holders of one text see the same address, and as long as one
 * of them holds it no other text has that address.
 *
 * An empty text is STR_NULL and needs no reference. */
#ifndef BASE_SHARED_TEXT_H
#define BASE_SHARED_TEXT_H

#include "base/str.h"

struct str shared_text_new(struct str s);       /* a copy, held once */
struct str shared_text_take(struct str shared); /* held once more */
void shared_text_drop(struct str shared);       /* STR_NULL is fine */

#endif
