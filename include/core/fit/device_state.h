/* core/fit/device_state.h - the hot numbers of one device and of one node, as decisions read them.
 *
 * Kept small on purpose: an unseen demand reads those of every node. Whoever adds a number that decides what fits or
 * what it costs adds it to device_equal() and device_same_capacity(), to the search (feasibility_search.c) and to
 * core/placement/twins.c, of a node to node_equal(): these say which devices and nodes are taken for one.
 *
 * Units: compute in milli, 1000 is one GPU; memory in MiB; slots are containers that may share a device. Free amounts
 * are signed: capacity that shrank below its use shows as a negative number, never wraps, and such a device is closed
 * to new pods.
 */
#ifndef CORE_FIT_DEVICE_STATE_H
#define CORE_FIT_DEVICE_STATE_H

#include "core/request/demand.h"

#include <stdbool.h>
#include <stdint.h>

enum device_flag {
    DEVICE_HEALTHY = 1 << 0,
    DEVICE_IN_USE = 1 << 1,       /* some pod holds a part of it */
    DEVICE_EXCLUSIVE = 1 << 2,    /* a pod holds it alone */
    DEVICE_DENIED = 1 << 3,       /* fgpu.io/gpu-uuid of the demand this view was made for excludes it */
    DEVICE_LOST = 1 << 4,         /* gone from the inventory, kept because a pod still holds it */
    DEVICE_ISOLATED = 1 << 5,     /* holds a pod that must not share with the demand of this view */
    DEVICE_COUNTED = 1 << 6,      /* a MIG instance of which kubelet picks one: fgpu counts them only */
    DEVICE_BLOCKED = 1 << 7,      /* the same GPU is held in its other form, whole or as an instance */
    DEVICE_EQUAL = 1 << 8,        /* pods that do not say otherwise share it in equal parts (model/qos.h) */
    DEVICE_SLICE = 1 << 9,        /* a virtual GPU of a fixed profile (core/inventory/vgpu_profile.h) */
    DEVICE_ELSEWHERE = 1 << 10,   /* another system hands it out (core/inventory/inventory.h, LEDGER_SLICES) */
    DEVICE_GROUP_TAKEN = 1 << 11, /* other nodes hold the physical GPU that it is a part of (decision 0071) */
};

struct device_state {
    int32_t mem_free_mib;
    int32_t mem_cap_mib;  /* x over-commit factor; 0: unknown */
    int32_t mem_base_mib; /* before the factor: what shares are taken of; of a part: of the whole GPU */
    int32_t milli_free;
    int32_t milli_cap; /* 1000 x over-commit factor; less: a part of a GPU (struct device), or an instance */
    int16_t slot_free;
    int16_t slot_cap;
    uint16_t model_id;   /* index into the view's table of models */
    uint16_t profile;    /* of struct device; takes only charges of the same */
    uint16_t flags;      /* enum device_flag */
    uint8_t memory_only; /* enum memory_only_mode: what a GPU request for memory alone takes of the compute */
};

/* Equal in everything: what holds for the one holds for the other. */
static inline bool device_equal(const struct device_state *a, const struct device_state *b)
{
    return a->mem_free_mib == b->mem_free_mib && a->milli_free == b->milli_free && a->slot_free == b->slot_free &&
           a->flags == b->flags && a->model_id == b->model_id && a->mem_cap_mib == b->mem_cap_mib &&
           a->mem_base_mib == b->mem_base_mib && a->milli_cap == b->milli_cap && a->slot_cap == b->slot_cap &&
           a->profile == b->profile && a->memory_only == b->memory_only;
}

/* Do the same amounts, in total and of a GPU request, hold for both devices? Neighbours nearly always say yes, so that
 * a GPU request is resolved once per node. */
