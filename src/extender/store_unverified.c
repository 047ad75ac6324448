/* Which records wait to be verified. */
#include "extender/store_internal.h"

enum { SECTION = 64 }; /* copied under the lock at one time */

size_t store_unverified(struct store *s, struct str node_name, struct arena *a, struct store_unverified *ret,
                        size_t max)
{
    struct ledger_unverified found[SECTION];
    size_t n;

    mutex_lock(&s->lock);
    n = ledger_unverified(s->ledger, node_name, a, found, max < SECTION ? max : SECTION);
    for (size_t i = 0; i < n; i++) {
        struct ledger_pod pod = {.namespace_ = STR_NULL};

        (void)ledger_find_pod(s->ledger, found[i].uid, &pod); /* it is known: it was found a moment ago */
        ret[i] = (struct store_unverified){.uid = found[i].uid,
                                           .namespace_ = arena_str(a, pod.namespace_),
                                           .name = arena_str(a, pod.name),
                                           .proof = found[i].proof};
    }
    mutex_unlock(&s->lock);
    return a->overflowed && n > 0 ? n - 1 : n; /* the last one may be cut */
}

bool store_must_verify(struct store *s, const struct ledger_pod_fact *f)
{
    bool must;

    mutex_lock(&s->lock);
    must = ledger_must_verify(s->ledger, f);
    mutex_unlock(&s->lock);
    return must;
}

size_t store_unverified_n(struct store *s)
{
    size_t n;

    mutex_lock(&s->lock);
    n = ledger_unverified_n(s->ledger, STORE_UNVERIFIED_COUNT_MAX);
    mutex_unlock(&s->lock);
    return n;
}

bool store_has_unverified(struct store *s)
{
    bool has;

    mutex_lock(&s->lock);
    has = ledger_unverified_n(s->ledger, 1) > 0;
    mutex_unlock(&s->lock);
    return has;
}
