/* httpd/server.c - listeners, start and the orderly stop. */
#define _GNU_SOURCE /* dup3 */
#include "httpd/server_internal.h"

#include "base/bug.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/abstract.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* libmicrohttpd maps what is larger than 32 KiB, and the head's proof wants zeros behind it (head_bytes.c); it clears
 * all of it after each request, and kube-scheduler opens a connection for nearly every bind. So: little more. */
enum { CONNECTION_BYTES = 36 * 1024 };

enum { SEND_GRACE_MS = 1000, CONNECTIONS_DEFAULT = 1024, CONNECTIONS_SLACK = 1024 };

static void fill_defaults(struct httpd_config *c)
{
    const size_t mib = (size_t)1 << 20;
    c->body_max_bytes = c->body_max_bytes != 0 ? c->body_max_bytes : 16 * mib;
    c->inflight_max_bytes = c->inflight_max_bytes != 0 ? c->inflight_max_bytes : 64 * mib;
    c->arena_max_bytes = c->arena_max_bytes != 0 ? c->arena_max_bytes : 32 * mib;
    c->reply_max_bytes = c->reply_max_bytes != 0 ? c->reply_max_bytes : 64 * mib;
    c->connection_memory_bytes = c->connection_memory_bytes != 0 ? c->connection_memory_bytes : CONNECTION_BYTES;
    c->idle_timeout_s = c->idle_timeout_s != 0 ? c->idle_timeout_s : 180;
    c->head_deadline_ms = c->head_deadline_ms != 0 ? c->head_deadline_ms : 5000;
    c->body_deadline_ms = c->body_deadline_ms != 0 ? c->body_deadline_ms : 10000;
    c->send_deadline_ms = c->send_deadline_ms != 0 ? c->send_deadline_ms : 15000;
    c->clock = c->clock != NULL ? c->clock : clock_system();
}

static int cannot_listen(struct httpd_listener *l, const char *step, struct err *reterr)
{
    const int rc = err_set(reterr, ERR_UNAVAILABLE, "cannot listen on \"%s\" (%s): %s: %s", l->config.address,
                           l->config.name, step, strerror(errno));
    if (l->fd >= 0) {
        close(l->fd);
        l->fd = -1;
    }
    return rc;
}

static int read_port(struct httpd_listener *l, struct err *reterr)
{
    struct sockaddr_storage bound;
    socklen_t len = sizeof(bound);
    struct address a;
    if (getsockname(l->fd, (struct sockaddr *)&bound, &len) != 0) {
        return cannot_listen(l, "getsockname", reterr);
    }
    BUG_ON(!address_from_sockaddr((const struct sockaddr *)&bound, &a));
    l->port = a.port;
    return 0;
}

static int listener_open(struct httpd_listener *l, struct err *reterr)
{
    struct address a;
    const int rc = address_parse(str_of(l->config.address), &a, reterr);
    if (rc != 0) {
        return err_wrap(reterr, rc, "listen address");
    }
    const int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    l->fd = socket(a.ipv6 ? AF_INET6 : AF_INET, type, 0);
    if (l->fd < 0 && errno == EAFNOSUPPORT && a.any) {
        a = (struct address){.host = "0.0.0.0", .port = a.port};
        l->fd = socket(AF_INET, type, 0);
    }
    if (l->fd < 0) {
        return cannot_listen(l, "socket", reterr);
    }
    struct sockaddr_storage sockaddr;
    const socklen_t sockaddr_len = address_to_sockaddr(&a, &sockaddr);
    l->v6 = a.ipv6;
    const int on = 1;
    const int v6_only = !a.any;
    if (setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        (l->v6 && setsockopt(l->fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, sizeof(v6_only)) != 0)) {
        return cannot_listen(l, "setsockopt", reterr);
    }
    if (bind(l->fd, (const struct sockaddr *)&sockaddr, sockaddr_len) != 0) {
        return cannot_listen(l, "bind", reterr);
    }
    if (listen(l->fd, SOMAXCONN) != 0) {
        return cannot_listen(l, "listen", reterr);
    }
    return read_port(l, reterr);
}

