/* fgpu: dispatches to a subcommand, nothing else. */
#include "cmd/commands.h"

#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

struct command {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
    {"serve", "the scheduler extender: webhook verbs, ledger, /state, metrics", cmd_serve},
    {"demo", "the whole thing without a cluster, live in the terminal", cmd_demo},
    {"sim", "replay a trace under one or several strategies", cmd_sim},
    {"check-config", "validate a configuration file", cmd_check_config},
    {"whatif", "show what another configuration would change in the cluster", cmd_whatif},
    {"state", "show nodes, GPUs and the pods that hold them, of a running extender", cmd_state},
    {"frag", "show fragmentation and what still fits, of a running extender", cmd_frag},
    {"signing-key", "make the key that signs records", cmd_signing_key},
    {"apiserver", "the simulated API server of the demo by itself, for tests", cmd_apiserver},
    {"version", "print the version of fgpu and of its libraries", cmd_version},
};

static void print_help(FILE *out)
{
    fprintf(out, "fgpu lets many pods share one GPU: a scheduler extender for Kubernetes.\n\n"
                 "Usage: fgpu COMMAND [options]    (fgpu COMMAND --help explains one)\n\n");
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        fprintf(out, "  %-14s %s\n", commands[i].name, commands[i].summary);
    }
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;

    /* Every request takes and gives back a megabyte or more; giving it back to the kernel each time costs a
     * quarter of filter at 5,000 nodes in page faults. */
    mallopt(M_MMAP_THRESHOLD, 32 << 20); /* the largest that glibc takes */
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
    signal(SIGPIPE, SIG_IGN); /* a caller that hangs up is an error of one write, not our end */
    if (name == NULL) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_help(stdout);
        return EXIT_OK;
    }
    if (strcmp(name, "--version") == 0) {
        name = "version";
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(name, commands[i].name) == 0) {
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    fprintf(stderr, "fgpu: unknown command \"%s\"; fgpu --help lists them\n", name);
    return EXIT_USAGE;
}
