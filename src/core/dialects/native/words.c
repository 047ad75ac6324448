/* The words of the native dialect: what pods may write, and what fgpu writes into them. */
#include "core/dialects/native/native_internal.h"

const struct dialect_key native_request_keys[] = {
    {NATIVE_KEY_FRACTION, DEMAND_MEANT_FRACTION},
    {NATIVE_KEY_MEMORY, DEMAND_MEANT_MEMORY},
    {NATIVE_KEY_COUNT, DEMAND_MEANT_COUNT},
    {NATIVE_KEY_SIZE, DEMAND_MEANT_SIZE},
    {NATIVE_KEY_PROFILE, DEMAND_MEANT_PROFILE},
    {NATIVE_KEY_CONTAINER, DEMAND_MEANT_CONTAINER},
    {NATIVE_KEY_MODEL, DEMAND_MEANT_MODEL},
    {NATIVE_KEY_UUID, DEMAND_MEANT_UUID},
    {NATIVE_KEY_ISOLATE, DEMAND_MEANT_ISOLATE},
    {NATIVE_KEY_QOS, DEMAND_MEANT_QOS},
    {NULL, DEMAND_OK},
};

const struct dialect_key native_resources[] = {
    {"fgpu.io/gpu-milli", DEMAND_MEANT_MILLI_RESOURCE},
    {"fgpu.io/gpu-memory-mib", DEMAND_MEANT_MEMORY_RESOURCE},
    {"fgpu.io/gpu-count", DEMAND_MEANT_COUNT_RESOURCE},
    {NULL, DEMAND_OK},
};

const struct dialect_answer native_answers[] = {
    {ASSIGNMENT_KEY, ANSWER_ALONE},
    {NATIVE_KEY_VISIBLE, ANSWER_PER_CONTAINER},
    {NATIVE_KEY_PERCENTAGE, ANSWER_PER_CONTAINER},
    {NATIVE_KEY_MEM_LIMIT, ANSWER_PER_CONTAINER},
    {HAND_OFF_KEY_CDI_ALL, ANSWER_OF_OTHERS},
    {HAND_OFF_KEY_KAI ".", ANSWER_OF_OTHERS},
    {NULL, ANSWER_ALONE},
};

static bool is_named(const struct str *names, size_t n, struct str name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(names[i], name)) {
            return true;
        }
    }
    return false;
}

bool native_owns_resource(const struct policy *p, struct str name)
{
    for (size_t i = 0; i < p->compute_resource_n; i++) {
        if (p->compute_resources[i].picks == PICKS_FGPU && str_eq(p->compute_resources[i].name, name)) {
            return true;
        }
    }
    return is_named(p->memory_resources, p->memory_resource_n, name) ||
           is_named(p->count_resources, p->count_resource_n, name) || str_starts(name, STR(NATIVE_SIZE_RESOURCE));
}
