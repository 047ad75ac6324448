/* A store with a random cluster in it: every kind of request, pods with and without records, edited
 * ones, whole GPUs of a plugin, nodes that lost GPUs or are gone; and its /state. */
#ifndef TEST_CMD_FULL_STATE_H
#define TEST_CMD_FULL_STATE_H

#include "base/clock.h"
#include "base/rng.h"
#include "config/slot.h"
#include "extender/store.h"
#include "routes/state.h"

#define FULL_STATE_PODS 60

struct full_state {
    struct rng rng;
    struct clock_manual clock;
    struct store *store;
    struct config_slot *slot;
    struct state_context context;
    struct arena arena;
};

/* `yaml`: keys of the configuration behind apiVersion and kind; "" for the defaults. */
void full_state_init(struct full_state *c, uint64_t seed, const char *yaml);
/* Nodes, FULL_STATE_PODS pods (more than fit), and accidents. */
void full_state_fill(struct full_state *c);
/* The same with so many pods. */
void full_state_fill_with(struct full_state *c, unsigned pod_n);
void full_state_fini(struct full_state *c); /* checks the ledger's invariants */

/* One op, which must not fail. */
void full_state_apply(struct full_state *c, struct ledger_op op);
/* The whole document, malloc'ed. */
char *full_state_state(struct full_state *c);
/* A configuration of these keys; the caller frees it. */
struct config *full_state_config(const char *yaml);

#endif
