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
 * Units: milli, MiB, slots, as in core/fit/device_state.h. Lock: as the ledger.
 */
#ifndef CORE_LEDGER_EXCESS_H
#define CORE_LEDGER_EXCESS_H

#include "core/ledger/ledger.h"

#include <stdbool.h>
#include <stddef.h>
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

/* A pod that is charged on the device. */
struct ledger_excess_pod {
    struct str uid, namespace_, name;
    unsigned causes;      /* of the bits above those that are this pod's; 0: it takes what it was granted here */
    struct charge charge; /* on this device */
    bool granted;         /* this process gave it this device first */
    int64_t since_ms;     /* as in struct snapshot_pod */
};

#define EXCESS_PODS_MAX 32

/* An over-committed device. */
struct ledger_excess {
    struct str node_name;
    struct str uuid; /* empty: the device is its index */
    int32_t index;
    unsigned causes;                /* at least one bit, of enum excess_cause */
    int32_t milli_over, slots_over; /* charged beyond the capacity; 0: within */
    int64_t mem_mib_over;
    const struct ledger_excess_pod *pods; /* the first EXCESS_PODS_MAX, in order of attachment */
    size_t pod_n;
    size_t more_pod_n; /* that are not among `pods` */
};

/* Hands out the over-committed devices of at most `max` node slots from *at on, and moves *at behind them; false at the
 * end. What is handed out is borrowed for the call of `fn`: copy what is to be kept. A node keeps its slot while it
 * lives, so what is over-committed all the time is seen exactly once, whatever happens between two calls. */
typedef void ledger_excess_fn(void *ctx, const struct ledger_excess *e);
bool ledger_excesses(const struct ledger *l, uint32_t *at, uint32_t max, ledger_excess_fn *fn, void *ctx);

#endif
