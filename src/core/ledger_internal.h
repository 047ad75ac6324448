/* core/ledger_internal.h - the ledger's layout, shared by ledger*.c, view.c, snapshot*.c and outlook*.c
 * only.
 *
 * Three tables: nodes, pods, and one contiguous array of device states in which each node owns an extent
 * (so that a decision over all nodes reads memory in few places). rows[i], names[i] and nodes[i] describe the same node.
 *
 * Flow of every change: facts are stored, pods attached to or detached from nodes, then ledger_recompute()
 * derives the node's numbers from its inventory and its pods.
 */
#ifndef CORE_LEDGER_INTERNAL_H
#define CORE_LEDGER_INTERNAL_H

#include "base/hashmap.h"
#include "base/intern.h"
#include "base/shared_text.h"
#include "core/device_state.h"
#include "core/ledger.h"
#include "core/ledger_incidents.h"
#include "core/tenancy.h"
#include "core/toleration.h"

#define LEDGER_NONE UINT32_MAX

/* A device's identity: its UUID, or its index on the node where either side knows no UUID. The UUID is kept
 * as a keyed hash, because records are read from annotations before, or without, any node that has such a
 * device, and must not grow a table of names. */
struct device_ref {
    uint64_t uuid_hash; /* 0: no UUID known */
    int32_t index;
};

struct ledger_device {
    struct device_ref ref;
    struct str uuid;   /* shared; empty: unknown */
    uint16_t model_id; /* in ledger.models, used once by every device */
    uint16_t profile;  /* as in struct device, with the next three */
    int8_t start;
    bool counted;
    bool slice;
    int32_t gpu_index;
    int32_t slot_n;
    int64_t mem_mib;
    bool healthy;
    bool lost; /* no longer in the inventory, kept for the pods that hold it */
    bool recorded; /* lost, and known through signed records alone: as large as what they give of it */
    bool overcommitted; /* at the end of the last op */
    bool booked;        /* twice: core/ledger_incidents.h, with the next two */
    int64_t booked_ms;  /* since */
    uint64_t fitted;    /* generation in which its known holders last fitted; 0: never */
    bool outgrown;   /* since a description of its node: less than what was granted of it, whatever is charged now */
    bool shrunk;     /* over-committed, and a description of its node took capacity away (core/ledger_excess.h) */
    bool overbooked; /* over-committed by a reservation, which must never be */
};

/* What pods ask of a machine, together. Incremental: see ledger_light.c. */
struct host_sum {
    int64_t cpu_milli;
    int64_t mem_mib;
};

struct node_entry {
    bool used;
    bool described;
    bool schedulable;
    bool closed;
    bool recomputed; /* in this op */
    bool unroomed;   /* its inventory was left out for want of room */
    bool shut;       /* takes nothing: pods that may be here were turned away (ledger_turned_away.c) */
    uint32_t shut_epoch; /* pod_epoch when that was last said */
    enum inventory_source source;
    const char *note;
    const char *slices_note; /* why ResourceSlices take its devices away from us; NULL: they do not */
    bool slices_anywhere; /* ledger.slices_anywhere is not NULL */
    bool elsewhere, unmeasured; /* of struct inventory */
    char *uid;
    int32_t overcommit_milli, overcommit_mem_milli; /* >= 1000 */
    enum memory_only_mode memory_only;
    enum qos qos; /* of struct inventory */
    enum lending lending;
    uint64_t rules; /* of the fact */
    struct taint *taints; /* of the fact, those that keep pods off; one block */
    size_t taint_n;
    struct ledger_device *devices;
    uint32_t device_n;
    uint32_t extent_n; /* device states owned at rows[].first_device */
    uint32_t *pods;    /* indexes of the pods attached, in order of attachment */
    uint32_t pod_n;
    uint32_t pod_cap;
    uint32_t epoch;
    struct holding offered; /* counted in the tenancy */
    uint64_t touched; /* generation of the last op about this node's own object */
    struct host_capacity host;
    struct host_request host_taken; /* of struct ledger_node_fact */
    struct host_sum host_asked; /* by the pods attached */
    struct host_sum light_host; /* by the pods without GPUs */
    uint32_t light_n;           /* of these; */
    uint32_t light_uncounted_n; /* that are not in the mix */
};

