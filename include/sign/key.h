/* sign/key.h - an Ed25519 key pair (RFC 8032): made, read, written, used.
 *
 * The private key is a file in PKCS#8 PEM (RFC 8410), the public one in PEM beside it: what `openssl genpkey
 * -algorithm ed25519` and `openssl pkey -pubout` write. Nobody names keys: the id of a key is the first
 * SIGN_KEY_ID_LEN hexadecimal digits of the SHA-256 of its public key in DER, so that
 *
 *     openssl pkey -pubin -in FILE.pub -outform DER | sha256sum | cut -c1-16
 *
 * prints it. The id only finds the key; what is believed is the signature.
 *
 * A `struct sign_key` is plain bytes that nobody writes after it was filled: any number of threads may sign with one.
 * It is wiped by its owner.
 */
#ifndef SIGN_KEY_H
#define SIGN_KEY_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

#define SIGN_KEY_ID_LEN 16
#define SIGN_KEY_BYTES 32 /* of the public key, and of the secret */
#define SIGN_SIGNATURE_BYTES 64

struct sign_public {
    uint8_t bytes[SIGN_KEY_BYTES];
    char id[SIGN_KEY_ID_LEN + 1];
};

struct sign_key {
    uint8_t secret[SIGN_KEY_BYTES]; /* never shown, logged or written but by sign_key_write */
    struct sign_public public_;
};

/* A new one, of the operating system's randomness. */
WARN_UNUSED int sign_key_make(struct sign_key *ret, struct err *reterr);

/* Errors name the file and what to do. `*ret_warning` (may be NULL) becomes a sentence when others than the owner may
 * read the file, else NULL. Not warned about: a file that kubelet mounts (a link into "..data/"), which its pod is
 * meant to read, and a credential of systemd (in $CREDENTIALS_DIRECTORY, nothing for others). ERR_NOT_FOUND,
 * ERR_DENIED, ERR_INVALID, ERR_LIMIT. */
WARN_UNUSED int sign_key_read(const char *path, struct sign_key *ret, const char **ret_warning, struct err *reterr);

/* Writes the private key to `path`, readable by the owner alone, and the public one to `path`.pub. Never over a file
 * that is there. ERR_CONFLICT: one of them is; else ERR_DENIED, ERR_NOT_FOUND, ERR_INTERNAL. */
WARN_UNUSED int sign_key_write(const struct sign_key *key, const char *path, struct err *reterr);

void sign_key_wipe(struct sign_key *key);

/* ERR_INTERNAL: the library failed. */
WARN_UNUSED int sign_bytes(const struct sign_key *key, struct str bytes, uint8_t ret[SIGN_SIGNATURE_BYTES],
                           struct err *reterr);
/* Did the owner of the key sign exactly these bytes? */
bool sign_verify(const struct sign_public *key, struct str bytes, const uint8_t signature[SIGN_SIGNATURE_BYTES]);

#endif
