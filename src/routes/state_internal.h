/* routes/state_internal.h - the document behind /state, and what the other documents of the ops listener share with it.
 */
#ifndef ROUTES_STATE_INTERNAL_H
#define ROUTES_STATE_INTERNAL_H

#include "base/compiler.h"
#include "base/json_write.h"
#include "routes/state.h"

#include <stdatomic.h>

struct pod_list {
    struct snapshot_pod *items;
    size_t n, cap;
};

/* Something wrong with a node, or with one of its GPUs. */
struct node_conflict {
    bool is_gpu;
    struct str node, uuid; /* of the ledger's names, which stay */
    int32_t index;
    const char *text;
};

struct node_conflict_list {
    struct node_conflict *items;
    size_t n, cap;
};

/* One node that is shown, and its pods that no GPU tells of: they hold whole GPUs of its plugin, or nobody knows
 * which ones they hold. */
struct node_item {
    const struct snapshot_node *node;
    const struct snapshot_pod *pods; /* of the section */
    const struct snapshot_pod **beside;
    size_t beside_n;
};

enum state_phase {
    STATE_HEAD,
    STATE_NODES,
    STATE_POD_CONFLICTS,
    STATE_NODE_CONFLICTS,
    STATE_INCIDENTS,
    STATE_PENDING,
    STATE_DECISIONS,
    STATE_END,
};

struct state_document {
    const struct state_context *context;
    struct store_iterator *iterator; /* NULL: a summary */
    struct store_head head;
    struct arena arena;      /* of the section */
    struct snapshot section; /* nodes and pods that the iterator brought last */
    size_t section_at;
    bool by_namespace;       /* nodes without pods of it are left out */
    struct arena list_arena; /* text of the head and of the lists */
    struct state_cursors cursors;
    struct config_status config;
    const struct config *effective; /* a reference; of documents of the whole cluster only */
    int64_t as_of_ms;
    bool ready, leader;
    struct pod_list conflicts, pending;
    const struct waiting_refusal *refusals; /* by UID; of all pods */
    size_t refusal_n;
    struct node_conflict_list node_conflicts;
    const struct incident *incident;  /* of head.incidents: the next */
    struct decision_note **decisions; /* references, the newest first */
    size_t decision_n;
    /* where the text is */
    struct json_writer w;
    enum state_phase phase;
    size_t at; /* in the list of the phase */
};

int state_compare_pods(const struct snapshot_pod *a, const struct snapshot_pod *b);
/* What is wrong with a GPU; NULL: nothing. */
const char *state_gpu_conflict(const struct snapshot_device *d);

/* ---- parts of the document, for whoever shows something else of it (state_changes.c) ---- */

void state_read_context(struct state_document *d, struct state_context *c);
/* A node of the section as state_write_node() takes it; its memory is the section's. */
void state_node_item(struct state_document *d, const struct snapshot_node *n, struct node_item *ret);
void state_keep_node_conflicts(struct state_document *d, const struct snapshot_node *n);
/* The lists behind the nodes take what they need of the section. */
void state_keep_pods(struct state_document *d);
void state_sort_pending(struct state_document *d);

/* A document of what may have changed after generation `since`: its nodes are those of state_changes_each(), which
 * calls `fn` for each, in the order of names, and then has the pending pods in d->pending, by name, where `with_pods`.
 * False: it is torn. d->section is the node's. state_document_free() frees it. */
struct state_document *state_changes_new(struct state_context *c, uint64_t since, bool with_pods);
typedef void state_changed_fn(void *ctx, struct state_document *d, const struct node_item *item);
WARN_UNUSED bool state_changes_each(struct state_document *d, state_changed_fn *fn, void *ctx);

