/* core/ledger/excess.h - why is more of a device charged than there is?
 *
 * A device may be over-committed without any fault of the ledger: the API server shows what it shows, and the ledger
 * charges it (design.md 3.1). It is never without a cause, though, and every cause is a fact that the ledger holds and
 * that ends:
 *
 *   capacity   a description of the node took away what was given before. It may show only later, because a share takes
 *              less of a smaller device; ends when the charges fit again
 *   unproven   a pod is charged here because nobody can prove where it is: no record, kubelet picked, or only its
 *              index joins it to the device; ends when its devices become known, or with the pod
 *   raised     a pod that was placed here takes more than it was granted: its request or its reading changed; ends when
 *              it falls back, or with the pod
 *   recorded   the record of a pod that this process did not place names the device: another process placed it, or
 *              this one before it was restarted; ends with the pod
 *   reserved   a reservation of this process took what was not free
 *
 * The last is a broken invariant, and so is a device that is too small for nothing but what was granted here:
 * ledger_check() says so, because only a fault of fgpu can bring it about. All others come from outside, are no reason
 * to stop, and are never clean: who judges the ledger (audits, /state) asks here.
 *
 * The devices first granted are remembered beside those of the record: a pod that was placed here keeps them while it
 * lives on that node, whatever its annotations say later.
 *
 * Lock: as the ledger.
 */
#ifndef CORE_LEDGER_EXCESS_H
#define CORE_LEDGER_EXCESS_H

#include "core/ledger/ledger.h"

#include <stdbool.h>
#include <stdint.h>

enum excess_cause { /* bits */
                    EXCESS_CAPACITY = 1 << 0,
                    EXCESS_UNPROVEN = 1 << 1,
                    EXCESS_RAISED = 1 << 2,
                    EXCESS_RECORDED = 1 << 3,
                    EXCESS_RESERVED = 1 << 4,
};
#define EXCESS_CAUSE_N 5
/* Of one bit: "capacity", "unproven", "raised", "recorded", "reserved". */
const char *excess_cause_name(enum excess_cause c);

/* Adds to `counts`, by cause, the over-committed devices of at most `max` node slots from *at on, and moves *at behind
 * them; false at the end. Each such device has one cause at least. A node keeps its slot while it lives, so what is
 * over-committed all the time is counted exactly once, whatever happens between two calls. */
bool ledger_excess_causes(const struct ledger *l, uint32_t *at, uint32_t max, uint64_t counts[EXCESS_CAUSE_N]);

#endif
