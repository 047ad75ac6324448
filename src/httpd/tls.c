/* httpd/tls.c - reads certificate, key and CA, and reads them again when they change. */
#include "httpd/tls.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/sync.h"
#include "httpd/tls_internal.h"

#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { POLL_DEFAULT_MS = 1000, FILES = 3, FILE_BYTES_MAX = 1024 * 1024 };

/* What tells one content of a file from another, without reading it. */
struct file_mark {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec time;
};

struct httpd_tls {
    char *files[FILES]; /* certificate, key, client CA */
    struct str *names;
    size_t name_n;
    int64_t poll_ns;
    const struct log *log;

    struct mutex reading; /* one reader at a time; guards the rest of this block */
    struct file_mark tried[FILES];
    bool failed; /* tried and wrong: read again at every poll, a file may have been half written */
    int64_t next_poll_ns;

    struct mutex lock; /* inner */
    struct tls_identity *current;
    struct httpd_tls_stats stats;
};

/* ---- one reading ---- */

void httpd_tls_identity_unref(struct tls_identity *id)
{
    if (id != NULL && atomic_fetch_sub(&id->refs, 1) == 1) {
        gnutls_certificate_free_credentials(id->credentials);
        httpd_tls_verified_free(id->verified);
        free(id);
    }
}

struct material {
    struct strbuf texts[FILES];
    gnutls_x509_crt_t *chain;
    unsigned chain_n;
    gnutls_x509_privkey_t key;
};

static void material_fini(struct material *m)
{
    for (size_t i = 0; i < FILES; i++) {
        strbuf_wipe(&m->texts[i]); /* one of them is the key */
        strbuf_fini(&m->texts[i]);
    }
    for (unsigned i = 0; i < m->chain_n; i++) {
        gnutls_x509_crt_deinit(m->chain[i]);
    }
    gnutls_free(m->chain);
    gnutls_x509_privkey_deinit(m->key);
}

static int wrong(const char *file, int r, struct err *reterr)
{
    return err_set(reterr, ERR_INVALID, "%s: %s", file, gnutls_strerror(r));
}

static gnutls_datum_t datum_of(const struct strbuf *text)
{
    return (gnutls_datum_t){(unsigned char *)text->p, (unsigned)text->n};
}

static int read_material(const struct httpd_tls *t, struct material *m, struct err *reterr)
{
    int rc = 0;
    for (size_t i = 0; i < FILES && rc == 0; i++) {
        rc = file_read(t->files[i], &m->texts[i], reterr);
    }
    if (rc != 0) {
        return rc;
    }
    const gnutls_datum_t chain = datum_of(&m->texts[0]), key = datum_of(&m->texts[1]);
    rc = gnutls_x509_crt_list_import2(&m->chain, &m->chain_n, &chain, GNUTLS_X509_FMT_PEM,
                                      GNUTLS_X509_CRT_LIST_FAIL_IF_UNSORTED);
    if (rc < 0) {
        return wrong(t->files[0], rc, reterr);
    }
    gnutls_x509_privkey_init(&m->key);
    rc = gnutls_x509_privkey_import2(m->key, &key, GNUTLS_X509_FMT_PEM, NULL, 0);
    return rc < 0 ? wrong(t->files[1], rc, reterr) : 0;
}

static int use_material(const struct httpd_tls *t, const struct material *m, struct tls_identity *id,
                        struct err *reterr)
{
    int rc = gnutls_certificate_set_x509_key(id->credentials, m->chain, (int)m->chain_n, m->key);
    if (rc == GNUTLS_E_CERTIFICATE_KEY_MISMATCH) {
        return err_set(reterr, ERR_INVALID, "%s is not the key of %s", t->files[1], t->files[0]);
    }
    if (rc < 0) {
        return wrong(t->files[0], rc, reterr);
    }
    const gnutls_datum_t ca = datum_of(&m->texts[2]);
    rc = gnutls_certificate_set_x509_trust_mem(id->credentials, &ca, GNUTLS_X509_FMT_PEM);
    if (rc < 0) {
        return wrong(t->files[2], rc, reterr);
    }
    if (rc == 0) {
        return err_set(reterr, ERR_INVALID, "%s: holds no certificate", t->files[2]);
    }
    id->not_after_s = gnutls_x509_crt_get_expiration_time(m->chain[0]);
    return 0;
}

static int identity_read(const struct httpd_tls *t, struct tls_identity **ret, struct err *reterr)
{
    struct material m = {.chain = NULL};
    for (size_t i = 0; i < FILES; i++) {
        strbuf_init(&m.texts[i], FILE_BYTES_MAX);
    }
    struct tls_identity *id = xcalloc(1, sizeof(*id));
    atomic_init(&id->refs, 1);
    int rc = gnutls_certificate_allocate_credentials(&id->credentials);
    BUG_ON(rc < 0); /* memory */
    rc = read_material(t, &m, reterr);
    if (rc == 0) {
        rc = use_material(t, &m, id, reterr);
    }
    material_fini(&m);
    if (rc != 0) {
        httpd_tls_identity_unref(id);
        return rc;
    }
    id->verified = httpd_tls_verified_new(id->credentials);
    *ret = id;
    return 0;
}

/* ---- again and again ---- */

