/* core/ledger/pod_table.h - what the ledger keeps of a pod that asks for GPUs, and the table of them. Bound pods
 * without GPUs: cpu_only_pods.h.
 */
#ifndef CORE_LEDGER_POD_TABLE_H
#define CORE_LEDGER_POD_TABLE_H

#include "core/ledger/device_table.h"
#include "core/ledger/ledger.h"
#include "core/request/demand.h"
#include "core/request/toleration.h"
#include "core/tenancy/tenancy.h"

/* What a pod takes of one device; derived by ledger_recompute(). */
struct pod_charge {
    uint32_t ordinal;
    struct charge charge;
};

/* The most ever charged on a device for a pod whose request can be edited. Records of that pod may name any devices, so
 * there is a bound; what comes beyond it counts on every device (floor_of_all). */
#define POD_FLOORS_MAX (2 * DEVICES_PER_NODE_MAX)
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
    bool contested; /* seen bound where it was reserved, with a record that nobody signed and that says something else:
                     * it may be ours, edited, so it counts on `first_grants`, too, until it ends or a signed
                     * record says where it is */
    bool claims_record; /* as last observed, struct ledger_pod_fact */
    bool counted;       /* in the demand histogram */
    bool rewritten;     /* reserved, and seen with other labels or another request since */
    bool missed;        /* reserved, and absent from a list begun after it was last observed */
    bool usurped;       /* bound by a foreign decision (core/ledger/incidents.h) */
    bool usurping;      /* ... if its record turns out to be signed */
    enum ledger_pod_state state;
    enum qos qos; /* while it is attached: decided when it was (model/qos.h) */
    int32_t priority;
    uint32_t node;       /* attached to; LEDGER_NONE while pending */
    uint32_t node_slot;  /* position in the node's pods */
    uint32_t space;      /* its namespace in the tenancy */
    struct holding held; /* counted there */
    uint32_t epoch;      /* pod_epoch when a list or the watch last showed it */
    uint32_t read_epoch; /* pod_epoch when it was last read by itself */
    char *text;          /* uid, namespace and name in one block */
    struct str uid, namespace_, name;
    char *decision_id;
    char *nominated;      /* pending: the node it is nominated to; NULL: none */
    char *renominated;    /* reserved: the same as last observed, for a release; NULL: none */
    const char *conflict; /* static sentence, NULL: none */
    struct demand *demand;
    struct demand *latest; /* reserved: seen meanwhile, adopted on release; provisional: what it asks for without
                            * its record */
    uint64_t *labels;
    size_t label_n;
    struct toleration *tolerations; /* until it is seen bound; one block */
    size_t toleration_n;
    size_t annotation_bytes;
    char *leftovers;         /* of the fact; NULL: none */
    struct device_ref *refs; /* devices of all GPU requests in GPU request order; NULL: not known */
    size_t ref_n;
    struct record_part
        *record_parts; /* of each of `refs`, in one block with its text; NULL: the request says the amounts */
    struct record_part
        *promised;           /* the same of the record that a reservation has written, without text; NULL: unknown */
    enum record_trust trust; /* of the record that `record_parts` are from; RECORD_UNSIGNED: none, or refused */
    bool record_refused; /* the signature of the record with this proof does not hold; others must be verified first */
    char *proof;         /* of a record that is not verified yet, or refused; NULL: none */
    size_t proof_n;
    uint32_t unverified_before, unverified_after; /* provisional: neighbours in the ledger's list */
    struct pod_charge *charges;
    size_t charge_n;
    struct pod_floor *floors;
    size_t floor_n;
    struct charge floor_of_all;     /* zero: there was room for all */
    struct pod_floor *first_grants; /* the devices first given to it here, and what it was given of them */
    size_t first_grant_n;
    int64_t since_ms;
    int64_t created_ms; /* of the fact */
    int64_t usurped_ms; /* since */
    uint64_t attached;  /* generation in which it came to its node */
    uint64_t touched;   /* generation of the last op about this pod */
    uint64_t version;   /* resourceVersion as last observed; 0: not known */
};

static inline struct str ledger_pod_proof(const struct pod_entry *p)
{
    return (struct str){p->proof, p->proof_n};
}

/* What an attached pod is charged for: its demand, with the quality of service that was decided. Borrows. */
static inline struct demand ledger_charged_demand(const struct pod_entry *p)
{
    struct demand d = *p->demand;

    d.says_qos = true;
    d.qos = p->qos;
    return d;
}

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

/* ---- the table (lookup.c, pods.c) ---- */

uint32_t ledger_pod_lookup(const struct ledger *l, struct str uid); /* LEDGER_NONE */
/* A pending pod that asks for `d`; LEDGER_NONE at the bound. */
uint32_t ledger_pod_add(struct ledger *l, const struct ledger_pod_fact *f, const struct demand *d, int64_t at_ms);
/* Detaching in two halves, between which the pod may be attached again: devices that it alone holds stay until the
 * second. */
void ledger_pod_take_off(struct ledger *l, struct pod_entry *p);
void ledger_pod_follow_take_off(struct ledger *l, uint32_t node); /* LEDGER_NONE is fine */
void ledger_pod_set_nominated(struct ledger *l, struct pod_entry *p, struct str node_name);
/* Where it is nominated to again if its reservation is released (F162). */
void ledger_pod_keep_renominated(struct pod_entry *p, struct str node_name);
void ledger_pod_set_labels(struct ledger *l, struct pod_entry *p, const uint64_t *labels, size_t n);
void ledger_pod_drop(struct ledger *l, uint32_t pod);
/* The same, because the pod has ended: a departure, if it held something. */
void ledger_pod_end(struct ledger *l, uint32_t pod);
void ledger_pod_attach(struct ledger *l, uint32_t pod, uint32_t node);
/* The node stays known: follow with ledger_node_drop_if_empty once nothing will be attached to it. */
void ledger_pod_detach(struct ledger *l, uint32_t pod);
void ledger_pod_set_demand(struct ledger *l, struct pod_entry *p, const struct demand *d);
void ledger_pod_clear_refs(struct ledger *l, struct pod_entry *p);    /* devices, and what they were charged */
void ledger_pod_clear_devices(struct ledger *l, struct pod_entry *p); /* its floors stay */
void ledger_pod_free_devices(struct pod_entry *p);                    /* its trust, too */
void ledger_pod_set_state(struct ledger *l, struct pod_entry *p, enum ledger_pod_state state, int64_t at_ms);

#endif
