/* The lists of sampled pods, made ready for rollouts.
 *
 * rollout_samples_seal() turns each list into sets. For every step of an amount it builds the set of pods that ask for
 * no more than the step holds: first each pod goes into the set of its own step, then each set takes in the one below
 * it. It also notes the least amount that is asked for above each step, for the bounds of a pass.
 *
 * This is done once when the demand histogram settles, for each shape of nodes: O(lists x (pods + steps)). After that
 * the lists are only read.
 *
 * The hash stands for all that is in the lists. Shapes of nodes with equal lists, such as machines that differ only in
 * more cores than anybody asks for, share what rollout_memo.c remembers.
 */
#include "core/forecast/rollout_internal.h"

#include "base/bug.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

struct rollout_samples *rollout_samples_new(unsigned type_n)
{
    struct rollout_samples *s = xcalloc(1, sizeof(*s));

    s->type_n = type_n;
    return s;
}

void rollout_samples_free(struct rollout_samples *s)
{
    if (s != NULL) {
        free(s->kinds);
    }
    free(s);
}

void rollout_samples_clear(struct rollout_samples *s)
{
    for (unsigned k = 0; k < ROLLOUT_LISTS; k++) {
        s->lists[k].n = 0;
    }
}

void rollout_samples_memory(struct rollout_samples *s, unsigned type, int32_t mem_cap_mib)
{
    s->mem_cap_mib[type] = mem_cap_mib;
}

void rollout_samples_add(struct rollout_samples *s, unsigned k, const struct sample *d)
{
    struct sample_list *l = &s->lists[k];

    BUG_ON(l->n == ROLLOUT_PODS);
    l->brief[l->n] = (struct brief){.charge = d->count > 0 ? rollout_amounts(d->on[0].milli, d->on[0].mem_mib) : 0,
                                    .cpu_milli = d->cpu_milli,
                                    .mem_mib = d->mem_mib,
                                    .count = d->count,
                                    .plugin_managed = d->plugin_managed};
    s->full[k][l->n++] = *d;
}

/* A pod is in the set if it fits on some kind of device; on which ones the pass looks for itself. */
static int32_t least_milli(const struct rollout_samples *s, const struct sample *d)
{
    int32_t least = d->on[0].milli;

    for (unsigned t = 1; t < s->type_n; t++) {
        least = d->on[t].milli < least ? d->on[t].milli : least;
    }
    return d->count > 0 ? least : 0;
}

/* From "of this step" to "of this step or a lower one". */
static void add_up(uint64_t *sets, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        sets[i] |= sets[i - 1];
    }
}

static int32_t less(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* From the least that is asked for in each step (INT32_MAX: nothing is) to the least in all higher steps. */
static void carry_down(int32_t least[ROLLOUT_STEPS])
{
    int32_t above = INT32_MAX;

    for (unsigned t = ROLLOUT_STEPS; t-- > 0;) {
        int32_t here = least[t];

        least[t] = above;
        above = less(above, here);
    }
}

static void find_above(struct sample_list *l)
{
    for (unsigned t = 0; t < ROLLOUT_STEPS; t++) {
        l->cpu_above[t] = l->mem_above[t] = INT32_MAX;
    }
    for (unsigned i = 0; i < l->n; i++) {
        int32_t *cpu = &l->cpu_above[rollout_step(l->brief[i].cpu_milli)];
        int32_t *mem = &l->mem_above[rollout_step(l->brief[i].mem_mib)];

        *cpu = less(*cpu, l->brief[i].cpu_milli);
        *mem = less(*mem, l->brief[i].mem_mib);
    }
    carry_down(l->cpu_above);
    carry_down(l->mem_above);
}

static void seal_list(struct rollout_samples *s, unsigned k)
{
    struct sample_list *l = &s->lists[k];
    unsigned among = l->n < ROLLOUT_AMONG ? l->n : ROLLOUT_AMONG;

    l->gpu = l->plugin = l->shares = 0;
    l->among = among > 0 ? UINT64_MAX >> (64 - among) : 0;
    memset(l->cpu, 0, sizeof(l->cpu));
    memset(l->mem, 0, sizeof(l->mem));
    memset(l->milli, 0, sizeof(l->milli));
    for (unsigned i = 0; i < l->n; i++) {
        const struct sample *d = &s->full[k][i];
        uint64_t bit = UINT64_C(1) << i;

        l->gpu |= d->count > 0 ? bit : 0;
        l->plugin |= d->plugin_managed || d->count == 0 ? bit : 0;
        l->shares |= d->plugin_managed ? 0 : bit;
        l->cpu[rollout_step(d->cpu_milli)] |= bit;
        l->mem[rollout_step(d->mem_mib)] |= bit;
        l->milli[rollout_milli_step(least_milli(s, d))] |= bit;
    }
    add_up(l->cpu, ROLLOUT_STEPS);
    add_up(l->mem, ROLLOUT_STEPS);
    add_up(l->milli, ROLLOUT_MILLI_STEPS);
    find_above(l);
}

static void hash_word(uint64_t hash[2], uint64_t v)
{
    hash[0] = hash_fold(hash[0] ^ v, UINT64_C(0x9e3779b97f4a7c15));
    hash[1] = hash_fold(hash[1] ^ v, UINT64_C(0xc2b2ae3d27d4eb4f));
}

/* Everything that a pass can see, in order. The length of each list comes first, so that no pod can be taken for one of
 * the next list. */
static void hash_lists(struct rollout_samples *s)
{
    s->hash[0] = s->hash[1] = s->type_n;
    for (unsigned k = 0; k < ROLLOUT_LISTS; k++) {
        hash_word(s->hash, s->lists[k].n);
        for (unsigned i = 0; i < s->lists[k].n; i++) {
            const struct sample *d = &s->full[k][i];

            hash_word(s->hash, (uint64_t)(uint32_t)d->cpu_milli << 32 | (uint32_t)d->mem_mib);
            hash_word(s->hash, (uint64_t)d->count << 1 | d->plugin_managed);
            for (unsigned t = 0; t < s->type_n && d->count > 0; t++) {
                hash_word(s->hash, rollout_amounts(d->on[t].milli, d->on[t].mem_mib));
            }
        }
    }
}

void rollout_samples_seal(struct rollout_samples *s)
{
    for (unsigned k = 0; k < ROLLOUT_LISTS; k++) {
        seal_list(s, k);
    }
    hash_lists(s);
    place_kinds_seal(s);
}
