/* A ledger that is fed from a model (cluster_model.h) the way fgpu is: watches that lag, repeat themselves and drop,
 * lists in brackets, and Bindings whose replies come late or never. Every op that reaches the ledger is
 * followed by the invariants; a failure names seed, step and action.
 */
#ifndef TEST_CORE_SIMULATION_H
#define TEST_CORE_SIMULATION_H

#include "core/support/first_grants.h"
#include "core/support/cluster_model_demand.h"

#define SIMULATION_OPS_MAX 20000

/* One op of the journal, without the reservations: only what the API server said. */
struct simulation_fact {
    enum ledger_op_kind kind;
    const struct cluster_model_pod *pod;
    const struct cluster_model_node *node;
};

/* A consumer of one of the model's two streams. */
struct simulation_feed {
    bool pods;
    size_t cursor; /* next event */
    size_t floor;  /* the list's position: a watch never goes back behind it */
    enum { FEED_WATCHING, FEED_BEGUN, FEED_LISTING } phase;
    unsigned brackets;
    struct cluster_model_event items[CLUSTER_MODEL_PODS_MAX];
    size_t item_n, item_at;
    size_t snapshot; /* position of the list in the stream */
};

/* What the ledger must still know, whatever the watch says. */
enum simulation_hold { HOLD_NONE, HOLD_RESERVED, HOLD_CONFIRMED };

struct simulation_pod {
    enum simulation_hold hold;
    unsigned seen_bracket; /* of pods, when it was last observed */
    bool was_reserved;
    bool late; /* seen bound with a request in annotations that counts for nothing (rule 3.1.8), or for less */
    const struct demand *seen_demand; /* when it was last observed */
    bool missed;                      /* reserved, but not in a list that began after it was last observed */
    size_t attached_at;               /* journal position; valid while attached */
    bool attached;
    /* the Binding on its way */
    bool flying, sent, accepted, lost;
    struct str node;
    const struct assignment *record;
    struct demand *demand; /* decided upon */
};

struct simulation {
    uint64_t seed;
    unsigned step;
    const char *action;
    struct cluster_model w;
    struct cluster_model_factors factors;
    struct ledger_limits limits;
    struct ledger *l;
    struct first_grants grants; /* by the number of the pod */
    struct simulation_feed pods, nodes;
    struct simulation_pod pod[CLUSTER_MODEL_PODS_MAX];
    struct simulation_fact journal[SIMULATION_OPS_MAX];
    size_t journal_n;
    /* called after every op; NULL: nothing */
    void (*after)(struct simulation *s);
    bool listed;                  /* the first list of pods is complete */
    unsigned reserved_n, bound_n; /* so that a test can tell that something happened */
};

struct simulation *simulation_new(uint64_t seed);
void simulation_free(struct simulation *s);

/* Fails the test with seed, step and action. */
void simulation_fail(const struct simulation *s, const char *why, struct str about) __attribute__((noreturn));

/* One random action. */
void simulation_step(struct simulation *s);
/* Everything in flight is decided and every event delivered; `relist`: both streams are listed again. */
void simulation_settle(struct simulation *s, bool relist);

struct ledger_op simulation_op(const struct simulation_fact *f);
/* Applies facts [from, to) of the journal to another ledger. */
void simulation_replay(const struct simulation *s, struct ledger *l, size_t from, size_t to);
/* A ledger that has listed the model as it is now, in random order. */
struct ledger *simulation_fold(struct simulation *s);

#endif
