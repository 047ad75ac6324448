/* core/support/growing_cluster.h - a small cluster in a ledger with a history, to ask every strategy about:
 * GPUs of several sizes, some whose memory is unknown, some cut into MIG instances, some handed out
 * by a plugin; pods that ask for parts, memory, whole GPUs, several of them, instances. All of it
 * drawn from a seed, from coarse grids, so that residuals are often equal and often just filled.
 */
#ifndef CORE_SUPPORT_GROWING_CLUSTER_H
#define CORE_SUPPORT_GROWING_CLUSTER_H

#include "base/rng.h"
#include "core/forecast/forecast.h"
#include "core/placement/score_cache.h"
#include "core/support/ledger_fixture.h"

#include <stdio.h>

#define GROWING_CLUSTER_NODES_MAX 8
#define GROWING_CLUSTER_PODS_MAX 256
#define GROWING_CLUSTER_GPU_REQUESTS_MAX 2
#define GROWING_CLUSTER_GPUS_MAX 6 /* the oracle tries all sets of them */

struct growing_cluster_node {
    char name[8];
    struct device devices[GROWING_CLUSTER_GPUS_MAX + 2];
    char uuids[GROWING_CLUSTER_GPUS_MAX + 2][24];
    size_t device_n;
    int32_t plugin_managed_n;
    struct host_capacity host;
};

struct growing_cluster_pod {
    char uid[8];
    struct gpu_request gpu_requests[GROWING_CLUSTER_GPU_REQUESTS_MAX];
    struct device_pattern model;
    struct demand demand;
    bool held; /* on a node */
};

struct growing_cluster {
    struct rng rng;
    struct ledger_fixture f;
    struct forecast *forecast;  /* has followed the ledger from the beginning */
    struct score_cache *scores; /* of all questions that were to be remembered */
    struct growing_cluster_node nodes[GROWING_CLUSTER_NODES_MAX];
    struct str names[GROWING_CLUSTER_NODES_MAX];
    size_t node_n;
    struct growing_cluster_pod pods[GROWING_CLUSTER_PODS_MAX];
    size_t pod_n;
};

struct growing_cluster *growing_cluster_new(uint64_t seed, size_t node_n);
void growing_cluster_free(struct growing_cluster *t); /* checks the ledger's invariants */

/* One more node; needs a free place. */
void growing_cluster_add_node(struct growing_cluster *t);
/* Tells the ledger of the node as it stands here. */
void growing_cluster_describe(struct growing_cluster *t, const struct growing_cluster_node *n);
/* One more GPU like its others, or another sharer on each of them, or more memory for those that
 * are not cut. False: this node has no such room to grow. */
enum growing_cluster_growth {
    GROWING_CLUSTER_ONE_MORE_GPU,
    GROWING_CLUSTER_MORE_SHARERS,
    GROWING_CLUSTER_MORE_MEMORY,
    GROWING_CLUSTER_GROWTH__MAX
};
bool growing_cluster_grow(struct growing_cluster *t, size_t node, enum growing_cluster_growth how);

/* A pod that nobody has observed yet: a question. */
void growing_cluster_draw(struct growing_cluster *t, struct growing_cluster_pod *ret);
/* The ledger hears of it, it is placed by these strategies on the best node, or waits. */
struct pack_params;
void growing_cluster_come(struct growing_cluster *t, const struct pack_params *p,
                          const struct growing_cluster_pod *pod);
/* One that holds something ends; false: there is none. */
bool growing_cluster_go(struct growing_cluster *t);

/* What strategies need to know, up to date. */
struct pack_params growing_cluster_params(struct growing_cluster *t, const struct strategy *node,
                                          const struct strategy *device);

#endif