static void init_locks(struct httpd_server *s)
{
    mutex_init(&s->lock, "httpd");
    mutex_init(&s->conns_lock, "httpd connections");
    condvar_init(&s->idle, "httpd idle");
    condvar_init(&s->watchdog_wake, "httpd watchdog wake");
}

static void keep_hosts(struct httpd_listener_config *c)
{
    struct str *kept = xcalloc(c->host_n + 1, sizeof(*kept));

    for (size_t i = 0; i < c->host_n; i++) {
        kept[i] = (struct str){str_dup(c->hosts[i]), c->hosts[i].n};
    }
    c->hosts = kept;
}

static void drop_hosts(struct httpd_listener_config *c)
{
    for (size_t i = 0; i < c->host_n; i++) {
        free((char *)(uintptr_t)c->hosts[i].p);
    }
    free((struct str *)(uintptr_t)c->hosts);
}

int httpd_server_new(const struct httpd_config *config, struct httpd_server **ret, struct err *reterr)
{
    struct httpd_server *s;

    if (!httpd_head_bytes_serves(MHD_get_version())) {
        return err_set(reterr, ERR_INTERNAL,
                       "libmicrohttpd %s is loaded, but 0.9.75 is needed, because the parsing of requests depends "
                       "on the version: install 0.9.75",
                       MHD_get_version());
    }
    s = xcalloc(1, sizeof(*s));
    atomic_init(&s->refs, 1);
    s->config = *config;
    fill_defaults(&s->config);
    s->config.listeners = NULL;
    s->budget = (struct arena_lender){httpd_budget_take, httpd_budget_give};
    atomic_init(&s->body_max_bytes, s->config.body_max_bytes);
    atomic_init(&s->inflight_max_bytes, s->config.inflight_max_bytes);
    s->listener_n = config->listener_n;
    s->listeners = xcalloc(s->listener_n, sizeof(*s->listeners));
    init_locks(s);
    for (size_t i = 0; i < s->listener_n; i++) {
        s->listeners[i] = (struct httpd_listener){.server = s, .config = config->listeners[i], .fd = -1};
        if (s->listeners[i].config.connection_max == 0) {
            s->listeners[i].config.connection_max = CONNECTIONS_DEFAULT;
        }
        keep_hosts(&s->listeners[i].config);
    }
    for (size_t i = 0; i < s->listener_n; i++) {
        const int rc = listener_open(&s->listeners[i], reterr);
        if (rc != 0) {
            httpd_server_free(s);
            return rc;
        }
    }
    *ret = s;
    return 0;
}

size_t httpd_server_inflight_bytes(const struct httpd_server *s)
{
    return atomic_load(&s->inflight_bytes);
}

void httpd_server_set_body_limits(struct httpd_server *s, size_t body_max_bytes, size_t inflight_max_bytes)
{
    atomic_store(&s->body_max_bytes, body_max_bytes);
    atomic_store(&s->inflight_max_bytes, inflight_max_bytes);
}

static size_t keep_escapes(void *cls, struct MHD_Connection *mhd, char *text)
{
    (void)cls, (void)mhd;
    return strlen(text); /* head.c decodes the target itself, strictly */
}

static void PRINTF_LIKE(2, 0) library_log(void *cls, const char *fmt, va_list ap)
{
    const struct httpd_server *s = cls;
    char text[256];
    vsnprintf(text, sizeof(text), fmt, ap);
    LOG_V(s->config.log, 4, "HTTP library message", LOG_STR("text", str_trim(str_of(text))));
}

/* Nothing below TLS 1.2, no static RSA, no CBC. */
static char tls_priorities[] = "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-AES-128-CBC:-AES-256-CBC";

/* libmicrohttpd insists on a certificate of its own or somebody to ask for one; by the time it could
 * be asked, the session has other credentials (tls_session.c). */
