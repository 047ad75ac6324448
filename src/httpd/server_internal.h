/* httpd/server_internal.h - what the files of this layer share.
 *
 * Locks, outermost first:
 *   server.lock   which requests are suspended, which streams live, how many requests are active
 *   stream.lock   one stream's waiting / woken / over
 * server.conns_lock stands alone: the list of open connections; a descriptor on it is open.
 * libmicrohttpd's own locks are taken inside ours (suspend, resume) and never held when it calls
 * us, except a response's own lock around the pull of a stream.
 */
#ifndef HTTPD_SERVER_INTERNAL_H
#define HTTPD_SERVER_INTERNAL_H

#include "base/arena.h"
#include "base/address.h"
#include "base/sync.h"
#include "httpd/server.h"

#include <microhttpd.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

/* What a connection is doing. The time beside it (httpd_conn_time_ns) is a deadline while bytes are
 * awaited from the peer or by it, and otherwise the moment since when it has been so. */
enum conn_phase {
    CONN_IDLE,    /* between requests */
    CONN_HEAD,    /* deadline: receiving a head, or a TLS handshake */
    CONN_BODY,    /* deadline: receiving a body */
    CONN_BUSY,    /* a request is complete and being worked on */
    CONN_SENDING, /* deadline: the answer, or one block of a stream */
    CONN_DROPPED, /* we have shut the socket down; final */
};

#define HTTPD_CLIENT_NAME_BYTES 256

struct httpd_conn {
    struct httpd_server *server;
    struct httpd_listener *listener;
    LIST_ENTRY(httpd_conn) link; /* of server.conns */
    bool counted;                /* in listener.conn_n; server.conns_lock */
    int fd;
    struct in6_addr peer;
    _Atomic int64_t state; /* httpd_conn_phase, httpd_conn_time_ns */
    atomic_bool proven;    /* has completed a request */
    /* How many bytes the kernel has received for us, at the end of the last request; it shows
     * that a connection which looks idle is dripping a request line. `rebase` asks the watchdog
     * to take it anew. */
    uint64_t base_bytes; /* watchdog only */
    atomic_bool rebase;

    /* of a TLS listener; changed by the thread that serves the connection */
    struct tls_identity *identity;
    bool tls_done, tls_refused;
    char client_name[HTTPD_CLIENT_NAME_BYTES]; /* verified and allowed; "": none */
    char peer_text[ADDRESS_TEXT_MAX];
};

enum request_phase {
    REQUEST_RECEIVING,
    REQUEST_HANDLING,  /* the handler runs or has just returned */
    REQUEST_SUSPENDED, /* on server.suspended */
    REQUEST_ANSWERED,  /* libmicrohttpd has the response */
    REQUEST_OVER,      /* libmicrohttpd has forgotten it; only a resumer may still hold it */
};

struct query_pair {
    struct str name, value;
};

#define QUERY_PAIRS_MAX 64

struct httpd_request {
    struct httpd_server *server;
    const struct httpd_listener *listener;
    struct httpd_conn *conn;
    struct MHD_Connection *mhd;      /* not after REQUEST_OVER */
    const struct httpd_route *route; /* NULL: no handler will run */
    atomic_uint refs;                /* libmicrohttpd's, and the resumer's */
    LIST_ENTRY(httpd_request) link;  /* of server.suspended or server.pool */

    struct arena arena;
    struct str method, path;
    struct str target;     /* as sent; until the head has been read */
    struct str raw_target; /* in libmicrohttpd's buffer; until the head has been checked */
    uintptr_t head_end;    /* where the body must begin; 0: not checked */
    bool body_begun;
    struct query_pair *query;
    size_t query_n;
    int64_t start_ns;
    bool begun; /* the first call, with the head only, has been made */

    char *body;
    size_t body_n, body_cap;
    size_t body_charged; /* of body_cap, against the server's budget */
    size_t body_max;
    size_t content_length; /* SIZE_MAX: not known */
    enum httpd_body body_state;
    bool discard; /* read on, keep nothing */

    int fault_status; /* 0: none; answered by the server itself */
    const char *fault_text;
    char allow[64];

    enum request_phase phase; /* server.lock, once handlers run */
    bool answer_claimed;      /* server.lock: one answer only */
    bool have_response;       /* server.lock */
    bool again;               /* server.lock: httpd_again was called */
    void *note;
    struct httpd_response response;
    int status_sent;
};

struct httpd_listener {
    struct httpd_server *server;
    struct httpd_listener_config config;
    int fd; /* -1 once libmicrohttpd owns it: */
    int listen_fd;
    uint16_t port;
    bool v6;
    struct MHD_Daemon *daemon;
    unsigned conn_n; /* open and not dropped; server.conns_lock */
    _Atomic uint64_t drops[HTTPD_DROP__MAX];
    _Atomic int64_t refusal_log_ns; /* no refused TLS client is logged before */
};

