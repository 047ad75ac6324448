/* cmd_node/samples.h - the metrics of each GPU and of each container on it, which come and go (obs/samples.h).
 *
 * One series for each GPU, and one for each GPU that a container holds: as many as run on a node. What is not known is
 * left out.
 */
#ifndef CMD_NODE_SAMPLES_H
#define CMD_NODE_SAMPLES_H

#include "base/strbuf.h"
#include "cmd_node/node_view.h"
#include "node/usage.h"

void samples_of_gpus(const struct node_view *v, struct strbuf *out);
/* Of those that hold a GPU now. */
void samples_of_usage(const struct usage *u, struct strbuf *out);

#endif
