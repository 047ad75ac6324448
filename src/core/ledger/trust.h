/* core/ledger/trust.h - which records are believed: a list of those that nobody has verified yet, and verdicts. */
#ifndef CORE_LEDGER_TRUST_H
#define CORE_LEDGER_TRUST_H

#include "core/ledger/ledger.h"

struct pod_entry;

/* `proof` is copied, and empty unless the record is provisional. */
void ledger_trust_set(struct ledger *l, struct pod_entry *p, enum record_trust trust, struct str proof);
/* The signature of its record does not hold. `proof` stays, so that the same record is known again. */
void ledger_trust_refuse(struct ledger *l, struct pod_entry *p, struct str proof);
int ledger_judged_apply(struct ledger *l, const struct ledger_judged *j, int64_t at_ms);

#endif
