/* Who hears of what an op made of the ledger: told after it, without the lock. */
#include "extender/store_internal.h"

static void tell_capacity(struct store *s)
{
    mutex_lock(&s->capacity_lock);
    if (s->capacity_fn != NULL) {
        s->capacity_fn(s->capacity_ctx);
    }
    mutex_unlock(&s->capacity_lock);
}

static void say_overcommits(struct store *s, const struct ledger_overcommit *news, size_t n)
{
    mutex_lock(&s->overcommit_lock);
    for (size_t i = 0; i < n && s->overcommit_fn != NULL; i++) {
        s->overcommit_fn(s->overcommit_ctx, &news[i]);
    }
    mutex_unlock(&s->overcommit_lock);
}

static void say_incidents(struct store *s, struct incident *news)
{
    mutex_lock(&s->incident_lock);
    for (const struct incident *in = news; in != NULL && s->incident_fn != NULL; in = in->next) {
        s->incident_fn(s->incident_ctx, in);
    }
    mutex_unlock(&s->incident_lock);
    incidents_free(news);
}

void store_unlock_and_tell(struct store *s, uint64_t capacity_before)
{
    struct incident *incidents = ledger_take_incidents(s->ledger);
    struct ledger_overcommit news[16];
    size_t n = ledger_take_overcommits(s->ledger, news, sizeof(news) / sizeof(news[0]));
    bool capacity_grew = ledger_capacity_generation(s->ledger) != capacity_before;

    mutex_unlock(&s->lock);
    if (n > 0) {
        say_overcommits(s, news, n);
        ledger_drop_overcommits(news, n);
    }
    if (incidents != NULL) {
        say_incidents(s, incidents);
    }
    if (capacity_grew) {
        tell_capacity(s);
    }
}

void store_watch_capacity(struct store *s, store_capacity_fn *fn, void *ctx)
{
    mutex_lock(&s->capacity_lock);
    s->capacity_fn = fn;
    s->capacity_ctx = ctx;
    mutex_unlock(&s->capacity_lock);
}

void store_watch_overcommit(struct store *s, store_overcommit_fn *fn, void *ctx)
{
    mutex_lock(&s->overcommit_lock);
    s->overcommit_fn = fn;
    s->overcommit_ctx = ctx;
    mutex_unlock(&s->overcommit_lock);
}

void store_watch_incidents(struct store *s, store_incident_fn *fn, void *ctx)
{
    mutex_lock(&s->incident_lock);
    s->incident_fn = fn;
    s->incident_ctx = ctx;
    mutex_unlock(&s->incident_lock);
}
