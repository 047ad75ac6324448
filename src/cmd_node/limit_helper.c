/* The side of fgpu-node: starts the helper, asks it, and gives it up. */
#define _GNU_SOURCE /* posix_spawn_file_actions_addclosefrom_np */

#include "cmd_node/limit_helper.h"

#include "base/bug.h"
#include "base/clock.h"
#include "cmd_node/limit_wire.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define SELF "/proc/self/exe"

enum { NAME, WORD, LIBRARY, CGROUP_ROOT, PROC, WORDS };

struct limit_helper {
    const char *program;
    char *argv[WORDS + 1];
    pid_t pid; /* 0: none runs */
    int fd;
    bool ready;                    /* it has said so */
    bool refused;                  /* the last thing that it said was no, and not: later */
    pid_t left[LIMIT_HELPERS_MAX]; /* killed, but not gone */
    size_t left_n;
};

/* ---- start and end ---- */

static int spawn(const struct limit_helper *h, int fd, pid_t *ret)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, usual;
    int error;

    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGTERM);
    sigaddset(&usual, SIGINT);
    sigaddset(&usual, SIGHUP);
    sigaddset(&usual, SIGPIPE);
    BUG_ON(posix_spawn_file_actions_init(&files) != 0 || posix_spawnattr_init(&attr) != 0);
    BUG_ON(posix_spawn_file_actions_adddup2(&files, fd, LIMIT_HELPER_FD) != 0 ||
           posix_spawn_file_actions_addclosefrom_np(&files, LIMIT_HELPER_FD + 1) != 0);
    BUG_ON(posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) != 0 ||
           posix_spawnattr_setsigmask(&attr, &none) != 0 || posix_spawnattr_setsigdefault(&attr, &usual) != 0);
    error = posix_spawn(ret, h->program, &files, &attr, h->argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

static bool is_gone(pid_t pid)
{
    pid_t rc;

    do {
        rc = waitpid(pid, NULL, WNOHANG);
    } while (rc < 0 && errno == EINTR);
    return rc != 0; /* also: nobody's child, which cannot be */
}

static void forget_gone(struct limit_helper *h)
{
    for (size_t i = h->left_n; i-- > 0;) {
        if (is_gone(h->left[i])) {
            h->left[i] = h->left[--h->left_n];
        }
    }
}

/* Kills it and does not wait. */
static void give_up(struct limit_helper *h)
{
    if (h->pid != 0) {
        kill(h->pid, SIGKILL);
        h->left[h->left_n++] = h->pid; /* there is room: start() sees to it */
        close(h->fd);
        h->pid = 0;
        h->ready = false;
    }
}

static int start(struct limit_helper *h, struct err *reterr)
{
    int pair[2], error;

    forget_gone(h);
    if (h->left_n == LIMIT_HELPERS_MAX) {
        return err_set(reterr, ERR_UNAVAILABLE,
                       "%d calls of the driver hang and cannot be ended; the node has to be restarted",
                       LIMIT_HELPERS_MAX);
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        return err_set(reterr, ERR_INTERNAL, "no socket for the limit helper: error %d", errno);
    }
    error = spawn(h, pair[1], &h->pid);
    close(pair[1]);
    if (error != 0) {
        close(pair[0]);
        h->pid = 0;
        return err_set(reterr, ERR_INTERNAL, "the limit helper cannot be started: error %d", error);
    }
    h->fd = pair[0];
    h->ready = false;
    return 0;
}

struct limit_helper *limit_helper_new(const struct limit_helper_options *options)
{
    struct limit_helper *h = xcalloc(1, sizeof(*h));

    h->program = options->program != NULL ? options->program : SELF;
    h->argv[NAME] = str_dup(STR("fgpu-node"));
    h->argv[WORD] = str_dup(STR(LIMIT_HELPER_WORD));
    h->argv[LIBRARY] = str_dup(str_of(options->nvml_library));
    h->argv[CGROUP_ROOT] = str_dup(str_of(options->cgroup_root));
    h->argv[PROC] = str_dup(str_of(options->proc_root != NULL ? options->proc_root : "/proc"));
    (void)start(h, NULL); /* it is tried again, and told, with the first container */
    return h;
}

void limit_helper_free(struct limit_helper *h)
{
    if (h != NULL) {
        give_up(h);
        for (size_t i = 0; i < WORDS; i++) {
            free(h->argv[i]);
        }
        free(h);
    }
}

/* ---- ask ---- */

/* By when, and how long that is. */
struct patience {
    int64_t deadline_ns, within_ms;
};

static int64_t left_ms(const struct patience *p)
{
    const int64_t left = p->deadline_ns - clock_mono_ns(clock_system());

    return left <= 0 ? 0 : (left + NS_PER_MS - 1) / NS_PER_MS;
}

static int take_answer(struct limit_helper *h, const struct patience *p, struct err *reterr)
{
    struct pollfd wait = {.fd = h->fd, .events = POLLIN};
    struct limit_answer answer;
    ssize_t n;
    int rc;

    do {
        rc = poll(&wait, 1, (int)left_ms(p));
    } while (rc < 0 && errno == EINTR);
    if (rc == 0) {
        return err_set(reterr, ERR_TIMEOUT, "the driver did not set its limit of GPU memory within %lld ms",
                       (long long)p->within_ms);
    }
    n = recv(h->fd, &answer, sizeof(answer), MSG_DONTWAIT);
    if (n != (ssize_t)sizeof(answer)) {
        return err_set(reterr, ERR_INTERNAL, "the limit helper has ended");
    }
    answer.why[sizeof(answer.why) - 1] = '\0';
    h->refused = answer.code != 0 && answer.later == 0;
    return answer.code == 0 ? 0 : err_set(reterr, ERR_UNAVAILABLE, "%s", answer.why);
}

static int be_ready(struct limit_helper *h, const struct patience *p, struct err *reterr)
{
    int rc = h->pid != 0 ? 0 : start(h, reterr);

    if (rc == 0 && !h->ready) {
        rc = take_answer(h, p, reterr);
        h->ready = rc == 0;
    }
    return rc;
}

static bool put(char *to, size_t size, struct str text)
{
    if (text.n >= size) {
        return false;
    }
    memcpy(to, text.p, text.n);
    to[text.n] = '\0';
    return true;
}

static int make_request(struct limit_request *r, struct str container_id, uint32_t pid,
                        const struct limits_memory *limits, size_t n, struct err *reterr)
{
    bool fits = put(r->container_id, sizeof(r->container_id), container_id) && n <= DEVICES_PER_NODE_MAX;

    r->pid = pid;
    r->device_n = (uint32_t)n;
    for (size_t i = 0; fits && i < n; i++) {
        fits = put(r->devices[i].uuid, sizeof(r->devices[i].uuid), limits[i].uuid);
        r->devices[i].hard_bytes = limits[i].hard_bytes;
    }
    return fits ? 0 : err_set(reterr, ERR_LIMIT, "a name is too long for the limit helper");
}

static int ask(struct limit_helper *h, const struct limit_request *r, const struct patience *p, struct err *reterr)
{
    int rc;

    h->refused = false;
    rc = be_ready(h, p, reterr);
    if (rc != 0) {
        return rc;
    }
    if (send(h->fd, r, sizeof(*r), MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)sizeof(*r)) {
        h->ready = false;
        return err_set(reterr, ERR_INTERNAL, "the limit helper does not listen: error %d", errno);
    }
    return take_answer(h, p, reterr);
}

/* Takes the request. */
static int ask_or_replace(struct limit_helper *h, struct limit_request *r, int64_t within_ms, struct err *reterr)
{
    const struct patience p = {clock_mono_ns(clock_system()) + within_ms * NS_PER_MS, within_ms};
    const int rc = ask(h, r, &p, reterr);

    /* What a refusal of the driver leaves behind is fine; a helper that is late, or could not become ready, is not: its
     * answer would be taken for that to the next container. */
    if (rc == -ERR_TIMEOUT || rc == -ERR_INTERNAL || !h->ready) {
        give_up(h);
        (void)start(h, NULL); /* so that it is ready for the next one */
    }
    free(r);
    return rc;
}

int limit_helper_try(struct limit_helper *h, int64_t within_ms, struct err *reterr)
{
    struct limit_request *r = xcalloc(1, sizeof(*r));

    r->trial = 1;
    return ask_or_replace(h, r, within_ms, reterr);
}

bool limit_helper_refused(const struct limit_helper *h)
{
    return h->refused;
}

int limit_helper_apply(struct limit_helper *h, struct str container_id, uint32_t pid,
                       const struct limits_memory *limits, size_t n, int64_t within_ms, struct err *reterr)
{
    struct limit_request *r = xcalloc(1, sizeof(*r));
    const int rc = make_request(r, container_id, pid, limits, n, reterr);

    if (rc != 0) {
        free(r);
        return rc;
    }
    return ask_or_replace(h, r, within_ms, reterr);
}
