/* Checks a document against config/state.schema.json: the keywords of JSON Schema 2020-12 that the
 * file uses, and no others; a keyword this checker does not know fails the test instead of being
 * passed over. Stricter in one way: a key that the schema does not describe fails too, so nothing
 * is published undocumented. */
#ifndef TEST_ROUTES_SCHEMA_H
#define TEST_ROUTES_SCHEMA_H

#include "routes/support/unit.h"

/* The schema, or a failed test. The caller calls cJSON_Delete. */
cJSON *schema_load(const char *path);
/* NULL, or what is wrong and where (static buffer). */
const char *schema_violation(const cJSON *schema, const cJSON *document);

#endif
