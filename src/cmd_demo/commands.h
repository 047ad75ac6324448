/* cmd_demo/commands.h - the subcommands of fgpu-demo, as those of fgpu (cmd/commands.h). */
#ifndef CMD_DEMO_COMMANDS_H
#define CMD_DEMO_COMMANDS_H

#include "cli/page.h"

int cmd_demo(int argc, char **argv);
int cmd_apiserver(int argc, char **argv);

extern const struct page page_demo, page_apiserver;

#endif