/* A pod without GPUs that is bound: a few bytes, because they may be many. A keyed hash stands for the UID; should
 * two ever be the same, a node shows a little more than it has. */
struct light_pod {
    uint64_t id;
    struct host_request host;
    uint32_t node; /* LEDGER_NONE: an empty slot */
    uint32_t epoch : 31;
    uint32_t counted : 1; /* in the mix */
};

struct light_pods {
    struct light_pod *slots;
    uint32_t slot_n;
    uint32_t used_n;
};

/* What a pod takes of one device; derived by ledger_recompute(). */
struct pod_charge {
    uint32_t ordinal;
    struct charge charge;
};

/* The most ever charged on a device for a pod whose request can be edited. */
struct pod_floor {
    struct device_ref ref;
    struct charge charge;
};

/* What a signed record gives of one device to one container. */
struct record_part {
    struct charge charge;
    struct str uuid; /* empty: the device is its index */
};

struct pod_entry {
    bool used;
    bool deleting;
    bool reserved_here; /* this process chose its devices */
    bool claims_record; /* as last observed, struct ledger_pod_fact */
    bool counted;       /* in the mix */
    bool rewritten;     /* reserved, and seen with other labels or another request since */
    bool missed;        /* reserved, and absent from a list begun after it was last observed */
    bool usurped;       /* bound by a foreign decision (core/ledger_incidents.h) */
    bool usurping;      /* ... if its record turns out to be signed */
    enum ledger_pod_state state;
    enum qos qos; /* while it is attached: decided when it was (core/qos.h) */
    int32_t priority;
    uint32_t node; /* attached to; LEDGER_NONE while pending */
    uint32_t node_slot; /* position in the node's pods */
    uint32_t space;     /* its namespace in the tenancy */
    struct holding held; /* counted there */
    uint32_t epoch;     /* pod_epoch when it was last observed */
    char *text; /* uid, namespace and name in one block */
    struct str uid, namespace_, name;
    char *decision_id;
    char *nominated;      /* pending: the node it is nominated to; NULL: none */
    const char *conflict; /* static sentence, NULL: none */
    struct demand *demand;
    struct demand *latest; /* reserved: seen meanwhile, adopted on release; provisional: what it asks for without
                            * its record */
    uint64_t *labels;
    size_t label_n;
    struct toleration *tolerations; /* until it is seen bound; one block */
    size_t toleration_n;
    size_t annotation_bytes;
    char *leftovers; /* of the fact; NULL: none */
    struct device_ref *refs; /* devices of all wishes in wish order; NULL: not known */
    size_t ref_n;
    struct record_part *record_parts; /* of each of `refs`, in one block with its text; NULL: the request says the amounts */
    struct charge *promised; /* of each of `refs`, what was written into the record of a reservation; NULL: unknown */
    enum record_trust trust; /* of the record that `record_parts` are from; RECORD_UNSIGNED: none, or refused */
    bool record_refused; /* the signature of the record with this proof does not hold; others have to be verified first */
    char *proof; /* of a record that is not verified yet, or refused; NULL: none */
    size_t proof_n;
    uint32_t unverified_before, unverified_after; /* provisional: neighbours in the ledger's list */
    struct pod_charge *charges;
    size_t charge_n;
    struct pod_floor *floors;
    size_t floor_n;
    struct pod_floor *first_grants; /* the devices first given to it here, and what it was given of them */
    size_t first_grant_n;
    int64_t since_ms;
    int64_t created_ms; /* of the fact */
    int64_t usurped_ms; /* since */
    uint64_t attached; /* generation in which it came to its node */
    uint64_t touched; /* generation of the last op about this pod */
    uint64_t version; /* resourceVersion as last observed; 0: not known */
};

/* Pods that found no room. Of the bound ones, which hold something: those since the present list of all pods began, and
 * those before, until that list is complete. */
struct turned_away {
    uint64_t now_n, before_n;
    uint64_t total_n;
    char *text; /* of the last one, in one block */
    struct str namespace_, name, node_name;
};

