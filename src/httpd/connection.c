/* httpd/connection.c - open connections and the watchdog that ends slow ones.
 *
 * The kernel's count of received bytes (TCP_INFO) tells a dripped request line, which libmicrohttpd
 * shows to nobody, from an idle connection, which must be left alone for longer than the peer keeps
 * it. <linux/tcp.h> and not <netinet/tcp.h>: only the kernel's header has tcpi_bytes_received.
 */
#include "httpd/server_internal.h"

#include "base/bug.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { TICK_MIN_MS = 5, TICK_MAX_MS = 250, TICKS_PER_DEADLINE = 8 };

static void conn_opened(struct httpd_server *s, struct MHD_Connection *mhd, void **socket_context)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    BUG_ON(info == NULL);
    struct httpd_conn *c = xcalloc(1, sizeof(*c));
    c->server = s;
    c->fd = info->connect_fd;
    pthread_mutex_lock(&s->conns_lock);
    c->next = s->conns;
    if (c->next != NULL) {
        c->next->prev = c;
    }
    s->conns = c;
    pthread_mutex_unlock(&s->conns_lock);
    *socket_context = c;
}

/* libmicrohttpd closes the descriptor after this, so a descriptor on the list is never a reused
 * number. */
static void conn_closed(struct httpd_server *s, void **socket_context)
{
    struct httpd_conn *c = *socket_context;
    pthread_mutex_lock(&s->conns_lock);
    if (c->prev != NULL) {
        c->prev->next = c->next;
    } else {
        s->conns = c->next;
    }
    if (c->next != NULL) {
        c->next->prev = c->prev;
    }
    pthread_mutex_unlock(&s->conns_lock);
    free(c);
    *socket_context = NULL;
}

void httpd_conn_notify(void *cls, struct MHD_Connection *mhd, void **socket_context,
                       enum MHD_ConnectionNotificationCode toe)
{
    const struct httpd_listener *l = cls;
    if (toe == MHD_CONNECTION_NOTIFY_STARTED) {
        conn_opened(l->server, mhd, socket_context);
    } else {
        conn_closed(l->server, socket_context);
    }
}

static int64_t deadline_from_now(const struct httpd_server *s)
{
    return clock_mono_ns(s->config.clock) + s->config.receive_deadline_ms * 1000000;
}

void httpd_conn_request_begins(struct httpd_conn *c)
{
    /* A deadline that runs since the first bytes of a dripped request line stays. */
    int64_t idle = CONN_IDLE;
    atomic_compare_exchange_strong(&c->deadline_ns, &idle, deadline_from_now(c->server));
}

bool httpd_conn_request_received(struct httpd_conn *c)
{
    return atomic_exchange(&c->deadline_ns, CONN_RECEIVED) != CONN_KILLED;
}

void httpd_conn_request_over(struct httpd_conn *c)
{
    atomic_store(&c->rebase, true); /* before the connection looks idle, see watch_idle */
    atomic_store(&c->deadline_ns, CONN_IDLE);
}

static uint64_t received_bytes(int fd)
{
    struct tcp_info info;
    memset(&info, 0, sizeof(info)); /* an older kernel fills less */
    socklen_t len = sizeof(info);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0) {
        return 0;
    }
    return info.tcpi_bytes_received;
}

static void watch_idle(struct httpd_conn *c)
{
    const bool rebase = atomic_exchange(&c->rebase, false);
    const uint64_t bytes = received_bytes(c->fd);
    if (rebase) {
        c->base_bytes = bytes;
        return;
    }
    if (bytes <= c->base_bytes) {
        return;
    }
    int64_t expected = CONN_IDLE;
    const int64_t deadline_ns = deadline_from_now(c->server);
    if (atomic_compare_exchange_strong(&c->deadline_ns, &expected, deadline_ns) &&
        atomic_load(&c->rebase)) {
        /* A whole request came and went since the count was taken: it is idle after all. */
        expected = deadline_ns;
        atomic_compare_exchange_strong(&c->deadline_ns, &expected, CONN_IDLE);
    }
}

static void watch_connections(struct httpd_server *s)
{
    const int64_t now_ns = clock_mono_ns(s->config.clock);
    for (struct httpd_conn *c = s->conns; c != NULL; c = c->next) {
        int64_t deadline_ns = atomic_load(&c->deadline_ns);
        if (deadline_ns == CONN_IDLE) {
            watch_idle(c);
        } else if (deadline_ns > 0 && deadline_ns <= now_ns &&
                   atomic_compare_exchange_strong(&c->deadline_ns, &deadline_ns, CONN_KILLED)) {
            shutdown(c->fd, SHUT_RDWR); /* libmicrohttpd reads the end and cleans up */
        }
    }
}

static int64_t tick_ms(const struct httpd_server *s)
{
    const int64_t ms = s->config.receive_deadline_ms / TICKS_PER_DEADLINE;
    return ms < TICK_MIN_MS ? TICK_MIN_MS : ms > TICK_MAX_MS ? TICK_MAX_MS : ms;
}

static void *watchdog_main(void *arg)
{
    struct httpd_server *s = arg;
    const int64_t tick_ns = tick_ms(s) * 1000000;
    pthread_mutex_lock(&s->conns_lock);
    while (!s->watchdog_stop) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        const int64_t ns = until.tv_nsec + tick_ns;
        until.tv_sec += ns / 1000000000;
        until.tv_nsec = ns % 1000000000;
        while (!s->watchdog_stop &&
               pthread_cond_timedwait(&s->watchdog_wake, &s->conns_lock, &until) != ETIMEDOUT) {
        }
        if (s->watchdog_stop) {
            break;
        }
        watch_connections(s);
        pthread_mutex_unlock(&s->conns_lock);
        httpd_streams_check_hangup(s);
        pthread_mutex_lock(&s->conns_lock);
    }
    pthread_mutex_unlock(&s->conns_lock);
    return NULL;
}

int httpd_watchdog_start(struct httpd_server *s, struct err *reterr)
{
    const int r = pthread_create(&s->watchdog, NULL, watchdog_main, s);
    if (r != 0) {
        return err_set(reterr, ERR_INTERNAL, "cannot start the deadline thread: %s", strerror(r));
    }
    return 0;
}

void httpd_watchdog_stop(struct httpd_server *s)
{
    pthread_mutex_lock(&s->conns_lock);
    s->watchdog_stop = true;
    pthread_cond_signal(&s->watchdog_wake);
    pthread_mutex_unlock(&s->conns_lock);
    pthread_join(s->watchdog, NULL);
}
