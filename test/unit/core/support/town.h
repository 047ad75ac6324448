/* core/support/town.h - a small cluster in a ledger with a history, to ask every strategy about:
 * GPUs of several sizes, some whose memory is unknown, some cut into MIG instances, some handed out
 * by a plugin; pods that ask for parts, memory, whole GPUs, several of them, instances. All of it
 * drawn from a seed, from coarse grids, so that rooms are often equal and often just filled.
 */
#ifndef CORE_SUPPORT_TOWN_H
#define CORE_SUPPORT_TOWN_H

#include "base/rng.h"
#include "core/forecast/forecast.h"
#include "core/placement/score_cache.h"
#include "core/support/ledger_fixture.h"

#include <stdio.h>

#define TOWN_NODES_MAX 8
#define TOWN_PODS_MAX 256
#define TOWN_GPU_REQUESTS_MAX 2
#define TOWN_GPUS_MAX 6 /* the oracle tries all sets of them */

struct town_node {
    char name[8];
    struct device devices[TOWN_GPUS_MAX + 2];
    char uuids[TOWN_GPUS_MAX + 2][24];
    size_t device_n;
    int32_t plugin_managed_n;
    struct host_capacity host;
};

struct town_pod {
    char uid[8];
    struct gpu_request gpu_requests[TOWN_GPU_REQUESTS_MAX];
    struct device_pattern model;
    struct demand demand;
    bool held; /* on a node */
};

struct town {
    struct rng rng;
    struct ledger_fixture f;
    struct forecast *forecast;    /* has followed the ledger from the beginning */
    struct score_cache *scores; /* of all questions that were to be remembered */
    struct town_node nodes[TOWN_NODES_MAX];
    struct str names[TOWN_NODES_MAX];
    size_t node_n;
    struct town_pod pods[TOWN_PODS_MAX];
    size_t pod_n;
};

struct town *town_new(uint64_t seed, size_t node_n);
void town_free(struct town *t); /* checks the ledger's invariants */

/* One more node; needs a free place. */
void town_add_node(struct town *t);
/* Tells the ledger of the node as it stands here. */
void town_describe(struct town *t, const struct town_node *n);
/* One more GPU like its others, or another sharer on each of them, or more memory for those that
 * are not cut. False: this node has no such room to grow. */
enum town_growth { TOWN_ONE_MORE_GPU, TOWN_MORE_SHARERS, TOWN_MORE_MEMORY, TOWN_GROWTH__MAX };
bool town_grow(struct town *t, size_t node, enum town_growth how);

/* A pod that nobody has observed yet: a question. */
void town_draw(struct town *t, struct town_pod *ret);
/* The ledger hears of it, it is placed by these strategies on the best node, or waits. */
struct pack_params;
void town_come(struct town *t, const struct pack_params *p, const struct town_pod *pod);
/* One that holds something ends; false: there is none. */
bool town_go(struct town *t);

/* What strategies need to know, up to date. */
struct pack_params town_params(struct town *t, const struct strategy *node,
                               const struct strategy *device);

#endif
