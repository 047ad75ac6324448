/* core/ledger/sight.h - what a mirror lacks for deciding without the ledger: models by their names, tenants and what is
 * left to them, and whether pods or nodes are of a kind that decisions look at in other ways.
 *
 * Lock: ledger_sight_take() reads the ledger, so it needs its lock; take it in the section of mirror_follow(), so that
 * both are of one moment. All else needs none. It owns its memory. What has not changed is not copied again.
 */
#ifndef CORE_LEDGER_SIGHT_H
#define CORE_LEDGER_SIGHT_H

#include "core/ledger/ledger.h"
#include "core/tenancy/tenancy.h"

#include <stdbool.h>
#include <stdint.h>

struct ledger_sight {
    struct str *models; /* by model_id; empty: not in use */
    uint32_t model_n;
    uint64_t model_version;
    struct tenancy tenancy;    /* tenants and their namespaces, nothing of what is held */
    struct holding *residuals; /* by tenant: what is left */
    bool isolates;             /* some pod keeps away from others (fgpu.io/isolate-from) */
    bool sliced;               /* some node has fixed slices (core/fit/slack.h) */
    bool synced;               /* all nodes and pods are known */
};

void ledger_sight_init(struct ledger_sight *s);
void ledger_sight_fini(struct ledger_sight *s);
/* O(models + tenants). */
void ledger_sight_take(struct ledger_sight *s, const struct ledger *l);

#endif
