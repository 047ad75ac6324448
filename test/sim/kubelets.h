/* sim/kubelets.h - what runs on the nodes: kubelet, the container runtime and fgpu-node's agent, one of each a node.
 *
 * The agent is the product (node/agent.h); kubelet and the runtime are played. Once a node's kubelet has heard of a pod
 * that is bound to it, the pod gets a sandbox with the annotations of that moment, and its container is created, and
 * again after a refusal. It ends when the pod has succeeded, or some seconds after its object is gone, as after a
 * forced deletion, while the GPU may have been given to somebody else; the agent hears of that end later still. The
 * agent is restarted, and told what runs.
 *
 * Demanded: a container has the GPUs, and as much of them, as the Binding of its pod said when it landed, whatever
 * became of the record since; and when one is created, no GPU is used beyond what it has, whoever decided what, and
 * however late that landed. A GPU has its memory and compute as often as this world's agents are told (overcommit);
 * what is there already when a GPU becomes smaller stays.
 */
#ifndef SIM_KUBELETS_H
#define SIM_KUBELETS_H

#include <stdint.h>

void kubelets_init(void);
void kubelets_end(void);

struct kubelets_counts {
    uint64_t admitted_n, refused_n, restarted_n;
};
extern struct kubelets_counts kubelets_counts;

#endif
