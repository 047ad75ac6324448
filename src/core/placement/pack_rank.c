/* The order of results, and the points that kube-scheduler gets for it.
 *
 * All that decides between two results is packed into one integer (decision 0031), so two results are compared as two
 * numbers. Of n results that fit the best `max` are wanted. A heap of `max` keys with the worst on top takes each
 * result that is better than the worst: O(n log max); once the heap is full, one comparison turns most results away.
 * The keys are sorted in place from the same heap, and the results are moved once, at the end.
 *
 * Where all are wanted (prioritize), a heap would compare each result a dozen times. Then what differs between them,
 * mostly a few dozen bits, is sorted by its digits, the lowest first: O(n) for each digit.
 *
 * Names are numbered without ties, so the order is total: it does not depend on the order in which nodes were named,
 * and the first k are the same whatever the limit is. So the sort need not be stable.
 */
#include "core/placement/pack.h"

#include <string.h>

/* ---- a heap with the worst on top ---- */

static inline void sift_up(struct pack_key *heap, size_t i, struct pack_key item)
{
    while (i > 0 && heap[(i - 1) / 2].merit < item.merit) {
        heap[i] = heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    heap[i] = item;
}

/* `item` takes the place of the worst. */
static inline void sift_down(struct pack_key *heap, size_t n, struct pack_key item)
{
    size_t i = 0;

    for (;;) {
        size_t worst = 2 * i + 1;

        if (worst + 1 < n) {
            worst += heap[worst + 1].merit > heap[worst].merit;
        }
        if (worst >= n || heap[worst].merit <= item.merit) {
            heap[i] = item;
            return;
        }
        heap[i] = heap[worst];
        i = worst;
    }
}

/* Keys of the best of what fits, at most `max`; returns how many fit. */
static size_t choose(const struct pack_result *results, size_t n, struct pack_key *heap, size_t max)
{
    size_t fit = 0;

    for (size_t i = 0; i < n; i++) {
        struct pack_key key;

        if (results[i].verdict != VERDICT_FITS) {
            continue;
        }
        key = (struct pack_key){pack_merit_of(&results[i]), i};
        if (fit < max) {
            sift_up(heap, fit, key);
        } else if (key.merit < heap[0].merit) {
            sift_down(heap, max, key);
        }
        fit++;
    }
    return fit;
}

/* The worst goes to the end, again and again: best first. */
static void sort(struct pack_key *heap, size_t n)
{
    for (size_t left = n; left-- > 1;) {
        struct pack_key last = heap[left];

        heap[left] = heap[0];
        sift_down(heap, left, last);
    }
}

/* The results in the order of their keys; the others take the places that these leave. Results are exchanged in place:
 * one that stood at a place in front was moved to where the result of that place came from, which is noted in its
 * key. */
static void bring_to_front(struct pack_result *results, struct pack_key *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct pack_result t = results[i];
        size_t at = keys[i].at;

        while (at < i) { /* it had to leave its place: follow it */
            at = keys[at].at;
        }
        results[i] = results[at];
        results[at] = t;
        keys[i].at = at;
    }
}

/* ---- all of them ---- */

enum { DIGIT_BITS = 11, DIGIT_VALUES = 1 << DIGIT_BITS, SORT_MIN = 64, SORT_MAX = 1 << 20 };

/* What differs, in the order of pack_merit_of(), and where the result is. Two of these take the place of a pack_key. */
struct short_key {
    uint64_t merit, at;
};
_Static_assert(2 * sizeof(struct short_key) == sizeof(struct pack_key), "the buffer holds them twice");

static unsigned width_of(uint64_t differ)
{
    return differ == 0 ? 0 : 64 - (unsigned)__builtin_clzll(differ);
}

/* How many low bits of each part of a merit differ between those that fit; what is above them is the same. */
struct widths {
    unsigned order, shortfall, name;
};

static struct widths find_widths(const struct pack_result *results, size_t n)
{
    uint64_t order = 0, shortfall = 0, name = 0;
    const struct pack_result *first = NULL;

    for (size_t i = 0; i < n; i++) {
        const struct pack_result *r = &results[i];

        if (r->verdict == VERDICT_FITS) {
            first = first != NULL ? first : r;
            order |= pack_order_of(r) ^ pack_order_of(first);
            shortfall |= pack_shortfall_of(r) ^ pack_shortfall_of(first);
            name |= r->name_order ^ first->name_order;
        }
    }
    return (struct widths){width_of(order), width_of(shortfall), width_of(name)};
}

static uint64_t low_bits(uint64_t v, unsigned width)
{
    return width >= 64 ? v : v & ((UINT64_C(1) << width) - 1);
}

