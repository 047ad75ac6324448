#define _GNU_SOURCE /* pipe2, memmem */

#include "cmd/forward.h"

#include "base/bug.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/printable.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MAX 16
#define ANSWER_BYTES_MAX (1 << 20)
#define COMPLAINT_BYTES_MAX 4096
#define ANSWER_MS 30000

/* Of manifests/dedicated, the chart and manifests/control-plane. */
#define SELECTOR "app.kubernetes.io/part-of=fgpu,app.kubernetes.io/name in (fgpu,fgpu-scheduler)"
/* A line for each: its name, then True if it is ready. */
#define POD_LINES                                                                                                      \
    "jsonpath={range .items[*]}{.metadata.name} {.status.conditions[?(@.type==\"Ready\")].status}{\"\\n\"}{end}"

struct words {
    const char *at[WORDS_MAX];
    size_t n;
};

static void add(struct words *w, const char *word)
{
    BUG_ON(w->n + 1 >= WORDS_MAX);
    w->at[w->n++] = word;
    w->at[w->n] = NULL;
}

static void begin(struct words *w, const struct forward_target *t)
{
    w->n = 0;
    add(w, "kubectl");
    if (t->kubeconfig != NULL) {
        add(w, "--kubeconfig");
        add(w, t->kubeconfig);
    }
    if (t->context != NULL) {
        add(w, "--context");
        add(w, t->context);
    }
}

/* execv takes what it does not change. */
static char *const *as_argv(struct words *w)
{
    union {
        const char **ours;
        char *const *theirs;
    } u = {w->at};

    return u.theirs;
}

static int no_kubectl(struct err *reterr)
{
    return err_set(
        reterr, ERR_NOT_FOUND,
        "there is no kubectl in PATH, which makes the way to the cluster; install it, or forward the port by "
        "other means and give --server");
}

/* Its words with what they mean here. */
static int refused(const struct forward_target *t, const char *doing, struct str words, struct err *reterr)
{
    struct strbuf line;
    int rc;

    strbuf_init(&line, COMPLAINT_BYTES_MAX);
    (void)printable_add(&line, str_trim(words), COMPLAINT_BYTES_MAX / 2, "");
    rc = err_set(reterr, ERR_UNAVAILABLE, "cannot %s; kubectl says: %s", doing, line.n > 0 ? line.p : "nothing");
    if (line.n > 0 && strstr(line.p, "orbidden") != NULL) {
        rc = err_wrap(reterr, rc, "in namespace %s you need get and list of pods, create and get of pods/portforward",
                      t->fgpu_namespace);
    }
    strbuf_fini(&line);
    return rc;
}

/* ---- questions ---- */

/* What it printed; the caller ends `ret`, after success only. */
static int ask(const struct forward_target *t, struct words *w, const char *doing, struct child_end *ret,
               struct err *reterr)
{
    const struct child c = {.argv = as_argv(w), .output_max = ANSWER_BYTES_MAX};
    struct err why;
    int rc = child_run(&c, ANSWER_MS, NULL, ret, &why);

    if (rc == -ERR_NOT_FOUND) {
        return no_kubectl(reterr);
    }
    if (rc != 0) {
        return err_set(reterr, ERR_UNAVAILABLE, "cannot %s: kubectl %s", doing, why.msg);
    }
    if (!WIFEXITED(ret->status) || WEXITSTATUS(ret->status) != 0) {
        rc = refused(t, doing, (struct str){ret->words, ret->words_n}, reterr);
        child_end_fini(ret);
    }
    return rc;
}

int forward_namespace(const struct forward_target *t, struct strbuf *ret, struct err *reterr)
{
    struct words w;
    struct child_end end;
    int rc;

    begin(&w, t);
    add(&w, "config");
    add(&w, "view");
    add(&w, "--minify");
    add(&w, "--output");
    add(&w, "jsonpath={..namespace}");
    rc = ask(t, &w, "read the kubeconfig", &end, reterr);
    if (rc == 0) {
        const struct str name = str_trim(strbuf_view(&end.output));

        strbuf_add_str(ret, name.n > 0 ? name : STR("default"));
        child_end_fini(&end);
    }
    return rc;
}

/* The first that is ready, else the first. */
static void choose(struct str lines, char *ret, size_t ret_n)
{
    struct str line, name;
    bool ready = false;

    ret[0] = '\0';
    while (!ready && str_split(&lines, '\n', &line)) {
        if (str_split(&line, ' ', &name) && name.n > 0) {
            ready = str_eq(line, STR("True"));
            if (ready || ret[0] == '\0') {
                snprintf(ret, ret_n, "%.*s", STR_ARG(name));
            }
        }
    }
}

static int find_pod(const struct forward_target *t, struct forward *f, struct err *reterr)
{
    struct words w;
    struct child_end end;
    int rc;

    begin(&w, t);
    add(&w, "--namespace");
    add(&w, t->fgpu_namespace);
    add(&w, "get");
    add(&w, "pods");
    add(&w, "--selector");
    add(&w, SELECTOR);
    add(&w, "--output");
    add(&w, POD_LINES);
    rc = ask(t, &w, "find the pod of fgpu", &end, reterr);
    if (rc != 0) {
        return rc;
    }
    choose(strbuf_view(&end.output), f->pod, sizeof(f->pod));
    child_end_fini(&end);
    return f->pod[0] != '\0'
               ? 0
               : err_set(reterr, ERR_NOT_FOUND,
                         "no pod of fgpu is in namespace %s (labels %s); --fgpu-namespace says where it is",
                         t->fgpu_namespace, SELECTOR);
}

/* ---- the child that stays ---- */

static int become(struct words *w, int out, int err)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    signal(SIGPIPE, SIG_DFL);
    if (dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0) {
        _exit(127);
    }
    execvp(w->at[0], as_argv(w));
    _exit(127);
}

