/* httpd/admission.c - who may connect when a listener, or one caller's part of it, is full.
 *
 * libmicrohttpd stops accepting at its own limit, which would leave a newcomer waiting for as long
 * as somebody sits on idle connections. So its limit is set out of reach and ours makes room:
 * connections that have never completed a request go first, then idle ones, then those that have
 * been sending one for a while; the oldest first. A caller whose request is being worked on is
 * never sent away.
 */
#include "httpd/server_internal.h"

#include "base/clock.h"

#include <netinet/in.h>
#include <string.h>

/* A request takes milliseconds to arrive; who has needed this long is slow. */
#define RECEIVING_SPARED_NS NS_PER_S

enum rank { RANK_UNPROVEN, RANK_IDLE, RANK_RECEIVING, RANK_NEVER };

/* *ret_since_ns: comparable within one rank. */
static enum rank rank_of(const struct httpd_conn *c, int64_t state, int64_t now_ns, int64_t *ret_since_ns)
{
    const struct httpd_config *config = &c->server->config;
    const bool proven = atomic_load(&c->proven);
    int64_t since_ns = httpd_conn_time_ns(state);
    switch (httpd_conn_phase(state)) {
    case CONN_IDLE:
        *ret_since_ns = since_ns;
        return proven ? RANK_IDLE : RANK_UNPROVEN;
    case CONN_HEAD:
    case CONN_BODY:
        since_ns -=
            NS_PER_MS * (httpd_conn_phase(state) == CONN_HEAD ? config->head_deadline_ms : config->body_deadline_ms);
        *ret_since_ns = since_ns;
        if (!proven && httpd_conn_phase(state) == CONN_HEAD) {
            return RANK_UNPROVEN;
        }
        return now_ns - since_ns > RECEIVING_SPARED_NS ? RANK_RECEIVING : RANK_NEVER;
    case CONN_BUSY:
    case CONN_SENDING:
    case CONN_DROPPED:
        break;
    }
    return RANK_NEVER;
}

static bool is_of(const struct httpd_conn *c, const struct httpd_listener *l, const struct in6_addr *peer)
{
    return c->listener == l && c->counted && (peer == NULL || memcmp(&c->peer, peer, sizeof(*peer)) == 0);
}

/* Drops the one that can best be spared; false when nobody can. */
static bool make_room(struct httpd_listener *l, const struct in6_addr *peer)
{
    const int64_t now_ns = clock_mono_ns(l->server->config.clock);
    struct httpd_conn *victim = NULL;
    enum rank best = RANK_NEVER;
    int64_t victim_state = 0;
    int64_t oldest_ns = 0;
    struct httpd_conn *c;
    LIST_FOREACH (c, &l->server->conns, link) {
        if (!is_of(c, l, peer)) {
            continue;
        }
        int64_t since_ns = 0;
        const int64_t state = atomic_load(&c->state);
        const enum rank rank = rank_of(c, state, now_ns, &since_ns);
        if (rank < best || (rank == best && rank != RANK_NEVER && since_ns < oldest_ns)) {
            victim = c;
            best = rank;
            victim_state = state;
            oldest_ns = since_ns;
        }
    }
    if (victim == NULL) {
        return false;
    }
    httpd_conn_drop_locked(victim, victim_state, HTTPD_DROP_EVICTED);
    return !victim->counted; /* else it began a request at this very moment */
}

static bool is_loopback(const struct in6_addr *a)
{
    return IN6_IS_ADDR_LOOPBACK(a) || (IN6_IS_ADDR_V4MAPPED(a) && a->s6_addr[12] == 127);
}

/* On loopback every caller has the same address. */
static bool own_part_is_full(const struct httpd_listener *l, const struct in6_addr *peer)
{
    unsigned n = 0;
    if (l->config.connection_max_per_address == 0 || is_loopback(peer)) {
        return false;
    }
    const struct httpd_conn *c;
    LIST_FOREACH (c, &l->server->conns, link) {
        n += is_of(c, l, peer);
    }
    return n >= l->config.connection_max_per_address;
}

static bool refuse(struct httpd_listener *l, enum httpd_drop why)
{
    atomic_fetch_add(&l->drops[why], 1);
    return false;
}

/* Two threads of a listener may admit one each for the last place; the limit is that exact. */
enum MHD_Result httpd_admit(void *cls, const struct sockaddr *sa, socklen_t len)
{
    (void)len;
    struct httpd_listener *l = cls;
    struct httpd_server *s = l->server;
    struct in6_addr peer;
    bool admitted = true;
    mutex_lock(&s->conns_lock);
    if (httpd_conn_peer(sa, &peer) && own_part_is_full(l, &peer) && !make_room(l, &peer)) {
        admitted = refuse(l, HTTPD_DROP_FULL_FOR_ADDRESS);
    } else if (l->conn_n >= l->config.connection_max && !make_room(l, NULL)) {
        admitted = refuse(l, HTTPD_DROP_FULL);
    }
    mutex_unlock(&s->conns_lock);
    return admitted ? MHD_YES : MHD_NO;
}
