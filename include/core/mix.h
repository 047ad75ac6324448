/* core/mix.h - what pods ask for, counted: the demand mix that strategies which look ahead expect to go on.
 *
 * Learned online by the ledger: a pod counts once, when it is first observed asking for GPUs, bound or not (after a
 * restart the running pods teach the mix anew), or, asking for none, when it is first seen bound to a node. A
 * departure is counted when a pod that held something ends. Given mixes (fgpu sim --mix given) have the same form.
 *
 * A pure fold of those events, so replicas that saw the same events have the same mix.
 */
#ifndef CORE_MIX_H
#define CORE_MIX_H

#include "core/demand.h"

#include <stddef.h>
#include <stdint.h>

struct mix;

struct mix *mix_new(void);
void mix_free(struct mix *m); /* NULL is fine */

/* A pod with this demand has come; defective ones do not count. The demand is copied. */
void mix_arrived(struct mix *m, const struct demand *d);
/* A pod that held something has ended. */
void mix_departed(struct mix *m, const struct demand *d);

#endif
