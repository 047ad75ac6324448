/* base/sync.h - locks, conditions and threads that have a name.
 *
 * Thin: plain pthreads underneath, so that debuggers, perf and ThreadSanitizer see what they know.
 * Two things are added. A name, static text that a debugger shows in the struct. And an end: these
 * calls fail only when a program misuses them (a lock destroyed while somebody holds it), so a
 * failure is a bug (base/bug.h) and the message says which lock. Only the start of a thread can
 * fail in a program without faults; that is an error.
 *
 * Locks are not recursive. Builds with tests (dev, asan, tsan, fuzz) define FGPU_LOCK_ORDER and
 * check the order in which a thread takes them, see lock_order_rank() below. There a lock or a
 * condition that was never made is a bug, and one that nobody destroys before its memory goes is a
 * leak, which the leak sanitizer tells. A release build pays for pthreads alone.
 *
 * Memory and copies: the structs live inside their owner's; initialised once, never copied or
 * moved. */
#ifndef BASE_SYNC_H
#define BASE_SYNC_H

#include "base/compiler.h"
#include "base/err.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct mutex {
    pthread_mutex_t os;
    const char *name;
    unsigned rank; /* lock_order_rank(name) */
    void *witness; /* memory from init to destroy, in builds with tests; else NULL */
};

/* Counts on the monotonic clock, so that nobody who sets the date moves a deadline. */
struct condvar {
    pthread_cond_t os;
    const char *name;
    void *witness; /* as of a mutex */
};

struct thread {
    pthread_t os;
    const char *name;
};

/* Ends the process: "BUG ...: mutex_destroy(\"store\"): Device or resource busy". `error` is an
 * errno value. */
NORETURN void sync_failed(const char *call, const char *name, int error);

/* ---- the order of locks ---- */

/* The place of the lock `name` in the order, outermost first; the table is in
 * src/base/lock_order.c. A lock that is not in the table is a leaf and has the last place: it may
 * be taken under any lock of the table, and nothing is taken under it, another leaf neither. */
unsigned lock_order_rank(const char *name);

#ifdef FGPU_LOCK_ORDER
/* Of the calling thread: about to take, has let go of, is about to wait with `m`. A thread that
 * takes a lock out of order, that takes one twice, lets go of one that it does not hold or waits
 * while it holds another one is a bug; the message names both locks. It needs no deadlock to
 * happen: one thread is enough. */
void lock_order_take(const struct mutex *m);
void lock_order_release(const struct mutex *m);
void lock_order_wait(const struct mutex *m);
#else
static inline void lock_order_take(const struct mutex *m)
{
    (void)m;
}

static inline void lock_order_release(const struct mutex *m)
{
    (void)m;
}

static inline void lock_order_wait(const struct mutex *m)
{
    (void)m;
}
#endif

/* ---- locks ---- */

/* `name` must outlive the lock: "store", or "store room" where a module has several. */
void mutex_init(struct mutex *m, const char *name);
void mutex_destroy(struct mutex *m); /* nobody may hold it */

static inline void mutex_lock(struct mutex *m)
{
    int error;

    lock_order_take(m);
    error = pthread_mutex_lock(&m->os);
    if (__builtin_expect(error != 0, 0)) {
        sync_failed("mutex_lock", m->name, error);
    }
}

static inline void mutex_unlock(struct mutex *m)
{
    int error;

    lock_order_release(m);
    error = pthread_mutex_unlock(&m->os);
    if (__builtin_expect(error != 0, 0)) {
        sync_failed("mutex_unlock", m->name, error);
    }
}

/* ---- conditions ---- */

void condvar_init(struct condvar *c, const char *name);
void condvar_destroy(struct condvar *c); /* nobody may wait for it */
void condvar_signal(struct condvar *c);
void condvar_broadcast(struct condvar *c);

/* Both are called with `m` held, give it back while they wait and return with it held. Both may
 * return early: the caller looks again at what it waits for. */
void condvar_wait(struct condvar *c, struct mutex *m);
/* `until_ns` is a moment of clock_mono_ns(clock_system()); INT64_MAX: without end. False: that
 * moment has passed. */
bool condvar_wait_until(struct condvar *c, struct mutex *m, int64_t until_ns);

/* `ns` from now, as condvar_wait_until() takes it; a negative `ns` counts as 0, a sum too large as
 * INT64_MAX. */
int64_t sync_in_ns(int64_t ns);

/* ---- threads ---- */

/* Starts run(ctx) with all signals blocked: they are for the main thread. `name` shows in ps, top
 * and debuggers, at most 15 bytes; it must outlive the thread. ERR_INTERNAL: the machine gives no
 * thread; *ret is untouched. */
WARN_UNUSED int thread_start(struct thread *ret, const char *name, void *(*run)(void *), void *ctx, struct err *reterr);
/* Waits for its end. Once for each thread that was started. */
void thread_join(struct thread *t);
/* Instead of joining: nobody waits for its end, which may never come (it hangs in somebody else's library). For a
 * process that is about to _exit(). */
void thread_abandon(struct thread *t);

/* ---- once ---- */

struct once {
    pthread_once_t os;
};
#define ONCE_INIT                                                                                                      \
    {                                                                                                                  \
        PTHREAD_ONCE_INIT                                                                                              \
    }
/* Calls `fn` unless somebody did; returns after it has run. */
void once_run(struct once *o, void (*fn)(void));

#endif
