/* core/ledger/device_table.h - the devices of the nodes, as the ledger keeps them.
 *
 * What changes from op to op of a device, its state, stands in one contiguous array in which each node owns an extent
 * (so that a decision over all nodes reads memory in few places); what a device is stands with its node.
 */
#ifndef CORE_LEDGER_DEVICE_TABLE_H
#define CORE_LEDGER_DEVICE_TABLE_H

#include "base/compiler.h"
#include "base/str.h"
#include "model/device.h"

#include <stdbool.h>
#include <stdint.h>

struct inventory;
struct ledger;
struct node_entry;
struct pod_entry;

#define LEDGER_NONE UINT32_MAX /* no place in a table */

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
    int16_t part_milli;
    int32_t gpu_index;
    int32_t slot_n;
    int64_t mem_mib;
    bool healthy;
    bool lost;          /* no longer in the inventory, kept for the pods that hold it */
    bool recorded;      /* lost, and known through signed records alone: as large as what they give of it */
    bool overcommitted; /* at the end of the last op */
    bool booked;        /* twice: core/ledger/incidents.h, with the next two */
    int64_t booked_ms;  /* since */
    uint64_t fitted;    /* generation in which its known holders last fitted; 0: never */
    bool outgrown;      /* since a description of its node: less than what was granted of it, whatever is charged now */
    bool shrunk;        /* over-committed, and a description of its node took capacity away (core/ledger/excess.h) */
    bool overbooked;    /* over-committed by a reservation, which must never be */
};

/* Taken whole, and which one fgpu says. */
static inline bool ledger_is_slice(const struct ledger_device *d)
{
    return d->slice || (d->profile != 0 && d->profile != DEVICE_IN_MIG_MODE && !d->counted);
}

/* ---- identity (lookup.c) ---- */

/* Same device? By UUID where both have one, else by index. */
bool device_ref_equal(struct device_ref a, struct device_ref b);
struct device_ref ledger_device_ref(const struct ledger *l, struct str uuid, int32_t index);
/* The ordinal on the node of what the pod knows as `ref`, or LEDGER_NONE. What is there comes before what was there,
 * and that before what signed records alone know, which prove nothing of a pod that has none: what a pod has follows
 * from the node and its own record, not from those of others. */
uint32_t ledger_device_find(const struct node_entry *n, const struct pod_entry *p, struct device_ref ref);
/* The UUID of a device, also of one that is known through records alone; empty: it is its index. */
struct str ledger_device_uuid(const struct ledger *l, const struct node_entry *n, const struct ledger_device *d);

/* ---- the table (devices.c) ---- */

/* Room for more device states; ledger_new makes the first. */
void ledger_states_grow(struct ledger *l);
/* All devices of an inventory for this node, or none: false, when there are too many models. */
WARN_UNUSED bool ledger_devices_take_in(struct ledger *l, const struct inventory *inv, const struct node_entry *n,
                                        struct ledger_device *ret);
/* Puts the new devices in place, and takes them over: what the inventory says, then what it no longer says but a pod
 * holds. */
void ledger_devices_set(struct ledger *l, uint32_t node, const struct ledger_device *fresh, uint32_t fresh_n);
/* One more than the inventory has. Follow with ledger_recompute. */
void ledger_node_add_device(struct ledger *l, uint32_t node, const struct ledger_device *d);
/* Drops devices that left the inventory once no pod holds them any more. */
void ledger_node_forget_lost(struct ledger *l, uint32_t node);
void ledger_devices_free(struct ledger *l, uint32_t node);

#endif
