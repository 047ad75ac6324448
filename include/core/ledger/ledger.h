/* core/ledger/ledger.h - who holds which part of which GPU, and nothing else.
 *
 * The ledger is the fold of a sequence of struct ledger_op: facts, not deltas, applied in any number of
 * repetitions. It performs no I/O, reads no clock, takes no lock; extender/store.h serialises callers.
 *
 * Rules it keeps (design.md 3.1):
 *   - a signed record (RECORD_PROVISIONAL, RECORD_VERIFIED) says what a pod is charged: exactly what it names, per
 *     device, in the inventory or lost, and nowhere else, whatever the request means today (decision 0037);
 *   - else the charge comes from the demand, and a record says only which devices. Where the demand was written in
 *     annotations, the charge is the largest seen for this UID, the amounts recorded in the assignment included, and
 *     never falls while the pod lives. Annotations ask for something only if they were seen while the pod was
 *     unbound, or in the first list;
 *   - identity is the pod's UID and the device's UUID (its index where no UUID is known);
 *   - a pod is charged until it is gone or terminal; a deletion timestamp changes the display only;
 *   - a reservation ends by confirm, release, or the pod's end; never by time, never by a watch event that
 *     still shows the pod unbound (the binder may conclude from one that it can release: extender/bind_machine.h);
 *   - a bound pod whose devices nobody knows counts on every device of its node;
 *   - once known, the devices of a pod do not change because somebody edited an annotation: that is a
 *     conflict, shown and ignored. Only a record that nobody has verified yet gives way: to a verified one, and to
 *     the verdict that its signature does not hold;
 *   - a reserved pod that is seen bound on that node with another record that nobody signed, or without one, counts on
 * what was reserved as well, until the Binding is refused or a signed record says where it is (decision 0076);
 *   - once a record of a pod was refused, no other one of it counts that is not verified: who edits a record again and
 *     again closes a GPU once, for a moment (decision 0042);
 *   - no reservation takes a tenant above its limits (core/tenancy/tenancy.h).
 *
 * The numbers of a node are recomputed from its inventory and its pods at every change of either; so a
 * node's state is a function of facts and cannot drift. What is remembered beside them only ever charges more (the
 * largest charge of a UID) or is closed to others (a device that left the inventory, while a pod holds it); for these
 * the order of facts matters (decision 0004).
 *
 * Cores and memory of the machine are counted, too, because they make GPUs worth more or less: what every bound or
 * reserved pod asks for, by its newest observation (a resize in place changes it). The rules above do not concern
 * these amounts, nothing is refused for them, and they are no room.
 *
 * Pods whose demand is empty are not kept, but for what bound ones ask of the machine: a few bytes each, which
 * nobody sees but in the sums of its node (node_state.host). Beyond the bounds they are not counted at all.
 *
 * Bounds: LEDGER_NODES_MAX; LEDGER_PODS_MAX with GPUs and as many without; LEDGER_MODELS_MAX. All are of what there is
 * at a time: names of nodes, UUIDs and models go with the last that has them, however many have come and gone.
 *
 * Whoever creates pods may write any name of a node into them. So nodes that nobody has described take at most half of
 * the nodes, and no pod can be too much for the ledger: one that uses GPUs and finds no room, for itself or for the
 * name of its node, is *turned away* (turned_away.c). It is in no table and is charged nowhere; therefore
 *   - its node, if the ledger knows it, takes nothing until a list of all pods that began later is complete and turned
 *     no pod of that node away;
 *   - while any such pod may exist, a node that is described for the first time takes nothing until a list of all pods
 *     that began later is complete: in it every pod of a known node is entered, or turned away as above;
 *   - all nodes are open again after a list of all pods that turned nobody away.
 * A pod that is not bound holds nothing: if it finds no room it is forgotten, and cannot be reserved for. Annotations
 * that counted in the list that turned a pod away count in the next ones, too, until there is room for it.
 *
 * Units: compute in milli (1000 is one GPU), memory in MiB, *_ms in milliseconds, priorities as in Kubernetes.
 */
#ifndef CORE_LEDGER_LEDGER_H
#define CORE_LEDGER_LEDGER_H

