/* sim/oracle.h - who holds what, from the history of API writes alone. Shares no code with src/core.
 *
 * A pod holds what the record of the Binding that landed names, from that moment until its object is gone or Succeeded,
 * whatever happens to the record later. Records are read with cJSON. Demanded of every Binding that lands:
 *
 *   - its record gives what the pod asked for, on GPUs of that node that were there when it was decided;
 *   - with everything that its process could know, no GPU has more than it has: what the process itself bound, and what
 *     its watch of pods had told it when it sent;
 *   - with what it could not know, neither, unless that was late: landed so long after its sender's end that the
 * hold-off of every process in between was over (design.md 8: LAG is what a watch may lag behind).
 *
 * And at any time: whatever may still land of a living process is charged in its ledger (design.md 3.1.4); a GPU that
 * has more than it has is closed there as soon as its watch has told it of all who hold it, and is an incident.
 */
#ifndef SIM_ORACLE_H
#define SIM_ORACLE_H

#include "etcd.h"

struct process;

/* How late news may be, at most. */
void oracle_init(int64_t lag_ms);
void oracle_saw(const struct object *o, enum change_type type);
/* A Binding is sent. The first one of a decision tells what was known when it was made. */
void oracle_sent(const struct process *of, const char *body);
/* A Binding has been written into `o`, which is not a revision yet. */
void oracle_granted(const struct process *of, struct object *o);
/* It is ready now: if it left the hold-off out, nothing of anybody before it may land any more. */
void oracle_ready(struct process *p);
/* After every step. */
void oracle_step(struct process *live);
/* Nothing has gone wrong for long, and nothing is on its way: every pod that fits is bound, and the ledger charges what
 * is held and no more. */
void oracle_calm(struct process *live);
/* A process that has just read everything says the same as one that saw it happen. */
void oracle_compare(struct process *live, struct process *fresh);

struct oracle_counts {
    uint64_t granted_n, late_n, over_n, pending_checked_n, calm_n, compared_n, skipped_n;
};
extern struct oracle_counts oracle_counts;

#endif
