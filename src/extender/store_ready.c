/* Whether the store may be asked: who decides, what is awaited, and what is said otherwise. */
#include "extender/contact.h"
#include "extender/store_internal.h"

void store_follow_election(struct store *s, bool (*leads)(void *ctx), void *ctx)
{
    s->leads = leads;
    s->leads_ctx = ctx;
}

bool store_leads(const struct store *s)
{
    return s->leads == NULL || s->leads(s->leads_ctx);
}

bool store_is_synced(struct store *s)
{
    bool synced;

    mutex_lock(&s->lock);
    synced = ledger_is_synced(s->ledger);
    mutex_unlock(&s->lock);
    return synced;
}

void store_hold_off(struct store *s, int64_t until_ns)
{
    mutex_lock(&s->lock);
    s->not_before_ns = until_ns;
    mutex_unlock(&s->lock);
}

void store_close(struct store *s, const char *why)
{
    mutex_lock(&s->lock);
    s->closed = s->closed != NULL ? s->closed : why;
    mutex_unlock(&s->lock);
}

void store_await(struct store *s, const char *why)
{
    mutex_lock(&s->lock);
    s->awaited = why;
    mutex_unlock(&s->lock);
}

void store_lacks_rights(struct store *s, const char *why)
{
    mutex_lock(&s->lock);
    s->lacks_rights = why;
    mutex_unlock(&s->lock);
}

const char *store_closed(struct store *s)
{
    const char *why;

    mutex_lock(&s->lock);
    why = s->closed;
    mutex_unlock(&s->lock);
    return why;
}

void store_follow_contact(struct store *s, struct contact *c)
{
    s->contact = c;
}

void store_stand_by(struct store *s, const char *why)
{
    mutex_lock(&s->lock);
    s->stands_by = why;
    mutex_unlock(&s->lock);
}

bool store_stands_by(struct store *s)
{
    bool stands_by;

    mutex_lock(&s->lock);
    stands_by = s->stands_by != NULL;
    mutex_unlock(&s->lock);
    return stands_by;
}

void store_transition_begins(struct store *s, uint64_t number)
{
    mutex_lock(&s->lock);
    s->transition = number;
    mutex_unlock(&s->lock);
}

void store_transition_ends(struct store *s, uint64_t number)
{
    mutex_lock(&s->lock);
    s->transition = s->transition == number ? 0 : s->transition;
    mutex_unlock(&s->lock);
}

uint64_t store_transition(struct store *s)
{
    uint64_t number;

    mutex_lock(&s->lock);
    number = s->transition;
    mutex_unlock(&s->lock);
    return number;
}

/* With the lock. */
static const char *not_synced(const struct store *s)
{
    return ledger_is_synced(s->ledger) ? NULL
                                       : "fgpu is not ready: it is still reading nodes and pods from the API server";
}

/* With the lock. */
static const char *not_open(const struct store *s)
{
    if (s->closed != NULL || s->stands_by != NULL) {
        return s->closed != NULL ? s->closed : s->stands_by;
    }
    if (!store_leads(s)) {
        return "fgpu is not ready: its Lease has run out, or the API server does not show it";
    }
    return not_synced(s);
}

const char *store_not_open(struct store *s)
{
    const char *why;

    mutex_lock(&s->lock);
    why = not_open(s);
    mutex_unlock(&s->lock);
    return why;
}

const char *store_not_ready(struct store *s)
{
    int64_t now = clock_mono_ns(s->clock);
    const char *why;

    mutex_lock(&s->lock);
    why = not_open(s);
    if (why == NULL && (s->lacks_rights != NULL || s->awaited != NULL)) {
        why = s->lacks_rights != NULL ? s->lacks_rights : s->awaited;
    } else if (why == NULL && now < s->not_before_ns) {
        why = "fgpu is not ready: it has just started and waits for earlier bindings to finish";
    }
    mutex_unlock(&s->lock);
    return why != NULL ? why : contact_lost(s->contact);
}

const char *store_not_warm(struct store *s)
{
    const char *why;

    mutex_lock(&s->lock);
    why = s->closed != NULL ? s->closed : not_synced(s);
    mutex_unlock(&s->lock);
    return why != NULL ? why : contact_lost(s->contact);
}

bool store_is_ready(struct store *s)
{
    return store_not_ready(s) == NULL;
}