#include "base/err.h"
#include "base/hash.h"
#include "core/fit/choice.h"
#include "core/fit/cluster_view.h"
#include "core/fit/placement.h"
#include "core/fit/strategy.h"
#include "core/fit/verdict.h"
#include "core/record/assignment.h"
#include "core/request/demand.h"
#include "core/request/host.h"
#include "core/tenancy/tenancy.h"
#include "model/device.h"
#include "model/node.h"
#include "model/pod.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEDGER_NODES_MAX 100000
#define LEDGER_PODS_MAX 1000000
#define LEDGER_MODELS_MAX UINT16_MAX /* different GPU models at a time; a node has at most one per device */

struct ledger;
struct demand_histogram; /* core/request/demand_histogram.h */

enum ledger_op_kind {
    LEDGER_NODE_DESCRIBED, /* .node */
    LEDGER_NODE_GONE,      /* .name */
    LEDGER_POD_OBSERVED,   /* .pod */
    LEDGER_POD_GONE,       /* .name = uid; deleted, or terminal */
    LEDGER_RESERVE,        /* .reserve */
    LEDGER_CONFIRM,        /* .name = uid: the Binding was accepted */
    LEDGER_RELEASE,        /* .name = uid: the Binding was definitively refused */
    LEDGER_PODS_BEGIN,     /* a list of all pods follows (.list) ... */
    LEDGER_PODS_END,       /* ... what was not in it is gone        */
    LEDGER_NODES_BEGIN,
    LEDGER_NODES_END,
    LEDGER_TENANTS,       /* .tenants: others from now on */
    LEDGER_RECORD_JUDGED, /* .judged: whether the signature of a provisional record holds */
    LEDGER_SLICES,        /* .slices: do ResourceSlices publish the GPUs of a node? */
    LEDGER_OP__MAX
};

struct ledger_node_fact {
    struct str name;
    struct str uid;
    /* Its object cannot be read, so no more than name and uid is known: it offers nothing, and stays in the pools and
     * the host group in which it was. */
    bool unreadable;
    bool schedulable;
    bool closed;                       /* takes no new pods; core/time/node_pools.h */
    const struct inventory *inventory; /* memory after the reserve, before over-commit factors */
    uint64_t rules;                    /* bits of the packing rules that select it: core/placement/plan.h */
    uint64_t pools;                    /* pools of groups that it is in: core/time/change_over.h; */
    uint64_t pools_layout;             /* what its bits mean: node_pools_layout() */
    const char *note;                  /* of core/inventory/inventory.h; static or NULL */
    struct host_capacity host;
    struct host_request host_taken; /* by pods that no op tells of (sim/state_file.h); else nothing */
    struct str host_group;          /* core/inventory/host_group.h; empty: none */
    int64_t host_gpu_mem_mib;       /* 0: not said */
    const struct taint *taints;     /* core/request/toleration.h, with that of a cordoned node */
    size_t taint_n;
};

/* What a pod is known to have been charged on a device. */
struct ledger_known_charge {
    struct str uuid; /* empty: the device is its index */
    int32_t index;
    struct charge charge;
};

/* How far the record of a pod is believed. The ledger knows no keys: it is told (design.md 5a). */
enum record_trust {
    RECORD_UNSIGNED,    /* judged as before records were signed: signing is off, or acceptUnsignedBefore */
    RECORD_PROVISIONAL, /* a signature by a known key, which nobody has verified yet */
    RECORD_VERIFIED,
};

/* Of a record that was believed once: "verified", "provisional", or "refused" where that has ended and the pod keeps
 * its devices for another reason (RECORD_UNSIGNED). */
const char *record_trust_name(enum record_trust t);

/* A record that grants nothing (no signature, an unknown key, a signature that does not hold) is given as
 * assignment NULL. */
