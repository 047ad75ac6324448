/* core/ledger/reserve.h - reservations: made, confirmed, released. */
#ifndef CORE_LEDGER_RESERVE_H
#define CORE_LEDGER_RESERVE_H

#include "core/ledger/ledger.h"

int ledger_reserve_apply(struct ledger *l, const struct ledger_reserve *r, int64_t at_ms, struct err *reterr);
/* An attached pod is pending again, and asks for what was seen last. It may be gone afterwards. */
void ledger_pod_unplace(struct ledger *l, uint32_t pod, int64_t at_ms);
int ledger_confirm_apply(struct ledger *l, struct str uid, int64_t at_ms, struct err *reterr);
int ledger_release_apply(struct ledger *l, struct str uid, int64_t at_ms, struct err *reterr);

#endif
