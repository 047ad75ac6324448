/* extender/store_sections_internal.h - one decision over many nodes, in sections short enough for writers to wait.
 *
 * store_pack.c takes plain decisions, store_plan.c those by rules and several criteria. Both judge names section by
 * section, with the store's lock held for one section at a time, and see the cluster change in between.
 */
#ifndef EXTENDER_STORE_SECTIONS_INTERNAL_H
#define EXTENDER_STORE_SECTIONS_INTERNAL_H

#include "extender/store_internal.h"

/* What is expected, as it was when a decision began: all nodes are judged alike, in whatever sections. Prices are kept
 * by value; what they are prices of, and the typical pods, are made anew after a few percent more pods, and then the
 * decision begins again. */
struct store_sight {
    struct forecast_prices prices;
    uint64_t typical_version;
};

static inline void store_sight_take(struct store_sight *sight, const struct store *s)
{
    sight->prices = *forecast_prices(s->forecast);
    sight->typical_version = forecast_typical_version(s->forecast);
}

static inline bool store_sight_holds(const struct store_sight *sight, const struct store *s)
{
    return forecast_prices(s->forecast)->basis == sight->prices.basis &&
           forecast_typical_version(s->forecast) == sight->typical_version;
}

/* What one call of store_pack() is about. */
struct store_question {
    const struct view_pod *pod;
    const struct pack_tentative *tentatives;
    size_t tentative_n;
    const struct str *names;
    size_t name_n;
};

struct store_sections;

/* All under the lock. */
struct store_sections_ops {
    /* Brings the forecast up to date; false: a section's worth of work is done and there is more. */
    bool (*look_ahead)(struct store_sections *d, struct store *s);
    /* From the first name. `seen` has a bit for every node of the view, none of them set. */
    void (*begin)(struct store_sections *d, const struct ledger_view *v, uint64_t *seen);
    /* The next `n` names, at least one, from `d->done` on; results go behind those of `ret`. Returns how many names it
     * has answered. */
    size_t (*judge)(struct store_sections *d, struct store *s, const struct ledger_view *v, size_t n,
                    struct store_pack_answer *ret);
};

/* The first member of what the caller keeps of a decision. */
struct store_sections {
    const struct store_sections_ops *ops;
    const struct store_question *question;
    size_t section_n; /* names of the next section, at most */
    /* Kept by store_answer_in_sections(): */
    struct store_sight sight;
    uint64_t names_version;
    size_t done;  /* names answered */
    bool at_once; /* all that are left: sections would not end, or each of them costs a pass over the pods */
    unsigned begun_n;
};

/* Error: the arena is full. */
WARN_UNUSED int store_answer_in_sections(struct store *s, struct arena *a, struct store_sections *d,
                                         struct store_pack_answer *ret, struct err *reterr);

/* store_pack() where the resolved plan has several groups or criteria; ret->results has room for all names. */
WARN_UNUSED int store_pack_planned(struct store *s, struct arena *a, const struct store_question *q,
                                   const struct resolved_plan *resolved_plan, struct store_pack_answer *ret,
                                   struct err *reterr);
/* Names of unknown nodes that come again; returns how many results stay. */
size_t store_drop_unknown_repeats(struct pack_result *results, size_t n);

#endif