struct ledger_pod_fact {
    struct str uid;
    struct str namespace_;
    struct str name;
    struct str node_name;      /* empty: not bound */
    struct str nominated_node; /* of a pod that is not bound: status.nominatedNodeName; empty: none */
    uint64_t version;          /* resourceVersion of the object; 0: not known */
    bool deleting;
    bool read; /* by itself, at a time that nobody knows beside what lists and watches say: no list has shown it */
    int64_t created_ms; /* creationTimestamp; 0: not known */
    bool claims_record; /* carries an assignment annotation although it is not bound: shown, nothing else */
    int32_t priority;
    const struct demand *demand;
    const struct assignment *assignment; /* as read from the pod; NULL: none, not readable, or not to be believed */
    enum record_trust record_trust;      /* of the assignment */
    struct str proof;                    /* of a provisional one: bytes that LEDGER_RECORD_JUDGED says again */
    /* spec.initContainers, in their order: which containers of a signed record run together (core/request/demand.h).
     * One that the record names and this list does not is taken to run beside all others. */
    const struct container *init_containers;
    size_t init_container_n;
    const uint64_t *label_hashes; /* dialect_label_hashes() */
    size_t label_n;
    size_t annotation_bytes;              /* keys and values: a Binding must leave room for them (contract.md R27) */
    struct str leftovers;                 /* to be overwritten, while it is not bound (core/dialects/dialect.h) */
    const struct toleration *tolerations; /* counts while the pod is pending */
    size_t toleration_n;
    const struct ledger_known_charge *known; /* by another ledger (sim/state_file.h): the charge is at least that */
    size_t known_n;
};

struct ledger_reserve {
    struct str uid; /* a pod that was observed and is not bound */
    struct str node_name;
    struct str decision_id;
    const struct placement *placement; /* from ledger_place() on this very state */
};

/* Ignored when the pod is gone, or has another proof by now. When the signature does not hold, the pod is what it
 * would be without that record; unless this process chose its devices: then it keeps them, and a conflict is shown. */
struct ledger_judged {
    struct str uid;
    struct str proof;
    bool valid;
    bool key_gone; /* not valid, because its key is not known any more: believed again when it is */
};

struct ledger_op {
    enum ledger_op_kind kind;
    int64_t at_ms; /* wall time, shown as "since"; decides nothing */
    bool deciding; /* this process has begun to decide: what others decide now is an incident (ledger/incidents.h) */
    uint64_t told; /* of an event of the watch of pods, asked by extender/store.h: the resourceVersion up to which
                    * everything has been said with this op; 0: says nothing of that */
    union {
        struct ledger_node_fact node;
        struct ledger_pod_fact pod;
        struct ledger_reserve reserve;
        struct ledger_judged judged;
        struct {
            bool reread; /* the first list that another configuration reads: annotations count as in the first of all */
            uint64_t version; /* of LEDGER_PODS_END: resourceVersion of the list; 0: not known */
        } list;
        struct {
            const struct tenant *items; /* in order, at most TENANTS_MAX */
            size_t n;
        } tenants;
        struct {
            struct str name;  /* of a node, seen or not; empty: of nobody knows which, so of every one */
            const char *note; /* static: they do, which is why its devices take no shares; NULL: they do not */
        } slices;
        struct str name;
    };
};

struct ledger_limits {
    struct hash_key hash_key;
    int32_t overcommit_milli; /* model/policy.h */
    int32_t overcommit_mem_milli;
    bool refuses_host_groups; /* nodes of a host group take no pod with GPUs: VERDICT_NOT_COVERED */
    uint32_t nodes_max;       /* 0: LEDGER_NODES_MAX */
    uint32_t pods_max;        /* 0: LEDGER_PODS_MAX */
};
/* By which the ledger of this policy counts. */
struct ledger_limits ledger_limits_of(const struct policy *p, struct hash_key hash_key);

struct ledger *ledger_new(const struct ledger_limits *limits);
void ledger_free(struct ledger *l); /* NULL is fine */

/* Applies one op; everything in it is borrowed for the call. On failure the ledger is as before.
 *   ERR_NOT_FOUND  reserve/confirm/release of an unknown pod; reserve on an unknown node
 *   ERR_CONFLICT   reserve: the placement does not fit (any more), or passes the limit of the tenant, or the pod
 *                  is bound or reserved
 *   ERR_LIMIT      a node that is described, or that ResourceSlices name, finds no place
 * Observations never fail except by ERR_LIMIT, those of pods never. */
WARN_UNUSED int ledger_apply(struct ledger *l, const struct ledger_op *op, struct err *reterr);

/* What pods have asked for so far (core/request/demand_histogram.h). A pod that asks for GPUs counts when it is first
 * observed with a request that can be read; one that asks for none, when it is bound and its node is known to have
 * GPUs: at once, or when the node is described, or, while the first lists are on their way, when both are complete, so
 * that it does not matter which comes first. It departs when it is gone, if it was bound or reserved. Repeats, lists
 * and reservations count nothing; a pod that the ledger had to forget, and that turns up again, counts anew. Borrowed.
 */
