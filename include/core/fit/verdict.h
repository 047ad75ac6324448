/* core/fit/verdict.h - why a node can or cannot take a pod: a closed set.
 *
 * Texts are constant per cause, without numbers, names or times: kube-scheduler 1.32 and newer retries a pod whenever
 * its condition text changes, so a varying text makes it spin (contract.md R8, measured there).
 */
#ifndef CORE_FIT_VERDICT_H
#define CORE_FIT_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum verdict {
    VERDICT_FITS,
    /* facts that no eviction changes, up to VERDICT_OVERCOMMITTED: verdict_is_unresolvable() goes by the order */
    VERDICT_NODE_UNKNOWN,   /* fgpu has not seen this node */
    VERDICT_CLOSED,         /* its node pool takes no new pods (model/policy.h) */
    VERDICT_UNCOUNTED,      /* pods that may be here found no room in the ledger (core/ledger/ledger.h, turned away) */
    VERDICT_NOT_COVERED,    /* in a host group, and `consistency: strict` holds (decision 0112) */
    VERDICT_NO_GPU,         /* no inventory */
    VERDICT_UNMEASURED,     /* nothing but a plugin's number speaks of GPUs (core/inventory/inventory.h) */
    VERDICT_ELSEWHERE,      /* another system hands its GPUs out */
    VERDICT_NO_PLUGIN,      /* wants whole GPUs of a plugin, node has none */
    VERDICT_ONE_UNIT,       /* wants several replicas in one container, the plugin gives one */
    VERDICT_TOO_FEW_GPUS,   /* asks for more devices than the node has */
    VERDICT_GPU_TOO_SMALL,  /* asks for more memory than any of its devices has */
    VERDICT_MEMORY_UNKNOWN, /* asks for memory; the node does not say how much it has */
    VERDICT_NOT_ALLOWED,    /* gpu-model or gpu-uuid leaves too few devices */
    VERDICT_UNHEALTHY,      /* too few healthy devices */
    VERDICT_MIG_CHANGING,   /* the MIG layout of the node is being changed */
    VERDICT_MIG_PLUGIN,     /* a device plugin hands out the instances, and the pod does not ask for its resource */
    VERDICT_MIG_IMPOSSIBLE, /* more instances of a profile than its GPUs can be cut into */
    VERDICT_MIG_TOO_FEW,    /* asks for more instances of a profile than the node has */
    VERDICT_MIG_EMPTY,      /* GPUs in MIG mode, and no instance has been made */
    VERDICT_MIG_ONLY,       /* wants GPUs; all are cut into instances */
    VERDICT_HAND_OFF,       /* the hand-off of the node does not work with its devices (model/hand_off.h) */
    VERDICT_HAND_OFF_NAME,  /* ... or not with so long a name of a container */
    VERDICT_UNTOLERATED,    /* of binds alone: cordoned, or with a taint (core/request/toleration.h) */
    VERDICT_HOST_GROUP,     /* other nodes hold the physical GPUs: only pods there could leave (decision 0071) */
    /* facts that pods leaving may change */
    VERDICT_OVERCOMMITTED,   /* too few devices that are not charged beyond their capacity */
    VERDICT_NO_COMPUTE,      /* too few devices with enough free milli */
    VERDICT_NO_MEMORY,       /* too few devices with enough free memory */
    VERDICT_NO_SLOT,         /* too few devices below their number of sharers */
    VERDICT_NOT_EMPTY,       /* wants whole devices; too few are empty */
    VERDICT_HELD_ALONE,      /* too few devices that are not held exclusively */
    VERDICT_ISOLATED,        /* devices with room hold pods it must not share with */
    VERDICT_FRAGMENTED,      /* each need is met somewhere, but not together on enough devices */
    VERDICT_NO_COMBINATION,  /* every container fits alone, not all of them together */
    VERDICT_SEARCH_LIMIT,    /* the search gave up (core/fit/feasibility.h) */
    VERDICT_NOMINATED,       /* another pod, as important or more so, is nominated to this node */
    VERDICT_WHOLE_PODS_HERE, /* wants a share; whole-GPU pods of a plugin run here */
    VERDICT_SHARES_HERE,     /* wants whole GPUs of a plugin; shares are handed out here */
    VERDICT_PLUGIN_FULL,     /* the plugin's GPUs are taken */
    VERDICT_TENANT_LIMIT,    /* the tenant of its namespace would hold more than it may (core/tenancy/tenancy.h) */
    VERDICT_MIG_TAKEN,       /* too few free instances of the profile */
    VERDICT__MAX
};

/* The words kube-scheduler shows behind a number of nodes ("0/5 nodes are available: 3 TEXT"): no
 * capital, no comma, no full stop. */
const char *verdict_text(enum verdict v);
const char *verdict_name(enum verdict v); /* lower_case label for metrics */
/* What traces say (config/trace.schema.json). They stay, whatever verdicts come: a trace of another version means the
 * same. */
extern const uint8_t verdict_numbers[VERDICT__MAX];
/* Goes to FailedAndUnresolvableNodes: evicting pods would not help (contract.md R11). */
bool verdict_is_unresolvable(enum verdict v);
/* Which reasons for a refusal there are, the most frequent first; `ret` has room for all. Returns how many. */
size_t verdicts_by_count(const uint64_t counts[VERDICT__MAX], enum verdict ret[VERDICT__MAX]);

#endif
