/* node/fence.h - the last fence: what the containers that really run hold of this node's GPUs.
 *
 * Whatever any scheduler, replica or late write has decided: a container is admitted only while every GPU that it is
 * granted has room for it beside those that are there. Somebody who is refused is tried again by kubelet, and gets in
 * when there is room. So a double decision does not become a double use.
 *
 * Who counts. Containers that were created and have not ended; never pods, because sandboxes linger after their pods.
 * The runtime tells of both (NRI: StopContainer comes after the end, also of a container that ended by itself). One
 * whose shim is gone is killed by containerd before it is not listed any more (decision 0060: what that does not
 * cover).
 *
 * How much. What its record says, as the extender charges it (core/ledger/granted): containers that are there at the
 * same time add up, those of one pod, too; each is one sharer. An ordinary init container has ended before the next one
 * is created, so what is there is one phase of the pod, and the extender charges the largest of them. A container of a
 * pod is one by its name: kubelet never runs two of them at once, and starts the next before or after the runtime has
 * told of the end of the last, so instances of one name count once, for the most that any of them has.
 *
 * What else it can open. A container may have the device node of a GPU that nobody granted it: from DRA, from a device
 * plugin, by a key that is gone. Nobody knows how much of it it uses, so that GPU is closed until it has ended. The
 * same goes for an instance of a GPU in MIG mode that is gone while its container stays: the instances that there are
 * now may be made of the same slices.
 *
 * Room. Compute and memory add up to no more than the device has, times the factors of the node, and there are no more
 * sharers than it has slots. A device that somebody has alone (a whole GPU, a MIG instance) has no room for anybody
 * else, and somebody who wants it alone needs it empty; then amounts say nothing (core/record/assignment.h).
 *
 * Invariant: admitting never takes a device past its room. What the runtime says is running is a fact, and stays in the
 * table even if it is more than there is room for: such a device admits nobody until it is less.
 *
 * Not thread-safe; no I/O, no clock.
 */
#ifndef NODE_FENCE_H
#define NODE_FENCE_H

#include "base/arena.h"
#include "node/facts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fence;

/* A container that holds devices. Borrowed: the fence copies. */
struct fence_container {
    struct str id, sandbox_id; /* of the runtime */
    struct str pod_uid, namespace_, pod, name;
    const struct assigned_device *devices; /* that it is granted */
    size_t device_n;
    struct gpu_nodes nodes; /* that it can open, be they granted or not; fence_admit adds those of its devices */
};

/* What is held of one device. */
struct fence_use {
    int64_t milli, mem_mib;
    int32_t sharers;
    bool alone;  /* one of them has it alone */
    bool closed; /* somebody can open it without a grant: who is not among the sharers, and how much is not known */
};

struct fence *fence_new(void);
void fence_free(struct fence *f); /* NULL is fine */

/* May this container be created beside those that are there? Then it is there. False: there is no room, or the node
 * does not have the device; *ret_why is the sentence, in `a`, which names both pods. */
WARN_UNUSED bool fence_admit(struct fence *f, const struct node_facts *node, const struct fence_container *c,
                             struct arena *a, struct str *ret_why);
/* It is there, whatever that means for others: a fact from the runtime. A container of this id that is there already is
 * replaced. */
void fence_add(struct fence *f, const struct fence_container *c);

/* The same for one without a grant that is about to start, by its nodes. False: somebody is granted one of these GPUs;
 * then it is not there. */
WARN_UNUSED bool fence_admit_other(struct fence *f, const struct node_facts *node, const struct fence_container *c,
                                   struct arena *a, struct str *ret_why);

/* Moves the container of this id from `before`, of the same node, to here, where it is not yet. False: it is not there.
 */
bool fence_keep(struct fence *f, struct fence *before, struct str id);

bool fence_has(const struct fence *f, struct str id);
/* The same, and what is known of it, borrowed until the fence changes. */
bool fence_find(const struct fence *f, struct str id, struct fence_container *ret);
/* The i-th of fence_container_n, in no order; borrowed as above. */
struct fence_container fence_at(const struct fence *f, size_t i);
/* It has ended, or was never made. One that is not there is fine: those without devices never are. */
void fence_drop(struct fence *f, struct str id);
/* All containers of a sandbox that was removed. */
void fence_drop_sandbox(struct fence *f, struct str sandbox_id);

/* Containers that are there. */
size_t fence_container_n(const struct fence *f);
struct fence_use fence_use_of(const struct fence *f, const struct node_facts *node, const struct device *device);
/* A pod that holds some of a device. Text is of the fence, until it changes. */
struct fence_pod {
    struct str uid, namespace_, name;
};
/* Each of them once, of many the first `max`; returns how many were written. */
size_t fence_pods_on(const struct fence *f, const struct device *device, struct fence_pod *ret, size_t max);
/* Is more of it held than it has? */
bool fence_is_over(const struct fence *f, const struct node_facts *node, const struct device *device);

#endif
