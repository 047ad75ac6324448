/* The order of results, and points of it. */
#include "core/pack.h"

/* Of two that fit, smaller is better. Total: names are unique in a request, so ties end there. */
static inline __attribute__((always_inline)) int compare(const struct pack_result *a, const struct pack_result *b,
                                                         bool grouped)
{
    if (a->demoted != b->demoted) {
        return a->demoted ? 1 : -1;
    }
    if (grouped && a->group != b->group) {
        return a->group < b->group ? -1 : 1;
    }
    if (a->slack != b->slack) {
        return a->slack < b->slack ? -1 : 1;
    }
    if (a->score != b->score) {
        return a->score > b->score ? -1 : 1;
    }
    return str_cmp(a->name, b->name);
}

/* Puts `item` into a max-heap (worst on top) whose place i is free. */
static inline __attribute__((always_inline)) void sift_down(struct pack_result *heap, size_t n, size_t i,
                                                            struct pack_result item, bool grouped)
{
    for (;;) {
        size_t worst = 2 * i + 1;

        if (worst + 1 < n && compare(&heap[worst + 1], &heap[worst], grouped) > 0) {
            worst++;
        }
        if (worst >= n || compare(&heap[worst], &item, grouped) <= 0) {
            heap[i] = item;
            return;
        }
        heap[i] = heap[worst];
        i = worst;
    }
}

/* Cheaply, for most of those that are. */
static inline bool is_clearly_worse(const struct pack_result *r, const struct pack_result *than, bool grouped)
{
    return !than->demoted && (!grouped || r->group == than->group) &&
           (r->slack > than->slack || (r->slack == than->slack && r->score < than->score));
}

/* What fits to the front; returns how many. */
static size_t partition(struct pack_result *results, size_t n)
{
    size_t fit = 0;

    for (size_t i = 0; i < n; i++) {
        if (results[i].verdict == VERDICT_FITS) {
            if (i != fit) {
                struct pack_result t = results[fit];

                results[fit] = results[i];
                results[i] = t;
            }
            fit++;
        }
    }
    return fit;
}

/* Twice in the program: most decisions have one group, and need not look. */
static inline __attribute__((always_inline)) size_t rank(struct pack_result *results, size_t n, size_t limit,
                                                         bool grouped)
{
    size_t fit = partition(results, n);
    size_t wanted = limit > 0 && limit < fit ? limit : fit;

    /* The best `wanted` in a heap with the worst of them on top: one pass, few moves. */
    for (size_t i = wanted / 2; i-- > 0;) {
        sift_down(results, wanted, i, results[i], grouped);
    }
    for (size_t i = wanted; i < fit; i++) {
        if (!is_clearly_worse(&results[i], &results[0], grouped) && compare(&results[i], &results[0], grouped) < 0) {
            struct pack_result better = results[i];

            results[i] = results[0];
            sift_down(results, wanted, 0, better, grouped);
        }
    }
    /* The worst to the end, until the best is in front. */
    for (size_t left = wanted; left-- > 1;) {
        struct pack_result last = results[left];

        results[left] = results[0];
        sift_down(results, left, 0, last, grouped);
    }
    return fit;
}

size_t pack_rank(struct pack_result *results, size_t n, size_t limit)
{
    return rank(results, n, limit, false);
}

size_t pack_rank_groups(struct pack_result *results, size_t n, size_t limit)
{
    return rank(results, n, limit, true);
}

static bool same_merit(const struct pack_result *a, const struct pack_result *b)
{
    return a->verdict == b->verdict && a->demoted == b->demoted && a->group == b->group && a->slack == b->slack &&
           a->score == b->score;
}

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
