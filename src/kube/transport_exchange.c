/* kube/transport_exchange.c - a curl handle for one exchange, and the meaning of its end. */
#include "transport_internal.h"

#include "scan_internal.h"

#include "base/bug.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum {
    KEEPALIVE_IDLE_S = 30,
    KEEPALIVE_INTERVAL_S = 10,
    KEEPALIVE_PROBES = 3,
    USER_TIMEOUT_MS = 60 * 1000, /* unacknowledged data: as long as the probes take */
    CONNECTION_LIFE_S = 600,     /* so that load spreads again after servers were replaced */
    RETRY_AFTER_MAX_S = 3600,
    URL_BYTES_MAX = 256 * 1024,
};

/* Without this a connection whose other end vanished looks alive for a quarter of an hour. */
static int on_socket(void *ctx, curl_socket_t fd, curlsocktype purpose)
{
    static const struct {
        int level, name, value;
    } options[] = {
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S},
        {IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S},
        {IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES},
        {IPPROTO_TCP, TCP_USER_TIMEOUT, USER_TIMEOUT_MS},
    };
    (void)ctx;
    (void)purpose;
    for (size_t i = 0; i < ARRAY_LEN(options); i++) {
        int value = options[i].value;
        if (setsockopt(fd, options[i].level, options[i].name, &value, sizeof(value)) != 0) {
            return CURL_SOCKOPT_ERROR;
        }
    }
    return CURL_SOCKOPT_OK;
}

/* The kernel goes on sending what nobody has acknowledged, even when the connection is closed and the process is gone:
 * a Binding came out of a network that was down for longer than the hold-off of the next one (F122). So what a call has
 * not got rid of is thrown away when its connection is closed, by whomever, and after EXCHANGE_CALL_UNACKED_MS
 * at the latest. */
int exchange_call_socket(void *ctx, curl_socket_t fd, curlsocktype purpose)
{
    static const struct linger throw_away = {.l_onoff = 1};
    static const int timeout_ms = EXCHANGE_CALL_UNACKED_MS;
    const int rc = on_socket(ctx, fd, purpose);
    if (rc != CURL_SOCKOPT_OK || setsockopt(fd, SOL_SOCKET, SO_LINGER, &throw_away, sizeof(throw_away)) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof(timeout_ms)) != 0) {
        return CURL_SOCKOPT_ERROR;
    }
    return CURL_SOCKOPT_OK;
}

/* Before every sending, that of a request whose connection broke included: however long it has waited for a connection,
 * this is the moment at which a write must still be allowed. */
static int on_sending(void *ctx, char *peer, char *own, int peer_port, int own_port)
{
    struct exchange *x = ctx;
    (void)peer;
    (void)own;
    (void)peer_port;
    (void)own_port;
    if (x->asks_to_write != NULL && !x->asks_to_write->may_write(x->asks_to_write->may_write_ctx)) {
        x->sent_n += x->sent_n > 0; /* what was sent before may have arrived */
        return CURL_PREREQFUNC_ABORT;
    }
    x->sent_n++;
    return CURL_PREREQFUNC_OK;
}

static void add_header(struct exchange *x, const char *line)
{
    struct curl_slist *more = curl_slist_append(x->headers, line);
    BUG_ON(more == NULL);
    x->headers = more;
}

