/* base/intern.h - text to a small number, for as long as somebody uses it.
 *
 * For names of which few are in use at a time, and that are compared, or looked up in arrays, often: GPU models. Every
 * intern_take() is answered by an intern_drop(); when the last user of a text has gone, its number is given to the next
 * new text. So the table is as large as the most texts that were ever in use together, however many have come and gone,
 * and ids stay below intern_count(), which never falls: an array of that size fits every id seen before or after.
 *
 * An id means one text while it is in use. Who keeps anything by id for longer compares intern_version(), which changes
 * whenever an id comes to mean another text. Not thread-safe.
 */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include "base/hash.h"
#include "base/str.h"

#include <stdint.h>

#define INTERN_NONE UINT32_MAX

struct intern;

struct intern *intern_new(struct hash_key key, uint32_t max_entries);
void intern_free(struct intern *t); /* NULL is fine */

uint32_t intern_find(const struct intern *t, struct str s); /* INTERN_NONE when nobody uses it */
/* The id of `s`, used once more; INTERN_NONE when max_entries texts are in use. */
uint32_t intern_take(struct intern *t, struct str s);
void intern_take_again(struct intern *t, uint32_t id); /* of an id in use */
void intern_drop(struct intern *t, uint32_t id);
/* Borrowed while the id is in use; of one that is not, empty. */
struct str intern_text(const struct intern *t, uint32_t id);
uint32_t intern_users(const struct intern *t, uint32_t id); /* how often it was taken and not dropped */
uint32_t intern_count(const struct intern *t);              /* every id is below */
uint32_t intern_used(const struct intern *t);               /* texts in use */
uint64_t intern_version(const struct intern *t);

#endif
