/* A table of references to what is considered, and a ring of those to what is kept. Pods are found by going through the
 * table, by a hash: 2 KiB. Of those that were pushed out of it another ring has the hashes, 32 KiB, looked at only when
 * a pod is bound that is not in the table. */
#include "extender/decisions.h"

#include "base/bug.h"
#include "base/hash.h"
#include "base/sync.h"
#include "model/names.h"

#include <stdlib.h>
#include <string.h>

struct decisions {
    struct mutex lock;
    uint64_t considered_uids[DECISIONS_CONSIDERED]; /* hashes, of: */
    struct decision_note *considered[DECISIONS_CONSIDERED];
    uint64_t considered_turn[DECISIONS_CONSIDERED]; /* when, by the order in which they came; 0: the place is free */
    uint64_t last_turn;
    uint64_t lost_uids[DECISIONS_LOST]; /* hashes; 0: none */
    uint32_t lost_next;
    struct decision_note *kept[DECISIONS_KEPT];
    uint64_t kept_n; /* of all time; the last are at kept_n - 1, kept_n - 2 ... modulo DECISIONS_KEPT */
};

/* ---- one ---- */

/* A decision is made with all of its text at once, and with the parts in front of it. */
static struct decision_note *make(const struct decision_note *from, const struct reason_part *parts, size_t part_n)
{
    size_t head = sizeof(*from) + part_n * sizeof(from->parts[0]);
    struct decision_note *d = xmalloc(head + from->uid.n + from->namespace_.n + from->name.n + from->id.n +
                                      from->node.n + from->best.n + from->next.n + from->rule_text.n);
    char *at = (char *)d + head;

    memcpy(d, from, sizeof(*d));
    atomic_init(&d->refs, 1);
    d->part_n = (uint32_t)part_n;
    if (part_n > 0) {
        memcpy(d->parts, parts, part_n * sizeof(parts[0]));
    }
    d->uid = str_put(&at, from->uid);
    d->namespace_ = str_put(&at, from->namespace_);
    d->name = str_put(&at, from->name);
    d->id = str_put(&at, from->id);
    d->node = str_put(&at, from->node);
    d->best = str_put(&at, from->best);
    d->next = str_put(&at, from->next);
    d->rule_text = str_put(&at, from->rule_text);
    return d;
}

struct decision_note *decision_new(const struct decision_note *from, const struct reason_part *parts, size_t part_n)
{
    struct decision_note *d = make(from, parts, part_n);

    d->id = d->node = STR_NULL;
    d->at_ms = 0;
    return d;
}

void decision_put(struct decision_note *d)
{
    if (d != NULL && atomic_fetch_sub(&d->refs, 1) == 1) {
        free(d);
    }
}

static struct decision_note *get(struct decision_note *d)
{
    atomic_fetch_add(&d->refs, 1);
    return d;
}

/* ---- all ---- */

struct decisions *decisions_new(void)
{
    struct decisions *all = xcalloc(1, sizeof(*all));

    mutex_init(&all->lock, "decisions");
    return all;
}

void decisions_free(struct decisions *all)
{
    if (all == NULL) {
        return;
    }
    for (size_t i = 0; i < DECISIONS_CONSIDERED; i++) {
        decision_put(all->considered[i]);
    }
    for (size_t i = 0; i < DECISIONS_KEPT; i++) {
        decision_put(all->kept[i]);
    }
    mutex_destroy(&all->lock);
    free(all);
}

static uint64_t hash_of(struct str uid)
{
    const struct hash_key key = {0x66677075, 0x77687921}; /* whoever finds equal hashes gains nothing: see find() */

    return hash_name(key, uid) | 1; /* 0 is none */
}

/* DECISIONS_CONSIDERED: not there. */
static uint32_t find(const struct decisions *all, struct str uid, uint64_t hash)
{
    for (uint32_t i = 0; i < DECISIONS_CONSIDERED; i++) {
        if (all->considered_uids[i] == hash && all->considered[i] != NULL && str_eq(all->considered[i]->uid, uid)) {
            return i;
        }
    }
    return DECISIONS_CONSIDERED;
}

/* The caller may send what it likes; the names of nodes are those of the ledger. */
static bool can_be_kept(const struct decision_note *d)
{
    return d->uid.n > 0 && d->uid.n <= KUBE_SUBDOMAIN_MAX && d->name.n <= KUBE_SUBDOMAIN_MAX &&
           d->namespace_.n <= KUBE_LABEL_MAX;
}

