/* cmd/inquiry.h - what the read-only commands have in common: where the state of a running extender
 * comes from.
 *
 * From its ops listener over HTTP (kube/transport.h: TLS, tokens, and no token over plain HTTP to
 * another host), or from a file that /state was saved to. Reads only, never anything else.
 */
#ifndef CMD_INQUIRY_H
#define CMD_INQUIRY_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/strbuf.h"

#include <getopt.h>
#include <stdbool.h>

#define INQUIRY_SERVER "http://127.0.0.1:9442"

struct inquiry {
    const char *server;     /* without a trailing slash */
    const char *token_file; /* NULL: none */
    const char *ca_file;    /* NULL: the system's */
    const char *state_file; /* NULL: ask the server */
    bool json;
};

enum { INQUIRY_OPT_SERVER = 512, INQUIRY_OPT_TOKEN, INQUIRY_OPT_CA, INQUIRY_OPT_STATE };

/* Rows of the long options, and their lines of help. */
#define INQUIRY_OPTIONS                                                                                                \
    {"server", required_argument, NULL, INQUIRY_OPT_SERVER},                                                           \
        {"token-file", required_argument, NULL, INQUIRY_OPT_TOKEN},                                                    \
        {"ca-file", required_argument, NULL, INQUIRY_OPT_CA}, {"state", required_argument, NULL, INQUIRY_OPT_STATE},   \
    {                                                                                                                  \
        "output", required_argument, NULL, 'o'                                                                         \
    }
#define INQUIRY_HELP                                                                                                   \
    "  --server URL      ops listener of the extender, default " INQUIRY_SERVER "\n"                                   \
    "  --token-file FILE bearer token, for a listener that is not on loopback\n"                                       \
    "  --ca-file FILE    PEM with the CA of its certificate; without it the CAs of the system\n"                       \
    "  --state FILE      reads a saved /state instead (curl URL/state > FILE)\n"                                       \
    "  -o table|json\n"

/* A command that asks. */
struct inquiry_command {
    const char *name;
    const struct option *options; /* INQUIRY_OPTIONS, --help as 'h', its own */
    void (*print_help)(void);
    bool (*own)(void *ctx, int c, const char *value); /* takes one of its own; NULL: it has none */
    const char *(*problem)(void *ctx);                /* NULL, or what is missing; NULL: nothing can be */
    void *ctx;
};
/* Reads the command line. False: there is nothing to do, *ret_code is the exit code. */
bool inquiry_read(struct inquiry *q, const struct inquiry_command *cmd, int argc, char **argv, int *ret_code);

/* The document of /state, whole or, with `summary` and from a server, its summary only.
 *   ERR_UNAVAILABLE  nobody answers
 *   ERR_DENIED       it wants a token, or another one
 *   others           as of files and servers */
WARN_UNUSED int inquiry_state(const struct inquiry *q, bool summary, struct strbuf *out, struct err *reterr);

#endif
