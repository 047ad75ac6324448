/* kube/transport_loop.c - the sockets of libcurl in an epoll set, and its one timer. */
#include "transport_loop_internal.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS_AT_ONCE = 32, RETRY_MS = 20 };

/* The mark on a socket says that the set has it. False: the kernel has no memory for it now. */
static bool hear_of(struct transport_loop *l, const struct unheard *u)
{
    struct epoll_event e = {.events = u->events, .data.fd = u->fd};
    if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, u->fd, &e) != 0) {
        BUG_ON(errno != ENOMEM && errno != ENOSPC);
        return false;
    }
    BUG_ON(curl_multi_assign(l->multi, u->fd, l) != CURLM_OK);
    return true;
}

static void try_unheard(struct transport_loop *l)
{
    uint32_t kept_n = 0;
    for (uint32_t i = 0; i < l->unheard_n; i++) {
        if (!hear_of(l, &l->unheard[i])) {
            l->unheard[kept_n++] = l->unheard[i];
        }
    }
    l->unheard_n = kept_n;
}

static void forget_unheard(struct transport_loop *l, int fd)
{
    for (uint32_t i = 0; i < l->unheard_n; i++) {
        if (l->unheard[i].fd == fd) {
            l->unheard[i--] = l->unheard[--l->unheard_n];
        }
    }
}

/* libcurl's word for the sockets that it wants to hear of. */
static int on_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *mark)
{
    struct transport_loop *l = ctx;
    struct epoll_event e = {.data.fd = fd};
    (void)easy;
    forget_unheard(l, fd);
    if (what == CURL_POLL_REMOVE) {
        BUG_ON(epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, fd, NULL) != 0 && errno != ENOENT && errno != EBADF);
        return 0;
    }
    e.events = (what != CURL_POLL_OUT ? (unsigned)EPOLLIN : 0U) | (what != CURL_POLL_IN ? (unsigned)EPOLLOUT : 0U);
    if (mark != NULL) {
        BUG_ON(epoll_ctl(l->epoll_fd, EPOLL_CTL_MOD, fd, &e) != 0);
        return 0;
    }
    const struct unheard u = {fd, e.events};
    if (!hear_of(l, &u)) {
        BUG_ON(l->unheard_n == TRANSPORT_UNHEARD_MAX);
        l->unheard[l->unheard_n++] = u;
    }
    return 0;
}

static int on_timer(CURLM *multi, long in_ms, void *ctx)
{
    struct transport_loop *l = ctx;
    (void)multi;
    l->due_ns = in_ms < 0 ? INT64_MAX : clock_mono_ns(clock_system()) + in_ms * NS_PER_MS;
    return 0;
}

int transport_loop_init(struct transport_loop *l, struct err *reterr)
{
    l->due_ns = INT64_MAX;
    l->multi = curl_multi_init();
    l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event e = {.events = EPOLLIN, .data.fd = l->wake_fd};
    if (l->multi == NULL || l->epoll_fd < 0 || l->wake_fd < 0 ||
        epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, l->wake_fd, &e) != 0) {
        const int why = l->multi == NULL ? ENOMEM : errno;
        transport_loop_fini(l);
        return err_set(reterr, ERR_INTERNAL, "cannot wait for the API server: %s", strerror(why));
    }
    BUG_ON(curl_multi_setopt(l->multi, CURLMOPT_SOCKETFUNCTION, on_socket) != CURLM_OK);
    BUG_ON(curl_multi_setopt(l->multi, CURLMOPT_SOCKETDATA, l) != CURLM_OK);
    BUG_ON(curl_multi_setopt(l->multi, CURLMOPT_TIMERFUNCTION, on_timer) != CURLM_OK);
    BUG_ON(curl_multi_setopt(l->multi, CURLMOPT_TIMERDATA, l) != CURLM_OK);
    return 0;
}

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
    }
    *fd = -1;
}

void transport_loop_fini(struct transport_loop *l)
{
    curl_multi_cleanup(l->multi); /* closes connections, so it still speaks of sockets */
    l->multi = NULL;
    close_fd(&l->epoll_fd);
    close_fd(&l->wake_fd);
}

void transport_loop_wake(struct transport_loop *l)
{
    /* Fails only when it is woken already. */
    (void)eventfd_write(l->wake_fd, 1);
}

static void tell(struct transport_loop *l, curl_socket_t fd, int what)
{
    int active;
    BUG_ON(curl_multi_socket_action(l->multi, fd, what, &active) != CURLM_OK);
}

void transport_loop_due(struct transport_loop *l)
{
    if (l->due_ns != INT64_MAX && clock_mono_ns(clock_system()) >= l->due_ns) {
        l->due_ns = INT64_MAX; /* before libcurl sets the next */
        tell(l, CURL_SOCKET_TIMEOUT, 0);
    }
}

/* In ms, rounded up: neither early nor, as poll() would, for ever. */
static int patience_ms(const struct transport_loop *l, int64_t wait_ms)
{
    int64_t left_ms = l->unheard_n > 0 && wait_ms > RETRY_MS ? RETRY_MS : wait_ms;
    if (l->due_ns != INT64_MAX) {
        const int64_t due_ms = (l->due_ns - clock_mono_ns(clock_system()) + NS_PER_MS - 1) / NS_PER_MS;
        left_ms = due_ms < left_ms ? due_ms : left_ms;
    }
    return left_ms < 0 ? 0 : left_ms > INT32_MAX ? INT32_MAX : (int)left_ms;
}

static int bits_of(uint32_t events)
{
    return ((events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) | ((events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
           ((events & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0);
}

void transport_loop_wait(struct transport_loop *l, int64_t wait_ms)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    try_unheard(l);
    const int n = epoll_wait(l->epoll_fd, events, EVENTS_AT_ONCE, patience_ms(l, wait_ms));
    BUG_ON(n < 0 && (errno == EBADF || errno == EINVAL || errno == EFAULT));
    if (n < 0 && errno != EINTR) { /* no memory for that either: the caller looks again */
        const struct timespec pause = {.tv_nsec = RETRY_MS * NS_PER_MS};
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    }
    for (int i = 0; i < n; i++) {
        if (events[i].data.fd == l->wake_fd) {
            eventfd_t ignored;
            (void)eventfd_read(l->wake_fd, &ignored);
        } else {
            /* Of one that libcurl has closed meanwhile it only learns that nothing happened. */
            tell(l, events[i].data.fd, bits_of(events[i].events));
        }
    }
    transport_loop_due(l);
}
