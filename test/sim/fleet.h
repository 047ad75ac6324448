/* sim/fleet.h - the processes of fgpu that there are at a time, and what becomes of them: they are killed, ended in
 * order, rolled over, stopped for moments or for longer than their Lease and continued, cut off from the API servers;
 * the Lease is deleted and edited by an admin. Whoever lost the Lease ends and is started again.
 *
 * FLEET_MISTAKE: a second one that somebody starts from time to time, and roll-overs in which the next one is there
 * before the one before has gone. In calm there is one.
 * FLEET_STRICT: all of them decide, in calm, too. An admin deletes the Leases of their intents, labels them, and writes
 * over one by mistake, which he mends.
 */
#ifndef SIM_FLEET_H
#define SIM_FLEET_H

#include <stddef.h>

struct climate;
struct process;

void fleet_init(const struct climate *c);
void fleet_storm(void);
void fleet_calm(void);
void fleet_over(void); /* nobody is started any more */
/* Something happens to one of them, perhaps. */
void fleet_act(void);
/* After each event. */
void fleet_step(void);
/* Whom a caller reaches: mostly one that is ready. It may be dead. */
struct process *fleet_target(void);
unsigned fleet_ready_n(void);
unsigned fleet_ready_in_calm_n(void); /* how many there have to be then */
/* "3 by a Lease: 12 successors, ..." */
const char *fleet_text(char *buf, size_t size);

#endif
