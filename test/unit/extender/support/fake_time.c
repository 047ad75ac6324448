#include "extender/support/fake_time.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/sync.h"
#include "support/cmocka.h"

#include <time.h>
#include <unistd.h>
#include <stdbool.h>

#define PATIENCE_NS (60 * NS_PER_S)

static struct waiter {
    struct condvar *c;
    struct mutex *m;
    int64_t until_ns;
} waiters[FAKE_TIME_WAITERS_MAX]; /* c NULL: free */
static int64_t now_ns;
static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* of both; not one of ours, because locks are held when it is taken */

/* As the linker names them. */
int64_t __wrap_sync_in_ns(int64_t ns);
bool __wrap_condvar_wait_until(struct condvar *c, struct mutex *m, int64_t until_ns);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret);
int __real_clock_gettime(clockid_t id, struct timespec *ret);

static void take(void)
{
    BUG_ON(pthread_mutex_lock(&lock) != 0);
}

static void give(void)
{
    BUG_ON(pthread_mutex_unlock(&lock) != 0);
}

void fake_time_set(int64_t ns)
{
    take();
    now_ns = ns;
    give();
}

int64_t fake_time_ns(void)
{
    int64_t ns;

    take();
    ns = now_ns;
    give();
    return ns;
}

int64_t __wrap_sync_in_ns(int64_t ns)
{
    int64_t sum;

    return __builtin_add_overflow(fake_time_ns(), ns > 0 ? ns : 0, &sum) ? INT64_MAX : sum;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *ret)
{
    const int64_t ns = fake_time_ns();

    if (id != CLOCK_BOOTTIME) {
        return __real_clock_gettime(id, ret);
    }
    *ret = (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
    return 0;
}

bool __wrap_condvar_wait_until(struct condvar *c, struct mutex *m, int64_t until_ns)
{
    size_t i = 0;
    bool in_time;

    take();
    if (until_ns <= now_ns) {
        give();
        return false;
    }
    while (i < FAKE_TIME_WAITERS_MAX && waiters[i].c != NULL) {
        i++;
    }
    BUG_ON(i == FAKE_TIME_WAITERS_MAX);
    waiters[i] = (struct waiter){c, m, until_ns};
    give();
    condvar_wait(c, m);
    take();
    waiters[i].c = NULL;
    in_time = now_ns < until_ns;
    give();
    return in_time;
}

/* Who has entered itself holds its lock until it waits, so none is missed. */
void fake_time_advance_ms(int64_t ms)
{
    struct waiter due[FAKE_TIME_WAITERS_MAX];
    size_t n = 0;

    take();
    now_ns += ms * NS_PER_MS;
    for (size_t i = 0; i < FAKE_TIME_WAITERS_MAX; i++) {
        if (waiters[i].c != NULL && waiters[i].until_ns <= now_ns) {
            due[n++] = waiters[i];
        }
    }
    give();
    for (size_t i = 0; i < n; i++) {
        mutex_lock(due[i].m);
        condvar_broadcast(due[i].c);
        mutex_unlock(due[i].m);
    }
}

int64_t fake_time_await_waiter_ms(void)
{
    const int64_t end_ns = clock_mono_ns(clock_system()) + PATIENCE_NS;

    do {
        int64_t first_ns = INT64_MAX;

        take();
        for (size_t i = 0; i < FAKE_TIME_WAITERS_MAX; i++) {
            if (waiters[i].c != NULL && waiters[i].until_ns > now_ns && waiters[i].until_ns < first_ns) {
                first_ns = waiters[i].until_ns;
            }
        }
        first_ns = first_ns == INT64_MAX ? -1 : (first_ns - now_ns) / NS_PER_MS;
        give();
        if (first_ns >= 0) {
            return first_ns;
        }
        usleep(200);
    } while (clock_mono_ns(clock_system()) < end_ns);
    fail_msg("nobody waits for a moment, for a minute");
    return -1;
}
