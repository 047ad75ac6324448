/* What the linker puts in the place of pthreads, the clock and the system's randomness (--wrap, CMakeLists.txt). Locks,
 * conditions and threads live in the memory of their pthread types. */
#include "fiber.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/sync.h"

#include <errno.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#define WALL_BEGIN_S 1800000000 /* 2027-01-15 */
#define MONO_BEGIN_S 1000

int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *), void *ctx);
int __wrap_pthread_join(pthread_t t, void **ret);
int __wrap_pthread_detach(pthread_t t);
int __wrap_pthread_setname_np(pthread_t t, const char *name);
int __wrap_pthread_mutex_lock(pthread_mutex_t *m);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *m);
int __wrap_pthread_mutex_destroy(pthread_mutex_t *m);
int __wrap_pthread_cond_init(pthread_cond_t *c, const pthread_condattr_t *attr);
int __wrap_pthread_cond_destroy(pthread_cond_t *c);
int __wrap_pthread_cond_signal(pthread_cond_t *c);
int __wrap_pthread_cond_broadcast(pthread_cond_t *c);
int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret);
int __wrap_nanosleep(const struct timespec *how_long, struct timespec *left);
int __wrap_gethostname(char *name, size_t n);
ssize_t __wrap_getrandom(void *p, size_t n, unsigned flags);
void __wrap_lock_order_take(const struct mutex *m);
void __wrap_lock_order_release(const struct mutex *m);
void __wrap_lock_order_wait(const struct mutex *m);

_Static_assert(sizeof(pthread_cond_t) >= sizeof(struct fiber_waiters), "a condition has room for its waiters");

int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *), void *ctx)
{
    (void)attr;
    *ret = (pthread_t)(uintptr_t)fiber_spawn("thread", run, ctx, NULL);
    return 0;
}

int __wrap_pthread_join(pthread_t t, void **ret)
{
    (void)ret;
    fiber_join((struct fiber *)(uintptr_t)t); // NOLINT(performance-no-int-to-ptr)
    return 0;
}

int __wrap_pthread_detach(pthread_t t)
{
    fiber_detach((struct fiber *)(uintptr_t)t); // NOLINT(performance-no-int-to-ptr)
    return 0;
}

int __wrap_pthread_setname_np(pthread_t t, const char *name)
{
    fiber_rename((struct fiber *)(uintptr_t)t, name); // NOLINT(performance-no-int-to-ptr)
    return 0;
}

/* A fiber is never switched while it holds a lock, so nobody ever finds one taken. */
static bool *taken(pthread_mutex_t *m)
{
    return (bool *)m;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
    fiber_locks();
    BUG_ON(*taken(m));
    *taken(m) = true;
    return 0;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *m)
{
    BUG_ON(!*taken(m));
    *taken(m) = false;
    fiber_unlocks();
    return 0;
}

int __wrap_pthread_mutex_destroy(pthread_mutex_t *m)
{
    return *taken(m) ? EBUSY : 0;
}

static struct fiber_waiters *waiters(pthread_cond_t *c)
{
    return (struct fiber_waiters *)c;
}

int __wrap_pthread_cond_init(pthread_cond_t *c, const pthread_condattr_t *attr)
{
    (void)attr;
    memset(c, 0, sizeof(*c));
    return 0;
}

int __wrap_pthread_cond_destroy(pthread_cond_t *c)
{
    return waiters(c)->first != NULL ? EBUSY : 0;
}

int __wrap_pthread_cond_signal(pthread_cond_t *c)
{
    fiber_wake(waiters(c), false);
    return 0;
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *c)
{
    fiber_wake(waiters(c), true);
    return 0;
}

static bool wait_in(pthread_cond_t *c, pthread_mutex_t *m, int64_t until_ns)
{
    bool in_time;

    __wrap_pthread_mutex_unlock(m);
    in_time = fiber_wait(waiters(c), until_ns);
    fiber_locks();
    BUG_ON(*taken(m));
    *taken(m) = true;
    return in_time;
}

int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
    (void)wait_in(c, m, INT64_MAX);
    return 0;
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until)
{
    const int64_t ns = (until->tv_sec - MONO_BEGIN_S) * NS_PER_S + until->tv_nsec;

    return wait_in(c, m, ns) ? 0 : ETIMEDOUT;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *ret)
{
    const int64_t now_ns = sim_now_ns();

    ret->tv_sec = now_ns / NS_PER_S + (id == CLOCK_REALTIME ? WALL_BEGIN_S : MONO_BEGIN_S);
    ret->tv_nsec = now_ns % NS_PER_S;
    return 0;
}

int __wrap_nanosleep(const struct timespec *how_long, struct timespec *left)
{
    struct fiber_waiters nobody = {0};

    (void)left;
    (void)fiber_wait(&nobody, sim_now_ns() + how_long->tv_sec * NS_PER_S + how_long->tv_nsec);
    return 0;
}

int __wrap_gethostname(char *name, size_t n)
{
    BUG_ON(n < sizeof("sim"));
    memcpy(name, "sim", sizeof("sim"));
    return 0;
}

ssize_t __wrap_getrandom(void *p, size_t n, unsigned flags)
{
    unsigned char *to = p;

    (void)flags;
    for (size_t i = 0; i < n; i++) {
        to[i] = (unsigned char)sim_draw(SIM_SYSTEM);
    }
    return (ssize_t)n;
}

/* What a thread holds is kept by thread there, and all fibers are one thread. Unit and integration tests check it. */
void __wrap_lock_order_take(const struct mutex *m)
{
    (void)m;
}

void __wrap_lock_order_release(const struct mutex *m)
{
    (void)m;
}

void __wrap_lock_order_wait(const struct mutex *m)
{
    (void)m;
}
