/* core/outlook.h - what is expected to come: the part of a decision that no node can tell by
 * itself.
 *
 * Made from a demand mix (the one the ledger learns, or a given one) and from the nodes of a
 * ledger. It is a function of the two, brought up to date by outlook_follow(); whoever serialises
 * the ledger owns it and serialises it with the ledger (extender/store.c, fgpu sim). It reads the
 * ledger and changes nothing there.
 *
 * For strategies that say `looks_ahead` only; any other needs no outlook.
 */
#ifndef CORE_OUTLOOK_H
#define CORE_OUTLOOK_H

#include "core/demand.h"
#include "core/strategy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ledger;
struct mix;
struct outlook;

struct outlook *outlook_new(void);
void outlook_free(struct outlook *o); /* NULL is fine */

/* From now on this is expected (settle it first), whatever the ledger learns; NULL: what the ledger
 * learns, as in the beginning. Borrowed until the next call. How many pods depart is still learned
 * from the ledger. */
void outlook_give_mix(struct outlook *o, const struct mix *m);

/* Follows the ledger, as far as the strategy needs it. Does a bounded amount of work: false means
 * that there is more to do, call again (the caller may let others at the ledger in between). Costs
 * next to nothing when nothing has changed. Before every decision; every op that changes the ledger
 * makes the outlook stale. An outlook follows one ledger all its life. */
bool outlook_follow(struct outlook *o, const struct ledger *l, const struct strategy *s);

/* ---- typical pods, for the strategy fgd and for what is shown about fragmentation ---- */

/* A shape of pods, memory left out. Together: the most frequent ones that make 95 % of all pods
 * (packing.md: "Typical pods"), GPU-less ones included; most frequent first, then larger cpu,
 * milli, count, models. Probabilities add up to 1. */
struct outlook_typical {
    int32_t cpu_milli;
    int32_t milli;  /* per device; 0 with count 0. Of a wish for memory alone: its part of the
                       largest device */
    uint16_t count; /* devices */
    bool unsteered; /* of a plugin */
    size_t model_n;
    const struct device_pattern *models;
    const uint8_t *allowed_models; /* by model_id of the ledger; NULL: every model */
    double probability;
};

/* Valid until the next outlook_follow or outlook_give_mix. */
size_t outlook_typical_n(const struct outlook *o);
const struct outlook_typical *outlook_typical(const struct outlook *o); /* that many */
/* Changes when the typical pods do. */
uint64_t outlook_typical_version(const struct outlook *o);

#endif
