/* demo/stories/stories_internal.h - the stories there are; all.c puts them into one table. */
#ifndef DEMO_STORIES_STORIES_INTERNAL_H
#define DEMO_STORIES_STORIES_INTERNAL_H

#include "base/compiler.h"
#include "demo/stories/story_internal.h"

#define STORY_NODES(table) .nodes = (table), .node_n = ARRAY_LEN(table)
#define STORY_STEPS(table) .steps = (table), .step_n = ARRAY_LEN(table)

extern const struct story story_runai, story_vgpu, story_day_night, story_time_slicing, story_mig,
    story_memory, story_metagpu;

#endif
