/* sim/users.h - users, kubelets and admins: what they do to pods and nodes, at random. */
#ifndef SIM_USERS_H
#define SIM_USERS_H

#include "world.h"

void users_init(const struct climate *c);
void users_act(void); /* one thing */
struct object;
/* At once if no kubelet has it; else it has its time. May free it. */
void users_delete(struct object *o);
/* Pods whose charge depends on who saw what, and those that are being deleted, go. */
void users_tidy(void);

#endif
