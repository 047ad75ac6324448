/* cmd/plugin.h - fgpu as a plugin of kubectl: `kubectl fgpu state`, when it is called as kubectl-fgpu.
 *
 * The commands that ask a running fgpu get a way to it (cmd/forward.h); what is as kubectl has it (--context,
 * --kubeconfig, -n) is taken off the line wherever it stands.
 */
#ifndef CMD_PLUGIN_H
#define CMD_PLUGIN_H

#include "cmd/dispatch.h"

#define PLUGIN_NAME "kubectl-fgpu"

/* Called as kubectl-fgpu, or as kubectl_complete-fgpu: then for completion. */
bool plugin_is_meant(const char *argv0);

/* kubectl-fgpu(1), into a folder. */
int plugin_manual(const char *dir, struct err *reterr);

/* `whole` has the commands of fgpu. Returns the exit code of the process. */
int plugin_run(const struct program *whole, int argc, char **argv);

#endif
