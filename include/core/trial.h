/* core/trial.h - what one decision would be under other strategies: a comparison, never a decision.
 *
 * Both sides are computed from the same numbers of the same moment, so equal strategies never
 * differ. Advisory holds are left out on both. Which of equal GPUs is taken is no difference.
 */
#ifndef CORE_TRIAL_H
#define CORE_TRIAL_H

#include "core/choice.h"
#include "core/mirror.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `nodes`: indexes into the mirror, those that were asked about; names decide between equal scores.
 */
struct trial {
    const struct mirror *mirror;
    const uint32_t *nodes;
    size_t node_n;
    const uint8_t *allowed_models; /* core/view.h */
    const struct demand *demand;
};

struct trial_choice {
    bool fits;
    uint32_t node; /* into the mirror */
    struct placement at;
};

/* The best node and its GPUs under these strategies. */
struct trial_choice trial_choose(const struct trial *t, const struct pack_params *p);

struct trial_difference {
    bool node;
    bool devices;      /* on the same node, GPUs that differ in their numbers */
    double frag_milli; /* F of the cluster after b less that after a (core/fragmentation.h) */
};

/* How `b` differs from `a`; both fit. `o` gives the typical pods: up to date for the strategy fgd.
 */
struct trial_difference trial_compare(const struct trial *t, const struct outlook *o,
                                      const struct trial_choice *a, const struct trial_choice *b);

#endif
