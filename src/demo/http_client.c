#include "demo/http_client_internal.h"

#include "base/bug.h"

#include <curl/curl.h>
#include <stdlib.h>

struct http_client {
    CURL *easy;
    struct curl_slist *headers;
    const atomic_bool *stop;
    char why[CURL_ERROR_SIZE];
};

static size_t on_data(char *p, size_t size, size_t n, void *ctx)
{
    struct strbuf *out = ctx;
    strbuf_add(out, p, size * n);
    return out->overflowed ? 0 : size * n;
}

static int on_progress(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const struct http_client *client = ctx;
    (void)a, (void)b, (void)c, (void)d;
    return atomic_load(client->stop);
}

struct http_client *http_client_new(const atomic_bool *stop)
{
    struct http_client *c = xcalloc(1, sizeof(*c));
    c->easy = curl_easy_init();
    BUG_ON(!c->easy);
    c->stop = stop;
    c->headers = curl_slist_append(NULL, "Content-Type: application/json");
    c->headers = curl_slist_append(c->headers, "Expect:"); /* kube-scheduler never waits for 100 */
    BUG_ON(!c->headers);
    curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, c->headers);
    curl_easy_setopt(c->easy, CURLOPT_USERAGENT, "Go-http-client/1.1");
    curl_easy_setopt(c->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(c->easy, CURLOPT_PROTOCOLS_STR, "http");
    curl_easy_setopt(c->easy, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(c->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c->easy, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(c->easy, CURLOPT_ERRORBUFFER, c->why);
    curl_easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, on_data);
    curl_easy_setopt(c->easy, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(c->easy, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(c->easy, CURLOPT_XFERINFODATA, c);
    return c;
}

void http_client_free(struct http_client *c)
{
    if (c) {
        curl_easy_cleanup(c->easy);
        curl_slist_free_all(c->headers);
        free(c);
    }
}

static enum err_code code_of(CURLcode r)
{
    if (r == CURLE_OPERATION_TIMEDOUT) {
        return ERR_TIMEOUT;
    }
    if (r == CURLE_ABORTED_BY_CALLBACK) {
        return ERR_CANCELLED;
    }
    return r == CURLE_WRITE_ERROR ? ERR_LIMIT : ERR_UNAVAILABLE;
}

static int perform(struct http_client *c, const char *method, const char *url, int32_t timeout_ms,
                   struct strbuf *ret_body, struct err *reterr)
{
    long status = 0;
    strbuf_reset(ret_body);
    c->why[0] = '\0';
    curl_easy_setopt(c->easy, CURLOPT_URL, url);
    curl_easy_setopt(c->easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    curl_easy_setopt(c->easy, CURLOPT_WRITEDATA, ret_body);
    CURLcode r = curl_easy_perform(c->easy);
    if (r != CURLE_OK) {
        return err_set(reterr, code_of(r), "%s %s: %s", method, url, c->why[0] ? c->why : curl_easy_strerror(r));
    }
    curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) {
        return err_set(reterr, ERR_UNAVAILABLE, "%s %s: HTTP status %ld", method, url, status);
    }
    return 0;
}

int http_client_post(struct http_client *c, const char *url, struct str body, int32_t timeout_ms,
                     struct strbuf *ret_body, struct err *reterr)
{
    curl_easy_setopt(c->easy, CURLOPT_POST, 1L);
    curl_easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.n);
    curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS, body.p);
    return perform(c, "POST", url, timeout_ms, ret_body, reterr);
}

int http_client_get(struct http_client *c, const char *url, int32_t timeout_ms, struct strbuf *ret_body,
                    struct err *reterr)
{
    curl_easy_setopt(c->easy, CURLOPT_HTTPGET, 1L);
    return perform(c, "GET", url, timeout_ms, ret_body, reterr);
}