struct incidents {
    struct incident_count counts[INCIDENT_KIND__MAX];
    struct incident *news, *news_last; /* not taken yet, oldest first */
    uint32_t news_n;
};

/* What a node was before the op that is being applied. */
struct device_before {
    struct device_ref ref;
    struct device_state state;
};

struct node_before {
    uint32_t node;
    bool schedulable;
    uint64_t rules;
    struct node_state row;
    struct device_before devices[DEVICES_PER_NODE_MAX];
};

enum { NODES_BEFORE_MAX = 2 }; /* where a pod was, and where it is */

struct ledger {
    struct ledger_limits limits;
    struct intern *models;
    uint64_t generation;
    uint64_t room_generation;
    uint64_t version;       /* the last one given to a node's numbers */
    uint64_t gpus_version; /* changes with the memory of GPUs, and with what is taken of their compute for it */
    uint64_t names_version; /* changes when a node comes or goes, so that an index means another name */

    struct node_entry *nodes;
    struct node_state *rows;
    struct str *names; /* shared texts */
    uint32_t *by_name; /* the node_used_n nodes, smallest name first */
    uint32_t node_n; /* slots in use or free, below node_cap */
    uint32_t node_cap;
    uint32_t node_used_n;
    uint32_t described_n, unroomed_n, shut_n; /* of these */
    uint32_t *free_nodes;
    uint32_t free_node_n;
    struct hashmap node_index;
    const char *slices_anywhere; /* LEDGER_SLICES of no node in particular; NULL: none */

    struct device_state *states;
    uint32_t state_n;
    uint32_t state_cap;
    uint32_t *free_extents[DEVICES_PER_NODE_MAX + 1]; /* by length: first states of freed extents */
    uint32_t free_extent_n[DEVICES_PER_NODE_MAX + 1];
    uint32_t free_extent_cap[DEVICES_PER_NODE_MAX + 1];

    struct pod_entry *pods;
    uint32_t pod_n;
    uint32_t pod_cap;
    uint32_t pod_used_n;
    uint32_t pods_by_state[LEDGER_POD_STATE__MAX];
    uint32_t *free_pods;
    uint32_t free_pod_n;
    struct hashmap pod_index;
    struct turned_away turned_away;
    struct light_pods light;

    uint32_t *recomputed; /* nodes, in this op */
    uint32_t recomputed_n;
    uint32_t recomputed_cap;
    struct ledger_overcommit *overcommits; /* not taken yet */
    uint32_t overcommit_n;
    uint32_t overcommit_cap;
    struct incidents incidents;

    struct tenancy tenancy;
    struct holding largest; /* no GPU that any node ever had is larger */
    bool sliced; /* some node had fixed slices */
    bool charges_more; /* some node had devices that charge more than is asked for (core/qos.h; virtual GPUs) */

    uint32_t unverified_first, unverified_last; /* pods with provisional records, oldest first; LEDGER_NONE */

    uint32_t nominated_n; /* pending pods with a nominated node */
    uint32_t isolating_n; /* pods with an isolate-from selector, attached or not */

    struct ledger_walk *walks; /* open */

    uint32_t pod_epoch;
    uint32_t node_epoch;
    struct mix *mix;

    bool texts_count; /* annotations of pods that are seen bound: in a first list */
    bool pods_synced;
    bool nodes_synced;

    uint32_t before_n; /* last, because they are large and no decision reads them */
    struct node_before before[NODES_BEFORE_MAX]; /* of the nodes that this op changes */
};

/* nodes (ledger_nodes.c) */
uint32_t ledger_node_find(const struct ledger *l, struct str name); /* LEDGER_NONE */
uint32_t ledger_node_add(struct ledger *l, struct str name);        /* LEDGER_NONE at a bound */
/* The same for a name that a pod says: nodes that nobody has described take at most half of the table, whoever names
 * them, so that the other half is for those that exist. */