/* A free place, or the oldest. */
static uint32_t place_for_new(const struct decisions *all)
{
    uint32_t at = 0;

    for (uint32_t i = 1; i < DECISIONS_CONSIDERED; i++) {
        at = all->considered_turn[i] < all->considered_turn[at] ? i : at;
    }
    return at;
}

void decisions_consider(struct decisions *all, struct decision_note *d)
{
    uint64_t hash = hash_of(d->uid);
    struct decision_note *before;
    uint32_t at;

    if (!can_be_kept(d)) {
        decision_put(d);
        return;
    }
    mutex_lock(&all->lock);
    at = find(all, d->uid, hash);
    if (at == DECISIONS_CONSIDERED) {
        at = place_for_new(all);
    } else if (d->asked_n == 0) {
        d->asked_n = all->considered[at]->asked_n;
        d->fit_n = all->considered[at]->fit_n;
    }
    before = all->considered[at];
    if (before != NULL && all->considered_uids[at] != hash) {
        all->lost_uids[all->lost_next] = all->considered_uids[at];
        all->lost_next = (all->lost_next + 1) % DECISIONS_LOST;
    }
    all->considered[at] = d;
    all->considered_uids[at] = hash;
    all->considered_turn[at] = ++all->last_turn;
    mutex_unlock(&all->lock);
    decision_put(before);
}

/* Once: a pod may be considered and bound again. */
static bool was_lost(struct decisions *all, uint64_t hash)
{
    for (uint32_t i = 0; i < DECISIONS_LOST; i++) {
        if (all->lost_uids[i] == hash) {
            all->lost_uids[i] = 0;
            return true;
        }
    }
    return false;
}

static struct decision_note *take_considered(struct decisions *all, struct str uid, bool *ret_lost)
{
    const uint64_t hash = hash_of(uid);
    struct decision_note *d = NULL;
    uint32_t at;

    mutex_lock(&all->lock);
    at = find(all, uid, hash);
    if (at < DECISIONS_CONSIDERED) {
        d = all->considered[at];
        all->considered[at] = NULL;
        all->considered_turn[at] = 0;
    }
    *ret_lost = d == NULL && was_lost(all, hash);
    mutex_unlock(&all->lock);
    return d;
}

void decisions_choose(struct decisions *all, const struct decision_note *of)
{
    bool lost;
    struct decision_note *d = take_considered(all, of->uid, &lost), *oldest, *chosen;
    struct decision_note bare = {.uid = of->uid, .namespace_ = of->namespace_, .name = of->name, .lost = true};
    struct decision_note *from = d != NULL ? d : &bare;

    if (d == NULL && !lost) {
        return;
    }
    from->node = of->node; /* nobody else has a reference yet */
    from->id = of->id;
    from->at_ms = of->at_ms;
    chosen = make(from, d != NULL ? d->parts : NULL, from->part_n);
    decision_put(d);
    mutex_lock(&all->lock);
    oldest = all->kept[all->kept_n % DECISIONS_KEPT];
    all->kept[all->kept_n++ % DECISIONS_KEPT] = chosen;
    mutex_unlock(&all->lock);
    decision_put(oldest);
}

size_t decisions_kept(struct decisions *all, struct str node_name, struct str namespace_,
                      struct decision_note *ret[DECISIONS_KEPT])
{
    size_t n = 0;

    mutex_lock(&all->lock);
    for (uint32_t i = 1; i <= DECISIONS_KEPT; i++) {
        struct decision_note *d = all->kept[(all->kept_n + DECISIONS_KEPT - i) % DECISIONS_KEPT];

        if (d != NULL && (node_name.n == 0 || str_eq(d->node, node_name)) &&
            (namespace_.n == 0 || str_eq(d->namespace_, namespace_))) {
            ret[n++] = get(d);
        }
    }
    mutex_unlock(&all->lock);
    return n;
}

uint64_t decisions_kept_count(struct decisions *all)
{
    uint64_t n;

    mutex_lock(&all->lock);
    n = all->kept_n;
    mutex_unlock(&all->lock);
    return n;
}

size_t decisions_kept_after(struct decisions *all, uint64_t count, size_t max,
                            struct decision_note *ret[DECISIONS_KEPT], uint64_t *ret_count)
{
    uint64_t most = max < DECISIONS_KEPT ? max : DECISIONS_KEPT;
    size_t n = 0;

    mutex_lock(&all->lock);
    if (count > all->kept_n || all->kept_n - count > most) {
        count = all->kept_n < most ? 0 : all->kept_n - most;
    }
    for (; count < all->kept_n; count++) {
        ret[n++] = get(all->kept[count % DECISIONS_KEPT]);
    }
    *ret_count = all->kept_n;
    mutex_unlock(&all->lock);
    return n;
}
