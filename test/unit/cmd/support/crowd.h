/* A store with a random crowd on it: every kind of request, pods with and without records, edited
 * ones, whole GPUs of a plugin, nodes that lost GPUs or are gone; and its /state. */
#ifndef TEST_CMD_CROWD_H
#define TEST_CMD_CROWD_H

#include "base/clock.h"
#include "base/rng.h"
#include "config/slot.h"
#include "extender/store.h"
#include "routes/state.h"

#define CROWD_PODS 60

struct crowd {
    struct rng rng;
    struct clock_manual clock;
    struct store *store;
    struct config_slot *slot;
    struct state_context context;
    struct arena arena;
};

/* `yaml`: keys of the configuration behind apiVersion and kind; "" for the defaults. */
void crowd_init(struct crowd *c, uint64_t seed, const char *yaml);
/* Nodes, CROWD_PODS pods (more than fit), and accidents. */
void crowd_fill(struct crowd *c);
/* The same with so many pods. */
void crowd_fill_with(struct crowd *c, unsigned pod_n);
void crowd_fini(struct crowd *c); /* checks the ledger's invariants */

/* One op, which must not fail. */
void crowd_apply(struct crowd *c, struct ledger_op op);
/* The whole document, malloc'ed. */
char *crowd_state(struct crowd *c);
/* A configuration of these keys; the caller frees it. */
struct config *crowd_config(const char *yaml);

#endif
