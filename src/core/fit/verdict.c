#include "core/fit/verdict.h"

#include "base/bug.h"

struct verdict_words {
    const char *name;
    const char *text;
};

static const struct verdict_words words[VERDICT__MAX] = {
    [VERDICT_FITS] = {"fits", "fits"},
    [VERDICT_NODE_UNKNOWN] = {"node_unknown", "node not known to fgpu yet"},
    [VERDICT_CLOSED] = {"closed", "the node pool takes no new pods now"},
    [VERDICT_UNCOUNTED] = {"uncounted", "pods here may not be counted yet: see the note in /state"},
    [VERDICT_NOT_COVERED] = {"not_covered", "consistency strict does not cover nodes that share physical GPUs"},
    [VERDICT_NO_GPU] = {"no_gpu", "no GPU that fgpu may hand out"},
    [VERDICT_UNMEASURED] = {"unmeasured", "only a device plugin counts GPUs here: see the note in /state"},
    [VERDICT_ELSEWHERE] = {"elsewhere", "GPUs belong to another system here: see the note in /state"},
    [VERDICT_NO_PLUGIN] = {"no_plugin", "no device plugin for the GPU resource the pod asks for"},
    [VERDICT_ONE_UNIT] = {"one_unit", "replicas of MPS are handed out one to a container: ask for one"},
    [VERDICT_TOO_FEW_GPUS] = {"too_few_gpus", "fewer GPUs than the pod asks for"},
    [VERDICT_GPU_TOO_SMALL] = {"gpu_too_small", "every GPU has less memory than the pod asks for"},
    [VERDICT_MEMORY_UNKNOWN] = {"memory_unknown", "GPU memory of the node is not known"},
    [VERDICT_NOT_ALLOWED] = {"not_allowed", "too few GPUs of the model or UUID the pod asks for"},
    [VERDICT_UNHEALTHY] = {"unhealthy", "too few healthy GPUs"},
    [VERDICT_MIG_CHANGING] = {"mig_changing", "MIG layout of the node is being changed"},
    [VERDICT_MIG_PLUGIN] = {"mig_plugin", "MIG instances are handed out by a plugin: ask for its resource"},
    [VERDICT_MIG_IMPOSSIBLE] = {"mig_impossible", "GPUs cannot be cut into so many instances of the MIG profile"},
    [VERDICT_MIG_TOO_FEW] = {"mig_too_few", "too few MIG instances of the profile the pod asks for"},
    [VERDICT_MIG_EMPTY] = {"mig_empty", "GPUs are in MIG mode and nobody has made instances"},
    [VERDICT_MIG_ONLY] = {"mig_only", "GPUs are cut into MIG instances"},
    [VERDICT_HAND_OFF] = {"hand_off", "hand-off of the node does not fit its GPUs: see the note in /state"},
    [VERDICT_HAND_OFF_NAME] = {"hand_off_name", "name of a container is too long for the hand-off of the node"},
    [VERDICT_UNTOLERATED] = {"untolerated", "node is cordoned or has a taint that the pod does not tolerate"},
    [VERDICT_HOST_GROUP] = {"host_group", "physical GPUs are in use by other nodes of the host group"},
    [VERDICT_OVERCOMMITTED] = {"overcommitted", "GPUs are over-committed and take no new pods until that is over"},
    [VERDICT_NO_COMPUTE] = {"no_compute", "too few GPUs with enough free compute"},
    [VERDICT_NO_MEMORY] = {"no_memory", "too few GPUs with enough free memory"},
    [VERDICT_NO_SLOT] = {"no_slot", "GPUs with room already have the maximum number of sharers"},
    [VERDICT_NOT_EMPTY] = {"not_empty", "too few empty GPUs"},
    [VERDICT_HELD_ALONE] = {"held_alone", "GPUs are held whole by other pods"},
    [VERDICT_ISOLATED] = {"isolated", "GPUs with room hold pods this pod must not share with"},
    [VERDICT_FRAGMENTED] = {"fragmented", "free GPU compute and memory are not on the same GPU"},
    [VERDICT_NO_COMBINATION] = {"no_combination", "containers of the pod fit on the GPUs alone but not together"},
    [VERDICT_SEARCH_LIMIT] = {"search_limit", "too many ways to place the pod to try them all"},
    [VERDICT_NOMINATED] = {"nominated", "room is promised to a pod of the same or higher priority"},
    [VERDICT_WHOLE_PODS_HERE] = {"whole_pods_here", "pods with whole GPUs of a device plugin run here"},
    [VERDICT_SHARES_HERE] = {"shares_here", "pods with shares of GPUs run here"},
    [VERDICT_PLUGIN_FULL] = {"plugin_full", "whole GPUs of the device plugin are taken"},
    [VERDICT_TENANT_LIMIT] = {"tenant_limit", "the tenant of the namespace would pass its GPU limit"},
    [VERDICT_MIG_TAKEN] = {"mig_taken", "MIG instances of the profile are taken"},
};

