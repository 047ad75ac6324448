/* Tentative placements: who was just promised what. */
#include "extender/store_internal.h"

#include "base/bug.h"
#include "base/clock.h"
#include "core/placement/pack.h"

#include <stdlib.h>

void store_tentative_clear(struct tentative *h)
{
    free(h->text);
    free(h->demand);
    *h = (struct tentative){0};
}

static struct tentative *tentative_find(struct store *s, struct str uid)
{
    for (size_t i = 0; i < STORE_TENTATIVES_MAX; i++) {
        if (s->tentatives[i].text != NULL && str_eq(s->tentatives[i].uid, uid)) {
            return &s->tentatives[i];
        }
    }
    return NULL;
}

/* The ledger counts it already. */
static bool has_devices(const struct store *s, struct str uid)
{
    struct ledger_pod pod;

    return ledger_find_pod(s->ledger, uid, &pod) && pod.state != LEDGER_PENDING;
}

void store_tentative(struct store *s, struct str uid, struct str node_name, const struct demand *d,
                     int64_t tentative_ms)
{
    char *at = xmalloc(uid.n + node_name.n);
    struct tentative fresh = {
        .text = at, .demand = demand_copy(d), .until_ns = clock_mono_ns(s->clock) + tentative_ms * NS_PER_MS};
    struct store_line line = store_line_begin(s);
    struct tentative *h;

    fresh.uid = str_put(&at, uid);
    fresh.node_name = str_put(&at, node_name);
    store_line_tentative(&line, uid, node_name, d, fresh.until_ns);
    mutex_lock(&s->lock);
    if (has_devices(s, uid)) { /* bound while the planner chose: others would count it twice (F115) */
        store_tentative_clear(&fresh);
    } else {
        h = tentative_find(s, uid);
        if (h == NULL) {
            h = &s->tentatives[s->tentative_next];
            s->tentative_next = (s->tentative_next + 1) % STORE_TENTATIVES_MAX;
        }
        store_tentative_clear(h);
        *h = fresh;
        store_line_end(s, &line, clock_wall_ms(s->clock));
    }
    mutex_unlock(&s->lock);
    store_line_fini(&line);
}

void store_tentative_end_locked(struct store *s, struct str uid)
{
    struct tentative *h = tentative_find(s, uid);
    struct store_line line;

    if (h == NULL) {
        return; /* most pods that end have none */
    }
    line = store_line_begin(s);
    store_line_tentative_end(&line, uid);
    store_tentative_clear(h);
    store_line_end(s, &line, clock_wall_ms(s->clock));
    store_line_fini(&line);
}

void store_tentative_end(struct store *s, struct str uid)
{
    mutex_lock(&s->lock);
    store_tentative_end_locked(s, uid);
    mutex_unlock(&s->lock);
}

int store_tentatives(struct store *s, struct arena *a, struct str except_uid, const struct pack_tentative **ret,
                     size_t *ret_n, struct store_promises *ret_when, struct err *reterr)
{
    struct pack_tentative *tentatives = ARENA_ARRAY(a, STORE_TENTATIVES_MAX, struct pack_tentative);
    int64_t now = clock_mono_ns(s->clock);
    size_t n = 0;
    bool ok = tentatives != NULL;

    mutex_lock(&s->lock);
    *ret_when = (struct store_promises){s->recorder != NULL ? recorder_next(s->recorder) : 0, now};
    for (size_t i = 0; ok && i < STORE_TENTATIVES_MAX; i++) {
        struct tentative *h = &s->tentatives[i];

        if (h->text != NULL && h->until_ns <= now) {
            store_tentative_clear(h);
        }
        if (h->text == NULL || str_eq(h->uid, except_uid)) {
            continue;
        }
        tentatives[n].demand = demand_amounts(h->demand, a);
        ok = tentatives[n].demand != NULL;
        tentatives[n++].node_name = arena_str(a, h->node_name);
    }
    mutex_unlock(&s->lock);
    if (!ok || a->overflowed) {
        return err_set(reterr, ERR_LIMIT, "the request does not fit its memory");
    }
    *ret = tentatives;
    *ret_n = n;
    return 0;
}
