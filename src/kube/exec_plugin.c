/* kube/exec_plugin.c - the child process: start, read, limit, end. */
#define _GNU_SOURCE /* pipe2, posix_spawn_file_actions_addclosefrom_np */

#include "kube/exec_plugin.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/strbuf.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum {
    TICK_MS = 50, /* how soon an end without a last word, and a cancellation, are seen */
    STDERR_KEPT = 4096,
    STDERR_TOLD = 200,
    WORD_TOLD = 40, /* tokens are longer */
};

#define NS_PER_MS INT64_C(1000000)

struct run {
    const struct credentials_exec *e;
    pid_t pid;
    int out, err; /* our ends of the pipes; -1: closed */
    struct strbuf output;
    char last_words[STDERR_KEPT]; /* of its error output, the latest */
    size_t last_words_n;
    int status; /* of waitpid, once reaped */
};

/* ---- start ---- */

static bool is_named_as(const char *entry, const char *with_value)
{
    size_t n = (size_t)(strchr(with_value, '=') - with_value) + 1;
    return strncmp(entry, with_value, n) == 0;
}

/* Ours, unless named again; then the configured ones and the information. Borrowed text. */
static char **make_environment(const struct credentials_exec *e, char *info)
{
    size_t ours = 0, theirs = 0, n = 0;
    while (environ != NULL && environ[ours] != NULL) {
        ours++;
    }
    while (e->env != NULL && e->env[theirs] != NULL) {
        theirs++;
    }
    char **ret = xcalloc(ours + theirs + 2, sizeof(*ret));
    for (size_t i = 0; i < ours; i++) {
        bool again = is_named_as(environ[i], info);
        for (size_t j = 0; j < theirs && !again; j++) {
            again = is_named_as(environ[i], e->env[j]);
        }
        if (!again) {
            ret[n++] = environ[i];
        }
    }
    for (size_t j = 0; j < theirs; j++) {
        ret[n++] = e->env[j];
    }
    ret[n] = info;
    return ret;
}

static char **make_arguments(const struct credentials_exec *e)
{
    size_t n = 0;
    while (e->args != NULL && e->args[n] != NULL) {
        n++;
    }
    char **ret = xcalloc(n + 2, sizeof(*ret));
    ret[0] = e->command;
    for (size_t i = 0; i < n; i++) {
        ret[i + 1] = e->args[i];
    }
    return ret;
}

static char *make_info(const struct credentials_exec *e)
{
    static const char name[] = "KUBERNETES_EXEC_INFO=";
    size_t n = strlen(e->info);
    char *ret = xmalloc(sizeof(name) + n);
    memcpy(ret, name, sizeof(name) - 1);
    memcpy(ret + sizeof(name) - 1, e->info, n + 1);
    return ret;
}

static int spawn(struct run *r, int out, int err)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, usual;
    sigemptyset(&none);
    sigfillset(&usual);
    sigdelset(&usual, SIGKILL);
    sigdelset(&usual, SIGSTOP);
    BUG_ON(posix_spawn_file_actions_init(&files) != 0 || posix_spawnattr_init(&attr) != 0);
    BUG_ON(posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0) != 0 ||
           posix_spawn_file_actions_adddup2(&files, out, 1) != 0 ||
           posix_spawn_file_actions_adddup2(&files, err, 2) != 0 ||
           posix_spawn_file_actions_addclosefrom_np(&files, 3) != 0);
    BUG_ON(posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                               POSIX_SPAWN_SETSIGDEF) != 0 ||
           posix_spawnattr_setpgroup(&attr, 0) != 0 ||
           posix_spawnattr_setsigmask(&attr, &none) != 0 ||
           posix_spawnattr_setsigdefault(&attr, &usual) != 0);
    char *info = make_info(r->e);
    char **env = make_environment(r->e, info), **args = make_arguments(r->e);
    int error = posix_spawnp(&r->pid, r->e->command, &files, &attr, args, env);
    free(args);
    free(env);
    free(info);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

static void shut(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

static int start(struct run *r, struct err *reterr)
{
    int out[2] = {-1, -1}, err[2] = {-1, -1};
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) {
        int error = errno;
        shut(&out[0]);
        shut(&out[1]);
        return err_set(reterr, ERR_INTERNAL, "no pipe: error %d", error);
    }
    int error = spawn(r, out[1], err[1]);
    shut(&out[1]);
    shut(&err[1]);
    r->out = out[0];
    r->err = err[0];
    if (error != 0) {
        char text[128];
        return err_set(reterr, ERR_NOT_FOUND, "cannot be started: %s%s%s",
                       strerror_r(error, text, sizeof(text)),
                       r->e->install_hint != NULL ? "; " : "",
                       r->e->install_hint != NULL ? r->e->install_hint : "");
    }
    BUG_ON(fcntl(r->out, F_SETFL, O_NONBLOCK) != 0 || fcntl(r->err, F_SETFL, O_NONBLOCK) != 0);
    return 0;
}

/* ---- read ---- */

/* Reads what is there; closes at the end of the stream. */
static ssize_t read_some(int *fd, char *p, size_t n)
{
    ssize_t got = read(*fd, p, n);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        shut(fd);
    }
    return got;
}

static void take_output(struct run *r)
{
    while (r->out >= 0 && !r->output.overflowed) {
        char *p = strbuf_reserve(&r->output, 4096);
        if (p == NULL) {
            r->output.overflowed = true;
            return;
        }
        ssize_t n = read_some(&r->out, p, 4096);
        if (n <= 0) {
            return;
        }
        strbuf_commit(&r->output, (size_t)n);
    }
}