/* A new verdict takes the next number, wherever it stands. */
const uint8_t verdict_numbers[VERDICT__MAX] = {
    [VERDICT_FITS] = 0,
    [VERDICT_NODE_UNKNOWN] = 1,
    [VERDICT_CLOSED] = 2,
    [VERDICT_UNCOUNTED] = 3,
    [VERDICT_NOT_COVERED] = 4,
    [VERDICT_NO_GPU] = 5,
    [VERDICT_UNMEASURED] = 6,
    [VERDICT_ELSEWHERE] = 7,
    [VERDICT_NO_PLUGIN] = 8,
    [VERDICT_ONE_UNIT] = 9,
    [VERDICT_TOO_FEW_GPUS] = 10,
    [VERDICT_GPU_TOO_SMALL] = 11,
    [VERDICT_MEMORY_UNKNOWN] = 12,
    [VERDICT_NOT_ALLOWED] = 13,
    [VERDICT_UNHEALTHY] = 14,
    [VERDICT_MIG_CHANGING] = 15,
    [VERDICT_MIG_PLUGIN] = 16,
    [VERDICT_MIG_IMPOSSIBLE] = 17,
    [VERDICT_MIG_TOO_FEW] = 18,
    [VERDICT_MIG_EMPTY] = 19,
    [VERDICT_MIG_ONLY] = 20,
    [VERDICT_HAND_OFF] = 21,
    [VERDICT_HAND_OFF_NAME] = 22,
    [VERDICT_UNTOLERATED] = 23,
    [VERDICT_HOST_GROUP] = 24,
    [VERDICT_OVERCOMMITTED] = 25,
    [VERDICT_NO_COMPUTE] = 26,
    [VERDICT_NO_MEMORY] = 27,
    [VERDICT_NO_SLOT] = 28,
    [VERDICT_NOT_EMPTY] = 29,
    [VERDICT_HELD_ALONE] = 30,
    [VERDICT_ISOLATED] = 31,
    [VERDICT_FRAGMENTED] = 32,
    [VERDICT_NO_COMBINATION] = 33,
    [VERDICT_SEARCH_LIMIT] = 34,
    [VERDICT_NOMINATED] = 35,
    [VERDICT_WHOLE_PODS_HERE] = 36,
    [VERDICT_SHARES_HERE] = 37,
    [VERDICT_PLUGIN_FULL] = 38,
    [VERDICT_TENANT_LIMIT] = 39,
    [VERDICT_MIG_TAKEN] = 40,
};

static const struct verdict_words *verdict_words_of(enum verdict v)
{
    BUG_ON((unsigned)v >= VERDICT__MAX);
    return &words[v];
}

const char *verdict_text(enum verdict v)
{
    return verdict_words_of(v)->text;
}

const char *verdict_name(enum verdict v)
{
    return verdict_words_of(v)->name;
}

bool verdict_is_unresolvable(enum verdict v)
{
    return v > VERDICT_FITS && v < VERDICT_OVERCOMMITTED;
}

size_t verdicts_by_count(const uint64_t counts[VERDICT__MAX], enum verdict ret[VERDICT__MAX])
{
    size_t n = 0;

    for (unsigned v = VERDICT_FITS + 1; v < VERDICT__MAX; v++) {
        size_t at = n;

        if (counts[v] == 0) {
            continue;
        }
        for (n++; at > 0 && counts[ret[at - 1]] < counts[v]; at--) {
            ret[at] = ret[at - 1];
        }
        ret[at] = (enum verdict)v;
    }
    return n;
}
