/* core/ledger/incident_table.h - which incidents there are, and who says that one may have begun or ended
 * (core/ledger/incidents.h): incidents.c. */
#ifndef CORE_LEDGER_INCIDENT_TABLE_H
#define CORE_LEDGER_INCIDENT_TABLE_H

#include "core/ledger/incidents.h"
#include "core/ledger/ledger.h"

struct ledger_device;
struct pod_entry;

struct incidents {
    struct incident_count counts[INCIDENT_KIND__MAX];
    struct incident *news, *news_last; /* not taken yet, oldest first */
    uint32_t news_n;
};

/* At the end of an op that recomputed the node, once it is known whether the device is over-committed. */
void ledger_booking_follow(struct ledger *l, uint32_t node, uint32_t ordinal, int64_t at_ms);
void ledger_booking_gone(struct ledger *l, uint32_t node, struct ledger_device *d);
/* Before the op: will it show, to a process that decides, a Binding of a pod that nobody has seen bound? */
bool ledger_decision_is_open(const struct ledger *l, const struct ledger_op *op);
void ledger_decision_observed(struct ledger *l, const struct ledger_op *op, bool was_open);
/* The record of an attached pod is found to hold: now it is known whose decision it is. */
void ledger_decision_verified(struct ledger *l, uint32_t pod, int64_t at_ms);
void ledger_decision_gone(struct ledger *l, const struct pod_entry *p); /* with its pod */

#endif
