/* cmd/serve_options.h - the command line of `fgpu serve`. */
#ifndef CMD_SERVE_OPTIONS_H
#define CMD_SERVE_OPTIONS_H

#include "cmd/runtime.h"

/* The limit that --wait=false sets. */
#define SERVE_UNREACHABLE_AFTER_S 10

/* Text belongs to argv; NULL: not given. */
struct serve_options {
    const char *config, *kubeconfig, *context, *write_config_to;
    const char *addresses[RUNTIME_LISTENER__MAX];
    const char *cert, *key, *client_ca;
    const char *election;
    const char *signing_key;
    const char *format;
    const char *wall_clock;
    int64_t wall_clock_ms; /* of `wall_clock` */
    const char *rehearse;  /* "true", "false" */
    int verbosity;         /* -1: as configured */
    bool wait;
};

/* Asked for, or not said and the clock is wrong. */
bool serve_options_rehearse(const struct serve_options *o);

/* EXIT_OK, or the exit code, with the reason on stderr; -1: help was printed. */
int serve_options_read(int argc, char **argv, struct serve_options *o);

/* Flags win over the file: with every configuration that is read, the first one and later ones. EXIT_OK or EXIT_USAGE:
 * what was accepted once is accepted again. */
int serve_options_override(const struct serve_options *o, struct config *c);

#endif
