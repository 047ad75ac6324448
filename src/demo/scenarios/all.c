/* In the order in which `fgpu demo --scenario list` shows them. */
#include "demo/scenarios/scenarios_internal.h"

#include <string.h>

static const struct scenario *const scenarios[] = {
    &scenario_runai, &scenario_vgpu,   &scenario_day_night, &scenario_time_slicing,
    &scenario_mig,   &scenario_memory, &scenario_metagpu,
};

const struct scenario *scenario_at(size_t i)
{
    return i < ARRAY_LEN(scenarios) ? scenarios[i] : NULL;
}

const struct scenario *scenario_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(scenarios); i++) {
        if (strcmp(scenarios[i]->name, name) == 0) {
            return scenarios[i];
        }
    }
    return NULL;
}