static void set_identity(CURL *e, const struct easy_context *c, const struct proof *p)
{
    const struct credentials *creds = c->creds;
    EASY_SET(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    EASY_SET(e, CURLOPT_SSL_VERIFYPEER, creds->insecure_skip_tls_verify ? 0L : 1L);
    EASY_SET(e, CURLOPT_SSL_VERIFYHOST, creds->insecure_skip_tls_verify ? 0L : 2L);
    if (p->ca_path != NULL || creds->insecure_skip_tls_verify) {
        /* Nobody asks the system's authorities here: libcurl would read them all, for each connection anew (F107). */
        EASY_SET(e, CURLOPT_CAINFO, p->ca_path);
        EASY_SET(e, CURLOPT_CAPATH, (char *)NULL);
    }
    if (p->cert_path != NULL) {
        EASY_SET(e, CURLOPT_SSLCERT, p->cert_path);
        EASY_SET(e, CURLOPT_SSLKEY, p->key_path);
    }
    if (creds->username != NULL) {
        EASY_SET(e, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        EASY_SET(e, CURLOPT_USERNAME, creds->username);
        EASY_SET(e, CURLOPT_PASSWORD, creds->password != NULL ? creds->password : "");
    }
}

/* The environment's proxies are never asked. */
static void set_proxy(CURL *e, const struct credentials *creds)
{
    EASY_SET(e, CURLOPT_PROXY, creds->proxy_url != NULL ? creds->proxy_url : "");
    EASY_SET(e, CURLOPT_NOPROXY, creds->proxy_url != NULL ? "" : "*");
    EASY_SET(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
}

static void set_manners(CURL *e, const struct easy_context *c)
{
    EASY_SET(e, CURLOPT_NOSIGNAL, 1L);
    EASY_SET(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    EASY_SET(e, CURLOPT_PROTOCOLS_STR, "http,https");
    EASY_SET(e, CURLOPT_FOLLOWLOCATION, 0L);
    set_proxy(e, c->creds);
    EASY_SET(e, CURLOPT_PATH_AS_IS, 1L);
    EASY_SET(e, CURLOPT_USERAGENT, c->user_agent);
    EASY_SET(e, CURLOPT_SOCKOPTFUNCTION, on_socket);
    EASY_SET(e, CURLOPT_MAXLIFETIME_CONN, (long)CONNECTION_LIFE_S);
    if (c->endpoint.connect_to != NULL) {
        EASY_SET(e, CURLOPT_CONNECT_TO, c->endpoint.connect_to);
    }
}

static void set_body(struct exchange *x, const struct exchange_request *request)
{
    CURL *e = x->easy;
    bool is_get = strcmp(request->method, "GET") == 0;
    if (request->body.n > 0) {
        EASY_SET(e, CURLOPT_POSTFIELDS, request->body.p);
        EASY_SET(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.n);
        char line[128];
        snprintf(line, sizeof(line), "Content-Type: %s",
                 request->content_type != NULL ? request->content_type : "application/json");
        add_header(x, line);
        add_header(x, "Expect:"); /* a round trip that buys nothing from an API server */
    } else if (strcmp(request->method, "POST") == 0) {
        EASY_SET(e, CURLOPT_POSTFIELDS, "");
    }
    if (!is_get && strcmp(request->method, "POST") != 0) {
        EASY_SET(e, CURLOPT_CUSTOMREQUEST, request->method);
    }
    if (request->gzip) {
        EASY_SET(e, CURLOPT_ACCEPT_ENCODING, "gzip");
    }
}

static int set_url(struct exchange *x, const struct easy_context *c, const char *path, struct err *reterr)
{
    struct strbuf url;
    strbuf_init(&url, URL_BYTES_MAX);
    strbuf_add_cstr(&url, c->endpoint.base);
    strbuf_add_cstr(&url, path);
    bool ok = !url.overflowed && curl_easy_setopt(x->easy, CURLOPT_URL, url.p) == CURLE_OK;
    strbuf_fini(&url);
    return ok ? 0 : err_set(reterr, ERR_INVALID, "the URL is too long");
}

int exchange_begin(struct exchange *x, const struct easy_context *c, const struct exchange_request *request,
                   struct err *reterr)
{
    x->headers = NULL;
    x->error[0] = '\0';
    x->proof = NULL;
    x->told = false;
    x->sent_n = 0;
    x->asks_to_write = request->writes && c->may_write != NULL ? c : NULL;
    x->begun_ns = clock_mono_ns(c->clock);
    curl_easy_reset(x->easy); /* connections stay */
    set_manners(x->easy, c);
    EASY_SET(x->easy, CURLOPT_ERRORBUFFER, x->error);
    EASY_SET(x->easy, CURLOPT_PREREQFUNCTION, on_sending);
    EASY_SET(x->easy, CURLOPT_PREREQDATA, x);
    int rc = identity_get(c->identity, &x->proof, reterr);
    if (rc != 0) {
        return rc;
    }
    set_identity(x->easy, c, x->proof);
    add_header(x, "Accept: application/json");
    if (c->endpoint.host_header != NULL) {
        add_header(x, c->endpoint.host_header);
    }
    for (const char *const *h = request->headers; h != NULL && *h != NULL; h++) {
        add_header(x, *h);
    }
    if (x->proof->authorization != NULL) {
        add_header(x, x->proof->authorization);
    }
    set_body(x, request);
    rc = set_url(x, c, request->path, reterr);
    EASY_SET(x->easy, CURLOPT_HTTPHEADER, x->headers);
    return rc;
}

/* ---- the end ---- */

/* Seconds; the other form, a date, is not used by Kubernetes. */
static int64_t retry_after_ms(CURL *easy)
{
    struct curl_header *h;
    uint64_t seconds;
    if (curl_easy_header(easy, "Retry-After", 0, CURLH_HEADER, -1, &h) != CURLHE_OK ||
        !str_to_u64(str_trim(str_of(h->value)), UINT32_MAX, &seconds)) {
        return KUBE_NO_RETRY_AFTER;
    }
    return (int64_t)(seconds > RETRY_AFTER_MAX_S ? RETRY_AFTER_MAX_S : seconds) * 1000;
}

/* The server's clock. */
static int64_t date_ms(CURL *easy)
{
    struct curl_header *h;
    time_t at_s = -1;

    if (curl_easy_header(easy, "Date", 0, CURLH_HEADER, -1, &h) == CURLHE_OK) {
        at_s = curl_getdate(h->value, NULL);
    }
    return at_s > 0 ? (int64_t)at_s * 1000 : 0;
}

static bool request_left(CURL *easy)
{
    long bytes = 0;
    EASY_GET(easy, CURLINFO_REQUEST_SIZE, &bytes);
    return bytes > 0;
}

static enum kube_outcome_kind kind_of(CURLcode code, int http_status, bool sent)
{
    if (code == CURLE_OK) {
        return http_status >= 200 ? KUBE_ANSWERED : KUBE_LOST;
    }
    if (!sent) {
        return KUBE_NOT_SENT;
    }
    return code == CURLE_OPERATION_TIMEDOUT ? KUBE_TIMED_OUT : KUBE_LOST;
}

void exchange_outcome(const struct exchange *x, CURLcode code, struct kube_outcome *ret)
{
    long status = 0;
    bool sent = request_left(x->easy) || x->sent_n > 1;
    EASY_GET(x->easy, CURLINFO_RESPONSE_CODE, &status);
    *ret = kube_outcome_of(kind_of(code, (int)status, sent), code == CURLE_OK      ? ""
                                                             : x->error[0] != '\0' ? x->error
                                                                                   : curl_easy_strerror(code));
    ret->maybe_sent = sent;
    ret->sent_again = x->sent_n > 1;
    ret->http_status = (int)status;
    ret->retry_after_ms = retry_after_ms(x->easy);
    ret->date_ms = date_ms(x->easy);
}

void exchange_progress(struct exchange *x, const struct easy_context *c)
{
    long status = 0;
    if (!x->told) {
        EASY_GET(x->easy, CURLINFO_RESPONSE_CODE, &status);
    }
    if (status >= 200) {
        x->told = true;
        identity_answered(c->identity, x->proof, x->begun_ns, (int)status);
    }
}

struct kube_outcome exchange_refused(const struct err *why)
{
    struct kube_outcome o = kube_outcome_of(KUBE_NOT_SENT, why->msg);
    o.http_status = why->code == ERR_DENIED ? 401 : 0;
    return o;
}

/* libcurl has copied header lines with our token: its copies are freed by itself, ours are wiped. */
static void free_headers(struct exchange *x)
{
    for (const struct curl_slist *h = x->headers; h != NULL; h = h->next) {
        explicit_bzero(h->data, strlen(h->data));
    }
    curl_slist_free_all(x->headers);
    x->headers = NULL;
}

void exchange_abandon(struct exchange *x)
{
    EASY_SET(x->easy, CURLOPT_HTTPHEADER, (struct curl_slist *)NULL);
    EASY_SET(x->easy, CURLOPT_ERRORBUFFER, (char *)NULL);
    free_headers(x);
    proof_unref(x->proof);
    x->proof = NULL;
}

bool exchange_end(struct exchange *x, const struct easy_context *c, const char *verb, const char *resource,
                  const struct kube_outcome *o)
{
    bool again = false;
    if (o->kind != KUBE_CANCELLED && !x->told) {
        identity_answered(c->identity, x->proof, x->begun_ns, o->http_status);
    }
    if (o->kind == KUBE_ANSWERED && o->http_status == 401) {
        again = identity_has_more(c->identity, x->proof);
    }
    if (c->observe != NULL) {
        c->observe(c->observe_ctx, verb, resource, o->http_status, clock_mono_ns(c->clock) - x->begun_ns);
    }
    exchange_abandon(x);
    return again;
}

/* What a refusal says: the message of a Status, or all of a body that is plain text, as fgpu itself answers. */
static struct str words_of(struct str body)
{
    struct str raw = scan_member(body, STR("message"));

    if (raw.n > 1 && raw.p[0] == '"') {
        return (struct str){raw.p + 1, raw.n - 2};
    }
    return raw.n == 0 && body.n > 0 && strchr("{[<\"", body.p[0]) == NULL ? body : STR_NULL;
}

void outcome_describe(struct kube_outcome *o, struct str body)
{
    /* for people only, so the escapes are dropped instead of decoded */
    struct str raw = words_of(body);
    size_t n = 0;

    for (size_t i = 0; i < raw.n && n + 1 < sizeof(o->detail); i++) {
        unsigned char byte = (unsigned char)raw.p[i];
        if (byte >= ' ' && byte < 0x7f && byte != '\\') {
            o->detail[n++] = (char)byte;
        }
    }
    if (raw.n > 0) {
        o->detail[n] = '\0';
    }
}
