/* kube/exec_plugin.h - one run of a program that makes credentials, and what it said.
 *
 * The program gets KUBERNETES_EXEC_INFO, our environment and the variables configured for it, an
 * empty standard input and no other descriptor of ours, in a process group of its own. It has to
 * end with exit code 0 before the time limit and to print one ExecCredential of the configured
 * version. Whatever happens, when the call returns its whole process group has been killed and the
 * child was reaped.
 *
 * Source: client-go plugin/pkg/client/auth/exec; pkg/apis/clientauthentication/v1 ExecCredential.
 */
#ifndef KUBE_EXEC_PLUGIN_H
#define KUBE_EXEC_PLUGIN_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"
#include "model/credentials.h"

#include <stdatomic.h>
#include <stdint.h>

#define EXEC_PLUGIN_TIMEOUT_MS (60 * 1000)
#define EXEC_PLUGIN_OUTPUT_MAX (1024U * 1024)

/* Owned text; exec_credential_fini frees and wipes it. */
struct exec_credential {
    char *token;    /* NULL: none */
    char *cert_pem; /* NULL: none; with its key or not at all */
    char *key_pem;
    int64_t expires_wall_ms; /* INT64_MAX: it does not say */
};

void exec_credential_fini(struct exec_credential *c);

/* Reads what the program printed. ERR_PARSE, ERR_INVALID; messages never repeat the text. */
WARN_UNUSED int exec_credential_parse(struct str text, const char *api_version, struct exec_credential *ret,
                                      struct err *reterr);

/* Runs it and waits; for a thread that has time. `cancel` (may be NULL) becoming true ends it soon.
 *   ERR_NOT_FOUND    the command cannot be started; the message has the install hint
 *   ERR_UNAVAILABLE  it failed; the message has its exit code and the end of its error output,
 *                    without words long enough to be a secret
 *   ERR_TIMEOUT, ERR_CANCELLED, ERR_LIMIT (output), ERR_INTERNAL, or what parsing gave */
WARN_UNUSED int exec_plugin_run(const struct credentials_exec *e, int64_t timeout_ms, const atomic_bool *cancel,
                                struct exec_credential *ret, struct err *reterr);

#endif
