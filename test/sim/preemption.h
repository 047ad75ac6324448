/* sim/preemption.h - what kube-scheduler does about a pod that no node takes: it asks for whom to evict.
 *
 * Its own dry run does not know GPUs, so it names some pods of lower priority at random, by its cache. Of the answer it
 * demands what contract.md 2.5 says (R10), evicts the victims on one node, and nominates the pod there.
 */
#ifndef SIM_PREEMPTION_H
#define SIM_PREEMPTION_H

#include <stdbool.h>
#include <stdint.h>

struct object;
struct strbuf;

/* The body of /v1/preempt; false: there is nobody to evict. */
bool preemption_ask(const struct object *pod, struct strbuf *body);
/* What became of it; `answer` NULL: the connection broke. `shown`: up to which version its watch had told the fgpu that
 * was asked everything of pods, when it was. */
void preemption_answered(const char *uid, const char *answer, uint64_t shown);

#endif
