/* routes/state.h - GET /state: who holds which part of which GPU, as one versioned document.
 *
 * The contract is config/state.schema.json (apiVersion state.fgpu.io/v1alpha1): keys are only ever
 * added, readers ignore those they do not know. Numbers are integers, memory is in MiB, compute in
 * thousandths of a GPU; text that is not known is "". Nodes stand by name, GPUs by index, pods by
 * namespace and name, so that two documents can be compared line by line. It never holds
 * environment variables, images or other people's annotations.
 *
 * A document shows the ledger at metadata.generation: an iterator (core/ledger/snapshot_iterator.h) brings a few nodes
 * at a time, which are rendered without the lock, so that however large the cluster neither its copy
 * nor its text exists in memory as a whole. What stays until the end are the lists behind the nodes
 * (conflicts, incidents, pending), and what changed before a slow reader came to it; where one of them passes its
 * bound the document is torn: a stream breaks off without its end, a plain answer is 503. The ETag is the generation in
 * quotes and `If-None-Match` gives 304. A generation counts what one process has applied, so after a restart equal
 * numbers may mean different content: a reader that outlives a restart compares metadata.asOf too. `audit` is about the
 * last audit, which may end without a change of the ledger, and so behind the back of the ETag. So may
 * `summary.timeWindows`: the windows that are open ("active"), those that will be open after the next change, and when
 * that is.
 *
 * `pending[].refused` is what filter last said of a pod that no node took, at its own generation, which is not above
 * the document's: nothing is judged again for a document, which costs a copy of at most WAITING_MAX
 * (extender/waiting.h) such answers. A refusal changes nothing in the ledger, so it may come behind the back of the
 * ETag, too.
 *
 * `incidents` lists what cannot happen while one fgpu alone decides (core/ledger/incidents.h), at the same generation;
 * of one node or namespace, those that concern it.
 *
 * Whole, it is enough to build the ledger again elsewhere (sim/state_file.h): allocations say which amounts were asked
 * for, pods whose allocations do not tell that carry their request, and the configuration in effect stands at the end.
 * Labels are not in it, so isolation between pods is lost.
 *
 * Query: `node=NAME` (that node and what is on it), `namespace=NAME` (its pods, and the nodes that
 * hold them; what is charged counts everybody), `fields=summary` (no lists). Anything else is 400
 * and says what.
 *
 * Allocation states: "reserved" (Binding on its way, or its outcome not known), "bound",
 * "terminating" (bound or reserved, being deleted, still charged), "foreign" (bound by somebody
 * else, devices not known, so charged wherever it could be), "conflict" (devices known, but its
 * annotations contradict them).
 */
#ifndef ROUTES_STATE_H
#define ROUTES_STATE_H

#include "base/clock.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "config/slot.h"
#include "extender/audit.h"
#include "extender/binder.h"
#include "extender/change_overs.h"
#include "extender/planner.h"
#include "extender/pool_commands.h"
#include "extender/shadow.h"
#include "extender/signing.h"
#include "extender/slices.h"
#include "extender/store.h"
#include "extender/unreadable.h"
#include "extender/capacity_reporter.h"
#include "httpd/server.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What one document may keep of nodes and pods that changed before its reader came to them. */
#define STATE_KEPT_BYTES_MAX ((size_t)128 << 20)
/* What its conflicts and pending pods may take. */
#define STATE_LISTS_BYTES_MAX ((size_t)256 << 20)
/* Documents being read at one moment: each makes changes of the ledger dearer. */
#define STATE_READERS_MAX 4

#define STATE_CURSOR_MAX 128

struct state_cursors {
    char pods[STATE_CURSOR_MAX]; /* resourceVersion of the last event applied; "": none yet */
    char nodes[STATE_CURSOR_MAX];
};

/* Whether GPUs were promised at once after the start; static text. */
struct state_start {
    const char *hold_off; /* "held", "none", "undecided" */
    const char *reason;   /* run_reason_name() of extender/run_claim.h */
};

/* Filled by whoever wires the process; must outlive the server. Zero is a valid value for what is
 * marked. */
struct state_context {
    struct store *store;
    const struct clock *clock;
    struct binder *binder;                       /* NULL: nothing is ever in flight */
    struct capacity_reporter *capacity_reporter; /* NULL: the summary says nothing about fragmentation */
    struct pool_commands *pool_commands;         /* NULL: there are none */
    struct planner *planner;                     /* NULL: nobody plans ahead */
    struct change_overs *change_overs;           /* NULL: there are none */
    struct slices *slices;                       /* NULL: not looked at */
    struct shadow *shadow;                       /* NULL: nothing is ever in the shadow */
    struct signing *signing;                     /* NULL: signing is off */
    struct audit *audit;                         /* NULL: the document says nothing about audits */
    struct unreadable *unreadable;               /* NULL: everything is readable */
    /* Called with `ctx` on server threads. */
    void (*cursors)(void *ctx, struct state_cursors *ret); /* NULL: both "" */
    bool (*is_ready)(void *ctx);                           /* NULL: store_is_ready() */
    bool (*is_leader)(void *ctx);                          /* NULL: always, the only replica */
    void (*start)(void *ctx, struct state_start *ret);     /* NULL: not said */
    void *ctx;
    struct config_slot *config; /* metadata.config */
    const char *version;
    int64_t started_ms;   /* of this process; 0: not said */
    atomic_uint reader_n; /* 0; kept by state_handle */
};

enum httpd_action state_handle(void *ctx, struct httpd_request *req, struct httpd_response *resp);

/* ---- the document without HTTP ---- */

struct state_document;

/* Fixes the generation. Empty `node` and `namespace_` mean all; both are used in this call only. */
struct state_document *state_document_new(struct state_context *c, struct str node, struct str namespace_);
void state_document_free(struct state_document *d); /* NULL is fine */
uint64_t state_document_generation(const struct state_document *d);

enum state_step {
    STATE_MORE,
    STATE_COMPLETE, /* nothing was appended: the document was complete */
    STATE_TORN,     /* it cannot be completed */
};
/* Appends the next piece, about one node, perhaps nothing. */
WARN_UNUSED enum state_step state_document_next(struct state_document *d, struct strbuf *out);

/* The document of `fields=summary`; returns its generation. */
uint64_t state_write_summary(struct state_context *c, struct strbuf *out);

#endif
