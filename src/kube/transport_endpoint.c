/* kube/transport_endpoint.c - where the server is and which certificates to show it. */
#define _GNU_SOURCE /* memfd_create */

#include "transport_internal.h"

#include "base/bug.h"
#include "kube/names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { URL_BYTES_MAX = 4096 };

int pem_file_init(struct pem_file *f, const char *pem, struct err *reterr)
{
    *f = (struct pem_file){.fd = -1};
    if (pem == NULL) {
        return 0;
    }
    size_t n = strlen(pem);
    f->fd = memfd_create("fgpu-pem", MFD_CLOEXEC);
    if (f->fd < 0 || write(f->fd, pem, n) != (ssize_t)n) {
        int error = errno;
        pem_file_fini(f);
        return err_set(reterr, ERR_INTERNAL, "cannot hold certificates in memory: error %d", error);
    }
    snprintf(f->path, sizeof(f->path), "/proc/self/fd/%d", f->fd);
    return 0;
}

void pem_file_fini(struct pem_file *f)
{
    if (f->fd >= 0) {
        close(f->fd);
        f->fd = -1;
    }
}

/* The parts of credentials.server; libcurl's allocations. */
struct server_parts {
    char *scheme, *host, *port, *path;
};

static void parts_fini(struct server_parts *p)
{
    curl_free(p->scheme);
    curl_free(p->host);
    curl_free(p->port);
    curl_free(p->path);
}

static bool has_part(CURLU *u, CURLUPart part)
{
    char *text = NULL;
    bool has = curl_url_get(u, part, &text, 0) == CURLUE_OK;
    curl_free(text);
    return has;
}

static int read_parts(const char *server, struct server_parts *ret, struct err *reterr)
{
    CURLU *u = curl_url();
    BUG_ON(u == NULL);
    bool ok = server != NULL && curl_url_set(u, CURLUPART_URL, server, 0) == CURLUE_OK &&
              curl_url_get(u, CURLUPART_SCHEME, &ret->scheme, 0) == CURLUE_OK &&
              curl_url_get(u, CURLUPART_HOST, &ret->host, 0) == CURLUE_OK &&
              curl_url_get(u, CURLUPART_PORT, &ret->port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
              curl_url_get(u, CURLUPART_PATH, &ret->path, 0) == CURLUE_OK;
    bool bare = ok && !has_part(u, CURLUPART_USER) && !has_part(u, CURLUPART_QUERY) &&
                !has_part(u, CURLUPART_FRAGMENT);
    curl_url_cleanup(u);
    if (!ok) {
        return err_set(reterr, ERR_INVALID, "not the address of an API server: \"%s\"",
                       server != NULL ? server : "");
    }
    if (!bare) { /* the text may hold a password: it is not repeated */
        return err_set(reterr, ERR_INVALID,
                       "the address of the API server may hold scheme, host, port and path only");
    }
    return 0;
}

static bool is_loopback(const char *host)
{
    return strcmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
           strncmp(host, "127.", 4) == 0;
}

static bool has_secrets(const struct credentials *c)
{
    return c->token != NULL || c->token_file != NULL || c->client_cert_pem != NULL ||
           c->username != NULL;
}

static int check_parts(const struct server_parts *p, const struct credentials *creds,
                       struct err *reterr)
{
    bool is_tls = strcmp(p->scheme, "https") == 0;
    if (!is_tls && strcmp(p->scheme, "http") != 0) {
        return err_set(reterr, ERR_INVALID,
                       "the address of the API server must begin with https://");
    }
    if (!is_tls && has_secrets(creds) && !is_loopback(p->host)) {
        return err_set(reterr, ERR_INVALID,
                       "credentials are not sent to %s over plain http: use https", p->host);
    }
    if (creds->tls_server_name != NULL && !kube_name_is_subdomain(str_of(creds->tls_server_name))) {
        return err_set(reterr, ERR_INVALID, "not a TLS server name: \"%s\"",
                       creds->tls_server_name);
    }
    if ((creds->client_cert_pem == NULL) != (creds->client_key_pem == NULL)) {
        return err_set(reterr, ERR_INVALID, "a client certificate and its key are needed together");
    }
    return 0;
}

/* libcurl takes the name for TLS from the URL. So with a name of its own the URL has that name, the
 * connection goes to the real host all the same, and the Host header tells the real host as well.
 */
static void fill(struct endpoint *e, const struct server_parts *p, const char *tls_name)
{
    struct strbuf text;
    strbuf_init(&text, URL_BYTES_MAX);
    strbuf_addf(&text, "%s://%s:%s%s", p->scheme, tls_name != NULL ? tls_name : p->host, p->port,
                p->path);
    while (text.n > 0 && text.p[text.n - 1] == '/') {
        text.p[--text.n] = '\0';
    }
    e->base = strbuf_take(&text, NULL);
    if (tls_name == NULL) {
        return;
    }
    strbuf_addf(&text, "Host: %s:%s", p->host, p->port);
    e->host_header = strbuf_take(&text, NULL);
    strbuf_addf(&text, "::%s:%s", p->host, p->port);
    e->connect_to = curl_slist_append(NULL, text.p);
    BUG_ON(e->connect_to == NULL);
    strbuf_fini(&text);
}

int endpoint_init(struct endpoint *e, const struct credentials *creds, struct err *reterr)
{
    struct server_parts p CLEANUP(parts_fini) = {.scheme = NULL};
    *e = (struct endpoint){.base = NULL};
    int rc = read_parts(creds->server, &p, reterr);
    if (rc == 0) {
        rc = check_parts(&p, creds, reterr);
    }
    if (rc == 0) {
        fill(e, &p, strcmp(p.scheme, "https") == 0 ? creds->tls_server_name : NULL);
    }
    return rc;
}

void endpoint_fini(struct endpoint *e)
{
    free(e->base);
    free(e->host_header);
    curl_slist_free_all(e->connect_to);
}
