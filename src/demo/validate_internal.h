/* demo/validate_internal.h - the checks the real server makes on objects, as far as tests here rely
 * on them.
 *
 * Not made at binding (the real server does not either): annotations written there can exceed what
 * an update accepts, after which every update of the pod fails.
 */
#ifndef DEMO_VALIDATE_INTERNAL_H
#define DEMO_VALIDATE_INTERNAL_H

#include "base/compiler.h"
#include "demo/apiserver.h"

#include <cjson/cJSON.h>
#include <stddef.h>

/* NULL when acceptable, else what a 422 says after "is invalid: ", in `buf`. */
WARN_UNUSED const char *validate_object(enum apiserver_kind kind, const cJSON *doc, char *buf,
                                        size_t size);

#endif