uint32_t ledger_node_named(struct ledger *l, struct str name);
bool ledger_node_has_room(const struct ledger *l, struct str name); /* would that find, or make, one? */
/* What the node owns; its slot is not given back. */
void ledger_node_free(struct ledger *l, uint32_t node);
/* Forgets the node if nothing is known of it and no pod is attached. */
void ledger_node_drop_if_empty(struct ledger *l, uint32_t node);
int ledger_node_described(struct ledger *l, const struct ledger_node_fact *f, struct err *reterr);
/* One more than the inventory has. Follow with ledger_recompute. */
void ledger_node_add_device(struct ledger *l, uint32_t node, const struct ledger_device *d);
#define NODE_PLUGIN_FLAGS (NODE_MIG_CHANGING | NODE_MIG_COUNTED | NODE_MIG_SINGLE | NODE_ONE_UNIT)
uint8_t ledger_plugin_flags(const struct inventory *inv); /* those of them that hold */
/* Does the row say of the node's device plugin what the inventory says? */
bool ledger_same_plugin(const struct node_state *row, const struct inventory *inv);
void ledger_node_gone(struct ledger *l, uint32_t node);
int ledger_node_slices(struct ledger *l, struct str name, const char *note, struct err *reterr);

/* devices (ledger_devices.c) */
/* Room for more device states; ledger_new makes the first. */
void ledger_states_grow(struct ledger *l);
/* Same device? By UUID where both have one, else by index. */
bool device_ref_equal(struct device_ref a, struct device_ref b);
/* The ordinal on the node of what the pod knows as `ref`, or LEDGER_NONE. What is there comes before what was there, and that
 * before what signed records alone know, which prove nothing of a pod that has none: what a pod has follows from the node
 * and its own record, not from those of others. */
uint32_t ledger_device_find(const struct node_entry *n, const struct pod_entry *p, struct device_ref ref);
struct device_ref ledger_device_ref(const struct ledger *l, struct str uuid, int32_t index);
/* All devices of an inventory for this node, or none: false, when there are too many models. */
WARN_UNUSED bool ledger_devices_take_in(struct ledger *l, const struct inventory *inv, const struct node_entry *n,
                                        struct ledger_device *ret);
/* Puts the new devices in place, and takes them over: what the inventory says, then what it no longer says but a pod
 * holds. */
void ledger_devices_set(struct ledger *l, uint32_t node, const struct ledger_device *fresh, uint32_t fresh_n);
/* Drops devices that left the inventory once no pod holds them any more. */
void ledger_node_forget_lost(struct ledger *l, uint32_t node);
void ledger_devices_free(struct ledger *l, uint32_t node);

/* the order of names (ledger_order.c): node_state.name_order and by_name */
void ledger_order_add(struct ledger *l, uint32_t node); /* which has its name, and is not counted yet */
void ledger_order_remove(struct ledger *l, uint32_t node); /* the same, turned round: still counted */
const char *ledger_order_check(const struct ledger *l, uint32_t at); /* one place of by_name */

/* observations of pods (ledger_observed.c) */
void ledger_pod_observed(struct ledger *l, const struct ledger_pod_fact *f, int64_t at_ms);

/* pods for which there is no room (ledger_turned_away.c) */
/* For a pod that the ledger does not know, and for the name of its node? */
bool ledger_has_room_for(const struct ledger *l, const struct ledger_pod_fact *f);
void ledger_turn_away(struct ledger *l, const struct ledger_pod_fact *f);
/* A node whose object was not known is being described: may pods be on it that nobody charged? */
void ledger_turned_away_node_described(struct ledger *l, uint32_t node);
void ledger_turned_away_list_begins(struct ledger *l); /* pod_epoch is that of the list already */
void ledger_turned_away_list_ends(struct ledger *l);
/* May a pod that the present list turned away be entered by a later one? Then annotations must count there as in this. */
bool ledger_turned_away_come_again(const struct ledger *l);
const char *ledger_check_turned_away(const struct ledger *l); /* as ledger_check() */
extern const char ledger_note_shut[]; /* of a node that is shut */

