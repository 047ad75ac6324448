/* cmd_node/node_state.h - the document of fgpu-node's /state: config/node-state.schema.json explains each key.
 *
 * Additive, as the document of fgpu is: new versions only add keys, readers ignore those that they do not know.
 */
#ifndef CMD_NODE_NODE_STATE_H
#define CMD_NODE_NODE_STATE_H

#include "base/strbuf.h"
#include "cmd_node/node_view.h"
#include "node/usage.h"

struct node_state {
    const char *node;
    int64_t wall_ms, mono_ns; /* now */
    bool driver, connected;
    struct node_view view;
    const struct usage *usage; /* NULL: nobody looks */
    int64_t interval_ms;
    bool kill;
};

void node_state_write(const struct node_state *s, struct strbuf *out);

#endif
