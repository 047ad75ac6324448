/* sim/testbed.h - one cluster under one strategy, made of the very parts that decide in production.
 *
 * Every decision goes through core/placement/pack.h over a view of a struct ledger with remembered scores;
 * every pod is observed, reserved, confirmed and observed bound, as extender and watch would do it.
 * What kube-scheduler does in a cluster is done here: a node without enough cores or memory is not
 * asked about, and pods that want no GPU are placed too (by the same score). Ties go to the node of
 * the smallest rank.
 */
#ifndef SIM_TESTBED_H
#define SIM_TESTBED_H

#include "base/err.h"
#include "core/fit/strategy.h"
#include "sim/trace.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum testbed_mix {
    TESTBED_MIX_GIVEN,   /* the pods of the trace, each once, are what is expected */
    TESTBED_MIX_LEARNED, /* what the ledger has seen so far, beginning with nothing */
};

struct testbed;

/* `t` is borrowed and not changed; node_rank as in struct arrivals (a saved cluster breaks ties by
 * name). */
struct testbed *testbed_new(const struct trace *t, const uint32_t *node_rank, const struct strategy *s,
                            enum testbed_mix mix);
void testbed_free(struct testbed *b); /* NULL is fine */

/* From now on the scores of every decision go there (sim/scores.h); NULL: no more. Borrowed. Not on a saved cluster,
 * whose nodes have no rows. */
void testbed_write_scores(struct testbed *b, FILE *f);

/* Where a pod went: the row of its node, and its devices there, a bit each in the order of trace_devices(). */
struct testbed_place {
    uint32_t node; /* TESTBED_NOWHERE: refused */
    uint64_t devices;
};

#define TESTBED_NOWHERE UINT32_MAX

/* Pod `row` of the trace arrives under the number `id`, which no living pod has. False: it fits
 * nowhere and is gone for good. `ret`: NULL, or where it went; not on a saved cluster, whose nodes have no rows. */
bool testbed_arrive(struct testbed *b, uint32_t id, uint32_t row, struct testbed_place *ret);
/* A pod that was placed ends. */
void testbed_leave(struct testbed *b, uint32_t id);

/* Percent of the idle compute that the pods that are expected cannot use; 100 where nothing is
 * idle. */
double testbed_fragmentation(struct testbed *b);

#endif