/* pods that are seen where they were not (ledger_adopt.c) */
extern const char ledger_conflict_record[];
extern const char ledger_conflict_request[];
extern const char ledger_conflict_reading[];
extern const char ledger_conflict_no_record[]; /* of a pod that was bound past us */
extern const char ledger_conflict_signature[]; /* of one whose record somebody else wrote */
/* Puts the pod onto the node where it is seen for the first time, or where nobody knows its devices yet. `request` is
 * what it asks for if its record grants nothing. It may be gone afterwards. */
void ledger_pod_adopt(struct ledger *l, uint32_t pod, const struct ledger_pod_fact *f, const struct demand *request,
                      uint32_t node, int64_t at_ms);
/* The pod is charged what its signed record says; `asked` as `request` above. Follow with ledger_recompute. */
void ledger_take_grant(struct ledger *l, struct pod_entry *p, const struct ledger_pod_fact *f,
                       const struct demand *asked, int64_t at_ms);
/* Same containers with the same numbers of devices, so that the devices held still answer to the wishes? */
bool ledger_same_shape(const struct demand *a, const struct demand *b);
/* A request in resources cannot be edited: when its amounts read differently, the configuration has changed
 * (resource names, units). Without a signed record the charge of the day on which the pod got it becomes its floor. */
bool ledger_is_read_differently(const struct pod_entry *p, const struct demand *d);
void ledger_pod_keep_charges(const struct ledger *l, struct pod_entry *p);

/* pods that are seen where they are (ledger_reobserve.c) */
void ledger_pod_reobserve(struct ledger *l, uint32_t pod, const struct ledger_pod_fact *f, const struct demand *asked,
                          int64_t at_ms);

/* pods (ledger_pods.c) */
uint32_t ledger_pod_lookup(const struct ledger *l, struct str uid); /* LEDGER_NONE */
/* A pending pod that asks for `d`; LEDGER_NONE at the bound. */
uint32_t ledger_pod_add(struct ledger *l, const struct ledger_pod_fact *f, const struct demand *d, int64_t at_ms);
/* Detaching in two halves, between which the pod may be attached again: devices that it alone holds stay until the
 * second. */
void ledger_pod_take_off(struct ledger *l, struct pod_entry *p);
void ledger_pod_follow_take_off(struct ledger *l, uint32_t node); /* LEDGER_NONE is fine */
void ledger_pod_set_nominated(struct ledger *l, struct pod_entry *p, struct str node_name);
void ledger_pod_set_labels(struct ledger *l, struct pod_entry *p, const uint64_t *labels, size_t n);
void ledger_pod_drop(struct ledger *l, uint32_t pod);
/* The same, because the pod has ended: a departure, if it held something. */
void ledger_pod_end(struct ledger *l, uint32_t pod);
void ledger_pod_attach(struct ledger *l, uint32_t pod, uint32_t node);
/* The node stays known: follow with ledger_node_drop_if_empty once nothing will be attached to it. */
void ledger_pod_detach(struct ledger *l, uint32_t pod);
void ledger_pod_set_demand(struct ledger *l, struct pod_entry *p, const struct demand *d);
void ledger_pod_clear_refs(struct ledger *l, struct pod_entry *p);   /* devices, and what they were charged */
void ledger_pod_clear_devices(struct ledger *l, struct pod_entry *p); /* its floors stay */
void ledger_pod_free_devices(struct pod_entry *p);                    /* its trust, too */
void ledger_pod_set_state(struct ledger *l, struct pod_entry *p, enum ledger_pod_state state, int64_t at_ms);

/* records (ledger_records.c) */
/* The container that the wish is of; NULL: the record does not have it. */
const struct assigned_container *ledger_assigned_to(const struct assignment *as, const struct wish *w);
/* The next device of the container, from `*at` on, that answers to wish `w`; NULL: there is no other. */
const struct assigned_device *ledger_next_device(const struct demand *d, size_t w, const struct assigned_container *c,
                                                 size_t *at);
/* Record and demand match one to one: the same containers, with as many devices as they wish. */
bool ledger_matches_record(const struct demand *d, const struct assignment *as);
/* The devices of every wish, malloc'ed, or NULL when record and demand do not match one to one. `as` may be NULL. */
struct device_ref *ledger_refs_of_record(const struct ledger *l, const struct demand *d, const struct assignment *as,
                                         size_t *ret_n);
