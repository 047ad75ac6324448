/* Places: what the pods to come would fill if all of them were alike, one kind after the other.
 *
 * For each kind of pods in the lists: how many fit on the devices of the residual at once, times what they count for
 * (mean_parts.c); and of this the mean, each kind as often as it is in the lists. A hole that only a rare kind can use
 * is worth little here, and a hole that is too small for all is worth nothing. A rollout offers 64 pods to one node, as
 * if no other node wanted them, so it takes every hole for filled that some pod of a list fits, and it likes holes that
 * keep large pods out (decision 0051).
 *
 * No more pods than cores and memory of the machine allow, and at most POD_MAX on one device.
 *
 * An eighth of what is free on a GPU, of compute or memory the lesser, times the free part of that GPU, is added: what
 * is free in one piece is worth a little more than the same in several. So of places that cost alike the tightest GPU
 * is taken (decisions 0056, 0057).
 *
 * How it is fast. How many pods of each kind fit on a device is a row of numbers that depends on that device alone, and
 * how many cores and memory of the machine allow is another row. The placements that one decision compares on one node
 * differ in one device, so rows are remembered, and places are a sum of rows and one look along the kinds. Rows are
 * found by what they are of, compared exactly but for the kinds, for which 128 bits of hash stand. A slot that is
 * wanted by two rows keeps the later one: nothing is recorded about use. 1 MB, allocated once.
 *
 * Cost: kinds in the lists x devices of the residual, eight at a time; two divisions for each kind where a row is new.
 */
#include "core/forecast/rollout_internal.h"

#include "base/bug.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

enum {
    TIGHTNESS = 8,
    SLOTS = 512,
    POD_MAX = UINT16_MAX / DEVICES_PER_NODE_MAX, /* of one kind on one device: then the sum of all is a number, too */
    HOST = UINT16_MAX,                           /* instead of a type: the row is of cores and memory */
};
_Static_assert(POD_MAX > DEVICE_MILLI, "what takes compute has no limit here");

/* What a row is of. */
struct row_of {
    uint64_t kinds[2];
    int32_t a, b; /* milli and memory of a device; cores and memory of a machine */
    uint16_t type;
};

struct row {
    struct row_of of;
    int32_t part; /* free_part() */
    uint16_t n[PLACE_BLOCKS_MAX][PLACE_KINDS];
};

struct place_counts {
    struct row rows[SLOTS];
};

struct place_counts *place_counts_new(void)
{
    return xcalloc(1, sizeof(struct place_counts));
}

void place_counts_free(struct place_counts *c)
{
    free(c);
}

/* ---- a row ---- */

/* As a dividend. Half a unit more changes no quotient's whole part, and makes one of "nothing asked for" endless. What
 * is unknown is enough for all. */
static double amount(int32_t have)
{
    return have == INT32_MAX ? 1e18 : have + 0.5;
}

/* In whole pods: what is endless counts as `endless`. A quotient of two 32-bit numbers in a double has the right whole
 * part; ROLLOUT_NEVER is above all, so that nothing is left of it. */
static inline void divide(double a, const double *by_a, double b, const double *by_b, double endless, double most,
                          uint16_t *ret)
{
    double n[PLACE_KINDS];

    for (unsigned i = 0; i < PLACE_KINDS; i++) {
        double p = a / by_a[i], q = b / by_b[i];

        n[i] = p < q ? p : q;
    }
    for (unsigned i = 0; i < PLACE_KINDS; i++) {
        n[i] = n[i] < 1e8 ? n[i] : endless;
        n[i] = n[i] < most ? n[i] : most;
    }
    for (unsigned i = 0; i < PLACE_KINDS; i++) {
        ret[i] = (uint16_t)(int32_t)n[i];
    }
}

/* A pod that takes nothing that is counted fits once. */
static void count_on_device(const struct place_block *b, const struct row_of *of, uint16_t *ret)
{
    divide(amount(of->a), b->milli[of->type], amount(of->b), b->mem_mib[of->type], 1, b->is_gang ? 1 : POD_MAX, ret);
}

static void count_on_host(const struct place_block *b, const struct row_of *of, uint16_t *ret)
{
    divide(amount(of->a), b->cpu_milli, amount(of->b), b->host_mem_mib, UINT16_MAX, UINT16_MAX, ret);
}

