/* demo/doc_internal.h - reading and changing API objects held as cJSON trees.
 *
 * cJSON serves here because the objects are cold documents of our own making; nothing in this layer
 * decides about GPUs in the extender's process. Keys are matched with their case. Paths are dotted
 * ("spec.nodeName"); a key that contains a dot itself is looked up with doc_field on its parent.
 */
#ifndef DEMO_DOC_INTERNAL_H
#define DEMO_DOC_INTERNAL_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/* One whole JSON value and nothing after it; NULL otherwise. The caller deletes it. */
WARN_UNUSED cJSON *doc_parse(struct str text);

/* NULL when absent (or when `o` is NULL or not an object). */
cJSON *doc_field(const cJSON *o, const char *key);
cJSON *doc_at(const cJSON *o, const char *path);
/* The text at `path`; "" when absent or not text. */
const char *doc_text(const cJSON *o, const char *path);

/* The object at `path`, created along the way where absent. */
cJSON *doc_object(cJSON *o, const char *path);
/* Sets or replaces one member. */
void doc_set_text(cJSON *o, const char *key, const char *value);
/* Takes `value` over. */
void doc_set(cJSON *o, const char *key, cJSON *value);

/* RFC 7396 merge patch, in place. Null members of `patch` delete. */
void doc_merge(cJSON *target, const cJSON *patch);

/* Compact text, malloc'ed. */
char *doc_print(const cJSON *o);

#endif