/* Raises what is known to have been charged on a device. */
void ledger_floor_raise(struct pod_entry *p, struct device_ref ref, const struct charge *c);
/* Does the annotation still say what we know: same decision, same devices? */
bool ledger_record_is_ours(const struct ledger *l, const struct pod_entry *p, const struct assignment *as);
/* Devices (p->refs) and floors from the record, and the demand to go by: `d`, or, where that is gone or spoilt,
 * the one that the record implies, in *recorded and `wishes` (DEMAND_WISHES_MAX). `as` may be NULL. */
const struct demand *ledger_read_record(const struct ledger *l, struct pod_entry *p, const struct demand *d,
                                        const struct assignment *as, struct wish *wishes,
                                        struct demand *recorded);

/* signed records (ledger_grant.c) */
/* Does the fact have a record that is signed and names devices, as fgpu writes them? */
bool ledger_fact_grants(const struct ledger_pod_fact *f);
/* Takes demand, devices and amounts from the signed record; what was known of the pod's devices is forgotten. Trust
 * is not touched. The demand is today's where it has the shape of the record, so that people see what was asked for,
 * else the one that the record implies. */
void ledger_grant(struct ledger *l, struct pod_entry *p, const struct ledger_pod_fact *f);
struct record_part *ledger_granted_copy(const struct pod_entry *p); /* free() it; NULL: it was granted nothing */
/* Does the record say what the pod was granted, to the last byte of memory? */
bool ledger_record_is_granted(const struct ledger *l, const struct pod_entry *p, const struct assignment *as);
/* ... what was written for a pod whose devices were chosen here? */
bool ledger_record_is_promised(const struct ledger *l, const struct pod_entry *p, const struct assignment *as);

/* what signed records grant (ledger_granted.c) */
void ledger_granted_charges(const struct node_entry *n, struct pod_entry *p);
/* A described node has every device that its pods were granted, lost ones included: adds those that are missing, as far
 * as there is room. */
void ledger_keep_granted(struct ledger *l, uint32_t node);
/* Devices that are known through records alone are as large as what is charged on them. */
void ledger_size_granted(struct ledger *l, uint32_t node);
/* The UUID of a device, also of one that is known through records alone; empty: it is its index. */
struct str ledger_device_uuid(const struct ledger *l, const struct node_entry *n, const struct ledger_device *d);

/* which records are believed (ledger_trust.c) */
/* `proof` is copied, and empty unless the record is provisional. */
void ledger_trust_set(struct ledger *l, struct pod_entry *p, enum record_trust trust, struct str proof);
static inline struct str ledger_pod_proof(const struct pod_entry *p)
{
    return (struct str){p->proof, p->proof_n};
}
int ledger_judged_apply(struct ledger *l, const struct ledger_judged *j, int64_t at_ms);

/* reservations (ledger_reserve.c) */
int ledger_reserve_apply(struct ledger *l, const struct ledger_reserve *r, int64_t at_ms,
                         struct err *reterr);
/* An attached pod is pending again, and asks for what was seen last. It may be gone afterwards. */
void ledger_pod_unplace(struct ledger *l, uint32_t pod, int64_t at_ms);
int ledger_confirm_apply(struct ledger *l, struct str uid, int64_t at_ms, struct err *reterr);
int ledger_release_apply(struct ledger *l, struct str uid, int64_t at_ms, struct err *reterr);

/* Said by whoever makes room while an op is applied. */
static inline void ledger_made_room(struct ledger *l)
{
    l->room_generation = l->generation + 1;
}

/* what an op does to nodes (ledger_change.c) */
void ledger_change_begin(struct ledger *l, uint32_t node); /* before anything of the node changes; again is harmless */
/* After the op, or after each part of one that is about many objects: did room appear, did capacity go? */
void ledger_change_follow(struct ledger *l, enum ledger_op_kind kind);

