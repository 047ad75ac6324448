/* sign/key.c - one key pair, over GnuTLS.
 *
 * GnuTLS promises thread safety only where one thread uses an object; so a key is kept as bytes, and the library's
 * object lives for one call. */
#include "sign/key.h"

#include "base/bug.h"
#include "sign/pem_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES_MAX 4096

/* SubjectPublicKeyInfo of an Ed25519 key, up to its 32 bytes (RFC 8410 section 4). */
static const uint8_t SPKI_HEAD[] = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};

/* The id, from the bytes. */
static void name_public(struct sign_public *k)
{
    uint8_t der[sizeof(SPKI_HEAD) + SIGN_KEY_BYTES], digest[32];

    memcpy(der, SPKI_HEAD, sizeof(SPKI_HEAD));
    memcpy(der + sizeof(SPKI_HEAD), k->bytes, SIGN_KEY_BYTES);
    BUG_ON(gnutls_hash_fast(GNUTLS_DIG_SHA256, der, sizeof(der), digest) != 0);
    for (size_t i = 0; i < SIGN_KEY_ID_LEN / 2; i++) {
        (void)snprintf(k->id + 2 * i, 3, "%02x", digest[i]);
    }
}

/* ---- from the library's objects ---- */

static bool take_bytes(const gnutls_datum_t *from, uint8_t to[SIGN_KEY_BYTES])
{
    if (from->size != SIGN_KEY_BYTES) {
        return false;
    }
    memcpy(to, from->data, SIGN_KEY_BYTES);
    return true;
}

/* False: not an Ed25519 key. */
static bool take_private(gnutls_x509_privkey_t from, struct sign_key *ret)
{
    gnutls_datum_t x = {NULL, 0}, y = {NULL, 0}, k = {NULL, 0};
    gnutls_ecc_curve_t curve;
    bool ok = gnutls_x509_privkey_get_pk_algorithm(from) == GNUTLS_PK_EDDSA_ED25519 &&
              gnutls_x509_privkey_export_ecc_raw(from, &curve, &x, &y, &k) == 0 && take_bytes(&x, ret->public_.bytes) &&
              take_bytes(&k, ret->secret);

    if (k.data != NULL) {
        gnutls_memset(k.data, 0, k.size);
    }
    gnutls_free(x.data);
    gnutls_free(y.data);
    gnutls_free(k.data);
    if (ok) {
        name_public(&ret->public_);
    }
    return ok;
}

int sign_key_make(struct sign_key *ret, struct err *reterr)
{
    gnutls_x509_privkey_t key;
    int rc = gnutls_x509_privkey_init(&key);
    bool ok;

    BUG_ON(rc < 0); /* memory */
    rc = gnutls_x509_privkey_generate(key, GNUTLS_PK_EDDSA_ED25519, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_ED25519), 0);
    ok = rc == 0 && take_private(key, ret);
    gnutls_x509_privkey_deinit(key);
    return ok ? 0 : err_set(reterr, ERR_INTERNAL, "cannot make an Ed25519 key: %s", gnutls_strerror(rc));
}

static int parse_private(const char *path, struct str text, struct sign_key *ret, struct err *reterr)
{
    const gnutls_datum_t pem = {(unsigned char *)(uintptr_t)text.p, (unsigned)text.n};
    gnutls_x509_privkey_t key;
    int rc = gnutls_x509_privkey_init(&key);
    bool ok;

    BUG_ON(rc < 0); /* memory */
    rc = gnutls_x509_privkey_import_pkcs8(key, &pem, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN);
    ok = rc == 0 && take_private(key, ret);
    gnutls_x509_privkey_deinit(key);
    if (rc != 0) {
        return pem_refuse(path,
                          "is not a private key in PKCS#8 PEM without a password; make one with `fgpu "
                          "signing-key --out FILE`",
                          rc, reterr);
    }
    return ok ? 0
              : err_set(reterr, ERR_INVALID,
                        "%s: holds a private key that is not Ed25519; make one with `fgpu signing-key --out FILE`",
                        path);
}

/* The key that a certificate is about. */
static int import_certificate(gnutls_pubkey_t key, const gnutls_datum_t *pem)
{
    gnutls_x509_crt_t crt = NULL;
    int rc = gnutls_x509_crt_init(&crt);

    BUG_ON(rc < 0); /* memory */
    rc = gnutls_x509_crt_import(crt, pem, GNUTLS_X509_FMT_PEM);
    rc = rc < 0 ? rc : gnutls_pubkey_import_x509(key, crt, 0);
    gnutls_x509_crt_deinit(crt);
    return rc;
}

