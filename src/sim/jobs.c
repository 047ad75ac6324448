#include "sim/jobs.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/sync.h"

#include <stdlib.h>
#include <unistd.h>

struct jobs {
    struct replay_job *all;
    struct replay_result *results;
    size_t n;
    atomic_int *progress; /* of each */
    struct thread *workers;
    unsigned worker_n;
    struct mutex lock; /* the rest */
    struct condvar changed;
    size_t next, done;
};

static void *work(void *arg)
{
    struct jobs *j = arg;

    mutex_lock(&j->lock);
    while (j->next < j->n) {
        size_t i = j->next++;

        mutex_unlock(&j->lock);
        replay_job_run(&j->all[i], &j->results[i]);
        mutex_lock(&j->lock);
        atomic_store_explicit(&j->progress[i], 100, memory_order_relaxed);
        j->done++;
        condvar_broadcast(&j->changed);
    }
    mutex_unlock(&j->lock);
    return NULL;
}

static unsigned core_n(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n < 1 ? 1 : (unsigned)n;
}

struct jobs *jobs_start(struct replay_job *all, struct replay_result *results, size_t n, unsigned worker_n)
{
    struct jobs *j = xcalloc(1, sizeof(*j));

    j->all = all;
    j->results = results;
    j->n = n;
    j->worker_n = worker_n == 0 ? core_n() : worker_n;
    j->worker_n = n < j->worker_n ? (unsigned)n : j->worker_n;
    j->progress = xcalloc(n, sizeof(*j->progress));
    j->workers = xcalloc(j->worker_n, sizeof(*j->workers));
    mutex_init(&j->lock, "jobs");
    condvar_init(&j->changed, "jobs changed");
    for (size_t i = 0; i < n; i++) {
        all[i].progress_pct = &j->progress[i];
    }
    for (unsigned i = 0; i < j->worker_n; i++) {
        BUG_ON(thread_start(&j->workers[i], "replay", work, j, NULL) != 0);
    }
    return j;
}

bool jobs_wait(struct jobs *j, int timeout_ms)
{
    const int64_t until_ns = sync_in_ns(timeout_ms * NS_PER_MS);
    bool in_time = true;
    bool done;

    mutex_lock(&j->lock);
    while (j->done < j->n && in_time) {
        in_time = condvar_wait_until(&j->changed, &j->lock, until_ns);
    }
    done = j->done == j->n;
    mutex_unlock(&j->lock);
    return done;
}

int jobs_progress(struct jobs *j, size_t *ret_done)
{
    long sum = 0;

    for (size_t i = 0; i < j->n; i++) {
        sum += atomic_load_explicit(&j->progress[i], memory_order_relaxed);
    }
    mutex_lock(&j->lock);
    *ret_done = j->done;
    mutex_unlock(&j->lock);
    return j->n == 0 ? 100 : (int)(sum / (long)j->n);
}

void jobs_free(struct jobs *j)
{
    for (unsigned i = 0; i < j->worker_n; i++) {
        thread_join(&j->workers[i]);
    }
    mutex_destroy(&j->lock);
    condvar_destroy(&j->changed);
    free(j->workers);
    free(j->progress);
    free(j);
}
