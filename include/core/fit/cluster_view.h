/* core/fit/cluster_view.h - the numbers of all nodes, to read: what somebody needs who looks at the cluster as a whole.
 *
 * Who keeps the nodes gives it out (ledger_cluster_view() in core/ledger/ledger.h); who reads it knows nothing of pods,
 * records and reservations. Borrowed: it points into the ledger and is valid until the next op. A copy of the struct is
 * as good as the struct. No lock: whoever keeps the ledger from changing may read.
 */
#ifndef CORE_FIT_CLUSTER_VIEW_H
#define CORE_FIT_CLUSTER_VIEW_H

#include "base/intern.h"
#include "core/fit/device_state.h"

#include <stdint.h>

struct demand_histogram;

/* So many of the last changes of nodes are known one by one. */
#define CLUSTER_CHANGES 64

struct cluster_view {
    const struct node_state *nodes; /* an index means the same node while names_version is the same; a free place is all
                                     * zero */
    uint32_t node_n;
    const struct device_state *devices; /* node_state.first_device */
    const struct intern *models;        /* device_state.model_id */
    const struct demand_histogram
        *demand_histogram; /* what pods have asked for so far (core/request/demand_histogram.h) */
    /* Each counts its changes; equal numbers mean that nothing of this changed: */
    uint64_t version;        /* the numbers of any node, or that there is none any more */
    uint64_t names_version;  /* which index means which node */
    uint64_t gpus_version;   /* the memory of GPUs, and what is taken of their compute for it */
    const uint32_t *changed; /* the node that the change to version v was about: changed[v % CLUSTER_CHANGES], for the
                                last so many; NULL: look at all */
};

/* Bytes per model_id for demand_allows_model(); NULL when every model is allowed. `ret` has room for
 * intern_count(models) bytes. */
const uint8_t *models_allowed(const struct intern *models, const struct demand *d, uint8_t *ret);

#endif
