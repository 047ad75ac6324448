#include "extender/warn_limit.h"

#include "base/bug.h"
#include "base/hash.h"
#include "base/rng.h"
#include "base/sync.h"

#include <stdlib.h>

enum { SETS = 256, WAYS = 4 };

struct told {
    uint64_t hash; /* of object and cause; 0: empty */
    int64_t at_ns;
};

struct warn_limit {
    const struct clock *clock;
    struct hash_key key; /* random: nobody can aim at an entry */
    struct mutex lock;   /* of the rest */
    struct told sets[SETS][WAYS];
    int64_t credit_ns; /* WARN_BURST warnings at most; one costs 60 s / WARN_PER_MINUTE */
    int64_t counted_ns;
    uint64_t withheld;
};

#define COST_NS (60 * NS_PER_S / WARN_PER_MINUTE)

struct warn_limit *warn_limit_new(const struct clock *clock)
{
    struct warn_limit *w = xcalloc(1, sizeof(*w));

    mutex_init(&w->lock, "warn_limit");
    BUG_ON(rng_os_bytes(&w->key, sizeof(w->key), NULL) != 0);
    w->clock = clock;
    w->counted_ns = clock_mono_ns(clock);
    w->credit_ns = WARN_BURST * COST_NS;
    return w;
}

void warn_limit_free(struct warn_limit *w)
{
    if (w != NULL) {
        mutex_destroy(&w->lock);
        free(w);
    }
}

static uint64_t hash_of(const struct warn_limit *w, struct str object, const char *cause)
{
    uint64_t hash = hash_fold(hash_str(w->key, object) | 1, hash_str(w->key, str_of(cause)) | 1);

    return hash == 0 ? 1 : hash;
}

/* Its entry, or the one that goes for it. */
static struct told *find_told(struct warn_limit *w, uint64_t hash)
{
    struct told *set = w->sets[hash % SETS], *oldest = set;

    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].hash == hash) {
            return &set[i];
        }
        if (set[i].hash == 0 || (oldest->hash != 0 && set[i].at_ns < oldest->at_ns)) {
            oldest = &set[i];
        }
    }
    return oldest;
}

static bool pay(struct warn_limit *w, int64_t now_ns)
{
    w->credit_ns += now_ns - w->counted_ns;
    w->counted_ns = now_ns;
    if (w->credit_ns > WARN_BURST * COST_NS) {
        w->credit_ns = WARN_BURST * COST_NS;
    }
    if (w->credit_ns < COST_NS) {
        return false;
    }
    w->credit_ns -= COST_NS;
    return true;
}

static bool take_turn(struct warn_limit *w, uint64_t hash, int64_t now_ns, uint64_t *ret_withheld)
{
    struct told *t = find_told(w, hash);

    if (t->hash == hash && now_ns - t->at_ns < WARN_AGAIN_S * NS_PER_S) {
        return false;
    }
    if (!pay(w, now_ns)) {
        w->withheld++;
        return false;
    }
    *t = (struct told){hash, now_ns};
    *ret_withheld = w->withheld;
    w->withheld = 0;
    return true;
}

bool warn_limit_take(struct warn_limit *w, struct str object, const char *cause, uint64_t *ret_withheld)
{
    bool taken;

    *ret_withheld = 0;
    if (w == NULL) {
        return true;
    }
    mutex_lock(&w->lock);
    taken = take_turn(w, hash_of(w, object, cause), clock_mono_ns(w->clock), ret_withheld);
    mutex_unlock(&w->lock);
    return taken;
}
