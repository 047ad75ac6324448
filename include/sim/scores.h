/* sim/scores.h - what a strategy thought of every candidate, for who checks its formula from outside.
 *
 * A table with a line for each decision and each node that was asked, in the order of the ledger: those with enough
 * cores and memory of the machine. Columns: decision (from 0), pod (its row in the file of pods, from 0), scarce_cpu,
 * churn and places (f, chi and beta of packing.md 5.1 in sixteenths, which only rsp reads), node (its row in the file
 * of nodes, from 0), verdict (verdict_name()) and score (of the best placement on this node, in units of 1/1280 milli
 * for rsp; empty where the pod does not fit). Decisions of one replay, in order: two replays would be mixed.
 */
#ifndef SIM_SCORES_H
#define SIM_SCORES_H

#include "base/err.h"
#include "core/forecast/forecast.h"
#include "core/placement/pack.h"

#include <stdint.h>
#include <stdio.h>

/* A file of this name is replaced. */
WARN_UNUSED int scores_open(const char *path, FILE **ret, struct err *reterr);
/* What could not be written of the lines since then is found here. */
WARN_UNUSED int scores_close(FILE *f, const char *path, struct err *reterr);

struct scores_decision {
    uint64_t number;
    uint32_t pod;
    const struct forecast_prices *prices;
};

void scores_write(FILE *f, const struct scores_decision *of, uint32_t node, const struct pack_result *r);

#endif
