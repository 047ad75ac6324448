#include "nri/plugin.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/sync.h"
#include "session.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Waiting between connections: short first, because what starts meanwhile starts without us. */
#define PAUSE_MIN_MS 100
#define PAUSE_MAX_MS 2000
#define STEADY_MS 10000 /* synchronized for that long: the next pause is a short one again */
#define READ_BYTES (32U * 1024)
#define OUT_HIGH (256U * 1024) /* nothing more is read while that much waits to be taken */

struct nri_plugin {
    char *name, *index;
    struct sockaddr_un address;
    bool fail_request;
    int64_t stall_ms;
    struct nri_handler handler;
    const struct log *log;
    const struct clock *clock;
    struct rng rng;
    int stop_fd; /* readable: end */
    struct thread thread;

    /* Of the thread. */
    struct nri_plugin_stats counted;
    int64_t pause_ms;
    bool said_ready;
    char last_error[ERR_MSG_MAX]; /* said already */
    char read[READ_BYTES];

    struct mutex lock; /* of the rest */
    struct nri_plugin_stats stats;
};

static void publish(struct nri_plugin *p)
{
    mutex_lock(&p->lock);
    p->stats = p->counted;
    mutex_unlock(&p->lock);
}

/* ---- one connection ---- */

/* 0, or ERR_CANCELLED: asked to stop; ERR_TIMEOUT. What is ready is in fd->revents. */
static int wait_for(const struct nri_plugin *p, struct pollfd *fd, int64_t timeout_ms, struct err *reterr)
{
    struct pollfd fds[] = {{.fd = p->stop_fd, .events = POLLIN}, *fd};
    int n = poll(fds, ARRAY_LEN(fds), (int)timeout_ms);

    if (n < 0 && errno != EINTR) {
        return err_set(reterr, ERR_INTERNAL, "poll: %s", strerror(errno));
    }
    fd->revents = fds[1].revents;
    if (fds[0].revents != 0) {
        return err_set(reterr, ERR_CANCELLED, "asked to stop");
    }
    return n == 0 ? err_set(reterr, ERR_TIMEOUT, "no sign from the runtime in %" PRId64 " ms", timeout_ms) : 0;
}

static int send_some(int fd, struct session *s, struct err *reterr)
{
    struct str out = session_output(s);
    ssize_t n = out.n == 0 ? 0 : send(fd, out.p, out.n, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        return err_set(reterr, ERR_UNAVAILABLE, "the runtime has gone: %s", strerror(errno));
    }
    session_sent(s, n > 0 ? (size_t)n : 0);
    return 0;
}

static int receive_some(struct nri_plugin *p, int fd, struct session *s, struct err *reterr)
{
    ssize_t n = recv(fd, p->read, sizeof(p->read), MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    if (n <= 0) {
        return err_set(reterr, ERR_UNAVAILABLE, "the runtime %s%s",
                       n == 0 ? "closed the connection" : "has gone: ", n == 0 ? "" : strerror(errno));
    }
    return session_feed(s, (struct str){p->read, (size_t)n}, reterr);
}

static void say_ready(struct nri_plugin *p, const struct session *s)
{
    if (s->stage == SESSION_READY && !p->said_ready) {
        p->said_ready = true;
        p->last_error[0] = '\0';
        LOG_INFO(p->log, "Synchronized with the container runtime", LOG_CSTR("socket", p->address.sun_path));
    }
}

/* Until the connection ends; never returns 0. */
static int converse(struct nri_plugin *p, int fd, struct session *s, struct err *reterr)
{
    for (;;) {
        const size_t waiting = session_output(s).n;
        struct pollfd ready = {.fd = fd,
                               .events = (short)((waiting > 0 ? POLLOUT : 0) | (waiting < OUT_HIGH ? POLLIN : 0))};
        int rc = wait_for(p, &ready, session_waits(s) ? p->stall_ms : -1, reterr);

        if (rc == 0 && (ready.revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
            rc = receive_some(p, fd, s, reterr);
        }
        if (rc == 0) {
            rc = send_some(fd, s, reterr);
        }
        publish(p);
        if (rc < 0) {
            return rc;
        }
        say_ready(p, s);
    }
}

static int open_socket(const struct nri_plugin *p, int *ret, struct err *reterr)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) {
        return err_set(reterr, ERR_INTERNAL, "no socket: %s", strerror(errno));
    }
    if (connect(fd, (const struct sockaddr *)&p->address, sizeof(p->address)) != 0) {
        int error = errno;

        close(fd);
        return err_set(reterr, ERR_UNAVAILABLE,
                       "no connection to %s: %s; is NRI enabled in the configuration of the container runtime?",
                       p->address.sun_path, strerror(error));
    }
    *ret = fd;
    return 0;
}

/* ---- again and again ---- */

/* A runtime that is away for an hour is one line, not 1800. */
static void say(struct nri_plugin *p, const struct err *why)
{
    if (strcmp(p->last_error, why->msg) != 0) {
        snprintf(p->last_error, sizeof(p->last_error), "%s", why->msg);
        LOG_WARNING(p->log, "Not connected to the container runtime, trying again", LOG_CSTR("reason", why->msg));
    }
}

