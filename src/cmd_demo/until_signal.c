#include "cmd_demo/until_signal.h"

#include "base/sync.h"
#include "cmd/commands.h"
#include "cmd/terminal.h"

#include <signal.h>
#include <unistd.h>

struct waits {
    sigset_t signals;
    void (*stop)(void);
};

/* A signal that comes while a handler cannot run yet may be lost; one that is waited for is not. */
static void *signals_main(void *arg)
{
    const struct waits *w = arg;
    int sig;

    while (sigwait(&w->signals, &sig) != 0) {
    }
    w->stop();
    return NULL;
}

int until_signal(const char *command, int (*run)(void *ctx), void *ctx, void (*stop)(void))
{
    struct waits w = {.stop = stop};
    struct thread thread;
    struct err err;
    int code;

    sigemptyset(&w.signals);
    sigaddset(&w.signals, SIGINT);
    sigaddset(&w.signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &w.signals, NULL);
    if (thread_start(&thread, "signals", signals_main, &w, &err) != 0) {
        terminal_complain(command, err.msg);
        return EXIT_RUNTIME;
    }
    code = run(ctx);
    (void)kill(getpid(), SIGTERM); /* it may still wait */
    thread_join(&thread);
    return code;
}
