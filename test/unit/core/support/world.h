/* A small cluster as the API server would hold it: nodes and pods that change at random, and the two
 * streams of events a watch would deliver. It knows nothing of the ledger.
 *
 * Objects are versions: immutable once made, so an event, a list and a journal may point at them. All memory
 * is the world's arena. The same seed gives the same world.
 */
#ifndef TEST_CORE_WORLD_H
#define TEST_CORE_WORLD_H

#include "base/arena.h"
#include "base/rng.h"
#include "core/ledger/ledger.h"

#include <stdbool.h>

#define WORLD_NODES 5
#define WORLD_DEVICES_MAX 5
#define WORLD_PODS_MAX 400
#define WORLD_EVENTS_MAX 4000

struct world_node {
    struct str name, uid;
    bool schedulable;
    struct host_capacity host;
    unsigned changes; /* counts its versions */
    struct inventory inventory;
};

struct world_pod {
    struct str uid, namespace_, name, node_name;
    bool deleting;
    const struct demand *demand;
    const struct assignment *record; /* NULL: none */
    const uint64_t *labels;
    size_t label_n;

    /* what only the world knows */
    unsigned number; /* the same for all versions of one pod */
    bool editable;   /* its request is in annotations */
    bool scarred;    /* its annotations say something else than when it was bound */
};

struct world_event {
    const struct world_pod *pod; /* or */
    const struct world_node *node;
    bool gone;
};

struct world_stream {
    struct world_event events[WORLD_EVENTS_MAX];
    size_t n;
};

struct world {
    struct rng rng;
    struct arena arena;
    const struct world_node *nodes[WORLD_NODES]; /* NULL: no such object now */
    unsigned node_changes[WORLD_NODES];
    const struct world_pod *pods[WORLD_PODS_MAX]; /* by number; NULL: gone */
    unsigned pod_n;
    struct world_stream pod_stream, node_stream;
    unsigned serial; /* makes UUIDs and UIDs unique */
    unsigned editable_percent;
    bool tampers; /* annotations of bound pods are edited */
    bool loses;   /* devices disappear from nodes */
};

void world_init(struct world *w, uint64_t seed);
void world_fini(struct world *w);

bool world_chance(struct world *w, unsigned percent);
unsigned world_below(struct world *w, unsigned n);
/* A pod that is there now and for which `wanted` holds (NULL: any); NULL when there is none. */
const struct world_pod *world_pick(struct world *w, bool (*wanted)(const struct world_pod *p));
const struct world_node *world_node_of(const struct world *w, struct str name); /* NULL: not now */

/* One random change each; false when nothing of the kind was possible. */
bool world_create_pod(struct world *w);
bool world_edit_request(struct world *w);   /* of a pod whose request is in annotations */
bool world_resize(struct world *w);         /* cores and memory of a bound pod, in place */
bool world_edit_record(struct world *w);    /* of a bound pod: removed or forged */
bool world_delete_pod(struct world *w);     /* with grace, or the end of it */
bool world_finish_pod(struct world *w);     /* gone at once */
bool world_foreign_bind(struct world *w);   /* by somebody else: without, with a bad, or with a good record */
bool world_agent_reports(struct world *w);  /* a record for a pod that had none */
bool world_change_node(struct world *w);    /* appears, disappears, or is described differently */

/* The API server's side of our Binding: false when it refuses. `demand` is what was decided upon. */
bool world_bind(struct world *w, unsigned pod, struct str node, const struct assignment *record,
                const struct demand *demand);

/* True for a pod whose devices, as its record says, are all in the present inventory of its node. */
bool world_devices_present(const struct world *w, const struct world_pod *p);

#endif
