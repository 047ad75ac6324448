/* cmd_node/doors_look.h - reads the configuration files that --runtime-config names, and tells in the log and by an
 * Event on the node which doors past the agent they open (node/doors.h). Once, at the start. */
#ifndef CMD_NODE_DOORS_LOOK_H
#define CMD_NODE_DOORS_LOOK_H

#include "base/log.h"
#include "cmd_node/options.h"
#include "kube/events.h"

/* `events` may be NULL. A file that cannot be read is told in the log: what it opens is not known.
 * Returns those that are open, a bit for each enum door. *ret_looked: the configuration of a container runtime was
 * read, and nothing that could be read was strange. */
unsigned doors_look(const struct node_options *options, struct events *events, const struct log *log, bool *ret_looked);

#endif
