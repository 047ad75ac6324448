/* extender/second_look.h - a "no" that may only be late news gets a second look.
 *
 * kube-scheduler asks about a pod the instant it learns that another one is gone. Its watch can be
 * milliseconds ahead of ours; a refusal from the older ledger would park the pod until some other
 * event, or the scheduler's flush after five minutes. So a refusal waits for changes of the ledger,
 * SECOND_LOOK_MS at most, and is computed anew at each.
 *
 * Waiting costs the scheduler's serial cycle, so it has a budget: a quarter of the time at most. In
 * a flood of refusals most are answered at once; there the next event, and with it the next try, is
 * near.
 *
 * One thread; thread-safe.
 */
#ifndef EXTENDER_SECOND_LOOK_H
#define EXTENDER_SECOND_LOOK_H

#include "base/clock.h"
#include "base/err.h"
#include "extender/store.h"

#include <stdbool.h>

#define SECOND_LOOK_MS 100

struct second_look;

WARN_UNUSED int second_look_new(struct store *store, const struct clock *clock, struct second_look **ret,
                                struct err *reterr);
/* Answers everybody who waits, joins the thread. NULL is fine. */
void second_look_free(struct second_look *s);

/* Decides again. Returns true when it has answered; with `last` it must. */
typedef bool second_look_fn(void *ctx, bool last);

/* A pod was just refused on a ledger of this generation. False: answer now. True: `again` will be
 * called on the thread of this module, after changes of the ledger and finally with `last`, until it
 * has answered. */
bool second_look_wanted(struct second_look *s, uint64_t generation, second_look_fn *again, void *ctx);

#endif
