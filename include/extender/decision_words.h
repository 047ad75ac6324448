/* extender/decision_words.h - a decision in one sentence, for /state. */
#ifndef EXTENDER_DECISION_WORDS_H
#define EXTENDER_DECISION_WORDS_H

#include "extender/decisions.h"

#include <stddef.h>

/* A sentence without its full stop: how many nodes fit, which strategy put which node before which, by what, and which
 * one bind asked for if that is another. Parts of the score that are equal are left out. What does not fit into
 * `size` bytes is cut. Returns buf. */
#define DECISION_SENTENCE_MAX 3072
char *decision_sentence(const struct decision_note *d, char *buf, size_t size);

/* Which rule this is, the `at`-th from 0, so that it is found in the file: "packing.rules[1] {podSelector: {a: b}}".
 * One that does not fit ends in "...". `size` is at least 4. Returns buf. */
#define PACKING_RULE_WORDS_MAX 256
char *packing_rule_words(const struct packing_rule *r, size_t at, char *buf, size_t size);

#endif
