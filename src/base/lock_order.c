/* base/lock_order.c - which lock may be taken while which is held. */
#include "base/sync.h"

#include "base/bug.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Every lock under which another one is taken, outermost first. What is not here is a leaf: "store"
 * above all, so that nothing blocks or is told under it; the locks of the log, the metrics' series
 * and the API client's queue; and those that only hand out what is current ("policy set", "signing",
 * "config slot"). */
static const char *const ORDER[] = {
    "config apply",         /* gives a new configuration to everybody */
    "election",             /* what the pools were told last */
    "policy set observing", /* what is observed becomes an op of the store */
    "store reserved",       /* tells the binder */
    "metrics scrape",       /* asks everybody who has numbers */
    "binder",               /* reserves in the store, sends, signs */
    "run start",            /* moves the hold-off of the store */
    "capacity reporter",    /* reads the store */
    "store incident",       /* these three tell what an op did, after "store" was given back */
    "store overcommit",
    "store capacity",
    "node health",  /* tells the agent and by Events */
    "node answers", /* reads what limits a container */
    "signing look", /* from here on only leaves follow */
    "tls reading",
    "identity",
    "events",
    "httpd",
    "demo player",
};

unsigned lock_order_rank(const char *name)
{
    unsigned i;

    for (i = 0; i < ARRAY_LEN(ORDER); i++) {
        if (strcmp(ORDER[i], name) == 0) {
            break;
        }
    }
    return i;
}

#ifdef FGPU_LOCK_ORDER

enum { HELD_MAX = 8 }; /* locks that one thread holds at once */

static _Thread_local struct {
    const struct mutex *locks[HELD_MAX];
    unsigned n;
} held;

NORETURN static void broken(const char *what, const struct mutex *m, const struct mutex *other)
{
    char text[240];

    snprintf(text, sizeof(text), "%s \"%s\" while holding \"%s\" (the order: src/base/lock_order.c)", what, m->name,
             other->name);
    BUG(text);
}

void lock_order_take(const struct mutex *m)
{
    if (m->name == NULL) {
        sync_failed("mutex_lock", "never made", EINVAL);
    }
    for (unsigned i = 0; i < held.n; i++) {
        if (held.locks[i]->rank >= m->rank) {
            broken("takes the lock", m, held.locks[i]);
        }
    }
    BUG_ON(held.n == HELD_MAX);
    held.locks[held.n++] = m;
}

void lock_order_release(const struct mutex *m)
{
    unsigned i = held.n;

    do {
        if (i == 0) {
            sync_failed("mutex_unlock", m->name, EPERM);
        }
        i--;
    } while (held.locks[i] != m);
    memmove(&held.locks[i], &held.locks[i + 1], (held.n - i - 1) * sizeof(held.locks[0]));
    held.n--;
}

void lock_order_wait(const struct mutex *m)
{
    for (unsigned i = 0; i < held.n; i++) {
        if (held.locks[i] != m) {
            broken("waits with the lock", m, held.locks[i]);
        }
    }
    BUG_ON(held.n == 0);
}

#endif
