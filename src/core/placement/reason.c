#include "core/placement/reason.h"

#include "base/bug.h"

#include <stdbool.h>
#include <string.h>

const char *pack_reason_name(enum pack_reason r)
{
    static const char *const names[PACK_BY__MAX] = {
        [PACK_BY_NONE] = "only", [PACK_BY_DOUBT] = "in_doubt", [PACK_BY_PROMISE] = "promised",
        [PACK_BY_RULE] = "rule", [PACK_BY_SLACK] = "slack",    [PACK_BY_SCORE] = "score",
        [PACK_BY_NAME] = "name",
    };

    BUG_ON((unsigned)r >= PACK_BY__MAX);
    return names[r];
}

enum pack_reason pack_reason(const struct pack_result *best, const struct pack_result *next)
{
    if (next == NULL) {
        return PACK_BY_NONE;
    }
    if (best->demoted != next->demoted) {
        return next->demoted == PACK_IN_DOUBT ? PACK_BY_DOUBT : PACK_BY_PROMISE;
    }
    if (best->group != next->group) {
        return PACK_BY_RULE;
    }
    if (best->slack != next->slack) {
        return PACK_BY_SLACK;
    }
    return best->score != next->score ? PACK_BY_SCORE : PACK_BY_NAME;
}

/* ---- parts ---- */

static bool is_good(const struct reason_part *p)
{
    return p->of.kind == SCORE_PART_HOSTS || p->of.kind == SCORE_PART_GANGS || p->of.kind == SCORE_PART_SIZES;
}

static bool is_same(const struct score_part *a, const struct score_part *b)
{
    return a->kind == b->kind && a->which == b->which;
}

/* Its row among `n`, added in the order of kinds if there is none. */
static struct reason_part *row_of(struct reason_part *rows, size_t *n, const struct score_part *p)
{
    size_t at = *n;

    for (size_t i = 0; i < *n; i++) {
        if (is_same(&rows[i].of, p)) {
            return &rows[i];
        }
    }
    while (at > 0 && rows[at - 1].of.kind > p->kind) {
        at--;
    }
    memmove(&rows[at + 1], &rows[at], (*n - at) * sizeof(rows[0]));
    rows[at] = (struct reason_part){.of = *p};
    (*n)++;
    return &rows[at];
}

static uint64_t difference(const struct reason_part *p)
{
    return p->best > p->next ? (uint64_t)p->best - (uint64_t)p->next : (uint64_t)p->next - (uint64_t)p->best;
}

/* The good that matters least; all kinds but goods are fewer than a decision keeps. */
static size_t least(const struct reason_part *rows, size_t n)
{
    size_t at = n;

    for (size_t i = 0; i < n; i++) {
        if (is_good(&rows[i]) && (at == n || difference(&rows[i]) < difference(&rows[at]))) {
            at = i;
        }
    }
    BUG_ON(at == n);
    return at;
}

size_t reason_parts(const struct score_part *best, size_t best_n, const struct score_part *next, size_t next_n,
                    struct reason_part ret[REASON_PARTS_MAX])
{
    struct reason_part rows[2 * SCORE_PARTS_MAX];
    struct reason_part others = {.of = {.kind = SCORE_PART_GOODS}};
    size_t n = 0;
    bool cut;

    BUG_ON(best_n > SCORE_PARTS_MAX || next_n > SCORE_PARTS_MAX);
    for (size_t i = 0; i < best_n; i++) {
        row_of(rows, &n, &best[i])->best = best[i].value;
    }
    for (size_t i = 0; i < next_n; i++) {
        row_of(rows, &n, &next[i])->next = next[i].value;
    }
    cut = n > REASON_PARTS_MAX;
    while (n + cut > REASON_PARTS_MAX) {
        size_t at = least(rows, n);

        others.best += rows[at].best;
        others.next += rows[at].next;
        n--;
        memmove(&rows[at], &rows[at + 1], (n - at) * sizeof(rows[0]));
    }
    if (cut) {
        rows[n++] = others;
    }
    memcpy(ret, rows, n * sizeof(rows[0]));
    return n;
}
