#include "base/suggest.h"

#define WORD_MAX 48 /* longer words are not typing errors of ours */

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edits from a to b, where swapping two neighbours counts as one. Three rows of the usual table
 * suffice. */
static size_t edit_distance(struct str a, struct str b)
{
    size_t rows[3][WORD_MAX + 1];
    size_t *before = rows[0], *prev = rows[1], *row = rows[2];

    for (size_t j = 0; j <= b.n; j++) {
        prev[j] = j;
        before[j] = 0;
    }
    for (size_t i = 1; i <= a.n; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            size_t replace = prev[j - 1] + (str_fold(a.p[i - 1]) != str_fold(b.p[j - 1]));
            row[j] = min_size(replace, min_size(prev[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && str_fold(a.p[i - 1]) == str_fold(b.p[j - 2]) &&
                str_fold(a.p[i - 2]) == str_fold(b.p[j - 1])) {
                row[j] = min_size(row[j], before[j - 2] + 1);
            }
        }
        size_t *spare = before;
        before = prev;
        prev = row;
        row = spare;
    }
    return prev[b.n];
}

const struct str *suggest(struct str word, const struct str *candidates, size_t n)
{
    const struct str *best = NULL;
    size_t best_edits = word.n < 3 ? 1 : word.n / 3;

    if (word.n == 0 || word.n > WORD_MAX) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        if (candidates[i].n > WORD_MAX) {
            continue;
        }
        size_t edits = edit_distance(word, candidates[i]);
        /* As many edits as letters would turn any short word into any other. */
        if (edits < candidates[i].n && (best == NULL ? edits <= best_edits : edits < best_edits)) {
            best = &candidates[i];
            best_edits = edits;
        }
    }
    return best;
}
