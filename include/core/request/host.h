/* core/request/host.h - cores and memory of machines: what a pod asks for, what a node has.
 *
 * A pod's request is the one kube-scheduler goes by: the larger of (app containers + sidecars) and
 * of each init container with the sidecars started before it; where the pod as a whole has a
 * request (spec.resources), that instead; plus spec.overhead. A container, or a pod, that gives
 * only a limit asks for that much, as the API server fills it in. Sources: Kubernetes, "Resource
 * Management for Pods and Containers", "Sidecar Containers", "Assign Pod-level CPU and memory
 * resources", "Pod Overhead". While a pod is resized in place, kube-scheduler takes the larger of
 * what is asked and what the kubelet has granted (status); here only what is asked counts.
 *
 * Sums are exact and then rounded: requests up, memory of a node down. What does not fit 32 bits
 * stops at INT32_MAX. A quantity that is malformed or negative counts as 0: these numbers shape
 * scores only, so they are never a reason to refuse a pod.
 */
#ifndef CORE_REQUEST_HOST_H
#define CORE_REQUEST_HOST_H

#include "core/request/demand.h"
#include "model/node.h"
#include "model/pod.h"

struct host_request host_request_of_pod(const struct pod *pod);

/* Cores and memory of a machine that pods can have; 0: not known. */
struct host_capacity {
    int32_t cpu_milli;
    int32_t mem_mib;
};

/* Of status.allocatable; 0 where it says nothing. */
struct host_capacity host_capacity_of_node(const struct node *node);

#endif
