/* kube/identity.h - who we are for the API server at this moment, and whom we trust.
 *
 * Credentials change while we run: the kubelet replaces a token at 80 % of its life, certificates
 * and the CA behind them are rotated, an exec plugin's answer expires. Every exchange takes the
 * proof of the moment with identity_get() and says with identity_answered() what came of it.
 *
 * - Files (token, CA, client certificate and key) are read again when the copy is older than
 *   IDENTITY_AGE_MAX_S, and at the next use after a 401 or a failed connection. They are opened by
 *   path, so a swapped symbolic link (the way ConfigMaps and Secrets change) is seen. A file that
 *   cannot be read, or holds something else, changes nothing, except that a token that was rejected
 *   and cannot be read again is not used any more. Certificate and key are taken from one moment.
 * - An exec plugin runs on a thread of its own, never on that of whoever asks: before its answer
 *   expires (at 90 % of its life), and after a 401. Meanwhile a proof that is still good is used,
 *   otherwise identity_get() says ERR_UNAVAILABLE: ask again in a moment.
 * - A 401 is tried once more by whoever got it. After a second one in a row nothing is sent for 1
 * s, doubling to 30 s with every further 401; then one exchange tries. New content of a file ends
 *   that at once, and files are looked at every second meanwhile; a plugin's answer does not.
 *
 * Sources: client-go transport/token_source.go, plugin/pkg/client/auth/exec (contract.md 5.6).
 *
 * Safe to use from several threads. Secrets are wiped from memory when replaced, and no message or
 * log record holds one.
 */
#ifndef KUBE_IDENTITY_H
#define KUBE_IDENTITY_H

#include "base/clock.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/log.h"
#include "model/credentials.h"

#include <stdbool.h>
#include <stdint.h>

#define IDENTITY_AGE_MAX_S 50 /* a minute, less 10 s that a request may take */
#define IDENTITY_TOKEN_BYTES_MAX (64U * 1024)

struct identity;

struct identity_options {
    const struct clock *clock; /* NULL: the system's */
    const struct log *log;     /* NULL: silent */
};

/* Borrows `creds` and the clock. Starts a thread if the credentials have an exec plugin.
 * ERR_INTERNAL. */
WARN_UNUSED int identity_new(const struct credentials *creds, const struct identity_options *options,
                             struct identity **ret, struct err *reterr);
/* Ends the plugin's run and joins its thread. NULL is fine. */
void identity_free(struct identity *id);

/* Immutable, counted. Paths name files that exist in memory only, as long as the proof lives; equal
 * paths mean equal content. */
struct proof {
    uint64_t generation;       /* of the identity; from 1 */
    const char *authorization; /* "Authorization: Bearer ..."; NULL: none */
    const char *ca_path;       /* NULL: none */
    const char *cert_path;
    const char *key_path;
};

/* One reference for proof_unref.
 *   ERR_UNAVAILABLE  the exec plugin is at work and there is nothing to use meanwhile
 *   ERR_DENIED       the credentials were rejected and it is too early to try again, or the plugin
 *                    has failed; the message says which
 *   or why a token cannot be had at all */
WARN_UNUSED int identity_get(struct identity *id, const struct proof **ret, struct err *reterr);
void proof_unref(const struct proof *p); /* NULL is fine */

/* What came of an exchange with that proof, begun (monotonic) at begun_ns: the HTTP status of the
 * reply, 0 for a connection that failed. Proofs that were replaced in the meantime are ignored, and
 * of several exchanges that ran side by side only the first 401 counts. */
void identity_answered(struct identity *id, const struct proof *p, int64_t begun_ns, int http_status);

/* After a 401: may there be something else to show than `p`, so that trying at once makes sense? */
bool identity_has_more(struct identity *id, const struct proof *p);

struct identity_stats {
    uint64_t renewed_n;    /* proofs after the first */
    uint64_t rejected_n;   /* 401 that counted */
    uint64_t unreadable_n; /* files that could not be read again */
    uint64_t plugin_run_n;
    uint64_t plugin_failed_n;
    const char *trouble; /* static sentence; NULL: the credentials work, or nobody has tried */
};

void identity_stats(struct identity *id, struct identity_stats *ret);

#endif