int sign_public_parse(const char *path, struct str label, struct str block, struct sign_public *ret, struct err *reterr)
{
    const gnutls_datum_t pem = {(unsigned char *)(uintptr_t)block.p, (unsigned)block.n};
    gnutls_datum_t x = {NULL, 0}, y = {NULL, 0};
    gnutls_ecc_curve_t curve;
    gnutls_pubkey_t key;
    int rc = gnutls_pubkey_init(&key);
    bool ok;

    BUG_ON(rc < 0); /* memory */
    rc = str_eq(label, STR("CERTIFICATE")) ? import_certificate(key, &pem)
                                           : gnutls_pubkey_import(key, &pem, GNUTLS_X509_FMT_PEM);
    ok = rc == 0 && gnutls_pubkey_get_pk_algorithm(key, NULL) == GNUTLS_PK_EDDSA_ED25519 &&
         gnutls_pubkey_export_ecc_raw(key, &curve, &x, &y) == 0 && take_bytes(&x, ret->bytes);
    gnutls_free(x.data);
    gnutls_free(y.data);
    gnutls_pubkey_deinit(key);
    if (rc != 0) {
        return pem_refuse(path, "a block PUBLIC KEY or CERTIFICATE cannot be read", rc, reterr);
    }
    if (!ok) {
        return err_set(reterr, ERR_INVALID, "%s: holds a public key that is not Ed25519", path);
    }
    name_public(ret);
    return 0;
}

/* ---- reading ---- */

/* kubelet mounts a Secret as links to ..data/NAME, readable by all of the pod. */
static bool is_mounted(const char *path)
{
    char target[PATH_BYTES_MAX];
    const ssize_t n = readlink(path, target, sizeof(target));

    return n > 0 && str_starts((struct str){target, (size_t)n}, STR("..data/"));
}

/* systemd's LoadCredential: root's file, which the user of the service reads by an ACL. stat shows the mask of that as
 * the group's. */
static bool is_credential(const char *path, mode_t mode)
{
    const char *folder = getenv("CREDENTIALS_DIRECTORY");
    const size_t n = folder == NULL ? 0 : strlen(folder);

    return n > 0 && strncmp(path, folder, n) == 0 && path[n] == '/' && (mode & S_IRWXO) == 0;
}

static const char *reading_warning(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0 || (st.st_mode & (S_IRWXG | S_IRWXO)) == 0 || is_mounted(path) ||
        is_credential(path, st.st_mode)) {
        return NULL;
    }
    return "The file of the private signing key can be read by others than its owner; chmod 600 it";
}

int sign_key_read(const char *path, struct sign_key *ret, const char **ret_warning, struct err *reterr)
{
    struct strbuf text;
    struct sign_key key;
    int rc = pem_read(path, &text, reterr);

    if (rc != 0) {
        return rc;
    }
    rc = parse_private(path, strbuf_view(&text), &key, reterr);
    pem_wipe(&text);
    if (rc == 0) {
        *ret = key;
        sign_key_wipe(&key);
        if (ret_warning != NULL) {
            *ret_warning = reading_warning(path);
        }
    }
    return rc;
}

void sign_key_wipe(struct sign_key *key)
{
    gnutls_memset(key, 0, sizeof(*key));
}

/* ---- writing ---- */

static gnutls_privkey_t open_private(const struct sign_key *key)
{
    const gnutls_datum_t x = {(unsigned char *)(uintptr_t)key->public_.bytes, SIGN_KEY_BYTES};
    const gnutls_datum_t k = {(unsigned char *)(uintptr_t)key->secret, SIGN_KEY_BYTES};
    gnutls_privkey_t ret;

    BUG_ON(gnutls_privkey_init(&ret) != 0); /* memory */
    if (gnutls_privkey_import_ecc_raw(ret, GNUTLS_ECC_CURVE_ED25519, &x, NULL, &k) != 0) {
        gnutls_privkey_deinit(ret);
        return NULL;
    }
    return ret;
}

static gnutls_pubkey_t open_public(const struct sign_public *key)
{
    const gnutls_datum_t x = {(unsigned char *)(uintptr_t)key->bytes, SIGN_KEY_BYTES};
    gnutls_pubkey_t ret;

    BUG_ON(gnutls_pubkey_init(&ret) != 0); /* memory */
    if (gnutls_pubkey_import_ecc_raw(ret, GNUTLS_ECC_CURVE_ED25519, &x, NULL) != 0) {
        gnutls_pubkey_deinit(ret);
        return NULL;
    }
    return ret;
}

static int private_pem(const struct sign_key *key, gnutls_datum_t *ret)
{
    gnutls_privkey_t opened = open_private(key);
    gnutls_x509_privkey_t exported = NULL;
    int rc = opened == NULL ? -1 : gnutls_privkey_export_x509(opened, &exported);

    if (rc == 0) {
        rc = gnutls_x509_privkey_export2_pkcs8(exported, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN, ret);
    }
    gnutls_x509_privkey_deinit(exported);
    gnutls_privkey_deinit(opened);
    return rc;
}

