/* sim/admins.h - who owns the nodes: what they do to them, at random. */
#ifndef SIM_ADMINS_H
#define SIM_ADMINS_H

#include "world.h"

void admins_init(const struct climate *c);
void admins_act(void); /* one thing */

#endif
