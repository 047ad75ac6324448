#include "core/dialects/units/units.h"

#include "core/dialects/units/units_internal.h"

const struct dialect dialect_units = {
    .name = "units",
    .owns_resource = units_owns_resource,
    .beside = DEMAND_MIXED_KINDS,
    .claims_pod = units_claims_pod,
    .parse_request = units_parse_request,
    .claims_node = units_claims_node,
    .parse_node = units_parse_node,
};
