/* A real store, filled by the facts a watch would bring, and the context of /state over it. */
#ifndef TEST_ROUTES_CLUSTER_H
#define TEST_ROUTES_CLUSTER_H

#include "base/clock.h"
#include "extender/store.h"
#include "routes/state.h"
#include "routes/support/unit.h"

struct cluster {
    struct clock_manual clock; /* 2026-11-20T08:00:00.123Z */
    struct store *store;
    struct config_slot *config;
    struct state_context context;
    struct state_cursors cursors;
    bool ready, leader;
};

void cluster_init(struct cluster *c); /* synced, empty */
void cluster_init_unsynced(struct cluster *c);
void cluster_fini(struct cluster *c); /* checks the ledger's invariants */

struct node_spec {
    const char *name;
    int gpu_n; /* UUIDs are GPU-<name>-<index> */
    int64_t mem_mib;
    int32_t plugin_managed_n;
    enum inventory_source source;
    bool cordoned;
    bool no_uuids;
    struct host_capacity host;
    const char *note;
};
void cluster_node(struct cluster *c, const struct node_spec *spec);

struct pod_spec {
    const char *namespace_, *name; /* the uid is uid-<name> */
    const char *node;              /* NULL: pending */
    int32_t milli;                 /* with mem_mib, of one GPU, in container "main" */
    int64_t mem_mib;
    int32_t whole_n;  /* GPUs of the plugin instead */
    const char *uuid; /* of the assignment; NULL: none */
    int32_t index;
    const char *decision;
    bool deleting;
    enum demand_defect defect;
    struct host_request host;
    bool cpu_only; /* asks for no GPUs */
};
void cluster_pod(struct cluster *c, const struct pod_spec *spec);
/* Reserves a pending pod on the node's device `ordinal`. */
void cluster_reserve(struct cluster *c, const char *uid, const char *node, unsigned ordinal, const char *decision);
void cluster_op(struct cluster *c, enum ledger_op_kind kind, const char *name);

/* The whole document as text (malloc'ed) and as JSON. */
char *cluster_state_text(struct cluster *c, const char *node, const char *namespace_);
cJSON *cluster_state(struct cluster *c, const char *node, const char *namespace_);

#endif
