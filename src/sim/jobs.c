#include "sim/jobs.h"

#include "base/bug.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct jobs {
    struct replay_job *all;
    struct replay_result *results;
    size_t n;
    atomic_int *progress; /* of each */
    pthread_t *workers;
    unsigned worker_n;
    pthread_mutex_t lock; /* the rest */
    pthread_cond_t changed;
    size_t next, done;
};

static void *work(void *arg)
{
    struct jobs *j = arg;

    pthread_mutex_lock(&j->lock);
    while (j->next < j->n) {
        size_t i = j->next++;

        pthread_mutex_unlock(&j->lock);
        replay_run(&j->all[i], &j->results[i]);
        pthread_mutex_lock(&j->lock);
        atomic_store_explicit(&j->progress[i], 100, memory_order_relaxed);
        j->done++;
        pthread_cond_broadcast(&j->changed);
    }
    pthread_mutex_unlock(&j->lock);
    return NULL;
}

static unsigned core_n(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n < 1 ? 1 : (unsigned)n;
}

struct jobs *jobs_start(struct replay_job *all, struct replay_result *results, size_t n,
                        unsigned worker_n)
{
    struct jobs *j = xcalloc(1, sizeof(*j));
    pthread_condattr_t attr;

    j->all = all;
    j->results = results;
    j->n = n;
    j->worker_n = worker_n == 0 ? core_n() : worker_n;
    j->worker_n = n < j->worker_n ? (unsigned)n : j->worker_n;
    j->progress = xcalloc(n, sizeof(*j->progress));
    j->workers = xcalloc(j->worker_n, sizeof(*j->workers));
    pthread_mutex_init(&j->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&j->changed, &attr);
    pthread_condattr_destroy(&attr);
    for (size_t i = 0; i < n; i++) {
        all[i].progress_pct = &j->progress[i];
    }
    for (unsigned i = 0; i < j->worker_n; i++) {
        BUG_ON(pthread_create(&j->workers[i], NULL, work, j) != 0);
    }
    return j;
}

bool jobs_wait(struct jobs *j, int timeout_ms)
{
    struct timespec until;
    bool done;
    int r = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += timeout_ms % 1000 * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    pthread_mutex_lock(&j->lock);
    while (j->done < j->n && r != ETIMEDOUT) {
        r = pthread_cond_timedwait(&j->changed, &j->lock, &until);
    }
    done = j->done == j->n;
    pthread_mutex_unlock(&j->lock);
    return done;
}

int jobs_progress(struct jobs *j, size_t *ret_done)
{
    long sum = 0;

    for (size_t i = 0; i < j->n; i++) {
        sum += atomic_load_explicit(&j->progress[i], memory_order_relaxed);
    }
    pthread_mutex_lock(&j->lock);
    *ret_done = j->done;
    pthread_mutex_unlock(&j->lock);
    return j->n == 0 ? 100 : (int)(sum / (long)j->n);
}

void jobs_free(struct jobs *j)
{
    for (unsigned i = 0; i < j->worker_n; i++) {
        pthread_join(j->workers[i], NULL);
    }
    pthread_mutex_destroy(&j->lock);
    pthread_cond_destroy(&j->changed);
    free(j->workers);
    free(j->progress);
    free(j);
}
