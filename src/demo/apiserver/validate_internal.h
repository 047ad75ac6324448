/* demo/apiserver/validate_internal.h - the checks the real server makes on objects, as far as tests here rely
 * on them.
 *
 * Not made at binding (the real server does not either): annotations written there can exceed what
 * an update accepts, after which every update of the pod fails.
 */
#ifndef DEMO_APISERVER_VALIDATE_INTERNAL_H
#define DEMO_APISERVER_VALIDATE_INTERNAL_H

#include "base/compiler.h"
#include "demo/apiserver/apiserver.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

/* NULL when acceptable, else what a 422 says after "is invalid: ", in `buf`. */
WARN_UNUSED const char *validate_lease_form(const cJSON *doc);
const char *validate_object(enum apiserver_kind kind, const cJSON *doc, char *buf, size_t size);

/* prefix/name: the name 1..63 of [A-Za-z0-9-_.], alphanumeric at both ends. */
bool validate_is_qualified_key(const char *key);

/* An Event that came through events.k8s.io/v1. `before` NULL: it is created. */
WARN_UNUSED const char *validate_event(const cJSON *doc, const cJSON *before, char *buf, size_t size);
/* What a decoder would refuse with 400; NULL: nothing. */
WARN_UNUSED const char *validate_event_form(const cJSON *doc);

#endif
