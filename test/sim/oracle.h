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
 * Of processes that elect one by a Lease the same is demanded with another measure of late: so long after it left that
 * a hold-off is over, where nothing leaves but while the process may bind: less than renewDeadline after it sent its
 * last renewal that it knows to have landed, and never after another one has begun (oracle_lead.c). Of two that
 * somebody runs by mistake at once, that what they give twice is noticed.
 *
 * Of strict ones (FLEET_STRICT) there is no late: whatever lands when, of however many, and without a hold-off, no GPU
 * has more than it has. When a decision was made is not when its Binding was sent: its intent was written in between.
 *
 * And at any time: whatever may still land of a living process is charged in its ledger (design.md 3.1.4); a GPU that
 * has more than it has is closed there as soon as its watch has told it of all who hold it, and if pods were given it
 * so, that is an incident there.
 */
#ifndef SIM_ORACLE_H
#define SIM_ORACLE_H

#include "etcd.h"

struct call;
struct process;

/* Which processes there are at a time: one; several that elect one by a Lease; two by mistake; or any number of them
 * that are strict (decision 0103). */
enum fleet { FLEET_ONE, FLEET_LEASE, FLEET_MISTAKE, FLEET_STRICT, FLEET__MAX };

/* How late news may be, at most. */
void oracle_init(enum fleet fleet, int64_t lag_ms);
void oracle_saw(const struct object *o, enum change_type type);
/* A process is asked to bind a pod. */
void oracle_asked(const struct process *p, const char *uid);
/* A call is submitted; the first Binding of a decision tells what was known when it was made. It leaves, and again. It
 * is answered (0: not by an API server). */
void oracle_submitted(const struct call *c);
void oracle_leaves(const struct call *c);
void oracle_answered(const struct call *c, int http_status);
/* A PUT of the Lease lands: JSON of its spec, before and after. */
void oracle_renewed(const struct call *c, const char *before, const char *after);
/* A Binding has been written into `o`, which is not a revision yet. */
void oracle_granted(const struct process *of, struct object *o, int64_t left_ns);
/* What a pod that is there was given of a GPU when its Binding landed. False: nothing. */
struct oracle_given {
    int milli, mem_mib;
    bool whole;
};
bool oracle_gave(const char *uid, const char *uuid, struct oracle_given *ret);
/* It is ready now: if it left the hold-off out, nothing of anybody before it may land any more. */
void oracle_ready(struct process *p);
/* After every step, of each that lives. */
void oracle_step(struct process *live);
/* Nothing has gone wrong for long, and nothing is on its way: every pod that fits is bound, and the ledger charges what
 * is held and no more. */
void oracle_calm_pods(const struct process *ready);
void oracle_calm(struct process *live);
/* A process that has just read everything says the same as one that saw it happen. */
void oracle_compare(struct process *live, struct process *fresh);

struct oracle_counts {
    uint64_t granted_n, late_n, over_n, pending_checked_n, calm_n, compared_n, skipped_n, incident_n, successor_n;
};
extern struct oracle_counts oracle_counts;

#endif
