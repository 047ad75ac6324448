/* demo/scenarios/scenarios_internal.h - the scenarios there are; all.c puts them into one table. */
#ifndef DEMO_SCENARIOS_SCENARIOS_INTERNAL_H
#define DEMO_SCENARIOS_SCENARIOS_INTERNAL_H

#include "base/compiler.h"
#include "demo/scenarios/scenario_internal.h"

#define SCENARIO_NODES(table) .nodes = (table), .node_n = ARRAY_LEN(table)
#define SCENARIO_STEPS(table) .steps = (table), .step_n = ARRAY_LEN(table)

extern const struct scenario scenario_runai, scenario_vgpu, scenario_day_night, scenario_time_slicing, scenario_mig,
    scenario_memory, scenario_metagpu;

#endif
