/* core/dialects/foreign_internal.h - systems that hand out GPUs by themselves, and whose vocabulary fgpu does not
 * speak. */
#ifndef CORE_DIALECTS_FOREIGN_INTERNAL_H
#define CORE_DIALECTS_FOREIGN_INTERNAL_H

#include "model/node.h"
#include "model/policy.h"

/* Why the GPUs of the node belong to another system; NULL: they do not, as far as its object tells. A resource that a
 * dialect owns is served, and no mark of another system. */
const char *foreign_agent(const struct policy *p, const struct node *node);

#endif