/* How long the connection lasted, 0 if it was never synchronized; `why` is filled in. */
static int64_t connect_once(struct nri_plugin *p, struct err *why)
{
    const struct session_setup setup = {.handler = &p->handler,
                                        .name = p->name,
                                        .index = p->index,
                                        .fail_request = p->fail_request,
                                        .clock = p->clock,
                                        .stats = &p->counted};
    const int64_t began_ns = clock_mono_ns(p->clock);
    struct session s;
    int64_t steady_ns;
    int fd = -1;

    if (open_socket(p, &fd, why) != 0) {
        return 0;
    }
    session_init(&s, &setup);
    p->said_ready = false;
    (void)converse(p, fd, &s, why);
    if (s.stage != SESSION_REGISTERING && p->handler.disconnected != NULL) {
        p->handler.disconnected(p->handler.ctx, why);
    }
    steady_ns = s.stage == SESSION_READY ? clock_mono_ns(p->clock) - began_ns : 0;
    session_fini(&s);
    close(fd);
    publish(p);
    return steady_ns;
}

/* Twice as long each time, with a quarter more or less, so that the plugins of a node do not come all at once. */
static int64_t next_pause_ms(struct nri_plugin *p, int64_t steady_ns)
{
    int64_t pause_ms = steady_ns >= STEADY_MS * NS_PER_MS ? PAUSE_MIN_MS : p->pause_ms;

    p->pause_ms = 2 * pause_ms < PAUSE_MAX_MS ? 2 * pause_ms : PAUSE_MAX_MS;
    return pause_ms - pause_ms / 4 + (int64_t)rng_below(&p->rng, (uint64_t)pause_ms / 2);
}

static void *plugin_main(void *ctx)
{
    struct nri_plugin *p = ctx;
    struct err why = {.code = ERR_OK};

    while (why.code != ERR_CANCELLED) {
        struct pollfd nothing = {.fd = -1};
        int64_t steady_ns = connect_once(p, &why);

        if (why.code != ERR_CANCELLED) {
            say(p, &why);
            (void)wait_for(p, &nothing, next_pause_ms(p, steady_ns), &why);
        }
    }
    return NULL;
}

/* ---- for everybody ---- */

static bool is_name(struct str name)
{
    return name.n > 0 && str_span(name, STR_DIGITS STR_LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                             "_.+-") == name.n;
}

static int check(const struct nri_plugin_options *o, const char *path, struct err *reterr)
{
    struct str index = str_of(o->index);

    if (!is_name(str_of(o->name))) {
        return err_set(reterr, ERR_INVALID,
                       "NRI plugin: the name \"%s\" has to be letters, digits, '_', '.', '+' and '-'",
                       o->name != NULL ? o->name : "");
    }
    if (index.n != 2 || str_span(index, STR_DIGITS) != 2) {
        return err_set(reterr, ERR_INVALID, "NRI plugin: the index \"%s\" has to be two digits",
                       o->index != NULL ? o->index : "");
    }
    if (strlen(path) >= sizeof(((struct sockaddr_un *)NULL)->sun_path)) {
        return err_set(reterr, ERR_INVALID, "NRI plugin: %s is too long for the path of a socket", path);
    }
    return 0;
}

static void plugin_free(struct nri_plugin *p)
{
    if (p->stop_fd >= 0) {
        close(p->stop_fd);
    }
    mutex_destroy(&p->lock);
    free(p->name);
    free(p->index);
    free(p);
}

static struct nri_plugin *plugin_new(const struct nri_plugin_options *o, const struct nri_handler *handler,
                                     const char *path)
{
    struct nri_plugin *p = xcalloc(1, sizeof(*p));

    p->name = str_dup(str_of(o->name));
    p->index = str_dup(str_of(o->index));
    p->address.sun_family = AF_UNIX;
    memcpy(p->address.sun_path, path, strlen(path));
    p->fail_request = o->fail_request;
    p->stall_ms = o->stall_ms > 0 ? o->stall_ms : NRI_STALL_MS;
    p->handler = *handler;
    p->log = o->log;
    p->clock = clock_system();
    p->pause_ms = PAUSE_MIN_MS;
    p->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    mutex_init(&p->lock, "nri plugin");
    return p;
}

int nri_plugin_start(const struct nri_plugin_options *options, const struct nri_handler *handler,
                     struct nri_plugin **ret, struct err *reterr)
{
    const char *path = options->socket_path != NULL ? options->socket_path : NRI_SOCKET_DEFAULT;
    struct nri_plugin *p;
    uint64_t seed;
    int rc = check(options, path, reterr);

    if (rc != 0) {
        return rc;
    }
    p = plugin_new(options, handler, path);
    if (p->stop_fd < 0) {
        rc = err_set(reterr, ERR_INTERNAL, "no eventfd: %s", strerror(errno));
    }
    if (rc == 0) {
        rc = rng_os_bytes(&seed, sizeof(seed), reterr);
    }
    if (rc == 0) {
        rng_init(&p->rng, seed);
        rc = thread_start(&p->thread, "nri", plugin_main, p, reterr);
    }
    if (rc != 0) {
        plugin_free(p);
        return rc;
    }
    *ret = p;
    return 0;
}

void nri_plugin_stop(struct nri_plugin *p)
{
    const uint64_t one = 1;

    if (p != NULL) {
        BUG_ON(write(p->stop_fd, &one, sizeof(one)) != sizeof(one));
        thread_join(&p->thread);
        plugin_free(p);
    }
}

void nri_plugin_stats(struct nri_plugin *p, struct nri_plugin_stats *ret)
{
    mutex_lock(&p->lock);
    *ret = p->stats;
    mutex_unlock(&p->lock);
}
