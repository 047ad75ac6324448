/* base/intern.h - text to a small stable number, append-only.
 *
 * For names that live as long as the process: node names, GPU models, device UUIDs. The text behind an id
 * never moves and is never freed before intern_free, so a reader that holds an id obtained under a lock may
 * use the text after the lock is gone. Request paths only look up (intern_find), so a hostile request
 * cannot grow the table; growth has a cap.
 */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include "base/hash.h"
#include "base/str.h"

#include <stdint.h>

#define INTERN_NONE UINT32_MAX

struct intern;

struct intern *intern_new(struct hash_key key, uint32_t max_entries);
void intern_free(struct intern *t);

uint32_t intern_find(const struct intern *t, struct str s); /* INTERN_NONE when unknown */
/* The id of `s`, added if new; INTERN_NONE when the cap is reached. Ids count up from 0. */
uint32_t intern_add(struct intern *t, struct str s);
struct str intern_text(const struct intern *t, uint32_t id); /* id must be valid */
uint32_t intern_count(const struct intern *t);

#endif
