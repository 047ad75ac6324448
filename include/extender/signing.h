/* extender/signing.h - the keys in use, while they change under everybody.
 *
 * Holds the keyring of the moment (sign/keyring.h). Who signs or verifies takes it, and goes by it to the end of that
 * record. The files are looked at by the verifier's thread (extender/verifier.h): new content counts from the second
 * look on that shows it, because a file may be half written; if it is wrong, and while it is, the old keys stay, and
 * that is logged once per change. kubelet changes a mounted Secret by swapping a link, which is one such change.
 *
 * Other public keys mean that records are believed that were not, or the other way round: then all pods must be listed
 * again, which whoever looks sees to.
 *
 * Thread-safe; its lock is held for a few assignments.
 */
#ifndef EXTENDER_SIGNING_H
#define EXTENDER_SIGNING_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/log.h"
#include "sign/keyring.h"

#include <stdbool.h>
#include <stdint.h>

struct signing;

struct signing_options {
    struct sign_files files; /* copied; no private key and no public ones: nothing to look at again */
    const struct log *log;
};

/* Reads the files. Errors as sign_keyring_read. */
WARN_UNUSED int signing_new(const struct signing_options *o, struct signing **ret, struct err *reterr);
/* With a key that nobody has but this process: records of others, and of an earlier one, are not believed. For
 * demonstrations and tests. */
WARN_UNUSED int signing_new_ephemeral(const struct log *log, struct signing **ret, struct err *reterr);
void signing_free(struct signing *s); /* NULL is fine */

/* The keys of this moment; end with sign_keyring_put. */
const struct sign_keyring *signing_take(struct signing *s);

/* Looks at the files. `at_once`: new content counts now. True: the public keys are others than before. */
bool signing_look(struct signing *s, bool at_once);

/* What became of records since the start. */
struct signing_stats {
    uint64_t verified_n; /* signatures that were verified and hold, or were recognized */
    uint64_t recognized_n;
    uint64_t refuted_n; /* ... and do not */
    uint64_t ignored_n; /* observations of records without a signature, or with one by an unknown key */
    uint64_t reload_n, reload_failed_n;
};
void signing_stats(struct signing *s, struct signing_stats *ret);

enum signing_outcome { SIGNING_VERIFIED, SIGNING_REFUTED, SIGNING_IGNORED };
void signing_count(struct signing *s, enum signing_outcome outcome);

/* What this process signed lately: the proof of a record (extender/record.h), copied. The last SIGNING_REMEMBERED are
 * kept that have at most SIGNING_REMEMBERED_BYTES, until they are recognized. */
#define SIGNING_REMEMBERED 1024 /* a watch that is some seconds late in a burst */
#define SIGNING_REMEMBERED_BYTES 1024
void signing_remember(struct signing *s, struct str proof);
/* Is it one of these, byte for byte? Then its signature is the one that was made here, and holds as long as its key is
 * believed; to verify it would take 0.1 ms. True once for each. */
bool signing_recognizes(struct signing *s, struct str proof);

/* A record waits to be verified: wakes who waits for that. */
void signing_wake(struct signing *s);
/* Waits for signing_wake, at most so long. True: one came since the last call. */
bool signing_wait(struct signing *s, int64_t timeout_ms);

#endif
