/* kube/identity_proof.c - a proof: a header line and files that libcurl can be given.
 *
 * libcurl's GnuTLS flavour takes no certificates from memory, so PEM text becomes a file without a
 * place in any file system. libcurl decides by path whether a connection fits a request: so the
 * same content keeps its path, and other content never gets a path that is still in use. A
 * descriptor number alone would come back too soon, hence the number of the file in the path, as so
 * many "./".
 */
#define _GNU_SOURCE /* memfd_create */

#include "identity_internal.h"

#include "base/bug.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Far more replacements than fit into the life of a connection (transport_exchange.c). */
enum { PATHS_OF_A_DESCRIPTOR = 64 };

struct pem_file {
    atomic_uint refs;
    int fd;
    char *pem; /* to compare with */
    char path[32 + 2 * PATHS_OF_A_DESCRIPTOR];
};

struct counted_proof {
    struct proof proof; /* first: what others see */
    atomic_uint refs;
    char *authorization;
    struct pem_file *ca, *cert, *key;
};

static void wipe(char *text)
{
    if (text != NULL) {
        explicit_bzero(text, strlen(text));
        free(text);
    }
}

static void pem_file_unref(struct pem_file *f)
{
    if (f != NULL && atomic_fetch_sub(&f->refs, 1) == 1) {
        if (f->fd >= 0) {
            close(f->fd);
        }
        wipe(f->pem);
        free(f);
    }
}

static void name_file(struct pem_file *f)
{
    static atomic_uint made;
    unsigned dots = atomic_fetch_add(&made, 1) % PATHS_OF_A_DESCRIPTOR;
    size_t n = (size_t)snprintf(f->path, sizeof(f->path), "/proc/self/fd/");
    for (unsigned i = 0; i < dots; i++) {
        memcpy(f->path + n, "./", 2);
        n += 2;
    }
    (void)snprintf(f->path + n, sizeof(f->path) - n, "%d", f->fd);
}

static int pem_file_new(struct str pem, struct pem_file **ret, struct err *reterr)
{
    struct pem_file *f = xcalloc(1, sizeof(*f));
    atomic_init(&f->refs, 1);
    f->pem = str_dup(pem);
    f->fd = memfd_create("fgpu-pem", MFD_CLOEXEC);
    if (f->fd < 0 || write(f->fd, pem.p, pem.n) != (ssize_t)pem.n) {
        int error = errno;
        pem_file_unref(f);
        return err_set(reterr, ERR_INTERNAL, "cannot hold certificates in memory: error %d", error);
    }
    name_file(f);
    *ret = f;
    return 0;
}

/* NULL for no text; the old one when it has the same text. */
static int pem_file_for(struct str pem, struct pem_file *old, struct pem_file **ret, struct err *reterr)
{
    if (pem.n == 0) {
        *ret = NULL;
        return 0;
    }
    if (old != NULL && str_eq_cstr(pem, old->pem)) {
        atomic_fetch_add(&old->refs, 1);
        *ret = old;
        return 0;
    }
    return pem_file_new(pem, ret, reterr);
}

static char *make_authorization(struct str token)
{
    struct strbuf line;
    if (token.n == 0) {
        return NULL;
    }
    strbuf_init(&line, SIZE_MAX);
    strbuf_addf(&line, "Authorization: Bearer %.*s", STR_ARG(token)); /* at once: no copy is left behind */
    return strbuf_take(&line, NULL);
}

static const char *path_of(const struct pem_file *f)
{
    return f != NULL ? f->path : NULL;
}

int proof_new(uint64_t generation, const struct material *m, const struct proof *before, const struct proof **ret,
              struct err *reterr)
{
    const struct counted_proof *old = (const struct counted_proof *)before;
    struct counted_proof *p = xcalloc(1, sizeof(*p));
    atomic_init(&p->refs, 1);
    p->authorization = make_authorization(strbuf_view(&m->token));
    int rc = pem_file_for(strbuf_view(&m->ca), old != NULL ? old->ca : NULL, &p->ca, reterr);
    if (rc == 0) {
        rc = pem_file_for(strbuf_view(&m->cert), old != NULL ? old->cert : NULL, &p->cert, reterr);
    }
    if (rc == 0) {
        rc = pem_file_for(strbuf_view(&m->key), old != NULL ? old->key : NULL, &p->key, reterr);
    }
    p->proof = (struct proof){.generation = generation,
                              .authorization = p->authorization,
                              .ca_path = path_of(p->ca),
                              .cert_path = path_of(p->cert),
                              .key_path = path_of(p->key)};
    if (rc != 0) {
        proof_unref(&p->proof);
        return rc;
    }
    *ret = &p->proof;
    return 0;
}

/* Only the count behind a proof ever changes. */
static struct counted_proof *counted(const struct proof *p)
{
    return (struct counted_proof *)(uintptr_t)p;
}

const struct proof *proof_ref(const struct proof *p)
{
    atomic_fetch_add(&counted(p)->refs, 1);
    return p;
}

void proof_unref(const struct proof *p)
{
    if (p == NULL || atomic_fetch_sub(&counted(p)->refs, 1) != 1) {
        return;
    }
    struct counted_proof *c = counted(p);
    wipe(c->authorization);
    pem_file_unref(c->ca);
    pem_file_unref(c->cert);
    pem_file_unref(c->key);
    free(c);
}