const struct demand_histogram *ledger_demand_histogram(const struct ledger *l);

/* The numbers of its nodes, and the demand histogram. */
struct cluster_view ledger_cluster_view(const struct ledger *l);

/* Counts every applied change; equal generations mean equal content. */
uint64_t ledger_generation(const struct ledger *l);
/* The generation in which room last appeared for a pod that was refused, for whatever reason: a charge ended, a node
 * came or grew or became another, a label that others keep away from went, a nomination ended, a limit was raised. It
 * may be said once too often, never once too seldom; repeated facts do not count. 0: never. */
uint64_t ledger_capacity_generation(const struct ledger *l);
/* Has the node with this index become more for some pod since the view of that version: room, an obstacle that went,
 * free CPU or memory, or another description, whatever it says? What only takes room does not count. */
bool ledger_node_gained_since(const struct ledger *l, uint32_t node, uint64_t version);
/* Both PODS_END and NODES_END have been seen. */
bool ledger_is_synced(const struct ledger *l);

enum ledger_pod_state {
    LEDGER_PENDING,   /* known, holds nothing */
    LEDGER_RESERVED,  /* Binding on its way, or its outcome unknown */
    LEDGER_CONFIRMED, /* Binding accepted, not yet seen on the watch */
    LEDGER_BOUND,     /* seen bound, devices known */
    LEDGER_FOREIGN,   /* seen bound, devices not known: counts everywhere it could be */
    LEDGER_POD_STATE__MAX
};
const char *ledger_pod_state_name(enum ledger_pod_state s);

/* What a bind needs to know of a pod. Borrowed: valid until the next op. */
struct ledger_pod {
    enum ledger_pod_state state;
    struct str namespace_;
    struct str name;
    struct str node_name; /* of the reservation or the binding; empty when pending */
    struct str decision_id;
    const struct demand *demand;
    size_t annotation_bytes;
    struct str leftovers;
    const uint64_t *label_hashes;
    size_t label_n;
    bool deleting;
    int32_t priority;
    uint64_t version; /* of the last observation, whatever it showed; 0: not known */
    /* Reserved, and everything observed since asks for the same, with the same labels and leftovers. */
    bool as_reserved;
    struct holding held; /* charged, over all devices (core/tenancy/tenancy.h) */
};
/* False when the UID is unknown. */
bool ledger_find_pod(const struct ledger *l, struct str uid, struct ledger_pod *ret);

/* Hands out the names of pods from slot *at on, at most `max` slots, and moves *at behind them; false at the end. A pod
 * that is there all the time is seen exactly once, whatever happens between two calls. */
typedef void ledger_pod_name_fn(void *ctx, struct str uid, struct str namespace_, struct str name);
bool ledger_pod_names(const struct ledger *l, uint32_t *at, uint32_t max, ledger_pod_name_fn *fn, void *ctx);

/* Has the node's object been seen? */
bool ledger_has_node(const struct ledger *l, struct str node_name);
bool ledger_is_in_host_group(const struct ledger *l, struct str node_name); /* core/inventory/host_group.h */

/* The bits of struct ledger_node_fact.rules; 0 for a node that was not seen. */
uint64_t ledger_node_rules(const struct ledger *l, struct str node_name);

/* What /state says about the node in words; static; NULL: nothing, or the node is not known. */
const char *ledger_node_note(const struct ledger *l, struct str node_name);

/* Searches devices for this demand on one node of the live ledger, with isolation against its pods by
 * `namespace_` and labels. On VERDICT_FITS `ret` may be given to LEDGER_RESERVE before any other op. */
enum verdict ledger_place(const struct ledger *l, struct str node_name, struct str namespace_, const struct demand *d,
                          const uint64_t *label_hashes, size_t label_n, const struct pack_params *params,
                          struct placement *ret);
/* The same with everything taken from the pod the ledger knows by this UID, for a bind: VERDICT_UNTOLERATED where
 * the pod does not tolerate a taint of the node. (In filter that is kube-scheduler's affair; a bind may come from
 * anybody.) */
enum verdict ledger_place_pod(const struct ledger *l, struct str node_name, struct str uid,
                              const struct pack_params *params, struct placement *ret);

/* Does the pod that the ledger knows by this UID tolerate the taints of the node? True where either is not known. An
 * empty UID stands for a pod that does not exist, and tolerates nothing. */
