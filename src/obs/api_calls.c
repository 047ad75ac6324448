#include "obs/api_calls.h"

#include "base/bug.h"
#include "base/compiler.h"

#include <string.h>

static const struct api_call calls[] = {
    {"create", "pods/binding"},
    {"get", "pods"},
    {"get", "version"},
    {"list", "pods"},
    {"list", "nodes"},
    {"list", "resourceslices"},
    {"create", "events"},
    {"patch", "events"},
    {"create", "pods/eviction"},       /* pools change over */
    {"patch", "pods/status"},          /* planning ahead */
    {"get", "configmaps"},             /* the run object */
    {"patch", "configmaps"},           /* likewise */
    {"get", "csistoragecapacities"},   /* the wake object */
    {"patch", "csistoragecapacities"}, /* likewise */
    {"get", "leases"},                 /* elections, and `consistency: strict` */
    {"list", "leases"},
    {"create", "leases"},
    {"update", "leases"},
    {"patch", "leases"},
    {"delete", "leases"},
    {"create", "subjectaccessreviews"}, /* who may read the ops listener */
    {"create", "tokenreviews"},
    {"create", "selfsubjectaccessreviews"}, /* `consistency: strict`: what fgpu itself may do */
};
_Static_assert(ARRAY_LEN(calls) == API_CALL_N, "a kind of request that was added or taken away: API_CALL_N");

struct api_call api_call_at(size_t i)
{
    BUG_ON(i >= API_CALL_N);
    return calls[i];
}

bool api_call_is_known(const char *verb, const char *resource)
{
    for (size_t i = 0; i < API_CALL_N; i++) {
        if (strcmp(calls[i].verb, verb) == 0 && strcmp(calls[i].resource, resource) == 0) {
            return true;
        }
    }
    return false;
}
