/* base/child.c - the child process: start, read, limit, end. */
#define _GNU_SOURCE /* pipe2, posix_spawn_file_actions_addclosefrom_np */

#include "base/child.h"

#include "base/bug.h"
#include "base/clock.h"

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
    TICK_MS = 50,       /* how soon an end without a last word, and a cancellation, are seen */
    PIECES_A_TURN = 64, /* of what is not kept; a pipe holds no more, so a program that never stops cannot hold us up */
    WORDS_TOLD = 200,
    WORD_TOLD = 40, /* tokens are longer */
};

struct run {
    const struct child *c;
    pid_t pid;
    int out, err; /* our ends of the pipes; -1: closed */
    struct child_end *end;
};

/* ---- start ---- */

static bool is_named_as(const char *entry, const char *with_value)
{
    const char *equals = strchr(with_value, '=');
    BUG_ON(equals == NULL);
    return strncmp(entry, with_value, (size_t)(equals - with_value) + 1) == 0;
}

static bool is_replaced(const struct child *c, const char *entry)
{
    for (size_t i = 0; c->env != NULL && c->env[i] != NULL; i++) {
        if (is_named_as(entry, c->env[i])) {
            return true;
        }
    }
    return false;
}

/* Ours, unless named again; then the given ones. Borrowed text. */
static char **make_environment(const struct child *c)
{
    size_t ours = 0, theirs = 0, n = 0;
    while (environ != NULL && environ[ours] != NULL) {
        ours++;
    }
    while (c->env != NULL && c->env[theirs] != NULL) {
        theirs++;
    }
    char **ret = xcalloc(ours + theirs + 1, sizeof(*ret));
    for (size_t i = 0; i < ours; i++) {
        if (!is_replaced(c, environ[i])) {
            ret[n++] = environ[i];
        }
    }
    for (size_t i = 0; i < theirs; i++) {
        ret[n++] = c->env[i];
    }
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
    BUG_ON(posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) !=
               0 ||
           posix_spawnattr_setpgroup(&attr, 0) != 0 || posix_spawnattr_setsigmask(&attr, &none) != 0 ||
           posix_spawnattr_setsigdefault(&attr, &usual) != 0);
    char **env = make_environment(r->c);
    int error = posix_spawnp(&r->pid, r->c->argv[0], &files, &attr, r->c->argv, env);
    free(env);
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
        return err_set(reterr, ERR_NOT_FOUND, "cannot be started: %s", strerror_r(error, text, sizeof(text)));
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

/* What is beyond the bound, so that the program is not stopped by a full pipe. */
static void drop_output(struct run *r)
{
    char piece[4096];
    for (unsigned i = 0; r->out >= 0 && i < PIECES_A_TURN; i++) {
        ssize_t n = read_some(&r->out, piece, sizeof(piece));
        if (n <= 0) {
            break;
        }
        r->end->dropped += (uint64_t)n;
    }
    explicit_bzero(piece, sizeof(piece));
}

static void take_output(struct run *r)
{
    while (r->out >= 0 && !r->end->output.overflowed) {
        char *p = strbuf_reserve(&r->end->output, 4096);
        if (p == NULL) {
            r->end->output.overflowed = true;
            return;
        }
        ssize_t n = read_some(&r->out, p, 4096);
        if (n <= 0) {
            return;
        }
        strbuf_commit(&r->end->output, (size_t)n);
    }
}

static void take_last_words(struct run *r)
{
    char piece[1024];
    for (unsigned i = 0; r->err >= 0 && i < PIECES_A_TURN; i++) {
        ssize_t n = read_some(&r->err, piece, sizeof(piece));
        if (n <= 0) {
            break;
        }
        size_t more = (size_t)n, over = r->end->words_n + more;
        over = over > CHILD_WORDS_MAX ? over - CHILD_WORDS_MAX : 0;
        memmove(r->end->words, r->end->words + over, r->end->words_n - over);
        memcpy(r->end->words + r->end->words_n - over, piece, more);
        r->end->words_n += more - over;
    }
    explicit_bzero(piece, sizeof(piece));
}

static void take_all(struct run *r)
{
    take_output(r);
    if (r->c->drops_excess && r->end->output.overflowed) {
        drop_output(r);
    }
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
        pid = waitpid(r->pid, &r->end->status, 0);
    } while (pid < 0 && errno == EINTR);
    BUG_ON(pid != r->pid);
    shut(&r->out);
    shut(&r->err);
}

/* The end of its error output as one printable line, for people; long words could be secrets. */
static void tell_last_words(const struct child_end *e, struct strbuf *out)
{
    struct str rest = str_trim((struct str){e->words, e->words_n}), word;
    if (rest.n > WORDS_TOLD) {
        rest = str_drop(rest, rest.n - WORDS_TOLD);
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

int child_end_judge(const struct child_end *e, struct err *reterr)
{
    bool exited = WIFEXITED(e->status);
    if (exited && WEXITSTATUS(e->status) == 0) {
        return 0;
    }
    struct strbuf words;
    strbuf_init(&words, (size_t)2 * WORDS_TOLD);
    tell_last_words(e, &words);
    int rc = err_set(reterr, ERR_UNAVAILABLE, "%s %d%s%s", exited ? "ended with exit code" : "was ended by signal",
                     exited ? WEXITSTATUS(e->status) : WTERMSIG(e->status), words.n > 0 ? ": " : "", words.p);
    strbuf_fini(&words);
    return rc;
}

static bool is_too_much(const struct run *r)
{
    return r->end->output.overflowed && !r->c->drops_excess;
}

static int too_much(const struct run *r, struct err *reterr)
{
    return err_set(reterr, ERR_LIMIT, "printed more than %zu bytes", r->c->output_max);
}

static int wait_for_the_end(struct run *r, int64_t timeout_ms, const atomic_bool *cancel, struct err *reterr)
{
    int64_t until_ns = clock_mono_ns(clock_system()) + timeout_ms * NS_PER_MS;
    while (!has_ended(r)) {
        struct pollfd fds[] = {{.fd = r->out, .events = POLLIN}, {.fd = r->err, .events = POLLIN}};
        if (cancel != NULL && atomic_load(cancel)) {
            return err_set(reterr, ERR_CANCELLED, "cancelled");
        }
        if (clock_mono_ns(clock_system()) >= until_ns) {
            return err_set(reterr, ERR_TIMEOUT, "did not end within %lld ms", (long long)timeout_ms);
        }
        if (is_too_much(r)) {
            return too_much(r, reterr);
        }
        (void)poll(fds, ARRAY_LEN(fds), TICK_MS);
        take_all(r);
    }
    take_all(r);
    return is_too_much(r) ? too_much(r, reterr) : 0;
}

void child_end_fini(struct child_end *e)
{
    strbuf_wipe(&e->output);
    strbuf_fini(&e->output);
    explicit_bzero(e->words, sizeof(e->words));
}

int child_run(const struct child *c, int64_t timeout_ms, const atomic_bool *cancel, struct child_end *ret,
              struct err *reterr)
{
    struct child_end end = {.words_n = 0};
    struct run r = {.c = c, .out = -1, .err = -1, .end = &end};
    strbuf_init(&end.output, c->output_max);
    int rc = start(&r, reterr);
    if (rc == 0) {
        rc = wait_for_the_end(&r, timeout_ms, cancel, reterr);
        end_all(&r);
    }
    shut(&r.out);
    shut(&r.err);
    if (rc != 0) {
        child_end_fini(&end);
        return rc;
    }
    *ret = end;
    explicit_bzero(end.words, sizeof(end.words));
    return 0;
}
