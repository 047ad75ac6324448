/* core/ledger/overcommit.h - devices that are charged more than they have: transitions, and whether that is a
 * fault of fgpu (core/ledger/excess.h).
 */
#ifndef CORE_LEDGER_OVERCOMMIT_H
#define CORE_LEDGER_OVERCOMMIT_H

#include <stdbool.h>
#include <stdint.h>

struct ledger;
struct ledger_device;
struct node_entry;
struct pod_entry;

void ledger_overcommit_note(struct ledger *l, uint32_t node); /* recomputed */
void ledger_overcommit_gone(struct ledger *l, uint32_t node, struct ledger_device *d);
/* `now` stands where `before` stood. */
void ledger_overcommit_carry(struct ledger *l, uint32_t node, struct ledger_device *before, struct ledger_device *now);
void ledger_overcommit_follow(struct ledger *l, int64_t at_ms); /* at the end of an op */

/* ---- what more than there is has been given away for (excess.c) ---- */

void ledger_grant_keep(struct ledger *l, struct pod_entry *p); /* just reserved */
/* Are the pods that were placed here, each with no more than it was granted, too much for the device? */
bool ledger_grants_exceed(const struct ledger *l, const struct node_entry *n, uint32_t ordinal);
/* ... each with all that it was first granted of it, wherever and whatever it is charged now? */
bool ledger_grants_outgrow(const struct ledger *l, const struct node_entry *n, uint32_t ordinal);

#endif
