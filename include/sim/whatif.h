/* sim/whatif.h - what another configuration would make of the cluster as it is: a dry run that
 * changes nothing.
 *
 * Two ledgers of one cluster are compared, one read by each configuration with the same code that
 * serves: strategies, criteria and rules (core/placement/plan.h), tenants, settings of single nodes, pools.
 * They come from one of two places:
 *
 *   - from objects of the API server, as a process that starts would read them: everything that
 *     pods and nodes literally say is judged;
 *   - from a saved /state (sim/state_file.h), which holds what was understood of them and neither
 *     labels nor the words of requests. What another configuration would understand otherwise is
 *     then not judged, and `unjudged` says so, with the reason.
 *
 * Configurations are given as they are at one moment (config_at), so time windows count.
 *
 * A key that `fgpu serve` may have been given by a flag counts as a difference only if the new file
 * gives it.
 *
 * The other side is what a process started with the new configuration would hold. One that reloads
 * keeps larger charges of running pods until they end. No running pod is moved on either side.
 */
#ifndef SIM_WHATIF_H
#define SIM_WHATIF_H

#include "config/diff.h"
#include "core/report/capacity_totals.h"
#include "sim/state_file.h"

#include <stdbool.h>

#define WHATIF_SIZES_MAX 64
#define WHATIF_LIST_MAX 1000 /* elements of each list below; the numbers beside them count all */
#define WHATIF_UNJUDGED_MAX 64

struct whatif_question {
    const struct config *before, *after; /* as they are at the moment */
    const struct state_file *state;      /* that both sides are read from, or: */
    struct ledger *ledgers[2];           /* before, after: of the objects of one cluster; synced, with their tenants */
    const struct demand_histogram *mix;  /* what is expected; NULL: what each ledger learned */
};

struct whatif_unjudged {
    struct str key;      /* of the configuration, or what else */
    const char *because; /* and what would help */
};

struct whatif_size {
    char name[64];
    int64_t before, after; /* how many more fit; -1: this configuration has no such size */
};

struct whatif_gpu {
    struct str node, uuid;
    int32_t index;
};

/* A node of which something differs. */
struct whatif_node {
    struct str name;
    size_t gpu_n[2]; /* before, after */
    bool closed[2];
    bool capacity; /* another number of GPUs, or GPUs of other capacities */
};

/* A running pod that would be charged otherwise. */
struct whatif_charge {
    struct str namespace_, name, node;
    bool there[2]; /* does it hold GPUs, as this configuration reads it? */
    struct holding held[2];
};

struct whatif_tenant {
    struct str name;
    bool there[2];
    struct holding held[2];
    struct holding limit[2]; /* INT64_MAX: none */
};
/* Is it above its limit on this side? */
static inline bool whatif_tenant_is_over(const struct whatif_tenant *t, int side)
{
    return t->there[side] &&
           (t->held[side].milli > t->limit[side].milli || t->held[side].mem_mib > t->limit[side].mem_mib);
}

enum whatif_place {
    WHATIF_NODE, /* the node that it would get now, by itself */
    WHATIF_NOWHERE,
    WHATIF_NO_GPU,  /* as this configuration reads it, it asks for none */
    WHATIF_DEFECT,  /* its request cannot be understood */
    WHATIF_UNKNOWN, /* other pods' labels or the UUIDs of GPUs decide: not judged */
};

struct whatif_pod {
    struct str namespace_, name;
    enum whatif_place place[2];
    struct str node[2];
};

struct whatif {
    struct arena arena;
    struct config_diff diff;
    struct whatif_unjudged unjudged[WHATIF_UNJUDGED_MAX];
    size_t unjudged_n;
    size_t pod_n[2];     /* that hold something */
    size_t foreign_n[2]; /* of these, counted on every GPU of their node */
    size_t defect_n[2];  /* pods whose request cannot be understood */
    struct whatif_charge *charges;
    size_t recharged_n;
    struct whatif_node *nodes;
    size_t node_n, changed_n; /* all, and those in `nodes` */
    size_t reread_n;          /* of these: GPUs of other number or capacity */
    size_t closed_n[2];
    size_t pod_on_closed_n[2];
    size_t overcommitted_n[2]; /* GPUs */
    struct whatif_gpu *gpus;   /* over-committed by the new configuration alone */
    size_t gpu_n;
    struct whatif_tenant *tenants; /* in the order of the old configuration, then new ones */
    size_t tenant_n;
    struct capacity_totals capacity_totals[2];
    struct whatif_size sizes[WHATIF_SIZES_MAX];
    size_t size_n;
    struct whatif_pod *pending;
    size_t pending_n;
};

/* Text is borrowed from the question, which must outlive `ret`; the caller ends that with
 * whatif_fini. ERR_LIMIT, or what ledger_apply says. */
WARN_UNUSED int whatif_run(const struct whatif_question *q, struct whatif *ret, struct err *reterr);
void whatif_fini(struct whatif *w);

/* Does the new configuration over-commit a GPU, or take a tenant above its limit, that the old one
 * does not? */
bool whatif_is_worse(const struct whatif *w);

#endif