/* Those that fit in front; the others behind them. Returns how many fit. */
static size_t fill_keys(const struct pack_result *results, size_t n, struct widths w, struct short_key *keys)
{
    size_t fit = 0, other = n;

    for (size_t i = 0; i < n; i++) {
        const struct pack_result *r = &results[i];

        if (r->verdict != VERDICT_FITS) {
            keys[--other].at = i;
            continue;
        }
        keys[fit].at = i;
        keys[fit].merit = low_bits(r->name_order, w.name);
        if (w.shortfall > 0) {
            keys[fit].merit |= low_bits(pack_shortfall_of(r), w.shortfall) << w.name;
        }
        if (w.order > 0) {
            keys[fit].merit |= low_bits(pack_order_of(r), w.order) << (w.name + w.shortfall);
        }
        fit++;
    }
    return fit;
}

/* By one digit, stable; false: all have the same one, and nothing was moved. */
static bool sort_by_digit(const struct short_key *from, struct short_key *to, size_t n, unsigned shift)
{
    uint32_t begin[DIGIT_VALUES] = {0};
    uint32_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        begin[from[i].merit >> shift & (DIGIT_VALUES - 1)]++;
    }
    if (begin[from[0].merit >> shift & (DIGIT_VALUES - 1)] == n) {
        return false;
    }
    for (size_t v = 0; v < DIGIT_VALUES; v++) {
        uint32_t count = begin[v];

        begin[v] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++) {
        to[begin[from[i].merit >> shift & (DIGIT_VALUES - 1)]++] = from[i];
    }
    return true;
}

/* Each result to its place: places[i].at is where the one that belongs to i stands. Goes round by round. */
static void permute(struct pack_result *results, struct short_key *places, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct pack_result t = results[i];
        size_t to = i, from;

        while ((from = places[to].at) != i) {
            results[to] = results[from];
            places[to].at = to;
            to = from;
        }
        results[to] = t;
        places[to].at = to;
    }
}

/* False: too much differs, and nothing was done. */
static bool sort_all(struct pack_result *results, size_t n, struct pack_key *buffer, size_t *ret_fit)
{
    struct widths w = find_widths(results, n);
    struct short_key *keys = (struct short_key *)buffer, *spare = keys + n, *t;
    size_t fit;

    if (w.order + w.shortfall + w.name > 64) {
        return false;
    }
    fit = fill_keys(results, n, w, keys);
    memcpy(spare + fit, keys + fit, (n - fit) * sizeof(*keys)); /* whichever of the two is the last one */
    for (unsigned shift = 0; fit > 0 && shift < w.order + w.shortfall + w.name; shift += DIGIT_BITS) {
        if (sort_by_digit(keys, spare, fit, shift)) {
            t = keys;
            keys = spare;
            spare = t;
        }
    }
    permute(results, keys, n);
    *ret_fit = fit;
    return true;
}

size_t pack_rank(struct pack_result *results, size_t n, size_t limit, struct pack_key *buffer)
{
    size_t max = limit > 0 && limit < n ? limit : n;
    size_t fit, chosen;

    if (max == n && n >= SORT_MIN && n <= SORT_MAX && sort_all(results, n, buffer, &fit)) {
        return fit;
    }
    fit = choose(results, n, buffer, max);
    chosen = fit < max ? fit : max;
    sort(buffer, chosen);
    bring_to_front(results, buffer, chosen);
    return fit;
}

static bool same_merit(const struct pack_result *a, const struct pack_result *b)
{
    return a->verdict == b->verdict && a->demoted == b->demoted && a->group == b->group && a->slack == b->slack &&
           a->score == b->score;
}

/* From ranks, not from scores: kube-scheduler adds these points to those of others and draws lots among equals, so
 * the best must be alone at the top, and 0..10 is too coarse for scores. */
void pack_points(const struct pack_result *ranked, size_t n, int32_t *ret_points)
{
    int32_t points = 9; /* 9 - 10 (i - 1) / (n - 1), without a division for each */

    for (size_t i = 0; i < n; i++) {
        while (i > 1 && 10 * (i - 1) >= (size_t)(10 - points) * (n - 1)) {
            points--;
        }
        if (ranked[i].verdict != VERDICT_FITS) {
            ret_points[i] = 0;
        } else if (i == 0) {
            ret_points[i] = 10;
        } else if (i > 1 && same_merit(&ranked[i], &ranked[i - 1])) {
            ret_points[i] = ret_points[i - 1];
        } else {
            ret_points[i] = points;
        }
    }
}
