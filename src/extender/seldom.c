#include "extender/seldom.h"

#include "base/bug.h"
#include "base/hash.h"

#include <pthread.h>
#include <stdlib.h>

enum { SLOTS = 1024 }; /* objects that collide have one turn together: less is said, never more */

struct seldom {
    pthread_mutex_t lock;
    int64_t may_again_ns[SLOTS];
    int64_t window_end_ns;
    uint32_t said_n; /* in the window */
};

struct seldom *seldom_new(void)
{
    struct seldom *s = xcalloc(1, sizeof(*s));

    BUG_ON(pthread_mutex_init(&s->lock, NULL) != 0);
    for (size_t i = 0; i < SLOTS; i++) {
        s->may_again_ns[i] = INT64_MIN;
    }
    s->window_end_ns = INT64_MIN;
    return s;
}

void seldom_free(struct seldom *s)
{
    if (s != NULL) {
        BUG_ON(pthread_mutex_destroy(&s->lock) != 0);
        free(s);
    }
}

bool seldom_may_say(struct seldom *s, struct str object, int64_t now_ns)
{
    int64_t *again = &s->may_again_ns[hash_str((struct hash_key){0, 0}, object) % SLOTS];
    bool may;

    BUG_ON(pthread_mutex_lock(&s->lock) != 0);
    if (now_ns >= s->window_end_ns) {
        s->window_end_ns = now_ns + INT64_C(1000000) * SELDOM_ALL_MS;
        s->said_n = 0;
    }
    may = now_ns >= *again && s->said_n < SELDOM_ALL_N;
    if (may) {
        *again = now_ns + INT64_C(1000000) * SELDOM_OBJECT_MS;
        s->said_n++;
    }
    BUG_ON(pthread_mutex_unlock(&s->lock) != 0);
    return may;
}
