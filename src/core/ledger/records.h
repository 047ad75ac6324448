/* core/ledger/records.h - assignment records: which devices they name, and what a signed one grants on its node. */
#ifndef CORE_LEDGER_RECORDS_H
#define CORE_LEDGER_RECORDS_H

#include "core/ledger/device_table.h"
#include "core/ledger/ledger.h"
#include "core/record/assignment.h"
#include "core/request/demand.h"

struct node_entry;
struct pod_entry;
struct record_part;

/* ---- read (records.c) ---- */

/* Record and demand match one to one: the same containers, with as many devices as they ask for. */
bool ledger_matches_record(const struct demand *d, const struct assignment *as);
/* Reads the devices of such a record in the order of the GPU requests; begins with all else zero. */
struct record_reader {
    const struct demand *demand;
    const struct assignment *assignment;
    size_t w; /* the GPU request that the last device answers to */
    const struct assigned_container *container;
    size_t at;
};
const struct assigned_device *ledger_record_next(struct record_reader *r); /* NULL: there is no other */
/* The devices of every GPU request, malloc'ed, or NULL when record and demand do not match one to one. `as` may be
 * NULL. */
struct device_ref *ledger_refs_of_record(const struct ledger *l, const struct demand *d, const struct assignment *as,
                                         size_t *ret_n);
/* Does the annotation still say what we know: same decision, same devices? */
bool ledger_record_is_ours(const struct ledger *l, const struct pod_entry *p, const struct assignment *as);
/* Devices (p->refs) and floors from the record, and the demand to go by: `d`, or, where that is gone or spoilt,
 * the one that the record implies, in *recorded and `gpu_requests` (DEMAND_GPU_REQUESTS_MAX). `as` may be NULL. */
const struct demand *ledger_read_record(const struct ledger *l, struct pod_entry *p, const struct demand *d,
                                        const struct assignment *as, struct gpu_request *gpu_requests,
                                        struct demand *recorded);

/* ---- signed ones (grant.c) ---- */

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

/* ---- what they grant, on the node (granted.c) ---- */

void ledger_granted_charges(const struct node_entry *n, struct pod_entry *p);
/* A described node has every device that its pods were granted, lost ones included: adds those that are missing, as far
 * as there is room. */
void ledger_keep_granted(struct ledger *l, uint32_t node);
/* Devices that are known through records alone are as large as what is charged on them. */
void ledger_size_granted(struct ledger *l, uint32_t node);

#endif
