/* cmd_node/limit_node.h - what limits take of the node: its cgroups, the files of HAMi-core, MPS's daemon. */
#ifndef CMD_NODE_LIMIT_NODE_H
#define CMD_NODE_LIMIT_NODE_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"
#include "node/limits.h"

#include <stdbool.h>

#define LIMIT_NODE_HAMI_DIR "/run/fgpu/hami" /* ours */

void limit_node_look_at_cgroups(const char *folder, struct limits_node *ret);
/* ERR_DENIED: they cannot be written; the text says where. */
WARN_UNUSED int limit_node_make_hami_files(struct err *reterr);
/* Does anybody answer in this folder of MPS? Waits for nobody. */
bool limit_node_has_mps_daemon(struct str dir);

#endif
