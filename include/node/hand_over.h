/* node/hand_over.h - what a container gets when the runtime creates it: its GPUs, nothing to see, or a refusal.
 *
 *   the record grants it GPUs      exactly those, by the names of their CDI devices, or by the variable that NVIDIA's
 *                                  runtime reads
 *   it has none                    void: it sees no GPU, whatever image and pod say. A variable that both set cannot be
 *                                  overridden by a variable, hence the CDI device (cdi/spec.h)
 *   it is exempt                   nothing is changed: a namespace of the list, a container that has GPUs from DRA or a
 *                                  device plugin, a node on which the agent stands back
 *   it asks past us                a refusal: a mount below /var/run/nvidia-container-devices, which NVIDIA's runtime,
 *                                  where it takes that, reads instead of the variable (accept-nvidia-visible-devices-
 *                                  as-volume-mounts), so void would hide nothing
 *   it has the node of another     a refusal, before it is created or when it starts (node/gpu_check.h). A privileged
 *   GPU                            container has every node: with a grant it is refused unless it is granted all GPUs,
 *                                  without one as the rules say; it is root on the node, and could make nodes itself
 *   something is wrong             a sentence: kubelet shows it in the pod's Events and tries again
 *
 * Exempt is who has no grant. A container that fgpu *and* somebody else give GPUs is refused.
 *
 * A container with grants gets the void device, too: then NVIDIA's runtime adds nothing to what CDI gives.
 *
 * Pure, and no room is judged here: node/fence.h.
 */
#ifndef NODE_HAND_OVER_H
#define NODE_HAND_OVER_H

#include "base/arena.h"
#include "node/facts.h"
#include "node/grant.h"
#include "node/runtime.h"

/* How, and to whom not. Borrowed. */
struct hand_over_rules {
    enum hand_over_way way;
    const struct str *exempt; /* namespaces */
    size_t exempt_n;
    bool refuse_privileged;
    bool reads_variables; /* NVIDIA's runtime makes the containers of this node, and obeys their variable, */
    bool reads_mounts;    /* or their mounts below /var/run/nvidia-container-devices */
    bool stand_back;      /* a device plugin hands out GPUs of this node, and nothing shows to which containers */
};

enum hand_over_answer {
    HAND_OVER_NOTHING,
    HAND_OVER_DEVICES,
    HAND_OVER_VOID,
    HAND_OVER_REFUSED,
};

struct hand_over {
    enum hand_over_answer answer;
    const struct str *cdi; /* names of CDI devices to add */
    size_t cdi_n;
    struct kv env; /* a variable to set; an empty key: none */
    /* What it is granted, each device with the UUID that the node knows it by; also where there is no room for it
     * (node/agent.h). */
    const struct assigned_device *devices;
    size_t device_n;
    enum qos qos;   /* how it divides their compute with others */
    struct str why; /* when it is refused */
};

/* Is a container of this pod left as it is if it has no grant? */
bool hand_over_exempts(const struct hand_over_rules *rules, const struct pod_facts *pod);
bool hand_over_exempts_namespace(const struct hand_over_rules *rules, struct str namespace_);

/* Does it have GPUs of somebody else? Known when it is created, and never later. */
bool hand_over_sees_others(const struct container_facts *c);

/* Does a container without a grant, that is not exempt, ask NVIDIA's runtime for none? One that asks for some as it
 * starts was created while nobody was connected: otherwise its variable would be void, and its mount refused. */
bool hand_over_is_hidden(const struct hand_over_rules *rules, const struct container_facts *c);

/* The nodes that NVIDIA's runtime has made for a container that is there and has no grant, as far as the rules say that
 * it makes any. It does so behind the container runtime, which tells of none. */
struct gpu_nodes hand_over_made_by_runtime(const struct hand_over_rules *rules, const struct node_facts *node,
                                           const struct container_facts *c);

/* May a container without a grant, that is not exempt, have the GPUs that it can open? */
WARN_UNUSED bool hand_over_allows_none(const struct hand_over_rules *rules, const struct node_facts *node,
                                       const struct pod_facts *pod, const struct container_facts *c, struct arena *a,
                                       struct str *ret_why);

/* Text is borrowed from the facts or in `a`. An arena that is full refuses. */
struct hand_over hand_over_decide(const struct hand_over_rules *rules, const struct node_facts *node,
                                  const struct pod_facts *pod, const struct container_facts *c, struct arena *a);

#endif
