/* core/dialects/dialect.h - the vocabularies in which pods ask for GPUs and nodes offer them.
 *
 * A dialect is a const struct of words and pure functions, in a folder of its own (src/core/dialects/<name>) and in one
 * explicit table (src/core/dialects/dialect_table.c). `native` is fgpu's own, with its resource names and units as
 * settings (model/policy.h). Nothing outside the folder knows a word of a dialect: what is a typing error, what fgpu
 * wrote itself, which resources are served, all of that is asked of the structs in the table. A member that a dialect
 * has no use for is NULL; beside each stands what that means.
 */
#ifndef CORE_DIALECTS_DIALECT_H
#define CORE_DIALECTS_DIALECT_H

#include "base/arena.h"
#include "base/err.h"
#include "core/inventory/draft.h"
#include "core/record/assignment.h"
#include "core/request/demand.h"
#include "model/device.h"
#include "model/node.h"
#include "model/pod.h"
#include "model/policy.h"

#define DIALECT_WORDS_MAX 32 /* request keys and resources of one dialect together */

/* A word in which pods ask. */
struct dialect_key {
    const char *name;         /* NULL: end of the list */
    enum demand_defect meant; /* DEMAND_MEANT_...: said to a pod whose word resembles this one most; DEMAND_OK in a
                               * dialect without a domain, which proposes none */
};

/* A pod annotation that fgpu writes with the Binding. */
enum answer_form {
    ANSWER_ALONE,
    ANSWER_PER_CONTAINER, /* also with ".c0" and the like behind it */
    ANSWER_OF_OTHERS,     /* every key that begins so: what programs of others obey (model/hand_off.h) */
};
struct dialect_answer {
    const char *name; /* NULL: end of the list */
    enum answer_form form;
};

struct dialect {
    const char *name; /* in /state, and in records of requests */

    /* Its words. */
    const char *domain; /* "fgpu.io/": whatever a pod says under it is meant for this dialect, so that a word which it
                         * does not know is a typing error; NULL: its words have no domain, and nobody can tell */
    const struct dialect_key *request_keys; /* pod annotations of a request, constraints included; NULL: none */
    const struct dialect_key *resources; /* names of resources that it proposes where the policy has them; NULL: none */
    const struct dialect_answer *answers; /* what it writes into pods; NULL: nothing of its own */
    /* Is this name of a resource, of containers and of nodes, one of its own by the policy? NULL: it has none. */
    bool (*owns_resource)(const struct policy *p, struct str name);

    /* The refusal of a pod that asks in this vocabulary and in one before it in the table: two requests are none,
     * whatever else is wrong with one of them. Never DEMAND_OK, but in the first of those that claim pods. */
    enum demand_defect beside;
    /* Does the pod speak this vocabulary at all? Cheap: keys only. NULL: pods never do. */
    bool (*claims_pod)(const struct policy *p, const struct pod *pod);
    /* The demand; text borrowed from `pod`, arrays in `a`. False when the arena is full (nothing
     * else can fail: nonsense becomes a defect). Not NULL where claims_pod is not. */
    bool (*parse_request)(const struct policy *p, const struct pod *pod, struct arena *a, struct demand *ret);
    /* A request that can be read and was probably meant otherwise. Asked only of pods that are not bound; DEMAND_OK:
     * nothing of the kind. NULL: it never doubts. */
    enum demand_defect (*check_unbound)(const struct pod *pod);

    /* Does the node speak it? Cheap: keys only. NULL: nodes never do. */
    bool (*claims_node)(const struct policy *p, const struct node *node);
    /* Asked for each source of an inventory in their order, until one has devices: what the node says in this
     * vocabulary at this source. Before them once with INVENTORY_NONE, for what plugins sell while kubelet picks, which
     * stands beside the devices; the result is not looked at then. It writes to the draft alone. Not NULL where
     * claims_node is not. */
    enum source_result (*parse_node)(struct inventory_draft *d, enum inventory_source source);

    /* The annotations, of `answers`, in which a decision stands for the agent of this system and for its scheduler,
     * beside fgpu's own record, which native writes for every pod. In `a`. ERR_LIMIT when it is full or the text too
     * long; nothing else can fail. NULL: nobody but fgpu reads what it decided. */
    int (*format_assignment)(const struct assignment *as, struct arena *a, struct kv_list *ret, struct err *reterr);
    /* Reads that back: the same assignment, as far as the format has its fields. ERR_NOT_FOUND when the annotations
     * have none, else ERR_PARSE, ERR_INVALID or ERR_LIMIT. Not NULL where format_assignment is not. */
    int (*parse_assignment)(struct kv_list annotations, struct arena *a, struct assignment *ret, struct err *reterr);
    /* What programs of the node obey, so that the containers see their devices. NULL: native's, which need no agent. */
    int (*hand_off)(const struct assignment *as, struct arena *a, struct kv_list *ret, struct err *reterr);
};

extern const struct dialect *const dialects[]; /* NULL-terminated */

