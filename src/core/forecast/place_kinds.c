/* Which kinds of pods there are in the lists, for places.c.
 *
 * A kind are pods that are alike in all that places look at. Kinds are found by sorting, and then laid out in blocks of
 * eight (struct place_block): those whose devices fgpu chooses first, then those of a plugin, and within these the ones
 * that ask for one device before the others. Done once when the demand histogram settles, for each shape of nodes.
 */
#include "core/forecast/rollout_internal.h"

#include "base/bug.h"
#include "base/hash.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

/* Pods that are alike. */
struct kind {
    const struct sample *pod; /* one of them */
    uint32_t n;
};

static bool is_gang(const struct sample *d)
{
    return d->count > 1;
}

/* By all that places look at; first by what a block has in common. */
static int compare_pods(const struct sample *a, const struct sample *b, unsigned type_n)
{
    int c = a->plugin_managed - b->plugin_managed;

    c = c != 0 ? c : is_gang(a) - is_gang(b);
    c = c != 0 ? c : ORDER(a->count, b->count);
    c = c != 0 ? c : ORDER(a->worth_milli, b->worth_milli);
    c = c != 0 ? c : ORDER(a->cpu_milli, b->cpu_milli);
    c = c != 0 ? c : ORDER(a->mem_mib, b->mem_mib);
    for (unsigned t = 0; t < type_n && c == 0; t++) {
        c = ORDER(a->on[t].milli, b->on[t].milli);
        c = c != 0 ? c : ORDER(a->on[t].mem_mib, b->on[t].mem_mib);
    }
    return c;
}

/* Insertion: kinds are few, and 1,024 pods are sorted when the demand histogram settles, which is rare. */
static unsigned add_pod(struct kind *kinds, unsigned n, const struct sample *d, unsigned type_n)
{
    unsigned low = 0, high = n;

    while (low < high) {
        unsigned middle = (low + high) / 2;
        int c = compare_pods(kinds[middle].pod, d, type_n);

        if (c == 0) {
            kinds[middle].n++;
            return n;
        }
        low = c < 0 ? middle + 1 : low;
        high = c < 0 ? high : middle;
    }
    memmove(&kinds[low + 1], &kinds[low], (n - low) * sizeof(kinds[0]));
    kinds[low] = (struct kind){d, 1};
    return n + 1;
}

static unsigned collect(const struct rollout_samples *s, struct kind *kinds)
{
    unsigned n = 0;

    for (unsigned k = 0; k < ROLLOUT_LISTS; k++) {
        for (unsigned i = 0; i < s->lists[k].n; i++) {
            if (s->full[k][i].count > 0) {
                n = add_pod(kinds, n, &s->full[k][i], s->type_n);
            }
        }
    }
    return n;
}

/* ---- blocks ---- */

/* What is divided by this is enough for any number of pods. */
#define NOTHING (1.0 / (1 << 30))

static double divisor(int32_t each)
{
    return each > 0 ? each : NOTHING;
}

static void begin_block(struct place_block *b, const struct sample *d)
{
    *b = (struct place_block){.plugin_managed = d->plugin_managed, .is_gang = is_gang(d)};
    for (unsigned i = 0; i < PLACE_KINDS; i++) {
        b->count[i] = 1;
        b->cpu_milli[i] = b->host_mem_mib[i] = NOTHING;
        for (unsigned t = 0; t < ROLLOUT_TYPES_MAX; t++) {
            b->milli[t][i] = ROLLOUT_NEVER;
            b->mem_mib[t][i] = NOTHING;
        }
    }
}

static void put(struct place_block *b, unsigned i, const struct kind *k, unsigned type_n)
{
    const struct sample *d = k->pod;

    b->cpu_milli[i] = divisor(d->cpu_milli);
    b->host_mem_mib[i] = divisor(d->mem_mib);
    b->weight_milli[i] = k->n * d->count * (uint32_t)d->worth_milli;
    b->count[i] = d->count;
    for (unsigned t = 0; t < type_n; t++) {
        b->milli[t][i] = divisor(d->on[t].milli);
        b->mem_mib[t][i] = divisor(d->on[t].mem_mib);
    }
}

static bool share_block(const struct sample *a, const struct sample *b)
{
    return a->plugin_managed == b->plugin_managed && is_gang(a) == is_gang(b);
}

/* The bytes of all blocks, which have no gaps that are not zero, and the sizes of the devices. */
static void hash_kinds(struct rollout_samples *s)
{
    struct str all = {(const char *)s->kinds, s->block_n * sizeof(*s->kinds)};
    struct str caps = {(const char *)s->mem_cap_mib, sizeof(s->mem_cap_mib)};

    s->kinds_hash[0] = hash_name((struct hash_key){s->type_n, 0}, all) ^ hash_name((struct hash_key){1, 2}, caps);
    s->kinds_hash[1] = hash_name((struct hash_key){s->type_n, 1}, all) ^ hash_name((struct hash_key){3, 4}, caps);
}

void place_kinds_seal(struct rollout_samples *s)
{
    struct kind kinds[ROLLOUT_LISTS * ROLLOUT_PODS + 1];
    const unsigned n = collect(s, kinds);
    unsigned in_block = PLACE_KINDS;

    free(s->kinds);
    s->kinds = xcalloc(PLACE_BLOCKS_MAX, sizeof(*s->kinds));
    s->block_n = 0;
    for (unsigned k = 0; k < n; k++) {
        if (in_block == PLACE_KINDS || !share_block(kinds[k - 1].pod, kinds[k].pod)) {
            begin_block(&s->kinds[s->block_n++], kinds[k].pod);
            in_block = 0;
        }
        put(&s->kinds[s->block_n - 1], in_block++, &kinds[k], s->type_n);
    }
    s->kinds = xreallocarray(s->kinds, s->block_n + 1, sizeof(*s->kinds));
    hash_kinds(s);
}