/* what more than there is has been given away for (ledger_excess.c) */
void ledger_grant_keep(struct ledger *l, struct pod_entry *p); /* just reserved */
/* Are the pods that were placed here, each with no more than it was granted, too much for the device? */
bool ledger_grants_exceed(const struct ledger *l, const struct node_entry *n, uint32_t ordinal);
/* ... each with all that it was granted, also if it takes less now? */
bool ledger_grants_outgrow(const struct ledger *l, const struct node_entry *n, uint32_t ordinal);

/* Where less may be more. A nomination that cannot be kept keeps nobody away any more, and a tenant's limit refuses the
 * placement that is chosen: then anything may lead to another choice, for which there is room. */
static inline bool ledger_less_may_be_more(const struct ledger *l)
{
    return l->nominated_n > 0 || l->tenancy.tenant_n > 0;
}

/* tenants (ledger_tenancy.c) */
void ledger_count_pod(struct ledger *l, struct pod_entry *p);
void ledger_count_node(struct ledger *l, uint32_t node); /* before its pods */
struct holding ledger_tenant_room(const struct ledger *l, struct str namespace_);
/* May some placement of this demand be too much for the room? If not, none need be looked at. */
bool ledger_may_pass_tenant(const struct ledger *l, const struct demand *d, struct holding room);
const char *ledger_check_tenancy(const struct ledger *l); /* as ledger_check() */

/* transitions (ledger_overcommit.c) */
void ledger_overcommit_note(struct ledger *l, uint32_t node); /* recomputed */
void ledger_overcommit_gone(struct ledger *l, uint32_t node, struct ledger_device *d);
/* `now` stands where `before` stood. */
void ledger_overcommit_carry(struct ledger *l, uint32_t node, struct ledger_device *before,
                             struct ledger_device *now);
void ledger_overcommit_follow(struct ledger *l, int64_t at_ms); /* at the end of an op */

/* incidents (ledger_incidents.c) */
/* At the end of an op that recomputed the node, once it is known whether the device is over-committed. */
void ledger_booking_follow(struct ledger *l, uint32_t node, uint32_t ordinal, int64_t at_ms);
void ledger_booking_gone(struct ledger *l, uint32_t node, struct ledger_device *d);
/* Before the op: will it show, to a process that decides, a Binding of a pod that nobody has seen bound? */
bool ledger_decision_is_open(const struct ledger *l, const struct ledger_op *op);
void ledger_decision_observed(struct ledger *l, const struct ledger_op *op, bool was_open);
/* The record of an attached pod is found to hold: now it is known whose decision it is. */
void ledger_decision_verified(struct ledger *l, uint32_t pod, int64_t at_ms);
void ledger_decision_gone(struct ledger *l, const struct pod_entry *p); /* with its pod */

/* cores and memory (ledger_host.c) */
void host_sum_add(struct host_sum *s, struct host_request r);
void host_sum_subtract(struct host_sum *s, struct host_request r);
bool ledger_node_has_gpus(const struct ledger *l, uint32_t node);
/* What the pods without GPUs and `with_gpus` leave of the machine. */
struct host_state ledger_host_left(const struct node_entry *n, const struct host_sum *with_gpus);
/* Said after a change of the node's sums. */
void ledger_host_changed(struct ledger *l, uint32_t node);
/* What is asked of the machine by the latest observation, attached or not. */
void ledger_pod_set_host(struct ledger *l, struct pod_entry *p, struct host_request host);
const char *ledger_check_host(const struct ledger *l);

/* pods without GPUs (ledger_light.c) */
/* A bound one. `counted`: the mix has it already. */
void ledger_light_observed(struct ledger *l, const struct ledger_pod_fact *f, bool counted);
/* It is kept in full from now on. Was it in the mix? */
bool ledger_light_forget(struct ledger *l, struct str uid);
void ledger_light_gone(struct ledger *l, struct str uid); /* if it was one */
void ledger_light_sweep(struct ledger *l); /* those that the list of this epoch did not have */
/* The node may have GPUs now, all nodes and pods may be known now: more pods belong into the mix. */
void ledger_light_node_described(struct ledger *l, uint32_t node);
void ledger_light_synced(struct ledger *l);
/* What the check counts, per node. */
struct light_sum {
    struct host_sum host;
    uint32_t pod_n;
    uint32_t uncounted_n;
};
const char *ledger_check_light(const struct ledger *l, struct light_sum *ret_by_node);
/* open walks (ledger_walk.c): each is told before anything changes that it may still have to show. Telling twice is
 * harmless, LEDGER_NONE is fine. */
