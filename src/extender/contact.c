#include "extender/contact.h"

#include "base/bug.h"
#include "base/sync.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REMIND_NS (60 * NS_PER_S)

enum { TEXT_MAX = 200 };

static const char *const CAUSES[REFLECTOR_TROUBLE__MAX] = {
    [REFLECTOR_FINE] = "the API server is silent",
    [REFLECTOR_UNREACHABLE] = "the API server cannot be reached",
    [REFLECTOR_FORBIDDEN] = "the API server forbids it; see the ClusterRole and the credentials",
    [REFLECTOR_REFUSED] = "the API server answers with an error",
    [REFLECTOR_UNREADABLE] = "the API server sends data that cannot be read",
};

struct followed {
    atomic_bool counts;
    atomic_int_least64_t last_ns;
    atomic_int trouble;                           /* enum reflector_trouble */
    char texts[REFLECTOR_TROUBLE__MAX][TEXT_MAX]; /* written once */

    /* with the lock */
    uint64_t trouble_n;            /* as of the last news */
    int64_t logged_ns;             /* when trouble was last told; 0: never */
    enum reflector_trouble logged; /* which */
    bool in_trouble;               /* told, and not yet told that it is over */
    bool blind_told;
};

struct contact {
    const struct clock *clock;
    const struct log *log;
    int64_t begun_ns, stale_after_ns;
    struct followed followed[KUBE_RESOURCE__MAX];
    struct mutex lock;
};

struct contact *contact_new(const struct clock *clock, const struct log *log, int64_t stale_after_ms)
{
    struct contact *c = xcalloc(1, sizeof(*c));

    mutex_init(&c->lock, "contact");
    c->clock = clock;
    c->log = log;
    c->begun_ns = clock_mono_ns(clock);
    c->stale_after_ns = stale_after_ms * NS_PER_MS;
    for (size_t i = 0; i < KUBE_RESOURCE__MAX; i++) {
        struct followed *f = &c->followed[i];

        atomic_init(&f->counts, false);
        atomic_init(&f->last_ns, c->begun_ns);
        atomic_init(&f->trouble, REFLECTOR_FINE);
        for (size_t t = 0; t < REFLECTOR_TROUBLE__MAX; t++) {
            (void)snprintf(f->texts[t], TEXT_MAX,
                           "fgpu is not ready: it has had no news of %s for longer than staleAfter (%s)",
                           kube_resource_name((enum kube_resource)i), CAUSES[t]);
        }
    }
    return c;
}

void contact_free(struct contact *c)
{
    if (c != NULL) {
        mutex_destroy(&c->lock);
        free(c);
    }
}

void contact_follow(struct contact *c, enum kube_resource resource)
{
    atomic_store(&c->followed[resource].counts, true);
}

int64_t contact_age_ms(struct contact *c, enum kube_resource resource)
{
    return (clock_mono_ns(c->clock) - atomic_load(&c->followed[resource].last_ns)) / NS_PER_MS;
}

static bool is_stale(const struct contact *c, const struct followed *f, int64_t now_ns)
{
    return c->stale_after_ns > 0 && atomic_load(&f->counts) && now_ns - atomic_load(&f->last_ns) > c->stale_after_ns;
}

static void tell_blind(struct contact *c, enum kube_resource resource, const char *why)
{
    struct followed *f = &c->followed[resource];
    bool first;

    mutex_lock(&c->lock);
    first = !f->blind_told;
    f->blind_told = true;
    mutex_unlock(&c->lock);
    if (first) {
        LOG_ERROR(c->log,
                  "No news from the API server: requests for GPUs are answered with an error until there "
                  "is news again",
                  LOG_CSTR("resource", kube_resource_name(resource)), LOG_CSTR("reason", why));
    }
}

const char *contact_lost(struct contact *c)
{
    int64_t now_ns;

    if (c == NULL) {
        return NULL;
    }
    now_ns = clock_mono_ns(c->clock);
    for (size_t i = 0; i < KUBE_RESOURCE__MAX; i++) {
        struct followed *f = &c->followed[i];

        if (is_stale(c, f, now_ns)) {
            const char *why = f->texts[atomic_load(&f->trouble)];

            tell_blind(c, (enum kube_resource)i, why);
            return why;
        }
    }
    return NULL;
}

/* What there is to say, decided under the lock and said without it. */
enum words { SAY_NOTHING, SAY_TROUBLE, SAY_OVER };

static enum words take_news(struct contact *c, struct followed *f, const struct reflector_stats *stats, int64_t now_ns)
{
    bool contact = stats->last_contact_ns > atomic_load(&f->last_ns);
    bool trouble = stats->trouble_n > f->trouble_n && stats->trouble != REFLECTOR_FINE;

    f->trouble_n = stats->trouble_n;
    if (contact) {
        atomic_store(&f->last_ns, stats->last_contact_ns);
    }
    atomic_store(&f->trouble, (int)stats->trouble);
    if (trouble && (f->logged_ns == 0 || f->logged != stats->trouble || now_ns - f->logged_ns >= REMIND_NS)) {
        f->logged_ns = now_ns;
        f->logged = stats->trouble;
        f->in_trouble = true;
        return SAY_TROUBLE;
    }
    if (contact && stats->trouble == REFLECTOR_FINE && (f->in_trouble || f->blind_told) && !is_stale(c, f, now_ns)) {
        f->in_trouble = f->blind_told = false;
        return SAY_OVER;
    }
    return SAY_NOTHING;
}

void contact_news(void *ctx, enum kube_resource resource, const struct reflector_stats *stats)
{
    struct contact *c = ctx;
    struct followed *f = &c->followed[resource];
    int64_t now_ns = clock_mono_ns(c->clock);
    int64_t silent_ms = (now_ns - atomic_load(&f->last_ns)) / NS_PER_MS;
    enum words words;

    mutex_lock(&c->lock);
    words = take_news(c, f, stats, now_ns);
    mutex_unlock(&c->lock);
    if (words == SAY_TROUBLE) {
        LOG_WARNING(c->log, "Cannot follow the cluster; trying again",
                    LOG_CSTR("resource", kube_resource_name(resource)), LOG_CSTR("verb", stats->trouble_verb),
                    LOG_CSTR("err", stats->trouble_text), LOG_I64("silentMs", silent_ms));
    } else if (words == SAY_OVER) {
        LOG_INFO(c->log, "Follows the cluster again", LOG_CSTR("resource", kube_resource_name(resource)),
                 LOG_I64("silentMs", silent_ms));
    }
    if (words == SAY_TROUBLE || stats->trouble != REFLECTOR_FINE) {
        (void)contact_lost(c); /* says so, where nobody asks */
    }
}
