#include "sign/keyring.h"

#include "base/bug.h"
#include "sign/pem_internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_BYTES_MAX 4096

struct sign_keyring {
    atomic_uint ref_n;
    bool has_private;
    struct sign_key private_;
    struct sign_public publics[SIGN_KEYS_MAX]; /* the private key's first, if there is one; then by id */
    size_t public_n;
};

/* ---- reading ---- */

static int add(struct sign_keyring *k, const char *path, const struct sign_public *key, struct err *reterr)
{
    const struct sign_public *same = sign_keyring_find(k, str_of(key->id));

    if (same != NULL && memcmp(same->bytes, key->bytes, SIGN_KEY_BYTES) == 0) {
        return 0;
    }
    if (same != NULL) {
        return err_set(reterr, ERR_INVALID, "%s: has the id %s of another key; make a new one", path, key->id);
    }
    if (k->public_n == SIGN_KEYS_MAX) {
        return err_set(reterr, ERR_LIMIT, "%s: more than %d public keys; remove those that are no longer in use", path,
                       SIGN_KEYS_MAX);
    }
    k->publics[k->public_n++] = *key;
    return 0;
}

static int add_blocks(struct sign_keyring *k, const char *path, struct str text, struct err *reterr)
{
    struct str label, block;
    struct sign_public key;
    size_t found = 0;

    for (; pem_next(&text, &label, &block); found++) {
        int rc;

        if (str_ends(label, STR("PRIVATE KEY"))) {
            return err_set(reterr, ERR_INVALID,
                           "%s: holds a private key, but a public key is needed; name the file beside it that ends "
                           "in .pub",
                           path);
        }
        if (block.n == 0 || (!str_eq(label, STR("PUBLIC KEY")) && !str_eq(label, STR("CERTIFICATE")))) {
            return err_set(reterr, ERR_INVALID, "%s: a block that is not a complete PUBLIC KEY or CERTIFICATE", path);
        }
        rc = sign_public_parse(path, label, block, &key, reterr);
        rc = rc == 0 ? add(k, path, &key, reterr) : rc;
        if (rc != 0) {
            return rc;
        }
    }
    return found > 0 ? 0
                     : err_set(reterr, ERR_INVALID,
                               "%s: holds no public key in PEM (a text with -----BEGIN PUBLIC KEY-----)", path);
}

static int add_file(struct sign_keyring *k, const char *path, struct err *reterr)
{
    struct strbuf text;
    int rc = pem_read(path, &text, reterr);

    if (rc == 0) {
        rc = add_blocks(k, path, strbuf_view(&text), reterr);
        pem_wipe(&text);
    } else if (rc == -ERR_NOT_FOUND) {
        rc = err_set(reterr, ERR_NOT_FOUND,
                     "%s: there is no such file or folder; the public key of fgpu is the file .pub beside its signing "
                     "key, and for the agents of nodes key.pem.pub in the ConfigMap fgpu-public-keys",
                     path);
    }
    return rc;
}

static int is_public_file(const struct dirent *e)
{
    const struct str name = str_of(e->d_name);

    return name.p[0] != '.' && str_ends(name, STR(".pub"));
}

static int add_directory(struct sign_keyring *k, const char *path, struct err *reterr)
{
    struct dirent **entries = NULL;
    const int n = scandir(path, &entries, is_public_file, alphasort);
    int rc = 0;

    if (n <= 0) {
        rc = n < 0 ? err_set(reterr, ERR_DENIED, "%s: this directory cannot be read; let the user that fgpu runs as",
                             path)
                   : err_set(reterr, ERR_INVALID, "%s: no file in this directory has a name that ends in .pub", path);
    }
    for (int i = 0; i < n; i++) {
        char file[PATH_BYTES_MAX];
        const int len = snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name);

        if (rc == 0 && (len < 0 || (size_t)len >= sizeof(file))) {
            rc = err_set(reterr, ERR_LIMIT, "%s: a name in it is too long", path);
        } else if (rc == 0) {
            rc = add_file(k, file, reterr);
        }
        free(entries[i]);
    }
    free(entries);
    return rc;
}

