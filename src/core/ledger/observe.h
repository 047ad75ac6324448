/* core/ledger/observe.h - what an observed pod does to the ledger.
 *
 * ledger_pod_observed() tells a pod that is seen where it was not (ledger_pod_adopt) from one that is seen where it is
 * (ledger_pod_reobserve).
 */
#ifndef CORE_LEDGER_OBSERVE_H
#define CORE_LEDGER_OBSERVE_H

#include "core/ledger/ledger.h"

struct pod_entry;

void ledger_pod_observed(struct ledger *l, const struct ledger_pod_fact *f, int64_t at_ms);

/* Puts the pod onto the node where it is seen for the first time, or where nobody knows its devices yet. `request` is
 * what it asks for if its record grants nothing. It may be gone afterwards. */
void ledger_pod_adopt(struct ledger *l, uint32_t pod, const struct ledger_pod_fact *f, const struct demand *request,
                      uint32_t node, int64_t at_ms);
void ledger_pod_reobserve(struct ledger *l, uint32_t pod, const struct ledger_pod_fact *f, const struct demand *asked,
                          int64_t at_ms);

/* The pod is charged what its signed record says; `asked` as `request` above. Follow with ledger_recompute. */
void ledger_take_grant(struct ledger *l, struct pod_entry *p, const struct ledger_pod_fact *f,
                       const struct demand *asked, int64_t at_ms);
/* Same containers with the same numbers of devices, so that the devices held still answer to the GPU requests? */
bool ledger_same_shape(const struct demand *a, const struct demand *b);
/* A request in resources cannot be edited: when its amounts read differently, the configuration has changed
 * (resource names, units). Without a signed record the charge of the day on which the pod got it becomes its floor. */
bool ledger_is_read_differently(const struct pod_entry *p, const struct demand *d);
void ledger_pod_keep_charges(const struct ledger *l, struct pod_entry *p);

/* What people read of a pod whose annotations contradict what is known of it. */
extern const char ledger_conflict_record[];
extern const char ledger_conflict_request[];
extern const char ledger_conflict_reading[];
extern const char ledger_conflict_no_record[]; /* of a pod that was bound past us */
extern const char ledger_conflict_signature[]; /* of one whose record somebody else wrote */

#endif
