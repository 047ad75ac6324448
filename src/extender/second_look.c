#include "extender/second_look.h"

#include "base/bug.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define WAITERS_MAX 64
#define WAIT_NS (SECOND_LOOK_MS * INT64_C(1000000))
#define BUDGET_MAX_NS (4 * WAIT_NS)

struct waiter {
    uint64_t generation; /* waits for another one */
    int64_t since_ns;
    second_look_fn *again;
    void *ctx;
};

struct second_look {
    struct store *store;
    const struct clock *clock;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    bool stopping;
    struct waiter waiters[WAITERS_MAX];
    size_t waiter_n;
    int64_t budget_ns; /* what waiting may still cost; grows by a quarter of the time */
    int64_t budget_at_ns;
};

static void lock(struct second_look *s)
{
    BUG_ON(pthread_mutex_lock(&s->lock) != 0);
}

static void unlock(struct second_look *s)
{
    BUG_ON(pthread_mutex_unlock(&s->lock) != 0);
}

/* Takes one whole wait off the budget; what it does not use comes back in serve(). */
static bool spend(struct second_look *s, int64_t now_ns)
{
    s->budget_ns += (now_ns - s->budget_at_ns) / 4;
    s->budget_at_ns = now_ns;
    if (s->budget_ns > BUDGET_MAX_NS) {
        s->budget_ns = BUDGET_MAX_NS;
    }
    if (s->budget_ns < WAIT_NS) {
        return false;
    }
    s->budget_ns -= WAIT_NS;
    return true;
}

bool second_look_wanted(struct second_look *s, uint64_t generation, second_look_fn *again, void *ctx)
{
    int64_t now_ns = clock_mono_ns(s->clock);
    bool wait;

    lock(s);
    wait = !s->stopping && s->waiter_n < WAITERS_MAX && spend(s, now_ns);
    if (wait) {
        s->waiters[s->waiter_n++] = (struct waiter){generation, now_ns, again, ctx};
        BUG_ON(pthread_cond_signal(&s->wake) != 0);
    }
    unlock(s);
    return wait;
}

/* Lets everybody look again for whom something changed or whose time is up. The lock is given up for each;
 * only this thread takes waiters out, so an index stays valid. */
static void serve(struct second_look *s)
{
    uint64_t generation = store_generation(s->store);

    for (size_t i = 0; i < s->waiter_n;) {
        struct waiter w = s->waiters[i];
        int64_t waited_ns = clock_mono_ns(s->clock) - w.since_ns;
        bool last = waited_ns >= WAIT_NS || s->stopping;
        bool answered;

        s->waiters[i].generation = generation;
        if (w.generation == generation && !last) {
            i++;
            continue;
        }
        unlock(s);
        answered = w.again(w.ctx, last);
        lock(s);
        BUG_ON(last && !answered);
        if (answered) {
            s->waiters[i] = s->waiters[--s->waiter_n];
            s->budget_ns += waited_ns < WAIT_NS ? WAIT_NS - waited_ns : 0;
        } else {
            i++;
        }
    }
}

static void *look_main(void *arg)
{
    struct second_look *s = arg;

    lock(s);
    while (!s->stopping || s->waiter_n > 0) {
        struct timespec until;
        int64_t soon_ns;

        serve(s);
        if (s->waiter_n == 0) {
            if (!s->stopping) {
                BUG_ON(pthread_cond_wait(&s->wake, &s->lock) != 0);
            }
            continue;
        }
        /* Polled, so that applying an event never has to wake anybody: a few looks per waiting pod. */
        soon_ns = clock_mono_ns(s->clock) + 2000000;
        until = (struct timespec){.tv_sec = soon_ns / 1000000000, .tv_nsec = soon_ns % 1000000000};
        (void)pthread_cond_timedwait(&s->wake, &s->lock, &until);
    }
    unlock(s);
    return NULL;
}

int second_look_new(struct store *store, const struct clock *clock, struct second_look **ret,
                    struct err *reterr)
{
    struct second_look *s = xcalloc(1, sizeof(*s));
    pthread_condattr_t attr;

    s->store = store;
    s->clock = clock;
    s->budget_ns = BUDGET_MAX_NS;
    s->budget_at_ns = clock_mono_ns(clock);
    BUG_ON(pthread_mutex_init(&s->lock, NULL) != 0);
    BUG_ON(pthread_condattr_init(&attr) != 0);
    BUG_ON(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) != 0);
    BUG_ON(pthread_cond_init(&s->wake, &attr) != 0);
    BUG_ON(pthread_condattr_destroy(&attr) != 0);
    if (pthread_create(&s->thread, NULL, look_main, s) != 0) {
        free(s);
        return err_set(reterr, ERR_INTERNAL, "cannot start a thread");
    }
    *ret = s;
    return 0;
}

void second_look_free(struct second_look *s)
{
    if (s == NULL) {
        return;
    }
    lock(s);
    s->stopping = true;
    BUG_ON(pthread_cond_signal(&s->wake) != 0);
    unlock(s);
    BUG_ON(pthread_join(s->thread, NULL) != 0);
    BUG_ON(pthread_cond_destroy(&s->wake) != 0);
    BUG_ON(pthread_mutex_destroy(&s->lock) != 0);
    free(s);
}
