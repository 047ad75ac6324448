/* sim/scheduler.h - what kube-scheduler does, as far as an extender sees it.
 *
 * One pod at a time: filter, sometimes prioritize, then bind, which is not waited for. Calls end after 10 s
 * (httpTimeout). A pod whose bind failed is tried again after 1, 2, 4, 8, 10 s; one that was refused by filter, when
 * something changes that may make room: a pod is gone, a node changes, the wake object changes; when its user changes
 * it; or after five minutes. Its watch is ahead of fgpu's, or behind. It patches the status of pods, which gives them
 * new versions: now and then, or, with notes_failures, whenever a pod fails for another reason than its status tells,
 * as the real one does. It may lose its memory, as at its own restart.
 */
#ifndef SIM_SCHEDULER_H
#define SIM_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

/* `patches`: per mille of refusals after which it patches the status. */
void scheduler_init(uint32_t patches, uint32_t lag, int64_t lag_ms, bool notes_failures);
void scheduler_restart(void);

struct process;
/* Was the pod refused by an fgpu that has ended since, when `ready` was there already? What it refuses by itself it
 * makes kube-scheduler try again when there is room, and at its start what others have refused before; of this pod it
 * does not know, so that waits for the next event of anybody, five minutes at most. */
bool scheduler_waits_for_flush(const char *uid, const struct process *ready);

struct scheduler_counts {
    uint64_t filter_n, refused_n, error_n, bind_n, bound_n, failed_n;
};
extern struct scheduler_counts scheduler_counts;

#endif
