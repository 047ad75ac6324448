/* kube/transport_endpoint.c - where the server is. */
#include "transport_internal.h"

#include "base/address.h"
#include "base/bug.h"
#include "kube/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { URL_BYTES_MAX = 4096 };

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
    bool bare = ok && !has_part(u, CURLUPART_USER) && !has_part(u, CURLUPART_QUERY) && !has_part(u, CURLUPART_FRAGMENT);
    curl_url_cleanup(u);
    if (!ok) {
        return err_set(reterr, ERR_INVALID,
                       "not the address of a server: \"%s\"; write https://HOST:PORT or http://HOST:PORT",
                       server != NULL ? server : "");
    }
    if (!bare) { /* the text may hold a password: it is not repeated */
        return err_set(reterr, ERR_INVALID, "the address of the API server may hold scheme, host, port and path only");
    }
    return 0;
}

/* By address: what "localhost", or 127.0.0.1.example.com, means is for a resolver to say, and somebody else may have a
 * word there. */
static bool is_loopback(const char *host)
{
    struct address a;
    char text[ADDRESS_TEXT_MAX];
    int n = snprintf(text, sizeof(text), "%s:1", host);

    return n > 0 && n < (int)sizeof(text) && strcmp(host, "localhost") != 0 &&
           address_parse(str_of(text), &a, NULL) == 0 && !a.any && address_is_loopback(&a);
}

static bool has_secrets(const struct credentials *c)
{
    return c->token != NULL || c->token_file != NULL || c->client_cert_pem != NULL || c->username != NULL ||
           c->exec != NULL;
}

/* Over plain http a proxy sees everything that is sent. The address may hold a password: it is not
 * repeated. */
static int check_proxy(const struct credentials *creds, bool is_tls, struct err *reterr)
{
    CURLU *u = creds->proxy_url != NULL ? curl_url() : NULL;
    char *host = NULL;
    if (u == NULL) {
        return 0;
    }
    bool ok = curl_url_set(u, CURLUPART_URL, creds->proxy_url, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK &&
              curl_url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK;
    bool leaks = ok && !is_tls && has_secrets(creds) && !is_loopback(host);
    curl_free(host);
    curl_url_cleanup(u);
    if (!ok) {
        return err_set(reterr, ERR_INVALID, "proxy-url is not the address of a proxy");
    }
    return leaks ? err_set(reterr, ERR_INVALID, "credentials are not sent over plain http through a proxy: use https")
                 : 0;
}

static int check_parts(const struct server_parts *p, const struct credentials *creds, struct err *reterr)
{
    bool is_tls = strcmp(p->scheme, "https") == 0;
    if (!is_tls && strcmp(p->scheme, "http") != 0) {
        return err_set(reterr, ERR_INVALID, "the address of a server must begin with https:// or http://, not %s://",
                       p->scheme);
    }
    if (!is_tls && has_secrets(creds) && !is_loopback(p->host)) {
        return err_set(reterr, ERR_INVALID,
                       "credentials are not sent to %s over plain http: use https, or 127.0.0.1 for this machine",
                       p->host);
    }
    if (creds->tls_server_name != NULL && !kube_name_is_subdomain(str_of(creds->tls_server_name))) {
        return err_set(reterr, ERR_INVALID, "not a TLS server name: \"%s\"", creds->tls_server_name);
    }
    if ((creds->client_cert_pem == NULL) != (creds->client_key_pem == NULL)) {
        return err_set(reterr, ERR_INVALID, "a client certificate and its key are needed together");
    }
    return check_proxy(creds, is_tls, reterr);
}

/* libcurl takes the name for TLS from the URL. So with a name of its own the URL has that name, the
 * connection goes to the real host all the same, and the Host header tells the real host as well.
 */
static void fill(struct endpoint *e, const struct server_parts *p, const char *tls_name)
{
    struct strbuf text;
    strbuf_init(&text, URL_BYTES_MAX);
    strbuf_addf(&text, "%s://%s:%s%s", p->scheme, tls_name != NULL ? tls_name : p->host, p->port, p->path);
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
