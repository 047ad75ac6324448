/* The order of arrival: read, or drawn. */
#include "sim/trace.h"

#include "base/bug.h"
#include "base/rng.h"
#include "sim/csv.h"

#include <stdlib.h>
#include <string.h>

/* ---- read ---- */

struct words {
    const char *path;
    unsigned line;
    struct str rest;
    size_t n; /* words cut so far, the first one not counted */
};

static bool next_word(struct words *w, struct str *ret)
{
    do {
        if (!str_split(&w->rest, ' ', ret)) {
            return false;
        }
        *ret = str_trim(*ret);
    } while (ret->n == 0);
    return true;
}

/* "key 3 1 2": numbers below `limit`. */
static int read_numbers(struct words *w, const char *key, size_t limit, uint32_t *ret, size_t max, size_t *ret_n,
                        struct err *reterr)
{
    struct str word = STR_NULL;
    uint64_t v;

    if (!next_word(w, &word) || !str_eq_cstr(word, key)) {
        return err_set(reterr, ERR_PARSE, "%s:%u: must begin with %s", w->path, w->line, key);
    }
    for (*ret_n = 0; next_word(w, &word); (*ret_n)++) {
        if (*ret_n == max) {
            return err_set(reterr, ERR_LIMIT, "%s:%u: more than %zu numbers", w->path, w->line, max);
        }
        if (!str_to_u64(word, limit - 1, &v)) {
            return err_set(reterr, ERR_PARSE, "%s:%u: %s, number %zu: \"%.*s\" is not a number from 0 to %zu", w->path,
                           w->line, key, *ret_n + 1, STR_ARG(word), limit - 1);
        }
        ret[*ret_n] = (uint32_t)v;
    }
    return 0;
}

static int check_ranks(const struct trace *t, const struct words *w, const uint32_t *ranks, size_t n,
                       struct err *reterr)
{
    bool *seen;
    int rc = 0;

    if (n != t->node_n) {
        return err_set(reterr, ERR_INVALID, "%s:%u: %zu ranks for %zu nodes; it was made for another file of nodes",
                       w->path, w->line, n, t->node_n);
    }
    seen = xcalloc(n, sizeof(*seen));
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (seen[ranks[i]]) {
            rc = err_set(reterr, ERR_INVALID, "%s:%u: rank %u comes twice; every node has its own", w->path, w->line,
                         ranks[i]);
        }
        seen[ranks[i]] = true;
    }
    free(seen);
    return rc;
}

int arrivals_read(struct trace *t, const char *path, struct arrivals *ret, struct err *reterr)
{
    struct words w = {.path = path, .line = 1};
    uint32_t *ranks = ARENA_ARRAY(&t->arena, t->node_n, uint32_t), *pods;
    struct str text, line;
    size_t rank_n = 0, pod_n = 0, buffer;
    int rc = csv_read_file(path, TRACE_BYTES_MAX, &t->arena, &text, reterr);

    if (rc != 0) {
        return rc;
    }
    buffer = text.n / 2 < TRACE_ARRIVALS_MAX ? text.n / 2 : TRACE_ARRIVALS_MAX;
    pods = ARENA_ARRAY(&t->arena, buffer + 1, uint32_t);
    if (ranks == NULL || pods == NULL) {
        return err_set(reterr, ERR_LIMIT, "%s: too large", path);
    }
    w.rest = str_split(&text, '\n', &line) ? line : STR_NULL;
    rc = read_numbers(&w, "node_rank", t->node_n, ranks, t->node_n, &rank_n, reterr);
    rc = rc != 0 ? rc : check_ranks(t, &w, ranks, rank_n, reterr);
    w.line++;
    w.rest = str_split(&text, '\n', &line) ? line : STR_NULL;
    rc = rc != 0 ? rc : read_numbers(&w, "pod_row", t->pod_n, pods, buffer, &pod_n, reterr);
    if (rc == 0 && pod_n == 0) {
        rc = err_set(reterr, ERR_INVALID, "%s:2: nobody arrives", path);
    }
    ret->label = path;
    ret->node_rank = ranks;
    ret->pods = pods;
    ret->pod_n = pod_n;
    return rc;
}

