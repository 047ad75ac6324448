/* node/agent.h - the agent's answers to the container runtime: what each container gets (node/hand_over.h), if there is
 * room for it (node/fence.h).
 *
 * The runtime tells of everything that is there when it is connected to (NRI: Synchronize), then of each step of each
 * container. What the agent knows is made of nothing else, so an agent that has just been started knows what one knows
 * that was there all the time (property test), while keys stay and the runtime lists the sandbox of each container. If
 * not, one that was there all the time knows more: a container that it admitted holds its devices until it is not
 * listed. Before it was told, and after it was told what it cannot read or hold, it grants nothing: nobody knows then
 * what runs on the GPUs.
 *
 * Rules and facts are handed in with each call, because GPUs fall ill and keys change.
 *
 * When a container starts, the runtime tells which device nodes it really has (node/gpu_check.h); it must have those of
 * its grant and no others, or it does not start. So a container that was created while the agent was away, edited by
 * nobody, is refused, and created again. One that runs already stays, and is named (agent_findings).
 *
 * Containers outside exempt namespaces that have GPUs without a grant hold them alone (node/fence.h). A privileged one
 * does not: that it has every GPU says nothing of what it uses.
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
    bool starts_anyway; /* the runtime starts a container whose start we refuse (CRI-O): what it has then counts */
};

struct agent;

struct agent *agent_new(void);
void agent_free(struct agent *g); /* NULL is fine */

/* ---- what is there: begin, all pods and all containers in any order, end ---- */

void agent_sync_begin(struct agent *g);
void agent_sync_pod(struct agent *g, const struct agent_rules *rules, struct str sandbox_id,
                    const struct pod_facts *pod);
/* One that was created and has not ended; others do not matter. With the nodes that it has. */
void agent_sync_container(struct agent *g, const struct agent_rules *rules, const struct container_facts *c);
/* From here on the agent knows. ERR_LIMIT: there was more than it can hold; it grants nothing until the next time. */
WARN_UNUSED int agent_sync_end(struct agent *g, struct err *reterr);

/* Of what is there, that which should not be. Told once, after agent_sync_end. */
enum agent_finding_kind {
    AGENT_RUNS_WITHOUT, /* its record grants GPUs whose nodes it does not have: it was created unseen. Its share is kept
                         */
    AGENT_HAS_ANOTHER,  /* it has a grant, and the node of another GPU */
    AGENT_HAS_NO_GRANT, /* it has a GPU and no grant: from DRA, from a device plugin, by a key that is gone */
};

struct agent_finding {
    enum agent_finding_kind kind;
    int32_t minor; /* of the GPU */
    struct str pod_uid, namespace_, pod, container;
};

#define AGENT_FINDINGS_MAX 64

/* At most AGENT_FINDINGS_MAX, in `a`. NULL: the arena is full. */
const struct agent_finding *agent_findings(const struct agent *g, const struct agent_rules *rules, struct arena *a,
                                           size_t *ret_n);

/* ---- the steps of a container ---- */

/* Answers from `a` and from the facts. */
struct hand_over agent_create(struct agent *g, const struct agent_rules *rules, const struct pod_facts *pod,
                              const struct container_facts *c, struct arena *a);
/* False: it must not start; *ret_why is the sentence. */
WARN_UNUSED bool agent_start(struct agent *g, const struct agent_rules *rules, const struct pod_facts *pod,
                             const struct container_facts *c, struct arena *a, struct str *ret_why);
/* It has ended, or was removed. */
void agent_ended(struct agent *g, struct str container_id);
void agent_sandbox_removed(struct agent *g, struct str sandbox_id);

/* What runs on the GPUs, for who shows it. */
const struct fence *agent_fence(const struct agent *g);

#endif
