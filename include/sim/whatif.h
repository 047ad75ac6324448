/* sim/whatif.h - what another configuration would make of a saved state: a dry run that changes
 * nothing.
 *
 * Both sides are ledgers rebuilt from the document (sim/state_file.h): one as it is, one with
 * inventories and requests read as the other configuration reads them. The document does not hold
 * what pods and nodes literally say, so keys that give their words another meaning (resource names,
 * sizes, templates, overrides, pools, windows) are not judged: they stand in `unjudged`, and
 * running pods count as they are read today.
 *
 * A key that `fgpu serve` may have been given by a flag counts as a difference only if the new file gives it.
 *
 * The other side is what a process started with the new configuration would hold. One that reloads
 * keeps larger charges of running pods until they end.
 */
#ifndef SIM_WHATIF_H
#define SIM_WHATIF_H

#include "config/diff.h"
#include "core/survey.h"
#include "sim/state_file.h"

#include <stdbool.h>

#define WHATIF_SIZES_MAX 64
#define WHATIF_PENDING_MAX 1000 /* pods of which the choice is shown */
#define WHATIF_GPUS_MAX 1000    /* over-committed GPUs that are named */

struct whatif_size {
    char name[64];
    int64_t before, after; /* how many more fit; -1: this configuration has no such size */
};

struct whatif_gpu {
    struct str node, uuid;
    int32_t index;
};

struct whatif_pod {
    struct str namespace_, name;
    struct str before, after; /* the node it would get now, alone; empty: it fits nowhere */
};

struct whatif {
    struct arena arena;
    struct config_diff diff;
    const char *unjudged[16]; /* keys that differ and are not judged; ends with NULL */
    size_t pod_n;             /* that hold something */
    size_t recharged_n;       /* of these, charged otherwise */
    size_t node_n;
    size_t reread_n;                                  /* nodes whose GPUs have other capacities */
    size_t overcommitted_before, overcommitted_after; /* GPUs */
    struct whatif_gpu *gpus; /* over-committed by the new configuration alone */
    size_t gpu_n;            /* at most WHATIF_GPUS_MAX of them in `gpus` */
    struct survey before, after;
    struct whatif_size sizes[WHATIF_SIZES_MAX];
    size_t size_n;
    struct whatif_pod *pending;
    size_t pending_n; /* at most WHATIF_PENDING_MAX */
};

/* Text is borrowed from `state`, which must outlive `ret`; the caller ends that with whatif_fini.
 * ERR_LIMIT, or what ledger_apply says. */
WARN_UNUSED int whatif_run(const struct state_file *state, const struct config *next,
                           struct whatif *ret, struct err *reterr);
void whatif_fini(struct whatif *w);

#endif
