/* cmd/dispatch.h - what each executable of this tree does with its first argument. */
#ifndef CMD_DISPATCH_H
#define CMD_DISPATCH_H

#include "base/err.h"
#include "cli/page.h"

#include <stdbool.h>
#include <stddef.h>

struct command {
    const char *name;
    const char *summary;               /* one line of --help */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns the exit code of the process */
    const struct page *page;           /* NULL: it is elsewhere */
    bool asks_fgpu;                    /* a running one, of which `kubectl fgpu` makes the way */
    bool asks_api;                     /* the API server as well, and has kubectl's options for it */
    bool is_of_the_plugin;             /* `kubectl fgpu` has it, too, and needs no way for it */
    bool is_elsewhere;                 /* in another program, which `run` starts with the same arguments */
};

struct program {
    const char *name;    /* "fgpu" */
    const char *called;  /* how its commands are called: "fgpu state", also those of fgpu-demo */
    const char *summary; /* of its manual page; NULL: it has none of its own */
    const char *purpose; /* the first line of --help */
    const struct command *commands;
    size_t command_n;
    const struct page *extra; /* options that stand in the line beside those of each command; NULL: none */
    /* Manual pages beside those of the program and its commands, into a folder; NULL: there are none. */
    int (*write_more_pages)(const char *dir, struct err *reterr);
};

/* Prepares the process (allocator, SIGPIPE) and runs the command that argv[1] names; --help, and --version if there is
 * a command "version". Two commands are not listed: __complete (cli/completion.h), and `man DIR`, which writes the
 * manual pages. Returns the exit code: that of the command, or EXIT_USAGE. */
int dispatch(const struct program *p, int argc, char **argv);

#endif
