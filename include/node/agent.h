/* node/agent.h - the agent's answers to the container runtime: what each container gets (node/hand_over.h), if there is
 * room for it (node/fence.h).
 *
 * The runtime tells of everything that is there when it is connected to (NRI: Synchronize), then of each step of each
 * container. What the agent knows is made of nothing else, so an agent that has just been started knows what one knows
 * that was there all the time (property test). Before it was told, and after it was told what it cannot read or hold,
 * it grants nothing: nobody knows then what runs on the GPUs.
 *
 * Rules and facts are handed in with each call, because GPUs fall ill and keys change.
 *
 * A container that was created while the agent was away was edited by nobody and has no GPU, although its record grants
 * some. If it is not among those that the runtime listed, its start is refused, so that it is created again.
 *
 * Pure: no I/O, no clock. Not thread-safe: one thread answers the runtime.
 */
#ifndef NODE_AGENT_H
#define NODE_AGENT_H

#include "base/arena.h"
#include "node/facts.h"
#include "node/fence.h"
#include "node/hand_over.h"

struct agent_rules {
    struct hand_over_rules hand_over;
    struct node_facts node;
};

struct agent;

struct agent *agent_new(void);
void agent_free(struct agent *g); /* NULL is fine */

/* ---- what is there: begin, all pods and all containers in any order, end ---- */

void agent_sync_begin(struct agent *g);
void agent_sync_pod(struct agent *g, const struct agent_rules *rules, struct str sandbox_id,
                    const struct pod_facts *pod);
/* One that was created and has not ended; others do not matter. */
void agent_sync_container(struct agent *g, const struct container_facts *c);
/* From here on the agent knows. ERR_LIMIT: there was more than it can hold; it grants nothing until the next time. */
WARN_UNUSED int agent_sync_end(struct agent *g, struct err *reterr);

/* ---- the steps of a container ---- */

/* Answers from `a` and from the facts. */
struct hand_over agent_create(struct agent *g, const struct agent_rules *rules, const struct pod_facts *pod,
                              const struct container_facts *c, struct arena *a);
/* False: it must not start; *ret_why is the sentence. */
WARN_UNUSED bool agent_start(const struct agent *g, const struct agent_rules *rules, const struct pod_facts *pod,
                             const struct container_facts *c, struct arena *a, struct str *ret_why);
/* It has ended, or was removed. */
void agent_ended(struct agent *g, struct str container_id);
void agent_sandbox_removed(struct agent *g, struct str sandbox_id);

/* What runs on the GPUs, for who shows it. */
const struct fence *agent_fence(const struct agent *g);

#endif
