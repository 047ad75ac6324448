/* sign/keyring.h - the keys of one moment: the private one that new records are signed with, and all public ones whose
 * signatures are believed.
 *
 * Immutable and counted, so threads share one; other keys are another keyring, read as a whole or not at all. The
 * public half of the private key always belongs to it.
 *
 * A public key is a file with one or more PEM blocks "PUBLIC KEY" or "CERTIFICATE" (text between them is passed over),
 * or a directory: then every file in it whose name ends in ".pub". Duplicates are one key. Of a certificate only the
 * key counts, as if it were written alone: not who signed it and not until when it is valid (decision 0075).
 */
#ifndef SIGN_KEYRING_H
#define SIGN_KEYRING_H

#include "sign/key.h"

#include <stddef.h>

#define SIGN_KEYS_MAX 64

/* Where keys are. Texts are NUL-terminated and borrowed. */
struct sign_files {
    const char *private_key; /* NULL: nothing is signed, only verified */
    const struct str *public_keys;
    size_t public_key_n;
};

struct sign_keyring;

/* ret_warning as in sign_key_read. ERR_INVALID, among others: no key at all, a private key where a public one should
 * be, a key that is not Ed25519, a directory without a key. */
WARN_UNUSED int sign_keyring_read(const struct sign_files *files, struct sign_keyring **ret, const char **ret_warning,
                                  struct err *reterr);
/* Of this one alone; the key is copied. For what lives no longer than the process: demonstrations and tests. */
struct sign_keyring *sign_keyring_of(const struct sign_key *key);

/* One more owner; returns k. Thread-safe, as is the end. */
const struct sign_keyring *sign_keyring_ref(const struct sign_keyring *k);
/* One owner less; the last one wipes and frees. NULL is fine. */
void sign_keyring_put(const struct sign_keyring *k);

const struct sign_key *sign_keyring_private(const struct sign_keyring *k); /* NULL: none */
/* The key with this id, or NULL. */
const struct sign_public *sign_keyring_find(const struct sign_keyring *k, struct str id);
/* All of them, the private key's first, then by id. */
size_t sign_keyring_publics(const struct sign_keyring *k, const struct sign_public **ret);
/* The same private key and the same public ones? */
bool sign_keyring_equal(const struct sign_keyring *a, const struct sign_keyring *b);

#endif