/* The opening brace up to and with the summary (state_head.c). */
void state_write_head(struct json_writer *w, const struct state_document *d);
/* The members "metadata", "summary" and "audit" of it. */
void state_write_metadata(struct json_writer *w, const struct state_document *d);
void state_write_summary_member(struct json_writer *w, const struct state_document *d);
void state_write_audit(struct json_writer *w, const struct state_document *d);
/* The configuration in effect, as a file would say it (state_head.c). */
void state_write_configuration(struct json_writer *w, const struct state_document *d);
/* One element of nodes[]. */
void state_write_node(struct json_writer *w, const struct node_item *item);
/* One element of conflicts[]. */
void state_write_pod_conflict(struct json_writer *w, const struct snapshot_pod *p);
/* The same, about a node. */
void state_write_node_conflict(struct json_writer *w, const struct node_conflict *c);
/* One element of incidents[] (state_incidents.c). */
void state_write_incident(struct json_writer *w, const struct incident *in);
/* Those of the list on this node, with a pod of this namespace (empty: all); frees the others. */
struct incident *state_incidents_of(struct incident *list, struct str node, struct str namespace_);
/* One element of pending[] (state_pending.c); `refusal` may be NULL. */
void state_write_pending(struct json_writer *w, const struct snapshot_pod *p, const struct waiting_refusal *refusal);
/* How many nodes have which verdict, what fits first, then the most frequent. */
void state_write_verdicts(struct json_writer *w, const char *key, const uint64_t counts[VERDICT__MAX]);
/* One element of decisions[] (state_decisions.c). */
void state_write_reason(struct json_writer *w, const struct decision_note *d);

/* "fragmentation" of the summary (state_capacity.c); nothing for NULL. */
void state_write_capacity(struct json_writer *w, struct capacity_reporter *v);
/* "demandHistogram" of the summary (state_demand_histogram.c). */
void state_write_demand_histogram(struct json_writer *w, const struct store_head *h);
/* "shadow" of the summary (state_capacity.c); nothing before a decision was compared. The last numbers stay
 * when the configuration has no shadow strategies any more. */
void state_write_shadow(struct json_writer *w, struct shadow *s);

/* Members: {capacity, charged, free}; a time, where 0 is ""; a text, where NULL is ""; a number, left out if not above
 * 0; true, left out if not so. */
void state_write_amount(struct json_writer *w, const char *key, int64_t capacity, int64_t charged);
void state_write_time(struct json_writer *w, const char *key, int64_t wall_ms);
void state_write_text(struct json_writer *w, const char *key, const char *text);
void state_write_positive(struct json_writer *w, const char *key, int64_t v);
void state_write_if(struct json_writer *w, const char *key, bool yes);

/* namespace, pod, uid; state, since, decision, dialect */
void state_write_pod_name(struct json_writer *w, const struct snapshot_pod *p);
void state_write_decision(struct json_writer *w, const struct snapshot_pod *p);

/* What a pod asked for, under the key "request" (state_request.c). */
void state_write_request(struct json_writer *w, const struct demand *d);
/* A GPU's "raised": pods that are charged more than their allocations say, in full; nothing where there are none. */
void state_write_raised(struct json_writer *w, const struct snapshot_pod *pods, const struct snapshot_device *gpu);
/* "mig" of a node and of one of its devices; nothing where there is none. */
void state_write_node_mig(struct json_writer *w, const struct snapshot_node *n);
void state_write_gpu_mig(struct json_writer *w, const struct snapshot_device *d);
/* A node's "unplaced"; nothing where there are none. */
void state_write_unplaced(struct json_writer *w, const struct node_item *item);

/* Does If-None-Match say that the caller has what `etag` (in quotes) stands for? */
bool state_is_unchanged(const struct httpd_request *req, struct str etag);
/* Text for whoever reads JSON here: why it is not answered. 503: it may be asked again in a second. */
enum httpd_action state_refuse(struct httpd_response *resp, int status, const struct err *err);
/* One of `max` places, for what costs much; given back by subtracting one from *taken_n. False: all are taken, and
 * `resp` is the refusal, "MAX BUSY". */
WARN_UNUSED bool state_take_place(atomic_uint *taken_n, unsigned max, const char *busy, struct httpd_response *resp);

#endif
