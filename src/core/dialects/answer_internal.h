/* core/dialects/answer_internal.h - required plugins (required_plugins.c), for what the Binding says (answer.c). */
#ifndef CORE_DIALECTS_ANSWER_INTERNAL_H
#define CORE_DIALECTS_ANSWER_INTERNAL_H

#include "base/str.h"
#include "base/strbuf.h"
#include "model/hand_off.h"

#include <stdbool.h>

#define REQUIRED_PLUGINS_KEY "required-plugins.noderesource.dev"

/* That, or the same of one container, or of the pod. */
bool is_required_plugins_key(struct str key);
/* The list with the agent in it, on one line and without blanks: ["a","fgpu"]. */
void add_agent_to_plugins(struct str text, struct strbuf *out);

#endif
