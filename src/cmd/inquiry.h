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
#include "cmd/options.h"

#include <stdbool.h>

#define INQUIRY_SERVER "http://127.0.0.1:9442"

struct inquiry {
    const char *command;
    const char *server;               /* without a trailing slash */
    const char *token_file;           /* NULL: none */
    const char *ca_file;              /* NULL: the system's */
    const char *cert_file, *key_file; /* of a client certificate; NULL: none */
    const char *state_file;           /* NULL: ask the server */
    bool json;
};

/* Rows of a page, whose values go into a struct that begins with a struct inquiry. `output_text` says what json is. */
#define INQUIRY_SERVER_ROWS(output_text)                                                                               \
    {"server", .value = "URL", .text = "ops listener of the extender, default " INQUIRY_SERVER,                        \
     .id = OPTION_AT(struct inquiry, server)},                                                                         \
        {"token-file", .value = "FILE", .text = "bearer token, for a listener that is not on loopback",                \
         .id = OPTION_AT(struct inquiry, token_file)},                                                                 \
        {"ca-file", .value = "FILE", .text = "PEM with the CA of its certificate; without it the CAs of the system",   \
         .id = OPTION_AT(struct inquiry, ca_file)},                                                                    \
        {"cert-file", .value = "FILE", .text = "PEM with a client certificate, for a listener that asks for one",      \
         .id = OPTION_AT(struct inquiry, cert_file)},                                                                  \
        {"key-file", .value = "FILE", .text = "PEM with its key", .id = OPTION_AT(struct inquiry, key_file)},          \
    {                                                                                                                  \
        "output", 'o', "table|json", (output_text)                                                                     \
    }
/* The same of commands that a saved /state is enough for. */
#define INQUIRY_ROWS(output_text)                                                                                      \
    {"state", .value = "FILE", .text = "reads a saved /state instead (curl URL/state > FILE)",                         \
     .id = OPTION_AT(struct inquiry, state_file)},                                                                     \
        INQUIRY_SERVER_ROWS(output_text)
#define INQUIRY_EXIT_CODES "0 ok, 1 no answer, 2 usage"

/* Rows of the long options, and their lines of help. Into a struct that begins with a struct inquiry. */
#define INQUIRY_SERVER_OPTIONS                                                                                         \
    OPTION_TEXT("server", struct inquiry, server), OPTION_TEXT("token-file", struct inquiry, token_file),              \
        OPTION_TEXT("ca-file", struct inquiry, ca_file),                                                               \
    {                                                                                                                  \
        "output", required_argument, NULL, 'o'                                                                         \
    }
#define INQUIRY_SERVER_HELP                                                                                            \
    "  --server URL      ops listener of the extender, default " INQUIRY_SERVER "\n"                                   \
    "  --token-file FILE bearer token, for a listener that is not on loopback\n"                                       \
    "  --ca-file FILE    PEM with the CA of its certificate; without it the CAs of the system\n"
/* The same of commands that a saved /state is enough for. */
#define INQUIRY_OPTIONS OPTION_TEXT("state", struct inquiry, state_file), INQUIRY_SERVER_OPTIONS
#define INQUIRY_HELP                                                                                                   \
    INQUIRY_SERVER_HELP                                                                                                \
    "  --state FILE      reads a saved /state instead (curl URL/state > FILE)\n"                                       \
    "  -o table|json\n"

/* The server of who names none, instead of INQUIRY_SERVER; its text is borrowed for ever. */
void inquiry_set_default_server(const char *url);

/* For struct command_line: takes -o. */
int inquiry_take(void *ret, int option, const char *value);
/* Reads a command line into a struct that begins with `q`. False: there is nothing to do, *ret_code is the exit code.
 */
bool inquiry_read(const struct command_line *l, int argc, char **argv, struct inquiry *q, int *ret_code);

/* The document of /state, whole or, with `summary` and from a server, its summary only.
 *   ERR_UNAVAILABLE  nobody answers
 *   ERR_DENIED       it wants a token, or another one
 *   others           as of files and servers */
WARN_UNUSED int inquiry_state(const struct inquiry *q, bool summary, struct strbuf *out, struct err *reterr);

/* What the server answers to GET of this path, "/v1/..."; errors as above, and ERR_INVALID: it does not take the
 * question. */
WARN_UNUSED int inquiry_get(const struct inquiry *q, const char *path, struct strbuf *out, struct err *reterr);

/* Where the document is from, for messages about it. */
const char *inquiry_source(const struct inquiry *q);

#endif
