/* cmd_node/health_tell.h - says that a GPU is ill, or well again: to the log, on the node, and on each pod that holds
 * it.
 */
#ifndef CMD_NODE_HEALTH_TELL_H
#define CMD_NODE_HEALTH_TELL_H

#include "cmd_node/health_watch.h"
#include "node/health.h"

/* Of an instance, the pods alone are told: its GPU has been told of. */
void health_tell(const struct health_watch_options *o, const struct health_change *c);

#endif
