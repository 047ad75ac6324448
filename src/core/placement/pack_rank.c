/* The order of results, and the points that kube-scheduler gets for it.
 *
 * All that decides between two results is packed into one integer (decision 0031), so two results are compared as two
 * numbers. Of n results that fit the best `max` are wanted. A heap of `max` keys with the worst on top takes each
 * result that is better than the worst: O(n log max); once the heap is full, one comparison turns most results away.
 * The keys are sorted in place from the same heap, and the results are moved once, at the end.
 *
 * Names are numbered without ties, so the order is total: it does not depend on the order in which nodes were named,
 * and the first k are the same whatever the limit is. So the sort need not be stable.
 */
#include "core/placement/pack.h"

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

size_t pack_rank(struct pack_result *results, size_t n, size_t limit, struct pack_key *buffer)
{
    size_t max = limit > 0 && limit < n ? limit : n;
    size_t fit = choose(results, n, buffer, max);
    size_t chosen = fit < max ? fit : max;

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
    for (size_t i = 0; i < n; i++) {
        if (ranked[i].verdict != VERDICT_FITS) {
            ret_points[i] = 0;
        } else if (i == 0) {
            ret_points[i] = 10;
        } else if (i > 1 && same_merit(&ranked[i], &ranked[i - 1])) {
            ret_points[i] = ret_points[i - 1];
        } else {
            ret_points[i] = (int32_t)(9 - 10 * (i - 1) / (n - 1));
        }
    }
}
