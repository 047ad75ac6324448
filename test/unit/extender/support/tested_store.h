/* extender/support/tested_store.h - the store that a test program of this layer is about, memory for what it answers,
 * and the ways in which facts reach it. A test that is refused what it asks for here fails.
 */
#ifndef EXTENDER_SUPPORT_TESTED_STORE_H
#define EXTENDER_SUPPORT_TESTED_STORE_H

#include "extender/ingest.h"
#include "extender/store.h"

#include <stdbool.h>

extern struct store *store;
extern struct arena arena; /* what answers point into; a test may reset it */

/* For the setup and the teardown of each test. The store has over-commit factors 1.0 and is still reading: nothing was
 * listed. The second fails the test if an invariant is broken. */
void store_open(const struct clock *clock);
void store_check_and_free(void);
/* The second as cmocka wants it; `state` is not used. */
int store_teardown(void **state);

/* ---- what the ledger is told ---- */

void apply(struct ledger_op op);
void apply_bracket(enum ledger_op_kind kind);
/* Nodes, then pods: lists without objects. The store is in step afterwards. */
void apply_empty_lists(void);
/* GPUs known by index, A100 of 16 slots. */
void apply_node(const char *name, int gpu_n, int64_t mem_mib, bool schedulable);
/* Pod d/<uid>; node NULL: pending. */
void apply_pod(const char *uid, const char *node, const struct demand *d);

/* ---- objects as the API server has them ---- */

/* A node with GPUs "GPU-0" and "GPU-1" of 80 GiB in its annotation, as `by` reads it. */
void ingest_two_gpus(const struct ingest *by, struct str name);
#define TWO_GPUS                                                                                                       \
    "{\"v\":1,\"gpus\":[{\"uuid\":\"GPU-0\",\"index\":0,\"memMib\":81920},"                                            \
    "{\"uuid\":\"GPU-1\",\"index\":1,\"memMib\":81920}]}"

/* A demand of one container "main" for a part of one GPU; outside of functions it lasts for ever. */
#define DEMAND_OF_SHARE(milli_)                                                                                        \
    {                                                                                                                  \
        .dialect = "native",                                                                                           \
        .gpu_requests =                                                                                                \
            &(struct gpu_request){                                                                                     \
                .container = {"main", 4}, .count = 1, .kind = GPU_REQUEST_MILLI, .milli = (milli_), .phases = 1},      \
        .gpu_request_n = 1                                                                                             \
    }

/* ---- what is to be seen ---- */

int64_t milli_charged(void); /* on all devices */

/* Rules of this policy over the store, whose end nobody hears of. */
const struct rules *rules_of(const struct policy *policy, uint64_t generation);

#endif
