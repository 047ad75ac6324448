#include "core/fit/score_part.h"

#include "base/bug.h"

const char *score_part_name(enum score_part_kind k)
{
    static const char *const names[SCORE_PART__MAX] = {
        [SCORE_PART_FILL] = "fill",
        [SCORE_PART_CORES] = "cores",
        [SCORE_PART_PLACES] = "places",
        [SCORE_PART_HOSTS] = "hosts",
        [SCORE_PART_GANGS] = "gangs",
        [SCORE_PART_SIZES] = "sizes",
        [SCORE_PART_GOODS] = "goods",
        [SCORE_PART_STRANDED] = "stranded",
        [SCORE_PART_IDLE] = "idle",
        [SCORE_PART_USED_COMPUTE] = "usedCompute",
        [SCORE_PART_USED_MEMORY] = "usedMemory",
        [SCORE_PART_USED_UNITS] = "usedUnits",
        [SCORE_PART_OPENED] = "opened",
        [SCORE_PART_LEFT] = "left",
        [SCORE_PART_EMPTY] = "empty",
        [SCORE_PART_CRITERION] = "criterion",
    };

    BUG_ON((unsigned)k >= SCORE_PART__MAX);
    return names[k];
}