static int no_certificate(gnutls_session_t session, const gnutls_datum_t *ca_names, int ca_n,
                          const gnutls_pk_algorithm_t *algorithms, int algorithm_n, gnutls_pcert_st **ret_chain,
                          unsigned *ret_n, gnutls_privkey_t *ret_key)
{
    (void)session, (void)ca_names, (void)ca_n, (void)algorithms, (void)algorithm_n;
    (void)ret_chain, (void)ret_n, (void)ret_key;
    return -1;
}

static int listener_start(struct httpd_listener *l, struct err *reterr)
{
    struct httpd_server *s = l->server;
    const unsigned threads = l->config.thread_n;
    /* Out of reach for each thread; see admission.c. */
    const unsigned connections = (threads == 0 ? 1 : threads) * (l->config.connection_max + CONNECTIONS_SLACK);
    struct MHD_OptionItem more[4];
    size_t n = 0;
    if (threads > 1) { /* a pool of one is refused; without a pool there is one thread */
        more[n++] = (struct MHD_OptionItem){MHD_OPTION_THREAD_POOL_SIZE, (intptr_t)threads, NULL};
    }
    if (l->config.tls != NULL) {
        more[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0, tls_priorities};
        more[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_CERT_CALLBACK, 0, no_certificate};
    }
    more[n] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    const unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
                           (l->v6 ? MHD_USE_IPv6 : 0U) | (l->config.tls != NULL ? MHD_USE_TLS : 0U);
    l->daemon = MHD_start_daemon(
        flags, 0, httpd_admit, l, httpd_request_on_access, l, MHD_OPTION_EXTERNAL_LOGGER, library_log, s,
        MHD_OPTION_LISTEN_SOCKET, l->fd, MHD_OPTION_NOTIFY_CONNECTION, httpd_conn_notify, l,
        MHD_OPTION_URI_LOG_CALLBACK, httpd_request_on_target, l, MHD_OPTION_NOTIFY_COMPLETED, httpd_request_on_over, l,
        MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL, MHD_OPTION_CONNECTION_TIMEOUT, s->config.idle_timeout_s,
        MHD_OPTION_CONNECTION_LIMIT, connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT, s->config.connection_memory_bytes,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_ARRAY, more, MHD_OPTION_END);
    if (l->daemon == NULL) {
        return err_set(reterr, ERR_INTERNAL,
                       "cannot start the HTTP server for \"%s\" (%s): "
                       "out of threads or descriptors",
                       l->config.address, l->config.name);
    }
    l->listen_fd = l->fd;
    l->fd = -1;
    return 0;
}

int httpd_server_start(struct httpd_server *s, struct err *reterr)
{
    BUG_ON(s->started);
    int rc = httpd_watchdog_start(s, reterr);
    if (rc != 0) {
        return rc;
    }
    s->started = true;
    for (size_t i = 0; i < s->listener_n && rc == 0; i++) {
        rc = listener_start(&s->listeners[i], reterr);
    }
    if (rc != 0) {
        httpd_server_stop(s, 0);
    }
    return rc;
}

uint16_t httpd_server_port(const struct httpd_server *s, size_t listener_ix)
{
    BUG_ON(listener_ix >= s->listener_n);
    return s->listeners[listener_ix].port;
}

uint64_t httpd_server_drops(const struct httpd_server *s, size_t listener_ix, enum httpd_drop why)
{
    BUG_ON(listener_ix >= s->listener_n || why >= HTTPD_DROP__MAX);
    return atomic_load(&s->listeners[listener_ix].drops[why]);
}

const char *httpd_drop_name(enum httpd_drop why)
{
    static const char *const names[HTTPD_DROP__MAX] = {
        [HTTPD_DROP_SLOW_HEAD] = "slow-head",
        [HTTPD_DROP_SLOW_BODY] = "slow-body",
        [HTTPD_DROP_SLOW_READER] = "slow-reader",
        [HTTPD_DROP_EVICTED] = "evicted",
        [HTTPD_DROP_FULL] = "full",
        [HTTPD_DROP_FULL_FOR_ADDRESS] = "full-for-address",
        [HTTPD_DROP_TLS_NO_CERTIFICATE] = "no-certificate",
        [HTTPD_DROP_TLS_BAD_CERTIFICATE] = "bad-certificate",
        [HTTPD_DROP_TLS_NAME] = "name-not-allowed",
        [HTTPD_DROP_TLS_HANDSHAKE] = "handshake",
    };
    BUG_ON(why >= HTTPD_DROP__MAX);
    return names[why];
}

