/* What the tests of this layer share: the usual includes of cmocka, and a reader of reply bodies.
 */
#ifndef TEST_ROUTES_UNIT_H
#define TEST_ROUTES_UNIT_H

#include "support/cmocka.h"
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

/* The text as JSON, nothing behind it; fails the test otherwise. The caller calls cJSON_Delete. */
cJSON *json_of(const char *text, size_t n);
/* "metadata.config.hash", array elements by number: "nodes.0.gpus.1"; fails the test when absent.
 */
const cJSON *json_at(const cJSON *from, const char *path);
const char *json_text_at(const cJSON *from, const char *path);
int64_t json_number_at(const cJSON *from, const char *path);

#endif
