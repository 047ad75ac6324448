/* Who hears of what an op made of the ledger: told after it, without the lock. */
#include "extender/store_internal.h"

static void say_room(struct store *s)
{
    mutex_lock(&s->room_lock);
    if (s->room_fn != NULL) {
        s->room_fn(s->room_ctx);
    }
    mutex_unlock(&s->room_lock);
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

void store_unlock_and_tell(struct store *s, uint64_t room)
{
    struct incident *incidents = ledger_take_incidents(s->ledger);
    struct ledger_overcommit news[16];
    size_t n = ledger_take_overcommits(s->ledger, news, sizeof(news) / sizeof(news[0]));
    bool made_room = ledger_room_generation(s->ledger) != room;

    store_unlock(s);
    if (n > 0) {
        say_overcommits(s, news, n);
        ledger_drop_overcommits(news, n);
    }
    if (incidents != NULL) {
        say_incidents(s, incidents);
    }
    if (made_room) {
        say_room(s);
    }
}

void store_watch_room(struct store *s, store_room_fn *fn, void *ctx)
{
    mutex_lock(&s->room_lock);
    s->room_fn = fn;
    s->room_ctx = ctx;
    mutex_unlock(&s->room_lock);
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
