/* core/fit/slack.h - memory of fixed slices that a placement leaves unused, as a preference between nodes.
 *
 * A fixed slice, a MIG instance or a virtual GPU of a fixed profile, is taken whole. What the pod does not need of it
 * is lost, whatever strategies think of the rest of the node. So slack comes before scores, and the smallest slice that
 * is large enough is taken wherever it is. On one node the search does the same (core/fit/feasibility.h).
 *
 *   GPU request for memory alone   the slice with the least slack; shares of GPUs after every slice
 *   GPU request for compute, too   shares of GPUs; then the slice with the least slack
 *   anything else           all nodes are alike: whole GPUs, profiles, pods with several containers
 *
 * It never decides whether a pod fits.
 */
#ifndef CORE_FIT_SLACK_H
#define CORE_FIT_SLACK_H

#include "core/fit/device_state.h"
#include "core/request/demand.h"

#include <stdbool.h>
#include <stdint.h>

/* In steps of 64 MiB, rounded up; less is better. */
#define SLACK_NONE 0
#define SLACK_MAX UINT16_MAX

/* Are nodes unlike each other for this demand? */
bool slack_matters(const struct demand *d);
/* Of a node that the demand fits on. Only if it matters. */
uint16_t slack_on(const struct node_state *n, const struct device_state *devices, const uint8_t *allowed_models,
                  const struct demand *d);

#endif
