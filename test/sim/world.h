/* sim/world.h - who else acts: users, kubelets, whoever starts and kills fgpu (fleet.h), and the changes between storm
 * and calm.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "oracle.h"

#include <stdbool.h>
#include <stdint.h>

/* What kind of world a seed makes. */
struct climate {
    unsigned servers;
    unsigned nodes, gpus;
    unsigned pods;         /* as many as users like to have at a time */
    bool late_after_death; /* what a process leaves behind may land after the hold-off */
    bool forgeries, node_changes;
    bool rich; /* configurations that change, dialects, pools, tenants, sick GPUs (settings.h, admins.c) */
    enum fleet fleet;
    unsigned fgpus;       /* at a time, at most */
    int64_t mean_life_ms; /* of a process */
};

void world_init(const struct climate *c, int64_t lag_ms);
/* Has the pod been bound, whatever became of it since? */
bool world_pod_was_bound(const char *uid);
/* Looks at everything that must hold after each step. */
void world_step(void);
/* Kills and takes down whatever lives. True: nothing is left. */
void world_end(void);

struct world_counts {
    uint64_t created_n, deleted_n, edited_n, forged_n, node_n, killed_n, ended_n, calm_n, preempted_n;
    uint64_t rolled_n, paused_n, lost_n;
};
extern struct world_counts world_counts;

#endif
