/* core/support/random_assignment.h - decisions of all shapes, with text that must be escaped. */
#ifndef TEST_CORE_SUPPORT_RANDOM_ASSIGNMENT_H
#define TEST_CORE_SUPPORT_RANDOM_ASSIGNMENT_H

#include "base/arena.h"
#include "base/rng.h"
#include "core/record/assignment.h"

/* Text and arrays in `a`; half of them have a signature, which holds for nothing. */
void random_assignment(struct rng *rng, struct arena *a, struct assignment *ret);

/* Everything that is part of the record, for `got` that was read back: its containers have no positions. */
void assert_same_assignment(const struct assignment *want, const struct assignment *got);

#endif
