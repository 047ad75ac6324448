/* Short ways to say ledger facts in tests. Everything borrows static or caller storage. */
#ifndef TEST_LEDGER_FIXTURE_H
#define TEST_LEDGER_FIXTURE_H

#include "core/ledger/ledger.h"
#include "core/ledger/snapshot.h"

#include <stdbool.h>

/* A pod of namespace "default" that asks for a view. */
#define VIEW_POD(uid_, demand_)                                                                    \
    (&(struct view_pod){.uid = str_of(uid_), .namespace_ = STR("default"), .demand = (demand_)})

/* The strategy at both levels; valid until the next call. */
const struct pack_params *fixture_params(const char *strategy);

struct ledger_fixture {
    struct ledger *l;
    struct host_capacity host; /* of nodes described from now on */
    struct arena arena;
    struct snapshot snapshot;
};

/* An empty, synced ledger with over-commit factors 1.0. */
void fixture_init(struct ledger_fixture *f);
void fixture_fini(struct ledger_fixture *f); /* also runs ledger_check() */

/* gpu_n healthy devices "GPU-<name>-<i>" of mem_mib each, 16 slots. */
void fixture_node(struct ledger_fixture *f, const char *name, int gpu_n, int64_t mem_mib);
void fixture_node_unsteered(struct ledger_fixture *f, const char *name, int gpu_n, int64_t mem_mib,
                            int32_t unsteered_n);
/* Devices known by index only. */
void fixture_node_indexes(struct ledger_fixture *f, const char *name, int gpu_n, int64_t mem_mib);

/* Demands of one container "main". Static per call site until the next call of the same function. */
struct demand fixture_share(struct wish *w, int32_t milli);                   /* milli only */
struct demand fixture_both(struct wish *w, int32_t milli, int64_t mem_mib);
struct demand fixture_whole(struct wish *w, uint16_t count);
struct demand fixture_annotated(struct wish *w, int32_t milli);              /* editable request */

/* Observes a pod "default/<uid>"; node NULL: pending; record NULL: none. */
int fixture_pod(struct ledger_fixture *f, const char *uid, const struct demand *d, const char *node,
                const struct assignment *record);
/* Searches with tight-fit and reserves; 0 or an error, or the verdict as a positive number. */
int fixture_reserve(struct ledger_fixture *f, const char *uid, const char *node);
int fixture_name_op(struct ledger_fixture *f, enum ledger_op_kind kind, const char *name);
int fixture_bracket(struct ledger_fixture *f, enum ledger_op_kind kind);

/* A record with one container on one device. */
struct assignment fixture_record(struct assigned_container *c, struct assigned_device *d, const char *id,
                                 const char *uuid, int32_t index, int32_t milli, int64_t mem_mib);

/* Numbers of one device, from a fresh snapshot. */
const struct snapshot_node *fixture_state(struct ledger_fixture *f, const char *node);
int32_t fixture_milli_free(struct ledger_fixture *f, const char *node, size_t device);
int64_t fixture_mem_free(struct ledger_fixture *f, const char *node, size_t device);
enum ledger_pod_state fixture_pod_state(struct ledger_fixture *f, const char *uid);

#endif