static void take_last_words(struct run *r)
{
    char piece[1024];
    ssize_t n;
    while (r->err >= 0 && (n = read_some(&r->err, piece, sizeof(piece))) > 0) {
        size_t more = (size_t)n, over = r->last_words_n + more;
        over = over > STDERR_KEPT ? over - STDERR_KEPT : 0;
        memmove(r->last_words, r->last_words + over, r->last_words_n - over);
        memcpy(r->last_words + r->last_words_n - over, piece, more);
        r->last_words_n += more - over;
    }
    explicit_bzero(piece, sizeof(piece));
}

static void take_all(struct run *r)
{
    take_output(r);
    take_last_words(r);
}

/* ---- end ---- */

/* Whether the child has ended. It is not reaped yet: until then its number, which is also that of
 * its group, cannot belong to anybody else. */
static bool has_ended(const struct run *r)
{
    siginfo_t info = {.si_pid = 0};
    int rc;
    do {
        rc = waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    } while (rc != 0 && errno == EINTR);
    BUG_ON(rc != 0);
    return info.si_pid == r->pid;
}

/* Also what it may have left behind in the background, which could hold the pipes open. */
static void end_all(struct run *r)
{
    pid_t pid;
    (void)kill(-r->pid, SIGKILL);
    do {
        pid = waitpid(r->pid, &r->status, 0);
    } while (pid < 0 && errno == EINTR);
    BUG_ON(pid != r->pid);
    shut(&r->out);
    shut(&r->err);
}

/* The end of its error output as one printable line, for people; long words could be secrets. */
static void tell_last_words(const struct run *r, struct strbuf *out)
{
    struct str rest = str_trim((struct str){r->last_words, r->last_words_n}), word;
    if (rest.n > STDERR_TOLD) {
        rest = str_drop(rest, rest.n - STDERR_TOLD);
        (void)str_split(&rest, ' ', &word); /* may be a part of a word */
    }
    for (size_t i = 0; i < rest.n;) {
        size_t n = 0;
        while (i + n < rest.n && rest.p[i + n] > ' ' && rest.p[i + n] <= '~') {
            n++;
        }
        if (n > WORD_TOLD) {
            strbuf_add_cstr(out, "[...]");
        } else if (n > 0) {
            strbuf_add(out, rest.p + i, n);
        }
        if (i + n < rest.n) {
            strbuf_add_char(out, ' ');
        }
        i += n + 1;
    }
}

static int judge(struct run *r, struct exec_credential *ret, struct err *reterr)
{
    if (r->output.overflowed) {
        return err_set(reterr, ERR_LIMIT, "printed more than %u bytes", EXEC_PLUGIN_OUTPUT_MAX);
    }
    if (WIFEXITED(r->status) && WEXITSTATUS(r->status) == 0) {
        return exec_credential_parse(strbuf_view(&r->output), r->e->api_version, ret, reterr);
    }
    struct strbuf words;
    strbuf_init(&words, (size_t)2 * STDERR_TOLD);
    tell_last_words(r, &words);
    int rc = err_set(reterr, ERR_UNAVAILABLE, "%s %d%s%s",
                     WIFEXITED(r->status) ? "ended with exit code" : "was ended by signal",
                     WIFEXITED(r->status) ? WEXITSTATUS(r->status) : WTERMSIG(r->status),
                     words.n > 0 ? ": " : "", words.p);
    strbuf_fini(&words);
    return rc;
}

static int wait_for_the_end(struct run *r, int64_t timeout_ms, const atomic_bool *cancel,
                            struct err *reterr)
{
    int64_t until_ns = clock_mono_ns(clock_system()) + timeout_ms * NS_PER_MS;
    while (!has_ended(r)) {
        struct pollfd fds[] = {{.fd = r->out, .events = POLLIN}, {.fd = r->err, .events = POLLIN}};
        if (cancel != NULL && atomic_load(cancel)) {
            return err_set(reterr, ERR_CANCELLED, "cancelled");
        }
        if (clock_mono_ns(clock_system()) >= until_ns) {
            return err_set(reterr, ERR_TIMEOUT, "did not end within %lld ms",
                           (long long)timeout_ms);
        }
        if (r->output.overflowed) {
            return 0; /* judge() says so */
        }
        (void)poll(fds, ARRAY_LEN(fds), TICK_MS);
        take_all(r);
    }
    take_all(r);
    return 0;
}

int exec_plugin_run(const struct credentials_exec *e, int64_t timeout_ms, const atomic_bool *cancel,
                    struct exec_credential *ret, struct err *reterr)
{
    struct run r = {.e = e, .out = -1, .err = -1};
    strbuf_init(&r.output, EXEC_PLUGIN_OUTPUT_MAX);
    int rc = start(&r, reterr);
    if (rc == 0) {
        rc = wait_for_the_end(&r, timeout_ms, cancel, reterr);
        end_all(&r);
    }
    if (rc == 0) {
        rc = judge(&r, ret, reterr);
    }
    shut(&r.out);
    shut(&r.err);
    if (r.output.cap > 0) {
        explicit_bzero(r.output.p, r.output.cap);
    }
    strbuf_fini(&r.output);
    explicit_bzero(r.last_words, sizeof(r.last_words));
    return rc != 0 ? err_wrap(reterr, rc, "exec plugin %s", e->command) : 0;
}
