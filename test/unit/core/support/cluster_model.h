/* A small cluster as the API server would hold it: nodes and pods that change at random, and the two
 * streams of events a watch would deliver. It knows nothing of the ledger.
 *
 * Objects are versions: immutable once made, so an event, a list and a journal may point at them. All memory
 * is the model's arena. The same seed gives the same cluster.
 */
#ifndef TEST_CORE_CLUSTER_MODEL_H
#define TEST_CORE_CLUSTER_MODEL_H

#include "base/arena.h"
#include "base/rng.h"
#include "core/ledger/ledger.h"

#include <stdbool.h>

#define CLUSTER_MODEL_NODES 5
#define CLUSTER_MODEL_DEVICES_MAX 5
#define CLUSTER_MODEL_PODS_MAX 400
#define CLUSTER_MODEL_EVENTS_MAX 4000

struct cluster_model_node {
    struct str name, uid;
    bool schedulable;
    struct host_capacity host;
    unsigned changes; /* counts its versions */
    struct inventory inventory;
};

struct cluster_model_pod {
    struct str uid, namespace_, name, node_name;
    bool deleting;
    const struct demand *demand;
    const struct assignment *record; /* NULL: none */
    const uint64_t *labels;
    size_t label_n;

    /* what only the model knows */
    unsigned number; /* the same for all versions of one pod */
    bool editable;   /* its request is in annotations */
    bool scarred;    /* its annotations say something else than when it was bound */
};

struct cluster_model_event {
    const struct cluster_model_pod *pod; /* or */
    const struct cluster_model_node *node;
    bool gone;
};

struct cluster_model_stream {
    struct cluster_model_event events[CLUSTER_MODEL_EVENTS_MAX];
    size_t n;
};

struct cluster_model {
    struct rng rng;
    struct arena arena;
    const struct cluster_model_node *nodes[CLUSTER_MODEL_NODES]; /* NULL: no such object now */
    unsigned node_changes[CLUSTER_MODEL_NODES];
    const struct cluster_model_pod *pods[CLUSTER_MODEL_PODS_MAX]; /* by number; NULL: gone */
    unsigned pod_n;
    struct cluster_model_stream pod_stream, node_stream;
    unsigned serial; /* makes UUIDs and UIDs unique */
    unsigned editable_percent;
    bool tampers; /* annotations of bound pods are edited */
    bool loses;   /* devices disappear from nodes */
};

void cluster_model_init(struct cluster_model *w, uint64_t seed);
void cluster_model_fini(struct cluster_model *w);

bool cluster_model_chance(struct cluster_model *w, unsigned percent);
unsigned cluster_model_below(struct cluster_model *w, unsigned n);
/* A pod that is there now and for which `wanted` holds (NULL: any); NULL when there is none. */
const struct cluster_model_pod *cluster_model_pick(struct cluster_model *w,
                                                   bool (*wanted)(const struct cluster_model_pod *p));
const struct cluster_model_node *cluster_model_node_of(const struct cluster_model *w,
                                                       struct str name); /* NULL: not now */

/* One random change each; false when nothing of the kind was possible. */
bool cluster_model_create_pod(struct cluster_model *w);
bool cluster_model_edit_request(struct cluster_model *w); /* of a pod whose request is in annotations */
bool cluster_model_resize(struct cluster_model *w);       /* cores and memory of a bound pod, in place */
bool cluster_model_edit_record(struct cluster_model *w);  /* of a bound pod: removed or forged */
bool cluster_model_delete_pod(struct cluster_model *w);   /* with grace, or the end of it */
bool cluster_model_finish_pod(struct cluster_model *w);   /* gone at once */
bool cluster_model_foreign_bind(
    struct cluster_model *w); /* by somebody else: without, with a bad, or with a good record */
bool cluster_model_agent_reports(struct cluster_model *w); /* a record for a pod that had none */
bool cluster_model_change_node(struct cluster_model *w);   /* appears, disappears, or is described differently */

/* The API server's side of our Binding: false when it refuses. `demand` is what was decided upon. */
bool cluster_model_bind(struct cluster_model *w, unsigned pod, struct str node, const struct assignment *record,
                        const struct demand *demand);

/* True for a pod whose devices, as its record says, are all in the present inventory of its node. */
bool cluster_model_devices_present(const struct cluster_model *w, const struct cluster_model_pod *p);

#endif
