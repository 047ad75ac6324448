/* base/sync.c - what of locks, conditions and threads is not worth inlining. */
#define _GNU_SOURCE /* pthread_setname_np, strerrordesc_np */

#include "base/sync.h"

#include "base/bug.h"
#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *error_text(int error)
{
    const char *text = strerrordesc_np(error); /* unlike strerror, from any thread */

    return text != NULL ? text : "unknown error";
}

void sync_failed(const char *call, const char *name, int error)
{
    char text[160];

    snprintf(text, sizeof(text), "%s(\"%s\"): %s", call, name, error_text(error));
    BUG(text);
}

static void expect(int error, const char *call, const char *name)
{
    if (error != 0) {
        sync_failed(call, name, error);
    }
}

static void *witness_new(void)
{
#ifdef FGPU_LOCK_ORDER
    return xmalloc(1);
#else
    return NULL;
#endif
}

/* In memory that begins as zeroes: pthreads would take a lock for made, and a condition for one of the wall clock. */
static void expect_made(const char *call, const char *name)
{
    if (name == NULL) {
        sync_failed(call, "never made", EINVAL);
    }
}

void mutex_init(struct mutex *m, const char *name)
{
    m->witness = witness_new();
    m->name = name;
    m->rank = lock_order_rank(name);
    expect(pthread_mutex_init(&m->os, NULL), "mutex_init", name);
}

void mutex_destroy(struct mutex *m)
{
    expect_made("mutex_destroy", m->name);
    expect(pthread_mutex_destroy(&m->os), "mutex_destroy", m->name);
    free(m->witness);
    m->witness = NULL;
}

void condvar_init(struct condvar *c, const char *name)
{
    pthread_condattr_t attr;

    c->name = name;
    c->witness = witness_new();
    expect(pthread_condattr_init(&attr), "condvar_init", name);
    expect(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC), "condvar_init", name);
    expect(pthread_cond_init(&c->os, &attr), "condvar_init", name);
    expect(pthread_condattr_destroy(&attr), "condvar_init", name);
}

void condvar_destroy(struct condvar *c)
{
    expect_made("condvar_destroy", c->name);
    expect(pthread_cond_destroy(&c->os), "condvar_destroy", c->name);
    free(c->witness);
    c->witness = NULL;
}

void condvar_signal(struct condvar *c)
{
    expect_made("condvar_signal", c->name);
    expect(pthread_cond_signal(&c->os), "condvar_signal", c->name);
}

void condvar_broadcast(struct condvar *c)
{
    expect_made("condvar_broadcast", c->name);
    expect(pthread_cond_broadcast(&c->os), "condvar_broadcast", c->name);
}

void condvar_wait(struct condvar *c, struct mutex *m)
{
    expect_made("condvar_wait", c->name);
    lock_order_wait(m);
    expect(pthread_cond_wait(&c->os, &m->os), "condvar_wait", c->name);
}

bool condvar_wait_until(struct condvar *c, struct mutex *m, int64_t until_ns)
{
    struct timespec until = {0}; /* a moment before the clock began has passed, too */
    int error;

    if (until_ns == INT64_MAX) {
        condvar_wait(c, m);
        return true;
    }
    if (until_ns > 0) {
        until.tv_sec = (time_t)(until_ns / NS_PER_S);
        until.tv_nsec = (long)(until_ns % NS_PER_S);
    }
    expect_made("condvar_wait_until", c->name);
    lock_order_wait(m);
    error = pthread_cond_timedwait(&c->os, &m->os, &until);
    if (error != ETIMEDOUT) {
        expect(error, "condvar_wait_until", c->name);
    }
    return error == 0;
}

int64_t sync_in_ns(int64_t ns)
{
    int64_t sum;

    return __builtin_add_overflow(clock_mono_ns(clock_system()), ns > 0 ? ns : 0, &sum) ? INT64_MAX : sum;
}

int thread_start(struct thread *ret, const char *name, void *(*run)(void *), void *ctx, struct err *reterr)
{
    sigset_t all, before;
    pthread_t os;
    int error;

    sigfillset(&all);
    expect(pthread_sigmask(SIG_SETMASK, &all, &before), "thread_start", name);
    error = pthread_create(&os, NULL, run, ctx);
    expect(pthread_sigmask(SIG_SETMASK, &before, NULL), "thread_start", name);
    if (error != 0) {
        return err_set(reterr, ERR_INTERNAL,
                       "cannot start the thread \"%s\": %s; see ulimit -u and the pids limit of the container", name,
                       error_text(error));
    }
    (void)pthread_setname_np(os, name); /* cosmetic, and it fails once the thread has ended */
    *ret = (struct thread){os, name};
    return 0;
}

void thread_join(struct thread *t)
{
    expect(pthread_join(t->os, NULL), "thread_join", t->name);
}

void thread_abandon(struct thread *t)
{
    expect(pthread_detach(t->os), "thread_abandon", t->name);
}

void once_run(struct once *o, void (*fn)(void))
{
    expect(pthread_once(&o->os, fn), "once_run", "");
}