static int add_path(struct sign_keyring *k, const char *path, struct err *reterr)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? add_directory(k, path, reterr) : add_file(k, path, reterr);
}

static int by_id(const void *a, const void *b)
{
    return memcmp(((const struct sign_public *)a)->id, ((const struct sign_public *)b)->id, SIGN_KEY_ID_LEN);
}

static int read_all(struct sign_keyring *k, const struct sign_files *files, const char **ret_warning,
                    struct err *reterr)
{
    int rc = 0;

    if (files->private_key != NULL) {
        rc = sign_key_read(files->private_key, &k->private_, ret_warning, reterr);
        k->has_private = rc == 0;
        rc = rc == 0 ? add(k, files->private_key, &k->private_.public_, reterr) : rc;
    }
    for (size_t i = 0; rc == 0 && i < files->public_key_n; i++) {
        rc = add_path(k, files->public_keys[i].p, reterr);
    }
    if (rc == 0 && k->public_n == 0) {
        rc = err_set(reterr, ERR_INVALID, "no signing key is given; `fgpu signing-key --out FILE` makes one");
    }
    if (rc == 0) {
        qsort(k->publics + k->has_private, k->public_n - k->has_private, sizeof(k->publics[0]), by_id);
    }
    return rc;
}

static struct sign_keyring *new_ring(void)
{
    struct sign_keyring *k = xcalloc(1, sizeof(*k));

    atomic_init(&k->ref_n, 1);
    return k;
}

int sign_keyring_read(const struct sign_files *files, struct sign_keyring **ret, const char **ret_warning,
                      struct err *reterr)
{
    struct sign_keyring *k = new_ring();
    const char *warning = NULL;
    const int rc = read_all(k, files, &warning, reterr);

    if (rc != 0) {
        sign_keyring_put(k);
        return rc;
    }
    *ret = k;
    if (ret_warning != NULL) {
        *ret_warning = warning;
    }
    return 0;
}

struct sign_keyring *sign_keyring_of(const struct sign_key *key)
{
    struct sign_keyring *k = new_ring();

    k->private_ = *key;
    k->has_private = true;
    k->publics[k->public_n++] = key->public_;
    return k;
}

/* ---- owners ---- */

/* The count is the one thing of a shared keyring that changes. */
static atomic_uint *count_of(const struct sign_keyring *k)
{
    return (atomic_uint *)(uintptr_t)&k->ref_n;
}

const struct sign_keyring *sign_keyring_ref(const struct sign_keyring *k)
{
    const unsigned before = atomic_fetch_add_explicit(count_of(k), 1, memory_order_relaxed);

    BUG_ON(before == 0);
    return k;
}

void sign_keyring_put(const struct sign_keyring *k)
{
    struct sign_keyring *last = (struct sign_keyring *)(uintptr_t)k;

    if (k != NULL && atomic_fetch_sub_explicit(count_of(k), 1, memory_order_acq_rel) == 1) {
        sign_key_wipe(&last->private_);
        free(last);
    }
}

/* ---- looking ---- */

const struct sign_key *sign_keyring_private(const struct sign_keyring *k)
{
    return k->has_private ? &k->private_ : NULL;
}

const struct sign_public *sign_keyring_find(const struct sign_keyring *k, struct str id)
{
    for (size_t i = 0; i < k->public_n; i++) {
        if (str_eq_cstr(id, k->publics[i].id)) {
            return &k->publics[i];
        }
    }
    return NULL;
}

size_t sign_keyring_publics(const struct sign_keyring *k, const struct sign_public **ret)
{
    *ret = k->publics;
    return k->public_n;
}

bool sign_keyring_equal(const struct sign_keyring *a, const struct sign_keyring *b)
{
    return a->has_private == b->has_private && a->public_n == b->public_n &&
           memcmp(a->publics, b->publics, a->public_n * sizeof(a->publics[0])) == 0;
}
