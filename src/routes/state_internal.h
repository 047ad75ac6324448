/* routes/state_internal.h - the document behind /state, shared by state*.c only. */
#ifndef ROUTES_STATE_INTERNAL_H
#define ROUTES_STATE_INTERNAL_H

#include "base/json_write.h"
#include "routes/state.h"

struct pod_list {
    const struct snapshot_pod **items;
    size_t n;
};

/* One node that is shown, and its pods that no GPU tells of: they hold whole GPUs of its plugin, or nobody knows
 * which ones they hold. */
struct node_item {
    const struct snapshot_node *node;
    const struct snapshot_pod *const *beside;
    size_t beside_n;
};

enum state_phase {
    STATE_HEAD,
    STATE_NODES,
    STATE_POD_CONFLICTS,
    STATE_NODE_CONFLICTS,
    STATE_PENDING,
    STATE_END,
};

struct state_document {
    const struct state_context *context;
    struct arena arena; /* the copy and the lists over it */
    struct snapshot snapshot;
    struct state_cursors cursors;
    struct config_status config;
    const struct config *effective; /* a reference; of documents of the whole cluster only */
    int64_t as_of_ms;
    bool ready, leader;
    const struct ledger_tenant *tenants;
    size_t tenant_n;
    uint64_t described_n; /* nodes of the whole cluster, whatever is shown */
    struct node_item *nodes;
    size_t node_n;
    struct pod_list conflicts, pending;
    /* where the text is */
    struct json_writer w;
    enum state_phase phase;
    size_t at; /* in the list of the phase */
};

int state_compare_pods(const struct snapshot_pod *a, const struct snapshot_pod *b);

/* The opening brace up to and with the summary. */
void state_write_head(struct json_writer *w, const struct state_document *d);
/* One element of nodes[]. */
void state_write_node(struct json_writer *w, const struct state_document *d,
                      const struct node_item *item);
/* One element of conflicts[]. */
void state_write_pod_conflict(struct json_writer *w, const struct snapshot_pod *p);
/* None or several elements of conflicts[]. */
void state_write_node_conflicts(struct json_writer *w, const struct snapshot_node *n);
/* One element of pending[]. */
void state_write_pending(struct json_writer *w, const struct snapshot_pod *p);

/* namespace, pod, uid; state, since, decision, dialect */
void state_write_pod_name(struct json_writer *w, const struct snapshot_pod *p);
void state_write_decision(struct json_writer *w, const struct snapshot_pod *p);

/* The configuration in effect, as a file would say it. */
void state_write_configuration(struct json_writer *w, const struct state_document *d);

/* What a pod asked for, under the key "request" (state_request.c). */
void state_write_request(struct json_writer *w, const struct demand *d);
/* A GPU's "raised": pods that are charged more than their allocations say, in full; nothing where there are none. */
void state_write_raised(struct json_writer *w, const struct state_document *d,
                        const struct snapshot_device *gpu);
/* A node's "unplaced"; nothing where there are none. */
void state_write_unplaced(struct json_writer *w, const struct node_item *item);

#endif