bool arrivals_equal(const struct trace *t, const struct arrivals *a, const struct arrivals *b)
{
    return a->pod_n == b->pod_n && memcmp(a->pods, b->pods, a->pod_n * sizeof(*a->pods)) == 0 &&
           memcmp(a->node_rank, b->node_rank, t->node_n * sizeof(*a->node_rank)) == 0 &&
           (a->stays == NULL || memcmp(a->stays, b->stays, a->pod_n * sizeof(*a->stays)) == 0);
}

/* ---- drawn ---- */

static void shuffle(uint32_t *a, size_t n, struct rng *rng)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)rng_below(rng, i);
        uint32_t v = a[i - 1];

        a[i - 1] = a[j];
        a[j] = v;
    }
}

static int by_name(const void *a, const void *b)
{
    const struct trace_pod *const *p = a, *const *q = b;

    int c = str_cmp((*p)->name, (*q)->name);

    return c != 0 ? c : (*p > *q) - (*p < *q);
}

static void sort_by_name(const struct trace *t, uint32_t *ret)
{
    const struct trace_pod **sorted = xcalloc(t->pod_n, sizeof(*sorted));

    for (size_t i = 0; i < t->pod_n; i++) {
        sorted[i] = &t->pods[i];
    }
    qsort(sorted, t->pod_n, sizeof(*sorted), by_name);
    for (size_t i = 0; i < t->pod_n; i++) {
        ret[i] = (uint32_t)(sorted[i] - t->pods);
    }
    free(sorted);
}

static int64_t total_milli(const struct trace *t, const uint32_t *pods, size_t n)
{
    int64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        sum += t->pods[pods[i]].gpu_milli;
    }
    return sum;
}

/* Returns how many pods there are then; room for TRACE_ARRIVALS_MAX. */
static size_t tune(const struct trace *t, const uint32_t *sorted, uint32_t *pods, struct rng *rng)
{
    int64_t target = t->capacity_milli * ARRIVALS_TARGET_PCT / 100,
            total = t->placed_milli + total_milli(t, pods, t->pod_n);
    bool too_few = total <= target && total > t->placed_milli;
    size_t n = t->pod_n;

    while (total > target && n > 0) {
        size_t i = (size_t)rng_below(rng, n);

        total -= t->pods[pods[i]].gpu_milli;
        memmove(&pods[i], &pods[i + 1], (--n - i) * sizeof(*pods));
    }
    while (too_few && n < TRACE_ARRIVALS_MAX) {
        uint32_t row = sorted[rng_below(rng, t->pod_n)];

        /* By what it takes of one GPU, then with all it takes: as published. */
        if (total + t->pods[row].milli > target) {
            break;
        }
        total += t->pods[row].gpu_milli;
        pods[n++] = row;
    }
    return n;
}

int arrivals_draw(struct trace *t, uint64_t seed, struct arrivals *ret, struct err *reterr)
{
    uint32_t *sorted = ARENA_ARRAY(&t->arena, t->pod_n, uint32_t);
    uint32_t *ranks = ARENA_ARRAY(&t->arena, t->node_n, uint32_t), *kept;
    struct str label = arena_printf(&t->arena, "seed %llu", (unsigned long long)seed);
    uint32_t *pods = xcalloc(TRACE_ARRIVALS_MAX, sizeof(*pods));
    struct rng rng;
    size_t n;

    if (sorted == NULL || ranks == NULL || label.p == NULL) {
        free(pods);
        return err_set(reterr, ERR_LIMIT, "the trace is too large");
    }
    rng_init(&rng, seed);
    sort_by_name(t, sorted);
    memcpy(pods, sorted, t->pod_n * sizeof(*pods));
    shuffle(pods, t->pod_n, &rng);
    n = tune(t, sorted, pods, &rng);
    for (size_t i = 0; i < t->node_n; i++) {
        ranks[i] = (uint32_t)i;
    }
    shuffle(ranks, t->node_n, &rng);
    if (n == 0) {
        free(pods);
        return err_set(reterr, ERR_INVALID, "more than %d %% of the GPUs are in use already, so no pod arrives",
                       ARRIVALS_TARGET_PCT);
    }
    kept = arena_alloc(&t->arena, n * sizeof(*kept));
    if (kept != NULL) {
        memcpy(kept, pods, n * sizeof(*kept));
    }
    free(pods);
    *ret = (struct arrivals){.label = label.p, .node_rank = ranks, .pods = kept, .pod_n = n, .seed = seed};
    return kept != NULL ? 0 : err_set(reterr, ERR_LIMIT, "the trace is too large");
}
