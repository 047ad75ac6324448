/* cmd/manual.h - `PROGRAM man DIR`: the manual pages of a program and of its commands, for the build. */
#ifndef CMD_MANUAL_H
#define CMD_MANUAL_H

#include "cmd/dispatch.h"

#define MANUAL_COMMAND "man"

/* argv[1] is the folder. Returns the exit code of the process. */
int manual_write(const struct program *p, int argc, char **argv);

/* fgpu.yaml(5): every key. */
int manual_of_the_configuration(const char *dir, struct err *reterr);

#endif
