#include "extender/record.h"

#include <string.h>

#define PROOF_HEAD_BYTES (SIGN_KEY_ID_LEN + SIGN_SIGNATURE_BYTES)

_Static_assert(ASSIGNMENT_SIG_BYTES == SIGN_SIGNATURE_BYTES, "a record's signature is one of ours");
_Static_assert(ASSIGNMENT_SIG_KEY_BYTES_MAX >= SIGN_KEY_ID_LEN, "a key's id fits a record");

int record_sign(struct signing *signing, struct assignment *as, struct str pod_uid, struct str node_name,
                struct arena *a, struct err *reterr)
{
    const struct sign_keyring *keys;
    const struct sign_key *key;
    struct str bytes;
    uint8_t *signature;
    int rc;

    if (signing == NULL) {
        return 0;
    }
    rc = assignment_signed_bytes(as, pod_uid, node_name, a, &bytes, reterr);
    if (rc != 0) {
        return rc;
    }
    keys = signing_take(signing);
    key = sign_keyring_private(keys);
    signature = arena_alloc(a, SIGN_SIGNATURE_BYTES);
    if (key == NULL) {
        rc = err_set(reterr, ERR_INTERNAL, "there is no private key for signing; give signing.privateKey");
    } else if (signature == NULL) {
        rc = err_set(reterr, ERR_LIMIT, "out of memory for this request");
    } else {
        rc = sign_bytes(key, bytes, signature, reterr);
        as->sig_key = arena_str(a, str_of(key->public_.id));
        as->sig = signature;
    }
    sign_keyring_put(keys);
    return rc;
}

/* ---- judging ---- */

static bool is_known(struct signing *signing, struct str key_id)
{
    const struct sign_keyring *keys = signing_take(signing);
    const bool known = sign_keyring_find(keys, key_id) != NULL;

    sign_keyring_put(keys);
    return known;
}

/* The id of a known key has SIGN_KEY_ID_LEN bytes. False: the arena is full. */
static bool make_proof(const struct assignment *as, struct str uid, struct str node_name, struct arena *a,
                       struct str *ret)
{
    struct str bytes;
    char *p;

    if (assignment_signed_bytes(as, uid, node_name, a, &bytes, NULL) != 0) {
        return false;
    }
    p = arena_alloc(a, PROOF_HEAD_BYTES + bytes.n);
    if (p == NULL) {
        return false;
    }
    memcpy(p, as->sig_key.p, SIGN_KEY_ID_LEN);
    memcpy(p + SIGN_KEY_ID_LEN, as->sig, SIGN_SIGNATURE_BYTES);
    memcpy(p + PROOF_HEAD_BYTES, bytes.p, bytes.n);
    *ret = (struct str){p, PROOF_HEAD_BYTES + bytes.n};
    return true;
}

void record_remember(struct signing *signing, const struct assignment *as, struct str pod_uid, struct str node_name,
                     struct arena *a)
{
    struct str proof;

    if (signing != NULL && as->sig != NULL && make_proof(as, pod_uid, node_name, a, &proof)) {
        signing_remember(signing, proof);
    }
}

bool record_judge(struct signing *signing, int64_t accept_unsigned_before_ms, const struct pod *pod,
                  const struct assignment *as, struct arena *a, struct record_judgement *ret)
{
    *ret = (struct record_judgement){.trust = RECORD_UNSIGNED};
    if (signing == NULL) {
        ret->counts = true;
        return true;
    }
    if (as->sig == NULL || !is_known(signing, as->sig_key)) {
        /* created_ms 0: nobody knows when */
        ret->counts = pod->created_ms > 0 && pod->created_ms < accept_unsigned_before_ms;
        ret->why =
            as->sig == NULL ? "the record is not signed" : "the record is signed by a key that is not known here";
        return true;
    }
    ret->counts = true;
    ret->trust = RECORD_PROVISIONAL;
    return make_proof(as, pod->uid, pod->node_name, a, &ret->proof);
}

bool record_proof_has_key(const struct sign_keyring *keys, struct str proof)
{
    return proof.n > PROOF_HEAD_BYTES && sign_keyring_find(keys, (struct str){proof.p, SIGN_KEY_ID_LEN}) != NULL;
}

bool record_proof_holds(const struct sign_keyring *keys, struct str proof)
{
    const struct sign_public *key;

    if (proof.n <= PROOF_HEAD_BYTES) {
        return false;
    }
    key = sign_keyring_find(keys, (struct str){proof.p, SIGN_KEY_ID_LEN});
    return key != NULL &&
           sign_verify(key, str_drop(proof, PROOF_HEAD_BYTES), (const uint8_t *)proof.p + SIGN_KEY_ID_LEN);
}
