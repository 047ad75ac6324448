/* extender/record.h - the record that a pod carries: signed when it is written, judged when it is read.
 *
 * Which records mean something (design.md 3.1.1, 5a; decision 0036), `signing` being the keys in use:
 *
 *   signing off (NULL)                 as before records were signed, whatever signature stands there
 *   signed by a key that is known      believed provisionally; its proof goes to the ledger, and whoever verifies it
 *                                      (extender/verifier.h) says later what it is worth. Verified before anybody
 *                                      believes it, if it is not the pod's first (ledger_must_verify); and verified
 *                                      without computing anything, if this process has just written it
 *   not signed, or by a key that is    as before, if the pod was created before acceptUnsignedBefore (an upgrade, or a
 *   not known                          lost key: a signature that nobody can check is worth no less than none); else it
 *                                      grants nothing
 *
 * A proof is what a verdict needs and nothing more: the id of the key, the signature, the bytes it covers. The ledger
 * compares it byte by byte and never looks inside.
 */
#ifndef EXTENDER_RECORD_H
#define EXTENDER_RECORD_H

#include "base/arena.h"
#include "base/err.h"
#include "core/ledger/ledger.h"
#include "core/record/assignment.h"
#include "extender/signing.h"
#include "model/pod.h"

#include <stdbool.h>
#include <stdint.h>

/* Signs the record of this pod on this node, in `a`. Does nothing with
 * signing off. ERR_INTERNAL: there is no private key, or it cannot sign. ERR_LIMIT: the arena is full. */
WARN_UNUSED int record_sign(struct signing *signing, struct assignment *as, struct str pod_uid, struct str node_name,
                            struct arena *a, struct err *reterr);

/* After that, when the record is about to be written: the ingest recognizes it when it comes back (signing_remember).
 */
void record_remember(struct signing *signing, const struct assignment *as, struct str pod_uid, struct str node_name,
                     struct arena *a);

struct record_judgement {
    bool counts;             /* else it grants nothing */
    const char *why;         /* static sentence, when it does not */
    enum record_trust trust; /* when it does */
    struct str proof;        /* in `a`, when it is provisional */
};
/* False: the arena is full. */
WARN_UNUSED bool record_judge(struct signing *signing, int64_t accept_unsigned_before_ms, const struct pod *pod,
                              const struct assignment *as, struct arena *a, struct record_judgement *ret);

/* Is the key that the proof names in the ring? Also false for what is no proof. */
bool record_proof_has_key(const struct sign_keyring *keys, struct str proof);
/* Did it sign what the proof says? */
bool record_proof_holds(const struct sign_keyring *keys, struct str proof);

#endif
