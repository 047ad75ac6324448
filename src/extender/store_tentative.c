/* Tentative placements: who was just promised what. */
#include "extender/store_internal.h"

#include "base/bug.h"
#include "core/placement/pack.h"

#include <stdlib.h>

void store_tentative_clear(struct hold *h)
{
    free(h->text);
    free(h->demand);
    *h = (struct hold){0};
}

static struct hold *hold_find(struct store *s, struct str uid)
{
    for (size_t i = 0; i < STORE_TENTATIVES_MAX; i++) {
        if (s->holds[i].text != NULL && str_eq(s->holds[i].uid, uid)) {
            return &s->holds[i];
        }
    }
    return NULL;
}

void store_tentative(struct store *s, struct str uid, struct str node_name, const struct demand *d, int64_t hold_ms)
{
    char *at = xmalloc(uid.n + node_name.n);
    struct hold fresh = {.text = at, .demand = demand_copy(d), .until_ns = clock_mono_ns(s->clock) + hold_ms * 1000000};
    struct hold *h;

    fresh.uid = str_put(&at, uid);
    fresh.node_name = str_put(&at, node_name);
    mutex_lock(&s->lock);
    h = hold_find(s, uid);
    if (h == NULL) {
        h = &s->holds[s->hold_next];
        s->hold_next = (s->hold_next + 1) % STORE_TENTATIVES_MAX;
    }
    store_tentative_clear(h);
    *h = fresh;
    mutex_unlock(&s->lock);
}

void store_unhold(struct store *s, struct str uid)
{
    struct hold *h;

    mutex_lock(&s->lock);
    h = hold_find(s, uid);
    if (h != NULL) {
        store_tentative_clear(h);
    }
    mutex_unlock(&s->lock);
}

int store_tentatives(struct store *s, struct arena *a, struct str except_uid, const struct pack_tentative **ret,
                     size_t *ret_n, struct err *reterr)
{
    struct pack_tentative *holds = ARENA_ARRAY(a, STORE_TENTATIVES_MAX, struct pack_tentative);
    int64_t now = clock_mono_ns(s->clock);
    size_t n = 0;
    bool ok = holds != NULL;

    mutex_lock(&s->lock);
    for (size_t i = 0; ok && i < STORE_TENTATIVES_MAX; i++) {
        struct hold *h = &s->holds[i];

        if (h->text != NULL && h->until_ns <= now) {
            store_tentative_clear(h);
        }
        if (h->text == NULL || str_eq(h->uid, except_uid)) {
            continue;
        }
        holds[n].demand = demand_amounts(h->demand, a);
        ok = holds[n].demand != NULL;
        holds[n++].node_name = arena_str(a, h->node_name);
    }
    mutex_unlock(&s->lock);
    if (!ok || a->overflowed) {
        return err_set(reterr, ERR_LIMIT, "the request does not fit its memory");
    }
    *ret = holds;
    *ret_n = n;
    return 0;
}