static void mark_files(const struct httpd_tls *t, struct file_mark marks[FILES])
{
    memset(marks, 0, FILES * sizeof(marks[0])); /* compared as bytes */
    for (size_t i = 0; i < FILES; i++) {
        struct stat st;
        if (stat(t->files[i], &st) == 0) {
            marks[i].dev = st.st_dev;
            marks[i].ino = st.st_ino;
            marks[i].size = st.st_size;
            marks[i].time = st.st_mtim;
        }
    }
}

/* Under t->reading. `marks` were taken before, so that a change during the reading is seen next
 * time. */
static int read_again(struct httpd_tls *t, const struct file_mark marks[FILES], struct err *reterr)
{
    struct tls_identity *id = NULL;
    const bool news = memcmp(t->tried, marks, sizeof(t->tried)) != 0;
    const int rc = identity_read(t, &id, reterr);
    memcpy(t->tried, marks, sizeof(t->tried));
    t->failed = rc != 0;
    mutex_lock(&t->lock);
    if (rc == 0) {
        struct tls_identity *old = t->current;
        t->current = id;
        id = old;
        t->stats.reload_n++;
        t->stats.not_after_s = t->current->not_after_s;
    } else if (news) {
        t->stats.reload_failed_n++;
    }
    mutex_unlock(&t->lock);
    httpd_tls_identity_unref(id);
    if (rc == 0) {
        LOG_INFO(t->log, "Read certificate, key and client CA again", LOG_CSTR("file", t->files[0]));
    } else if (news) {
        LOG_ERROR(t->log, "The new certificate, key or client CA is wrong; the old ones stay in use",
                  LOG_CSTR("err", reterr->msg));
    }
    return rc;
}

int httpd_tls_reload(struct httpd_tls *t, struct err *reterr)
{
    struct file_mark marks[FILES];
    struct err err;
    mutex_lock(&t->reading);
    mark_files(t, marks);
    const int rc = read_again(t, marks, &err);
    mutex_unlock(&t->reading);
    return rc == 0 ? 0 : err_set(reterr, err.code, "%s", err.msg);
}

void httpd_tls_poll(struct httpd_tls *t, int64_t now_ns)
{
    struct file_mark marks[FILES];
    struct err err;
    if (t->files[0] == NULL) { /* self-signed */
        return;
    }
    mutex_lock(&t->reading);
    if (now_ns >= t->next_poll_ns) {
        t->next_poll_ns = now_ns + t->poll_ns;
        mark_files(t, marks);
        if (t->failed || memcmp(t->tried, marks, sizeof(marks)) != 0) {
            (void)read_again(t, marks, &err); /* logged and counted */
        }
    }
    mutex_unlock(&t->reading);
}

void httpd_tls_stats(struct httpd_tls *t, struct httpd_tls_stats *ret)
{
    mutex_lock(&t->lock);
    *ret = t->stats;
    mutex_unlock(&t->lock);
}

struct tls_identity *httpd_tls_identity(struct httpd_tls *t)
{
    mutex_lock(&t->lock);
    struct tls_identity *id = t->current;
    atomic_fetch_add(&id->refs, 1);
    mutex_unlock(&t->lock);
    return id;
}

bool httpd_tls_name_allowed(const struct httpd_tls *t, struct str name)
{
    for (size_t i = 0; i < t->name_n; i++) {
        if (str_eq(t->names[i], name)) {
            return true;
        }
    }
    return false;
}

/* ---- life ---- */

static struct httpd_tls *new_tls(void)
{
    struct httpd_tls *t = xcalloc(1, sizeof(*t));
    mutex_init(&t->reading, "tls reading");
    mutex_init(&t->lock, "tls");
    return t;
}

int httpd_tls_self_signed(int64_t wall_ms, struct httpd_tls **ret, struct err *reterr)
{
    struct httpd_tls *t = new_tls();
    const int rc = httpd_tls_make_identity(wall_ms, &t->current, reterr);
    if (rc != 0) {
        httpd_tls_free(t);
        return rc;
    }
    t->stats.not_after_s = t->current->not_after_s;
    *ret = t;
    return 0;
}

int httpd_tls_new(const struct httpd_tls_config *config, struct httpd_tls **ret, struct err *reterr)
{
    const char *const files[FILES] = {config->cert_file, config->key_file, config->client_ca_file};
    struct httpd_tls *t = new_tls();
    t->log = config->log;
    t->poll_ns = (config->poll_ms != 0 ? config->poll_ms : POLL_DEFAULT_MS) * NS_PER_MS;
    for (size_t i = 0; i < FILES; i++) {
        t->files[i] = str_dup(str_of(files[i]));
    }
    t->names = xcalloc(config->client_name_n, sizeof(t->names[0]));
    for (; t->name_n < config->client_name_n; t->name_n++) {
        const struct str name = config->client_names[t->name_n];
        t->names[t->name_n] = (struct str){str_dup(name), name.n};
    }
    mark_files(t, t->tried);
    const int rc = identity_read(t, &t->current, reterr);
    if (rc != 0) {
        httpd_tls_free(t);
        return rc;
    }
    t->stats.not_after_s = t->current->not_after_s;
    *ret = t;
    return 0;
}

void httpd_tls_free(struct httpd_tls *t)
{
    if (t == NULL) {
        return;
    }
    httpd_tls_identity_unref(t->current);
    for (size_t i = 0; i < FILES; i++) {
        free(t->files[i]);
    }
    for (size_t i = 0; i < t->name_n; i++) {
        free((char *)(uintptr_t)t->names[i].p);
    }
    free(t->names);
    mutex_destroy(&t->reading);
    mutex_destroy(&t->lock);
    free(t);
}
