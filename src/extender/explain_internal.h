/* extender/explain_internal.h - what helps beyond reasons: names that exist, and what nodes say of themselves. */
#ifndef EXTENDER_EXPLAIN_INTERNAL_H
#define EXTENDER_EXPLAIN_INTERNAL_H

#include "extender/explain.h"

/* The notes and models of `ret`, of all nodes as they were judged. False: the arena is full. */
WARN_UNUSED bool explain_hints(const struct placement_context *c, struct arena *a,
                               const struct store_pack_answer *judged, struct explanation *ret);
/* Its sizes. False: the arena is full. */
WARN_UNUSED bool explain_sizes(const struct policy *p, struct arena *a, struct explanation *ret);

#endif
