/* httpd/connection.c - open connections: the list of them, and the state each is in.
 *
 * A state is one atomic word, so that the watchdog, admission and libmicrohttpd's threads change it
 * without a lock: the phase in the low bits, a monotonic time above.
 */
#include "httpd/server_internal.h"

#include "base/bug.h"
#include "base/clock.h"
#include "httpd/tls_internal.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define PHASE_MASK ((int64_t)7)

static int64_t pack(enum conn_phase phase, int64_t ns)
{
    return (ns & ~PHASE_MASK) | (int64_t)phase;
}

enum conn_phase httpd_conn_phase(int64_t state)
{
    return (enum conn_phase)(state & PHASE_MASK);
}

int64_t httpd_conn_time_ns(int64_t state)
{
    return state & ~PHASE_MASK;
}

static int64_t from_now(const struct httpd_server *s, int64_t ms)
{
    return clock_mono_ns(s->config.clock) + ms * NS_PER_MS;
}

bool httpd_conn_try(struct httpd_conn *c, int64_t seen, enum conn_phase phase, int64_t ns)
{
    return atomic_compare_exchange_strong(&c->state, &seen, pack(phase, ns));
}

/* False: the connection has been dropped; that is never undone. */
static bool advance(struct httpd_conn *c, enum conn_phase phase, int64_t ns)
{
    int64_t state = atomic_load(&c->state);
    while (httpd_conn_phase(state) != CONN_DROPPED) {
        if (httpd_conn_try(c, state, phase, ns)) {
            return true;
        }
        state = atomic_load(&c->state);
    }
    return false;
}

int64_t httpd_conn_head_deadline(const struct httpd_server *s)
{
    return from_now(s, s->config.head_deadline_ms);
}

void httpd_conn_request_begins(struct httpd_conn *c)
{
    /* A deadline that runs since the first bytes of a dripped request line stays. */
    const int64_t state = atomic_load(&c->state);
    if (httpd_conn_phase(state) == CONN_IDLE) {
        httpd_conn_try(c, state, CONN_HEAD, httpd_conn_head_deadline(c->server));
    }
}

void httpd_conn_head_complete(struct httpd_conn *c)
{
    advance(c, CONN_BODY, from_now(c->server, c->server->config.body_deadline_ms));
}

bool httpd_conn_request_received(struct httpd_conn *c)
{
    atomic_store(&c->proven, true);
    return advance(c, CONN_BUSY, from_now(c->server, 0));
}

void httpd_conn_sending(struct httpd_conn *c)
{
    advance(c, CONN_SENDING, from_now(c->server, c->server->config.send_deadline_ms));
}

void httpd_conn_waiting(struct httpd_conn *c)
{
    advance(c, CONN_BUSY, from_now(c->server, 0));
}

void httpd_conn_request_over(struct httpd_conn *c)
{
    atomic_store(&c->rebase, true); /* before the connection looks idle, see watch_idle */
    advance(c, CONN_IDLE, from_now(c->server, 0));
}

void httpd_conn_drop_locked(struct httpd_conn *c, int64_t seen, enum httpd_drop why)
{
    if (!httpd_conn_try(c, seen, CONN_DROPPED, 0)) {
        return; /* it has moved on */
    }
    c->listener->conn_n--;
    c->counted = false;
    atomic_fetch_add(&c->listener->drops[why], 1);
    shutdown(c->fd, SHUT_RDWR); /* libmicrohttpd reads the end and cleans up */
}

/* IPv4 as its IPv6-mapped form, so that one comparison serves both. */
bool httpd_conn_peer(const struct sockaddr *sa, struct in6_addr *ret)
{
    struct sockaddr_in6 six;
    struct sockaddr_in four;
    if (sa != NULL && sa->sa_family == AF_INET6) {
        memcpy(&six, sa, sizeof(six));
        *ret = six.sin6_addr;
        return true;
    }
    if (sa != NULL && sa->sa_family == AF_INET) {
        memcpy(&four, sa, sizeof(four));
        *ret = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
        memcpy(&ret->s6_addr[12], &four.sin_addr, 4);
        return true;
    }
    return false;
}

static void conn_opened(struct httpd_listener *l, struct MHD_Connection *mhd, void **socket_context)
{
    struct httpd_server *s = l->server;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    BUG_ON(info == NULL);
    struct httpd_conn *c = xcalloc(1, sizeof(*c));
    c->server = s;
    c->listener = l;
    c->fd = info->connect_fd;
    info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *sa = info != NULL ? info->client_addr : NULL;
    struct address peer = {.host = ""};
    if (httpd_conn_peer(sa, &c->peer) && address_from_sockaddr(sa, &peer)) {
        address_text(&peer, c->peer_text);
    }
    atomic_init(&c->state, pack(CONN_IDLE, from_now(s, 0)));
    c->counted = true;
    if (l->config.tls != NULL) {
        info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
        BUG_ON(info == NULL || info->tls_session == NULL);
        httpd_tls_begin(c, info->tls_session);
    }
    mutex_lock(&s->conns_lock);
    LIST_INSERT_HEAD(&s->conns, c, link);
    l->conn_n++;
    mutex_unlock(&s->conns_lock);
    *socket_context = c;
}

/* libmicrohttpd closes the descriptor after this, so a descriptor on the list is never a reused
 * number. */
static void conn_closed(struct httpd_server *s, struct MHD_Connection *mhd, void **socket_context)
{
    struct httpd_conn *c = *socket_context;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    mutex_lock(&s->conns_lock);
    LIST_REMOVE(c, link);
    if (c->counted) {
        c->listener->conn_n--;
    }
    mutex_unlock(&s->conns_lock);
    httpd_tls_end(c, info != NULL ? info->tls_session : NULL);
    free(c);
    *socket_context = NULL;
}

void httpd_conn_notify(void *cls, struct MHD_Connection *mhd, void **socket_context,
                       enum MHD_ConnectionNotificationCode toe)
{
    struct httpd_listener *l = cls;
    if (toe == MHD_CONNECTION_NOTIFY_STARTED) {
        conn_opened(l, mhd, socket_context);
    } else {
        conn_closed(l->server, mhd, socket_context);
    }
}
