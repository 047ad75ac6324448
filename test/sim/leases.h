/* sim/leases.h - what admins and other programs do to the Leases of fgpu. */
#ifndef SIM_LEASES_H
#define SIM_LEASES_H

#include <stdbool.h>

/* What a writer of another program may make of it; not that it was given back. `frees`: so that another one takes it at
 * once. */
void leases_edit_election(bool frees);
/* What an admin may do to one of them without harm. */
void leases_edit_intents(void);

#endif
