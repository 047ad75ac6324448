/* Passes remembered by the devices that they began with.
 *
 * Residuals that differ in cores and memory alone mostly see the same pods placed: cores and memory decide only where
 * they run short. So a pass is kept with the bounds between which it would go the same way (rollout_internal.h). A
 * residual with the same devices, whose cores and memory lie within the bounds, gets the same answer without a pass.
 *
 * The table. A place is found by two hashes of lists, devices and mode, 128 bits together, which stand for these. Two
 * places form a set; a set that is full loses the one that a hash bit names, which needs no record of use. A place
 * keeps the last PASSES passes of each list, and the oldest is overwritten. 8 MB in all; nothing is allocated once the
 * table is there. Forgetting everything is one addition.
 *
 * What it answers equals rollout_run(), unless two different keys have the same 128 bits. Each list is asked for by
 * itself, so a new residual often costs some passes and not all 16. The passes that were needed are counted: they are
 * the unit in which work under the lock is bounded (FORECAST_WORK_MAX), because they take the time and do not depend on
 * the clock. Places are counted in the same unit, by the number of kinds, which tenants choose.
 *
 * What would break it: anything that a pass reads and that is neither in the key nor within the bounds.
 */
#include "core/forecast/rollout_internal.h"

#include "base/bug.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

/* PASSES: kept for each list and set of devices. With all places of about 2,000 bytes this makes 8 MB (decisions 0023,
 * 0053). The first ones of all lists stand together, because most places need no more. */
enum { WAYS = 2, PASSES = 6, PLACES = 4096, KINDS_A_PASS = 32 };

struct place {
    uint64_t key[2];
    uint64_t since;           /* of struct rollout_memo; 0: free */
    uint8_t n[ROLLOUT_LISTS]; /* passes kept so far; with all in use, PASSES and the number of the oldest */
    struct rollout_pass passes[PASSES][ROLLOUT_LISTS];
};

struct rollout_memo {
    uint64_t since; /* counts what was forgotten */
    uint64_t computed_n;
    struct place_counts *counts;
    struct place places[PLACES];
};

struct rollout_memo *rollout_memo_new(void)
{
    struct rollout_memo *m = xcalloc(1, sizeof(*m));

    m->since = 1;
    m->counts = place_counts_new();
    return m;
}

void rollout_memo_free(struct rollout_memo *m)
{
    if (m != NULL) {
        place_counts_free(m->counts);
    }
    free(m);
}

void rollout_memo_forget(struct rollout_memo *m)
{
    m->since++;
}

uint64_t rollout_memo_computed(const struct rollout_memo *m)
{
    return m->computed_n;
}

void residual_key(const struct residual *r, struct residual_key *ret)
{
    uint64_t head = (uint64_t)r->kinds << 8 | r->device_n;
    uint64_t a = hash_fold(head ^ UINT64_C(0x452821e638d01377), UINT64_C(0x082efa98ec4e6c89));
    uint64_t b = hash_fold(head ^ UINT64_C(0xbe5466cf34e90c6c), UINT64_C(0xa4093822299f31d1));
    uint64_t host = (uint64_t)(uint32_t)r->cpu_milli << 32 | (uint32_t)r->mem_mib;

    for (unsigned i = 0; i < r->device_n; i++) {
        const struct residual_device *d = &r->devices[i];
        uint64_t v = (uint64_t)(uint32_t)d->milli << 32 | (uint32_t)d->mem_mib;

        a = hash_fold(a ^ v, UINT64_C(0x9216d5d98979fb1b) + d->type);
        b = hash_fold(b ^ v, UINT64_C(0xd1310ba698dfb5ac) + d->type);
    }
    ret->devices[0] = a;
    ret->devices[1] = b;
    ret->all[0] = hash_fold(a ^ host, UINT64_C(0xc0ac29b7c97c50dd) + r->shape);
    ret->all[1] = hash_fold(b ^ host, UINT64_C(0x3f84d5b5b5470917) + r->shape);
}

static struct place *find_place(struct rollout_memo *m, const uint64_t key[2])
{
    struct place *set = &m->places[key[0] % (PLACES / WAYS) * WAYS], *victim = NULL;

    for (unsigned i = 0; i < WAYS; i++) {
        if (set[i].since == m->since && set[i].key[0] == key[0] && set[i].key[1] == key[1]) {
            return &set[i];
        }
        victim = set[i].since != m->since ? &set[i] : victim;
    }
    victim = victim != NULL ? victim : &set[key[1] % WAYS];
    victim->key[0] = key[0];
    victim->key[1] = key[1];
    victim->since = m->since;
    memset(victim->n, 0, sizeof(victim->n));
    return victim;
}

/* The pass down list k; NULL: none answers for these amounts. `&`, because which of the four fails is for nobody to
 * foresee. */
static const struct rollout_pass *recall(const struct place *p, unsigned k, const struct residual *r)
{
    unsigned n = p->n[k] < PASSES ? p->n[k] : PASSES;

    for (unsigned i = 0; i < n; i++) {
        const struct rollout_pass *w = &p->passes[i][k];

        if ((r->cpu_milli <= w->cpu_high) & (r->cpu_milli >= w->cpu_low) & (r->mem_mib <= w->mem_high) &
            (r->mem_mib >= w->mem_low)) {
            return w;
        }
    }
    return NULL;
}

/* Room for one more, in place of the oldest. */
static struct rollout_pass *room(struct place *p, unsigned k)
{
    unsigned n = p->n[k];

    p->n[k] = (uint8_t)(n + 1 < 2 * PASSES ? n + 1 : PASSES);
    return &p->passes[n % PASSES][k];
}

struct rollout rollout_recall(struct rollout_memo *m, const struct rollout_samples *s, const struct residual *r,
                              const struct residual_key *key, bool among)
{
    /* The hash of the residual without cores and memory; `among` looks at other pods of the same lists. */
    const uint64_t of[2] = {key->devices[0] ^ s->hash[0] ^ among, key->devices[1] ^ s->hash[1] ^ among};
    struct place *p = find_place(m, of);
    struct rollout sum = {0, 0};
    struct rollout_devices devices;
    unsigned computed = 0;

    for (unsigned k = 0; k < ROLLOUT_LISTS; k++) {
        const struct rollout_pass *w = recall(p, k, r);

        if (w == NULL) {
            struct rollout_pass *at = room(p, k);

            if (computed++ == 0) {
                rollout_devices(s, r, &devices);
            }
            rollout_pass_run(s, k, r, &devices, among, at);
            w = at;
        }
        sum.filled += w->filled;
        sum.cpu_left += r->cpu_milli == INT32_MAX ? 0 : r->cpu_milli - w->cpu_low;
    }
    m->computed_n += computed;
    return sum;
}

/* What is remembered of devices needs no forgetting: it says itself of which kinds it is. */
int64_t rollout_places(struct rollout_memo *m, const struct rollout_samples *s, const struct residual *r)
{
    m->computed_n += 1 + s->block_n * PLACE_KINDS / KINDS_A_PASS;
    return place_counts_sum(m->counts, s, r);
}
