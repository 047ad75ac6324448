/* extender/explain.h - why a pod waits, or why it is where it is: for the person who asks.
 *
 * Of a pod that waits every node is judged as filter judges it, by the same code, and counted by its reason. If none
 * takes it, the nodes that come nearest are looked at closely: what their GPUs lack, and whose end would be enough
 * (core/ledger/nearest.h). kube-scheduler asks about the nodes that its own filters have left. Others are counted by
 * reason as well, but they are no help: not named are those that it did not ask about when it last asked about this
 * pod, and those with a taint that the pod does not tolerate.
 *
 * Nothing is changed, and no decision depends on it. The lock of the store is held for sections as short as those of
 * filter; in between the cluster may change, so each node is judged at one moment, not all at the same.
 */
#ifndef EXTENDER_EXPLAIN_H
#define EXTENDER_EXPLAIN_H

#include "base/arena.h"
#include "base/err.h"
#include "extender/decisions.h"
#include "extender/placement.h"
#include "extender/store.h"

#define EXPLAIN_NODES_DEFAULT 10
#define EXPLAIN_NODES_MAX 100
#define EXPLAIN_NEAR_NAMES 5
#define EXPLAIN_NOTES_MAX 8

enum explain_kind {
    EXPLAIN_UNKNOWN, /* the ledger has no such pod: it is gone, or asks for no GPU, or the name is not right */
    EXPLAIN_INVALID, /* `demand->defect`: it is refused everywhere until it is corrected */
    EXPLAIN_WAITING, /* for a bind: `counts`, and `nodes` or `fitting` */
    EXPLAIN_PLACED,  /* reserved or bound: `decision`, `snapshot` */
};

/* What nodes without a GPU for anybody say of themselves, in /state as well: an annotation that cannot be read, say. */
struct explain_note {
    const char *text;
    uint64_t node_n;
    struct str node; /* one of them */
};

struct explanation {
    enum explain_kind kind;
    struct str namespace_, name; /* as asked */
    struct store_pod pod;        /* not of EXPLAIN_UNKNOWN */
    uint64_t generation;         /* nothing older was seen */
    struct waiting_note waiting; /* not of EXPLAIN_UNKNOWN and EXPLAIN_PLACED */

    /* UNKNOWN: pods that may be meant, "namespace/name" */
    struct str near_names[EXPLAIN_NEAR_NAMES];
    size_t near_n;

    /* INVALID, for want of the size that it names: those that its namespace has, in the order of the file */
    const struct str *sizes;
    size_t size_n;

    /* WAITING */
    const char *not_ready; /* why no pod gets GPUs now, a whole sentence; NULL: fgpu is ready */
    bool has_tenant;
    struct ledger_tenant tenant;
    size_t node_n; /* judged; counts add up to it */
    uint64_t counts[VERDICT__MAX];
    size_t open_fit_n;         /* nodes with room that kube-scheduler may choose, as far as is known; */
    size_t in_doubt_n;         /* of these: bind refuses them now (PACK_IN_DOUBT) */
    const struct str *fitting; /* the best of these, best first */
    size_t fitting_n;
    const struct nearest *nodes;  /* if there is none: of the others that it may choose the nearest, nearest first */
    const enum verdict *verdicts; /* of `nodes` */
    size_t shown_n;
    struct explain_note notes[EXPLAIN_NOTES_MAX]; /* the most frequent first */
    size_t note_n;
    const struct str *models; /* of the cluster, by name; none unless nodes are refused for the model it names */
    size_t model_n;

    /* PLACED */
    struct decision_note *decision; /* a reference, for explain_end(); NULL: not of this process, or not kept */
    struct snapshot snapshot;       /* its node */
};

/* At most `node_max` nodes are shown. All text is in `a`, or as asked.
 *   ERR_UNAVAILABLE  pods and nodes have not been read yet
 *   ERR_LIMIT        the arena is full */
WARN_UNUSED int explain_pod(const struct placement_context *c, struct arena *a, struct str namespace_, struct str name,
                            size_t node_max, struct explanation *ret, struct err *reterr);
void explain_end(struct explanation *e);

/* In words, each without its full stop; what does not fit into `size` bytes is cut. Returns buf. */
#define EXPLAIN_SENTENCE_MAX 1024
/* "0/5000 nodes: 3100 too few GPUs with enough free memory, ...; nearest: ..." */
char *explain_sentence(const struct explanation *e, char *buf, size_t size);
/* The same for the tenant of the pod, who may read Events there: it names no other pod. */
char *explain_tenant_sentence(const struct explanation *e, char *buf, size_t size);
/* Which kinds of reasons there are: equal as long as only numbers and names change; not 0. */
uint64_t explain_kinds(const struct explanation *e);
/* What one node lacks, and who would have to end: "GPU 3 lacks 820 MiB of memory; it would fit if ns/a ended". Empty
 * where nothing can be said beyond the reason. */
char *explain_node_sentence(const struct nearest *n, char *buf, size_t size);

/* What kube-scheduler itself objects to, of the message of its condition: its reasons, each with its number of nodes,
 * without those that are fgpu's; a message of another form (an error of the call) is one reason. Borrowed; at most
 * EXPLAIN_REASONS_MAX. */
#define EXPLAIN_REASONS_MAX 16
size_t explain_scheduler_reasons(struct str message, struct str ret[EXPLAIN_REASONS_MAX]);
/* Why fgpu may not have been asked about the pod, and what to do then; empty where it was. */
char *explain_unasked_sentence(const struct waiting_note *n, char *buf, size_t size);

#endif