static int public_pem(const struct sign_public *key, gnutls_datum_t *ret)
{
    gnutls_pubkey_t opened = open_public(key);
    const int rc = opened == NULL ? -1 : gnutls_pubkey_export2(opened, GNUTLS_X509_FMT_PEM, ret);

    gnutls_pubkey_deinit(opened);
    return rc;
}

static int refuse_writing(const char *path, struct err *reterr)
{
    switch (errno) {
    case EEXIST:
        return err_set(reterr, ERR_CONFLICT, "%s: already exists, and keys are never overwritten; give another name",
                       path);
    case ENOENT:
    case ENOTDIR:
        return err_set(reterr, ERR_NOT_FOUND, "%s: there is no such directory; make it first", path);
    case EACCES:
    case EPERM:
    case EROFS:
        return err_set(reterr, ERR_DENIED, "%s: fgpu may not write here; give another place", path);
    default:
        return err_set(reterr, ERR_INTERNAL, "%s: cannot be written (errno %d)", path, errno);
    }
}

/* A file that cannot be written as a whole is taken away again. */
static int write_new(const char *path, mode_t mode, const gnutls_datum_t *text, struct err *reterr)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    size_t done = 0;
    bool ok = true;

    if (fd < 0) {
        return refuse_writing(path, reterr);
    }
    while (ok && done < text->size) {
        const ssize_t n = write(fd, text->data + done, text->size - done);

        ok = n >= 0 || errno == EINTR;
        done += n > 0 ? (size_t)n : 0;
    }
    ok = ok && fsync(fd) == 0;
    ok = close(fd) == 0 && ok;
    if (ok) {
        return 0;
    }
    (void)refuse_writing(path, reterr);
    (void)unlink(path);
    return reterr != NULL ? -(int)reterr->code : -ERR_INTERNAL;
}

int sign_key_write(const struct sign_key *key, const char *path, struct err *reterr)
{
    gnutls_datum_t secret = {NULL, 0}, open_ = {NULL, 0};
    char beside[PATH_BYTES_MAX];
    const int n = snprintf(beside, sizeof(beside), "%s.pub", path);
    int rc = 0;

    if (n < 0 || (size_t)n >= sizeof(beside)) {
        return err_set(reterr, ERR_LIMIT, "the name of the file is too long");
    }
    if (private_pem(key, &secret) != 0 || public_pem(&key->public_, &open_) != 0) {
        rc = err_set(reterr, ERR_INTERNAL, "cannot write the key as PEM");
    }
    if (rc == 0) {
        rc = write_new(path, S_IRUSR | S_IWUSR, &secret, reterr);
    }
    if (rc == 0) {
        rc = write_new(beside, S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH, &open_, reterr);
        if (rc != 0) {
            (void)unlink(path); /* made a moment ago, by us */
        }
    }
    if (secret.data != NULL) {
        gnutls_memset(secret.data, 0, secret.size);
    }
    gnutls_free(secret.data);
    gnutls_free(open_.data);
    return rc;
}

/* ---- using ---- */

int sign_bytes(const struct sign_key *key, struct str bytes, uint8_t ret[SIGN_SIGNATURE_BYTES], struct err *reterr)
{
    const gnutls_datum_t data = {(unsigned char *)(uintptr_t)bytes.p, (unsigned)bytes.n};
    gnutls_datum_t signature = {NULL, 0};
    gnutls_privkey_t opened = open_private(key);
    bool ok = opened != NULL &&
              gnutls_privkey_sign_data2(opened, GNUTLS_SIGN_EDDSA_ED25519, 0, &data, &signature) == 0 &&
              signature.size == SIGN_SIGNATURE_BYTES;

    if (ok) {
        memcpy(ret, signature.data, SIGN_SIGNATURE_BYTES);
    }
    gnutls_free(signature.data);
    gnutls_privkey_deinit(opened);
    return ok ? 0 : err_set(reterr, ERR_INTERNAL, "the key %s cannot sign", key->public_.id);
}

bool sign_verify(const struct sign_public *key, struct str bytes, const uint8_t signature[SIGN_SIGNATURE_BYTES])
{
    const gnutls_datum_t data = {(unsigned char *)(uintptr_t)bytes.p, (unsigned)bytes.n};
    const gnutls_datum_t sig = {(unsigned char *)(uintptr_t)signature, SIGN_SIGNATURE_BYTES};
    gnutls_pubkey_t opened = open_public(key);
    const bool ok =
        opened != NULL && gnutls_pubkey_verify_data2(opened, GNUTLS_SIGN_EDDSA_ED25519, 0, &data, &sig) >= 0;

    gnutls_pubkey_deinit(opened);
    return ok;
}