bool ledger_tolerates(const struct ledger *l, struct str node_name, struct str uid);

/* One of the tenants, in their order. Text is valid until the next LEDGER_TENANTS. */
struct ledger_tenant {
    struct str name;
    size_t pod_n; /* that hold something */
    struct holding held;
    struct holding limit; /* INT64_MAX: none */
};
/* Up to `max` of them; returns how many. */
size_t ledger_tenants(const struct ledger *l, struct ledger_tenant *ret, size_t max);
/* That of the namespace; false: it has none, and nothing limits it. */
bool ledger_tenant_of(const struct ledger *l, struct str namespace_, struct ledger_tenant *ret);
/* Does the pod hold devices that were chosen for it, or has kubelet the choice? */
bool ledger_chose_devices(const struct ledger *l, struct str uid);

/* A pod whose record nobody has verified yet. */
struct ledger_unverified {
    struct str uid;
    struct str proof;
};
/* Up to `max` of them, text copied into `a`; returns how many. Of one node: O(its pods). Of any (`node_name` empty):
 * O(max), oldest first; they come again until they are judged, or gone. */
size_t ledger_unverified(const struct ledger *l, struct str node_name, struct arena *a, struct ledger_unverified *ret,
                         size_t max);

/* How many there are; `max` stands for that many and more. O(max). */
size_t ledger_unverified_n(const struct ledger *l, size_t max);

/* Does a pod of this node have such a record? O(its pods). */
bool ledger_is_unverified(const struct ledger *l, struct str node_name);

/* Has the record of this fact, a provisional one, to be verified before the ledger is told? Only the first record of a
 * pod may be believed until then: not one that comes after another was refused, or while another waits for its verdict;
 * nor one that is all the pod has, because nothing that it asks for counts: that would be charged, and taken back
 * without leaving a memory, as often as it is observed. False for one whose own verdict is known or due. */
bool ledger_must_verify(const struct ledger *l, const struct ledger_pod_fact *f);

/* The record to write for a reserved pod: devices with UUIDs, indexes and amounts, all in `a`. ERR_NOT_FOUND
 * when the pod holds no devices. */
WARN_UNUSED int ledger_assignment(const struct ledger *l, struct str uid, struct arena *a, struct assignment *ret,
                                  struct err *reterr);

/* A device that began, or ceased, to be over-committed (device_is_overcommitted), since the last call. What is not
 * taken for long is dropped. */
struct ledger_overcommit {
    struct str node_name;
    struct str uuid; /* empty: the device is its index */
    int32_t index;
    bool begins;
};
/* Moves the oldest up to `max` to `ret`; returns how many. Their texts outlive the ledger's: end each with
 * ledger_drop_overcommits(), which needs nobody's lock. */
size_t ledger_take_overcommits(struct ledger *l, struct ledger_overcommit *ret, size_t max);
void ledger_drop_overcommits(const struct ledger_overcommit *o, size_t n);

/* NULL, or a static sentence: inventories of nodes had to be left out for want of room, and what to do. A node that is
 * left out has no devices but those that its pods hold. */
const char *ledger_lost_inventory(const struct ledger *l);

/* Pods that use GPUs and are not in the ledger for want of room. */
struct ledger_turned_away {
    uint64_t pod_n;   /* bound ones, at most: one that is seen again counts again until the next list of all pods */
    uint64_t total_n; /* how often it has happened since the start, pods that are not bound included */
    uint64_t node_n;  /* nodes that take nothing for their sake */
    struct str namespace_, name, node_name; /* the last one, borrowed until the next op; node_name empty: not bound */
};
void ledger_turned_away(const struct ledger *l, struct ledger_turned_away *ret);

/* NULL if every invariant holds, else a static sentence naming the first broken one. O(everything): tests,
 * fuzzing, audits. */
const char *ledger_check(const struct ledger *l);

/* The same in parts, each of which is right or wrong by itself, so that ops may be applied in between: some pods with
 * their nodes, some nodes with their pods, and what is counted over everything, count by count. */
struct ledger_checking {
    unsigned phase; /* all zero: from the beginning */
    uint32_t at;
};
/* Looks at the next part. False when there was none left, or something is broken (*ret_why). */
bool ledger_check_some(const struct ledger *l, struct ledger_checking *c, const char **ret_why);

#endif
