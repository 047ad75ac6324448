/* extender/change_overs.h - groups of node pools change over step by step (core/time/change_over.h, decision 0084).
 *
 * Each look takes the facts of all groups from the ledger and from the commands, lets core/time/change_over.h decide,
 * and gives the commands their orders. Who is admitted reaches the nodes by another configuration
 * (cmd/config_apply.h), which is in effect when all nodes have been read by it; the next look finds out.
 *
 * A group is told by its name and its pools: with other pools, or when fgpu starts, it begins anew, with nobody
 * admitted. When it is no longer in the configuration the entries of its pools alone say which nodes are open.
 *
 * People are told of each step in the log and, but for those that pass by themselves, by Events on fgpu's own pod: who
 * is waited for, a command that fails (once for each failure that is another), the end.
 *
 * Draining, where the policy says so: while pods are waited for, and have been for evict_after_ms of a clock that
 * nobody sets, those that fgpu bound beyond doubt (struct pool_pod) and that are not being deleted are evicted. All
 * others are waited for. Nobody is evicted by facts that are not settled.
 *
 * One caller of change_overs_look() at a time; the others from any thread. The lock is a leaf: nobody is called with
 * it.
 */
#ifndef EXTENDER_CHANGE_OVERS_H
#define EXTENDER_CHANGE_OVERS_H

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "core/time/change_over.h"
#include "extender/evictor.h"
#include "extender/pool_commands.h"
#include "extender/store.h"
#include "model/policy.h"

#include <stdbool.h>
#include <stdint.h>

struct change_overs;
struct events;

/* Borrowed for its life. */
struct change_overs_options {
    struct store *store;
    const struct clock *clock;
    const struct log *log;
    struct events *events; /* NULL: nobody is told */
    bool rehearses;        /* no command is run, so none is waited for */
    /* pool_commands_list() and pool_commands_order() of whoever runs the commands. */
    size_t (*list)(void *commands, struct arena *a, const struct pool_command_status **ret);
    void (*order)(void *commands, struct str pool, enum pool_order order);
    void *commands;
    /* This pod of ours is to go (evictor_evict); why it has not gone yet, or "" (evictor_trouble). NULL: nobody is
     * evicted, whatever the policy says. */
    void (*evict)(void *evictions, const struct pool_pod *pod);
    void (*trouble)(void *evictions, struct str uid, char ret[EVICTION_TROUBLE_MAX]);
    void *evictions;
};

struct change_overs *change_overs_new(const struct change_overs_options *o);
void change_overs_free(struct change_overs *c); /* NULL is fine */

/* policy.admitted_pools for this policy: the pools of its groups that are admitted now. */
uint64_t change_overs_admitted(struct change_overs *c, const struct policy *p);

/* One look, every second or so, at the policy in effect. `settled` says whether every object was read by it and none
 * other waits (config_apply_is_settled); it is asked before and after the ledger is read. True: other pools are
 * admitted now. */
bool change_overs_look(struct change_overs *c, const struct policy *p, bool (*settled)(void *ctx), void *ctx);

/* How many groups are at each step, and for how long the one that has been changing over the longest (0: none is). */
struct change_overs_counts {
    uint32_t at[CHANGE_OVER_STEP__MAX];
    int64_t longest_ms;
};
void change_overs_count(struct change_overs *c, struct change_overs_counts *ret);

#define CHANGE_OVER_PODS_SHOWN 20

struct change_over_status {
    struct str group;
    enum change_over_step step;
    int64_t since_ms, began_ms;  /* the step, the change; wall clock */
    struct str wanted;           /* the pool that is to be open; empty: none, or several */
    struct str admitted;         /* the pool that takes pods; empty: none */
    size_t pod_n;                /* that are waited for */
    const struct pool_pod *pods; /* the first of them; uid, namespace_, name, node_name */
    const struct str *troubles;  /* why each of these was not evicted the last time; empty: it was not tried, or was */
    size_t shown_n;
    bool drains;       /* the policy says so */
    struct str failed; /* the pool whose command failed the last time; empty: none */
    struct str error;
};
/* As of the last look, in the order of the file; text and arrays in `a`. NULL is fine; when the arena is full it is
 * none. */
size_t change_overs_list(struct change_overs *c, struct arena *a, const struct change_over_status **ret);

#endif