static inline bool device_same_capacity(const struct device_state *a, const struct device_state *b)
{
    return a->milli_cap == b->milli_cap && a->mem_cap_mib == b->mem_cap_mib && a->mem_base_mib == b->mem_base_mib &&
           a->profile == b->profile && a->memory_only == b->memory_only && a->slot_cap == b->slot_cap &&
           ((a->flags ^ b->flags) & (DEVICE_COUNTED | DEVICE_EQUAL | DEVICE_SLICE)) == 0;
}

enum node_flag {
    NODE_DESCRIBED = 1 << 0,    /* we have seen its Node object */
    NODE_CLOSED = 1 << 1,       /* takes no new pods; those on it stay */
    NODE_MIG_CHANGING = 1 << 2, /* takes no new pods until its MIG layout is done */
    NODE_MIG_COUNTED = 1 << 3,  /* a plugin publishes its MIG instances by profile: kubelet picks */
    NODE_MIG_SINGLE = 1 << 4,   /* ... as its whole GPUs */
    NODE_SLICED = 1 << 5,       /* has fixed slices that fgpu hands out (core/fit/slack.h) */
    NODE_ONE_UNIT = 1 << 6,     /* its plugin gives a container one unit and no more */
    NODE_SHUT = 1 << 7,         /* takes nothing: uncharged pods may be here (core/ledger/ledger.h, turned away) */
};

/* Cores and memory of a machine, less what its pods ask for. Free amounts may be negative; a capacity of 0 is
 * not known, and then nothing is said about that dimension: free is 0, too. */
struct host_state {
    int32_t cpu_cap_milli;
    int32_t cpu_free_milli;
    int32_t mem_cap_mib;
    int32_t mem_free_mib;
};

/* ... of one pod more. Sums stop at the smallest number. */
struct host_state host_after(struct host_state h, struct host_request taken);

/* Kinds of pods by the GPUs they take, bits of node_state.pod_classes. */
enum pod_class {
    POD_CLASS_SHARED = 1 << 0, /* parts of GPUs */
    POD_CLASS_1 = 1 << 1,      /* whole GPUs: one, */
    POD_CLASS_2 = 1 << 2,      /* two or three, */
    POD_CLASS_4 = 1 << 3,      /* four to seven, */
    POD_CLASS_8 = 1 << 4,      /* eight or more */
};

/* Of a pod that holds so many GPUs, each of them whole or not; 0: none. */
static inline uint8_t pod_class_of(int32_t device_n, bool whole)
{
    return device_n <= 0  ? 0
           : !whole       ? POD_CLASS_SHARED
           : device_n < 2 ? POD_CLASS_1
           : device_n < 4 ? POD_CLASS_2
           : device_n < 8 ? POD_CLASS_4
                          : POD_CLASS_8;
}

struct node_state {
    uint32_t name_order;   /* of two nodes the one with the smaller name has the smaller; changes with names_version */
    uint32_t first_device; /* in the view's device array */
    uint16_t device_n;
    uint8_t flags;              /* enum node_flag */
    uint8_t pod_classes;        /* enum pod_class, of the pods that hold GPUs here */
    uint8_t hand_off;           /* enum hand_off; HAND_OFF__MAX: one that does not work with these devices */
    bool group_taken;           /* some device has DEVICE_GROUP_TAKEN: nothing may be left to kubelet's choice */
    bool not_covered;           /* in a host group, where those are refused (struct ledger_limits) */
    uint64_t version;           /* of the numbers here: no two changes of any node have the same */
    int32_t plugin_managed_cap; /* GPUs, replicas or units of a plugin */
    int32_t plugin_managed_used;
    int32_t plugin_managed_per_gpu; /* how many make one GPU, >= 1 where there are any */
    uint64_t plugin_managed_names;  /* as in struct demand; 0: not known */
    int32_t share_pod_n;            /* pods that hold parts of devices through fgpu */
    struct host_state host;
};

