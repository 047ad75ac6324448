#include "demo/scenarios/scenarios_internal.h"

#define SMALL "vgpu.type: v100-4q-4GB"
#define LARGE "vgpu.type: v100-16q-16GB"
#define NODE(node, profile, mib)                                                                                       \
    {                                                                                                                  \
        (node), .labels = (profile), .allocatable = "nvidia.com/gpu: 1", .model = "GRID-V100", .gpu_n = 1,             \
                .mem_mib = (mib), .secret = true                                                                       \
    }
#define ONE_GPU .limits = "nvidia.com/gpu: 1"

static const struct scenario_node nodes[] = {
    NODE("node-1", SMALL, 4096), NODE("node-2", SMALL, 4096),  NODE("node-3", SMALL, 4096),
    NODE("node-4", SMALL, 4096), NODE("node-5", LARGE, 16384),
};

/* The night of the jump to summer time: 20:00 in Berlin is 19:00 UTC, and 08:00 on the next day is
 * 06:00 UTC. */
static const struct scenario_step steps[] = {
    SAY("19:40 in Berlin. By day the nodes 1 to 4 serve desktops with slices of 4 GB. Node 5 has a slice of 16 GB "
        "and takes no pods."),
    CREATE("desktop", 3, ONE_GPU, .selector = SMALL),
    BOUND("desktop-*"),
    CREATE("training", 1, ONE_GPU, .selector = LARGE),
    REFUSED("training", "the node pool takes no new pods now"),
    STATE("summary.timeWindows.active", "[]"),
    STATE("summary.closedNodes", "1"),

    SAY("19:51. fgpu announces the night ten minutes before, by an Event and in /state."),
    CLOCK("2026-03-28T18:51:00Z"),
    EVENT("", "Time windows at 2026-03-28T19:00:00.000Z: opens night"),
    STATE("summary.timeWindows.next", "[\"night\"]"),
    STATE("summary.timeWindows.at", "\"2026-03-28T19:00:00.000Z\""),

    SAY("20:00. The night begins: node 5 opens, and the training gets its 16 GB."),
    CLOCK("2026-03-28T18:59:59Z"),
    STATE("summary.timeWindows.active", "[\"night\"]"),
    EVENT("node-5", "The node pool takes pods with GPUs again"),
    BOUND_TO("training", "node-5"),

    SAY("The nodes 1 to 4 take no new pods. Pods on them continue to run, and /state lists them for the admin."),
    CREATE("latecomer", 1, ONE_GPU, .selector = SMALL),
    REFUSED("latecomer", "the node pool takes no new pods now"),
    BOUND("desktop-*"),
    EVENT("node-1", "The node pool takes no new pods with GPUs now"),
    STATE("summary.closedNodes", "4"),
    STATE("summary.podsOnClosedNodes", "3"),

    SAY("08:00 on the first day of summer time, after a night of eleven hours: the day begins. The desktop that "
        "waited gets its slice. The training continues to run."),
    CLOCK("2026-03-29T05:59:59Z"),
    STATE("summary.timeWindows.active", "[]"),
    BOUND("latecomer"),
    BOUND_TO("training", "node-5"),
    STATE("summary.podsOnClosedNodes", "1"),
};

const struct scenario scenario_day_night = {
    .name = "day-night",
    .line = "Day and night: slices of 4 GB on four nodes by day, one of 16 GB on the fifth by night",
    .example = "day-night.yaml",
    .clock = "2026-03-28T18:40:00Z",
    SCENARIO_NODES(nodes),
    SCENARIO_STEPS(steps),
};
