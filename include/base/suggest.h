/* base/suggest.h - what was probably meant by a word that nobody knows. Pure, no allocation. */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include "base/str.h"

/* The candidate nearest to `word` by edit distance (insert, delete, replace, swap of neighbours;
 * ASCII case ignored), the first of several; or NULL when none is near enough to be what was meant: at most one
 * edit per three letters. */
const struct str *suggest(struct str word, const struct str *candidates, size_t n);

#endif
