/* httpd/watchdog.c - the thread that ends slow connections, and looks after certificates.
 *
 * The kernel's count of received bytes (TCP_INFO) tells a dripped request line, which libmicrohttpd
 * shows to nobody, from an idle connection, which must be left alone for longer than the peer keeps
 * it. <linux/tcp.h> and not <netinet/tcp.h>: only the kernel's header has tcpi_bytes_received.
 */
#include "httpd/tls_internal.h"

#include "base/clock.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

enum { TICK_MIN_MS = 5, TICK_MAX_MS = 250, TICKS_PER_DEADLINE = 8 };

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

static void watch_idle(struct httpd_conn *c, int64_t state)
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
    /* Fails when a whole request has come and gone since `state` was read: the times differ. */
    httpd_conn_try(c, state, CONN_HEAD, httpd_conn_head_deadline(c->server));
}

static void watch_connections(struct httpd_server *s)
{
    static const enum httpd_drop reasons[] = {[CONN_HEAD] = HTTPD_DROP_SLOW_HEAD,
                                              [CONN_BODY] = HTTPD_DROP_SLOW_BODY,
                                              [CONN_SENDING] = HTTPD_DROP_SLOW_READER};
    const int64_t now_ns = clock_mono_ns(s->config.clock);
    struct httpd_conn *c;
    LIST_FOREACH (c, &s->conns, link) {
        const int64_t state = atomic_load(&c->state);
        const enum conn_phase phase = httpd_conn_phase(state);
        if (phase == CONN_IDLE) {
            watch_idle(c, state);
        } else if ((phase == CONN_HEAD || phase == CONN_BODY || phase == CONN_SENDING) &&
                   httpd_conn_time_ns(state) <= now_ns) {
            httpd_conn_drop_locked(c, state, reasons[phase]);
        }
    }
}

static void poll_certificates(struct httpd_server *s)
{
    for (size_t i = 0; i < s->listener_n; i++) {
        if (s->listeners[i].config.tls != NULL) {
            httpd_tls_poll(s->listeners[i].config.tls, clock_mono_ns(s->config.clock));
        }
    }
}

static int64_t tick_ms(const struct httpd_config *c)
{
    int64_t ms = c->head_deadline_ms < c->body_deadline_ms ? c->head_deadline_ms : c->body_deadline_ms;
    ms = (c->send_deadline_ms < ms ? c->send_deadline_ms : ms) / TICKS_PER_DEADLINE;
    return ms < TICK_MIN_MS ? TICK_MIN_MS : ms > TICK_MAX_MS ? TICK_MAX_MS : ms;
}

static void *watchdog_main(void *arg)
{
    struct httpd_server *s = arg;
    const int64_t tick_ns = tick_ms(&s->config) * NS_PER_MS;
    mutex_lock(&s->conns_lock);
    while (!s->watchdog_stop) {
        const int64_t until_ns = sync_in_ns(tick_ns);
        while (!s->watchdog_stop && condvar_wait_until(&s->watchdog_wake, &s->conns_lock, until_ns)) {
        }
        if (s->watchdog_stop) {
            break;
        }
        watch_connections(s);
        mutex_unlock(&s->conns_lock);
        httpd_streams_check_hangup(s);
        poll_certificates(s);
        mutex_lock(&s->conns_lock);
    }
    mutex_unlock(&s->conns_lock);
    return NULL;
}

int httpd_watchdog_start(struct httpd_server *s, struct err *reterr)
{
    return thread_start(&s->watchdog, "http-deadlines", watchdog_main, s, reterr);
}

void httpd_watchdog_stop(struct httpd_server *s)
{
    mutex_lock(&s->conns_lock);
    s->watchdog_stop = true;
    condvar_signal(&s->watchdog_wake);
    mutex_unlock(&s->conns_lock);
    thread_join(&s->watchdog);
}
