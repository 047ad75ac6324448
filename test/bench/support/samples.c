#include "support/samples.h"

#include "base/bug.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

int64_t samples_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- locks ---- */

int __real_pthread_mutex_lock(pthread_mutex_t *m);
int __real_pthread_mutex_unlock(pthread_mutex_t *m);
int __wrap_pthread_mutex_lock(pthread_mutex_t *m);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *m);

static _Thread_local int64_t locked_ns, longest_ns;

int __wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
    int rc = __real_pthread_mutex_lock(m);

    locked_ns = samples_now_ns(); /* of nested ones the inner: they are short */
    return rc;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *m)
{
    int64_t held = samples_now_ns() - locked_ns;

    longest_ns = held > longest_ns ? held : longest_ns;
    return __real_pthread_mutex_unlock(m);
}

int64_t samples_longest_hold_ns(void)
{
    int64_t longest = longest_ns;

    longest_ns = 0;
    return longest;
}

/* ---- samples ---- */

void samples_init(struct samples *s, size_t cap)
{
    *s = (struct samples){.took_ns = xcalloc(cap, sizeof(*s->took_ns)), .cap = cap};
}

void samples_fini(struct samples *s)
{
    free(s->took_ns);
}

void samples_add(struct samples *s, int64_t took_ns)
{
    int64_t hold = samples_longest_hold_ns();

    BUG_ON(s->n == s->cap);
    s->took_ns[s->n++] = took_ns;
    s->hold_ns = hold > s->hold_ns ? hold : s->hold_ns;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

int64_t samples_at(struct samples *s, double share)
{
    BUG_ON(s->n == 0);
    qsort(s->took_ns, s->n, sizeof(*s->took_ns), by_value);
    return s->took_ns[(size_t)((double)(s->n - 1) * share)];
}