static int start(struct words *w, struct forward *f, struct err *reterr)
{
    int out[2], err[2];

    if (pipe2(out, O_CLOEXEC) != 0) {
        return err_set(reterr, ERR_INTERNAL, "no pipe: %s", strerror(errno));
    }
    if (pipe2(err, O_CLOEXEC) != 0) {
        close(out[0]);
        close(out[1]);
        return err_set(reterr, ERR_INTERNAL, "no pipe: %s", strerror(errno));
    }
    f->pid = fork();
    if (f->pid == 0) {
        become(w, out[1], err[1]);
    }
    close(out[1]);
    close(err[1]);
    f->out = out[0];
    f->err = err[0];
    BUG_ON(fcntl(f->err, F_SETFL, O_NONBLOCK) != 0);
    return f->pid > 0 ? 0 : err_set(reterr, ERR_INTERNAL, "no process: %s", strerror(errno));
}

/* "Forwarding from 127.0.0.1:40001 -> 9442" */
static bool read_port(struct str text, uint16_t *ret)
{
    static const char before[] = "Forwarding from 127.0.0.1:";
    const char *at = text.n > 0 ? memmem(text.p, text.n, before, sizeof(before) - 1) : NULL;
    struct str rest, port;
    uint64_t v;

    if (at == NULL) {
        return false;
    }
    rest = (struct str){at + sizeof(before) - 1, text.n - (size_t)(at - text.p) - (sizeof(before) - 1)};
    if (!str_split(&rest, ' ', &port) || rest.p == NULL || !str_to_u64(port, UINT16_MAX, &v)) {
        return false; /* the line is not complete yet */
    }
    *ret = (uint16_t)v;
    return true;
}

/* Until it says where it listens; false: it ended, or says nothing in time. */
static bool await_port(struct forward *f)
{
    const int64_t until_ns = clock_mono_ns(clock_system()) + (int64_t)ANSWER_MS * 1000000;
    char text[4096];
    size_t n = 0;

    while (n < sizeof(text)) {
        struct pollfd p = {.fd = f->out, .events = POLLIN};
        const int64_t left_ms = (until_ns - clock_mono_ns(clock_system())) / 1000000;
        ssize_t got;

        if (left_ms <= 0 || (poll(&p, 1, (int)left_ms) < 0 && errno != EINTR)) {
            return false;
        }
        got = p.revents != 0 ? read(f->out, text + n, sizeof(text) - n) : 0;
        if (got <= 0 && p.revents != 0) {
            return false;
        }
        n += got > 0 ? (size_t)got : 0;
        if (read_port((struct str){text, n}, &f->port)) {
            return true;
        }
    }
    return false;
}

void forward_complaints(struct forward *f, struct strbuf *out)
{
    char text[COMPLAINT_BYTES_MAX / 2];
    const ssize_t n = read(f->err, text, sizeof(text));

    if (n > 0) {
        (void)printable_add(out, str_trim((struct str){text, (size_t)n}), COMPLAINT_BYTES_MAX / 2, "");
    }
}

/* All it says until it has ended. */
static void read_last_words(struct forward *f, struct strbuf *out)
{
    char text[1024];
    ssize_t n;

    BUG_ON(fcntl(f->err, F_SETFL, 0) != 0);
    kill(f->pid, SIGTERM);
    while ((n = read(f->err, text, sizeof(text))) > 0) {
        strbuf_add(out, text, (size_t)n);
    }
}

int forward_open(const struct forward_target *t, struct forward *f, struct err *reterr)
{
    char pod[sizeof(f->pod) + 8], port[16];
    struct words w;
    int rc;

    *f = (struct forward){.out = -1, .err = -1};
    rc = find_pod(t, f, reterr);
    if (rc != 0) {
        return rc;
    }
    snprintf(pod, sizeof(pod), "pod/%s", f->pod);
    snprintf(port, sizeof(port), ":%u", t->port);
    begin(&w, t);
    add(&w, "--namespace");
    add(&w, t->fgpu_namespace);
    add(&w, "port-forward");
    add(&w, "--address");
    add(&w, "127.0.0.1");
    add(&w, pod);
    add(&w, port);
    rc = start(&w, f, reterr);
    if (rc == 0 && !await_port(f)) {
        struct strbuf words;

        strbuf_init(&words, COMPLAINT_BYTES_MAX);
        read_last_words(f, &words);
        rc = refused(t, "forward a port to the pod of fgpu", strbuf_view(&words), reterr);
        strbuf_fini(&words);
    }
    if (rc != 0) {
        forward_close(f);
    }
    return rc;
}

void forward_wait(struct forward *f)
{
    struct pollfd p[2] = {{.fd = f->out, .events = POLLIN}, {.fd = f->err, .events = POLLIN}};
    char text[4096];

    for (;;) {
        if (poll(p, 2, -1) < 0 && errno != EINTR) {
            return;
        }
        if (p[1].revents != 0) {
            const ssize_t n = read(f->err, text, sizeof(text));

            p[1].fd = n == 0 ? -1 : p[1].fd;
            (void)!write(STDERR_FILENO, text, n > 0 ? (size_t)n : 0);
        }
        if (p[0].revents != 0 && read(f->out, text, sizeof(text)) <= 0) { /* "Handling connection for ..." */
            return;
        }
    }
}

void forward_close(struct forward *f)
{
    if (f->pid > 0) {
        kill(f->pid, SIGTERM);
        while (waitpid(f->pid, NULL, 0) < 0 && errno == EINTR) {
        }
        f->pid = 0;
    }
    if (f->out >= 0) {
        close(f->out);
        close(f->err);
        f->out = f->err = -1;
    }
}