void ledger_walks_op_comes(struct ledger *l, const struct ledger_op *op);
void ledger_walks_node_changes(struct ledger *l, uint32_t node);
void ledger_walks_pod_changes(struct ledger *l, uint32_t pod); /* and the node it is attached to */
void ledger_walks_pod_born(struct ledger *l, uint32_t pod);    /* its slot was free */

/* What an attached pod is charged for: its demand, with the quality of service that was decided. Borrows. */
static inline struct demand ledger_charged_demand(const struct pod_entry *p)
{
    struct demand d = *p->demand;

    d.says_qos = true;
    d.qos = p->qos;
    return d;
}

/* Taken whole, and which one fgpu says. */
static inline bool ledger_is_slice(const struct ledger_device *d)
{
    return d->slice || (d->profile != 0 && d->profile != DEVICE_IN_MIG_MODE && !d->counted);
}

/* Does another system hand its devices out, whoever said so? */
static inline bool ledger_is_elsewhere(const struct node_entry *n)
{
    return n->elsewhere || n->slices_note != NULL || n->slices_anywhere;
}

/* derived numbers (ledger_recompute.c) */
void ledger_recompute(struct ledger *l, uint32_t node);
/* The devices of `p` as a placement over the node's ordinals; false when they are not all known. */
bool ledger_pod_placement(const struct node_entry *n, const struct pod_entry *p, struct placement *ret);
/* Its bit of node_state.pod_classes, from its charges; 0: it holds nothing here. */
uint8_t ledger_pod_class(const struct node_entry *n, const struct pod_entry *p);
/* Does kubelet pick the devices of this demand on this node? They are counted by profile, whatever an unsigned record
 * says. */
static inline bool ledger_is_counted(const struct node_state *row, const struct demand *d)
{
    return (row->flags & NODE_MIG_COUNTED) != 0 && demand_may_be_counted(d);
}
/* Are its devices counted, because kubelet picks them, and nobody proved which? */
static inline bool ledger_pod_is_counted(const struct node_state *row, const struct pod_entry *p)
{
    return p->record_parts == NULL && ledger_is_counted(row, p->demand);
}
/* Charges what kubelet picked: devices that are not in `taken` (bits) (ledger_counted.c). */
void ledger_charge_counted(struct ledger *l, uint32_t node, uint64_t taken);
/* Flags GPUs and instances that are held in their other form. */
void ledger_block_other_form(const struct node_entry *n, struct device_state *states);
/* Raises each dimension of `c` to that of `floor`. */
void ledger_charge_max(struct charge *c, const struct charge *floor);
/* A pod that is thought away. */
typedef bool ledger_leaves_fn(const struct pod_entry *p, const void *ctx);
/* Flags in `states` (the node's own copy) what isolation and UUID lists deny to this demand. `leaves` may be
 * NULL. */
void ledger_mark_denied(const struct ledger *l, uint32_t node, struct device_state *states,
                        struct str namespace_, struct str uid, const struct demand *d,
                        const uint64_t *label_hashes, size_t label_n, ledger_leaves_fn *leaves,
                        const void *ctx);
/* A device that nobody uses. */
struct device_state ledger_empty_state(const struct node_entry *n, const struct ledger_device *d);
/* The node's numbers without the pods that leave. ret_states has room for DEVICES_PER_NODE_MAX. */
void ledger_without(const struct ledger *l, uint32_t node, ledger_leaves_fn *leaves, const void *ctx,
                    struct node_state *ret_row, struct device_state *ret_states);
/* Bytes per model id for demand_allows_model(); NULL when every model is allowed. `ret` has room for
 * intern_count(models) bytes. */
const uint8_t *ledger_allowed_models(const struct ledger *l, const struct demand *d, uint8_t *ret);

#endif
