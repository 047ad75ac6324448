/* In the order in which `fgpu demo --scenario list` shows them. */
#include "demo/stories/stories_internal.h"

#include <string.h>

static const struct story *const stories[] = {
    &story_runai, &story_vgpu,   &story_day_night, &story_time_slicing,
    &story_mig,   &story_memory, &story_metagpu,
};

const struct story *story_at(size_t i)
{
    return i < ARRAY_LEN(stories) ? stories[i] : NULL;
}

const struct story *story_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(stories); i++) {
        if (strcmp(stories[i]->name, name) == 0) {
            return stories[i];
        }
    }
    return NULL;
}
