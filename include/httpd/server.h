/* httpd/server.h - a generic HTTP/1.1 server; the only user of libmicrohttpd.
 *
 * Several listeners, each with its own routes and its own epoll threads. The server does framing,
 * limits and deadlines, and calls a handler once a request is complete. It knows nothing of JSON or
 * schedulers. Which listeners speak TLS (httpd/tls.h) is the caller's decision.
 *
 * Strictness beyond libmicrohttpd's own (which reads on past all of these), see decision 0008:
 *   400  bytes that another reader could take differently: line ends other than CRLF, folded lines,
 *        NUL or other control bytes, header names that are no tokens, a target with anything but
 *        visible ASCII, a malformed percent escape; more than one Host, Content-Length or
 *        Transfer-Encoding; Transfer-Encoding other than exactly "chunked", or beside Content-Length
 *   411  a chunked body: libmicrohttpd takes bare LFs between chunks, and kube-scheduler sends none
 *   421  with check_host: a Host that is neither an address nor a name of the listener
 *   415  Content-Encoding; on routes with HTTPD_ROUTE_JSON a Content-Type that is not JSON
 *   417  Expect other than 100-continue        505  a version other than HTTP/1.0 and 1.1
 *   404, 405 with Allow
 * A fault is answered after the body has been read and thrown away, so that the client really
 * receives the answer; only when the framing itself cannot be trusted the answer is immediate and
 * the connection closes. Faults that libmicrohttpd finds by itself (no Host, a head larger than
 * connection_memory_bytes, an absurd length) it answers with its own short HTML page.
 *
 * Time limits: the idle timeout must exceed the 90 s for which kube-scheduler's client keeps idle
 * connections, so that the client closes first. Head, body and answer have absolute deadlines (seen
 * to a tick of 250 ms at most), however steadily the peer drips: libmicrohttpd's own timeout only
 * measures silence. The head's runs from its first byte and covers the TLS handshake, the body's from
 * the end of the head, the answer's from the moment it is ready; a stream has to take each block in
 * that time. Who misses one has its socket shut down.
 *
 * Connections: a full listener makes room for newcomers by dropping those that never completed a
 * request, then idle ones, then slow senders, the oldest first, and never one whose request is being
 * worked on. If there is none of these the newcomer is closed without a word. The same holds within
 * the part of one address.
 *
 * Handlers run on the listener's threads and must not block; a long wait is HTTPD_SUSPENDED.
 */
#ifndef HTTPD_SERVER_H
#define HTTPD_SERVER_H

#include "base/clock.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/log.h"
#include "httpd/request.h"
#include "httpd/response.h"
#include "httpd/tls.h"

#include <stddef.h>
#include <stdint.h>

enum httpd_action {
    HTTPD_REPLY, /* `resp` is the answer */
    /* httpd_resume(req, ...) will bring it; it may already have. `resp` is dropped. */
    HTTPD_SUSPENDED,
};

/* `resp` is initialised: 200, application/json, empty. */
typedef enum httpd_action httpd_handler_fn(void *ctx, struct httpd_request *req, struct httpd_response *resp);

enum httpd_route_flag {
    HTTPD_ROUTE_PREFIX = 1 << 0, /* `path` is the beginning of the paths served; "/" catches all */
    /* The handler is called for a body over the cap or the budget too and sees it in
     * httpd_request_body_state(); without the flag the server answers 413 or 503. For the verbs,
     * which must answer 200 and an Error. */
    HTTPD_ROUTE_BODY_FAULTS = 1 << 1,
    /* The body's Content-Type must be application/json, so that no web page can send one here
     * without the browser asking first. */
    HTTPD_ROUTE_JSON = 1 << 2,
    /* It says the same to everybody, so no guard stands before it (guard/ops_auth.h). */
    HTTPD_ROUTE_PUBLIC = 1 << 3,
};

struct httpd_route {
    const char *method; /* NULL: any. A GET route also answers HEAD */
    const char *path;   /* exact, unless HTTPD_ROUTE_PREFIX; exact routes win, then table order */
    httpd_handler_fn *handle;
    void *ctx;
    unsigned flags;
    size_t body_max_bytes; /* 0: httpd_config.body_max_bytes */
    /* Answers a request of this route that is still suspended when the server stops; returns
     * HTTPD_REPLY. `req` is NULL: the resumer may be using the request at that moment. NULL:
     * 503. */
    httpd_handler_fn *stopping;
};

