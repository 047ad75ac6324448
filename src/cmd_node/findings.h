/* cmd_node/findings.h - tells people what the agent found among the containers that run and should not be
 * (agent_findings): a line of the log each, and an Event of the pod where somebody has to do something. */
#ifndef CMD_NODE_FINDINGS_H
#define CMD_NODE_FINDINGS_H

#include "base/log.h"
#include "kube/events.h"
#include "node/agent.h"

/* `events` may be NULL: nobody is told by an Event. */
void findings_tell(const struct agent_finding *found, size_t n, struct events *events, const struct log *log);

#endif