/* The part of a GPU that is free, in milli: of compute or memory, whichever is less. */
static int32_t free_part(const struct rollout_samples *s, const struct row_of *of)
{
    const int32_t cap_mib = s->mem_cap_mib[of->type];
    int64_t mem = cap_mib > 0 && of->b != INT32_MAX ? (int64_t)of->b * DEVICE_MILLI / cap_mib : DEVICE_MILLI;

    return (int32_t)(mem < of->a ? mem : of->a);
}

static void fill(struct row *row, const struct rollout_samples *s, const struct row_of *of)
{
    row->of = *of;
    row->part = of->type == HOST ? 0 : free_part(s, of);
    for (unsigned k = 0; k < s->block_n; k++) {
        if (of->type == HOST) {
            count_on_host(&s->kinds[k], of, row->n[k]);
        } else {
            count_on_device(&s->kinds[k], of, row->n[k]);
        }
    }
}

static bool same_row(const struct row_of *a, const struct row_of *b)
{
    return a->kinds[0] == b->kinds[0] && a->kinds[1] == b->kinds[1] && a->a == b->a && a->b == b->b &&
           a->type == b->type;
}

/* Valid until the next call. */
static const struct row *find_row(struct place_counts *c, const struct rollout_samples *s, uint16_t type, int32_t a,
                                  int32_t b)
{
    const struct row_of of = {.kinds = {s->kinds_hash[0], s->kinds_hash[1]}, .a = a, .b = b, .type = type};
    uint64_t hash =
        hash_fold(of.kinds[0] ^ ((uint64_t)(uint32_t)a << 32 | (uint32_t)b), UINT64_C(0x9e3779b97f4a7c15) + type);
    struct row *row = &c->rows[hash % SLOTS];

    if (!same_row(&row->of, &of)) {
        fill(row, s, &of);
    }
    return row;
}

/* ---- the sum ---- */

static void add_row(uint16_t (*sums)[PLACE_KINDS], const struct row *row, unsigned block_n)
{
    for (unsigned k = 0; k < block_n; k++) {
        for (unsigned i = 0; i < PLACE_KINDS; i++) {
            sums[k][i] = (uint16_t)(sums[k][i] + row->n[k][i]);
        }
    }
}

/* What pods of these kinds would fill, one kind at a time. Several devices of one pod are different ones. */
static int64_t filled_by(const struct place_block *b, const uint16_t *devices, const uint16_t *most)
{
    int64_t sum = 0;

    for (unsigned i = 0; i < PLACE_KINDS; i++) {
        unsigned pods = b->is_gang ? devices[i] / b->count[i] : devices[i];

        sum += (int64_t)(pods < most[i] ? pods : most[i]) * b->weight_milli[i];
    }
    return sum;
}

int64_t place_counts_sum(struct place_counts *c, const struct rollout_samples *s, const struct residual *r)
{
    uint16_t sums[PLACE_BLOCKS_MAX][PLACE_KINDS];
    int64_t filled = 0, squares = 0;
    const struct row *row;

    memset(sums, 0, s->block_n * sizeof(sums[0]));
    for (unsigned i = 0; i < r->device_n; i++) {
        row = find_row(c, s, r->devices[i].type, r->devices[i].milli, r->devices[i].mem_mib);
        add_row(sums, row, s->block_n);
        squares += (int64_t)row->part * row->part;
    }
    row = find_row(c, s, HOST, r->cpu_milli, r->mem_mib);
    for (unsigned k = 0; k < s->block_n; k++) {
        if ((r->kinds & (s->kinds[k].plugin_managed ? RESIDUAL_PLUGIN : RESIDUAL_SHARES)) != 0) {
            filled += filled_by(&s->kinds[k], sums[k], row->n[k]);
        }
    }
    /* The mean over lists x pods, for each list, and a TIGHTNESS-th of the squares, in GPUs; rounded once. */
    return (filled * TIGHTNESS * DEVICE_MILLI + squares * ROLLOUT_LISTS * ROLLOUT_PODS) /
           (ROLLOUT_PODS * TIGHTNESS * DEVICE_MILLI);
}