/* NULL: none has this name. */
const struct dialect *dialect_find(struct str name);

/* Resource names and units are settings; design.md section 5 has the table of combinations.
 * Decisions where it leaves room: a resource of 0 asks for nothing, but a count of 0 beside another
 * amount is a defect, and so is a 0 in an annotation. fgpu.io/container without an annotated amount
 * beside a resource is DEMAND_TWICE. Constraints alone ask for nothing and are then not even read.
 * Whole GPUs of a plugin are counted by Kubernetes' rule for effective requests. */
extern const struct dialect dialect_native;

/* The demand of a pod in whichever vocabulary claims it; the empty demand when none does; a defect
 * when two vocabularies do. What it asks of the machine (core/request/host.h) is in all
 * of them. False when the arena is full.
 * A pod that is not bound is also held to its spelling: a key under the domain of a dialect that nobody knows, and an
 * amount of memory without a unit, are defects. A pod that is bound was let through by somebody, and its charge must
 * not depend on which version of fgpu reads its keys, so there they are overlooked. */
WARN_UNUSED bool dialect_demand(const struct policy *p, const struct pod *pod, struct arena *a, struct demand *ret);

/* The annotations and resources with which the pod asks, misspelt ones too, as "KEY: VALUE, KEY: VALUE"; long ones are
 * cut. In `a`; empty when that is full. */
struct str dialect_as_written(const struct policy *p, const struct pod *pod, struct arena *a);

/* Does some vocabulary claim the pod, even if it asks for nothing? */
bool dialect_claims_pod(const struct policy *p, const struct pod *pod);

/* Hashes of the pod's labels for isolation (core/request/demand.h). False when the arena is full. */
WARN_UNUSED bool dialect_label_hashes(const struct pod *pod, struct arena *a, const uint64_t **ret, size_t *ret_n);

/* True for annotation keys that make up a request in any vocabulary, constraints included: those a pod's author
 * should not edit once the pod is bound. */
bool dialect_is_request_key(struct str key);
/* ... that fgpu writes in any vocabulary, its record included. */
bool dialect_writes_key(struct str key);
/* Is it a name of a resource in any vocabulary, as the policy has them? */
bool dialect_owns_resource(const struct policy *p, struct str name);

/* For claims_pod and claims_node: does the list, does a container of the pod, name a resource that `owns` says yes to?
 */
bool dialect_names_any(struct kv_list resources, const struct policy *p,
                       bool (*owns)(const struct policy *p, struct str name));
bool dialect_pod_asks_for(const struct pod *pod, const struct policy *p,
                          bool (*owns)(const struct policy *p, struct str name));

/* The GPUs of a node, as core/inventory/inventory.h has it. Fills `ret` (text borrowed from `node` and `p`, arrays in
 * `a`); memory is after the configured reserve. `*ret_note` becomes a static sentence when a source is malformed or had
 * to be corrected, or when another system hands out the GPUs, else NULL. False when the arena is full; then neither is
 * written. */
WARN_UNUSED bool dialect_inventory(const struct policy *p, const struct node *node, struct arena *a,
                                   struct inventory *ret, const char **ret_note);

/* Every annotation of a decision, in `a`: fgpu's own record first, then what the dialect in which the pod asked has
 * to say, then what is handed to the containers. ERR_LIMIT. */
WARN_UNUSED int dialect_answer(const struct assignment *as, struct arena *a, struct kv_list *ret, struct err *reterr);

/* What a pod carries before it is bound, and the Binding has to overwrite. A Binding can overwrite annotations, not
 * remove them.
 *
 * Keys of fgpu's answer: a restored pod has them, and a copy of a running one. They mean nothing, but programs of a
 * node may obey them, so what the new answer does not say is overwritten with nothing. So is every key that a hand-off
 * of others obeys (model/hand_off.h), whoever wrote it. An empty value is nothing to NVIDIA's toolkit;
 * kai-gpu-fractioning refuses the container, as it should where somebody forged an amount of memory.
 *
 * Plugins that the pod requires of the container runtime (src/core/dialects/required_plugins.c): the agent is added. */

/* Of these annotations, a line each: a key, or a key, a blank and the list of plugins with the agent in it. In `a`;
 * empty: none. False: the arena is full. */
WARN_UNUSED bool dialect_leftovers(struct kv_list annotations, struct arena *a, struct str *ret);
/* Adds the keys to the annotations of a decision, with empty values, where that does not say them; those of others only
 * with `of_others`: they are no business of ours in a pod that asks us for nothing. ERR_LIMIT. */
WARN_UNUSED int dialect_blank(struct kv_list *list, struct str leftovers, bool of_others, struct arena *a,
                              struct err *reterr);
/* Adds that no container of the pod is created without the agent, beside what the pod requires itself. ERR_LIMIT. */
WARN_UNUSED int dialect_require_agent(struct kv_list *list, struct str leftovers, struct arena *a, struct err *reterr);

#endif
