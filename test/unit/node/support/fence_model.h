/* node/support/fence_model.h - a node where containers come and go, told to a fence, and judged by what really runs.
 *
 * The model plays kubelet and the container runtime: pods with records that know nothing of each other (double
 * decisions are the rule), containers that are created, whose creation fails afterwards, which start, end by themselves
 * or are killed, of which the fence hears at once, late, or with their sandbox; a pod that ends and comes again with
 * another uid; an agent that is started anew and told what runs, or told it again. Two things it takes from kubelet and
 * never does otherwise: it does not create a container while another one of the same name of that pod runs, and an
 * ended container never runs again.
 *
 * After every step it adds up what really runs, container by container, in numbers of its own, and fails through
 * cmocka unless
 *   no device has more than it can, or anybody beside somebody who has it alone;
 *   the fence holds what runs, and of what has ended only that of which it was not told;
 *   who was admitted had room, and who was refused had none.
 */
#ifndef TEST_NODE_SUPPORT_FENCE_MODEL_H
#define TEST_NODE_SUPPORT_FENCE_MODEL_H

#include "base/rng.h"

struct fence_model;

struct fence_model *fence_model_new(uint64_t seed);
void fence_model_free(struct fence_model *m);

void fence_model_step(struct fence_model *m);

/* How often each happened so far, to know that a run was worth something. */
struct fence_model_counts {
    unsigned admitted, refused, restarted, told_late, shared;
};
struct fence_model_counts fence_model_counts(const struct fence_model *m);

#endif