struct httpd_listener_config {
    const char *name;                 /* static; for observers: "verbs", "ops", "health" */
    const char *address;              /* base/address.h */
    const struct httpd_route *routes; /* must outlive the server */
    size_t route_n;
    unsigned thread_n;       /* 0: 1 */
    unsigned connection_max; /* 0: 1024. The caller sees to RLIMIT_NOFILE */
    /* Of connection_max, for one address that is not loopback. 0: all of it. */
    unsigned connection_max_per_address;
    struct httpd_tls *tls; /* NULL: plain HTTP. Must outlive the server */
    /* With tls: also callers without a certificate, or with one whose name is not allowed, are served;
     * httpd_request_client tells. A certificate that is wrong is refused here too. */
    bool client_cert_optional;
    /* For what a browser on this machine must not be led to (DNS rebinding): the Host of a request must be an address,
     * "localhost", or one of these names, without port, in any case. Copied. */
    bool check_host;
    const struct str *hosts;
    size_t host_n;
};

/* Why the server closed a connection, or did not take it. */
enum httpd_drop {
    HTTPD_DROP_SLOW_HEAD,
    HTTPD_DROP_SLOW_BODY,
    HTTPD_DROP_SLOW_READER,
    HTTPD_DROP_EVICTED,          /* to make room */
    HTTPD_DROP_FULL,             /* no room could be made */
    HTTPD_DROP_FULL_FOR_ADDRESS, /* the same, within connection_max_per_address */
    HTTPD_DROP_TLS_NO_CERTIFICATE,
    HTTPD_DROP_TLS_BAD_CERTIFICATE, /* see httpd/tls.h; the log says what is wrong */
    HTTPD_DROP_TLS_NAME,
    HTTPD_DROP_TLS_HANDSHAKE, /* any other end before TLS was agreed on */
    HTTPD_DROP__MAX
};

/* A metric label: "slow-head". */
const char *httpd_drop_name(enum httpd_drop why);

struct httpd_observation {
    const char *listener;
    struct str method;
    struct str path;
    int status; /* 0: none was sent (client gone, deadline) */
    int64_t duration_ns;
};

/* Zero means the default in brackets. */
struct httpd_config {
    const struct httpd_listener_config *listeners;
    size_t listener_n;
    size_t body_max_bytes;          /* [16 MiB] per request */
    size_t inflight_max_bytes;      /* [64 MiB] bodies of all requests together, and their arenas */
    size_t arena_max_bytes;         /* [32 MiB] per request */
    size_t reply_max_bytes;         /* [64 MiB] of the strbuf that handlers fill */
    size_t connection_memory_bytes; /* [36 KiB] heads and transfer buffers, per connection */
    unsigned idle_timeout_s;        /* [180] */
    int64_t head_deadline_ms;       /* [5000] */
    int64_t body_deadline_ms;       /* [10000] */
    int64_t send_deadline_ms;       /* [15000] */
    const struct clock *clock;      /* [clock_system()] */
    const struct log *log;          /* [none] libmicrohttpd's own messages, verbosity 4 */
    /* [none] Called once per request, when it is over, on a server thread. */
    void (*observe)(void *ctx, const struct httpd_observation *o);
    void *observe_ctx;
};

struct httpd_server;

/* Binds and listens (ports are known afterwards) but serves nothing yet. The configuration is
 * copied, route tables are not. ERR_PARSE: a bad address; ERR_UNAVAILABLE: cannot bind. */
WARN_UNUSED int httpd_server_new(const struct httpd_config *config, struct httpd_server **ret, struct err *reterr);
/* Starts the threads. Once only. ERR_INTERNAL: no threads or descriptors. */
WARN_UNUSED int httpd_server_start(struct httpd_server *s, struct err *reterr);
/* Other limits for the requests that begin from now on; neither is 0. From any thread. */
void httpd_server_set_body_limits(struct httpd_server *s, size_t body_max_bytes, size_t inflight_max_bytes);
/* Held by bodies and arenas now; arenas up to 16 KiB are not counted. */
size_t httpd_server_inflight_bytes(const struct httpd_server *s);
uint16_t httpd_server_port(const struct httpd_server *s, size_t listener_ix);
/* Since the start. */
uint64_t httpd_server_drops(const struct httpd_server *s, size_t listener_ix, enum httpd_drop why);

/* Stops accepting, adds "Connection: close" to every answer and waits up to drain_ms for
 * requests in flight (also new ones on open connections). What is still suspended then is
 * answered through its route's `stopping`, and one more second is given for sending. Then every
 * connection is closed. Not from a handler. The second call does nothing. */
void httpd_server_stop(struct httpd_server *s, int64_t drain_ms);
/* Stops without a grace period if it still runs. NULL is fine. */
void httpd_server_free(struct httpd_server *s);

#endif
