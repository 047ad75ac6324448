/* core/dialects/units/units_internal.h - the pieces of the dialect of units: one file knows the names, one reads
 * pods, one reads nodes. */
#ifndef CORE_DIALECTS_UNITS_UNITS_INTERNAL_H
#define CORE_DIALECTS_UNITS_UNITS_INTERNAL_H

#include "core/dialects/units/units.h"

bool units_owns_resource(const struct policy *p, struct str name);
bool units_claims_pod(const struct policy *p, const struct pod *pod);
bool units_parse_request(const struct policy *p, const struct pod *pod, struct arena *a, struct demand *ret);
bool units_claims_node(const struct policy *p, const struct node *node);
enum source_result units_parse_node(struct inventory_draft *d, enum inventory_source source);

#endif