/* New clients are refused at once. Not by MHD_quiesce_daemon: in 0.9.75 that takes the listening socket
 * out of the epoll sets while a thread that is awake may do the same, and who comes second aborts the
 * process. Instead something that never has an event takes over the descriptor's number. The socket
 * is closed by that, which also takes it out of the epoll sets; libmicrohttpd keeps a number that it
 * may pass to accept() in vain and close in the end. */
static void stop_accepting(struct httpd_server *s)
{
    for (size_t i = 0; i < s->listener_n; i++) {
        struct httpd_listener *l = &s->listeners[i];
        const int silence = l->daemon != NULL ? eventfd(0, EFD_CLOEXEC) : -1;
        if (silence >= 0) {
            (void)dup3(silence, l->listen_fd, O_CLOEXEC);
            close(silence);
        } else if (l->daemon != NULL) {
            shutdown(l->listen_fd, SHUT_RDWR); /* out of descriptors: its threads spin while draining */
        }
    }
}

static void close_listeners(struct httpd_server *s)
{
    for (size_t i = 0; i < s->listener_n; i++) {
        if (s->listeners[i].fd >= 0) {
            close(s->listeners[i].fd);
            s->listeners[i].fd = -1;
        }
    }
}

static void wait_until_idle(struct httpd_server *s, int64_t ms)
{
    const int64_t until_ns = sync_in_ns(ms * NS_PER_MS);
    mutex_lock(&s->lock);
    while (s->active_n > 0 && condvar_wait_until(&s->idle, &s->lock, until_ns)) {
    }
    mutex_unlock(&s->lock);
}

static void stop_daemons(struct httpd_server *s)
{
    for (size_t i = 0; i < s->listener_n; i++) {
        if (s->listeners[i].daemon != NULL) {
            MHD_stop_daemon(s->listeners[i].daemon);
            s->listeners[i].daemon = NULL;
        }
    }
}

void httpd_server_stop(struct httpd_server *s, int64_t drain_ms)
{
    if (s->stopped) {
        return;
    }
    s->stopped = true;
    atomic_store(&s->draining, true);
    stop_accepting(s);
    if (!s->started) {
        close_listeners(s);
        return;
    }
    httpd_streams_abort(s, true);
    wait_until_idle(s, drain_ms);

    /* From here on nothing can be suspended; what is, is answered. */
    mutex_lock(&s->lock);
    s->closed = true;
    mutex_unlock(&s->lock);
    httpd_request_finish_suspended(s);
    httpd_streams_abort(s, false);
    wait_until_idle(s, SEND_GRACE_MS);

    httpd_watchdog_stop(s); /* before the connections go */
    stop_daemons(s);
    close_listeners(s);
}

void httpd_server_unref(struct httpd_server *s)
{
    if (atomic_fetch_sub(&s->refs, 1) != 1) {
        return;
    }
    struct httpd_request *req;
    while ((req = LIST_FIRST(&s->pool)) != NULL) {
        LIST_REMOVE(req, link);
        httpd_request_destroy(req);
    }
    mutex_destroy(&s->lock);
    mutex_destroy(&s->conns_lock);
    condvar_destroy(&s->idle);
    condvar_destroy(&s->watchdog_wake);
    for (size_t i = 0; i < s->listener_n; i++) {
        drop_hosts(&s->listeners[i].config);
    }
    free(s->listeners);
    free(s);
}

void httpd_server_free(struct httpd_server *s)
{
    if (s == NULL) {
        return;
    }
    httpd_server_stop(s, 0);
    httpd_server_unref(s);
}