/* Equal in everything that is no name: with equal devices, what holds for the one holds for the other. */
static inline bool node_equal(const struct node_state *a, const struct node_state *b)
{
    return a->device_n == b->device_n && a->flags == b->flags && a->pod_classes == b->pod_classes &&
           a->hand_off == b->hand_off && a->group_taken == b->group_taken && a->not_covered == b->not_covered &&
           a->plugin_managed_cap == b->plugin_managed_cap && a->plugin_managed_used == b->plugin_managed_used &&
           a->plugin_managed_per_gpu == b->plugin_managed_per_gpu &&
           a->plugin_managed_names == b->plugin_managed_names && a->share_pod_n == b->share_pod_n &&
           a->host.cpu_cap_milli == b->host.cpu_cap_milli && a->host.cpu_free_milli == b->host.cpu_free_milli &&
           a->host.mem_cap_mib == b->host.mem_cap_mib && a->host.mem_free_mib == b->host.mem_free_mib;
}
_Static_assert(sizeof(struct node_state) == 72, "a number that was added: is it in node_equal()?");

/* The compute of so many GPUs, replicas or units of a plugin. */
static inline int64_t plugin_units_milli(int64_t unit_n, int32_t units_per_gpu)
{
    return unit_n * DEVICE_MILLI / (units_per_gpu > 1 ? units_per_gpu : 1);
}

/* More was charged than there is, in any dimension: it takes nobody until that is over. Two pods of which one
 * holds the device alone are always too much, because that one is charged with all of it. */
static inline bool device_is_overcommitted(const struct device_state *d)
{
    return d->mem_free_mib < 0 || d->milli_free < 0 || d->slot_free < 0;
}

/* What the GPU request `w` of `of` takes of this device: gpu_request_charge(), but no compute for GPU requests for
 * memory alone where the node says so, and what quality of service, virtual GPUs and MIG add. Equal shares take at
 * least the even part (model/qos.h). A virtual GPU of a fixed profile is always taken whole. So is an instance, by GPU
 * requests for its profile and, where fgpu steers it, by GPU requests for memory alone. Of a part
 * they take what they take of a whole GPU, so that one for whole GPUs never fits. Where the device is no answer
 * to the GPU request at all, the charge is of another profile, so that the device does not take it. `of` NULL: it says
 * no quality of service. A charge is never negative, has one slot, and depends on the capacities of the device only,
 * not on what is free. */
struct charge device_charge(const struct device_state *d, const struct demand *of, const struct gpu_request *w);

/* Is it one instance of a GPU in MIG mode? */
static inline bool device_is_instance(const struct device_state *d)
{
    return d->profile != 0 && d->profile != DEVICE_IN_MIG_MODE;
}

/* Is it a part of a GPU? Then no GPU request for a whole one fits, and nothing is left of it for others. */
static inline bool device_is_part(const struct device_state *d)
{
    return d->profile == 0 && d->milli_cap < DEVICE_MILLI;
}

/* True when the device takes `c` more: of the kind that `c` is meant for, healthy, ours, not denied, not held alone,
 * enough free in every dimension, and nobody on it if `c` is exclusive. A charge is never negative, so a device below
 * zero takes nothing. */
static inline bool device_takes(const struct device_state *d, const struct charge *c)
{
    const unsigned asked = DEVICE_HEALTHY | DEVICE_EXCLUSIVE | DEVICE_DENIED | DEVICE_ISOLATED | DEVICE_LOST |
                           DEVICE_BLOCKED | DEVICE_ELSEWHERE | DEVICE_GROUP_TAKEN;

    return c->profile == d->profile && (d->flags & asked) == DEVICE_HEALTHY && c->milli <= d->milli_free &&
           c->mem_mib <= d->mem_free_mib && c->slots <= d->slot_free &&
           !(c->exclusive && (d->flags & DEVICE_IN_USE) != 0);
}

/* Takes `c` off the free amounts. Sums stop at the smallest number. Exact inverse of nothing:
 * states are recomputed, not undone. */
void device_take(struct device_state *d, const struct charge *c);

#endif
