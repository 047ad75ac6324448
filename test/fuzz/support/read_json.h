/* support/read_json.h - a second opinion on JSON: cJSON, reading a text that holds one value and
 * nothing else. It accepts more than base/json_read does, so it judges only what that accepted. */
#ifndef FUZZ_SUPPORT_READ_JSON_H
#define FUZZ_SUPPORT_READ_JSON_H

#include "base/str.h"

#include <cJSON.h>

cJSON *read_json(struct str text); /* cJSON_Delete it; NULL: refused */
/* The text at a path of exact keys, "metadata.name"; STR_NULL when absent or not text. */
struct str read_json_text(const cJSON *c, const char *path);
const cJSON *read_json_at(const cJSON *c, const char *path); /* NULL when absent */

#endif