struct httpd_server {
    struct httpd_config config; /* defaults filled in; .listeners is not used */
    struct httpd_listener *listeners;
    size_t listener_n;
    bool started, stopped;
    atomic_uint refs;                                 /* the owner, and every request that is not in the pool */
    atomic_bool draining;                             /* every answer closes its connection */
    struct arena_lender budget;                       /* of inflight_bytes, for arenas */
    atomic_size_t inflight_bytes;                     /* bodies, and what lies in the arenas of their requests */
    atomic_size_t inflight_peak;                      /* since memory was last given back to the kernel */
    atomic_size_t body_max_bytes, inflight_max_bytes; /* of the configuration; may change */

    struct mutex lock;
    struct condvar idle; /* active_n fell */
    bool closed;         /* nothing may be suspended any more */
    size_t active_n;     /* requests libmicrohttpd knows */
    LIST_HEAD(, httpd_request) suspended, pool;
    LIST_HEAD(, httpd_stream) streams;
    size_t pool_n;

    struct mutex conns_lock;
    struct condvar watchdog_wake;
    bool watchdog_stop;
    LIST_HEAD(, httpd_conn) conns;
    struct thread watchdog;
};

/* connection.c */
void httpd_conn_notify(void *cls, struct MHD_Connection *mhd, void **socket_context,
                       enum MHD_ConnectionNotificationCode toe);
enum conn_phase httpd_conn_phase(int64_t state);
int64_t httpd_conn_time_ns(int64_t state);
/* False, and nothing changes, unless the state is still the one `seen`. */
bool httpd_conn_try(struct httpd_conn *c, int64_t seen, enum conn_phase phase, int64_t ns);
int64_t httpd_conn_head_deadline(const struct httpd_server *s);
void httpd_conn_request_begins(struct httpd_conn *c);
void httpd_conn_head_complete(struct httpd_conn *c);
/* False: too late, the connection has been dropped. */
bool httpd_conn_request_received(struct httpd_conn *c);
void httpd_conn_sending(struct httpd_conn *c); /* an answer, or the next block of one */
void httpd_conn_waiting(struct httpd_conn *c); /* a stream that has nothing to send */
void httpd_conn_request_over(struct httpd_conn *c);
/* Cuts the connection if it is still in the state `seen`. Under server.conns_lock. */
void httpd_conn_drop_locked(struct httpd_conn *c, int64_t seen, enum httpd_drop why);
bool httpd_conn_peer(const struct sockaddr *sa, struct in6_addr *ret);

/* body.c: the budget of all requests together */
bool httpd_budget_take(struct arena_lender *l, size_t bytes);
void httpd_budget_give(struct arena_lender *l, size_t bytes);

/* admission.c */
enum MHD_Result httpd_admit(void *cls, const struct sockaddr *sa, socklen_t len);

/* watchdog.c */
WARN_UNUSED int httpd_watchdog_start(struct httpd_server *s, struct err *reterr);
void httpd_watchdog_stop(struct httpd_server *s);

/* request.c: the pool and the three callbacks of libmicrohttpd */
void *httpd_request_on_target(void *cls, const char *target, struct MHD_Connection *mhd);
enum MHD_Result httpd_request_on_access(void *cls, struct MHD_Connection *mhd, const char *url, const char *method,
                                        const char *version, const char *upload, size_t *upload_n, void **req_cls);
void httpd_request_on_over(void *cls, struct MHD_Connection *mhd, void **req_cls, enum MHD_RequestTerminationCode toe);
/* Answers everything that is suspended through its route; for stop, after server.closed is set. */
void httpd_request_finish_suspended(struct httpd_server *s);
void httpd_server_unref(struct httpd_server *s);
void httpd_request_destroy(struct httpd_request *req);

/* head.c: checks and decodes the head; fills target, method, path, query, route or fault.
 * Returns false when the framing cannot be trusted and the answer must be immediate. */
WARN_UNUSED bool httpd_request_read_head(struct httpd_request *req, const char *method, const char *version);

/* head_bytes.c: whether the lines of a head end as they must. All words are views of libmicrohttpd's
 * own buffer, in the order received. */
struct head_bytes {
    bool strict; /* so far */
    struct str last;
    size_t header_n;
};
/* False: that version of the library may parse otherwise; what follows says nothing about it. */
bool httpd_head_bytes_serves(const char *version);
void httpd_head_bytes_begin(struct head_bytes *b, struct str method, struct str target, struct str version);
void httpd_head_bytes_header(struct head_bytes *b, struct str name, struct str value);
bool httpd_head_bytes_end(const struct head_bytes *b);
/* For every piece of a body. */
bool httpd_head_ends_before(const struct httpd_request *req, const char *body);

/* body.c */
void httpd_body_add(struct httpd_request *req, const char *p, size_t n);
void httpd_body_release(struct httpd_request *req); /* for the next use of `req` */

/* response.c: queues req->response with libmicrohttpd and empties it. */
enum MHD_Result httpd_response_queue(struct httpd_request *req);

/* stream.c */
struct MHD_Response *httpd_stream_response(struct httpd_request *req);
void httpd_streams_check_hangup(struct httpd_server *s);
void httpd_streams_abort(struct httpd_server *s, bool only_waiting);

#endif
