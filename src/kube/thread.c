#define _GNU_SOURCE /* pthread_setname_np */

#include "thread_internal.h"

#include "base/bug.h"

#include <signal.h>

int thread_start(pthread_t *ret, const char *name, void *(*run)(void *), void *ctx,
                 struct err *reterr)
{
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    BUG_ON(pthread_sigmask(SIG_SETMASK, &all, &before) != 0);
    int error = pthread_create(&thread, NULL, run, ctx);
    BUG_ON(pthread_sigmask(SIG_SETMASK, &before, NULL) != 0);
    if (error != 0) {
        return err_set(reterr, ERR_INTERNAL, "cannot start thread %s: error %d", name, error);
    }
    (void)pthread_setname_np(thread, name); /* cosmetic, and it fails once the thread has ended */
    *ret = thread;
    return 0;
}
