/* cmd/dispatch.h - what each executable of this tree does with its first argument. */
#ifndef CMD_DISPATCH_H
#define CMD_DISPATCH_H

#include <stddef.h>

struct command {
    const char *name;
    const char *summary;               /* one line of --help */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns the exit code of the process */
};

struct program {
    const char *name;    /* "fgpu" */
    const char *purpose; /* the first line of --help */
    const struct command *commands;
    size_t command_n;
};

/* Prepares the process (allocator, SIGPIPE) and runs the command that argv[1] names; --help, and --version if there is
 * a command "version". Returns the exit code: that of the command, or EXIT_USAGE. */
int dispatch(const struct program *p, int argc, char **argv);

#endif
